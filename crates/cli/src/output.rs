//! Text to people and programs: stdout for results, stderr for all else, and what the terminal can show.

use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};

use host::live::standard_output;
use report::{Terminal, is_deceptive};
use serde::Serialize;
use terminal_size::{Width, terminal_size};

use crate::options::{Colour, Global};

/// Columns when stdout is no terminal.
const COLUMNS_WITHOUT_TERMINAL: usize = 80;
/// Narrower than this nothing fits.
const COLUMNS_MIN: usize = 40;
/// Wider lines are hard to read.
const COLUMNS_MAX: usize = 100;

/// The reader of stdout went away: not an error of ours, and nothing more to say.
#[derive(Debug, thiserror::Error)]
#[error("the reader of the output is gone")]
pub(crate) struct ReaderGone;

/// Stdout took no more, such as a file on a full disk.
#[derive(Debug, thiserror::Error)]
#[error("cannot write to stdout: {0}; make room, or send it elsewhere")]
pub(crate) struct NotWritten(io::Error);

/// Prints a result whose foreign parts are harmless already.
///
/// # Errors
/// `ReaderGone` when the pipe is closed, `NotWritten` when stdout takes no more or is none.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    standard_output().and_then(|mut stdout| stdout.write_all(text.as_bytes())).map_err(refused)
}

/// Whether there is a stdout to print to.
///
/// # Errors
/// `NotWritten` when there is none.
pub(crate) fn ensure_stdout() -> anyhow::Result<()> {
    standard_output().map(drop).map_err(refused)
}

/// What it means that stdout took no more.
pub(crate) fn refused(error: io::Error) -> anyhow::Error {
    match error.kind() {
        io::ErrorKind::BrokenPipe => ReaderGone.into(),
        _ => NotWritten(error).into(),
    }
}

/// Prints lines that may hold foreign text: names of files, words of the kernel.
///
/// # Errors
/// As for `print`.
pub(crate) fn print_lines(text: &str) -> anyhow::Result<()> {
    let lines: String = text.lines().map(|line| harmless(line) + "\n").collect();
    print(&lines)
}

/// Refuses words for pasting that `print_lines` would change.
///
/// # Errors
/// A word holds what would steer or deceive a terminal.
pub(crate) fn ensure_shown(text: &str) -> anyhow::Result<()> {
    let hidden = text.lines().find(|line| line.contains(is_harmful)).map(harmless);
    let Some(line) = hidden else { return Ok(()) };
    anyhow::bail!("a character that no terminal shows is in {line}; choose another name")
}

/// A result that is printed as JSON. One body for each type, and one layout for all: what a type adds to the program is its own fields.
pub(crate) trait Document {
    /// On one line.
    ///
    /// # Errors
    /// It is no JSON.
    fn json(&self) -> serde_json::Result<String>;
}

impl<T: Serialize> Document for T {
    fn json(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
    }
}

/// One JSON document for stdout: laid out for a terminal, one line for everything else, so that documents of many nodes whose outputs
/// are one stream stay whole.
pub(crate) fn json_printed(document: &dyn Document) -> anyhow::Result<String> {
    if io::stdout().is_terminal() { json_text(document) } else { json_line(document) }
}

/// Prints such a document.
///
/// # Errors
/// As for `print`, or it is no JSON.
pub(crate) fn print_json(document: &dyn Document) -> anyhow::Result<()> {
    print(&json_printed(document)?)
}

/// One JSON document, laid out. Characters that would steer or deceive a terminal stand as escapes: the values stay.
pub(crate) fn json_text(document: &dyn Document) -> anyhow::Result<String> {
    Ok(laid_out(&escaped(&document.json()?)) + "\n")
}

/// The same on one line.
pub(crate) fn json_line(document: &dyn Document) -> anyhow::Result<String> {
    Ok(escaped(&document.json()?) + "\n")
}

/// A result in the form asked for: the document, nothing, or words for the terminal.
pub(crate) fn text(
    document: &dyn Document,
    global: &Global,
    words: &dyn Fn(Terminal) -> String,
) -> anyhow::Result<String> {
    if global.json {
        json_printed(document)
    } else if global.quiet {
        Ok(String::new())
    } else {
        Ok(words(terminal(global)))
    }
}

fn escaped(json: &str) -> String {
    let mut text = String::new();
    let mut units = [0; 2];
    for c in json.chars() {
        // Outside strings JSON on one line has no such character.
        if is_harmful(c) {
            text.extend(c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            text.push(c);
        }
    }
    text
}

/// JSON of one line with a line for each value, two blanks deeper in each object and array.
fn laid_out(json: &str) -> String {
    let (mut text, mut depth, mut is_in_string) = (String::new(), 0, false);
    let mut characters = json.chars().peekable();
    let break_line = |text: &mut String, depth: usize| {
        text.push('\n');
        text.extend(std::iter::repeat_n("  ", depth));
    };
    while let Some(c) = characters.next() {
        match c {
            '}' | ']' if !is_in_string => {
                depth -= 1;
                break_line(&mut text, depth);
                text.push(c);
            }
            '{' | '[' if !is_in_string => {
                text.push(c);
                if let Some(end) = characters.next_if(|next| matches!(next, '}' | ']')) {
                    text.push(end);
                } else {
                    depth += 1;
                    break_line(&mut text, depth);
                }
            }
            ',' if !is_in_string => {
                text.push(c);
                break_line(&mut text, depth);
            }
            ':' if !is_in_string => text += ": ",
            _ => {
                text.push(c);
                match c {
                    '"' => is_in_string = !is_in_string,
                    '\\' => text.extend(characters.next()),
                    _ => {}
                }
            }
        }
    }
    text
}

/// Prints one line for people on stderr.
pub(crate) fn say(line: &str) {
    // A closed stderr leaves nobody to inform.
    let _ = writeln!(io::stderr(), "{}", harmless(line));
}

/// Prints one error line on stderr.
pub(crate) fn complain(line: &str) {
    say(&format!("sidestep: {line}"));
}

fn is_harmful(c: char) -> bool {
    c.is_control() || is_deceptive(c)
}

/// Control and direction-changing characters, which may come from a foreign file, as their escapes.
fn harmless(line: &str) -> String {
    line.chars().map(|c| if is_harmful(c) { c.escape_unicode().to_string() } else { c.to_string() }).collect()
}

/// What the terminal behind stdout can show.
pub(crate) fn terminal(global: &Global) -> Terminal {
    let is_terminal = io::stdout().is_terminal();
    let colour = match global.color {
        Colour::Always => true,
        Colour::Never => false,
        Colour::Auto => is_terminal && !is_plain(env::var_os("NO_COLOR"), env::var_os("TERM")),
    };
    let columns = match terminal_size() {
        Some((Width(columns), _)) if is_terminal => usize::from(columns),
        _ => env::var("COLUMNS").ok().and_then(|text| text.parse().ok()).unwrap_or(COLUMNS_WITHOUT_TERMINAL),
    };
    Terminal { width_columns: columns.clamp(COLUMNS_MIN, COLUMNS_MAX), colour }
}

/// Whether the environment asks for no colours: <https://no-color.org>, or a terminal that has none (terminfo(5), `dumb`).
fn is_plain(no_color: Option<OsString>, term: Option<OsString>) -> bool {
    no_color.is_some_and(|value| !value.is_empty())
        || term.is_none_or(|name| name == "dumb" || name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dumb_terminal_and_no_color_get_no_colours() {
        for (no_color, term, expected) in [
            (None, Some("xterm-256color"), false),
            (Some(""), Some("linux"), false),
            (Some("1"), Some("xterm"), true),
            (None, Some("dumb"), true),
            (None, Some(""), true),
            (None, None, true),
        ] {
            assert_eq!(
                is_plain(no_color.map(OsString::from), term.map(OsString::from)),
                expected,
                "{term:?}"
            );
        }
    }

    #[test]
    fn a_foreign_file_cannot_steer_the_terminal() {
        assert_eq!(harmless("a\u{1b}[31mb\u{202e}c\n"), "a\\u{1b}[31mb\\u{202e}c\\u{a}");
        for c in ['\u{61c}', '\u{200e}', '\u{2066}', '\u{9b}', '\u{feff}', '\u{e0041}'] {
            assert_eq!(harmless(&c.to_string()), c.escape_unicode().to_string());
        }
    }

    #[test]
    fn json_on_a_terminal_steers_nothing_and_keeps_its_values() {
        let value = serde_json::json!({"name": "a\u{61c}\u{9b}31m\u{e0041}\n\"é"});
        let text = json_text(&value).expect("JSON");
        assert!(!text.contains(['\u{61c}', '\u{9b}', '\u{e0041}']) && text.contains('é'), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).expect("JSON"), value);
    }

    #[test]
    fn json_is_laid_out_as_serde_json_does() {
        let value = serde_json::json!({
            "a": [], "b": {}, "c": [1, 2.5e-9, [{}, []], {"d": null}], "e \\\"{[,:": "x\\\"},]:\n{", "f": true,
        });
        assert_eq!(laid_out(&value.to_string()), serde_json::to_string_pretty(&value).expect("JSON"));
        assert_eq!(laid_out("1"), "1");
    }

    #[test]
    fn a_reader_that_left_is_no_error_and_a_full_disk_is_one() {
        assert!(refused(io::ErrorKind::BrokenPipe.into()).is::<ReaderGone>());
        let full = refused(io::ErrorKind::StorageFull.into());
        assert!(full.is::<NotWritten>() && full.to_string().starts_with("cannot write to stdout"));
    }
}

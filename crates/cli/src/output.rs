//! Text to people and programs: stdout for results, stderr for all else, and what the terminal can show.

use std::env;
use std::io::{self, IsTerminal, Write};

use anyhow::Context;
use report::Terminal;
use terminal_size::{Width, terminal_size};

use crate::arguments::{Colour, Global};

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

/// Prints a result.
///
/// # Errors
/// `ReaderGone` when the pipe is closed, else what the operating system says.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(ReaderGone.into()),
        other => other.context("cannot write to stdout"),
    }
}

/// Prints one line for people on stderr.
pub(crate) fn say(line: &str) {
    // Nobody is left to tell when stderr is closed.
    let _ = writeln!(io::stderr(), "{line}");
}

/// Prints one error line on stderr.
pub(crate) fn complain(line: &str) {
    say(&format!("sidestep: {}", harmless(line)));
}

/// Control and direction-changing characters, which may come from a foreign file, as their escapes.
fn harmless(line: &str) -> String {
    let is_harmful = |character: char| {
        character.is_control()
            || matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    line.chars().map(|c| if is_harmful(c) { c.escape_unicode().to_string() } else { c.to_string() }).collect()
}

/// What the terminal behind stdout can show.
pub(crate) fn terminal(global: &Global) -> Terminal {
    let is_terminal = io::stdout().is_terminal();
    let colour = match global.color {
        Colour::Always => true,
        Colour::Never => false,
        Colour::Auto => is_terminal && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
    };
    let columns = match terminal_size() {
        Some((Width(columns), _)) if is_terminal => usize::from(columns),
        _ => env::var("COLUMNS").ok().and_then(|text| text.parse().ok()).unwrap_or(COLUMNS_WITHOUT_TERMINAL),
    };
    Terminal { width_columns: columns.clamp(COLUMNS_MIN, COLUMNS_MAX), colour }
}

#[cfg(test)]
mod tests {
    use super::harmless;

    #[test]
    fn a_foreign_file_cannot_steer_the_terminal() {
        assert_eq!(harmless("a\u{1b}[31mb\u{202e}c\n"), "a\\u{1b}[31mb\\u{202e}c\\u{a}");
    }
}

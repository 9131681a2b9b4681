//! Golden command lines: what `sidestep` prints, on which stream and with which exit code, as transcripts in `tests/cli`.
//!
//! A transcript begins with `$ sidestep ARGUMENTS`, then `exit N`, then what stands on standard output, then, after a
//! line `--- stderr`, what stands on standard error. Runs happen at the repository's root, 80 columns wide unless the
//! command begins with `COLUMNS=N`, without colour. `UPDATE_EXPECT=1` rewrites all but the command. A command that ends in
//! `>FILE` has its standard output there.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Context;

use crate::cargo;
use crate::totals::Totals;

/// How the program under test is started, from several threads.
type Start<'a> = &'a (dyn Fn() -> Command + Sync);

/// Where transcripts are, from the repository's root.
const FOLDER: &str = "tests/cli";
/// The width of a run whose command names none.
const COLUMNS: &str = "80";
/// The line between the two streams.
const STDERR_LINE: &str = "--- stderr";

/// `cargo xtask golden`: runs every transcript against the release binary.
///
/// # Errors
/// The binary cannot be started, or a transcript not be read.
pub fn run() -> anyhow::Result<Totals> {
    run_as(&|| Command::new(cargo::sidestep()), &[])
}

/// Runs every transcript against a program; those that differ there are skipped, each with its reason.
///
/// # Errors
/// As for `run`.
pub fn run_as(start: Start<'_>, differing: &[(&str, &str)]) -> anyhow::Result<Totals> {
    let files = transcripts()?;
    let next = AtomicUsize::new(0);
    let work = || {
        let mut held = Vec::new();
        while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            held.push((file, hold(start, differing, file)?));
        }
        anyhow::Ok(held)
    };
    let workers = std::thread::available_parallelism().map_or(1, NonZero::get);
    let mut all = Vec::new();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        for thread in threads {
            all.extend(thread.join().expect("holding a transcript does not panic")?);
        }
        anyhow::Ok(())
    })?;
    all.sort_by_key(|(file, ..)| *file);
    let mut totals = Totals::default();
    for (_, (one, line)) in all {
        if let Some(line) = line {
            println!("{line}");
        }
        totals.add(one);
    }
    Ok(totals)
}

/// Runs one transcript; the result, and what there is to say of it.
fn hold(
    start: Start<'_>,
    differing: &[(&str, &str)],
    file: &Path,
) -> anyhow::Result<(Totals, Option<String>)> {
    let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    if let Some((_, why)) = differing.iter().find(|(other, _)| *other == name) {
        let line = format!("golden: {name}: {why}");
        return Ok((Totals::one_skipped(line.clone()), Some(format!("skipped, {line}"))));
    }
    let expected =
        std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let actual = replay(start, &expected).with_context(|| format!("in {}", file.display()))?;
    if actual == expected {
        return Ok((Totals::one_passed(), None));
    }
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(file, &actual).with_context(|| format!("cannot write {}", file.display()))?;
        let line = format!("{FOLDER}/{name}.txt is rewritten: read the difference");
        return Ok((Totals::one_passed(), Some(line)));
    }
    let line = format!("{FOLDER}/{name}.txt, {}", first_difference(&expected, &actual));
    let failed = Totals::one_failed(format!("golden: {name} differs; UPDATE_EXPECT=1 cargo xtask golden"));
    Ok((failed, Some(line)))
}

fn transcripts() -> anyhow::Result<Vec<PathBuf>> {
    let folder = cargo::root().join(FOLDER);
    let entries = std::fs::read_dir(&folder).with_context(|| format!("cannot list {FOLDER}"))?;
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "txt"));
    files.sort();
    anyhow::ensure!(!files.is_empty(), "{FOLDER} holds no transcript");
    Ok(files)
}

/// Runs the command of a transcript and writes down what happened in the same form.
fn replay(start: Start<'_>, transcript: &str) -> anyhow::Result<String> {
    let line = transcript.lines().next().unwrap_or_default();
    let (columns, arguments) =
        command_of(line).context("the first line is not `$ [COLUMNS=N] sidestep ...`")?;
    let mut command = start();
    let (arguments, redirection) = match arguments.split_once('>') {
        Some((arguments, target)) => (arguments, Some(target)),
        None => (arguments, None),
    };
    command.args(arguments.split_whitespace()).current_dir(cargo::root());
    // `output` reads a stream only where nothing else was set for it.
    if let Some(target) = redirection {
        let opened = std::fs::OpenOptions::new().write(true).open(target);
        command.stdout(opened.with_context(|| format!("cannot write to {target}"))?);
    }
    command.env("NO_COLOR", "1").env("COLUMNS", columns).env_remove("RUST_BACKTRACE");
    let done =
        command.output().with_context(|| format!("cannot start {}", command.get_program().display()))?;
    let code = done.status.code().context("ended by a signal")?;
    let (stdout, stderr) = (String::from_utf8(done.stdout)?, String::from_utf8(done.stderr)?);
    let stdout = laid_out(&stdout);
    let second = if stderr.is_empty() { String::new() } else { format!("{STDERR_LINE}\n{stderr}") };
    Ok(format!("{line}\nexit {code}\n{stdout}{second}"))
}

/// A document that is one line, laid out, so that a difference is read; all else as it is. Numbers and escapes keep their digits.
fn laid_out(stdout: &str) -> String {
    let is_document = stdout.starts_with('{') && stdout.lines().count() == 1;
    if !is_document || serde_json::from_str::<serde_json::Value>(stdout).is_err() {
        return stdout.to_owned();
    }
    let mut text = String::new();
    let (mut depth, mut in_string, mut is_escaped) = (0_usize, false, false);
    let mut letters = stdout.trim_end().chars().peekable();
    let line = |text: &mut String, depth: usize| {
        text.push('\n');
        text.extend(std::iter::repeat_n("  ", depth));
    };
    while let Some(letter) = letters.next() {
        if in_string {
            in_string = is_escaped || letter != '"';
            is_escaped = !is_escaped && letter == '\\';
            text.push(letter);
            continue;
        }
        let is_empty = |letters: &mut std::iter::Peekable<std::str::Chars<'_>>| {
            matches!(letters.peek(), Some(']' | '}'))
        };
        match letter {
            '{' | '[' if is_empty(&mut letters) => text.extend([letter, letters.next().unwrap_or(letter)]),
            '{' | '[' => {
                text.push(letter);
                depth += 1;
                line(&mut text, depth);
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                line(&mut text, depth);
                text.push(letter);
            }
            ',' => {
                text.push(letter);
                line(&mut text, depth);
            }
            ':' => text.push_str(": "),
            _ => {
                in_string = letter == '"';
                text.push(letter);
            }
        }
    }
    text + "\n"
}

/// The width, and what stands behind the program's name.
fn command_of(line: &str) -> Option<(&str, &str)> {
    let typed = line.strip_prefix("$ ")?;
    let (columns, typed) =
        typed.strip_prefix("COLUMNS=").map_or(Some((COLUMNS, typed)), |rest| rest.split_once(' '))?;
    Some((columns, typed.strip_prefix("sidestep")?))
}

fn first_difference(expected: &str, actual: &str) -> String {
    let pairs = expected.lines().zip(actual.lines()).enumerate();
    match pairs.into_iter().find(|(_, (old, new))| old != new) {
        Some((index, (old, new))) => format!("line {}:\n  expected {old}\n  found    {new}", index + 1),
        None => format!("{} lines expected, {} found", expected.lines().count(), actual.lines().count()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transcript_holds_command_exit_code_and_both_streams() {
        let echo = || Command::new("echo");
        assert_eq!(replay(&echo, "$ sidestep a  b\nold").unwrap(), "$ sidestep a  b\nexit 0\na b\n");
        let cat = || Command::new("cat");
        let failed = replay(&cat, "$ sidestep /no/such/file").unwrap();
        assert!(failed.starts_with("$ sidestep /no/such/file\nexit 1\n--- stderr\n"), "{failed}");
        let full = replay(&echo, "$ sidestep a >/dev/full").unwrap();
        assert!(full.starts_with("$ sidestep a >/dev/full\nexit 1\n--- stderr\n"), "{full}");
        assert!(replay(&echo, "sidestep").is_err());
        let printenv = || Command::new("printenv");
        for (before, columns) in [("", "80"), ("COLUMNS=40 ", "40")] {
            let command = format!("$ {before}sidestep COLUMNS");
            assert_eq!(replay(&printenv, &command).unwrap(), format!("{command}\nexit 0\n{columns}\n"));
        }
    }

    #[test]
    fn a_document_on_one_line_is_laid_out_as_its_indented_form() {
        let value = serde_json::json!({
            "a": [1.5, -2e-9, [], {}], "b": {"c": "x\\\",{[: y", "d": null, "e": true}, "f": [{"g": ""}],
        });
        let line = value.to_string() + "\n";
        assert_eq!(laid_out(&line), serde_json::to_string_pretty(&value).unwrap() + "\n");
        for other in ["{not JSON}\n", "two\nlines\n", "{}\n{}\n", ""] {
            assert_eq!(laid_out(other), other);
        }
    }

    #[test]
    fn no_transcript_counts_one_of_a_plural() {
        const NOUNS: [&str; 24] = [
            "ways",
            "pairs",
            "runs",
            "windows",
            "threads",
            "CPUs",
            "nodes",
            "loops",
            "links",
            "samples",
            "reports",
            "tests",
            "rounds",
            "boots",
            "sockets",
            "machines",
            "flaws",
            "words",
            "files",
            "registers",
            "probes",
            "packages",
            "cores",
            "quads",
        ];
        for file in transcripts().unwrap() {
            let text = std::fs::read_to_string(&file).unwrap();
            for line in text.lines() {
                let words: Vec<&str> = line.split_whitespace().collect();
                for pair in words.windows(2) {
                    let noun = pair[1].trim_end_matches(|letter: char| !letter.is_alphanumeric());
                    assert!(pair[0] != "1" || !NOUNS.contains(&noun), "{}: {pair:?}", file.display());
                }
            }
        }
    }

    #[test]
    fn the_first_line_that_differs_is_shown() {
        assert!(first_difference("a\nb\n", "a\nc\n").starts_with("line 2:"));
        assert_eq!(first_difference("a\n", "a\nb\n"), "1 lines expected, 2 found");
    }
}

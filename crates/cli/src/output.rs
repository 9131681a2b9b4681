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
    say(&format!("sidestep: {line}"));
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
        _ => COLUMNS_WITHOUT_TERMINAL,
    };
    Terminal { width_columns: columns.clamp(COLUMNS_MIN, COLUMNS_MAX), colour }
}

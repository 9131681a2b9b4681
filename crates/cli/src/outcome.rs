//! How a command ended, and the exit code that says so.

use std::process::ExitCode;

use host::live::Signal;

use crate::output;

/// Bad use or bad input.
const BAD_INPUT: u8 = 2;
/// Could not measure, or inconclusive with --strict.
const NOT_MEASURED: u8 = 3;
/// The machine is not as it was before.
const LEFT_CHANGED: u8 = 4;
/// A warning, with --gate.
const GATE: u8 = 1;

/// How a command ended.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// Did what was asked.
    Done,
    /// `--gate`, and there is a warning.
    Gated,
    /// `--strict`, and something is inconclusive.
    Inconclusive,
    /// A signal ended it; what was measured is written.
    Interrupted(Signal),
    /// The user has to change something.
    BadInput(anyhow::Error),
    /// Nothing could be measured, or the result could not be told.
    NotMeasured(anyhow::Error),
    /// Something that was switched is not put back.
    LeftChanged(anyhow::Error),
}

/// Marks errors that are nobody's fault: the machine did not let itself be measured.
#[derive(Debug, thiserror::Error)]
#[error("could not measure")]
pub(crate) struct CouldNotMeasure;

/// Marks what a signal ended before there was a result.
#[derive(Debug, thiserror::Error)]
#[error("ended by a signal")]
pub(crate) struct EndedBySignal(pub(crate) Signal);

impl Outcome {
    /// Tells bad input from a measurement that failed.
    pub(crate) fn of(result: anyhow::Result<Self>) -> Self {
        match result {
            Ok(outcome) => outcome,
            Err(error) if error.is::<EndedBySignal>() => {
                output::say(&one_line(&error));
                error.downcast_ref().map_or(Self::Done, |EndedBySignal(signal)| Self::Interrupted(*signal))
            }
            Err(error) if error.is::<output::ReaderGone>() => Self::Done,
            Err(error)
                if error.is::<CouldNotMeasure>()
                    || error.is::<output::NotWritten>()
                    || error.is::<record::EncodeError>() =>
            {
                Self::NotMeasured(error)
            }
            Err(error) => Self::BadInput(error),
        }
    }

    /// Says what went wrong, in one line on stderr, and gives the exit code.
    pub(crate) fn exit_code(self) -> ExitCode {
        ExitCode::from(match self {
            Self::Done => 0,
            Self::Gated => GATE,
            Self::Inconclusive => NOT_MEASURED,
            Self::Interrupted(signal) => signal.exit_code(),
            Self::BadInput(error) => {
                output::complain(&one_line(&error));
                BAD_INPUT
            }
            Self::NotMeasured(error) => {
                output::complain(&one_line(&error));
                NOT_MEASURED
            }
            Self::LeftChanged(error) => {
                output::complain(&one_line(&error));
                LEFT_CHANGED
            }
        })
    }
}

/// An error and its causes in one line; a cause that the line already tells is not told again.
fn one_line(error: &anyhow::Error) -> String {
    let mut line = String::new();
    for cause in error
        .chain()
        .filter(|cause| !cause.is::<CouldNotMeasure>() && !cause.is::<EndedBySignal>())
        .map(ToString::to_string)
    {
        if !line.contains(&cause) {
            let separator = if line.is_empty() { "" } else { ": " };
            line = format!("{line}{separator}{cause}");
        }
    }
    line.replace('\n', " ")
}

/// Prints help or version, or the usage error in one line.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        let printed = error.print().map(|()| Outcome::Done).map_err(output::refused);
        return Outcome::of(printed).exit_code();
    }
    output::complain(&format!("{}; see sidestep --help", usage_line(&error.to_string())));
    ExitCode::from(BAD_INPUT)
}

/// The first paragraph of a usage error in one line: the rest repeats what `--help` says.
fn usage_line(text: &str) -> String {
    let paragraph = text.lines().take_while(|line| !line.trim().is_empty()).map(str::trim);
    paragraph.collect::<Vec<_>>().join(" ").trim_start_matches("error: ").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_usage_error_keeps_the_names_of_what_is_missing() {
        let text = "error: the following required arguments were not provided:\n  <RECORD>\n\nUsage: x\n";
        assert_eq!(usage_line(text), "the following required arguments were not provided: <RECORD>");
    }

    #[test]
    fn a_cause_that_is_told_already_is_not_told_twice() {
        let cause = std::io::Error::other("no room");
        let error = anyhow::Error::new(cause).context("cannot write x: no room; choose another place");
        assert_eq!(one_line(&error), "cannot write x: no room; choose another place");
        assert_eq!(one_line(&anyhow::anyhow!("a").context("b")), "b: a");
    }
}

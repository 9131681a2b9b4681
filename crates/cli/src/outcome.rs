//! How a command ended, and the exit code that says so.

use std::error::Error;
use std::fmt::{Debug, Display};
use std::io;
use std::path::Path;
use std::process::ExitCode;

use host::live::{self, Signal, ThreadRefused, WriteError};
use host::state_folder::advice;
use toggles::ExperimentError;

use crate::options::Global;
use crate::output;

/// Bad use or bad input.
pub(crate) const BAD_INPUT: u8 = 2;
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
    /// Nothing could be measured, or the result could not be printed.
    NotMeasured(anyhow::Error),
    /// Something that was switched is not put back.
    LeftChanged(anyhow::Error),
}

/// Marks errors that are no mistake of the user: the machine did not let itself be measured.
#[derive(Debug, thiserror::Error)]
#[error("could not measure")]
pub(crate) struct CouldNotMeasure;

impl CouldNotMeasure {
    /// The error that says why.
    pub(crate) fn because(why: impl Display + Debug + Send + Sync + 'static) -> anyhow::Error {
        anyhow::Error::new(Self).context(why)
    }
}

/// Marks what a signal ended before there was a result.
#[derive(Debug, thiserror::Error)]
#[error("ended by a signal")]
pub(crate) struct EndedBySignal(pub(crate) Signal);

impl Outcome {
    /// What `--gate` makes of a result that fails, and `--strict` of one that is open.
    pub(crate) fn judged(global: &Global, fails: bool, is_open: bool) -> Self {
        if global.gate && fails {
            Self::Gated
        } else if global.strict && is_open {
            Self::Inconclusive
        } else {
            Self::Done
        }
    }

    /// The same, unless a thread was refused: then part of what was asked for is missing, and the first is named.
    pub(crate) fn if_all_started(self) -> Self {
        match (self, live::first_refused()) {
            (Self::Done | Self::Gated | Self::Inconclusive, Some(refused)) => {
                Self::NotMeasured(anyhow::anyhow!("{refused}"))
            }
            (outcome, _) => outcome,
        }
    }

    /// Tells bad input from a measurement that failed.
    pub(crate) fn of(result: anyhow::Result<Self>) -> Self {
        match result {
            Ok(outcome) => outcome,
            Err(error) if error.is::<EndedBySignal>() => {
                output::say(&one_line(&error));
                error.downcast_ref().map_or(Self::Done, |EndedBySignal(signal)| Self::Interrupted(*signal))
            }
            Err(error) if error.is::<output::ReaderGone>() => Self::Done,
            Err(error) if is_of_machine(&error) => Self::NotMeasured(error),
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

/// Something cannot be done with a trusted file or folder. The cause stays in the error: of a full disk nobody is guilty, which the
/// exit code says.
pub(crate) fn cannot(what: &str, path: &Path, why: io::Error) -> anyhow::Error {
    let line = format!("cannot {what} {}: {why}; {}", path.display(), advice(&why, live::effective_root()));
    anyhow::Error::new(why).context(line)
}

/// True if other arguments would not have helped: the machine did not let itself be measured or switched, or there is no room.
fn is_of_machine(error: &anyhow::Error) -> bool {
    error.is::<CouldNotMeasure>()
        || error.is::<output::NotWritten>()
        || error.is::<record::EncodeError>()
        || error
            .chain()
            .any(|cause| is_without_room(cause) || is_refused_switch(cause) || cause.is::<ThreadRefused>())
}

/// A disk that is full; a quota, or a limit of file sizes or of tasks (EAGAIN of fork) that is reached.
fn is_without_room(cause: &(dyn Error + 'static)) -> bool {
    let kind = match cause.downcast_ref() {
        Some(WriteError::File { source, .. } | WriteError::Directory { source, .. }) => Some(source.kind()),
        None => cause.downcast_ref().map(io::Error::kind),
    };
    matches!(
        kind,
        Some(
            io::ErrorKind::StorageFull
                | io::ErrorKind::QuotaExceeded
                | io::ErrorKind::FileTooLarge
                | io::ErrorKind::WouldBlock
        )
    )
}

/// The machine did not take or keep a value.
fn is_refused_switch(cause: &(dyn Error + 'static)) -> bool {
    use ExperimentError::{Foreign, Journal, NotTaken, SystemWriter};
    matches!(cause.downcast_ref(), Some(SystemWriter(_) | Foreign { .. } | Journal(_) | NotTaken { .. }))
}

/// An error and its causes in one line; a cause that the line names already stands there once.
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

#[cfg(test)]
mod tests {
    use toggles::HoldError;

    use super::*;

    #[test]
    fn what_other_arguments_would_not_mend_is_no_bad_input() {
        let full = || io::Error::from(io::ErrorKind::StorageFull);
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        let record = |source| WriteError::File { path: "record.json".into(), source };
        let target = || host::Target::Msr { cpu: 0, register: 0x8b, mask: 1 };
        let not_taken =
            || ExperimentError::NotTaken { target: target(), written: "0x1".into(), found: "0x0".into() };
        for (error, expected) in [
            (anyhow::Error::new(record(full())).context("the record"), true),
            (anyhow::Error::new(record(denied)), false),
            (anyhow::Error::new(full()).context("cannot write"), true),
            (not_taken().into(), true),
            (anyhow::Error::new(HoldError::Experiment(not_taken())).context("in the middle"), true),
            (ExperimentError::Stale { label: "smt=off".into(), since: "now".into() }.into(), false),
            (anyhow::anyhow!("a typo"), false),
        ] {
            let is_measured = matches!(Outcome::of(Err(error)), Outcome::NotMeasured(_));
            assert_eq!(is_measured, expected);
        }
    }

    #[test]
    fn a_cause_that_is_named_already_is_not_named_twice() {
        let cause = std::io::Error::other("no room");
        let error = anyhow::Error::new(cause).context("cannot write x: no room; choose another place");
        assert_eq!(one_line(&error), "cannot write x: no room; choose another place");
        assert_eq!(one_line(&anyhow::anyhow!("a").context("b")), "b: a");
    }
}

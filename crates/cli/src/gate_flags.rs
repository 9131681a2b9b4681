//! `--gate` and `--strict`: on which commands they mean something, and what.
//!
//! A command that judges nothing refuses them: a pipeline that asks for a judgement and gets none would pass for ever.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command};

use crate::options::Global;

/// A command that judges what it finds.
struct Judge {
    /// Its words after `sidestep`; none for the check-up.
    words: &'static [&'static str],
    /// When `--gate` exits with 1.
    gate: Option<&'static str>,
    /// When `--strict` exits with 3.
    strict: Option<&'static str>,
}

/// Of the check-up, under both of its names, and of its record.
const WARNING: Option<&str> = Some("Exit with 1 when there is a warning");
const OPEN_FINDING: Option<&str> = Some("Exit with 3 when a finding is inconclusive");
/// Of sockets, measured or explained.
const FEWER: Option<&str> = Some("Exit with 1 when a socket gets less than expected");
const OPEN_SOCKET: Option<&str> =
    Some("Exit with 3 when it stays open whether each socket gets what is expected");

const JUDGES: &[Judge] = &[
    Judge { words: &[], gate: WARNING, strict: OPEN_FINDING },
    Judge { words: &["run"], gate: WARNING, strict: OPEN_FINDING },
    Judge { words: &["show"], gate: WARNING, strict: OPEN_FINDING },
    Judge { words: &["fleet", "rows"], gate: None, strict: Some("Exit with 3 when a file gave no rows") },
    Judge {
        words: &["guard", "check"],
        gate: Some("Exit with 1 when the machine changed"),
        strict: Some("Exit with 3 when it is undetermined whether it changed"),
    },
    Judge {
        words: &["machine"],
        gate: Some("Exit with 1 when the sources contradict each other"),
        strict: None,
    },
    Judge {
        words: &["flaws"],
        gate: Some(
            "Exit with 1 when the kernel calls the machine vulnerable, when sources disagree and one says not protected, or when CPUs differ; with --expect, when something got worse",
        ),
        strict: Some(
            "Exit with 3 when a flaw is protected on request or unknown; with --gate, with 1 when one is on request",
        ),
    },
    Judge {
        words: &["ab"],
        gate: Some("Exit with 1 when something got slower"),
        strict: Some("Exit with 3 when what was compared has no verdict"),
    },
    Judge { words: &["bill"], gate: Some("Exit with 1 when a setting has a confirmed cost"), strict: None },
    // Its --gate takes a percentage.
    Judge { words: &["compare"], gate: None, strict: Some("Exit with 3 when a test has no verdict") },
    Judge {
        words: &["clock", "check"],
        gate: Some("Exit with 1 when time is correctable or unsafe"),
        strict: Some("Exit with 3 when there is no verdict"),
    },
    Judge {
        words: &["clock", "cost"],
        gate: Some("Exit with 1 when a cost grows with the number of threads, or time went back"),
        strict: Some("Exit with 3 when a cost does not reproduce within 2 %, or its growth is undetermined"),
    },
    Judge {
        words: &["clock", "watch"],
        gate: Some("Exit with 1 when anything happened"),
        strict: Some("Exit with 3 when no probe saw two counters"),
    },
    Judge { words: &["sockets"], gate: FEWER, strict: OPEN_SOCKET },
    Judge { words: &["sockets", "explain"], gate: FEWER, strict: OPEN_SOCKET },
    Judge {
        words: &["sockets", "infer"],
        gate: None,
        strict: Some("Exit with 3 when the links are not identified"),
    },
    Judge {
        words: &["sockets", "firmware"],
        gate: Some("Exit with 1 when the sources contradict each other"),
        strict: None,
    },
    Judge {
        words: &["place"],
        gate: Some("Exit with 1 when a placement is faster than the kernel's"),
        strict: Some("Exit with 3 when there is no verdict"),
    },
    Judge {
        words: &["fleet", "check"],
        gate: Some(
            "Exit with 1 when a node, a level of a factor or a rare state stands out, unless repeats did not show it again",
        ),
        strict: Some("Exit with 3 when too few nodes can be compared"),
    },
    Judge {
        words: &["selftest"],
        gate: Some("Exit with 1 when a measurement is outside the stated limits"),
        strict: Some("Exit with 3 when a measurement is outside the stated limits"),
    },
];

/// The definition of the whole command line with both flags, where they mean something.
pub(crate) fn added(command: Command) -> Command {
    JUDGES.iter().fold(command, |command, judge| with_flags(command, judge.words, judge))
}

/// The options of one command, with those of every command, read without the definition of all others: of a command line that was
/// kept, or is handed on.
///
/// # Errors
/// The command line is wrong.
pub(crate) fn parsed_alone<A: Args>(
    name: &'static str,
    words: impl IntoIterator<Item = OsString>,
) -> Result<A, clap::Error> {
    let own = A::augment_args(Command::new(name));
    let command = Global::augment_args(Command::new("sidestep").subcommand(own));
    let judge = JUDGES.iter().find(|judge| judge.words == [name]);
    let matches = match judge {
        Some(judge) => with_flags(command, judge.words, judge),
        None => command,
    }
    .try_get_matches_from(words)?;
    let below = matches.subcommand_matches(name);
    A::from_arg_matches(below.ok_or_else(|| clap::Error::new(ErrorKind::MissingSubcommand))?)
}

fn with_flags(command: Command, words: &[&'static str], judge: &Judge) -> Command {
    if let Some((first, rest)) = words.split_first() {
        return command.mut_subcommand(first, |below| with_flags(below, rest, judge));
    }
    let flag = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).action(ArgAction::SetTrue).help(help).help_heading("Exit code")
    };
    let gate = judge.gate.map(|help| flag("gate", help));
    let strict = judge.strict.map(|help| flag("strict", help));
    command.args(gate.into_iter().chain(strict))
}

/// Whether `--gate` and `--strict` were given, to whichever command.
pub(crate) fn asked(matches: &ArgMatches) -> (bool, bool) {
    let given = |name| matches.try_get_one::<bool>(name).ok().flatten().copied().unwrap_or(false);
    let below = matches.subcommand().map_or((false, false), |(_, below)| asked(below));
    (given("gate") || below.0, given("strict") || below.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::definition;

    #[test]
    fn a_command_that_judges_nothing_takes_neither_flag_and_the_others_hear_them() {
        for (words, expected) in [
            ("--gate", Some((true, false))),
            ("run --strict", Some((false, true))),
            ("flaws --gate --strict", Some((true, true))),
            ("clock check --strict", Some((false, true))),
            ("ab --toggle thp -- ./prog --gate", Some((false, false))),
            ("compare a b --gate=2% --strict", Some((false, true))),
            ("simulate phenom-9600 --gate", None),
            ("toggles --strict", None),
            ("history --gate", None),
            ("machine --strict", None),
            ("flaws show mds --gate", None),
        ] {
            let found = definition().try_get_matches_from(["sidestep"].into_iter().chain(words.split(' ')));
            assert_eq!(found.ok().map(|matches| asked(&matches)), expected, "{words}");
        }
    }
}

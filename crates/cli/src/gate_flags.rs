//! `--gate` and `--strict`: on which commands they mean something, and what.
//!
//! A command that judges nothing refuses them: a pipeline that asks for a judgement and gets none would pass for ever.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

use crate::options::Global;

/// A command that judges what it finds: its words after `sidestep`, none for the check-up; when `--gate` exits with 1, and when
/// `--strict` exits with 3, of which one may be nothing.
type Judge = (&'static [&'static str], &'static str, &'static str);

const JUDGES: &[Judge] = &[
    (&[], "when there is a warning", "when a finding is inconclusive"),
    (&["run"], "when there is a warning", "when a finding is inconclusive"),
    (&["show"], "when there is a warning", "when a finding is inconclusive"),
    (&["fleet", "rows"], "", "when a file gave no rows"),
    (&["guard", "check"], "when the machine changed", "when it is undetermined whether it changed"),
    (&["machine"], "when the sources contradict each other", ""),
    (
        &["flaws"],
        "when the kernel calls the machine vulnerable, when sources disagree and one says not protected, or when CPUs differ; with --expect, when something got worse",
        "when a flaw is protected on request or unknown; with --gate, with 1 when one is on request",
    ),
    (&["ab"], "when something got slower", "when what was compared has no verdict"),
    (&["bill"], "when a setting has a confirmed cost", ""),
    // Its --gate takes a percentage.
    (&["compare"], "", "when a test has no verdict"),
    (&["clock", "check"], "when time is correctable or unsafe", "when there is no verdict"),
    (
        &["clock", "cost"],
        "when a cost grows with the number of threads, or time went back",
        "when a cost does not reproduce within 2 %, or its growth is undetermined",
    ),
    (&["clock", "watch"], "when anything happened", "when no probe saw two counters"),
    (
        &["sockets"],
        "when a socket gets less than expected",
        "when it stays open whether each socket gets what is expected",
    ),
    (
        &["sockets", "explain"],
        "when a socket gets less than expected",
        "when it stays open whether each socket gets what is expected",
    ),
    (&["sockets", "infer"], "", "when the links are not identified"),
    (&["sockets", "firmware"], "when the sources contradict each other", ""),
    (&["place"], "when a placement is faster than the kernel's", "when there is no verdict"),
    (
        &["fleet", "check"],
        "when a node, a level of a factor or a rare state stands out, unless repeats did not show it again",
        "when too few nodes can be compared",
    ),
];

/// The definition of the whole command line with both flags, where they mean something.
pub(crate) fn added(command: Command) -> Command {
    JUDGES.iter().fold(command, |command, judge| with_flags(command, judge.0, judge))
}

/// The options of one command, with those of every command, read without the definition of all others: of a command line that was
/// kept, or is handed on.
///
/// # Errors
/// The command line is wrong.
pub(crate) fn parsed_alone<A: Args>(
    name: &'static str,
    words: impl IntoIterator<Item = OsString>,
) -> Result<(A, Global), clap::Error> {
    let own = A::augment_args(Command::new(name));
    let command = Global::augment_args(Command::new("sidestep").subcommand(own));
    let judge = JUDGES.iter().find(|(words, ..)| *words == [name]);
    let matches = match judge {
        Some(judge) => with_flags(command, judge.0, judge),
        None => command,
    }
    .try_get_matches_from(words)?;
    let below = matches.subcommand_matches(name);
    let own = A::from_arg_matches(below.ok_or_else(|| clap::Error::new(ErrorKind::MissingSubcommand))?)?;
    let (gate, strict) = asked(&matches);
    Ok((own, Global { gate, strict, ..Global::from_arg_matches(&matches)? }))
}

fn with_flags(command: Command, words: &[&'static str], judge: &Judge) -> Command {
    if let Some((first, rest)) = words.split_first() {
        return command.mut_subcommand(first, |below| with_flags(below, rest, judge));
    }
    // What only shows a plan judges nothing.
    let has = |id: &&str| command.get_arguments().any(|one| one.get_id() == *id);
    let plans: Vec<&str> = ["plan", "dry_run"].into_iter().filter(has).collect();
    let flag = |name: &'static str, code: u8, when: &str| {
        let help = format!("Exit with {code} {when}");
        (!when.is_empty()).then(|| {
            let flag = Arg::new(name).long(name).action(ArgAction::SetTrue).help(help);
            flag.help_heading("Exit code").conflicts_with_all(plans.clone())
        })
    };
    let (_, gate, strict) = judge;
    let flags: Vec<Arg> = flag("gate", 1, gate).into_iter().chain(flag("strict", 3, strict)).collect();
    command.args(flags)
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

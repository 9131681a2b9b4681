//! `sidestep place --threads 1..N`: the experiment for each number of threads.

use std::ffi::OsString;

use anyhow::Context;
use experiments::ab::command_subject::Program;
use experiments::ab::metric::Metric;
use experiments::place::run_subject::RunSubject;
use experiments::place::sweep::sweep as swept;
use host::live::pending_signal;
use record::{PlaceOutcome, PlaceSweep, PlaceSweepRow};
use toggles::Restored;

use super::{Request, files, how, is_left_changed, tried};
use crate::outcome::Outcome;
use crate::output;

/// What stands for the number in the command.
const PLACEHOLDER: &str = "{threads}";
/// What tells OpenMP, where the command has no such word.
const VARIABLE: &str = "OMP_NUM_THREADS";

/// Reads `4`, `1,2,4` or `1..8`; both ends count.
pub(super) fn parse_counts(text: &str) -> Result<Vec<usize>, String> {
    /// More than a machine has is no use, and each takes its part of the time.
    const COUNTS_MAX: usize = 64;
    let wrong = || {
        format!(
            "give a number such as 4, a list such as 1,2,4, or a range such as 1..8, of at most {COUNTS_MAX}"
        )
    };
    let number = |text: &str| {
        text.trim().parse::<usize>().ok().filter(|number| (1..=4096).contains(number)).ok_or_else(wrong)
    };
    let counts = match text.split_once("..") {
        Some((low, high)) => {
            let (low, high) = (number(low)?, number(high.strip_prefix('=').unwrap_or(high))?);
            (low..=high).collect::<Vec<_>>()
        }
        None => text.split(',').map(number).collect::<Result<_, _>>()?,
    };
    if counts.is_empty() || counts.len() > COUNTS_MAX { Err(wrong()) } else { Ok(counts) }
}

/// The command with a number of threads in it, and in the environment.
fn with_threads(command: &[OsString], threads: usize) -> Program {
    let number = threads.to_string();
    let filled = |word: &OsString| match word.to_str() {
        Some(text) if text.contains(PLACEHOLDER) => OsString::from(text.replace(PLACEHOLDER, &number)),
        _ => word.clone(),
    };
    Program {
        words: command.iter().map(filled).collect(),
        environment: vec![(VARIABLE.into(), number.clone().into())],
    }
}

/// What has to be known of a command that does not have the number in its words.
fn only_the_variable(command: &[OsString]) -> Option<String> {
    let is_told = command.iter().any(|word| word.to_string_lossy().contains(PLACEHOLDER));
    (!is_told).then(|| {
        format!("no word of the command is {PLACEHOLDER}: only {VARIABLE} tells it the number of threads, which it may ignore")
    })
}

/// Tries each number of threads within its part of the budget.
pub(super) fn sweep(
    request: &Request<'_>,
    counts: &[usize],
    metric: Option<&Metric>,
) -> anyhow::Result<Outcome> {
    let arguments = request.arguments;
    let note = only_the_variable(&arguments.command);
    if let Some(note) = note.as_ref().filter(|_| !request.global.quiet) {
        output::say(note);
    }
    let mut rows = Vec::new();
    let mut unfreed: Vec<Restored> = Vec::new();
    for threads in counts {
        let program = with_threads(&arguments.command, *threads);
        let command: Vec<OsString> = program.words.clone();
        let mut subject =
            RunSubject::new(program, how(request), metric.cloned(), request.pin_hold()?, request.seed);
        let result = tried(request, &mut subject, &command);
        unfreed.append(&mut subject.unfreed);
        let mut outcome = result.with_context(|| format!("with {threads} as the number of threads"))?;
        outcome.notes.extend(note.clone());
        rows.push((*threads, outcome));
        if pending_signal().is_some() {
            break;
        }
    }
    let found = swept(rows);
    let printed = show(&found, request);
    let saved = save(&found, request);
    if let Some(outcome) = is_left_changed(printed, saved, &unfreed)? {
        return Ok(outcome);
    }
    Ok(match pending_signal() {
        Some(signal) => Outcome::Interrupted(signal),
        None if request.global.strict && !found.unknown.is_empty() => Outcome::Inconclusive,
        None if request.global.gate && found.sensitive.len() > found.only_worse.len() => Outcome::Gated,
        None => Outcome::Done,
    })
}

fn show(found: &PlaceSweep, request: &Request<'_>) -> anyhow::Result<()> {
    let bare = |row: &PlaceSweepRow| PlaceSweepRow {
        outcome: PlaceOutcome { raw: Vec::new(), ..row.outcome.clone() },
        ..row.clone()
    };
    let shown = PlaceSweep { rows: found.rows.iter().map(bare).collect(), ..found.clone() };
    let page = report::place_sweep_page(&shown);
    output::print(&request.arguments.forms.printed(&page, &shown, request.global)?)
}

fn save(found: &PlaceSweep, request: &Request<'_>) -> anyhow::Result<()> {
    if let Some(file) = &request.file {
        files::written(file, output::json_text(found)?.as_bytes())?;
    }
    let page = report::place_sweep_page(found);
    request.arguments.forms.write_files(&page).map_err(files::unlucky)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_numbers_lists_or_rising_ranges() {
        assert_eq!(parse_counts("4"), Ok(vec![4]));
        assert_eq!(parse_counts("1,2,4"), Ok(vec![1, 2, 4]));
        assert_eq!(parse_counts("1..3"), Ok(vec![1, 2, 3]));
        for text in ["", "0", "3..1", "1..", "x", "1..1000", "-1", "99999"] {
            assert!(parse_counts(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_number_is_put_into_the_command_and_the_environment() {
        let words = ["xz", "-T{threads}", "-k"].map(OsString::from);
        let program = with_threads(&words, 3);
        assert_eq!(program.words, ["xz", "-T3", "-k"].map(OsString::from));
        assert_eq!(program.environment, [("OMP_NUM_THREADS".into(), "3".into())]);
        assert_eq!(only_the_variable(&words), None);
        assert!(only_the_variable(&words[..1]).is_some_and(|note| note.contains("only OMP_NUM_THREADS")));
    }
}

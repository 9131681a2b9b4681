//! What a factorial experiment found, in sentences: each toggle, what they do together, controls and A/A.

use record::{Ended, ExperimentRow, FactorialOutcome, FactorialRow, FactorialToggle, Failures};
use stats::text::{listed as joined, points_in_words};
use stats::{Cell, Verdict};

use super::factorial::cell_name;
use super::sentence::{Further, Number, change, failed, makes, of_toggle, subject, wanted};

/// What more of would tell where it is not known.
const FURTHER: &str = "runs of each combination";

/// What was found. `called` is the user's program; for probes it is empty, and rows go by their names.
pub(super) fn sentences(found: &FactorialOutcome, called: &str) -> Vec<String> {
    if let Some(text) = unusable(found, called) {
        return vec![text];
    }
    let told = || found.rows.iter().filter(|row| row.told);
    if told().next().is_none() {
        return vec![nothing(found)];
    }
    let further = Further::of("blocks", FURTHER, found.ended);
    let together: Vec<&FactorialRow> = told().filter(|row| row.toggles.len() > 1).collect();
    let main = told().filter(|row| row.toggles.len() == 1).map(|row| {
        let name = subject(called, &row.row.row.name);
        averaged(row, &together) + &of_toggle(&row.row, &states(row, found).join(", "), &name, further)
    });
    let mut all: Vec<String> = main.collect();
    all.extend(interactions(&together, found, called));
    all.extend(beside(found));
    all
}

/// Where a toggle does one thing or another by the state of others, its own effect is an average over these.
fn averaged(row: &FactorialRow, together: &[&FactorialRow]) -> String {
    let depends = |other: &&&FactorialRow| {
        other.toggles.contains(&row.toggles[0])
            && matches!(other.row.row.verdict, Verdict::Slower | Verdict::Faster)
    };
    let mut others: Vec<String> =
        together.iter().filter(depends).flat_map(|other| other.toggles.clone()).collect();
    others.retain(|name| *name != row.toggles[0]);
    others.sort();
    others.dedup();
    if others.is_empty() {
        String::new()
    } else {
        format!("averaged over both states of {}, ", joined(&others, "and"))
    }
}

/// Interactions that are there one by one, then those that are not, then those that are not known.
fn interactions(together: &[&FactorialRow], found: &FactorialOutcome, called: &str) -> Vec<String> {
    let of = |verdicts: &[Verdict]| -> Vec<&FactorialRow> {
        together.iter().copied().filter(|row| verdicts.contains(&row.row.row.verdict)).collect()
    };
    let name = |row: &FactorialRow| subject(called, &row.row.row.name);
    let there = of(&[Verdict::Slower, Verdict::Faster]);
    let mut all: Vec<String> = there.into_iter().map(|row| interaction(row, found, &name(row))).collect();
    let margin = points_in_words(found.margin_percent);
    all.extend(match of(&[Verdict::Equivalent]).as_slice() {
        [] => None,
        [row] => Some(format!(
            "no interaction of {} in {} beyond {margin} %: {}",
            joined(&row.toggles, "and"),
            name(row),
            change(&row.row)
        )),
        rows => Some(format!("no interaction beyond {margin} %: {}", listed(rows))),
    });
    let further = Further::of("blocks", FURTHER, found.ended);
    all.extend(match of(&[Verdict::Inconclusive]).as_slice() {
        [] => None,
        [row] => Some(format!(
            "whether {} interact in {} is not known to {margin} %: {}{}",
            joined(&row.toggles, "and"),
            name(row),
            change(&row.row),
            wanted(&row.row, further)
        )),
        rows => Some(format!("whether these interact is not known to {margin} %: {}", listed(rows))),
    });
    all
}

/// An interaction that is there: what the combination costs beyond its parts.
fn interaction(row: &FactorialRow, found: &FactorialOutcome, subject: &str) -> String {
    let does = makes(&row.row, subject, Number::Plural);
    let beyond = if does.starts_with("make") { "than" } else { "beyond what" };
    let parts = if row.toggles.len() == 2 { "the two alone" } else { "fewer of them" };
    format!("together {} {does} {beyond} {parts} would", joined(&states(row, found), "and"))
}

fn listed(rows: &[&FactorialRow]) -> String {
    rows.iter().map(|row| row.effect.clone()).collect::<Vec<_>>().join(", ")
}

/// The toggles of an effect at B: `thp=never`.
fn states(row: &FactorialRow, found: &FactorialOutcome) -> Vec<String> {
    let concerned = |toggle: &&FactorialToggle| row.toggles.contains(&toggle.name);
    found.toggles.iter().filter(concerned).map(|toggle| format!("{}={}", toggle.name, toggle.b)).collect()
}

fn unusable(found: &FactorialOutcome, called: &str) -> Option<String> {
    if found.ended == Ended::Failing {
        let subject = if called.is_empty() { "the probe" } else { called };
        if let ([first, ..], true) = (found.failures.as_slice(), found.failures.len() == found.cells.len()) {
            return Some(format!(
                "{subject} fails in all {} combinations ({})",
                found.cells.len(),
                failed(first)
            ));
        }
        let with = |failures: &Failures| {
            let name = named(&failures.state, &found.toggles);
            format!("with {name} ({})", failed(failures))
        };
        let all: Vec<String> = found.failures.iter().map(with).collect();
        let only = if all.len() == 1 { " only" } else { "" };
        return Some(format!("{subject} fails{only} {}; there is nothing to compare", joined(&all, "and")));
    }
    found.aa.contaminated.then(|| {
        format!(
            "no result: {} of {} effects differed between passes through the same combinations; try again on \
             a quieter machine",
            found.aa.alarms,
            found.aa.rows.len()
        )
    })
}

/// The words for the letters of a combination.
fn named(state: &str, toggles: &[FactorialToggle]) -> String {
    let cell = Cell::all(toggles.len()).find(|cell| cell.letters(toggles.len()) == state);
    cell.map_or_else(|| state.to_owned(), |cell| cell_name(cell, toggles))
}

fn nothing(found: &FactorialOutcome) -> String {
    let runs = 2 << found.toggles.len();
    match found.ended {
        Ended::Interrupted => format!("ended before the first block of {runs} runs; nothing is known"),
        _ => format!("the budget was too short for one block of {runs} runs; give more with --budget"),
    }
}

/// What must not have moved: controls and A/A, each by the largest of its main effects.
fn beside(found: &FactorialOutcome) -> Option<String> {
    let size = |row: &&ExperimentRow| row.row.change_percent.abs();
    let main = found.controls.iter().filter(|row| row.toggles.len() == 1).map(|row| &row.row);
    let control = main.max_by(|a, b| size(a).total_cmp(&size(b)));
    let told = found.rows.iter().filter(|row| row.told && row.toggles.len() == 1);
    let twins = told.filter_map(|row| {
        found.aa.rows.iter().find(|aa| aa.name == row.row.row.name && aa.effect == row.effect)
    });
    let largest = twins.map(|aa| aa.change_percent.abs()).max_by(f64::total_cmp);
    let parts: Vec<String> = [
        control.map(|row| format!("control {} moved {} at most", row.row.name, change(row))),
        largest.map(|percent| format!("A/A {} % at most", points_in_words(percent))),
    ]
    .into_iter()
    .flatten()
    .collect();
    Some(parts.join("; ")).filter(|text| !text.is_empty())
}

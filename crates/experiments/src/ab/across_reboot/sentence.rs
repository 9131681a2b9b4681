//! The one sentence that says what an experiment across reboots found.

use record::{BootRow, ExperimentRow, RebootOutcome};
use stats::Verdict;
use stats::text::points_in_words;

use super::plan::FEWEST_BOOTS;
use crate::ab::command_subject::WALL_TIME;
use crate::ab::sentence::{Further, HEADLINES_OF_PROGRAM, change, of_toggle};

/// Of a program the first row with a verdict, among those of what it takes; else, and of probes, the first with one, or
/// the first.
pub(super) fn headline(rows: &[BootRow]) -> Option<&BootRow> {
    let is_known = |row: &&BootRow| row.row.verdict != Verdict::Inconclusive;
    let is_candidate =
        |row: &&BootRow| row.row.group != "program" || HEADLINES_OF_PROGRAM.contains(&row.row.name.as_str());
    rows.iter().filter(is_candidate).find(is_known).or(rows.first())
}

/// What was found.
pub(super) fn sentence(found: &RebootOutcome, row: Option<&BootRow>) -> String {
    let [a, b] = found.boots_counted;
    let Some(row) = row.filter(|_| a > 0 && b > 0) else { return nothing(found) };
    // A boot of which every trial was set aside counts and has no value.
    let [a, b] = row.row.samples;
    let (name, size) = (&row.row.name, change(&as_experiment(row)));
    let boots =
        if a == 1 && b == 1 { "one boot against one".to_owned() } else { format!("{a} boots against {b}") };
    let finding = if a == 1 && b == 1 {
        format!(
            "no inference is possible from one boot against one: {name} differed by {size}, and boots differ by themselves; \
             {FEWEST_BOOTS} boots of each carry an interval"
        )
    } else if row.row.interval.is_none() {
        let wanted = FEWEST_BOOTS.saturating_sub(a.min(b)).max(1);
        format!(
            "{boots} carry no interval at 95 %: {name} differed by {size}; {wanted} more boots of each would"
        )
    } else {
        format!("{} ({boots})", known(row, found))
    };
    [Some(finding), controls(found), spread(row)].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

fn known(row: &BootRow, found: &RebootOutcome) -> String {
    let is_program = row.row.group == "program";
    let subject = match row.row.name.as_str() {
        WALL_TIME => "this program".to_owned(),
        name if is_program => format!("the {name} of this program"),
        name => name.to_owned(),
    };
    of_toggle(&as_experiment(row), &found.b, &subject, Further::BOOTS)
}

fn nothing(found: &RebootOutcome) -> String {
    let [a, b] = found.boots_counted;
    match (a, b) {
        (0, 0) => "no boot counts yet, so nothing is known".to_owned(),
        (0, _) => format!("no boot of A counts yet ({}), so nothing is known", found.a),
        (_, 0) => format!("no boot of B counts yet ({}), so nothing is known", found.b),
        _ => "nothing was measured in all boots, so there is nothing to compare".to_owned(),
    }
}

fn controls(found: &RebootOutcome) -> Option<String> {
    let size = |row: &&BootRow| row.row.change_percent.abs();
    let moved = found.controls.iter().max_by(|a, b| size(a).total_cmp(&size(b)))?;
    Some(format!("the control moved {}", change(&as_experiment(moved))))
}

fn spread(row: &BootRow) -> Option<String> {
    let (within, between) = (row.within_percent?, row.between_percent?);
    Some(format!(
        "boots lie {} % apart, trials within a boot {} %",
        points_in_words(between),
        points_in_words(within)
    ))
}

/// The words for a row of turns serve for one of boots.
fn as_experiment(row: &BootRow) -> ExperimentRow {
    ExperimentRow {
        row: row.row.clone(),
        ratio: row.ratio,
        ratio_interval: row.ratio_interval,
        blocks: row.row.samples[0].min(row.row.samples[1]),
    }
}

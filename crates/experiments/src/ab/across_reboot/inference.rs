//! What the boots amount to: each boot is one value, and only boots are counted.
//!
//! A boot's value of a row is the median of its trials. Boots have no partners, so the shift is that of Hodges and
//! Lehmann between two groups, its interval and p those of the rank-sum test, exact where boots can be exchanged. How far
//! trials and boots lie apart is shown beside it. One boot against one is refused: nothing is known then of how far boots
//! differ by themselves.

use record::{ArmFact, BootRow, BootSummary, ComparisonRow, DocumentHead, REBOOTS_SCHEMA, RebootOutcome};
use stats::text::points_in_words;
use stats::{Arm, Comparison, Guard, Verdict, guarded_passes, median, median_absolute_deviation, two_levels};

use super::facts::{BootFacts, unsteady};
use super::journal::{BootTrial, Fate, Journal, Phase, Visit, letter};
use super::plan::FEWEST_BOOTS;
use crate::ab::judged_rows::{Sides, as_cost, draft, judge, percent};
use crate::ab::sentence::{Further, HEADLINES_OF_PROGRAM, change, of_toggle, subject as subject_named};
use crate::ab::subject::KeptRow;

/// A control further from the median boot than so many deviations is reported.
const FAR_IN_DEVIATIONS: f64 = 5.0;
/// A boot that was measured this many times later after its start than the others, and at least so many seconds, is reported.
const LATE_FACTOR: f64 = 10.0;
const LATE_S: f64 = 600.0;

/// One boot that counts: the good values of each row.
struct Boot<'a> {
    visit: &'a Visit,
    /// By row, then by trial.
    values: Vec<Vec<f64>>,
}

impl Boot<'_> {
    fn value(&self, row: usize) -> Option<f64> {
        median(&self.values[row])
    }
}

/// What is known so far.
pub fn inference(journal: &Journal) -> RebootOutcome {
    let boots: Vec<Boot<'_>> = journal.counted().map(|visit| boot(visit, journal)).collect();
    let mut notes = Vec::new();
    let mut of_family = |is_control: bool| {
        let family: Vec<(usize, &KeptRow)> =
            journal.rows.iter().enumerate().filter(|(_, row)| row.control == is_control).collect();
        judged(&family, &boots, journal, &mut notes)
    };
    let (rows, controls) = (of_family(false), of_family(true));
    let count = |arm: Arm| boots.iter().filter(|boot| boot.visit.arm == arm).count();
    let facts: Vec<(Arm, &BootFacts)> = boots.iter().map(|boot| (boot.visit.arm, &boot.visit.boot)).collect();
    let unsteady = unsteady(&facts, &journal.conditions);
    let mut found = RebootOutcome {
        head: DocumentHead {
            schema: REBOOTS_SCHEMA,
            sentence: String::new(),
            notes,
            margin_percent: 100.0 * journal.plan.margin,
            tool_version: journal.tool_version.clone(),
            started_utc: journal.begun_utc.clone(),
            seed: journal.plan.seed,
            elapsed_s: None,
        },
        phase: match journal.phase {
            Phase::Running => "running",
            Phase::Finished => "finished",
            Phase::Abandoned => "abandoned",
        }
        .to_owned(),
        a: journal.conditions.a.name(),
        b: journal.conditions.b.name(),
        subject: subject(journal),
        rows,
        controls,
        boots_counted: [count(Arm::A), count(Arm::B)],
        boots_planned: journal.plan.boots_per_arm(),
        trials_per_boot: journal.plan.trials,
        boots: summaries(journal, &boots),
        differs_with_arm: unsteady.between.into_iter().map(|(fact, [a, b])| ArmFact { fact, a, b }).collect(),
        cautions: Vec::new(),
    };
    found.head.sentence = sentence(&found, headline(&found.rows));
    let within = unsteady.within.into_iter().map(|(fact, values)| {
        format!(
            "{fact} changed from boot to boot within an arm ({}): the boots differ in more than the arm",
            values.join("; ")
        )
    });
    found.cautions = of_plan(journal, &found).into_iter().chain(within).collect();
    let moved = moved_controls(&found);
    found.head.notes.extend(moved);
    found
}

/// What is measured, for people.
pub fn subject(journal: &Journal) -> String {
    if journal.work.command.is_empty() { "probes".to_owned() } else { journal.work.command.join(" ") }
}

/// The trials of a visit that are good, and undisturbed as far as the guards saw.
fn boot<'a>(visit: &'a Visit, journal: &Journal) -> Boot<'a> {
    let kept = kept(visit, journal);
    let values = |row: usize| -> Vec<f64> {
        let good = visit.trials.iter().zip(&kept).filter(|(trial, kept)| **kept && trial.failure.is_none());
        good.filter_map(|(trial, _)| trial.values.get(row).copied().flatten()).collect()
    };
    Boot { visit, values: (0..journal.rows.len()).map(values).collect() }
}

/// Which trials stay, as the guards see it; no trial has a partner.
fn kept(visit: &Visit, journal: &Journal) -> Vec<bool> {
    let reading =
        |trial: &BootTrial, index: usize| trial.guards.get(index).copied().flatten().unwrap_or(f64::NAN);
    let readings: Vec<Vec<f64>> = (0..journal.guards.len())
        .map(|index| visit.trials.iter().map(|trial| reading(trial, index)).collect())
        .collect();
    let guards: Vec<Guard<'_>> = journal
        .guards
        .iter()
        .zip(&readings)
        .map(|(guard, readings)| Guard { name: &guard.name, by_trial: readings, tolerance: guard.tolerance })
        .collect();
    guarded_passes(&guards, visit.trials.len(), 1).keep
}

/// Rows of one family, with verdicts.
fn judged(
    family: &[(usize, &KeptRow)],
    boots: &[Boot<'_>],
    journal: &Journal,
    notes: &mut Vec<String>,
) -> Vec<BootRow> {
    let (mut rows, mut costs): (Vec<BootRow>, Vec<Comparison>) = (Vec::new(), Vec::new());
    for (index, spec) in family {
        let of = |arm: Arm| -> Vec<f64> {
            boots.iter().filter(|boot| boot.visit.arm == arm).filter_map(|boot| boot.value(*index)).collect()
        };
        let values = [of(Arm::A), of(Arm::B)];
        if values.iter().flatten().any(|value| *value <= 0.0) {
            notes.push(format!("{}: left out, as it is nothing in some boots", spec.name));
            continue;
        }
        let [a, b] = &values;
        let Some((change, sides)) = Comparison::of_groups(a, b).zip(Sides::of([a, b])) else { continue };
        let interval = change.interval;
        let logs = |arm: Arm| -> Vec<Vec<f64>> {
            let of_arm = boots.iter().filter(|boot| boot.visit.arm == arm);
            of_arm.map(|boot| boot.values[*index].iter().map(|value| value.ln()).collect()).collect()
        };
        let levels = two_levels(&[logs(Arm::A), logs(Arm::B)]);
        let row = ComparisonRow {
            interval: interval.map(|interval| interval.map(percent)),
            p: interval.map(|_| change.p),
            paired: false,
            ..draft(spec, &change, sides, journal.conditions.b.name())
        };
        rows.push(BootRow {
            row,
            ratio: change.ratio,
            ratio_interval: interval,
            within_percent: levels.within_deviation().map(|deviation| 100.0 * deviation.exp_m1()),
            between_percent: levels.between_deviation().map(|deviation| 100.0 * deviation.exp_m1()),
        });
        costs.push(as_cost(change, spec.better));
    }
    judge(rows.iter_mut().map(|row| &mut row.row).zip(costs).collect(), journal.plan.margin, 1);
    rows
}

/// All boots that were seen.
fn summaries(journal: &Journal, counted: &[Boot<'_>]) -> Vec<BootSummary> {
    let far = far_controls(journal, counted);
    let ages: Vec<f64> = counted.iter().filter_map(|boot| boot.visit.boot.uptime_s).collect();
    let age = median(&ages).unwrap_or(f64::INFINITY);
    let summary = |visit: &Visit| {
        let (fate, why) = match &visit.fate {
            Fate::Measuring => ("being measured", String::new()),
            Fate::Counted => ("counted", String::new()),
            Fate::Failed(why) => ("failed", why.clone()),
            Fate::CutShort => {
                ("cut short", "the boot ended before its last trial; its place was filled anew".to_owned())
            }
            Fate::NotOfArm(why) => ("not of the arm", why.clone()),
        };
        let unsettled = (visit.settled == Some(false)).then(|| "the machine did not settle".to_owned());
        let late = visit.boot.uptime_s.filter(|own| *own > LATE_S && *own > LATE_FACTOR * age);
        let late =
            late.map(|own| format!("measured {own:.0} s after its start, the others about {age:.0} s"));
        let far =
            far.iter().find(|(boot_id, _)| *boot_id == visit.boot.boot_id).map(|(_, text)| text.clone());
        let remarks = [Some(why).filter(|why| !why.is_empty()), far, unsettled, late];
        BootSummary {
            place: visit.place + 1,
            arm: letter(visit.arm).to_owned(),
            seen_utc: visit.seen_utc.clone(),
            fate: fate.to_owned(),
            remark: remarks.into_iter().flatten().collect::<Vec<_>>().join("; "),
            trials: visit.trials.len(),
            trials_dropped: kept(visit, journal).iter().filter(|kept| !**kept).count(),
            uptime_s: visit.boot.uptime_s,
            value: if journal.rows.is_empty() { None } else { boot(visit, journal).value(0) },
        }
    };
    journal.visits.iter().map(summary).collect()
}

/// Boots in which a control lies far from its median: the machine itself ran differently.
fn far_controls<'a>(journal: &Journal, boots: &[Boot<'a>]) -> Vec<(&'a str, String)> {
    let mut found = Vec::new();
    let controls = journal.rows.iter().enumerate().filter(|(_, row)| row.control);
    for (index, row) in controls.filter(|_| boots.len() >= FEWEST_BOOTS) {
        let logs: Vec<f64> = boots.iter().map(|boot| boot.value(index).map_or(f64::NAN, f64::ln)).collect();
        let centre = median(&logs).unwrap_or(f64::NAN);
        let deviation = median_absolute_deviation(&logs).unwrap_or(f64::NAN);
        let reach = (FAR_IN_DEVIATIONS * deviation).max(journal.plan.margin.ln_1p());
        for (boot, log) in boots.iter().zip(&logs).filter(|(_, log)| (**log - centre).abs() > reach) {
            let percent = 100.0 * (log - centre).exp_m1();
            found.push((
                boot.visit.boot.boot_id.as_str(),
                format!(
                    "{} {percent:+.1} % against the median boot: the machine itself ran differently",
                    row.name
                ),
            ));
        }
    }
    found
}

/// Cautions of plan, arms and failures.
fn of_plan(journal: &Journal, found: &RebootOutcome) -> Vec<String> {
    let mut cautions = journal.plan.cautions();
    for (arm, name) in [(Arm::A, &found.a), (Arm::B, &found.b)] {
        let of_arm = journal.visits.iter().filter(|visit| visit.arm == arm);
        let failed: Vec<&String> = of_arm
            .clone()
            .filter_map(|visit| if let Fate::Failed(why) = &visit.fate { Some(why) } else { None })
            .collect();
        if let Some(example) = failed.first() {
            cautions.push(format!("{} boots with {name} failed and have no value: {example}", failed.len()));
        }
        let cut = of_arm.filter(|visit| visit.fate == Fate::CutShort).count();
        if cut > 0 {
            cautions.push(format!(
                "{cut} boots with {name} ended before their last trial and were measured anew"
            ));
        }
    }
    cautions
}

/// Controls that moved beyond the margin.
fn moved_controls(found: &RebootOutcome) -> Vec<String> {
    let has_moved = |control: &&BootRow| {
        control.row.change_percent.abs() > found.head.margin_percent
            && control.row.interval.is_some_and(|interval| !interval.contains(0.0))
    };
    let described = |control: &BootRow| {
        format!(
            "the control {} moved by {:+.1} %: the core ran at another speed, by the arm or by itself, and other rows may \
             have moved for that reason",
            control.row.name, control.row.change_percent
        )
    };
    found.controls.iter().filter(has_moved).map(described).collect()
}

/// Of a program the first row with a verdict, among those of what it takes; else, and of probes, the first with one, or
/// the first.
fn headline(rows: &[BootRow]) -> Option<&BootRow> {
    let is_known = |row: &&BootRow| row.row.verdict != Verdict::Inconclusive;
    let is_candidate =
        |row: &&BootRow| row.row.group != "program" || HEADLINES_OF_PROGRAM.contains(&row.row.name.as_str());
    rows.iter().filter(is_candidate).find(is_known).or(rows.first())
}

/// What was found.
fn sentence(found: &RebootOutcome, row: Option<&BootRow>) -> String {
    let [a, b] = found.boots_counted;
    let Some(row) = row.filter(|_| a > 0 && b > 0) else { return nothing(found) };
    // A boot of which every trial was set aside counts and has no value.
    let [a, b] = row.row.samples;
    let (name, size) = (&row.row.name, change(&row.row));
    let boots =
        if a == 1 && b == 1 { "one boot against one".to_owned() } else { format!("{a} boots against {b}") };
    let finding = if a == 1 && b == 1 {
        format!(
            "no inference is possible from one boot against one: {name} differed by {size}, and boots differ by themselves; \
             {FEWEST_BOOTS} boots of each carry an interval"
        )
    } else if row.row.interval.is_none() {
        let required = FEWEST_BOOTS.saturating_sub(a.min(b)).max(1);
        format!(
            "{boots} carry no interval at 95 %: {name} differed by {size}; {required} more boots of each would"
        )
    } else {
        format!("{} ({boots})", known(row, found))
    };
    [Some(finding), controls(found), spread(row)].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

fn known(row: &BootRow, found: &RebootOutcome) -> String {
    let called = if row.row.group == "program" { "this program" } else { "" };
    of_toggle(&row.row, &found.b, &subject_named(called, &row.row.name), Further::BOOTS)
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
    Some(format!("the control moved {}", change(&moved.row)))
}

fn spread(row: &BootRow) -> Option<String> {
    let (within, between) = (row.within_percent?, row.between_percent?);
    Some(format!(
        "boots lie {} % apart, trials within a boot {} %",
        points_in_words(between),
        points_in_words(within)
    ))
}

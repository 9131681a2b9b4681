//! The one sentence that says what an experiment found.

use record::{Better, ComparisonRow, Ended, ExperimentOutcome, ExperimentRow, Failures};
use stats::text::points_in_words;
use stats::{FEWEST_PAIRS, Interval, Verdict};

use super::command_subject::{CPU_TIME, METRIC, WALL_TIME};

/// The treatment where two programs take turns.
pub const TWO_PROGRAMS: &str = "two programs";
/// The rows of a program that may be its headline; faults and switches stand in the table.
pub(super) const HEADLINES_OF_PROGRAM: [&str; 3] = [METRIC, WALL_TIME, CPU_TIME];
/// From this ratio on, "times as slow" reads better than percent.
const TIMES_FROM: f64 = 2.0;
/// A forecast beyond this only says that it is too many.
const RUNS_FORECAST_MAX: usize = 1000;

/// What was found. `called` is the user's program; for probes it is empty, and rows go by their names.
pub(super) fn sentence(found: &ExperimentOutcome, called: &str) -> String {
    if let Some(text) = unusable(found, called) {
        return text;
    }
    let Some(row) = headline(found) else { return nothing(found) };
    let finding = if found.about.treatment == TWO_PROGRAMS {
        of_two(&row.row, found)
    } else {
        of_toggle(&row.row, &found.about.b, &subject(called, &row.row.name), Further::pairs(found.ended))
    };
    [Some(finding), controls(found), aa_control(found, row)]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join("; ")
}

/// What more of would decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Further {
    /// What carries an interval: `blocks`.
    units: &'static str,
    /// `pairs`; `None` where enough were taken.
    what: Option<&'static str>,
}

impl Further {
    /// Boots of both arms.
    pub(super) const BOOTS: Self = Self { units: "boots", what: Some("boots of each") };

    /// Pairs of runs, unless enough were taken.
    fn pairs(ended: Ended) -> Self {
        Self { units: "blocks", what: Some("pairs").filter(|_| ended != Ended::Precise) }
    }
}

/// What a row is called: the user's program, something of it, or a probe by its name.
pub(super) fn subject(called: &str, row: &str) -> String {
    match (called, row) {
        ("", name) => name.to_owned(),
        (called, WALL_TIME) => called.to_owned(),
        (called, name) => format!("the {name} of {called}"),
    }
}

/// What a toggle at `b` does to the subject.
pub(super) fn of_toggle(row: &ComparisonRow, b: &str, subject: &str, further: Further) -> String {
    let margin = points_in_words(row.margin_percent);
    match row.verdict {
        Verdict::Slower | Verdict::Faster => format!("{b} {}", makes(row, subject)),
        Verdict::Equivalent => {
            format!("{b} makes no difference beyond {margin} % to {subject}: {}", change(row))
        }
        Verdict::Inconclusive => {
            format!(
                "what {b} does to {subject} is not known to {margin} %: {}{}",
                change(row),
                further_runs(row, further)
            )
        }
    }
}

/// How two programs differ.
fn of_two(row: &ComparisonRow, found: &ExperimentOutcome) -> String {
    let (name, margin) = (&row.name, points_in_words(found.head.margin_percent));
    let rises = row.change_percent > 0.0;
    match row.verdict {
        Verdict::Slower if name == WALL_TIME && ratio(row) >= TIMES_FROM => {
            format!("B is {:.2} times as slow as A{}", ratio(row), ratio_ends(row))
        }
        Verdict::Slower if name == WALL_TIME => {
            format!("B is {} % slower than A{}", magnitude(row), ends(row))
        }
        Verdict::Faster if name == WALL_TIME => {
            format!("B takes {} % less time than A{}", magnitude(row), ends(row))
        }
        Verdict::Slower | Verdict::Faster => {
            let word = if rises { "higher" } else { "lower" };
            format!("the {name} of B is {} % {word} than that of A{}", magnitude(row), ends(row))
        }
        Verdict::Equivalent => {
            format!("A and B differ by no more than {margin} % in {name}: {}", change(row))
        }
        Verdict::Inconclusive => {
            format!(
                "how A and B differ in {name} is not known to {margin} %: {}{}",
                change(row),
                further_runs(row, Further::pairs(found.ended))
            )
        }
    }
}

/// Of a program the first row with a verdict, among those of what it takes; else, and of probes, the first row.
pub(super) fn headline(found: &ExperimentOutcome) -> Option<&ExperimentRow> {
    let tells = |row: &&ExperimentRow| {
        HEADLINES_OF_PROGRAM.contains(&row.row.name.as_str()) && row.row.verdict != Verdict::Inconclusive
    };
    found.rows.iter().find(tells).or(found.rows.first())
}

fn unusable(found: &ExperimentOutcome, called: &str) -> Option<String> {
    if found.ended == Ended::Failing {
        let subject = match called {
            "" => "the probe",
            _ if found.about.treatment == TWO_PROGRAMS => "the program",
            called => called,
        };
        let with = |one: &Failures| if one.state == "b" { &found.about.b } else { &found.about.a };
        return Some(match found.failures.as_slice() {
            [one] => {
                let only = if one.state == "b" { " only" } else { "" };
                let (with, how) = (with(one), failed(one));
                format!("{subject} fails with {with}{only} ({how}), so there is nothing to compare")
            }
            [a, b] => format!(
                "{subject} fails with {} ({}) and with {} ({})",
                with(a),
                failed(a),
                with(b),
                failed(b)
            ),
            _ => format!("{subject} fails"),
        });
    }
    found.aa.contaminated.then(|| {
        format!(
            "no result: {} of {} rows differed although nothing was switched; try again on a quieter machine",
            found.aa.alarms,
            found.aa.rows.len()
        )
    })
}

fn failed(failures: &Failures) -> String {
    format!("{} of {}: {}", failures.failed, machine::counted(failures.of, "run"), failures.example)
}

fn nothing(found: &ExperimentOutcome) -> String {
    match found.ended {
        Ended::Interrupted => "ended before the first whole block; nothing is known".to_owned(),
        _ => "the budget was too short for one block of runs; give more with --budget".to_owned(),
    }
}

/// What is done to something for certain, verb first.
fn makes(row: &ComparisonRow, subject: &str) -> String {
    let is_time =
        row.better == Better::Lower && matches!(row.unit.as_str(), "s" | "ms" | "us" | "ns" | "cycles");
    let (size, ends) = (magnitude(row), ends(row));
    match row.verdict {
        Verdict::Slower if is_time && ratio(row) >= TIMES_FROM => {
            format!("makes {subject} {:.2} times as slow{}", ratio(row), ratio_ends(row))
        }
        Verdict::Slower if is_time && !subject.contains(" of ") => {
            format!("makes {subject} {size} % slower{ends}")
        }
        Verdict::Faster if is_time && !subject.contains(" of ") => {
            format!("makes {subject} take {size} % less time{ends}")
        }
        _ if row.change_percent > 0.0 => format!("raises {subject} by {size} %{ends}"),
        _ => format!("lowers {subject} by {size} %{ends}"),
    }
}

/// `b` over `a`.
fn ratio(row: &ComparisonRow) -> f64 {
    1.0 + row.change_percent / 100.0
}

fn ratio_ends(row: &ComparisonRow) -> String {
    let ends = row.interval.map(|ends| ends.map(|percent| 1.0 + percent / 100.0));
    ends.map(|ends| format!(" {ends:.2}")).unwrap_or_default()
}

/// What more would decide an inconclusive row.
fn further_runs(row: &ComparisonRow, further: Further) -> String {
    let more = match (row.further_runs, further.what) {
        (Some(runs), Some(what)) if runs > RUNS_FORECAST_MAX => {
            Some(format!("more than {RUNS_FORECAST_MAX} further {what}"))
        }
        (Some(runs), Some(what)) => Some(format!("about {runs} more {what}")),
        _ => None,
    };
    match (row.interval, more) {
        // How many would decide is not known before there is an interval.
        (None, more) => {
            let more = more.map_or_else(String::new, |more| format!("; {more} would bring one"));
            format!(" (fewer than {FEWEST_PAIRS} {} carry no interval{more})", further.units)
        }
        (Some(_), Some(more)) => format!(", {more} would tell"),
        (Some(_), None) => String::new(),
    }
}

fn controls(found: &ExperimentOutcome) -> Option<String> {
    let size = |row: &&ExperimentRow| row.row.change_percent.abs();
    let moved = found.controls.iter().max_by(|a, b| size(a).total_cmp(&size(b)))?;
    let word = if found.controls.len() == 1 { "the control" } else { "controls" };
    Some(format!("{word} moved {}", change(&moved.row)))
}

fn aa_control(found: &ExperimentOutcome, row: &ExperimentRow) -> Option<String> {
    let aa = found.aa.rows.iter().find(|aa| aa.name == row.row.name)?;
    Some(format!("A/A {} %", points_in_words(aa.change_percent.abs())))
}

/// The size of a change without its sign.
fn magnitude(row: &ComparisonRow) -> String {
    points_in_words(row.change_percent.abs())
}

/// The ends of the interval of that size.
fn ends(row: &ComparisonRow) -> String {
    let falls = row.change_percent < 0.0;
    let found = row.interval.map(|interval| if falls { interval.map(|end| -end) } else { interval });
    found.map(bracketed).unwrap_or_default()
}

pub(super) fn change(row: &ComparisonRow) -> String {
    format!("{} %{}", points_in_words(row.change_percent), row.interval.map(bracketed).unwrap_or_default())
}

fn bracketed(interval: Interval) -> String {
    format!(" [{}, {}]", points_in_words(interval.low), points_in_words(interval.high))
}

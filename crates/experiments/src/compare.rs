//! Configurations side by side: rows with intervals and verdicts, averages, and what else differs.
//!
//! A configuration is what was measured under one set of conditions: one or more records, or imported results. Values
//! of separate runs are never pairs: who takes pairs has `ab`.

mod configuration;
mod difference;
mod facts;
// Readers of all formats have one signature, also those that cannot fail.
#[expect(clippy::unnecessary_wraps)]
mod import;
mod of_record;
mod rows;
mod runs;

use machine::{counted, did_you_mean};
use record::{
    COMPARISON_SCHEMA, ComparisonClass, ComparisonRow, ComparisonTable, ConfigurationSummary, EarlierRuns,
    FactDifference,
};
use rows::Indexed;
use stats::{Knowledge, Verdict};

pub(crate) use configuration::TestRow;
pub use configuration::{Cell, Configuration, Coordinates, Sample, SourceKind, Test, Weight};
pub(crate) use facts::differing;
pub use import::{ImportError, read};
pub use of_record::configuration_of_record;

/// What the caller declares before the numbers are seen.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Options {
    /// Number (from 1) or name of the baseline; the first configuration if not given.
    pub baseline: Option<String>,
    /// Differences up to this many percent are of no practical matter; else 1 for micro-benchmarks, 2 for applications.
    pub margin_percent: Option<f64>,
    /// Groups that averages are also taken without.
    pub without: Vec<String>,
    /// Earlier runs are from the machine's own history, not named by the caller.
    pub own_history: bool,
}

/// Why configurations cannot be compared.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CompareError {
    /// Fewer than two.
    #[error("only {name} to compare; name a second record or result file")]
    Single { name: String },
    /// The same test in two units.
    #[error("{test} is in {first} in {first_name}, but in {second} in {second_name}; give both in one unit")]
    Unit { test: String, first: String, first_name: String, second: String, second_name: String },
    /// Higher is better here, lower there.
    #[error("{test} is better when higher in one configuration and when lower in another; make them agree")]
    Direction { test: String },
    /// No test in all of them.
    #[error("{names} have no test in common; compare results of the same tests")]
    NothingInCommon { names: String },
    /// `--baseline` names none of them.
    #[error("no configuration is called {asked}; {hint}the baseline is a number from 1 or one of {names}")]
    NoBaseline {
        asked: String,
        /// The nearest name, as a question; or empty.
        hint: String,
        names: String,
    },
    /// `--without` names a group that no row has.
    #[error("no test is in the group {asked}; {hint}the groups are {groups}")]
    NoGroup {
        asked: String,
        /// The nearest name, as a question; or empty.
        hint: String,
        groups: String,
    },
}

/// Compares every configuration with the baseline. `history` are further records of the baseline's machine: how far its runs
/// spread is determined from them.
///
/// # Errors
/// `CompareError` says what does not fit together and what to do.
pub fn compare(
    configurations: impl Into<Vec<Configuration>>,
    history: &[Configuration],
    options: &Options,
) -> Result<ComparisonTable, CompareError> {
    let mut configurations = configurations.into();
    name_distinctly(&mut configurations);
    if let [only] = configurations.as_slice() {
        return Err(CompareError::Single { name: only.name.clone() });
    }
    let baseline = baseline_index(&configurations, options.baseline.as_deref())?;
    let indexed: Vec<Indexed<'_>> = configurations.iter().map(Indexed::of).collect();
    let matched = rows::matched(&indexed, baseline)?;
    let (mut earlier, left_out) = usable_history(&configurations, baseline, history);
    let quieter = quieter_history(&configurations, &earlier);
    if quieter.is_some() {
        earlier.clear();
    }
    let history: Vec<Indexed<'_>> = earlier.iter().map(|one| Indexed::of(one)).collect();
    let judged = rows::judged(&indexed, &history, baseline, &matched, options);
    let averages = rows::averages(&judged.rows, &options.without)?;
    let rows: Vec<ComparisonRow> = judged.rows.into_iter().map(|judged| judged.row).collect();
    let earlier_runs: usize = earlier.iter().map(|one| one.runs).sum();
    let earlier_runs = EarlierRuns { runs: earlier_runs, own_history: options.own_history };
    let differences = facts::differences(&configurations);
    let mut cautions = cautions(&configurations, &differences, &rows);
    cautions.extend(left_out.into_iter().chain(quieter));
    Ok(ComparisonTable {
        schema: COMPARISON_SCHEMA,
        baseline,
        averages,
        unmatched: rows::unmatched(&indexed, &matched),
        failed: failed(&configurations),
        configurations: configurations.iter().map(summary).collect(),
        differences,
        cautions,
        drift: judged.drift,
        earlier_runs: Some(earlier_runs).filter(|earlier| earlier.runs > 0),
        memory: judged.memory,
        classes: judged.classes,
        rows,
    })
}

/// The earlier runs that are of the baseline's machine and none of those compared, and a caution about the others.
fn usable_history<'h>(
    configurations: &[Configuration],
    baseline: usize,
    history: &'h [Configuration],
) -> (Vec<&'h Configuration>, Option<String>) {
    let is_compared = |one: &Configuration| {
        let is_of = |start: &String| configurations.iter().any(|other| other.starts_utc.contains(start));
        one.starts_utc.iter().any(is_of)
    };
    let others: Vec<&Configuration> =
        history.iter().filter(|one| one.kind == SourceKind::Record && !is_compared(one)).collect();
    let same: Vec<&Configuration> = others
        .iter()
        .copied()
        .filter(|one| facts::are_of_one_machine(&configurations[baseline], one))
        .collect();
    let strangers = others.len() - same.len();
    let caution = (strangers > 0)
        .then(|| format!("{strangers} of {} earlier records are of another machine: not used", others.len()));
    (same, caution)
}

/// So much more of the CPUs may others have had than in any earlier run: a run that was busier spreads as no earlier one did.
const QUIETER_BY: f64 = 0.05;

/// Why earlier runs tell nothing of the runs compared: others had less of the CPUs in all of them.
fn quieter_history(configurations: &[Configuration], earlier: &[&Configuration]) -> Option<String> {
    let most = |shares: &mut dyn Iterator<Item = f64>| shares.reduce(f64::max);
    let now = most(&mut configurations.iter().flat_map(|one| one.taken_shares.iter().copied()))?;
    let before = most(&mut earlier.iter().flat_map(|one| one.taken_shares.iter().copied()))?;
    let percent = |share: f64| (share * 100.0).round();
    (now > before + QUIETER_BY).then(|| {
        format!(
            "others had up to {} % of the CPUs in a run compared, and at most {} % in earlier runs, whose spread is not used",
            percent(now),
            percent(before)
        )
    })
}

/// True if a row is slower with confidence by more than that margin in percent: what `--gate` asks.
pub fn is_slower_by(row: &ComparisonRow, margin_percent: f64) -> bool {
    row.verdict == Verdict::Slower
        && rows::cost_log(row) > (margin_percent.max(row.margin_percent) / 100.0).ln_1p()
}

/// The same of all rows of a class together.
pub fn is_class_slower_by(class: &ComparisonClass, margin_percent: f64) -> bool {
    class.verdict == Verdict::Slower && class.change_percent > margin_percent
}

fn summary(configuration: &Configuration) -> ConfigurationSummary {
    ConfigurationSummary {
        name: configuration.name.clone(),
        kind: configuration.kind.word().to_owned(),
        runs: configuration.runs,
        started_utc: configuration.starts_utc.iter().min().cloned(),
    }
}

/// Configurations of one name get their place behind it.
fn name_distinctly(configurations: &mut [Configuration]) {
    let names: Vec<String> = configurations.iter().map(|one| one.name.clone()).collect();
    for (index, one) in configurations.iter_mut().enumerate() {
        if names.iter().filter(|name| **name == one.name).count() > 1 {
            one.name = format!("{} ({})", one.name, index + 1);
        }
    }
}

fn names<'c>(configurations: impl Iterator<Item = &'c Configuration>) -> String {
    configurations.map(|one| one.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// Tests of which runs failed, with their count by configuration.
fn failed(configurations: &[Configuration]) -> Vec<String> {
    let of = |one: &Configuration, test: &Test| {
        let runs = counted(test.failed(), "run");
        (test.failed() > 0).then(|| format!("{}: {runs} of {} failed", one.name, test.name))
    };
    configurations.iter().flat_map(|one| one.tests.iter().filter_map(move |test| of(one, test))).collect()
}

fn baseline_index(configurations: &[Configuration], asked: Option<&str>) -> Result<usize, CompareError> {
    let Some(asked) = asked else { return Ok(0) };
    let by_name = configurations.iter().position(|one| one.name == asked);
    let by_number = asked.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    by_name.or(by_number.filter(|index| *index < configurations.len())).ok_or_else(|| {
        CompareError::NoBaseline {
            asked: asked.to_owned(),
            hint: did_you_mean(asked, configurations.iter().map(|one| one.name.as_str())),
            names: names(configurations.iter()),
        }
    })
}

/// Where the spread between runs is from, where it is not from earlier runs.
fn what_is_known(rows: &[ComparisonRow]) -> Option<String> {
    let of = |knowledge| rows.iter().any(|row| row.knowledge == knowledge);
    let single = rows.iter().all(|row| row.samples == [1, 1]);
    let sharper =
        "earlier records of this machine (--history) or several of each side (A1,A2,A3) make that sharper";
    if of(Knowledge::Prior) && single && !of(Knowledge::History) {
        return Some(format!(
            "one run each: only what exceeds the spread between runs of the shipped table is claimed; {sharper}"
        ));
    }
    of(Knowledge::Prior).then(|| {
        format!("the spread between runs is from the shipped table where runs are too few; {sharper}")
    })
}

/// What has to be said before the numbers.
fn cautions(
    configurations: &[Configuration],
    differences: &[FactDifference],
    rows: &[ComparisonRow],
) -> Vec<String> {
    let (left_out, others): (Vec<String>, Vec<String>) = configurations
        .iter()
        .flat_map(|one| one.cautions.iter().map(|caution| format!("{}: {caution}", one.name)))
        .partition(|caution| caution.contains(": left out: "));
    let mut said = left_out;
    if facts::are_different_machines(differences) {
        said.push("these are different machines: every difference between them is in the numbers".to_owned());
    }
    let without = |why: &str, is_meant: &dyn Fn([usize; 2]) -> bool| {
        let count = rows.iter().filter(|row| row.interval.is_none() && is_meant(row.samples)).count();
        let which = if count == rows.len() { "all rows".to_owned() } else { counted(count, "row") };
        (count > 0).then(|| format!("{why} ({which}): nothing is called faster or slower there"))
    };
    let is_one_sided = |samples: [usize; 2]| samples.contains(&1) && samples != [1, 1];
    said.extend(without("single runs carry no interval", &|samples| samples == [1, 1]));
    said.extend(without("one side has a single run, which carries no interval", &is_one_sided));
    said.extend(without("runs that are all alike show no spread", &|samples| !samples.contains(&1)));
    said.extend(what_is_known(rows));
    said.push(
        "one after the other: time and treatment cannot be separated, whatever changed between the runs is \
         in the numbers"
            .to_owned(),
    );
    if differences.iter().any(|difference| difference.fact == record::BOOT) {
        said.push(
            "a reboot lies between: where memory and interrupts came to lie differs by boot; boot each \
             configuration several times"
                .to_owned(),
        );
    }
    said.extend(others);
    said
}

#[cfg(test)]
mod tests;

//! From matched tests to judged rows, and their averages: the article's mean of symmetric differences with its floor, and the signed
//! geometric mean.

use std::collections::{BTreeMap, HashMap, HashSet};

use machine::did_you_mean;
use record::{
    Better, ComparisonAverage, ComparisonClass, ComparisonMemory, ComparisonRow, Drift, UnmatchedTest,
};
use stats::{Interval, Knowledge, LEVEL_OF_ALARMS, RowClass, Verdict};

use super::configuration::{TestRow, TestsByName};
use super::difference::{Cost, Gathered, Side, as_percent, costs_of_replicates, rounded};
use super::runs::CostsOfRuns;
use super::{CompareError, Configuration, Coordinates, Options, SourceKind, Test, Weight, runs};

/// How seldom unchanged controls may cast doubt on a comparison of records, in which then nothing is claimed.
const DOUBT: f64 = 0.01;
/// A row before the controls were judged.
struct Draft {
    row: ComparisonRow,
    cost: Cost,
    class: Option<RowClass>,
    declared_percent: f64,
    /// A side is one run that found no single value: there is none to compare.
    is_unstable: bool,
    /// Runs of a side failed: what they took is no time of the work.
    has_failed: bool,
    is_beside: bool,
}

/// A row with what averages need of it.
pub(super) struct Judged {
    pub(super) row: ComparisonRow,
    /// Log of the candidate's cost over the baseline's.
    pub(super) cost_log: f64,
    /// Standard error of the cost's log; `None` where the spread is not known.
    pub(super) standard_error: Option<f64>,
    /// The class of a record's row.
    pub(super) class: Option<RowClass>,
    /// Runs of a side failed: averages do without it.
    has_failed: bool,
    /// It stands beside the time of a test: averages over groups do without it.
    is_beside: bool,
}

/// A configuration with its tests by name.
pub(super) struct Indexed<'c> {
    pub(super) one: &'c Configuration,
    tests: TestsByName<'c>,
}

impl<'c> Indexed<'c> {
    pub(super) fn of(one: &'c Configuration) -> Self {
        Self { one, tests: TestsByName::of(&one.tests) }
    }
}

/// The tests of the baseline that all configurations hold, in its order.
pub(super) fn matched<'c>(
    configurations: &[Indexed<'c>],
    baseline: usize,
) -> Result<Vec<&'c Test>, CompareError> {
    let own = configurations[baseline].one;
    let mut matched = Vec::new();
    for test in &own.tests {
        let mut everywhere = true;
        for other in configurations {
            let Some(same) = other.tests.get(test) else {
                everywhere = false;
                continue;
            };
            agree(test, own, same, other.one)?;
        }
        if everywhere {
            matched.push(test);
        }
    }
    if matched.is_empty() {
        return Err(CompareError::NothingInCommon {
            names: super::names(configurations.iter().map(|other| other.one)),
        });
    }
    Ok(matched)
}

fn agree(test: &Test, own: &Configuration, same: &Test, other: &Configuration) -> Result<(), CompareError> {
    if test.unit != same.unit {
        return Err(CompareError::Unit {
            test: test.name.clone(),
            first: test.unit.clone(),
            first_name: own.name.clone(),
            second: same.unit.clone(),
            second_name: other.name.clone(),
        });
    }
    if test.better != same.better {
        return Err(CompareError::Direction { test: test.name.clone() });
    }
    Ok(())
}

/// Tests that are in some configurations, but not in all.
pub(super) fn unmatched(configurations: &[Indexed<'_>], matched: &[&Test]) -> Vec<UnmatchedTest> {
    let matched: HashSet<_> = matched.iter().map(|test| test.key()).collect();
    let mut found: Vec<UnmatchedTest> = Vec::new();
    let mut places = HashMap::new();
    for configuration in configurations.iter().map(|indexed| indexed.one) {
        for test in configuration.tests.iter().filter(|test| !matched.contains(&test.key())) {
            let at = *places.entry(test.key()).or_insert(found.len());
            if at == found.len() {
                let (name, group) = (test.name.clone(), test.group.clone());
                found.push(UnmatchedTest { name, group, present_in: Vec::new() });
            }
            found[at].present_in.push(configuration.name.clone());
        }
    }
    found
}

/// All rows with their verdicts, what classes of rows did together, and what the controls say.
pub(super) struct Judgement {
    pub(super) rows: Vec<Judged>,
    pub(super) classes: Vec<ComparisonClass>,
    pub(super) memory: Vec<ComparisonMemory>,
    pub(super) drift: Drift,
}

/// Judges records by the spread between runs, all else by that of the replicates.
pub(super) fn judged(
    configurations: &[Indexed<'_>],
    history: &[Indexed<'_>],
    baseline: usize,
    matched: &[&Test],
    options: &Options,
) -> Judgement {
    let by_runs = configurations.iter().all(|other| other.one.kind == SourceKind::Record);
    let mut gathered = Vec::new();
    for row in matched.iter().flat_map(|test| test.rows(|place| is_everywhere(configurations, test, place))) {
        for index in (0..configurations.len()).filter(|index| *index != baseline) {
            let row = gather(&row, configurations, [baseline, index], history);
            gathered.push(if by_runs { row.in_core_cycles() } else { row });
        }
    }
    gathered.retain(|row| row.sides.iter().all(|side| !side.is_empty()));
    let CostsOfRuns { costs, mut classes, mut memory } = if by_runs {
        runs::costs(&gathered, runs::host(configurations.iter().map(|other| other.one)), options)
    } else {
        let costs = costs_of_replicates(&gathered);
        CostsOfRuns { costs, classes: Vec::new(), memory: Vec::new() }
    };
    let drafts: Vec<Draft> =
        gathered.iter().zip(costs).filter_map(|(row, cost)| draft(row, cost, options)).collect();
    let mut drift = drift(&drafts, if by_runs { DOUBT } else { LEVEL_OF_ALARMS });
    drift.doubtful = by_runs && !drift.moved.is_empty();
    if drift.doubtful {
        let verdicts = classes.iter_mut().map(|class| &mut class.verdict);
        for verdict in verdicts.chain(memory.iter_mut().map(|memory| &mut memory.verdict)) {
            *verdict = Verdict::Inconclusive;
        }
    }
    let rows = drafts.into_iter().map(|draft| judge(draft, &drift)).collect();
    Judgement { rows, classes, memory, drift }
}

/// Whether all configurations hold a value at that place.
fn is_everywhere(configurations: &[Indexed<'_>], test: &Test, place: &Coordinates) -> bool {
    let has = |other: &Indexed<'_>| {
        let cell = other.tests.get(test).and_then(|same| same.cells.get(place));
        cell.is_some_and(|cell| !cell.samples.is_empty())
    };
    configurations.iter().all(has)
}

fn gather<'t>(
    row: &TestRow<'t>,
    configurations: &[Indexed<'_>],
    pair: [usize; 2],
    history: &[Indexed<'_>],
) -> Gathered<'t> {
    let of = |other: &Indexed<'_>| other.tests.get(row.test).map_or_else(Vec::new, |test| row.samples(test));
    let earlier = |other: &Indexed<'_>| {
        let has_all = (other.tests.get(row.test))
            .is_some_and(|test| row.places.iter().all(|place| test.cells.contains_key(place)));
        let samples = if has_all { of(other) } else { Vec::new() };
        (0..other.one.runs).map(|run| samples.get(run).copied()).collect::<Vec<_>>()
    };
    Gathered {
        row: row.clone(),
        candidate: configurations[pair[1]].one.name.clone(),
        unit: row.test.unit.clone(),
        better: row.test.better,
        sides: pair.map(|index| of(&configurations[index])),
        failed: pair.map(|index| configurations[index].tests.get(row.test).map_or(0, Test::failed)),
        history: history.iter().flat_map(earlier).collect(),
    }
}

/// A row without verdict; `None` if a side holds nothing.
fn draft(gathered: &Gathered<'_>, cost: Cost, options: &Options) -> Option<Draft> {
    let (test, better) = (gathered.row.test, gathered.better);
    let (a, b) = (Side::of(&gathered.sides[0])?, Side::of(&gathered.sides[1])?);
    // Without an interval the two values are all there is.
    let plain = if better == Better::Lower { b.value / a.value } else { a.value / b.value };
    let ratio = cost.comparison.map_or(plain, |cost| cost.ratio);
    let change =
        |cost: f64| as_percent(100.0 * if better == Better::Lower { cost - 1.0 } else { cost.recip() - 1.0 });
    let row = ComparisonRow {
        name: gathered.row.name(),
        group: test.group.clone(),
        unit: gathered.unit.clone(),
        better,
        candidate: gathered.candidate.clone(),
        a: a.value,
        b: b.value,
        a_interval: a.interval,
        b_interval: b.interval,
        change_percent: change(ratio),
        interval: cost.comparison.and_then(|cost| cost.interval).map(|interval| interval.map(change)),
        symmetric_percent: as_percent(stats::symmetric_percent(1.0, ratio)),
        verdict: Verdict::Inconclusive,
        margin_percent: 0.0,
        p: cost.comparison.map(|cost| rounded(cost.p)),
        q: cost.q.map(rounded),
        further_runs: None,
        samples: gathered.sides.each_ref().map(Vec::len),
        paired: false,
        control: test.control,
        knowledge: cost.knowledge,
    };
    let is_unstable = runs::is_one_unstable_run(gathered);
    let declared_percent = gathered.declared_percent(options);
    let has_failed = gathered.failed != [0; 2];
    let (class, is_beside) = (gathered.row.class, test.weight == Weight::Beside);
    Some(Draft { row, cost, class, declared_percent, is_unstable, has_failed, is_beside })
}

/// Log of the candidate's cost over the baseline's: positive is slower.
pub(super) fn cost_log(row: &ComparisonRow) -> f64 {
    row.better.cost((row.change_percent / 100.0).ln_1p())
}

/// Whether the controls stayed: one that moved beyond its margin says that the machine itself did. The controls are a
/// family of their own, as one false alarm among them casts doubt on all rows.
fn drift(drafts: &[Draft], level: f64) -> Drift {
    let controls: Vec<&Draft> = drafts.iter().filter(|draft| draft.row.control).collect();
    let p_values: Vec<f64> = controls.iter().map(|draft| draft.row.p.unwrap_or(1.0)).collect();
    let mut drift = Drift::default();
    for (draft, q) in controls.into_iter().zip(stats::holm(&p_values)) {
        let (name, moved) = (&draft.row.name, draft.row.symmetric_percent);
        let has_moved = match draft.cost.comparison {
            Some(cost) => {
                let verdict = cost.verdict_in_family(draft.declared_percent / 100.0, q);
                q <= level && matches!(verdict, Verdict::Faster | Verdict::Slower)
            }
            None => moved > draft.declared_percent,
        };
        // The rows of a test stand together, one a candidate.
        if drift.controls.last() != Some(name) {
            drift.controls.push(name.clone());
        }
        if has_moved && drift.moved.last() != Some(name) {
            drift.moved.push(name.clone());
        }
        let largest = if has_moved { &mut drift.moved_percent } else { &mut drift.stayed_percent };
        *largest = largest.max(moved);
    }
    drift
}

/// Gives a row its verdict: a claim needs the margin, the interval and the whole family on its side.
fn judge(mut draft: Draft, drift: &Drift) -> Judged {
    let drifted_percent = if draft.row.control || drift.doubtful { 0.0 } else { drift.moved_percent };
    let margin_percent = draft.declared_percent.max(drifted_percent);
    let margin = margin_percent / 100.0;
    draft.row.margin_percent = margin_percent;
    let by_runs = draft.cost.knowledge != Knowledge::None;
    if let Some(cost) = draft.cost.comparison.filter(|_| !drift.doubtful) {
        let q = draft.row.q.unwrap_or(1.0);
        draft.row.verdict = match cost.verdict_in_family(margin, q) {
            // Between runs a control that moved makes all doubtful, and one that did not is no claim.
            Verdict::Faster | Verdict::Slower if draft.row.control && by_runs => Verdict::Inconclusive,
            _ if draft.has_failed || draft.is_unstable && by_runs => Verdict::Inconclusive,
            verdict => verdict,
        };
        if draft.row.verdict == Verdict::Inconclusive && !draft.has_failed {
            draft.row.further_runs = cost.further_pairs_in_family(margin, q).filter(|runs| *runs > 0);
        }
    }
    Judged {
        cost_log: draft.cost.comparison.map_or_else(|| cost_log(&draft.row), |cost| cost.ratio.ln()),
        standard_error: draft.cost.standard_error,
        class: draft.class,
        has_failed: draft.has_failed,
        is_beside: draft.is_beside,
        row: draft.row,
    }
}

/// Level of the interval of the geometric mean.
const LEVEL: f64 = 0.95;

/// Seed of its resamples: equal rows give equal intervals.
const SEED: u64 = 1;

/// Mean of |x| of a standard normal x: sqrt(2 / pi).
const MEAN_MAGNITUDE: f64 = 0.797_884_560_802_865_4;

/// The average of all rows, those without a group, and one per group, candidate by candidate.
pub(super) fn averages(rows: &[Judged], without: &[String]) -> Result<Vec<ComparisonAverage>, CompareError> {
    let groups = distinct(rows.iter().map(|row| row.row.group.as_str()));
    if let Some(asked) = without.iter().find(|asked| !groups.contains(&asked.as_str())) {
        return Err(CompareError::NoGroup {
            asked: asked.clone(),
            hint: did_you_mean(asked, groups.iter().copied()),
            groups: groups.join(", "),
        });
    }
    let mut averages = Vec::new();
    for candidate in distinct(rows.iter().map(|row| row.row.candidate.as_str())) {
        let counts = |row: &&Judged| row.row.candidate == candidate && !row.has_failed;
        let of: Vec<&Judged> = rows.iter().filter(counts).collect();
        let times: Vec<&Judged> = of.iter().copied().filter(|row| !row.is_beside).collect();
        averages.extend(average("all".to_owned(), candidate, &times));
        for name in without {
            let others: Vec<&Judged> = times.iter().copied().filter(|row| row.row.group != *name).collect();
            averages.extend(average(format!("without:{name}"), candidate, &others));
        }
        let mut by_group: HashMap<&str, Vec<&Judged>> = HashMap::new();
        for row in of {
            by_group.entry(&row.row.group).or_default().push(row);
        }
        let in_group = |group: &&str| average((*group).to_owned(), candidate, by_group.get(*group)?);
        averages.extend(groups.iter().filter_map(in_group));
    }
    Ok(averages)
}

fn distinct<'s>(names: impl Iterator<Item = &'s str>) -> Vec<&'s str> {
    let mut seen = HashSet::new();
    names.filter(|name| seen.insert(*name)).collect()
}

fn mean_of(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The interval of the mean log over the rows; `None` where the spread of a row is not known.
///
/// Rows of records are not a sample of tests: those of a class move together from run to run, so that a resample of rows would
/// call an unchanged machine slower. Their errors add up within a class and in squares between classes.
fn interval(rows: &[&Judged], mean: f64) -> Option<Interval> {
    if rows.iter().all(|row| row.row.knowledge == Knowledge::None) {
        let over_tests = |times: &[u32]| {
            let sum: f64 = times.iter().zip(rows).map(|(times, row)| f64::from(*times) * row.cost_log).sum();
            sum / f64::from(times.iter().sum::<u32>())
        };
        return stats::bca(rows.len(), over_tests, LEVEL, SEED);
    }
    let mut of_classes = BTreeMap::new();
    for row in rows {
        *of_classes.entry(row.class).or_insert(0.0) += row.standard_error?;
    }
    let error = of_classes.values().map(|error: &f64| error.powi(2)).sum::<f64>().sqrt() / rows.len() as f64;
    let reach = stats::STANDARD_ERRORS_OF_95 * error;
    Some(Interval { low: mean - reach, high: mean + reach })
}

fn average(group: String, candidate: &str, rows: &[&Judged]) -> Option<ComparisonAverage> {
    // Expected symmetric difference of a row if nothing differed: the mean magnitude of its error.
    let floors: Option<Vec<f64>> =
        rows.iter().map(|row| Some(100.0 * MEAN_MAGNITUDE * row.standard_error?)).collect();
    let mean_log = mean_of(rows.iter().map(|row| row.cost_log))?;
    let percent = |log: f64| as_percent(log.exp_m1() * 100.0);
    Some(ComparisonAverage {
        group,
        candidate: candidate.to_owned(),
        rows: rows.len(),
        symmetric_percent: as_percent(mean_of(rows.iter().map(|row| row.row.symmetric_percent))?),
        floor_percent: floors.and_then(|floors| mean_of(floors.into_iter())).map(as_percent),
        geometric_percent: percent(mean_log),
        geometric_interval: interval(rows, mean_log).map(|ends| ends.map(percent)),
    })
}

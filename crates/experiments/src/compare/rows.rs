//! From matched tests to judged rows.

use std::collections::BTreeMap;

use record::{Better, ComparisonRow, Drift, UnmatchedTest};
use stats::{Comparison, Interval, Verdict};

use super::difference::{Side, difference, standard_error};
use super::{Cell, CompareError, Configuration, Coordinates, Options, Sample, Test};

/// Percentages in documents have this many decimals: enough for any that is printed.
const PERCENT_DECIMALS: f64 = 1e4;
/// Probabilities in documents have this many.
const PROBABILITY_DECIMALS: f64 = 1e6;

/// The places of one level of one test that all configurations hold.
struct Places<'t> {
    test: &'t Test,
    level: Option<&'t str>,
    cells: Vec<Coordinates>,
}

/// A row before the whole family of rows is known.
struct Draft {
    row: ComparisonRow,
    /// The candidate's cost over the baseline's.
    cost: Option<Comparison>,
    declared_percent: f64,
}

/// A row with what averages need of it.
pub(super) struct Judged {
    pub(super) row: ComparisonRow,
    /// Log of the candidate's cost over the baseline's.
    pub(super) cost_log: f64,
    /// Standard error of the cost's log; `None` where the spread is not known.
    pub(super) standard_error: Option<f64>,
}

/// The tests of the baseline that all configurations hold, in its order.
pub(super) fn matched(configurations: &[Configuration], baseline: usize) -> Result<Vec<Test>, CompareError> {
    let own = &configurations[baseline];
    let mut matched = Vec::new();
    for test in &own.tests {
        let mut everywhere = true;
        for other in configurations {
            let Some(same) = other.tests.iter().find(|candidate| candidate.is_same(test)) else {
                everywhere = false;
                continue;
            };
            agree(test, own, same, other)?;
        }
        if everywhere {
            matched.push(test.clone());
        }
    }
    if matched.is_empty() {
        return Err(CompareError::NothingInCommon { names: super::names(configurations) });
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
pub(super) fn unmatched(configurations: &[Configuration], matched: &[Test]) -> Vec<UnmatchedTest> {
    let mut found: Vec<UnmatchedTest> = Vec::new();
    for configuration in configurations {
        for test in &configuration.tests {
            if matched.iter().any(|have| have.is_same(test)) {
                continue;
            }
            let name = configuration.name.clone();
            match found.iter_mut().find(|have| have.name == test.name && have.group == test.group) {
                Some(have) => have.present_in.push(name),
                None => found.push(UnmatchedTest {
                    name: test.name.clone(),
                    group: test.group.clone(),
                    present_in: vec![name],
                }),
            }
        }
    }
    found
}

/// The same test in another configuration.
fn counterpart<'c>(configuration: &'c Configuration, test: &Test) -> Option<&'c Test> {
    configuration.tests.iter().find(|candidate| candidate.is_same(test))
}

/// The levels of a test in the order of the baseline's places; cells whose level nobody found are left out where
/// others have one.
fn by_level<'t>(configurations: &[Configuration], test: &'t Test) -> Vec<Places<'t>> {
    let has_levels = test.cells.values().any(|cell| cell.level.is_some());
    let everywhere = |place: &Coordinates| {
        configurations.iter().all(|other| {
            counterpart(other, test)
                .and_then(|same| same.cells.get(place))
                .is_some_and(|c| !c.samples.is_empty())
        })
    };
    let mut levels: Vec<Places<'t>> = Vec::new();
    for (place, cell) in test.cells.iter().filter(|(place, _)| everywhere(place)) {
        let level = cell.level.as_deref();
        if has_levels && level.is_none() {
            continue;
        }
        match levels.iter_mut().find(|have| have.level == level) {
            Some(have) => have.cells.push(*place),
            None => levels.push(Places { test, level, cells: vec![*place] }),
        }
    }
    levels
}

/// One value per run: the median over the cells, of the values and of the ends of their intervals.
fn over_cells(cells: &BTreeMap<Coordinates, Cell>, places: &[Coordinates]) -> Vec<Sample> {
    let chosen: Vec<&Cell> = places.iter().filter_map(|place| cells.get(place)).collect();
    if let [only] = chosen.as_slice() {
        return only.samples.clone();
    }
    let runs = chosen.iter().map(|cell| cell.samples.len()).min().unwrap_or(0);
    let median_of = |run: usize, of: fn(&Sample) -> Option<f64>| {
        let values: Option<Vec<f64>> = chosen.iter().map(|cell| of(&cell.samples[run])).collect();
        values.and_then(|values| stats::median(&values))
    };
    (0..runs)
        .filter_map(|run| {
            let low = median_of(run, |sample| sample.interval.map(|interval| interval.low));
            let high = median_of(run, |sample| sample.interval.map(|interval| interval.high));
            let interval = low.zip(high).map(|(low, high)| Interval { low, high });
            Some(Sample { value: median_of(run, |sample| Some(sample.value))?, interval })
        })
        .collect()
}

/// All rows with their verdicts, and what the controls say.
pub(super) fn judged(
    configurations: &[Configuration],
    baseline: usize,
    matched: &[Test],
    options: &Options,
) -> Result<(Vec<Judged>, Drift), CompareError> {
    let mut drafts = Vec::new();
    for places in matched.iter().flat_map(|test| by_level(configurations, test)) {
        for (index, candidate) in configurations.iter().enumerate().filter(|(index, _)| *index != baseline) {
            let samples = [baseline, index].map(|one| {
                counterpart(&configurations[one], places.test)
                    .map_or_else(Vec::new, |t| over_cells(&t.cells, &places.cells))
            });
            drafts.extend(draft(&places, &samples, &candidate.name, options)?);
        }
    }
    let family: Vec<usize> = (0..drafts.len()).filter(|index| drafts[*index].cost.is_some()).collect();
    let p_values: Vec<f64> = family.iter().filter_map(|index| drafts[*index].row.p).collect();
    for (index, q) in family.into_iter().zip(stats::benjamini_hochberg(&p_values)) {
        drafts[index].row.q = Some(rounded(q));
    }
    let drift = drift(&drafts);
    let rows = drafts.into_iter().map(|draft| judge(draft, drift.moved_percent)).collect();
    Ok((rows, drift))
}

/// A row without verdict; `None` if a side holds nothing.
fn draft(
    places: &Places<'_>,
    samples: &[Vec<Sample>; 2],
    candidate: &str,
    options: &Options,
) -> Result<Option<Draft>, CompareError> {
    let test = places.test;
    let counts = [samples[0].len(), samples[1].len()];
    if options.paired && counts[0] != counts[1] {
        return Err(CompareError::NotPairs { test: test.name.clone(), first: counts[0], second: counts[1] });
    }
    let [Some(a), Some(b)] = [&samples[0], &samples[1]].map(|side| Side::of(side)) else { return Ok(None) };
    let cost = difference([&samples[0], &samples[1]], test.better, options.paired);
    // Without an interval the two values are all there is.
    let plain = if test.better == Better::Lower { b.value / a.value } else { a.value / b.value };
    let ratio = cost.map_or(plain, |cost| cost.ratio);
    let change = |cost: f64| {
        as_percent(100.0 * if test.better == Better::Lower { cost - 1.0 } else { cost.recip() - 1.0 })
    };
    let row = ComparisonRow {
        name: places.level.map_or_else(|| test.name.clone(), |level| format!("{}, {level}", test.name)),
        group: test.group.clone(),
        unit: test.unit.clone(),
        better: test.better,
        candidate: candidate.to_owned(),
        a: a.value,
        b: b.value,
        a_interval: a.interval,
        b_interval: b.interval,
        change_percent: change(ratio),
        interval: cost.and_then(|cost| cost.interval).map(|interval| interval.map(change)),
        symmetric_percent: as_percent(stats::symmetric_percent(1.0, ratio)),
        verdict: Verdict::Inconclusive,
        margin_percent: 0.0,
        p: cost.map(|cost| rounded(cost.p)),
        q: None,
        further_runs: None,
        samples: counts,
        paired: options.paired,
        control: test.control,
    };
    let declared_percent = options.margin_percent.unwrap_or(test.weight.margin_percent());
    Ok(Some(Draft { row, cost, declared_percent }))
}

/// Log of the candidate's cost over the baseline's: positive is slower.
pub(super) fn cost_log(row: &ComparisonRow) -> f64 {
    let log = (row.change_percent / 100.0).ln_1p();
    if row.better == Better::Lower { log } else { -log }
}

/// Whether the controls stayed: one that moved beyond its margin says that the machine itself did. The controls are a
/// family of their own, as one false alarm among them casts doubt on all rows.
fn drift(drafts: &[Draft]) -> Drift {
    let controls: Vec<&Draft> = drafts.iter().filter(|draft| draft.row.control).collect();
    let p_values: Vec<f64> = controls.iter().map(|draft| draft.row.p.unwrap_or(1.0)).collect();
    let mut drift = Drift::default();
    for (draft, q) in controls.into_iter().zip(stats::benjamini_hochberg(&p_values)) {
        let (name, moved) = (&draft.row.name, draft.row.symmetric_percent);
        let has_moved = match draft.cost {
            Some(cost) => {
                let verdict = cost.verdict_in_family(draft.declared_percent / 100.0, q);
                matches!(verdict, Verdict::Faster | Verdict::Slower)
            }
            None => moved > draft.declared_percent,
        };
        if !drift.controls.contains(name) {
            drift.controls.push(name.clone());
        }
        if has_moved && !drift.moved.contains(name) {
            drift.moved.push(name.clone());
        }
        let largest = if has_moved { &mut drift.moved_percent } else { &mut drift.stayed_percent };
        *largest = largest.max(moved);
    }
    drift
}

/// Gives a row its verdict: a claim needs the margin, the interval and the whole family on its side.
fn judge(mut draft: Draft, drifted_percent: f64) -> Judged {
    let drifted_percent = if draft.row.control { 0.0 } else { drifted_percent };
    let margin_percent = draft.declared_percent.max(drifted_percent);
    let margin = margin_percent / 100.0;
    draft.row.margin_percent = margin_percent;
    if let Some(cost) = draft.cost {
        let q = draft.row.q.unwrap_or(1.0);
        draft.row.verdict = cost.verdict_in_family(margin, q);
        if draft.row.verdict == Verdict::Inconclusive {
            draft.row.further_runs = cost.further_pairs_in_family(margin, q).filter(|runs| *runs > 0);
        }
    }
    Judged {
        cost_log: draft.cost.map_or_else(|| cost_log(&draft.row), |cost| cost.ratio.ln()),
        standard_error: draft.cost.and_then(|cost| standard_error(&cost)),
        row: draft.row,
    }
}

/// A percentage as documents hold it.
pub(super) fn as_percent(value: f64) -> f64 {
    (value * PERCENT_DECIMALS).round() / PERCENT_DECIMALS
}

fn rounded(value: f64) -> f64 {
    (value * PROBABILITY_DECIMALS).round() / PROBABILITY_DECIMALS
}

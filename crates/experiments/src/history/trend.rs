//! What a row did from run to run: its slope, where its level changed, and which facts changed there; and what runs of this host can
//! show, by class of rows: from its own history, else from the shipped table.

use std::collections::{BTreeMap, BTreeSet};

use record::{BOOT, FactDifference, HistoryChange, HistoryEntry, HistoryRow, HistoryTrend};
use stats::{ClassSpread, Host, RowClass, change_points, class_spreads, median};

use super::seconds_of_utc;
use crate::compare::differing;

/// Over less time a slope per day says nothing.
const SLOPE_LEAST_S: f64 = 3600.0;
const DAY_S: f64 = 86_400.0;
/// Slopes are taken between all pairs of at most so many runs, the newest: a second for ten thousand would be too long.
const SLOPE_RUNS_MAX: usize = 300;

/// The trend of each row of these runs, which are of one machine, oldest first; of one row, if it is named. Only runs
/// with the plan of the last one count, as others have other values, and runs that were stopped do not.
pub fn trends(entries: &[&HistoryEntry], row: Option<&str>) -> Vec<HistoryTrend> {
    let like = alike(entries);
    let Some(last) = like.last() else { return Vec::new() };
    let required = last.rows.iter().filter(|(name, _)| row.is_none_or(|row| row == name.as_str()));
    required.map(|(name, about)| trend(&like, about, name)).collect()
}

fn trend(entries: &[&HistoryEntry], about: &HistoryRow, name: &str) -> HistoryTrend {
    let measured = |entry: &&&HistoryEntry| entry.rows.get(name).is_some_and(|row| row.cost().is_some());
    let runs: Vec<(&HistoryEntry, f64)> =
        entries.iter().filter(measured).map(|entry| (*entry, entry.rows[name].value)).collect();
    let logs: Vec<f64> = runs.iter().map(|(_, value)| value.ln()).collect();
    let changes = change_points(&logs).into_iter().map(|point| HistoryChange {
        started_utc: runs[point.index].0.started_utc.clone(),
        percent: (point.after - point.before).exp_m1() * 100.0,
        facts: differences(&runs[point.index - 1].0.facts, &runs[point.index].0.facts),
        point,
    });
    HistoryTrend {
        row: name.to_owned(),
        class: about.class,
        unit: about.unit.clone(),
        better: about.better,
        started_utc: runs.iter().map(|(entry, _)| entry.started_utc.clone()).collect(),
        changes: changes.collect(),
        percent_per_day: slope(&runs),
        values: runs.iter().map(|(_, value)| *value).collect(),
    }
}

fn slope(runs: &[(&HistoryEntry, f64)]) -> Option<f64> {
    let at = |(entry, value): &(&HistoryEntry, f64)| {
        Some((seconds_of_utc(&entry.started_utc)? as f64, value.ln()))
    };
    slope_per_day(&runs.iter().filter_map(at).collect::<Vec<_>>())
}

/// The median of the slopes between all pairs of points (Sen 1968), seconds and logarithms, as percent for a day.
pub(crate) fn slope_per_day(points: &[(f64, f64)]) -> Option<f64> {
    let points = &points[points.len().saturating_sub(SLOPE_RUNS_MAX)..];
    let span_s = points.last()?.0 - points.first()?.0;
    let mut slopes = Vec::new();
    for (index, (start_s, start)) in points.iter().enumerate() {
        for (end_s, end) in points[index + 1..].iter().filter(|(end_s, _)| end_s > start_s) {
            slopes.push((end - start) / (end_s - start_s) * DAY_S);
        }
    }
    let per_day = median(&slopes).filter(|_| span_s >= SLOPE_LEAST_S)?;
    Some(per_day.exp_m1() * 100.0).filter(|percent| percent.is_finite())
}

/// Facts in which two runs differ, but for the boot, which explains nothing.
pub(crate) fn differences(
    before: &BTreeMap<String, String>,
    after: &BTreeMap<String, String>,
) -> Vec<FactDifference> {
    let names: BTreeSet<&str> = before.keys().chain(after.keys()).map(String::as_str).collect();
    let values = |name: &str| [before, after].map(|facts| facts.get(name).cloned()).into();
    differing(names.into_iter().filter(|name| *name != BOOT), values).collect()
}

/// The earlier runs that are like the newest whole one: of one plan, and not stopped. They have to be of one machine, oldest first.
pub fn alike<'a>(entries: &[&'a HistoryEntry]) -> Vec<&'a HistoryEntry> {
    let whole = || entries.iter().filter(|entry| entry.partial.is_none());
    let newest = whole().next_back();
    whole().filter(|entry| newest.is_some_and(|newest| entry.plan == newest.plan)).copied().collect()
}

/// How far earlier runs of a host, which are alike, spread in each class.
pub fn spreads(runs: &[&HistoryEntry], host: Host) -> Vec<ClassSpread> {
    let mut rows: BTreeMap<&str, RowClass> = BTreeMap::new();
    for run in runs {
        rows.extend(run.rows.iter().map(|(name, row)| (name.as_str(), row.class)));
    }
    let cost = |run: &&HistoryEntry, name| run.rows.get(name).and_then(HistoryRow::cost).unwrap_or(f64::NAN);
    let history: Vec<(RowClass, Vec<f64>)> = rows
        .into_iter()
        .map(|(name, class)| (class, runs.iter().map(|run| cost(run, name)).collect()))
        .collect();
    class_spreads(&history, host)
}

#[cfg(test)]
mod tests {
    use record::Better;
    use stats::{Random, RowClass};

    use super::*;

    fn run(hour: usize, value: f64, kernel: &str) -> HistoryEntry {
        let class = RowClass::CoreLatency;
        let row = HistoryRow { class, unit: "ns".to_owned(), better: Better::Lower, value };
        let facts = [("boot", format!("{hour}")), ("kernel", kernel.to_owned())];
        HistoryEntry {
            started_utc: format!("2026-01-{:02}T{:02}:00:00Z", hour / 24 + 1, hour % 24),
            plan: "20 s: surface".to_owned(),
            facts: facts.map(|(name, value)| (name.to_owned(), value)).into(),
            rows: [("latency, L1".to_owned(), row)].into(),
            ..HistoryEntry::default()
        }
    }

    #[test]
    fn a_step_is_found_with_the_kernel_that_changed_there() {
        let mut random = Random::new(3);
        let entries: Vec<HistoryEntry> = (0..40)
            .map(|hour| {
                let level = if hour < 22 { 1.0 } else { 1.1 };
                run(hour, level * (0.01 * random.normal()).exp(), if hour < 22 { "6.1" } else { "6.2" })
            })
            .collect();
        let found = trends(&entries.iter().collect::<Vec<_>>(), Some("latency, L1"));
        let [trend] = found.as_slice() else { panic!("{found:?}") };
        let [change] = trend.changes.as_slice() else { panic!("{:?}", trend.changes) };
        assert_eq!(change.started_utc, "2026-01-01T22:00:00Z");
        assert!((change.percent - 10.0).abs() < 2.0, "{}", change.percent);
        let facts: Vec<&str> = change.facts.iter().map(|fact| fact.fact.as_str()).collect();
        assert_eq!(facts, ["kernel"]);
    }

    #[test]
    fn a_gradual_change_is_a_slope_and_other_plans_do_not_count() {
        let mut entries: Vec<HistoryEntry> =
            (0..48).map(|hour| run(hour, 1.02_f64.powf(hour as f64 / 24.0), "6.1")).collect();
        entries[7].plan = "90 s: surface".to_owned();
        entries[8].partial = Some("stopped".to_owned());
        let found = trends(&entries.iter().collect::<Vec<_>>(), None);
        assert_eq!(found[0].values.len(), 46);
        let slope = found[0].percent_per_day.expect("two days");
        assert!((slope - 2.0).abs() < 0.01, "{slope}");
        assert!(trends(&[], None).is_empty());
    }

    fn row_of(class: RowClass, value: f64) -> HistoryRow {
        HistoryRow { class, unit: "ns".to_owned(), better: Better::Lower, value }
    }

    #[test]
    fn runs_of_another_plan_and_stopped_ones_are_no_history() {
        let run = |plan: &str, partial: Option<&str>, value: f64| HistoryEntry {
            plan: plan.to_owned(),
            partial: partial.map(str::to_owned),
            rows: [("rdtsc".to_owned(), row_of(RowClass::ClockReads, value))].into(),
            ..HistoryEntry::default()
        };
        let mut all: Vec<HistoryEntry> =
            (0..6).map(|index| run("quick", None, 8.0 + 0.001 * f64::from(index))).collect();
        all.push(run("full", None, 99.0));
        all.push(run("quick", Some("stopped"), 0.0));
        all.push(run("quick", None, -1.0));
        let chosen = alike(&all.iter().collect::<Vec<_>>());
        assert_eq!(chosen.len(), 7);
        let found = spreads(&chosen, Host::Guest);
        let [reads] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((reads.class, reads.rows), (RowClass::ClockReads, 1));
        assert!(reads.widest_row < 0.02, "{reads:?}");
        assert!(alike(&[]).is_empty() && spreads(&[], Host::Guest).is_empty());
    }
}

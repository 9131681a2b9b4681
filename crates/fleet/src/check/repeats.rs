//! Suspects that were repeated beside healthy nodes: confirmed, or not seen again.

use std::collections::BTreeMap;

use record::{FleetLevel, FleetRepeat, FleetStatus, FleetSuspect};
use stats::{group_shift, median, rank_sum_p};

use super::tables::{Repeat, Tables};

/// A suspect is confirmed at this p: 5 runs against 10 can reach 0.0007, 5 nodes against 5 reach 0.008.
const LEVEL: f64 = 0.01;
/// Fewer than these on either side decide nothing.
const FEWEST: usize = 4;
/// The difference has to come again with at least this share of its first size: of many, those that are seen are seen too large.
const SHARE: f64 = 0.5;
/// The arm of the healthy side, as `fleet confirm` calls it.
pub(crate) const HEALTHY: &str = "healthy";

/// The logarithms of one run, by metric.
type Numbers = BTreeMap<String, f64>;
/// One side of an experiment, by node and run.
type Side<'t> = BTreeMap<&'t str, BTreeMap<&'t str, &'t Numbers>>;
/// The runs that are one unit.
type Unit<'t> = Vec<&'t Numbers>;

/// What repeats say of a node, whose record began at `started_utc`: those before it do not count. The unit is the run.
pub(super) fn of_node(tables: &Tables, started_utc: &str, keys: &[&str], suspect: &mut FleetSuspect) {
    // A run is named by the time of its start.
    let digits: String = started_utc.chars().filter(char::is_ascii_alphanumeric).collect();
    let is_of_it = |[suspects, _]: &[Side<'_>; 2]| {
        let runs = suspects.get(suspect.node.as_str());
        suspects.len() == 1 && runs.is_some_and(|runs| runs.keys().all(|run| **run > *digits))
    };
    if let Some((status, repeat)) = repeat(tables, suspect.worse_percent, keys, is_of_it, each_run) {
        (suspect.status, suspect.repeat) = (status, Some(repeat));
    }
}

/// What repeats say of a level with these nodes: here the unit is the node.
pub(super) fn of_level(tables: &Tables, members: &[&str], keys: &[&str], level: &mut FleetLevel) {
    let is_of_it = |[suspects, healthy]: &[Side<'_>; 2]| {
        suspects.len() > 1
            && suspects.keys().all(|node| members.contains(node))
            && !healthy.keys().any(|node| members.contains(node))
    };
    if let Some((status, repeat)) = repeat(tables, level.worse_percent, keys, is_of_it, each_node) {
        (level.status, level.repeat) = (status, Some(repeat));
    }
}

fn each_run<'t>(side: &Side<'t>) -> Vec<Unit<'t>> {
    side.values().flat_map(BTreeMap::values).map(|run| vec![*run]).collect()
}

fn each_node<'t>(side: &Side<'t>) -> Vec<Unit<'t>> {
    side.values().map(|runs| runs.values().copied().collect()).collect()
}

/// The last experiment that is meant, judged; `None` if there is none.
fn repeat<'t>(
    tables: &'t Tables,
    worse_percent: f64,
    keys: &[&str],
    is_meant: impl Fn(&[Side<'t>; 2]) -> bool,
    units: fn(&Side<'t>) -> Vec<Unit<'t>>,
) -> Option<(FleetStatus, FleetRepeat)> {
    let mut experiments: BTreeMap<&str, [Side<'t>; 2]> = BTreeMap::new();
    for Repeat { row, values } in &tables.repeats {
        let side = usize::from(row.run.arm.as_deref() == Some(HEALTHY));
        let sides = experiments.entry(&row.run.experiment).or_default();
        sides[side].entry(&row.node).or_default().insert(&row.run_id, values);
    }
    let latest = |[suspects, _]: &[Side<'t>; 2]| suspects.values().flat_map(BTreeMap::keys).max().copied();
    let meant = experiments.into_iter().filter(|(_, sides)| is_meant(sides));
    let (experiment, sides) = meant.max_by_key(|(_, sides)| latest(sides))?;
    let all: Unit<'_> = sides[1].values().flat_map(BTreeMap::values).copied().collect();
    let [suspect, healthy] = sides
        .each_ref()
        .map(|side| units(side).iter().filter_map(|unit| score(unit, &all, keys)).collect::<Vec<f64>>());
    let shift = group_shift(&healthy, &suspect, 1.0 - LEVEL)?.value;
    let p = rank_sum_p(&suspect, &healthy);
    let found = FleetRepeat {
        experiment: experiment.to_owned(),
        suspect_runs: suspect.len(),
        healthy_runs: healthy.len(),
        worse_percent: 100.0 * shift.exp_m1(),
        p,
    };
    let first = (worse_percent / 100.0).ln_1p();
    let status = match () {
        () if suspect.len() < FEWEST || healthy.len() < FEWEST => FleetStatus::Suspect,
        () if p <= LEVEL && shift * first > 0.0 && shift.abs() >= SHARE * first.abs() => {
            FleetStatus::Confirmed
        }
        () => FleetStatus::NotSeenAgain,
    };
    Some((status, found))
}

/// The median over metrics of what these runs differ by from the healthy ones.
fn score(runs: &[&Numbers], healthy: &[&Numbers], keys: &[&str]) -> Option<f64> {
    let of = |runs: &[&Numbers], key: &str| {
        median(&runs.iter().filter_map(|run| run.get(key).copied()).collect::<Vec<_>>())
    };
    let differences = keys.iter().filter_map(|key| Some(of(runs, key)? - of(healthy, key)?));
    median(&differences.collect::<Vec<_>>())
}

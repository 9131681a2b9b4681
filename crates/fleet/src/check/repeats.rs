//! Suspects that were repeated beside healthy nodes: confirmed, or not seen again.

use std::collections::{BTreeMap, BTreeSet};

use record::{FleetLevel, FleetRepeat, FleetStatus, FleetSuspect};
use stats::{group_shift, median, rank_sum_p};

use super::tables::Tables;

/// A suspect is confirmed at this p: 5 runs against 10 can reach 0.0007, 5 nodes against 5 reach 0.008.
const LEVEL: f64 = 0.01;
/// Fewer than these on either side decide nothing.
const FEWEST: usize = 4;
/// The difference has to come again with at least this share of its first size: of many, those that are seen are seen too large.
const SHARE: f64 = 0.5;
/// The arm of the healthy side, as `fleet confirm` calls it.
pub(crate) const HEALTHY: &str = "healthy";

/// The runs of one experiment, by arm and node.
#[derive(Default)]
struct Sides<'t> {
    suspect: BTreeMap<&'t str, BTreeSet<&'t str>>,
    healthy: BTreeMap<&'t str, BTreeSet<&'t str>>,
    /// By run its numbers.
    values: BTreeMap<&'t str, &'t BTreeMap<String, f64>>,
}

/// What repeats say of a node, whose record began at `started_utc`: those before it do not count.
pub(super) fn of_node(tables: &Tables, started_utc: &str, keys: &[&str], suspect: &mut FleetSuspect) {
    let is_of_it = |sides: &Sides<'_>| {
        sides.suspect.len() == 1
            && sides.suspect.get(suspect.node.as_str()).is_some_and(|runs| {
                // A run is named by the time of its start.
                let digits: String = started_utc.chars().filter(char::is_ascii_alphanumeric).collect();
                runs.iter().all(|run| **run > *digits)
            })
    };
    let by_run = |sides: &Sides<'_>| {
        let units = |side: &BTreeMap<&str, BTreeSet<&str>>| -> Vec<f64> {
            side.values().flatten().filter_map(|run| score(sides, &[run], keys)).collect()
        };
        (units(&sides.suspect), units(&sides.healthy))
    };
    let found = repeat(tables, suspect.worse_percent, is_of_it, by_run);
    if let Some((status, repeat)) = found {
        (suspect.status, suspect.repeat) = (status, Some(repeat));
    }
}

/// What repeats say of a level with these nodes: here the unit is the node.
pub(super) fn of_level(tables: &Tables, members: &[&str], keys: &[&str], level: &mut FleetLevel) {
    let is_of_it = |sides: &Sides<'_>| {
        sides.suspect.len() > 1
            && sides.suspect.keys().all(|node| members.contains(node))
            && !sides.healthy.keys().any(|node| members.contains(node))
    };
    let by_node = |sides: &Sides<'_>| {
        let units = |side: &BTreeMap<&str, BTreeSet<&str>>| -> Vec<f64> {
            side.values()
                .filter_map(|runs| score(sides, &runs.iter().copied().collect::<Vec<_>>(), keys))
                .collect()
        };
        (units(&sides.suspect), units(&sides.healthy))
    };
    let found = repeat(tables, level.worse_percent, is_of_it, by_node);
    if let Some((status, repeat)) = found {
        (level.status, level.repeat) = (status, Some(repeat));
    }
}

/// The last experiment that is meant, judged; `None` if there is none.
fn repeat(
    tables: &Tables,
    worse_percent: f64,
    is_meant: impl Fn(&Sides<'_>) -> bool,
    units: impl Fn(&Sides<'_>) -> (Vec<f64>, Vec<f64>),
) -> Option<(FleetStatus, FleetRepeat)> {
    let mut experiments: BTreeMap<&str, Sides<'_>> = BTreeMap::new();
    for run in &tables.repeats {
        let sides = experiments.entry(&run.experiment).or_default();
        let is_healthy = run.arm.as_deref() == Some(HEALTHY);
        let side = if is_healthy { &mut sides.healthy } else { &mut sides.suspect };
        side.entry(&run.node).or_default().insert(&run.run_id);
        sides.values.insert(&run.run_id, &run.values);
    }
    let latest = |sides: &Sides<'_>| sides.suspect.values().flatten().max().map(|run| (*run).to_owned());
    let (experiment, sides) = experiments
        .into_iter()
        .filter(|(_, sides)| is_meant(sides))
        .max_by_key(|(_, sides)| latest(sides))?;
    let (suspect, healthy) = units(&sides);
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
fn score(sides: &Sides<'_>, runs: &[&str], keys: &[&str]) -> Option<f64> {
    let of = |runs: &mut dyn Iterator<Item = &str>, key: &str| {
        median(&runs.filter_map(|run| sides.values.get(run)?.get(key).copied()).collect::<Vec<_>>())
    };
    let differences = keys.iter().filter_map(|key| {
        let healthy = of(&mut sides.healthy.values().flatten().copied(), key)?;
        Some(of(&mut runs.iter().copied(), key)? - healthy)
    });
    median(&differences.collect::<Vec<_>>())
}

//! The numbers of a record, one row each.
//!
//! `metric`, `labels`, `cpu` and `mem_node` together are what nodes are compared by: none of them says which run it was.

use std::collections::BTreeSet;

use machine::{CpuId, Topology};
use record::{Better, Measurement, MetricRow, NodeRow, Place, Quality, Record, measurements, metric};

/// Every number of a record that means something, the first of each kind. The clock of a core is that of its control loop, which has a
/// row.
pub(super) fn metrics(record: &Record, node: &NodeRow) -> Vec<MetricRow> {
    let mut seen = BTreeSet::new();
    let found = measurements(record);
    let meant = found.iter().filter(|one| one.is_comparable() && one.metric != &metric::CORE_CLOCK);
    let row = |one| row(one, &record.machine.topology, node);
    meant.map(row).filter(|row| seen.insert(key(row))).collect()
}

fn row(one: &Measurement<'_>, topology: &Topology, node: &NodeRow) -> MetricRow {
    let (cpu, cpus) = match one.place {
        Place::One(cpu) => (Some(cpu.to_string()), vec![*cpu]),
        Place::Together(cpus) => (Some(cpus.to_string()), cpus.iter().collect()),
        Place::Pair(measured, other) => (Some(format!("{measured}>{other}")), vec![*measured, *other]),
        Place::Machine => (None, Vec::new()),
    };
    let interval = one.interval();
    MetricRow {
        node: node.node.clone(),
        run_id: node.run_id.clone(),
        metric: one.metric.name.to_owned(),
        labels: one.label_text(),
        family: one.class().name().to_owned(),
        cpu,
        socket: socket(&cpus, topology),
        mem_node: one.node.map(|node| node.0),
        unit: one.metric.unit.name.to_owned(),
        higher_is_better: one.metric.unit.better == Better::Higher,
        n: one.spread.windows as u64,
        estimate: one.value,
        ci_lo: interval.map(|interval| interval.low),
        ci_hi: interval.map(|interval| interval.high),
        quality: one.spread.quality,
    }
}

/// The package of all these CPUs, if it is one and known.
fn socket(cpus: &[CpuId], topology: &Topology) -> Option<i64> {
    let mut packages: Vec<Option<i64>> =
        cpus.iter().map(|cpu| topology.cpu(*cpu).map(|cpu| cpu.package)).collect();
    packages.dedup();
    match packages.as_slice() {
        [Some(package)] if *package >= 0 => Some(*package),
        _ => None,
    }
}

/// What is compared between nodes: sockets of a node are never mixed.
pub(crate) fn key(row: &MetricRow) -> String {
    let labels = if row.labels.is_empty() { String::new() } else { format!("{{{}}}", row.labels) };
    let cpu = row.cpu.as_ref().map_or_else(String::new, |cpu| format!(" cpu {cpu}"));
    let node = row.mem_node.map_or_else(String::new, |node| format!(" node {node}"));
    [&row.metric, &labels, &cpu, &node].map(String::as_str).concat()
}

/// A number as a logarithm of which more is worse; `None` if it has no single value.
pub(crate) fn worse_log(row: &MetricRow) -> Option<f64> {
    let is_one = row.estimate > 0.0 && row.estimate.is_finite() && row.quality != Quality::Unstable;
    is_one.then(|| if row.higher_is_better { -row.estimate.ln() } else { row.estimate.ln() })
}

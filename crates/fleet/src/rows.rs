//! A record laid flat: what a check, or any reader of rows, is given.
//!
//! A record of any version is taken: what it does not say is absent from the rows. Numbers that are not above zero, such as a cost
//! that came out negative, give no row, as ratios of them mean nothing.

mod metrics;
mod names;
mod states;

use record::{
    FIRST_KERNEL_SET, MetricOfRun, MetricRow, NodeRow, PlanOutcome, Provenance, Record, RunColumns, StateRow,
    fact_columns,
};

use crate::node::run_id;
pub(crate) use metrics::{key, worse_log};
pub use names::Names;

/// What an ordinary check-up is for.
pub const CHECK_UP: &str = "check-up";

/// Where a record was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin<'o> {
    /// The file, below the drop directory.
    pub file: &'o str,
    /// The name of the node, where the record does not say one: of the folder that holds it.
    pub node: &'o str,
}

/// The rows of one record.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Flattened {
    /// What the node is, and how the run went.
    pub node: NodeRow,
    /// Verdicts, clock pairs, settings.
    pub states: Vec<StateRow>,
    /// Numbers, no two of them of one metric, labels, CPUs and memory.
    pub metrics: Vec<MetricRow>,
}

impl Flattened {
    /// The numbers as they are written.
    pub fn metrics_of_run(&self) -> impl Iterator<Item = MetricOfRun<'_>> {
        let NodeRow { run, partial, .. } = &self.node;
        self.metrics.iter().map(|number| MetricOfRun { number, run, partial: partial.is_some() })
    }
}

/// Why a record that can be read gives no rows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoRows {
    /// Windows were made longer on purpose.
    #[error("a difference was planted in it: it says nothing of its node")]
    Planted,
}

/// Lays a record flat.
///
/// # Errors
/// The record says nothing of a node.
pub fn flatten(record: &Record, origin: Origin<'_>) -> Result<Flattened, NoRows> {
    if !record.provenance.planted.is_empty() {
        return Err(NoRows::Planted);
    }
    let node = node(record, origin);
    let metrics = metrics::metrics(record, &node);
    let states = states::states(record, &node);
    Ok(Flattened { node: NodeRow { metrics: metrics.len() as u64, ..node }, states, metrics })
}

fn node(record: &Record, origin: Origin<'_>) -> NodeRow {
    let provenance = &record.provenance;
    let engine = provenance.engine.as_ref();
    let said = provenance.node.as_ref().or(provenance.host_name.as_ref());
    let node = said.map_or_else(|| origin.node.to_owned(), Clone::clone);
    NodeRow {
        run_id: run_id(provenance, &node),
        node,
        run: RunColumns {
            started_utc: provenance.started_utc.clone(),
            boot_id: provenance.boot_id.clone(),
            tool_version: provenance.tool_version.clone(),
            kernel_set_version: provenance.kernel_set.unwrap_or(FIRST_KERNEL_SET),
            preset: preset(&provenance.arguments),
            experiment: experiment(provenance),
            arm: provenance.arm.clone(),
            others_share: record.guards.others_share,
            steal_share: record.guards.steal_share,
        },
        facts: fact_columns(record),
        coverage: coverage(record),
        partial: record.partial.clone(),
        doubts: record.guards.doubts.len() as u64,
        metrics: 0,
        engine: engine.map(|engine| engine.name.clone()),
        job: engine.and_then(|engine| engine.job.clone()),
        step: engine.and_then(|engine| engine.step.clone()),
        serials_hash: provenance.serials_hash.clone(),
        file: origin.file.to_owned(),
    }
}

/// How deeply was measured, from the arguments: runs of different presets have different blocks and windows.
fn preset(arguments: &[String]) -> String {
    let value_of = |option: &str| {
        let joined = arguments.iter().find_map(|word| word.strip_prefix(option)?.strip_prefix('='));
        let place = arguments.iter().position(|word| word == option);
        let apart = place.and_then(|place| arguments.get(place + 1)).map(String::as_str);
        joined.or(apart)
    };
    let has = |flag: &str| arguments.iter().any(|word| word == flag);
    let depth = match value_of("--budget") {
        _ if has("--quick") => "quick".to_owned(),
        _ if has("--full") => "full".to_owned(),
        Some(budget) => format!("budget-{budget}"),
        None => "standard".to_owned(),
    };
    let narrowed = |name: &str| {
        value_of(&format!("--{name}")).map_or_else(String::new, |value| format!("+{name}={value}"))
    };
    depth + &["only", "cpus", "epochs"].map(narrowed).concat()
}

/// What a run was for: what --experiment said, or the command that measured.
fn experiment(provenance: &Provenance) -> String {
    if let Some(said) = &provenance.experiment {
        return said.clone();
    }
    let words = provenance.arguments.iter().take_while(|word| !word.starts_with('-'));
    let words: Vec<&str> = words.take(2).map(String::as_str).collect();
    if matches!(words.as_slice(), [] | ["run", ..]) { CHECK_UP.to_owned() } else { words.join(" ") }
}

/// Share of the planned probes that ran to their end; those for which the preset has no time were not planned.
fn coverage(record: &Record) -> Option<f64> {
    let outcomes = record.plan.entries.iter().map(|entry| &entry.outcome);
    let planned: Vec<_> = outcomes.filter(|outcome| !matches!(outcome, PlanOutcome::Dropped(_))).collect();
    let done = planned.iter().filter(|outcome| ***outcome == PlanOutcome::Done).count();
    (!planned.is_empty()).then(|| done as f64 / planned.len() as f64)
}

#[cfg(test)]
mod tests;

//! Rows of a fleet: a record laid flat, so that SQL needs to know nothing of a record's shape.
//!
//! Three tables. `metrics` has a row for every number that was measured, `nodes` one for every run on a node, `states` one for every
//! verdict, clock pair and setting: what is counted, and never ranked. They join by `run_id`. Each row is one JSON object of text,
//! numbers and booleans, without nesting; a column that is unknown is left out of the row, and is NULL to SQL.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Quality;

/// Version of the rows. It rises when a column changes its meaning or goes; a new column does not raise it. From 2 on
/// `metric` is a name of the table of measurements, and its parameters are in `labels`.
pub const FLEET_ROWS_SCHEMA: u32 = 2;

/// The kernels of records that do not say which they ran: those of the first version.
pub const FIRST_KERNEL_SET: u32 = 1;

/// One number that was measured on one node.
///
/// `metric`, `labels`, `cpu` and `mem_node` together name what is compared between nodes: sockets of a node are never mixed.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MetricRow {
    /// Name of the node.
    pub node: String,
    /// The run, unique in the fleet: `20261126T045412Z-1a2b3c4d-9f8e7d6c`, from start, boot, and a hash of seed and node.
    pub run_id: String,
    /// What was measured, as docs/measurements.md names it: `memory_latency_ns`.
    pub metric: String,
    /// Its parameters, without the CPU: `block_bytes=1048576,stride_bytes=64,page_bytes=4096`; empty where it has none.
    #[serde(default)]
    pub labels: String,
    /// The class of the metric, such as `memory latency`.
    pub family: String,
    /// The CPUs: `0`, `0-3` for those that worked together, `0>1` for a pair in which the first is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<String>,
    /// The package of the CPUs, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket: Option<i64>,
    /// The NUMA node of the memory, where it was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mem_node: Option<u32>,
    /// `ns`, `bytes_per_s`, `iterations_per_s`, `hz`, `ratio`.
    pub unit: String,
    /// Whether more is better.
    pub higher_is_better: bool,
    /// Windows behind the number; 0 where it was computed from others.
    pub n: u64,
    /// The number: finite, and above 0.
    pub estimate: f64,
    /// Low end of its 95 % interval, of this run alone: nodes differ by more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ci_lo: Option<f64>,
    /// High end of its 95 % interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ci_hi: Option<f64>,
    /// Whether the interval is as narrow as asked for.
    pub quality: Quality,
}

/// What all numbers of a run have alike.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunColumns {
    /// When the run began by the node's clock, UTC, RFC 3339.
    pub started_utc: String,
    /// The boot it ran in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<String>,
    /// Version of sidestep.
    pub tool_version: String,
    /// Version of the inner loops: numbers of different sets are never compared.
    pub kernel_set_version: u32,
    /// How deeply was measured: `quick`, `standard`, `full`, `budget-30s`, followed by `+only=memory` where that was asked for.
    pub preset: String,
    /// What the run was for: `check-up`, another command, or the name given with `--experiment`.
    pub experiment: String,
    /// The arm of an experiment whose arms were drawn at random.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arm: Option<String>,
    /// Share of all CPU time that other processes used during the run, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others_share: Option<f64>,
    /// Share of CPU time that the hypervisor gave to others, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steal_share: Option<f64>,
}

/// A number as it is written, with what all of its run have alike.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MetricOfRun<'r> {
    /// The number.
    #[serde(flatten)]
    pub number: &'r MetricRow,
    /// Its run.
    #[serde(flatten)]
    pub run: &'r RunColumns,
    /// Whether the run stopped early.
    pub partial: bool,
}

/// One run on one node: what the node is, and how the run went.
///
/// Facts of the machine may explain a difference; the rest describes the run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NodeRow {
    /// Name of the node.
    pub node: String,
    /// The run.
    pub run_id: String,
    /// When it was made, with what, and beside what.
    #[serde(flatten)]
    pub run: RunColumns,
    /// What the machine is and how it is set, by the columns of `fact_columns`.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::fact::columns_schema"))]
    pub facts: BTreeMap<String, Value>,
    /// Share of the planned probes that ran to their end, 0 to 1; NULL where nothing was planned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<f64>,
    /// Why the run stopped early; NULL if it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<String>,
    /// Signs that the numbers are doubtful.
    pub doubts: u64,
    /// Rows of this run in `metrics`.
    pub metrics: u64,
    /// What started the run: `slurm`, `kubernetes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    /// The engine's number or name of the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// The engine's number of the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// Keyed hash of the serial numbers of board and memory: another value is other hardware under the same name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serials_hash: Option<String>,
    /// The record that the row is from, below the drop directory.
    pub file: String,
}

/// What a state is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StateKind {
    /// A flaw of the catalogue.
    #[default]
    Flaw,
    /// The counters of two CPUs, or the kernel's clock source.
    Clock,
    /// A setting of kernel or firmware.
    Setting,
    /// A test for silent data corruption.
    Sdc,
}

/// One verdict, clock pair or setting of one node.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StateRow {
    /// Name of the node.
    pub node: String,
    /// The run.
    pub run_id: String,
    /// What it is about.
    pub kind: StateKind,
    /// Which one: `spectre-v2`; `verdict`, `source`, `pair/0>1`; `thp`, `boot/mitigations`; `known-answers`, `ifs/0`.
    pub id: String,
    /// A flaw: `yes`, `no`, `unknown`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub affected: Option<String>,
    /// A flaw: the state of its workaround.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workaround: Option<String>,
    /// A flaw: `not_affected`, `protected`, `on_request`, `partly`, `not_protected`, `unknown`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protected: Option<String>,
    /// A flaw: whether its workaround costs here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paid: Option<String>,
    /// A setting, verdict or test: its value. A clock pair: `moves`, `offset`, `agrees`, `unknown`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// A clock pair: likely drift of the second against the first, in parts per billion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_ppb: Option<f64>,
    /// A clock pair: low end of the drift's guaranteed interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_lo_ppb: Option<f64>,
    /// A clock pair: high end of the drift's guaranteed interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_hi_ppb: Option<f64>,
    /// A clock pair: likely offset of the second against the first, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset_ns: Option<f64>,
}

impl NodeRow {
    /// A fact of the machine that is text, by its column.
    pub fn fact(&self, column: &str) -> Option<&str> {
        self.facts.get(column)?.as_str()
    }
}

impl StateRow {
    /// A state of no node yet, of which nothing is known.
    pub fn about(kind: StateKind, id: impl Into<String>) -> Self {
        Self { kind, id: id.into(), ..Self::default() }
    }
}

/// A file of the drop directory that gave no rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnreadFile {
    /// The file, below the drop directory.
    pub file: String,
    /// Why: half written, no record, the same run as another file.
    pub reason: String,
}

/// A name that seems to belong to more than one machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AmbiguousNode {
    /// The name.
    pub node: String,
    /// What shows it.
    pub because: String,
}

/// What became of a drop directory as rows.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FleetRows {
    /// Version of the rows and of this document, `FLEET_ROWS_SCHEMA` when written by this version.
    pub schema: u32,
    /// The folder that holds the rows.
    pub folder: String,
    /// Files in it.
    pub files: Vec<String>,
    /// Records that gave rows.
    pub records: u64,
    /// Nodes that they are of.
    pub nodes: u64,
    /// Records of runs that stopped early.
    pub partial: u64,
    /// Rows of `metrics`.
    pub metrics: u64,
    /// Rows of `states`.
    pub states: u64,
    /// Files that gave no rows.
    pub unread: Vec<UnreadFile>,
    /// Names that seem to belong to more than one machine.
    pub ambiguous: Vec<AmbiguousNode>,
}

/// The tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FleetTable {
    /// One row a run.
    Nodes,
    /// Verdicts, clock pairs, settings.
    States,
    /// Numbers.
    Metrics,
    /// Files that gave no rows.
    Unread,
}

impl FleetTable {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Nodes, Self::States, Self::Metrics, Self::Unread];

    /// The name of its file.
    pub const fn file(self) -> &'static str {
        match self {
            Self::Nodes => "nodes.ndjson",
            Self::States => "states.ndjson",
            Self::Metrics => "metrics.ndjson",
            Self::Unread => "unread.ndjson",
        }
    }
}

/// Columns of metrics, in their order, with a blank between them.
pub const METRIC_COLUMNS: &str = "\
    node run_id started_utc boot_id tool_version kernel_set_version preset experiment arm metric \
    labels family cpu socket mem_node unit higher_is_better n estimate ci_lo ci_hi quality others_share \
    steal_share partial";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_those_of_the_schema() {
        let file = format!("{}/../../docs/fleet-metrics.schema.json", env!("CARGO_MANIFEST_DIR"));
        let schema: Value = serde_json::from_slice(&std::fs::read(file).expect("a schema")).expect("JSON");
        let mut columns: Vec<&str> = METRIC_COLUMNS.split(' ').collect();
        columns.sort_unstable();
        assert!(schema["properties"].as_object().expect("columns").keys().eq(columns));
    }

    #[test]
    fn a_row_has_no_nesting_and_leaves_unknown_columns_out() {
        let rows = [
            serde_json::to_value(MetricRow::default()),
            serde_json::to_value(NodeRow { partial: Some("stopped".to_owned()), ..NodeRow::default() }),
            serde_json::to_value(UnreadFile { file: "a".to_owned(), reason: "b".to_owned() }),
        ];
        for row in rows {
            let row = row.expect("JSON");
            for (column, field) in row.as_object().expect("an object") {
                assert!(!field.is_null() && !field.is_object() && !field.is_array(), "{column}: {field}");
            }
            assert!(row.get("boot_id").is_none() && row.get("ci_lo").is_none(), "{row}");
        }
    }
}

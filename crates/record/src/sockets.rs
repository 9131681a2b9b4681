//! Every CPU against the memory of every node: what `sidestep sockets` measures.

use machine::{Bytes, CpuId, CpuSet, NodeId};
use serde::{Deserialize, Serialize};

use crate::{LineTransfer, LoadedLatency, Spread};

/// Version of the document.
pub const SOCKETS_SCHEMA: u32 = 1;

/// Latency and bandwidth by CPU and node, and whether equal CPUs are equal.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sockets {
    /// Version of the document, `SOCKETS_SCHEMA` when written by this version.
    pub schema: u32,
    /// Whether the CPUs are alike in their own memory.
    pub verdict: SocketVerdict,
    /// Why, one sentence each.
    pub because: Vec<String>,
    /// Whether other guests may use the same memory: its states come and go from one run to the next.
    #[serde(default)]
    pub in_guest: bool,
    /// The CPUs measured; each stands for those that it was chosen from.
    pub subjects: Vec<SocketSubject>,
    /// The nodes whose memory was measured.
    pub nodes: Vec<SocketNode>,
    /// All nodes of the machine, with memory or without; empty where none were read, so that their number is unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub machine_nodes: Vec<NodeId>,
    /// Load-to-use latency, of one CPU (row) to one node's memory (column).
    pub latency: Vec<NodeLatency>,
    /// Bandwidth of one CPU to one node's memory, by kernel.
    pub bandwidth: Vec<NodeBandwidth>,
    /// Lines in flight by Little's law: bandwidth times latency over a line.
    pub concurrency: Vec<Concurrency>,
    /// Bandwidth of 1 to n CPUs of one package at once, in their own memory.
    pub scaling: Vec<PackageScaling>,
    /// Latency to one node's memory while CPUs stream there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loaded: Vec<NodeLoadedLatency>,
    /// A cache line between two CPUs.
    pub line_transfer: Vec<LineTransfer>,
    /// Whether the CPUs are alike, by quantity.
    pub equality: Vec<SubjectEquality>,
    /// Links that firmware and hardware tell, the most trusted first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<SocketLinks>,
    /// How the cores of the CPUs ran meanwhile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cores: Vec<SubjectCore>,
    /// Each socket against what is expected of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<SocketGate>,
    /// What was not measured, and why.
    pub without: Vec<String>,
    /// Wall time in seconds.
    pub elapsed_s: f64,
}

/// Whether the CPUs are alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SocketVerdict {
    /// None differs by more than the margin.
    Alike,
    /// At least one differs: its interval excludes no difference.
    Asymmetric,
    /// Undetermined.
    #[default]
    Inconclusive,
}

/// A CPU that was measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SocketSubject {
    /// The CPU.
    pub cpu: CpuId,
    /// Its package, where the machine tells.
    pub package: Option<i64>,
    /// The node whose memory is its own.
    pub node: Option<NodeId>,
    /// The CPUs that it stands for, itself included.
    pub stands_for: CpuSet,
}

/// Links between nodes, as one source tells them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SocketLinks {
    /// Who tells it: `AMD routing registers`, `Intel UPI ports`, `SLIT`.
    pub source: String,
    /// Nodes, by number.
    pub nodes: Vec<u32>,
    /// Links between them.
    pub edges: Vec<[u32; 2]>,
}

/// A node whose memory was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SocketNode {
    /// The node.
    pub node: NodeId,
    /// Bytes of its memory that were measured in.
    pub block_bytes: Bytes,
    /// Share of the pages that were seen to lie on it, the least of all blocks laid; `None` where the kernel does not tell.
    pub placed_share: Option<f64>,
}

/// Latency of a CPU to a node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NodeLatency {
    /// The CPU that loads.
    pub cpu: CpuId,
    /// The node whose memory it loads from.
    pub node: NodeId,
    /// Nanoseconds per dependent load.
    pub ns: f64,
    /// Standard error in nanoseconds, from the interval.
    pub standard_error_ns: f64,
    /// Interval, counts, doubts.
    pub spread: Spread,
}

/// How the core of a CPU ran beside its visits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SubjectCore {
    /// The CPU.
    pub cpu: CpuId,
    /// Nanoseconds per dependent multiply: the core's clock.
    pub multiply_ns: f64,
    /// 95 % interval of its median.
    pub multiply_interval: stats::Interval,
    /// Nanoseconds per add of the port-saturating loop: the share of the core.
    pub port_ns: f64,
    /// Share of the visits beside which either was much slower than is usual for the CPU.
    pub disturbed_share: f64,
}

/// Latency of a CPU to a node whose memory others load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NodeLoadedLatency {
    /// The node whose memory all use.
    pub node: NodeId,
    /// Who chases, who streams, and what came of it.
    #[serde(flatten)]
    pub point: LoadedLatency,
}

/// Bandwidth of a CPU to a node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NodeBandwidth {
    /// The CPU.
    pub cpu: CpuId,
    /// The node.
    pub node: NodeId,
    /// `read`, `write`, `triad`.
    pub kernel: String,
    /// Instruction set.
    pub isa: String,
    /// Kind of store.
    pub store: String,
    /// Bytes per second as STREAM counts them.
    pub bytes_per_s: f64,
    /// Bytes per second over the bus, with the reads that stores cause.
    pub bus_bytes_per_s: f64,
    /// Interval, counts, doubts.
    pub spread: Spread,
}

/// Lines in flight.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Concurrency {
    /// The CPU.
    pub cpu: CpuId,
    /// The node.
    pub node: NodeId,
    /// From which kernel's traffic on the bus.
    pub kernel: String,
    /// Lines of 64 bytes.
    pub lines: f64,
    /// Interval from those of bandwidth and latency, as if they erred independently.
    pub interval: stats::Interval,
    /// Why these are not lines of memory alone, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
}

/// Bandwidth of several CPUs of a package at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PackageScaling {
    /// The package, where the machine tells.
    pub package: Option<i64>,
    /// The CPUs at work.
    pub cpus: CpuSet,
    /// Bytes per second of all together, triad with plain stores.
    pub bytes_per_s: f64,
    /// Interval, counts, doubts.
    pub spread: Spread,
}

/// Whether the subjects are alike in one quantity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SubjectEquality {
    /// `latency` or `triad`, each in the CPU's own memory.
    pub quantity: String,
    /// The verdict on it.
    pub verdict: SocketVerdict,
    /// Half-width of the A/A interval: smaller differences are undetermined.
    pub aa_half_width: f64,
    /// Rounds in which every CPU had windows that count.
    pub rounds: usize,
    /// Each CPU against the others.
    pub rows: Vec<SubjectRow>,
}

/// One CPU against the others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SubjectRow {
    /// The CPU.
    pub cpu: CpuId,
    /// Its time over that of the others: above 1 is slower.
    pub ratio: f64,
    /// Interval of the ratio, at 95 % over all CPUs together.
    pub interval: stats::Interval,
    /// Whether its interval excludes no difference.
    pub differs: bool,
}

/// Sockets against what is expected of them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SocketGate {
    /// Whether all are as expected.
    pub verdict: GateVerdict,
    /// Where the expectation comes from: `the other CPUs`, or the name of a record.
    pub expected_from: String,
    /// Each quantity that was held against its band.
    pub bands: Vec<SocketBand>,
    /// A row per socket that is outside of a band.
    pub causes: Vec<SocketCause>,
    /// Why nothing can be told, if so.
    pub because: Vec<String>,
}

/// Whether all sockets are as expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum GateVerdict {
    /// They are.
    Within,
    /// At least one is not, by its whole interval.
    Outside,
    /// Undetermined.
    #[default]
    Inconclusive,
}

/// One quantity of one socket and the band that it is expected in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SocketBand {
    /// The CPU that was measured for the socket.
    pub cpu: CpuId,
    /// Its package, where the machine tells.
    pub package: Option<i64>,
    /// `latency`, `triad`, `triad together`, `clock`, `nodes of the package`.
    pub quantity: String,
    /// `ns`, `MB/s`, `ns per multiply`, or empty for counts.
    pub unit: String,
    /// What was measured.
    pub measured: f64,
    /// Lowest and highest that is expected.
    pub expected: [f64; 2],
    /// Whether it is worse than the band by its whole interval.
    pub is_outside: bool,
}

/// What likely keeps a socket from what is expected.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SocketCause {
    /// The CPU that was measured for the socket.
    pub cpu: CpuId,
    /// Its package, where the machine tells.
    pub package: Option<i64>,
    /// The likely cause.
    pub kind: SocketCauseKind,
    /// One sentence that names the socket and the cause.
    pub text: String,
    /// What speaks for it, one sentence each.
    pub reasoning: Vec<String>,
}

/// Likely causes, as far as these measurements tell them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SocketCauseKind {
    /// All CPUs together get less though one alone waits no longer: a channel of memory is missing or slow.
    MissingChannel,
    /// The package is cut into another number of nodes (NPS, SNC), or memory is interleaved over nodes.
    NodeMode,
    /// Reads wait for the answer of a node that is a link farther: the wiring of the board.
    SnoopHop,
    /// The core's clock is lower.
    Throttling,
    /// Somebody else uses the core or its memory.
    NoisyNeighbour,
    /// None of these.
    Unknown,
}

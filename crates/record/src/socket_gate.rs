//! Whether each socket gets what is expected of it, and what likely keeps it from that: what a fleet gates on.

use machine::CpuId;
use serde::{Deserialize, Serialize};

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
    /// At least one is not, beyond doubt.
    Outside,
    /// It cannot be told.
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
    /// Whether it is worse than the band beyond doubt.
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

//! Results about cores: control loops, line transfer, shared units, waking.

use machine::{CpuId, Hertz};
use serde::{Deserialize, Serialize};

use crate::{CheckedLoop, Spread, WrongResult};

/// Everything measured about cores.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Cores {
    /// Control loops by CPU.
    pub control: Vec<Control>,
    /// One cache line bounced between two CPUs.
    pub line_transfer: Vec<LineTransfer>,
    /// Slowdown of a loop when another CPU runs the same.
    pub sharing: Vec<PairSlowdown>,
    /// Slowdown of a loop when another CPU runs a loop of another class, for the nearest pairs.
    pub unlike: Vec<UnlikeSlowdown>,
    /// Compute loops that must not move when memory does.
    pub compute: Vec<Compute>,
    /// Wake-up latency against idle time.
    pub wake: Vec<WakePoint>,
    /// Results of loops whose answer is known, checked as they ran.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checked: Vec<CheckedLoop>,
    /// The first of those that were wrong.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub wrong: Vec<WrongResult>,
}

/// What the two control loops say about one CPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Control {
    /// The CPU.
    pub cpu: CpuId,
    /// Core clock by the dependent multiply chain; `None` if the cycles per step are unknown for this family
    /// or the rotate chain disagrees.
    pub core_hz: Option<Hertz>,
    /// Nanoseconds per dependent multiply.
    pub multiply_ns: f64,
    /// Nanoseconds per dependent rotate.
    pub rotate_ns: f64,
    /// Multiply over rotate: the cycles of one multiply, if a rotate takes one.
    pub multiply_per_rotate: f64,
    /// Nanoseconds per iteration of the port-saturating loop.
    pub port_ns: f64,
    /// Share of the core: the best port loop seen on this machine over this CPU's median; 0.5 is a busy sibling.
    pub core_share: f64,
    /// Spread of `multiply_ns`.
    #[serde(flatten)]
    pub spread: Spread,
}

/// One cache line bounced between two CPUs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LineTransfer {
    /// First CPU.
    pub a: CpuId,
    /// Second CPU.
    pub b: CpuId,
    /// `compare_and_swap`: both sides spin on CAS; `read_then_write`: both spin on loads, then store.
    pub protocol: String,
    /// Nanoseconds one way: half of a round trip.
    pub ns: f64,
    /// Spread of `ns`.
    #[serde(flatten)]
    pub spread: Spread,
}

/// How much slower a loop runs on `a` while `b` runs the same, against alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PairSlowdown {
    /// The CPU whose slowdown it is.
    pub a: CpuId,
    /// The CPU that runs beside it.
    pub b: CpuId,
    /// `integer`, `simd`, `front_end`, `l1`, `l2`, `l3`, `memory`.
    pub resource: String,
    /// Time together over time alone: 1 is nothing shared, 2 is all of it.
    pub slowdown: f64,
    /// Windows in which both were seen to run.
    pub overlapped_windows: usize,
    /// Spread of `slowdown`.
    #[serde(flatten)]
    pub spread: Spread,
}

/// How much slower a loop runs on `a` while `b` runs another one, against alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnlikeSlowdown {
    /// The CPU whose slowdown it is.
    pub a: CpuId,
    /// The CPU that runs beside it.
    pub b: CpuId,
    /// What `a` runs: `integer`, `simd`, `front_end`, `memory`.
    pub class: String,
    /// What `b` runs: another of these.
    pub beside: String,
    /// Time together over time alone: 1 is nothing shared.
    pub slowdown: f64,
    /// Windows in which both were seen to run.
    pub overlapped_windows: usize,
    /// Spread of `slowdown`.
    #[serde(flatten)]
    pub spread: Spread,
}

/// A compute loop that memory cannot touch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Compute {
    /// The CPU.
    pub cpu: CpuId,
    /// `mandelbrot_i16x16`, `mandelbrot_f32x8`; on arm64 `atomic_add_lse`, `atomic_add_ll_sc`.
    pub kernel: String,
    /// As `kernels` names them.
    pub isa: String,
    /// Iterations of one point, or additions, per second.
    pub iterations_per_s: f64,
    /// Spread of `iterations_per_s`.
    #[serde(flatten)]
    pub spread: Spread,
}

/// From a wake-up call to the first instruction of a sleeping thread on an idle CPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WakePoint {
    /// The CPU that wakes the other.
    pub waker: CpuId,
    /// The CPU that slept.
    pub sleeper: CpuId,
    /// How long it slept, in microseconds.
    pub idle_us: f64,
    /// Median latency in nanoseconds.
    pub ns: f64,
    /// 90th percentile in nanoseconds.
    pub p90_ns: f64,
    /// Spread of `ns`.
    #[serde(flatten)]
    pub spread: Spread,
}

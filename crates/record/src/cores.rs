//! Results about cores: control loops, line transfer, shared units, waking.

use machine::{CpuId, Hertz};
use serde::{Deserialize, Serialize};

use crate::Spread;
use crate::spread::measured_rows;

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

measured_rows! {
    /// What the two control loops say about one CPU.
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
    }

    /// One cache line bounced between two CPUs.
    pub struct LineTransfer {
        /// First CPU.
        pub a: CpuId,
        /// Second CPU.
        pub b: CpuId,
        /// `compare_and_swap`: both sides spin on CAS; `read_then_write`: both spin on loads, then store.
        pub protocol: String,
        /// Nanoseconds one way: half of a round trip.
        pub ns: f64,
    }

    /// How much slower a loop runs on `a` while `b` runs the same, against alone.
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
    }

    /// How much slower a loop runs on `a` while `b` runs another one, against alone.
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
    }

    /// A compute loop that memory cannot touch.
    pub struct Compute {
        /// The CPU.
        pub cpu: CpuId,
        /// `mandelbrot_i16x16`, `mandelbrot_f32x8`; on arm64 `atomic_add_lse`, `atomic_add_ll_sc`.
        pub kernel: String,
        /// As `kernels` names them.
        pub isa: String,
        /// Iterations of one point, or additions, per second.
        pub iterations_per_s: f64,
    }

    /// From a wake-up call to the first instruction of a sleeping thread on an idle CPU.
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
    }
}

/// What one loop computed on one CPU, held against its known answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckedLoop {
    /// The CPU.
    pub cpu: CpuId,
    /// `mandelbrot_i16x16`, `mandelbrot_f32x8`; `multiply_chain`, `rotate_chain`, `port_loop`; `stream_triad` and the like; `chase`;
    /// `line_transfer`.
    pub kernel: String,
    /// As `kernels` names them.
    pub isa: String,
    /// Operations behind all results: steps of arithmetic, elements of an array, loads, hops of a line.
    pub operations: u64,
    /// Results checked.
    pub results: u64,
    /// How many of them were wrong.
    pub wrong: u64,
}

/// A result that was wrong, with all that is needed to compute it again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WrongResult {
    /// The CPU that computed it.
    pub cpu: CpuId,
    /// As in `CheckedLoop`.
    pub kernel: String,
    /// As in `CheckedLoop`.
    pub isa: String,
    /// What it was computed from.
    pub operands: String,
    /// The known answer.
    pub expected: u64,
    /// What came out.
    pub found: u64,
    /// How often it was computed again at once on this CPU.
    pub repeats: u64,
    /// How many of these were wrong too.
    pub wrong_repeats: u64,
    /// The same on a CPU of another core; `None` where the run had no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<RepeatsElsewhere>,
    /// Revision of the microcode, where the kernel says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub microcode: Option<u64>,
    /// Degrees Celsius of the hottest sensor of the CPUs after that; `None` where there is none, as in most guests.
    pub temperature_c: Option<f64>,
    /// When, UTC, RFC 3339.
    pub at_utc: String,
}

/// A wrong result computed again on another core: wrong there too, memory or the loop is to blame and not the core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RepeatsElsewhere {
    /// The CPU.
    pub cpu: CpuId,
    /// How often it was computed there.
    pub repeats: u64,
    /// How many of these were wrong.
    pub wrong: u64,
}

/// Probability of an error per operation that would have shown with 95 % probability in so many operations without one: the
/// rule of three, -ln(0.05) / n.
pub fn detectable_rate(operations: u64) -> Option<f64> {
    (operations > 0).then(|| -0.05_f64.ln() / operations as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_an_error_in_n_operations_one_in_a_third_of_n_would_have_shown() {
        assert_eq!(detectable_rate(0), None);
        let rate = detectable_rate(3_000_000).expect("operations");
        assert!((rate - 1e-6).abs() < 0.01e-6, "{rate}");
    }

    #[test]
    fn a_wrong_result_of_an_older_record_is_read() {
        let old = r#"{"cpu":1,"kernel":"k","isa":"avx2","operands":"6 x 7","expected":42,"found":43,"repeats":100,
            "wrong_repeats":5,"temperature_c":null,"at_utc":"2026-01-02T03:04:05Z"}"#;
        let wrong: WrongResult = serde_json::from_str(old).expect("a result");
        assert_eq!((wrong.found, wrong.elsewhere, wrong.microcode), (43, None, None));
    }
}

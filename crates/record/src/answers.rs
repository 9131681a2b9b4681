//! Results whose right value is known, checked as loops ran: silent data corruption shows only so.

use machine::CpuId;
use serde::{Deserialize, Serialize};

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

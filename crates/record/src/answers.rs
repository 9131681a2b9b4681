//! Results whose right value is known, checked as loops ran: silent data corruption shows only so.

use machine::CpuId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What one loop computed on one CPU, held against its known answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckedLoop {
    /// The CPU.
    pub cpu: CpuId,
    /// `mandelbrot_i16x16`, `mandelbrot_f32x8`.
    pub kernel: String,
    /// As `kernels` names them.
    pub isa: String,
    /// Arithmetic operations behind all results.
    pub operations: u64,
    /// Results checked.
    pub results: u64,
    /// How many of them were wrong.
    pub wrong: u64,
}

/// A result that was wrong, with all that is needed to compute it again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// Degrees Celsius of the hottest sensor of the CPUs after that; `None` where there is none, as in most guests.
    pub temperature_c: Option<f64>,
    /// When, UTC, RFC 3339.
    pub at_utc: String,
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
}

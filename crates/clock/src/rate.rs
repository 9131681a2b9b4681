//! The rate of the counter, measured against `CLOCK_MONOTONIC_RAW` with a bound on its error.

use std::hint;

use crate::{begin, monotonic_raw_ns};

/// Pairs tried at each end of the calibration; the pair with the narrowest bracket counts.
const BRACKETS: usize = 32;

/// How fast the counter runs, and how well that is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TickRate {
    /// Ticks per second.
    pub hz: f64,
    /// Bound on the relative error in parts per million, from the width of the brackets at both ends.
    pub error_ppm: f64,
}

/// Why the counter has no rate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CalibrationError {
    /// It stood still or ran backwards.
    #[error("the time-stamp counter did not advance during calibration; it is stopped or emulated")]
    Stopped,
}

/// A tick value and the raw-clock time in whose bracket it was read.
struct Bracket {
    ticks: u64,
    ns: f64,
    width_ns: f64,
}

fn bracket() -> Bracket {
    let mut best = Bracket { ticks: 0, ns: 0.0, width_ns: f64::INFINITY };
    for _ in 0..BRACKETS {
        let before = monotonic_raw_ns();
        let ticks = begin();
        let after = monotonic_raw_ns();
        let width_ns = after.saturating_sub(before) as f64;
        if width_ns < best.width_ns {
            best = Bracket { ticks, ns: f64::midpoint(before as f64, after as f64), width_ns };
        }
    }
    best
}

impl TickRate {
    /// Measures the rate over `duration_ns` of busy waiting.
    ///
    /// # Errors
    /// `Stopped` if the counter does not advance.
    pub fn calibrate(duration_ns: u64) -> Result<Self, CalibrationError> {
        let first = bracket();
        let deadline = monotonic_raw_ns() + duration_ns;
        while monotonic_raw_ns() < deadline {
            hint::spin_loop();
        }
        let last = bracket();
        let (ticks, ns) = (last.ticks.saturating_sub(first.ticks) as f64, last.ns - first.ns);
        if ticks <= 0.0 || ns <= 0.0 {
            return Err(CalibrationError::Stopped);
        }
        let error_ppm = f64::midpoint(first.width_ns, last.width_ns) / ns * 1e6;
        Ok(Self { hz: ticks / ns * 1e9, error_ppm })
    }

    /// Nanoseconds of a difference of ticks.
    #[inline]
    pub fn nanoseconds(&self, ticks: u64) -> f64 {
        ticks as f64 * (1e9 / self.hz)
    }

    /// Ticks that pass in so many nanoseconds.
    #[inline]
    pub fn ticks(&self, nanoseconds: f64) -> f64 {
        nanoseconds * self.hz / 1e9
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_and_its_inverse_cancel() {
        let rate = TickRate { hz: 2.5e9, error_ppm: 1.0 };
        assert!((rate.nanoseconds(2_500) - 1_000.0).abs() < 1e-9);
        assert!((rate.ticks(1_000.0) - 2_500.0).abs() < 1e-9);
    }

    #[test]
    fn calibration_gives_a_positive_rate_with_an_error() {
        let rate = TickRate::calibrate(1_000_000).expect("a running counter");
        assert!(rate.hz > 1e6 && rate.error_ppm > 0.0);
    }
}

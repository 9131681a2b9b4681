//! Three CPUs in a ring: their offsets have to add up to nothing.
//!
//! From a to b, from b to c and back to a one is where one began. Intervals of which no three offsets add up to zero
//! contradict each other: one of them was not an interval, or an offset changed between the measurements. Centres
//! that miss zero by more than their errors tell of paths whose two directions differ.

use crate::timestamp_exchange::Bounds;

/// What is known of one offset, in ticks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KnownOffset {
    /// The causality interval.
    pub bounds: Bounds,
    /// The symmetric estimate.
    pub estimate_ticks: f64,
    /// Its standard error.
    pub error_ticks: f64,
}

/// What is left of an offset after a way round three CPUs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoopClosure {
    /// The way round, by causality: must hold zero.
    pub bounds: Bounds,
    /// The way round, by the estimates.
    pub estimate_ticks: f64,
    /// Its standard error.
    pub error_ticks: f64,
}

impl KnownOffset {
    /// The same offset the other way: a minus b for b minus a.
    #[must_use]
    pub fn reversed(self) -> Self {
        Self {
            bounds: Bounds { low: -self.bounds.high, high: -self.bounds.low },
            estimate_ticks: -self.estimate_ticks,
            ..self
        }
    }
}

impl LoopClosure {
    /// Goes from a to b, to c and back to a.
    pub fn of(a_to_b: KnownOffset, b_to_c: KnownOffset, c_to_a: KnownOffset) -> Self {
        let legs = [a_to_b, b_to_c, c_to_a];
        Self {
            bounds: Bounds {
                low: legs.iter().map(|leg| leg.bounds.low).sum(),
                high: legs.iter().map(|leg| leg.bounds.high).sum(),
            },
            estimate_ticks: legs.iter().map(|leg| leg.estimate_ticks).sum(),
            error_ticks: legs.iter().map(|leg| leg.error_ticks.powi(2)).sum::<f64>().sqrt(),
        }
    }

    /// Whether the three intervals can be true at once.
    pub fn holds(&self) -> bool {
        self.bounds.contains(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(low: f64, high: f64) -> KnownOffset {
        KnownOffset {
            bounds: Bounds { low, high },
            estimate_ticks: f64::midpoint(low, high),
            error_ticks: 1.0,
        }
    }

    #[test]
    fn offsets_of_three_counters_close_and_a_wrong_one_does_not() {
        let (a_to_b, b_to_c, a_to_c) = (known(90.0, 110.0), known(-40.0, -20.0), known(60.0, 80.0));
        let closure = LoopClosure::of(a_to_b, b_to_c, a_to_c.reversed());
        assert!(closure.holds() && closure.estimate_ticks.abs() < 1e-9, "{closure:?}");
        assert!((closure.error_ticks - 3.0_f64.sqrt()).abs() < 1e-12);
        assert!(!LoopClosure::of(a_to_b, b_to_c, known(100.0, 120.0).reversed()).holds());
    }
}

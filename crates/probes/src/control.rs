//! The two control loops beside every visit: a dependent multiply chain, whose cycles are known, tells the core's
//! frequency; a port-saturating loop tells the share of the core that this thread has. A busy sibling on the same
//! core slows the second and not the first.

use std::hint::black_box;

use clock::{TickRate, begin, end};
use kernels::{
    ADDS_PER_ROUND, MULTIPLIES_PER_ROUND, ROTATES_PER_ROUND, cycles_per_multiply, multiply_chain, port_loop,
    rotate_chain,
};
use machine::{CpuId, Identity};

/// Rounds of the multiply chain per reading: 64 x 32 steps, about 2 us at 3 GHz.
const MULTIPLY_ROUNDS: u64 = 32;
/// Rounds of the port loop per reading: about 2 us.
const PORT_ROUNDS: u64 = 128;
/// Rounds of both in a long reading, about 5 us each. AMD's counters since Zen 5 were seen to count in steps of 10 ns, 2 % of a
/// short reading of the port loop.
const LONG_MULTIPLY_ROUNDS: u64 = 96;
const LONG_PORT_ROUNDS: u64 = 1536;
/// Readings per call; the fastest counts, as a disturbance only adds time.
const TRIES: usize = 3;

/// Multiply over rotate may be off from the table by this share before the table is not believed.
const AGREEMENT: f64 = 0.06;

/// What the windows of the loop that fills the execution ports are called.
pub(crate) const PORT_LOOP: &str = "port loop";

/// The raw series of one loop on one CPU.
pub(crate) fn series_name(cpu: CpuId, what: &str) -> String {
    format!("control, CPU {cpu}, {what}")
}

/// The control loops of one machine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ControlLoops {
    /// Cycles of one dependent 32-bit multiply; `None` for families without a source.
    pub cycles_per_multiply: Option<f64>,
}

/// One reading of the control loops.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ControlReading {
    /// Nanoseconds per dependent multiply.
    pub multiply_ns: f64,
    /// Nanoseconds per add of the port-saturating loop.
    pub port_ns: f64,
}

impl ControlLoops {
    /// The control loops of a CPU, with the cycles that its family's manual gives.
    pub fn of(identity: &Identity) -> Self {
        let cycles_per_multiply = match (&identity.vendor, identity.family, identity.model) {
            (Some(vendor), Some(family), Some(model)) => {
                cycles_per_multiply(&vendor.to_string(), family, model)
            }
            _ => None,
        };
        Self { cycles_per_multiply }
    }

    /// Runs both loops on the CPU of the caller, about 12 us.
    pub fn read(&self, rate: TickRate) -> ControlReading {
        ControlReading {
            multiply_ns: fastest_ns(rate, || {
                black_box(multiply_chain(MULTIPLY_ROUNDS));
            }) / (MULTIPLY_ROUNDS * MULTIPLIES_PER_ROUND) as f64,
            port_ns: fastest_ns(rate, || {
                black_box(port_loop(PORT_ROUNDS));
            }) / (PORT_ROUNDS * ADDS_PER_ROUND) as f64,
        }
    }

    /// Runs both loops once, about 10 us, for callers who set a reading aside that an interruption has spoilt: finer than
    /// [`Self::read`] where the counter counts in coarse steps.
    pub fn read_long(&self, rate: TickRate) -> ControlReading {
        let multiply_ns = timed_ns(rate, || _ = black_box(multiply_chain(LONG_MULTIPLY_ROUNDS)));
        let port_ns = timed_ns(rate, || _ = black_box(port_loop(LONG_PORT_ROUNDS)));
        ControlReading {
            multiply_ns: multiply_ns / (LONG_MULTIPLY_ROUNDS * MULTIPLIES_PER_ROUND) as f64,
            port_ns: port_ns / (LONG_PORT_ROUNDS * ADDS_PER_ROUND) as f64,
        }
    }

    /// Nanoseconds per dependent rotate, the cross-check of the multiply chain.
    pub fn rotate_ns(rate: TickRate) -> f64 {
        fastest_ns(rate, || {
            black_box(rotate_chain(MULTIPLY_ROUNDS * 3));
        }) / (MULTIPLY_ROUNDS * 3 * ROTATES_PER_ROUND) as f64
    }

    /// Cycles per multiply, if the rotate chain agrees with the table.
    ///
    /// A frequency that changes between the two chains, or a hypervisor that takes the CPU away, spoils a look at both; a wrong
    /// table spoils every look.
    pub fn believed_cycles(&self, rate: TickRate) -> Option<f64> {
        const LOOKS: u32 = 5;
        self.believed((0..LOOKS).map(|_| [self.read(rate).multiply_ns, Self::rotate_ns(rate)]))
    }

    /// The same, given nanoseconds per multiply and per rotate of each look.
    fn believed(&self, looks: impl IntoIterator<Item = [f64; 2]>) -> Option<f64> {
        let agrees = |[multiply_ns, rotate_ns]: [f64; 2]| self.core_hz(multiply_ns, rotate_ns).is_some();
        looks.into_iter().any(agrees).then_some(self.cycles_per_multiply).flatten()
    }

    /// The core's frequency in hertz, if the table knows the family and the rotate chain agrees with it.
    pub fn core_hz(&self, multiply_ns: f64, rotate_ns: f64) -> Option<f64> {
        let cycles = self.cycles_per_multiply?;
        let measured = multiply_ns / rotate_ns * kernels::rotate::CYCLES_PER_ROTATE;
        ((measured / cycles - 1.0).abs() <= AGREEMENT).then_some(cycles / multiply_ns * 1e9)
    }
}

fn fastest_ns(rate: TickRate, mut run: impl FnMut()) -> f64 {
    (0..TRIES).map(|_| timed_ns(rate, &mut run)).fold(f64::INFINITY, f64::min)
}

#[inline(always)]
fn timed_ns(rate: TickRate, run: impl FnOnce()) -> f64 {
    let start = begin();
    run();
    rate.nanoseconds(end().wrapping_sub(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rotate_chain_that_disagrees_leaves_the_frequency_unknown() {
        let loops = ControlLoops { cycles_per_multiply: Some(3.0) };
        assert_eq!(loops.core_hz(1.0, 1.0 / 3.0).map(f64::round), Some(3e9));
        assert_eq!(loops.core_hz(1.0, 0.5), None);
        assert_eq!(ControlLoops { cycles_per_multiply: None }.core_hz(1.0, 1.0 / 3.0), None);
        assert_eq!(loops.believed([[1.0, 0.5], [1.0, 1.0 / 3.0]]), Some(3.0), "one look was spoilt");
        assert_eq!(loops.believed([[1.0, 0.5], [1.1, 0.5]]), None);
    }

    #[test]
    fn an_unknown_family_has_no_cycles() {
        assert_eq!(ControlLoops::of(&Identity::default()).cycles_per_multiply, None);
    }
}

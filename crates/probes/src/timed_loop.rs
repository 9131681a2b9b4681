//! Loops that are timed in windows, each with its units of work: one catalogue for signatures of flaws and for short probes.

use std::hint::black_box;

use kernels::{FORWARDS_PER_ROUND, STEPS_PER_ROUND, StoreBypass, forwarding_chain};

/// One loop.
pub(crate) struct TimedLoop<'w> {
    /// Units of work in a round: what a value is per.
    pub(crate) units_per_round: u64,
    /// Makes so many rounds; allocates nothing.
    pub(crate) run: Box<dyn FnMut(u64) + 'w>,
}

impl<'w> TimedLoop<'w> {
    /// A loop with so many units per round.
    pub(crate) fn new(units_per_round: u64, run: impl FnMut(u64) + 'w) -> Self {
        Self { units_per_round, run: Box::new(run) }
    }
}

/// Steps of a load that passes a store whose address comes late.
pub(crate) fn store_bypass<'w>() -> TimedLoop<'w> {
    let mut steps = StoreBypass::new();
    TimedLoop::new(STEPS_PER_ROUND, move |rounds| {
        steps.run(rounds);
        black_box(&mut steps);
    })
}

/// A store and a load of the same word, whose address is known at once.
pub(crate) fn forwarding<'w>() -> TimedLoop<'w> {
    TimedLoop::new(FORWARDS_PER_ROUND, |rounds| _ = black_box(forwarding_chain(rounds)))
}

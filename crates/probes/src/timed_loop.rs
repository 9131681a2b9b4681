//! Loops that are timed in windows, each with its units of work: one catalogue for signatures of flaws and for short probes.

use std::hint::black_box;

use host::live::ask_for_parent;
use kernels::{
    FLOAT_DIVISIONS_PER_ROUND, FORWARDS_PER_ROUND, FloatOperands, STEPS_PER_ROUND, StoreBypass,
    float_divide_chain, forwarding_chain,
};

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

    /// A function of the kernel or of the vDSO, which is called so many times.
    pub(crate) fn of_calls(run: impl Fn(u32) + 'w) -> Self {
        Self::new(1, move |rounds| run(u32::try_from(rounds).unwrap_or(u32::MAX)))
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

/// Divisions of floats.
pub(crate) fn float_divisions<'w>(operands: FloatOperands) -> TimedLoop<'w> {
    TimedLoop::new(FLOAT_DIVISIONS_PER_ROUND, move |rounds| {
        _ = black_box(float_divide_chain(operands, rounds));
    })
}

/// The cheapest system call.
pub(crate) fn system_call<'w>() -> TimedLoop<'w> {
    TimedLoop::of_calls(|count| _ = black_box(ask_for_parent(count)))
}

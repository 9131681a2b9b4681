//! Loops of the core: a load behind a store of late address, and controls beside it that no speculation can move.

use std::hint::black_box;

use kernels::{
    FLOAT_DIVISIONS_PER_ROUND, FORWARDS_PER_ROUND, FloatOperands, MULTIPLIES_PER_ROUND, STEPS_PER_ROUND,
    StoreBypass, float_divide_chain, forwarding_chain, multiply_chain,
};

use super::windowed::{Low, Work};

/// Long against two readings of the counter and of the thread's usage, about 1 us together, and short against the
/// interval at which a busy machine takes the CPU away.
const WINDOW_NS: f64 = 60_000.0;

/// Steps of a load that passes a store whose address comes late.
pub(super) fn store_bypass() -> Work {
    let mut steps = StoreBypass::new();
    let run = move |rounds| {
        steps.run(rounds);
        black_box(&mut steps);
    };
    of_the_core(STEPS_PER_ROUND, Box::new(run))
}

/// A store and a load of the same word, whose address is known at once.
pub(super) fn plain_forwarding() -> Work {
    of_the_core(FORWARDS_PER_ROUND, Box::new(|rounds| _ = black_box(forwarding_chain(rounds))))
}

/// Divisions of floats.
pub(super) fn divisions(operands: FloatOperands) -> Work {
    let run = move |rounds| _ = black_box(float_divide_chain(operands, rounds));
    of_the_core(FLOAT_DIVISIONS_PER_ROUND, Box::new(run))
}

/// Multiplications in registers.
pub(super) fn multiplies() -> Work {
    of_the_core(MULTIPLIES_PER_ROUND, Box::new(|rounds| _ = black_box(multiply_chain(rounds))))
}

fn of_the_core(units_per_round: u64, run: Box<dyn FnMut(u64)>) -> Work {
    Work { units_per_round, window_ns: WINDOW_NS, low: Low::Fastest, run }
}

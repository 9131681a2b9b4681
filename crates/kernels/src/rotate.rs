//! Control loop that cross-checks [`multiply`](crate::multiply): a dependent chain of rotations, one cycle each.

/// Dependent rotations of one round.
pub const ROTATES_PER_ROUND: u64 = 64;

/// Core cycles of one step of [`rotate_chain`].
pub const CYCLES_PER_ROTATE: f64 = 1.0;

/// Makes `rounds * ROTATES_PER_ROUND` dependent 64-bit rotations and returns the result.
#[inline(never)]
pub fn rotate_chain(rounds: u64) -> u64 {
    let mut value = 3u64;
    for _ in 0..rounds * ROTATES_PER_ROUND {
        value = core::hint::black_box(value.rotate_left(1));
    }
    value
}

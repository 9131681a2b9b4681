//! Control loop for the share of the core: independent integer additions that keep every integer port busy.

/// Additions of one round.
pub const ADDS_PER_ROUND: u64 = 64;

/// Makes `rounds * ADDS_PER_ROUND` register additions in eight independent chains and returns their sum.
#[inline(never)]
pub fn port_loop(rounds: u64) -> u64 {
    let mut sums = [0u64; 8];
    for _ in 0..rounds * ADDS_PER_ROUND / 8 {
        for sum in &mut sums {
            *sum = core::hint::black_box(*sum + 1);
        }
    }
    sums.iter().sum()
}

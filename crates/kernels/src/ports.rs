//! Control loop for the share of the core: independent integer additions that keep every integer port busy.
//!
//! ```text
//! repeat rounds:  8 x  (s0 += one, s1 += one, ..., s7 += one)        (add r64, r64)
//! ```
//! Per round 64 additions in eight independent chains, no load, no store: four to six per cycle, as many as the
//! core has integer ports. A busy sibling takes up to half of them while the multiply chain stays as it was. The
//! addend is a register, as additions of constants may be folded (see [`multiply`](crate::multiply)).

/// Additions of one round.
pub const ADDS_PER_ROUND: u64 = 64;

/// Makes `rounds * ADDS_PER_ROUND` register additions of 1 in eight chains and returns the sum of the chains.
#[inline(never)]
pub fn port_loop(rounds: u64) -> u64 {
    if rounds == 0 { 0 } else { add_rounds(rounds).into_iter().sum() }
}

/// What [`port_loop`] must return.
pub const fn answer(rounds: u64) -> u64 {
    rounds * ADDS_PER_ROUND
}

/// At least one round.
#[cfg(target_arch = "x86_64")]
fn add_rounds(rounds: u64) -> [u64; 8] {
    let mut sums = [0u64; 8];
    let [s0, s1, s2, s3, s4, s5, s6, s7] = &mut sums;
    // SAFETY: registers only, all named.
    unsafe {
        core::arch::asm!(
            rounds!(
                8,
                "add {s0}, {one}", "add {s1}, {one}", "add {s2}, {one}", "add {s3}, {one}",
                "add {s4}, {one}", "add {s5}, {one}", "add {s6}, {one}", "add {s7}, {one}",
            ),
            s0 = inout(reg) *s0, s1 = inout(reg) *s1, s2 = inout(reg) *s2, s3 = inout(reg) *s3,
            s4 = inout(reg) *s4, s5 = inout(reg) *s5, s6 = inout(reg) *s6, s7 = inout(reg) *s7,
            one = in(reg) 1u64,
            rounds = inout(reg) rounds => _,
            options(nomem, nostack)
        );
    }
    sums
}

/// At least one round.
#[cfg(not(target_arch = "x86_64"))]
fn add_rounds(rounds: u64) -> [u64; 8] {
    let mut sums = [0u64; 8];
    for _ in 0..rounds * ADDS_PER_ROUND / 8 {
        for sum in &mut sums {
            *sum = core::hint::black_box(*sum) + 1;
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loop_makes_as_many_additions_as_it_says() {
        for rounds in [0, 1, 2, 3, 1000] {
            assert_eq!(port_loop(rounds), answer(rounds), "{rounds} rounds");
        }
    }
}

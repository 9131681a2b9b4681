//! Contention loop for the front end: straight-line code larger than any micro-operation cache.
//!
//! ```text
//! repeat rounds:  1024 x  xor r32,r32; mov r32,r32; pxor x,x; movaps x,x; mov r32,imm; mov r32,r32; xor r32,r32; pxor x,x
//! ```
//! Per round 8192 distinct instructions of 25 bytes per eight, 25,600 bytes in all, no load, no store: more
//! instructions than micro-operation caches hold (6,912 in AMD Zen 4, 4,096 in Zen 3 and Intel Golden Cove; AMD SOG
//! 57647 and 56665, section "Op cache"; Intel optimisation reference manual, Golden Cove), and less than the 32 KiB of
//! a first-level instruction cache. So each is fetched and decoded again in every round. Cleared registers and
//! moves between registers are dealt with when registers are renamed, so that fetch and decode are what is scarce. x86-64 only.

use crate::arch;

/// Bytes of code of one round.
pub const CODE_BYTES: usize = 25_600;

/// Whether this architecture has the loop.
pub const fn available() -> bool {
    arch::FRONT_END.is_some()
}

/// Runs `rounds` times through 8192 instructions of straight code and returns how often it did.
///
/// # Panics
/// Where the loop is not [`available`].
#[inline(never)]
pub fn front_end_loop(rounds: u64) -> u64 {
    let run = arch::FRONT_END.expect("callers ask whether it is available");
    if rounds == 0 { 0 } else { run(rounds) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loop_makes_as_many_rounds_as_it_says() {
        if !available() {
            println!("skipped: no loop for {}", std::env::consts::ARCH);
            return;
        }
        assert_eq!([0, 1, 2, 7].map(front_end_loop), [0, 1, 2, 7]);
    }
}

//! Ordered readings of the counter around a measured region.
//!
//! `begin` is `lfence; rdtsc; lfence`: nothing earlier is still running, nothing later has started.
//! `end` is `rdtscp; lfence` where RDTSCP exists: it waits for all earlier loads, and later work cannot creep in. No MFENCE stands
//! behind `begin` where one is needed before it: a region would pay for that one. On arm64 both are `isb; mrs cntvct_el0; isb`.

use crate::arch;
use crate::features::{Counter, Features};

impl Counter {
    /// What the kernel calls this architecture's counter where it keeps time by it.
    pub const CLOCK_SOURCE: &str = arch::CLOCK_SOURCE;

    /// The counter of this machine.
    #[inline]
    pub fn of_this_machine() -> Self {
        arch::counter(Features::of_this_machine())
    }
}

/// Ticks at the start of a measured region.
#[inline(always)]
pub fn begin() -> u64 {
    let ticks = arch::ordered_ticks(Features::of_this_machine().lfence_waits);
    arch::hold_back_later();
    ticks
}

/// Ticks at the end of a measured region.
#[inline(always)]
pub fn end() -> u64 {
    stamp().0
}

/// Ticks at the end of a region, and what the kernel put beside them: `node << 12 | cpu` on Linux.
/// The second value is `None` without RDTSCP.
#[inline(always)]
pub fn stamp() -> (u64, Option<u32>) {
    arch::closing()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_of_one_thread_never_fall() {
        let mut last = begin();
        for _ in 0..10_000 {
            let now = end();
            assert!(now >= last);
            last = now;
        }
    }
}

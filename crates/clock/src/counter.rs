//! Ordered readings of the counter around a measured region.
//!
//! `begin` is `lfence; rdtsc; lfence`: nothing earlier is still running, nothing later has started.
//! `end` is `rdtscp; lfence` where RDTSCP exists: it waits for all earlier loads, and later work cannot creep in.
//! LFENCE ordering of RDTSC: Intel SDM vol. 2B, "RDTSC"; on AMD only where CPUID says that LFENCE always waits for all earlier
//! instructions (`features.rs`). Elsewhere the kernel sets that in a register that cannot be read unprivileged
//! (MSRC001_1029 bit 1), so `begin` there puts MFENCE before the read, as Linux did (arch/x86, MFENCE_RDTSC). None stands
//! behind it: a region would pay for that one.

use crate::features::Features;

/// What stands behind `begin` and `end` on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counter {
    /// RDTSC, closed by RDTSCP.
    TscRdtscp,
    /// RDTSC between LFENCEs: the CPU has no RDTSCP.
    TscFenced,
    /// `CLOCK_MONOTONIC_RAW`: not x86.
    MonotonicRaw,
}

/// Which counter this machine uses; found once.
#[inline]
fn which() -> Counter {
    if cfg!(not(target_arch = "x86_64")) {
        Counter::MonotonicRaw
    } else if Features::of_this_machine().has_rdtscp {
        Counter::TscRdtscp
    } else {
        Counter::TscFenced
    }
}

impl Counter {
    /// The counter of this machine.
    pub fn of_this_machine() -> Self {
        which()
    }
}

/// Ticks at the start of a measured region.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn begin() -> u64 {
    use std::arch::x86_64::{_mm_lfence, _mm_mfence, _rdtsc};
    if !Features::of_this_machine().lfence_waits {
        // SAFETY: MFENCE is part of SSE2, which every x86-64 CPU has.
        unsafe { _mm_mfence() };
    }
    // SAFETY: LFENCE is part of SSE2, which every x86-64 CPU has.
    unsafe { _mm_lfence() };
    // SAFETY: RDTSC exists on every x86-64 CPU; user mode may be barred only by PR_SET_TSC, which we never set.
    let ticks = unsafe { _rdtsc() };
    // SAFETY: as above.
    unsafe { _mm_lfence() };
    ticks
}

/// Ticks at the end of a measured region.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn end() -> u64 {
    stamp().0
}

/// Ticks at the end of a region, and what the kernel put beside them: `node << 12 | cpu` on Linux.
/// The second value is `None` without RDTSCP.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn stamp() -> (u64, Option<u32>) {
    use std::arch::x86_64::{__rdtscp, _mm_lfence};
    if which() == Counter::TscRdtscp {
        let mut aux = 0;
        // SAFETY: `which` has seen the CPUID bit of RDTSCP.
        let ticks = unsafe { __rdtscp(&raw mut aux) };
        // SAFETY: LFENCE is part of SSE2.
        unsafe { _mm_lfence() };
        (ticks, Some(aux))
    } else {
        (begin(), None)
    }
}

/// Nanoseconds of the raw clock, as ticks.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub fn begin() -> u64 {
    crate::monotonic_raw_ns()
}

/// Nanoseconds of the raw clock, as ticks.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub fn end() -> u64 {
    crate::monotonic_raw_ns()
}

/// Nanoseconds of the raw clock; there is no CPU number beside them.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub fn stamp() -> (u64, Option<u32>) {
    (crate::monotonic_raw_ns(), None)
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

//! Ordered readings of the counter around a measured region.
//!
//! `begin` is `lfence; rdtsc; lfence`: nothing earlier is still running, nothing later has started.
//! `end` is `rdtscp; lfence` where RDTSCP exists: it waits for all earlier loads, and later work cannot creep in.
//! RDTSCP presence: CPUID Fn8000_0001 EDX bit 27 (AMD64 APM vol. 3, 24594). LFENCE ordering of RDTSC: Intel SDM
//! vol. 2B, "RDTSC"; on AMD only where CPUID Fn8000_0021 EAX bit 2 says that LFENCE always waits for all earlier
//! instructions (AMD64 APM vol. 3). Elsewhere the kernel sets that in a register that cannot be read unprivileged
//! (MSRC001_1029 bit 1), so `begin` there puts MFENCE before the read, as Linux did (arch/x86, MFENCE_RDTSC). None stands
//! behind it: a region would pay for that one.

#[cfg(target_arch = "x86_64")]
use std::sync::OnceLock;

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
#[cfg(target_arch = "x86_64")]
#[inline]
fn which() -> Counter {
    static WHICH: OnceLock<Counter> = OnceLock::new();
    *WHICH.get_or_init(|| {
        /// RDTSCP, in EDX of leaf 8000_0001h.
        const RDTSCP_BIT: u32 = 1 << 27;
        /// The extended leaf that reports RDTSCP.
        const EXTENDED_FEATURES: u32 = 0x8000_0001;
        use std::arch::x86_64::__cpuid;
        let highest = __cpuid(0x8000_0000).eax;
        if highest >= EXTENDED_FEATURES && __cpuid(EXTENDED_FEATURES).edx & RDTSCP_BIT != 0 {
            Counter::TscRdtscp
        } else {
            Counter::TscFenced
        }
    })
}

/// Whether LFENCE is known to wait for all earlier instructions; found once.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn lfence_waits() -> bool {
    static WAITS: OnceLock<bool> = OnceLock::new();
    *WAITS.get_or_init(|| {
        /// The extended leaf that tells of LFENCE.
        const EXTENDED_FEATURES_2: u32 = 0x8000_0021;
        use std::arch::x86_64::__cpuid;
        let vendor = __cpuid(0);
        let name = [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes);
        let has_leaf = __cpuid(0x8000_0000).eax >= EXTENDED_FEATURES_2;
        let features = if has_leaf { __cpuid(EXTENDED_FEATURES_2).eax } else { 0 };
        waits(name.as_flattened(), features)
    })
}

/// What the vendor promises of LFENCE; `features` is EAX of leaf 8000_0021h, or 0.
#[cfg(target_arch = "x86_64")]
fn waits(vendor: &[u8], features: u32) -> bool {
    /// LFENCE is always dispatch-serialising.
    const LFENCE_ALWAYS_SERIALIZING: u32 = 1 << 2;
    let is_amd = matches!(vendor, b"AuthenticAMD" | b"HygonGenuine");
    !is_amd || features & LFENCE_ALWAYS_SERIALIZING != 0
}

/// Which counter this machine uses.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn which() -> Counter {
    Counter::MonotonicRaw
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
    if !lfence_waits() {
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

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn on_amd_lfence_counts_as_a_fence_only_where_cpuid_says_so() {
        for (vendor, features, expected) in [
            (b"GenuineIntel", 0, true),
            (b"AuthenticAMD", 0x204, true),
            (b"AuthenticAMD", 0x200, false),
            (b"AuthenticAMD", 0, false),
            (b"HygonGenuine", 0, false),
        ] {
            assert_eq!(waits(vendor, features), expected, "{vendor:?} {features:#x}");
        }
    }

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

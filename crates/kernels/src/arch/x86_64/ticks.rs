//! Reads of the time-stamp counter, with and without order, and batches of them to be priced.

use core::arch::x86_64::__cpuid;

use crate::arch::With;

named! {
    /// A way to read the time-stamp counter.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum TickRead {
        /// `rdtsc`: may execute before earlier loads are done.
        Rdtsc = "rdtsc",
        /// `lfence; rdtsc`: after all earlier loads.
        LfenceRdtsc = "lfence_rdtsc",
        /// `rdtscp`: after all earlier loads; also reads the CPU number.
        Rdtscp = "rdtscp",
        /// `lfence; rdtsc; lfence`: ordered on both sides.
        LfenceRdtscLfence = "lfence_rdtsc_lfence",
        /// `mfence; rdtsc`: after all earlier loads and stores, on AMD's CPUs, where Linux read it so before it made LFENCE wait
        /// (arch/x86, MFENCE_RDTSC). Intel promises that of `mfence; lfence; rdtsc` only (SDM vol. 2B, "RDTSC").
        MfenceRdtsc = "mfence_rdtsc",
    }
}

/// Highest extended CPUID leaf is returned in EAX of this leaf. AMD64 APM vol. 3 (24594), appendix E.
const CPUID_EXTENDED_MAX: u32 = 0x8000_0000;
/// Extended processor features. AMD64 APM vol. 3 (24594), appendix E.
const CPUID_EXTENDED_FEATURES: u32 = 0x8000_0001;
/// RDTSCP is present: CPUID Fn8000_0001, EDX bit 27. AMD64 APM vol. 3 (24594), appendix E.
const EDX_RDTSCP: u32 = 1 << 27;

/// Reads the counter between the given instructions, as one block that the compiler moves no memory access across.
macro_rules! read_ticks {
    ($($instruction:literal),+ $(; writes $register:tt)?) => {{
        let (low, high): (u32, u32);
        // SAFETY: the instructions write the named registers only. RDTSC and LFENCE are part of x86-64; a kernel that
        // forbids RDTSC (PR_SET_TSC) sends a signal, which is not unsound; who uses RDTSCP has looked for it.
        unsafe {
            core::arch::asm!(
                $($instruction,)+
                out("eax") low,
                out("edx") high,
                $(out($register) _,)?
                options(nostack, preserves_flags)
            );
        }
        u64::from(high) << 32 | u64::from(low)
    }};
}

/// `rdtsc`, unordered.
#[inline(always)]
pub fn rdtsc() -> u64 {
    read_ticks!("rdtsc")
}

/// `lfence; rdtsc`: after all earlier loads have their values.
#[inline(always)]
pub fn lfence_rdtsc() -> u64 {
    read_ticks!("lfence", "rdtsc")
}

/// `lfence; rdtsc; lfence`: after all earlier loads, before all later instructions.
#[inline(always)]
pub fn lfence_rdtsc_lfence() -> u64 {
    read_ticks!("lfence", "rdtsc", "lfence")
}

/// `mfence; rdtsc`: on AMD's CPUs after all earlier loads and stores.
#[inline(always)]
pub fn mfence_rdtsc() -> u64 {
    read_ticks!("mfence", "rdtsc")
}

/// Whether MFENCE holds RDTSC back: see [`TickRead::MfenceRdtsc`].
fn mfence_orders_ticks() -> bool {
    let vendor = __cpuid(0);
    let name = [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes);
    matches!(name.as_flattened(), b"AuthenticAMD" | b"HygonGenuine")
}

fn has_rdtscp() -> bool {
    let has_leaf = __cpuid(CPUID_EXTENDED_MAX).eax >= CPUID_EXTENDED_FEATURES;
    has_leaf && __cpuid(CPUID_EXTENDED_FEATURES).edx & EDX_RDTSCP != 0
}

impl TickRead {
    /// The bare counter.
    pub const BARE: Self = Self::Rdtsc;
    /// The counter behind a fence.
    pub const FENCED: Self = Self::LfenceRdtsc;
    /// The ordered read that stands for the counter beside other clocks.
    pub const USUAL: Self = Self::Rdtscp;
    /// A read that is ordered without a fence.
    pub const UNFENCED: Self = Self::Rdtscp;

    /// Whether the read waits for earlier loads, so that time cannot go back between threads in step.
    pub const fn is_ordered(self) -> bool {
        !matches!(self, Self::Rdtsc)
    }

    /// Whether this CPU has the instruction, and the read means something on it.
    pub(crate) fn is_here(self) -> bool {
        match self {
            Self::Rdtscp => has_rdtscp(),
            Self::MfenceRdtsc => mfence_orders_ticks(),
            _ => true,
        }
    }

    /// What `with` makes of the read, which is compiled for each on its own; the CPU has the instruction.
    #[inline(always)]
    pub(crate) fn with<R>(self, with: impl With<R>) -> R {
        match self {
            Self::Rdtsc => with.read(rdtsc),
            Self::LfenceRdtsc => with.read(lfence_rdtsc),
            Self::Rdtscp => with.read(|| read_ticks!("rdtscp"; writes "ecx")),
            Self::LfenceRdtscLfence => with.read(lfence_rdtsc_lfence),
            Self::MfenceRdtsc => with.read(mfence_rdtsc),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordered_reads_of_one_thread_do_not_go_back() {
        // One thread may still change its CPU, and CPUs may disagree: look at one pair of ordered reads at a time.
        let is_ordered = (0..100).any(|_| lfence_rdtsc() <= lfence_rdtsc_lfence());
        assert!(is_ordered);
    }
}

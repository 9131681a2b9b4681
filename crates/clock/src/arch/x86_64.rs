//! x86-64: the time-stamp counter.
//!
//! LFENCE ordering of RDTSC: Intel SDM vol. 2B, "RDTSC"; on AMD only where CPUID says that LFENCE always waits for all earlier
//! instructions. Elsewhere the kernel sets that in a register that cannot be read unprivileged (MSRC001_1029 bit 1), so MFENCE
//! stands before the read there, as Linux did (arch/x86, MFENCE_RDTSC).

use std::arch::x86_64::{__cpuid_count, _mm_lfence, _mm_mfence, _rdtsc, CpuidResult};

use crate::stamp::{CPU_MASK, Stamp, StampMethod};
use crate::stamp::{Counter, Features};

/// What the kernel calls this counter where it keeps time by it.
pub(crate) const CLOCK_SOURCE: &str = "tsc";

/// What a leaf says that is not there.
const NOTHING: CpuidResult = CpuidResult { eax: 0, ebx: 0, ecx: 0, edx: 0 };

/// What CPUID says.
pub(crate) fn features() -> Features {
    features_of(|number| __cpuid_count(number, 0))
}

/// What the leaves say, each asked for with subleaf 0. A leaf beyond the highest is not asked for: Intel's CPUs answer
/// with another one.
fn features_of(cpuid: impl Fn(u32) -> CpuidResult) -> Features {
    /// The highest of the extended leaves is in EAX of the first.
    const EXTENDED: u32 = 0x8000_0000;
    let basic = cpuid(0);
    let highest_extended = cpuid(EXTENDED).eax;
    let leaf = |number: u32| {
        let highest = if number < EXTENDED { basic.eax } else { highest_extended };
        if number <= highest { cpuid(number) } else { NOTHING }
    };
    let vendor = [basic.ebx, basic.edx, basic.ecx].map(u32::to_le_bytes);
    let is_amd = matches!(vendor.as_flattened(), b"AuthenticAMD" | b"HygonGenuine");
    Features {
        has_rdtscp: leaf(0x8000_0001).edx & 1 << 27 != 0,
        has_rdpid: leaf(7).ecx & 1 << 22 != 0,
        is_invariant: leaf(0x8000_0007).edx & 1 << 8 != 0,
        lfence_waits: !is_amd || leaf(0x8000_0021).eax & 1 << 2 != 0,
    }
}

/// What stands behind a region's ends.
#[inline]
pub(crate) fn counter(features: Features) -> Counter {
    if features.has_rdtscp { Counter::TscRdtscp } else { Counter::TscFenced }
}

/// Waits for all earlier loads.
#[inline(always)]
pub(crate) fn wait_for_earlier(lfence_waits: bool) {
    if !lfence_waits {
        // SAFETY: MFENCE is part of SSE2, which every x86-64 CPU has.
        unsafe { _mm_mfence() };
    }
    hold_back_later();
}

/// Nothing that stands behind it starts before it.
#[inline(always)]
pub(crate) fn hold_back_later() {
    // SAFETY: LFENCE is part of SSE2, which every x86-64 CPU has.
    unsafe { _mm_lfence() };
}

/// RDTSC, unordered.
#[inline(always)]
pub(crate) fn ticks() -> u64 {
    // SAFETY: RDTSC exists on every x86-64 CPU; user mode may be barred only by PR_SET_TSC, which who reads has asked about.
    unsafe { _rdtsc() }
}

/// No register states the rate; what CPUID says in leaf 15h, where it does, is not read.
pub(crate) fn stated_hz() -> Option<u32> {
    None
}

/// Ticks after all earlier loads have their values.
#[inline(always)]
pub(crate) fn ordered_ticks(lfence_waits: bool) -> u64 {
    wait_for_earlier(lfence_waits);
    ticks()
}

/// Ticks at the end of a region, and what the kernel put beside them: `node << 12 | cpu`. The second value is `None` without RDTSCP.
#[inline(always)]
pub(crate) fn closing() -> (u64, Option<u32>) {
    let features = Features::of_this_machine();
    if features.has_rdtscp {
        let mut aux = 0;
        // SAFETY: CPUID has the bit of RDTSCP.
        let ticks = unsafe { std::arch::x86_64::__rdtscp(&raw mut aux) };
        hold_back_later();
        (ticks, Some(aux))
    } else {
        let ticks = ordered_ticks(features.lfence_waits);
        hold_back_later();
        (ticks, None)
    }
}

/// The CPU's number by a method that does not read the counter.
#[inline(always)]
pub(crate) fn cpu_by(method: StampMethod) -> u32 {
    match method {
        StampMethod::Rdpid => rdpid(),
        _ => segment_limit().unwrap_or(0),
    }
}

/// Counter and CPU by one instruction, RDTSCP. The compiler's own function for it puts the halves of the counter together, and a reader would take them apart
/// again.
#[inline(always)]
pub(crate) fn at_once() -> Stamp {
    let (low, high, aux): (u32, u32, u32);
    // SAFETY: reached only with the method `Rdtscp`, which `with` gives only where CPUID has the bit. All memory counts as
    // touched, so that no load is moved across it.
    unsafe {
        std::arch::asm!(
            "rdtscp",
            out("eax") low,
            out("edx") high,
            out("ecx") aux,
            options(nostack, preserves_flags),
        );
    }
    Stamp { ticks: u64::from(high) << u32::BITS | u64::from(low), cpu: aux & CPU_MASK }
}

#[inline(always)]
fn rdpid() -> u32 {
    let aux: u64;
    // SAFETY: reached only with the method `Rdpid`, which `with` gives only where CPUID has the bit.
    unsafe {
        std::arch::asm!("rdpid {}", out(reg) aux, options(nomem, nostack, preserves_flags));
    }
    aux as u32
}

/// The limit of the segment `__CPUNODE_SEG`, which holds `node << 12 | cpu`; `None` where the kernel has none.
/// Entry 15 of the global descriptor table, privilege 3: Linux, arch/x86/include/asm/segment.h, GDT_ENTRY_CPUNODE.
#[inline(always)]
pub(crate) fn segment_limit() -> Option<u32> {
    /// Selector of the segment.
    const CPUNODE_SEGMENT: u32 = 15 * 8 + 3;
    let limit: u32;
    let is_valid: u8;
    // SAFETY: LSL only looks a descriptor up, and reports in the zero flag whether it may be seen.
    unsafe {
        std::arch::asm!(
            "lsl {limit:e}, {selector:e}",
            "setz {valid}",
            limit = out(reg) limit,
            selector = in(reg) CPUNODE_SEGMENT,
            valid = out(reg_byte) is_valid,
            options(nomem, nostack),
        );
    }
    (is_valid != 0).then_some(limit)
}

/// The CPU number that the kernel keeps in the area of restartable sequences.
#[inline(always)]
pub(crate) fn registered_cpu(offset: isize) -> u32 {
    let cpu: u32;
    // SAFETY: the C library has registered the area at this offset for its threads; the CPU's number is at 4. Nothing is
    // written. The kernel changes the number behind the compiler's back, so that the load must not be merged: no `pure`.
    unsafe {
        std::arch::asm!(
            "mov {cpu:e}, dword ptr fs:[{offset} + 4]",
            cpu = out(reg) cpu,
            offset = in(reg) offset,
            options(nostack, preserves_flags, readonly),
        );
    }
    cpu
}

/// CPU number, LFENCE, RDTSC, which the kernel starts again if it interrupts the thread within.
///
/// The descriptor names start, length and the place to go on after an interruption; the four bytes before that place are the
/// signature that the C library has registered. Sources: Linux, include/uapi/linux/rseq.h; glibc, RSEQ_SIG for x86.
#[inline(always)]
pub(crate) fn restartable(offset: isize) -> Stamp {
    let (cpu, low, high): (u32, u32, u32);
    // SAFETY: the C library has registered the area at this offset for its threads: the CPU's number is at 4, the address
    // of the descriptor at 8. The descriptor lives as long as the code; its address is taken out again, so that a library
    // may be unloaded. The sequence stores nothing before its end, so it may start again at any point.
    unsafe {
        std::arch::asm!(
            ".pushsection .data.rel.ro.sidestep_rseq, \"aw\", @progbits",
            ".balign 32",
            "77:",
            ".long 0, 0",
            ".quad 2f, 3f - 2f, 4f",
            ".popsection",
            ".pushsection .text.sidestep_rseq, \"ax\", @progbits",
            ".byte 0x0f, 0xb9, 0x3d",
            ".long 0x53053053",
            "4:",
            "jmp 5f",
            ".popsection",
            "5:",
            "lea {descriptor}, [rip + 77b]",
            "mov qword ptr fs:[{offset} + 8], {descriptor}",
            "2:",
            "mov {cpu:e}, dword ptr fs:[{offset} + 4]",
            "lfence",
            "rdtsc",
            "3:",
            "mov qword ptr fs:[{offset} + 8], 0",
            descriptor = out(reg) _,
            offset = in(reg) offset,
            cpu = out(reg) cpu,
            out("eax") low,
            out("edx") high,
            options(nostack, preserves_flags),
        );
    }
    Stamp { ticks: u64::from(high) << u32::BITS | u64::from(low), cpu }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Features =
        Features { has_rdtscp: false, has_rdpid: false, is_invariant: false, lfence_waits: false };

    /// A CPU with these leaves. Those between are empty; those beyond answer with all bits set.
    fn features(vendor: &[u8; 12], leaves: &[(u32, CpuidResult)]) -> Features {
        let word = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|byte| vendor[at + byte]));
        let highest = |from: u32, to: u32| {
            leaves.iter().map(|(number, _)| *number).filter(|number| (from..to).contains(number)).max()
        };
        let basic = highest(0, 0x8000_0000).unwrap_or(1);
        let extended = highest(0x8000_0000, u32::MAX).unwrap_or(0);
        features_of(|number| match number {
            0 => CpuidResult { eax: basic, ebx: word(0), edx: word(4), ecx: word(8) },
            0x8000_0000 => CpuidResult { eax: extended, ..NOTHING },
            _ if number > if number < 0x8000_0000 { basic } else { extended } => {
                CpuidResult { eax: !0, ebx: !0, ecx: !0, edx: !0 }
            }
            _ => leaves.iter().find(|(known, _)| *known == number).map_or(NOTHING, |(_, leaf)| *leaf),
        })
    }

    #[test]
    fn leaves_say_what_a_cpu_has_and_leaves_beyond_the_highest_say_nothing() {
        let eax = |bit: u32| CpuidResult { eax: 1 << bit, ..NOTHING };
        let ecx = |bit: u32| CpuidResult { ecx: 1 << bit, ..NOTHING };
        let edx = |bit: u32| CpuidResult { edx: 1 << bit, ..NOTHING };
        let all = [(7, ecx(22)), (0x8000_0001, edx(27)), (0x8000_0007, edx(8)), (0x8000_0021, eax(2))];
        let every = Features { has_rdtscp: true, has_rdpid: true, is_invariant: true, lfence_waits: true };
        for (vendor, leaves, expected) in [
            (b"AuthenticAMD", &all[..], every),
            // A counter that follows the P-states, with RDTSCP and without.
            (b"AuthenticAMD", &[all[1], (0x8000_0008, edx(0))], Features { has_rdtscp: true, ..NONE }),
            (b"AuthenticAMD", &[(0x8000_0008, edx(0))], NONE),
            // An invariant counter behind a hypervisor that hides RDTSCP.
            (b"AuthenticAMD", &[all[2]], Features { is_invariant: true, ..NONE }),
            // Leaf 8000_0021h is there, and does not vouch for LFENCE.
            (b"HygonGenuine", &[(0x8000_0021, eax(9))], NONE),
            (b"GenuineIntel", &[], Features { lfence_waits: true, ..NONE }),
        ] {
            assert_eq!(features(vendor, leaves), expected, "{leaves:?}");
        }
    }
}

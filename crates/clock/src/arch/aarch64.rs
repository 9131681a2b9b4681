//! arm64: the virtual count of the generic timer, one for all CPUs by the architecture (Arm ARM, DDI 0487, chapter D12).
//!
//! A read of CNTVCT_EL0 may be done early; ISB before it holds it back, as in Linux (arch/arm64/include/asm/vdso/gettimeofday.h).
//! CNTVCTSS_EL0 (FEAT_ECV) is ordered by itself. CPU and counter as one come from a restartable sequence alone.

use std::sync::OnceLock;

use crate::stamp::{Counter, Features};
use crate::stamp::{Stamp, StampMethod};

/// What the kernel calls this counter where it keeps time by it.
pub(crate) const CLOCK_SOURCE: &str = "arch_sys_counter";

/// FEAT_ECV. Linux, arch/arm64/include/uapi/asm/hwcap.h, HWCAP2_ECV.
const HWCAP2_ECV: libc::c_ulong = 1 << 19;

/// The generic timer runs at one rate in all states of power.
pub(crate) fn features() -> Features {
    Features { has_rdtscp: false, has_rdpid: false, is_invariant: true, lfence_waits: true }
}

/// What stands behind a region's ends.
#[inline]
pub(crate) fn counter(_features: Features) -> Counter {
    Counter::VirtualCount
}

/// Whether the counter can be read in order by itself; found once.
#[inline]
fn orders_itself() -> bool {
    static FOUND: OnceLock<bool> = OnceLock::new();
    // SAFETY: takes a number, and reads what the kernel gave the process.
    *FOUND.get_or_init(|| unsafe { libc::getauxval(libc::AT_HWCAP2) } & HWCAP2_ECV != 0)
}

/// Nothing that stands behind it is fetched before it. Earlier loads that no branch depends on, and stores, may still be under way: DSB
/// alone waits for them (Arm ARM, DDI 0487, "Instruction Synchronization Barrier").
#[inline(always)]
pub(crate) fn hold_back_later() {
    // SAFETY: fetches anew what stands behind it, and changes nothing.
    unsafe { std::arch::asm!("isb", options(nostack, preserves_flags)) };
}

/// CNTVCT_EL0, unordered.
#[inline(always)]
pub(crate) fn ticks() -> u64 {
    let ticks: u64;
    // SAFETY: Linux lets user mode read CNTVCT_EL0, or answers for it, unless PR_SET_TSC asks for a signal, which who reads
    // has asked about; a register is written.
    unsafe { std::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nostack, preserves_flags)) };
    ticks
}

/// CNTFRQ_EL0: ticks per second as firmware wrote it into this CPU; the timer itself does not use it (Arm ARM, DDI 0487, D12). Where
/// the kernel traps the read because of an erratum, it answers with its own rate (Linux, arch/arm64/kernel/traps.c, `cntfrq_read_handler`).
pub(crate) fn stated_hz() -> Option<u32> {
    let register: u64;
    // SAFETY: as for `ticks`: Linux lets user mode read both registers or neither (CNTKCTL_EL1), and answers for both.
    unsafe {
        std::arch::asm!("mrs {}, cntfrq_el0", out(reg) register, options(nomem, nostack, preserves_flags))
    };
    // The upper half is reserved.
    Some(register as u32)
}

/// Ticks in program order, as Linux reads them.
#[inline(always)]
pub(crate) fn ordered_ticks(_lfence_waits: bool) -> u64 {
    if orders_itself() {
        let ticks: u64;
        // SAFETY: as for `ticks`, and the kernel says that the CPU has CNTVCTSS_EL0, which older assemblers know by its number only.
        unsafe {
            std::arch::asm!("mrs {}, S3_3_C14_C0_6", out(reg) ticks, options(nostack, preserves_flags))
        };
        return ticks;
    }
    hold_back_later();
    ticks()
}

/// Ticks at the end of a region; no CPU number stands beside them.
#[inline(always)]
pub(crate) fn closing() -> (u64, Option<u32>) {
    let ticks = ordered_ticks(true);
    hold_back_later();
    (ticks, None)
}

/// There is no such method here, and `Features` says so.
pub(crate) fn at_once() -> Stamp {
    unreachable!("no instruction of arm64 reads counter and CPU at once")
}

/// The CPU's number from the kernel, for a thread without a restartable sequence.
#[inline]
pub(crate) fn cpu_by(_method: StampMethod) -> u32 {
    crate::stamp::kernel_cpu().unwrap_or(0)
}

/// No segments here.
pub(crate) fn segment_limit() -> Option<u32> {
    None
}

/// The area of restartable sequences that the C library has registered at this distance from the thread pointer.
#[inline(always)]
fn area(offset: isize) -> u64 {
    let thread: u64;
    // SAFETY: the thread pointer may always be read; nothing is written.
    unsafe {
        std::arch::asm!("mrs {}, tpidr_el0", out(reg) thread, options(nomem, nostack, preserves_flags))
    };
    thread.wrapping_add_signed(offset as i64)
}

/// The CPU number that the kernel keeps in the area of restartable sequences.
#[inline(always)]
pub(crate) fn registered_cpu(offset: isize) -> u32 {
    let cpu: u32;
    // SAFETY: the C library has registered the area at this offset for its threads; the CPU's number is at 4. Nothing is
    // written. The kernel changes the number behind the compiler's back, so that the load must not be merged: no `pure`.
    unsafe {
        std::arch::asm!(
            "ldr {cpu:w}, [{area}, #4]",
            cpu = out(reg) cpu,
            area = in(reg) area(offset),
            options(nostack, preserves_flags, readonly),
        );
    }
    cpu
}

/// CPU number, ISB, counter, which the kernel starts again if it interrupts the thread within.
///
/// The descriptor names start, length and the place to go on after an interruption; the four bytes before that place are the
/// signature that the C library has registered. Sources: Linux, include/uapi/linux/rseq.h; glibc, RSEQ_SIG for aarch64.
#[inline(always)]
pub(crate) fn restartable(offset: isize) -> Stamp {
    let (ticks, cpu): (u64, u32);
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
            ".balign 4",
            ".inst 0xd428bc00",
            "4:",
            "b 5f",
            ".popsection",
            "5:",
            "adrp {descriptor}, 77b",
            "add {descriptor}, {descriptor}, :lo12:77b",
            "str {descriptor}, [{area}, #8]",
            "2:",
            "ldr {cpu:w}, [{area}, #4]",
            "isb",
            "mrs {ticks}, cntvct_el0",
            "3:",
            "str xzr, [{area}, #8]",
            descriptor = out(reg) _,
            area = in(reg) area(offset),
            cpu = out(reg) cpu,
            ticks = out(reg) ticks,
            options(nostack, preserves_flags),
        );
    }
    Stamp { ticks, cpu }
}

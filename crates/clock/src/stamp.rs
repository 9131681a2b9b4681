//! A stamp, the ways to read one, what is known of the counter and its instructions, and the CPU that the kernel names.

/// The lower 12 bits of TSC_AUX and of the segment's limit are the CPU, those above its node: Linux,
/// arch/x86/include/asm/segment.h, VDSO_CPUNODE_BITS.
pub(crate) const CPU_MASK: u32 = 0xfff;

/// A reading of the counter of one CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Ticks, read after all earlier loads of the thread.
    pub ticks: u64,
    /// The CPU whose counter it was.
    pub cpu: u32,
}

/// How ticks and CPU are read as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StampMethod {
    /// RDTSCP: both at once.
    Rdtscp,
    /// The CPU number that the kernel keeps for restartable sequences, and the counter, in such a sequence (Linux 4.18, glibc
    /// 2.35), where LFENCE is known to wait.
    RestartableSequence,
    /// RDTSC between two RDPIDs.
    Rdpid,
    /// RDTSC between two reads of the limit of the segment in which Linux keeps the CPU number; every x86-64 CPU can.
    SegmentLimit,
}

/// The CPU that the kernel says the thread is on, asked by the system call: the faster ways read what is to be checked.
pub(crate) fn kernel_cpu() -> Option<u32> {
    let mut cpu: libc::c_uint = 0;
    let nowhere = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: the call writes one unsigned int; node and cache may be null.
    let status = unsafe { libc::syscall(libc::SYS_getcpu, &raw mut cpu, nowhere, nowhere) };
    (status == 0).then_some(cpu)
}

/// What a CPU has; nothing on an architecture whose counter is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Features {
    /// RDTSCP: CPUID Fn8000_0001, EDX bit 27. AMD64 APM vol. 3, 24594.
    pub(crate) has_rdtscp: bool,
    /// RDPID: CPUID leaf 7, ECX bit 22. Intel SDM vol. 2A, CPUID.
    pub(crate) has_rdpid: bool,
    /// The counter keeps its rate in all P- and C-states: the generic timer of arm64; on x86 CPUID Fn8000_0007, EDX bit 8. AMD64
    /// APM vol. 3, 24594.
    pub(crate) is_invariant: bool,
    /// The instruction that orders a read (LFENCE, ISB) is known to wait for all earlier ones: on AMD only where CPUID Fn8000_0021, EAX
    /// bit 2 says so. AMD64 APM vol. 3, 24594.
    pub(crate) lfence_waits: bool,
}

/// What stands behind `begin` and `end` on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counter {
    /// RDTSC, closed by RDTSCP.
    TscRdtscp,
    /// RDTSC between LFENCEs: the CPU has no RDTSCP.
    TscFenced,
    /// CNTVCT_EL0 of arm64.
    VirtualCount,
    /// `CLOCK_MONOTONIC_RAW`: neither x86-64 nor arm64.
    MonotonicRaw,
}

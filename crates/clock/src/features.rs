//! What is known of the counter and of the instructions that read it.

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

//! What this crate has to know of the architecture that it is built for: x86, Arm, or one of which nothing is known.

use raw_cpuid::CpuIdResult;

/// Whether this architecture has CPUID.
pub(crate) const HAS_CPUID: bool = cfg!(target_arch = "x86_64");

/// The mask of the registers that are sampled, of x86 AX to IP (0 to 8) and R8 to R15 (16 to 23);
/// arch/x86/include/uapi/asm/perf_regs.h. Elsewhere nothing decodes the instructions that registers belong to.
pub(crate) const SAMPLED_REGISTERS: Option<u64> = if HAS_CPUID { Some(0x00ff_01ff) } else { None };

/// What this architecture is called in texts: `x86`, `arm64`.
pub const NAME: &str = if HAS_CPUID {
    "x86"
} else if cfg!(target_arch = "aarch64") {
    "arm64"
} else {
    std::env::consts::ARCH
};

/// CPUID of the CPU this runs on at the moment.
#[cfg(target_arch = "x86_64")]
pub(crate) fn cpuid(leaf: u32, subleaf: u32) -> CpuIdResult {
    raw_cpuid::CpuIdReader::cpuid2(&raw_cpuid::CpuIdReaderNative, leaf, subleaf)
}

/// There is no such instruction.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn cpuid(_leaf: u32, _subleaf: u32) -> CpuIdResult {
    CpuIdResult { eax: 0, ebx: 0, ecx: 0, edx: 0 }
}

/// Why samples of registers cannot be decoded here; `None` where they can.
pub fn no_decoder() -> Option<String> {
    SAMPLED_REGISTERS
        .is_none()
        .then(|| format!("sidestep decodes instructions of x86 only, and this is {NAME}"))
}

//! x86, 64 bits.

use raw_cpuid::{CpuIdReader, CpuIdResult};

pub(super) const NAME: &str = "x86";
/// The mask of the registers that are sampled: AX to IP (0 to 8) and R8 to R15 (16 to 23); arch/x86/include/uapi/asm/perf_regs.h.
pub(crate) const SAMPLED_REGISTERS: Option<u64> = Some(0x00ff_01ff);
pub(crate) const HAS_CPUID: bool = true;

/// CPUID of the CPU this runs on at the moment.
pub(crate) fn cpuid(leaf: u32, subleaf: u32) -> CpuIdResult {
    raw_cpuid::CpuIdReaderNative.cpuid2(leaf, subleaf)
}

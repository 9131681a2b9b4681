//! Arm, 64 bits.

use raw_cpuid::CpuIdResult;

pub(super) const NAME: &str = "arm64";
/// None: nothing here decodes the instructions that the registers belong to.
pub(crate) const SAMPLED_REGISTERS: Option<u64> = None;
pub(crate) const HAS_CPUID: bool = false;

/// There is no such instruction.
pub(crate) fn cpuid(_leaf: u32, _subleaf: u32) -> CpuIdResult {
    CpuIdResult { eax: 0, ebx: 0, ecx: 0, edx: 0 }
}

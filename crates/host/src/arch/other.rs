//! An architecture of which nothing is known.

use raw_cpuid::CpuIdResult;

pub(super) const NAME: &str = std::env::consts::ARCH;
/// EM_NONE.
pub(crate) const ELF_MACHINE: u64 = 0;
/// No loader is known to serve.
pub(crate) const GNU_LOADER: &[u8] = b"no loader";
pub(crate) const SAMPLED_REGISTERS: Option<u64> = None;
/// No code ends with it.
pub(crate) const SYSTEM_CALL: &[u8] = &[0; 256];
pub(crate) const HAS_CPUID: bool = false;

/// There is no such instruction.
pub(crate) fn cpuid(_leaf: u32, _subleaf: u32) -> CpuIdResult {
    CpuIdResult { eax: 0, ebx: 0, ecx: 0, edx: 0 }
}

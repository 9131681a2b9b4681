//! Arm, 64 bits.

use raw_cpuid::CpuIdResult;

pub(super) const NAME: &str = "arm64";
/// EM_AARCH64.
pub(crate) const ELF_MACHINE: u64 = 183;
/// The GNU C library's loader; others do not know its symbols.
pub(crate) const GNU_LOADER: &[u8] = b"ld-linux-aarch64.so.1";
/// None: nothing here decodes the instructions that the registers belong to.
pub(crate) const SAMPLED_REGISTERS: Option<u64> = None;
/// `svc #0`, the lowest byte first; Arm Architecture Reference Manual, SVC.
pub(crate) const SYSTEM_CALL: &[u8] = &[0x01, 0x00, 0x00, 0xd4];
pub(crate) const HAS_CPUID: bool = false;

/// There is no such instruction.
pub(crate) fn cpuid(_leaf: u32, _subleaf: u32) -> CpuIdResult {
    CpuIdResult { eax: 0, ebx: 0, ecx: 0, edx: 0 }
}

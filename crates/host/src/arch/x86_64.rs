//! x86, 64 bits.

use raw_cpuid::{CpuIdReader, CpuIdResult};

pub(super) const NAME: &str = "x86";
/// EM_X86_64.
pub(crate) const ELF_MACHINE: u64 = 62;
/// The GNU C library's loader; others do not know its symbols.
pub(crate) const GNU_LOADER: &[u8] = b"ld-linux-x86-64.so.2";
/// The mask of the registers that are sampled: AX to IP (0 to 8) and R8 to R15 (16 to 23); arch/x86/include/uapi/asm/perf_regs.h.
pub(crate) const SAMPLED_REGISTERS: Option<u64> = Some(0x00ff_01ff);
/// `syscall`: behind it the thread was in the kernel; Intel SDM vol. 2, SYSCALL.
pub(crate) const SYSTEM_CALL: &[u8] = &[0x0f, 0x05];
pub(crate) const HAS_CPUID: bool = true;

/// CPUID of the CPU this runs on at the moment.
pub(crate) fn cpuid(leaf: u32, subleaf: u32) -> CpuIdResult {
    raw_cpuid::CpuIdReaderNative.cpuid2(leaf, subleaf)
}

//! What this crate has to know of the architecture that it is built for: the same names in a file for each.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod other;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
use aarch64 as here;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
use other as here;
#[cfg(target_arch = "x86_64")]
use x86_64 as here;

pub(crate) use here::{ELF_MACHINE, GNU_LOADER, HAS_CPUID, SAMPLED_REGISTERS, SYSTEM_CALL, cpuid};

/// What this architecture is called in texts: `x86`, `arm64`.
pub const NAME: &str = here::NAME;

/// Architectures of programs by `e_machine` of their header, and what they are called. System V gABI, chapter 4; Linux,
/// include/uapi/linux/elf-em.h.
const ELF_MACHINES: [(u64, &str); 8] = [
    (3, "32-bit x86"),
    (20, "32-bit PowerPC"),
    (21, "PowerPC"),
    (22, "S390"),
    (40, "32-bit Arm"),
    (62, "x86"),
    (183, "arm64"),
    (243, "RISC-V"),
];

/// What an architecture is called that a program's header names, if it is known.
pub(crate) fn elf_machine_name(number: u64) -> Option<&'static str> {
    ELF_MACHINES.iter().find(|(machine, _)| *machine == number).map(|(_, name)| *name)
}

/// Why samples of registers cannot be decoded here; `None` where they can.
pub fn no_decoder() -> Option<String> {
    SAMPLED_REGISTERS
        .is_none()
        .then(|| format!("sidestep decodes instructions of x86 only, and this is {NAME}"))
}

//! The registers that a signal found, as those who read samples number them.

use libc::ucontext_t;

/// The registers in the order in which instructions number them.
#[cfg(target_arch = "x86_64")]
const REGISTERS: [libc::c_int; 16] = [
    libc::REG_RAX,
    libc::REG_RCX,
    libc::REG_RDX,
    libc::REG_RBX,
    libc::REG_RSP,
    libc::REG_RBP,
    libc::REG_RSI,
    libc::REG_RDI,
    libc::REG_R8,
    libc::REG_R9,
    libc::REG_R10,
    libc::REG_R11,
    libc::REG_R12,
    libc::REG_R13,
    libc::REG_R14,
    libc::REG_R15,
];

/// Where the thread was, and its registers.
#[cfg(target_arch = "x86_64")]
#[expect(clippy::unnecessary_wraps, reason = "of the shape that other architectures have")]
pub(crate) fn saved_registers(context: &ucontext_t) -> Option<(u64, [u64; 16])> {
    let saved = &context.uc_mcontext.gregs;
    let register = |number: libc::c_int| saved[number as usize].cast_unsigned();
    Some((register(libc::REG_RIP), REGISTERS.map(register)))
}

/// Who reads samples decodes instructions of x86 alone: registers of another architecture would be taken for those.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn saved_registers(_: &ucontext_t) -> Option<(u64, [u64; 16])> {
    None
}

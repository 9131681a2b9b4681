//! A word taken over or added to atomically: by one instruction (LSE, FEAT_LSE of Armv8.1), or by a load and a store that
//! fails if the line was lost in between (LL/SC), which every core has.

use core::arch::asm;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};

use crate::arch::AtomicAdds;
use crate::loop_interface::{Turn, repeat};

pub(crate) const ATOMIC_ADDS: &[AtomicAdds] = &[
    AtomicAdds { name: "ll_sc", is_present: || true, rounds_of: exclusive_adds },
    AtomicAdds { name: "lse", is_present: has_lse, rounds_of: lse_adds },
];

fn has_lse() -> bool {
    std::arch::is_aarch64_feature_detected!("lse")
}

/// Takes the word over by compare-and-swap, so many times or until `abort` is set, with the instructions that this CPU has.
pub(crate) fn swaps(word: &AtomicU32, turn: Turn, rounds: u64, abort: &AtomicBool) -> u64 {
    if has_lse() {
        // SAFETY: the CPU has the instruction.
        repeat(rounds, abort, || unsafe { lse_swap(word, turn) })
    } else {
        repeat(rounds, abort, || exclusive_swap(word, turn))
    }
}

/// # Safety
/// The CPU has LSE.
#[inline(always)]
unsafe fn lse_swap(word: &AtomicU32, turn: Turn) -> bool {
    let mut found = turn.take;
    // SAFETY: the caller promises the instruction; the word is alive and shared atomically.
    unsafe {
        asm!(
            ".arch_extension lse",
            "casal {found:w}, {leave:w}, [{word}]",
            found = inout(reg) found,
            leave = in(reg) turn.leave,
            word = in(reg) word.as_ptr(),
            options(nostack, preserves_flags)
        );
    }
    found == turn.take
}

#[inline(always)]
fn exclusive_swap(word: &AtomicU32, turn: Turn) -> bool {
    let found: u32;
    // SAFETY: the word is alive and shared atomically; nothing stands between the two that could break the pair off for ever.
    unsafe {
        asm!(
            "2:",
            "ldaxr {found:w}, [{word}]",
            "cmp {found:w}, {take:w}",
            "b.ne 3f",
            "stlxr {failed:w}, {leave:w}, [{word}]",
            "cbnz {failed:w}, 2b",
            "3:",
            found = out(reg) found,
            failed = out(reg) _,
            take = in(reg) turn.take,
            leave = in(reg) turn.leave,
            word = in(reg) word.as_ptr(),
            options(nostack)
        );
    }
    found == turn.take
}

/// # Safety
/// The CPU has LSE; there is a round.
unsafe fn lse_adds(word: &AtomicU64, rounds: u64) {
    // SAFETY: the caller promises the instruction; the word is alive and shared atomically.
    unsafe {
        asm!(
            ".arch_extension lse",
            rounds!(16, "ldaddal {one}, {old}, [{word}]"),
            one = in(reg) 1u64,
            old = out(reg) _,
            word = in(reg) word.as_ptr(),
            rounds = inout(reg) rounds => _,
            options(nostack)
        );
    }
}

/// At least one round.
fn exclusive_adds(word: &AtomicU64, rounds: u64) {
    // SAFETY: the word is alive and shared atomically.
    unsafe {
        asm!(
            rounds!(
                16,
                "3:",
                "ldaxr {old}, [{word}]",
                "add {old}, {old}, {one}",
                "stlxr {failed:w}, {old}, [{word}]",
                "cbnz {failed:w}, 3b",
            ),
            one = in(reg) 1u64,
            old = out(reg) _,
            failed = out(reg) _,
            word = in(reg) word.as_ptr(),
            rounds = inout(reg) rounds => _,
            options(nostack)
        );
    }
}

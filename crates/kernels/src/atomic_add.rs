//! One uncontended atomic addition, with each kind of instructions that an architecture has for it.
//!
//! ```text
//! repeat rounds:  16 x  word = word + 1, with acquire and release
//!                       lse:    ldaddal (1 instruction)
//!                       ll_sc:  ldaxr, add, stlxr, cbnz: again if the line was lost in between
//! ```
//! Per step one load and one store of 8 bytes in the first level of cache. A program for any arm64 core takes LL/SC, or asks at run
//! time which it may take (`-moutline-atomics` of GCC and LLVM); this is the price. x86-64 has one kind, and nothing to compare.

use core::sync::atomic::AtomicU64;

use crate::arch;

/// Additions of one round.
pub const ATOMIC_ADDS_PER_ROUND: u64 = 16;

/// A way to add that this CPU has.
#[derive(Debug, Clone, Copy)]
pub struct AtomicAddLoop {
    name: &'static str,
    rounds_of: unsafe fn(&AtomicU64, u64),
}

impl AtomicAddLoop {
    /// Whether this architecture has kinds to choose from.
    pub const fn is_a_choice() -> bool {
        !arch::ATOMIC_ADDS.is_empty()
    }

    /// Those that this CPU has; the one that every CPU of the architecture has is first.
    #[inline(never)]
    pub fn all() -> impl Iterator<Item = Self> {
        let present = arch::ATOMIC_ADDS.iter().filter(|adds| (adds.is_present)());
        present.map(|&arch::AtomicAdds { name, rounds_of, .. }| Self { name, rounds_of })
    }

    /// The instructions: `lse`, `ll_sc`.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Adds 1 to the word `rounds * ATOMIC_ADDS_PER_ROUND` times.
    pub fn run(&self, word: &AtomicU64, rounds: u64) {
        if rounds > 0 {
            // SAFETY: `all` has found the instructions.
            unsafe { (self.rounds_of)(word, rounds) }
        }
    }
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::Ordering;

    use super::*;

    #[test]
    fn every_kind_adds_as_often_as_it_says_whoever_else_adds() {
        let word = AtomicU64::new(0);
        for adds in AtomicAddLoop::all() {
            word.store(7, Ordering::Relaxed);
            let word = &word;
            std::thread::scope(|scope| {
                for rounds in [0, 1, 100] {
                    scope.spawn(move || adds.run(word, rounds));
                }
            });
            assert_eq!(word.load(Ordering::Relaxed), 7 + 101 * ATOMIC_ADDS_PER_ROUND, "{}", adds.name());
        }
    }
}

//! Locked additions to a word that lies in one line, or in two.
//!
//! ```text
//! repeat count:  word = word + 1, locked        (lock add m32, i8)
//! ```
//! Per step one load and one store of 4 bytes. Across two lines the CPU locks the bus, or its like, and all others wait
//! ("split lock"; Linux, Documentation/arch/x86/buslock.rst); the kernel may forbid it by SIGBUS, or slow it down. So
//! nothing but a child process that may be killed should ask for it, and no test does.

/// Where the word begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LockPlace {
    /// Within a line.
    Inside,
    /// Two bytes before the end of a line.
    Across,
}

impl LockPlace {
    /// Offset in bytes; the word ends inside the lines.
    const fn offset(self) -> usize {
        match self {
            Self::Inside => 32,
            Self::Across => 62,
        }
    }
}

/// Two lines with both words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[repr(C, align(128))]
pub struct LockedLines {
    words: [[u32; 16]; 2],
}

impl LockedLines {
    /// Lines of zeros.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds 1 to the word `count` times, locked.
    #[inline(never)]
    pub fn add(&mut self, place: LockPlace, count: u32) {
        if count == 0 {
            return;
        }
        // SAFETY: four bytes from the offset lie inside the borrowed lines; LOCK needs no alignment; registers are named.
        unsafe {
            core::arch::asm!(
                ".p2align 6",
                "2:",
                "lock add dword ptr [{word}], 1",
                "dec {count:e}",
                "jnz 2b",
                word = in(reg) (&raw mut self.words).wrapping_byte_add(place.offset()),
                count = inout(reg) count => _,
                options(nostack)
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl LockedLines {
        /// The word.
        fn value(&self, place: LockPlace) -> u32 {
            let mut bytes = [0; size_of::<u32>()];
            for (index, byte) in bytes.iter_mut().enumerate() {
                let at = place.offset() + index;
                *byte = self.words.as_flattened()[at / 4].to_ne_bytes()[at % 4];
            }
            u32::from_ne_bytes(bytes)
        }
    }

    #[test]
    fn additions_within_a_line_are_counted_and_touch_nothing_else() {
        let mut lines = LockedLines::new();
        for count in [0, 1, 7] {
            lines.add(LockPlace::Inside, count);
        }
        assert_eq!(lines.value(LockPlace::Inside), 8);
        assert_eq!(lines.words.as_flattened().iter().sum::<u32>(), 8);
        assert_eq!(lines.value(LockPlace::Across), 0);
    }

    #[test]
    fn only_one_of_the_words_lies_in_two_lines() {
        let lines_of = |place: LockPlace| (place.offset() / 64, (place.offset() + 3) / 64);
        assert_eq!(lines_of(LockPlace::Inside), (0, 0));
        assert_eq!(lines_of(LockPlace::Across), (0, 1));
    }
}

//! Dependent loads of eight bytes that lie in two pages, or in two lines of one page.
//!
//! ```text
//! repeat rounds:  16 x  offset = [pages + offset]        (mov r64, [r64 + r64]: 1 load of 8 bytes)
//! ```
//! Per round 16 dependent loads, no store. Every word begins four bytes before a boundary. Two words form a ring: one for
//! each kind of boundary.

/// Dependent loads of one round.
pub const LOADS_PER_ROUND: u64 = 16;

const PAGE_BYTES: usize = 4096;
const LINE_BYTES: usize = 64;
/// How far before a boundary a word begins: half of its length.
const BEFORE_BYTES: usize = 4;

/// Which boundary the loads cross.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Crossing {
    /// That of a page of 4 KiB, and with it that of a line.
    Page,
    /// That of a line only.
    Line,
}

impl Crossing {
    /// Where the two words of the ring begin. Those of lines lie in the middle of the same two pages.
    const fn ring(self) -> [usize; 2] {
        match self {
            Self::Page => [PAGE_BYTES - BEFORE_BYTES, 2 * PAGE_BYTES - BEFORE_BYTES],
            Self::Line => {
                let middle = PAGE_BYTES / 2 + LINE_BYTES - BEFORE_BYTES;
                [middle, PAGE_BYTES + middle]
            }
        }
    }
}

/// Three pages with the two rings.
#[derive(Debug, Clone, PartialEq, Eq)]
#[repr(C, align(4096))]
pub struct CrossingLoads {
    /// At the places of a ring stands the offset of its other place: all loads stay inside.
    bytes: [u8; 3 * PAGE_BYTES],
}

impl Default for CrossingLoads {
    fn default() -> Self {
        Self::new()
    }
}

impl CrossingLoads {
    /// Pages with both rings laid.
    pub fn new() -> Self {
        let mut bytes = [0; 3 * PAGE_BYTES];
        for [first, second] in [Crossing::Page.ring(), Crossing::Line.ring()] {
            bytes[first..first + size_of::<u64>()].copy_from_slice(&(second as u64).to_ne_bytes());
            bytes[second..second + size_of::<u64>()].copy_from_slice(&(first as u64).to_ne_bytes());
        }
        Self { bytes }
    }

    /// Makes `rounds * LOADS_PER_ROUND` dependent loads across such boundaries and returns the offset where they end.
    #[inline(never)]
    pub fn load(&self, crossing: Crossing, rounds: u64) -> u64 {
        let mut offset = crossing.ring()[0] as u64;
        if rounds == 0 {
            return offset;
        }
        // SAFETY: the ring is closed and lies inside the borrowed pages, so that each load reads an offset of the ring;
        // only reads, registers are named.
        unsafe {
            core::arch::asm!(
                rounds!(16, "mov {offset}, [{pages} + {offset}]"),
                offset = inout(reg) offset,
                pages = in(reg) self.bytes.as_ptr(),
                rounds = inout(reg) rounds => _,
                options(nostack, readonly)
            );
        }
        offset
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_go_to_and_fro_between_two_boundaries_of_their_kind() {
        let loads = CrossingLoads::new();
        for (crossing, boundary_bytes) in [(Crossing::Page, PAGE_BYTES), (Crossing::Line, LINE_BYTES)] {
            for (at, other) in [(0, 1), (1, 0)] {
                let place = crossing.ring()[at];
                let word = loads.bytes[place..].first_chunk().expect("inside");
                assert_eq!(u64::from_ne_bytes(*word), crossing.ring()[other] as u64);
                assert_eq!(place % boundary_bytes, boundary_bytes - BEFORE_BYTES);
            }
            // An even number of steps ends where it began.
            for rounds in [0, 1, 7] {
                assert_eq!(loads.load(crossing, rounds), crossing.ring()[0] as u64);
            }
        }
        assert!(Crossing::Line.ring().iter().all(|place| place % PAGE_BYTES < PAGE_BYTES - LINE_BYTES));
    }
}

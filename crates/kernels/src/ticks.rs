//! Reads of the counter, with and without order, and batches of them to be priced. Which reads there are is the architecture's.

use crate::arch::With;
pub use crate::arch::ticks::*;

/// A read that this CPU can execute.
#[derive(Debug, Clone, Copy)]
pub struct TickLoop {
    /// The CPU has the instruction.
    read: TickRead,
}

/// So many reads, summed up.
struct Batch(u64);

impl With<u64> for Batch {
    #[inline(always)]
    fn read(self, read: impl Fn() -> u64) -> u64 {
        (0..self.0).fold(0, |sum: u64, _| sum.wrapping_add(read()))
    }
}

/// One read.
struct Once;

impl With<u64> for Once {
    #[inline(always)]
    fn read(self, read: impl Fn() -> u64) -> u64 {
        read()
    }
}

impl TickRead {
    /// The batch loop, if this CPU has the instruction and the read means something on it.
    pub fn available(self) -> Option<TickLoop> {
        self.is_here().then_some(TickLoop { read: self })
    }
}

impl TickLoop {
    /// The way this loop reads.
    pub const fn read(&self) -> TickRead {
        self.read
    }

    /// Reads `count` times and returns the sum of all values, which keeps each read whole.
    #[inline(never)]
    pub fn read_many(&self, count: u64) -> u64 {
        self.read.with(Batch(count))
    }

    /// Reads once.
    #[inline(always)]
    pub fn read_once(&self) -> u64 {
        self.read.with(Once)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_read_that_is_available_can_be_repeated() {
        for read in TickRead::ALL {
            let Some(tick_loop) = read.available() else {
                println!("skipped: no {} on this CPU", read.name());
                continue;
            };
            assert_eq!(tick_loop.read(), read);
            assert_eq!(tick_loop.read_many(0), 0);
            assert_ne!(tick_loop.read_many(3), 0);
            assert_ne!(tick_loop.read_once(), 0);
        }
    }
}

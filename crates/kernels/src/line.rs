//! One cache line bounced between two CPUs, by two protocols that must never be confused.
//!
//! ```text
//! compare_swap      ping: until CAS(line, 0 -> 1)              pong: until CAS(line, 1 -> 0)
//! read_then_write   ping: until line == 0; line = 1            pong: until line == 1; line = 0
//! ```
//! By compare-and-swap each hop is one request for ownership; by read-then-write the line is first fetched shared,
//! then upgraded. The two differ by about a factor of two on the same pair of cores. On arm64 a compare-and-swap is CASAL where the
//! CPU has LSE; elsewhere it is LDAXR and STLXR, whose load may fetch the line shared as well.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::arch;
use crate::loop_interface::{Turn, repeat};

/// A word alone on two cache lines, since adjacent-line prefetchers work in pairs (Intel optimisation reference manual,
/// "Data prefetching", spatial prefetcher: 128-byte aligned pairs).
#[derive(Debug, Default)]
#[repr(C, align(128))]
pub struct Line {
    word: AtomicU32,
}

named! {
    /// How a hop takes the line.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Protocol {
        /// Spin on compare-and-swap: one request for ownership per hop.
        CompareSwap = "compare_swap",
        /// Spin on a load, then store: shared first, then upgraded.
        ReadThenWrite = "read_then_write",
    }
}

impl Line {
    /// A line ready for [`ping`].
    pub const fn new() -> Self {
        Self { word: AtomicU32::new(0) }
    }

    /// Makes it ready for [`ping`] again, for instance after an abort; no thread may be bouncing it.
    pub fn reset(&self) {
        self.word.store(0, Ordering::SeqCst);
    }

    /// What stands in it: 0 before [`ping`] moves, and again after as many moves of [`pong`]; else 1.
    pub fn word(&self) -> u32 {
        self.word.load(Ordering::Acquire)
    }

    /// The lines that fit into `memory`, each ready for [`ping`]: the home of a line decides what a hop costs.
    pub fn slice_in(memory: &mut [u8]) -> &[Self] {
        memory.fill(0);
        // SAFETY: all-zero bytes are valid lines, and the exclusive borrow of the bytes becomes that of the lines.
        let (_, lines, _) = unsafe { memory.align_to_mut::<Self>() };
        lines
    }
}

/// Passes the line on `rounds` times and returns how often it did: fewer if `abort` became true. The partner runs
/// [`pong`] on the same line with the same protocol and rounds; a round is two hops.
#[inline(never)]
pub fn ping(line: &Line, protocol: Protocol, rounds: u64, abort: &AtomicBool) -> u64 {
    bounce(line, protocol, Turn { take: 0, leave: 1 }, rounds, abort)
}

/// The partner of [`ping`]: returns the line `rounds` times and returns how often it did.
#[inline(never)]
pub fn pong(line: &Line, protocol: Protocol, rounds: u64, abort: &AtomicBool) -> u64 {
    bounce(line, protocol, Turn { take: 1, leave: 0 }, rounds, abort)
}

#[inline(always)]
fn bounce(line: &Line, protocol: Protocol, turn: Turn, rounds: u64, abort: &AtomicBool) -> u64 {
    match protocol {
        Protocol::CompareSwap => arch::swaps(&line.word, turn, rounds, abort),
        Protocol::ReadThenWrite => repeat(rounds, abort, || {
            let is_ours = line.word.load(Ordering::Acquire) == turn.take;
            if is_ours {
                line.word.store(turn.leave, Ordering::Release);
            }
            is_ours
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_threads_hand_the_line_over_as_often_as_asked() {
        for protocol in Protocol::ALL {
            let (line, abort) = (Line::new(), AtomicBool::new(false));
            std::thread::scope(|scope| {
                let partner = scope.spawn(|| pong(&line, protocol, 50, &abort));
                assert_eq!(ping(&line, protocol, 50, &abort), 50);
                assert_eq!(partner.join().expect("pong does not panic"), 50);
                assert_eq!(line.word(), 0);
            });
        }
    }

    #[test]
    fn a_ping_without_partner_ends_when_it_is_asked_to() {
        for protocol in Protocol::ALL {
            let (line, abort) = (Line::new(), AtomicBool::new(true));
            assert_eq!(ping(&line, protocol, 5, &abort), 1);
            assert_eq!((ping(&line, protocol, 5, &abort), line.word()), (0, 1));
            line.reset();
            assert_eq!(pong(&line, protocol, 5, &abort), 0);
        }
    }

    #[test]
    fn lines_in_memory_stand_alone_and_are_ready() {
        let mut memory = vec![7u8; 1024];
        let lines = Line::slice_in(&mut memory);
        assert!(lines.len() >= 7);
        assert!(lines.iter().all(|line| line.word() == 0));
        assert_eq!(size_of::<Line>(), 128);
    }
}

//! Trials of a cache line bounced between two CPUs: the partner stays for all of them.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;

use host::live::{Mapping, PageRequest, Pinned, start_on};
use kernels::{Line, Protocol, ping, pong};
use machine::CpuId;

use super::resolution::{QUAD, Trials};
use super::subjects::{Bench, SubjectError, best_of, rounds_of_a_window};

/// Memory that the lines are drawn from: 16 pages, so that their homes differ.
const LINES_BYTES: usize = 64 << 10;
/// Both threads use this protocol: one request for ownership per hop.
const PROTOCOL: Protocol = Protocol::CompareSwap;

/// What the thread that times tells the other; on lines of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Board {
    turn: AtomicU64,
    line: AtomicUsize,
    rounds: AtomicU64,
    /// Turns that the partner has finished: only then may the next one be written.
    finished: AtomicU64,
    /// Ends everything; also set when the partner could not start.
    abort: AtomicBool,
}

/// Raises the flag when its owner leaves.
struct AbortOnDrop<'a>(&'a Board);

impl Drop for AbortOnDrop<'_> {
    fn drop(&mut self) {
        self.0.abort.store(true, Ordering::Release);
    }
}

impl Board {
    /// The partner: returns each line as often as it is told.
    fn partner(&self, lines: &[Line]) {
        let mut done = 0;
        while !self.abort.load(Ordering::Acquire) {
            if self.turn.load(Ordering::Acquire) == done {
                std::hint::spin_loop();
                continue;
            }
            done += 1;
            let line = &lines[self.line.load(Ordering::Relaxed)];
            pong(line, PROTOCOL, self.rounds.load(Ordering::Relaxed), &self.abort);
            self.finished.store(done, Ordering::Release);
        }
    }

    /// The thread that times: the line comes back to its first state each time. A turn of one round ends here before
    /// the partner has seen it, hence the wait.
    fn bounce(&self, lines: &[Line], line: usize, rounds: u64) {
        self.line.store(line, Ordering::Relaxed);
        self.rounds.store(rounds, Ordering::Relaxed);
        let turn = self.turn.fetch_add(1, Ordering::Release) + 1;
        ping(&lines[line], PROTOCOL, rounds, &self.abort);
        while self.finished.load(Ordering::Acquire) != turn && !self.abort.load(Ordering::Acquire) {
            std::hint::spin_loop();
        }
    }
}

/// Quads of round trips, each on a line drawn by lot, between the CPU of the caller and another one of the session.
pub(super) fn trials(bench: &mut Bench<'_, '_>, cpu: CpuId) -> Result<Trials, SubjectError> {
    let other = bench.session.cpus.iter().copied().find(|&other| other != cpu).ok_or(SubjectError::OneCpu)?;
    let mut mapping = Mapping::new(LINES_BYTES, PageRequest::Base)?;
    let lines = Line::slice_in(mapping.as_mut_slice());
    let board = Board::default();
    thread::scope(|scope| {
        let partner = start_on(scope, other, || {
            let _end = AbortOnDrop(&board);
            let _pinned = Pinned::to(other)?;
            board.partner(lines);
            Ok::<(), SubjectError>(())
        })?;
        let _end = AbortOnDrop(&board);
        let rounds = rounds_of_a_window(&bench.sampler, |rounds| {
            if !board.abort.load(Ordering::Acquire) {
                board.bounce(lines, 0, rounds);
            }
        });
        let trials = bench.quads(|sampler, random| {
            if board.abort.load(Ordering::Acquire) {
                return [None; QUAD];
            }
            let line = random.below(lines.len());
            // A round is two hops.
            let hops = (2 * rounds) as f64;
            [(); QUAD].map(|()| best_of(sampler, hops, || board.bounce(lines, line, rounds)))
        });
        board.abort.store(true, Ordering::Release);
        partner.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok(trials)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partner_bounces_whatever_line_the_board_names_and_ends_with_it() {
        let (lines, board) = ([Line::new(), Line::new()], Board::default());
        thread::scope(|scope| {
            scope.spawn(|| board.partner(&lines));
            for turn in 0..6 {
                // Turns of one round end before the partner has seen them.
                board.bounce(&lines, turn % 2, 1 + turn as u64);
            }
            board.abort.store(true, Ordering::Release);
        });
        assert_eq!(board.turn.load(Ordering::Relaxed), 6);
    }
}

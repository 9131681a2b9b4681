//! Trials of a cache line bounced between two CPUs: the partner stays for all of them.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use host::live::{Mapping, PageRequest};
use kernels::{Line, Protocol, ping, pong};
use machine::CpuId;

use super::resolution::{QUAD, Trials};
use super::subjects::{Bench, SubjectError, best_of, rounds_of_a_window};
use crate::rendezvous::{Link, with_partner};

/// Memory that the lines are drawn from: 16 pages, so that their homes differ.
const LINES_BYTES: usize = 64 << 10;
/// Both threads use this protocol: one request for ownership per hop.
const PROTOCOL: Protocol = Protocol::CompareSwap;

/// What the thread that times writes for the other; on lines of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Board {
    turn: AtomicU64,
    line: AtomicUsize,
    rounds: AtomicU64,
    /// Turns that the partner has finished: only then may the next one be written.
    finished: AtomicU64,
}

impl Board {
    /// The partner: returns each line as often as the board says.
    fn partner(&self, link: &Link, lines: &[Line]) {
        let mut done = 0;
        while !link.aborted() {
            if self.turn.load(Ordering::Acquire) == done {
                std::hint::spin_loop();
                continue;
            }
            done += 1;
            let line = &lines[self.line.load(Ordering::Relaxed)];
            pong(line, PROTOCOL, self.rounds.load(Ordering::Relaxed), &link.abort.0);
            self.finished.store(done, Ordering::Release);
        }
    }

    /// The thread that times: the line comes back to its first state each time. A turn of one round ends here before
    /// the partner has seen it, hence the wait.
    fn bounce(&self, link: &Link, lines: &[Line], line: usize, rounds: u64) {
        self.line.store(line, Ordering::Relaxed);
        self.rounds.store(rounds, Ordering::Relaxed);
        let turn = self.turn.fetch_add(1, Ordering::Release) + 1;
        ping(&lines[line], PROTOCOL, rounds, &link.abort.0);
        while self.finished.load(Ordering::Acquire) != turn && !link.aborted() {
            std::hint::spin_loop();
        }
    }
}

/// Quads of round trips, each on a line drawn at random, between the CPU of the caller and another one of the session.
pub(super) fn trials(bench: &mut Bench<'_, '_>, cpu: CpuId) -> Result<Trials, SubjectError> {
    let other = bench.session.cpus.iter().copied().find(|&other| other != cpu).ok_or(SubjectError::OneCpu)?;
    let mut mapping = Mapping::new(LINES_BYTES, PageRequest::Base)?;
    let lines = Line::slice_in(mapping.as_mut_slice());
    let board = Board::default();
    let trials = with_partner(
        other,
        None,
        |link| board.partner(link, lines),
        |link, _| {
            let rounds = rounds_of_a_window(&bench.sampler, |rounds| {
                if !link.aborted() {
                    board.bounce(link, lines, 0, rounds);
                }
            });
            bench.quads(|sampler, random| {
                if link.aborted() {
                    return [None; QUAD];
                }
                let line = random.below(lines.len());
                // A round is two hops.
                let hops = (2 * rounds) as f64;
                [(); QUAD].map(|()| best_of(sampler, hops, || board.bounce(link, lines, line, rounds)))
            })
        },
    )?;
    Ok(trials)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partner_bounces_whatever_line_the_board_names_and_ends_with_it() {
        let (lines, board) = ([Line::new(), Line::new()], Board::default());
        let cpu = host::live::allowed_cpus().first().expect("a CPU");
        let partner = |link: &Link| board.partner(link, &lines);
        with_partner(cpu, None, partner, |link, _| {
            for turn in 0..6 {
                // Turns of one round end before the partner has seen them.
                board.bounce(link, &lines, turn % 2, 1 + turn as u64);
            }
        })
        .expect("an allowed CPU");
        assert_eq!(board.turn.load(Ordering::Relaxed), 6);
    }
}

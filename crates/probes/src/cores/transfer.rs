//! CPU-to-CPU latency: one cache line bounced between two CPUs, by two protocols, one pair at a time.
//!
//! Half of a round trip. The home of a line decides the number, so that each visit takes several lines of a fresh
//! mapping; who starts and who times changes from window to window and from visit to visit. A window during which
//! either thread lost its CPU is set aside.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use host::live::{Mapping, PageRequest, Pinned, ThreadUsage};
use kernels::random::SplitMix64;
use kernels::{Isa, Line, Protocol, ping, pong};
use record::{LineTransfer, metric};

use super::CoresError;
use super::rounds::{Pace, in_rounds};
use crate::answers::{Answer, Known};
use crate::probe::CpuPair;
use crate::probe::{CheckUpProbe, Planned, Section, Subject, second_cpu_missing};
use crate::rendezvous::{Alone, Ended, Link, Side, with_partner};
use crate::sampler::{Sampler, WINDOW_NS};
use crate::series::{PointVisit, Series};
use crate::session::Session;

/// Memory that the lines are drawn from: 64 pages, so that their homes differ.
const LINES_BYTES: usize = 256 << 10;
/// Round trips that tell how many fill a window.
const TRIAL_ROUNDS: u64 = 200;
/// No pair of CPUs is so fast or so slow that its window needs more or fewer round trips.
const ROUNDS_RANGE: (u64, u64) = (20, 20_000);
/// The name of checked results.
const LINE_TRANSFER: &str = "line_transfer";
/// One visit at most, at a microsecond per hop and with a neighbour on both CPUs.
const VISIT_WORST_S: f64 = 0.15;

/// The probe in the check-up.
pub(crate) const PROBE: CheckUpProbe = CheckUpProbe {
    seconds: [Some(0.6), Some(2.0), Some(10.0)],
    least_s: 0.3,
    epoch_least_s: Some(0.13),
    per_cpu_s: 0.02,
    rank: 90,
    // Two cores are busy, and so is what joins them.
    disturbs: "core",
    missing: second_cpu_missing,
    ..CheckUpProbe::new("transfer", Section::Cores, plan)
};

fn plan(subject: &Subject<'_>, seconds: f64) -> Planned {
    let (chosen, reduced) = subject.pairs(subject.by_depth([32, 120, 1000]));
    let settings = Settings {
        pairs: chosen.pairs,
        lines: subject.by_depth([4, 6, 10]),
        rounds: subject.by_depth([20, 40, 100]),
        budget_s: 0.0,
    };
    let worst_case_s = |settings: &Settings| settings.budget_s + VISIT_WORST_S;
    Planned::within(seconds, settings, |settings| &mut settings.budget_s, worst_case_s, run).reduced(reduced)
}

/// What to measure.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The pairs, in either order.
    pub pairs: Vec<CpuPair>,
    /// Lines per visit.
    pub lines: usize,
    /// Rounds over all pairs.
    pub rounds: u32,
    /// Time for all rounds in seconds.
    pub budget_s: f64,
}

/// Measures the pairs by both protocols and adds them to the record.
///
/// # Errors
/// A CPU that may not be used or no memory; what was measured is in the record.
pub fn run(session: &mut Session<'_>, settings: &Settings) -> Result<(), CoresError> {
    let mut samples = vec![[Series::default(), Series::default()]; settings.pairs.len()];
    let pace = Pace { budget_s: settings.budget_s, rounds: settings.rounds };
    let outcome = in_rounds(session, pace, settings.pairs.len(), |session, index, round| {
        let pair = settings.pairs[index];
        // Who times also touches the memory first: both get their turn.
        let pair = if round % 2 == 0 { pair } else { pair.swapped() };
        visit(session, pair, settings.pairs[index], settings.lines, &mut samples[index])
    });
    for (pair, samples) in settings.pairs.iter().zip(&samples) {
        for (protocol, samples) in Protocol::ALL.into_iter().zip(samples) {
            let name = series_name(*pair, protocol);
            if let Some(measured) = samples.measured(session, &metric::LINE_TRANSFER, name) {
                session.result().cores.line_transfer.push(LineTransfer {
                    a: pair.a,
                    b: pair.b,
                    protocol: record_name(protocol).to_owned(),
                    ns: measured.value,
                    spread: measured.spread,
                });
            }
        }
    }
    outcome
}

/// The same whoever times.
fn series_name(pair: CpuPair, protocol: Protocol) -> String {
    format!("line transfer, CPU {} and {}, {}", pair.a, pair.b, protocol.name())
}

/// The names that the record promises.
fn record_name(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::CompareSwap => "compare_and_swap",
        Protocol::ReadThenWrite => "read_then_write",
    }
}

/// One window as both threads know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Task {
    line: usize,
    protocol: Protocol,
    /// The thread that times moves first.
    main_starts: bool,
    rounds: u64,
}

/// What the thread that times writes for the other, and the answer.
#[derive(Debug, Default)]
struct Board {
    task: Alone<[AtomicU64; 2]>,
    partner_switches: Alone<AtomicU64>,
}

/// The word that ends the visit.
const NO_TASK: u64 = u64::MAX;

impl Task {
    fn encode(self) -> [u64; 2] {
        let protocol = u64::from(self.protocol == Protocol::ReadThenWrite);
        [(self.line as u64) << 2 | protocol << 1 | u64::from(self.main_starts), self.rounds]
    }

    fn decode([word, rounds]: [u64; 2]) -> Option<Self> {
        (word != NO_TASK).then(|| Self {
            line: (word >> 2) as usize,
            protocol: Protocol::ALL[(word >> 1 & 1) as usize],
            main_starts: word & 1 == 1,
            rounds,
        })
    }
}

impl Board {
    fn write(&self, [word, rounds]: [u64; 2]) {
        self.task.0[0].store(word, Ordering::Relaxed);
        self.task.0[1].store(rounds, Ordering::Relaxed);
    }

    fn read(&self) -> Option<Task> {
        Task::decode([self.task.0[0].load(Ordering::Relaxed), self.task.0[1].load(Ordering::Relaxed)])
    }

    /// The other thread: does what the board says until it says no more.
    fn partner(&self, link: &Link, lines: &[Line]) {
        while link.meet(Side::Partner) {
            let Some(task) = self.read() else { return };
            let line = &lines[task.line];
            let before = ThreadUsage::now().involuntary_switches;
            if task.main_starts {
                pong(line, task.protocol, task.rounds, &link.abort.0);
            } else {
                ping(line, task.protocol, task.rounds, &link.abort.0);
            }
            let switches = ThreadUsage::now().involuntary_switches - before;
            self.partner_switches.0.store(switches, Ordering::Relaxed);
            if !link.meet(Side::Partner) {
                return;
            }
        }
    }

    /// One window by the thread that times, in nanoseconds per hop; `None` is a window to be set aside.
    fn window(
        &self,
        link: &Link,
        lines: &[Line],
        task: Task,
        sampler: &mut Sampler,
    ) -> Result<Option<f64>, Ended> {
        self.write(task.encode());
        let line = &lines[task.line];
        line.reset();
        if !link.meet(Side::Main) {
            return Err(Ended);
        }
        let mut done = 0;
        let ns = sampler.window(|| {
            done = if task.main_starts {
                ping(line, task.protocol, task.rounds, &link.abort.0)
            } else {
                pong(line, task.protocol, task.rounds, &link.abort.0)
            };
        });
        if !link.meet(Side::Main) || done < task.rounds {
            return Err(Ended);
        }
        check(sampler, line, task);
        let partner_stayed = self.partner_switches.0.load(Ordering::Relaxed) == 0;
        Ok(ns.filter(|_| partner_stayed).map(|ns| ns / (2 * task.rounds) as f64))
    }
}

/// After as many hops there as back the word of the line is what it was; the partner waits.
fn check(sampler: &mut Sampler, line: &Line, task: Task) {
    let operations = 2 * task.rounds;
    let known = Known { kernel: LINE_TRANSFER, isa: Isa::ScalarU64.name(), operations, answer: 0 };
    let found = u64::from(line.word()) ^ sampler.planted_bit(LINE_TRANSFER);
    let operands = || format!("{operations} hops of line {} by {}", task.line, task.protocol.name());
    // One thread alone takes both sides in turns.
    let again = || {
        let never = AtomicBool::new(false);
        line.reset();
        for _ in 0..task.rounds {
            ping(line, task.protocol, 1, &never);
            pong(line, task.protocol, 1, &never);
        }
        u64::from(line.word())
    };
    sampler.count(Answer::of(known, found), operands, again);
}

/// One visit to a pair: windows on lines drawn at random from a fresh mapping, by each protocol. The second pair is the same as
/// the record names it.
fn visit(
    session: &mut Session<'_>,
    pair: CpuPair,
    named: CpuPair,
    line_count: usize,
    samples: &mut [Series; 2],
) -> Result<(), CoresError> {
    let mut random = SplitMix64::new(session.random.next_u64());
    let mut sampler = session.sampler(pair.a);
    let _pinned = Pinned::to(pair.a)?;
    let mut mapping = Mapping::new(LINES_BYTES, PageRequest::Base)?;
    let lines = Line::slice_in(mapping.as_mut_slice());
    let chosen: Vec<usize> = (0..line_count).map(|_| random.below(lines.len() as u64) as usize).collect();
    let board = Board::default();
    with_partner(
        pair.b,
        session.deadline,
        |link| board.partner(link, lines),
        |link, _| {
            for (protocol, samples) in Protocol::ALL.into_iter().zip(samples) {
                sampler.about(|| series_name(named, protocol));
                bounce_all(&board, link, lines, &chosen, protocol, &mut sampler, samples);
            }
            board.write([NO_TASK, 0]);
            link.meet(Side::Main);
        },
    )?;
    session.absorb(&mut sampler);
    Ok(())
}

/// All lines by one protocol, each started by either side.
fn bounce_all(
    board: &Board,
    link: &Link,
    lines: &[Line],
    chosen: &[usize],
    protocol: Protocol,
    sampler: &mut Sampler,
    samples: &mut Series,
) {
    let Some(&first) = chosen.first() else { return };
    let trial = Task { line: first, protocol, main_starts: true, rounds: TRIAL_ROUNDS };
    let Ok(hop_ns) = board.window(link, lines, trial, sampler) else { return };
    let rounds = hop_ns.map_or(TRIAL_ROUNDS, |hop_ns| (WINDOW_NS / (2.0 * hop_ns)).ceil() as u64);
    let rounds = rounds.clamp(ROUNDS_RANGE.0, ROUNDS_RANGE.1);
    let mut windows = PointVisit::default();
    for &line in chosen {
        for main_starts in [true, false] {
            let task = Task { line, protocol, main_starts, rounds };
            match board.window(link, lines, task, sampler) {
                Ok(ns) => windows.add(ns),
                Err(Ended) => break,
            }
        }
    }
    samples.add(windows);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_survives_the_board() {
        for protocol in Protocol::ALL {
            for main_starts in [false, true] {
                let task = Task { line: 2047, protocol, main_starts, rounds: 777 };
                assert_eq!(Task::decode(task.encode()), Some(task));
            }
        }
        assert_eq!(Task::decode([NO_TASK, 0]), None);
    }
}

//! What two CPUs share: how much slower a loop runs on one while the other runs the same or another, against alone.
//!
//! Alone and together alternate in balanced random quads within milliseconds; while alone the other thread sleeps, as
//! spinning would use the very resource. A window together counts only if the other CPU was seen to make progress in
//! every slice of it: without that, a hypervisor or a busy machine that runs the two one after the other would look
//! like two CPUs that share nothing. The datum is the log ratio of an adjacent pair of trials, each the best of a few
//! windows; the estimate is Hodges-Lehmann over the pairs.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread::{self, Thread};

use host::live::{MappingError, Pinned};
use machine::{Bytes, Topology};
use record::{PairSlowdown, UnlikeSlowdown, metric};
use stats::{Arm, Random, random_quads};

use super::CoresError;
use super::load::{Load, block_bytes, has_l3, memory_for};
use super::rounds::{Pace, in_rounds};
use crate::probe::CpuPair;
use crate::probe::{self, CheckUpProbe, Planned, Section, second_cpu_missing};
use crate::rendezvous::{Alone, Link, with_partner};
use crate::sampler::Sampler;
use crate::series::{PointVisit, Series};
use crate::session::Session;

pub use super::load::Resource;

/// Length of a slice in nanoseconds: the other's progress is looked at after each.
const SLICE_NS: f64 = 40_000.0;
/// Slices of a window.
const SLICES: usize = 4;
/// The other reports progress this many times per slice, so that each slice sees some.
const REPORTS_PER_SLICE: u64 = 6;
/// Windows that count per trial; the fastest stands for the trial, as a disturbance only adds time.
const WINDOWS_PER_TRIAL: usize = 3;
/// Windows tried per trial, those set aside included.
const WINDOWS_MAX: usize = 8;
/// Quads of trials per visit.
const QUADS_PER_VISIT: usize = 3;
/// Unlike loops are visited in one round of so many, in turns: what like loops share comes first.
const ROUNDS_PER_UNLIKE: u32 = 4;
/// One visit at most: 12 trials of 8 windows, with a neighbour on both CPUs, and touching both blocks.
const VISIT_WORST_S: f64 = 0.2;

/// Block that the memory loop reads on each CPU: twice the largest cache, within these bounds.
const MEMORY_BLOCK: (Bytes, Bytes) = (Bytes(64 << 20), Bytes(128 << 20));

/// The probe in the check-up.
pub(crate) const PROBE: CheckUpProbe = CheckUpProbe {
    seconds: [Some(1.5), Some(6.0), Some(30.0)],
    least_s: 1.0,
    epoch_least_s: Some(0.9),
    per_cpu_s: 0.02,
    rank: 100,
    // Two cores and the memory are busy.
    disturbs: "machine",
    missing: second_cpu_missing,
    ..CheckUpProbe::new("sharing", Section::Cores, plan)
};

fn plan(subject: &probe::Subject<'_>, seconds: f64) -> Planned {
    let (chosen, reduced) = subject.pairs(subject.by_depth([3, 10, 40]));
    let cache = subject.machine.topology.largest_cache_bytes().unwrap_or_default();
    let block = Bytes(cache.0 * 2).clamp(MEMORY_BLOCK.0, MEMORY_BLOCK.1);
    let settings = Settings {
        pairs: chosen.pairs,
        unlike_pairs: subject.by_depth([0, 1, 4]),
        memory_block: block.min(Bytes(subject.room().0 / 2)).max(Bytes::MIB),
        rounds: subject.by_depth([8, 16, 40]),
        budget_s: 0.0,
    };
    let worst_case_s = |settings: &Settings| settings.budget_s + VISIT_WORST_S;
    Planned::within(seconds, settings, |settings| &mut settings.budget_s, worst_case_s, run).reduced(reduced)
}

/// What to measure.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The pairs; each is measured in both directions.
    pub pairs: Vec<CpuPair>,
    /// So many of them, from the first on, also run unlike loops beside each other.
    pub unlike_pairs: usize,
    /// The block that the memory loop reads on each CPU: larger than any cache.
    pub memory_block: Bytes,
    /// Rounds over all pairs, directions and resources.
    pub rounds: u32,
    /// Time for all rounds in seconds.
    pub budget_s: f64,
}

/// One direction of one pair: what is timed on the one CPU, and what the other runs beside it.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Subject {
    pair: CpuPair,
    resource: Resource,
    beside: Resource,
}

impl Subject {
    fn is_like(&self) -> bool {
        self.resource == self.beside
    }

    fn series_name(&self) -> String {
        let (CpuPair { a, b }, class, beside) = (self.pair, self.resource.name(), self.beside.name());
        if self.is_like() {
            format!("sharing, {class}, CPU {a} beside {b}, together over alone")
        } else {
            format!("sharing, {class} on CPU {a} beside {beside} on CPU {b}, together over alone")
        }
    }
}

/// Every direction of every pair on every resource, and those with unlike loops.
fn subjects(settings: &Settings, topology: &Topology) -> Vec<Subject> {
    let directions = |pairs: &[CpuPair]| -> Vec<CpuPair> {
        pairs.iter().flat_map(|pair| [*pair, pair.swapped()]).collect()
    };
    let like = directions(&settings.pairs).into_iter().flat_map(|pair| {
        let is_there = move |resource: &Resource| {
            *resource != Resource::L3 || (has_l3(topology, pair.a) && has_l3(topology, pair.b))
        };
        let all = Resource::all().filter(is_there);
        all.map(move |resource| Subject { pair, resource, beside: resource })
    });
    let nearest = &settings.pairs[..settings.unlike_pairs.min(settings.pairs.len())];
    let unlike = directions(nearest).into_iter().flat_map(|pair| {
        let all = Resource::classes().flat_map(|one| Resource::classes().map(move |other| (one, other)));
        all.map(move |(resource, beside)| Subject { pair, resource, beside })
            .filter(|subject| !subject.is_like())
    });
    like.chain(unlike).collect()
}

/// What is known of one subject.
#[derive(Debug, Clone, Default)]
struct Seen {
    /// Time together over time alone, one per adjacent pair of trials.
    ratios: Series,
    /// Windows together in which the other was seen to run throughout.
    overlapped: usize,
}

/// Measures every direction of every pair on every resource and adds the slowdowns to the record.
///
/// # Errors
/// A CPU that may not be used or no memory; what was measured is in the record.
pub fn run(session: &mut Session<'_>, settings: &Settings) -> Result<(), CoresError> {
    let subjects = subjects(settings, &session.record.machine.topology);
    let mut seen = vec![Seen::default(); subjects.len()];
    let pace = Pace { budget_s: settings.budget_s, rounds: settings.rounds };
    let outcome = in_rounds(session, pace, subjects.len(), |session, index, round| {
        let is_turn = (round + index as u32).is_multiple_of(ROUNDS_PER_UNLIKE);
        if subjects[index].is_like() || is_turn {
            visit(session, subjects[index], settings.memory_block, &mut seen[index])
        } else {
            Ok(())
        }
    });
    for (subject, seen) in subjects.iter().zip(&seen) {
        push(session, *subject, seen);
    }
    outcome
}

fn push(session: &mut Session<'_>, subject: Subject, seen: &Seen) {
    let Subject { pair: CpuPair { a, b }, resource, beside } = subject;
    let (class, beside) = (resource.name(), beside.name());
    let of = if subject.is_like() { &metric::SHARING } else { &metric::UNLIKE };
    let Some(measured) = seen.ratios.measured(session, of, subject.series_name()) else {
        if subject.is_like() {
            session.record.provenance.without.push(format!(
                "cannot tell whether CPUs {a} and {b} share {class}: they were never seen to run at the same time"
            ));
        }
        return;
    };
    let (slowdown, spread) = (measured.value, measured.spread);
    let (class, overlapped_windows) = (class.to_owned(), seen.overlapped);
    let cores = &mut session.result().cores;
    if subject.is_like() {
        cores.sharing.push(PairSlowdown { a, b, resource: class, slowdown, overlapped_windows, spread });
    } else {
        let beside = beside.to_owned();
        cores.unlike.push(UnlikeSlowdown { a, b, class, beside, slowdown, overlapped_windows, spread });
    }
}

/// What the partner shall do.
const SLEEP: u32 = 0;
const RUN: u32 = 1;

/// What the two threads write for each other.
#[derive(Debug, Default)]
struct Board {
    state: Alone<AtomicU32>,
    /// Reports of progress.
    progress: Alone<AtomicU64>,
    /// How often the partner went to sleep.
    slept: Alone<AtomicU64>,
}

impl Board {
    /// The partner: runs the loop or sleeps, as the board says, until the visit ends.
    fn partner(&self, link: &Link, load: &mut Load<'_>, rounds: u64) {
        while !link.aborted() {
            if self.state.0.load(Ordering::Acquire) == RUN {
                load.run(rounds);
                self.progress.0.fetch_add(1, Ordering::Relaxed);
            } else {
                self.slept.0.fetch_add(1, Ordering::Release);
                while self.state.0.load(Ordering::Acquire) == SLEEP && !link.aborted() {
                    thread::park();
                }
            }
        }
    }

    /// Wakes the partner and waits until it runs; false if it never does.
    fn start(&self, link: &Link, partner: &Thread) -> bool {
        let before = self.progress.0.load(Ordering::Relaxed);
        self.state.0.store(RUN, Ordering::Release);
        partner.unpark();
        link.wait(|| self.progress.0.load(Ordering::Relaxed) > before + 1)
    }

    /// Sends the partner to sleep and waits until it is about to; false if it never is.
    fn stop(&self, link: &Link) -> bool {
        let before = self.slept.0.load(Ordering::Acquire);
        self.state.0.store(SLEEP, Ordering::Release);
        link.wait(|| self.slept.0.load(Ordering::Acquire) > before)
    }
}

/// A trial: the fastest window that counts in nanoseconds, and the windows taken for it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Trial {
    best_ns: Option<f64>,
    counted: usize,
    dropped: usize,
}

fn visit(
    session: &mut Session<'_>,
    subject: Subject,
    memory_block: Bytes,
    seen: &mut Seen,
) -> Result<(), CoresError> {
    let Subject { pair, resource, beside } = subject;
    let _pinned = Pinned::to(pair.a)?;
    let topology = &session.record.machine.topology;
    let bytes = block_bytes(resource, topology, pair.a, memory_block.0 as usize);
    let bytes_b = block_bytes(beside, topology, pair.b, memory_block.0 as usize);
    let mut sampler = session.sampler(pair.a);
    let mut memory = match memory_for(bytes, &|| !sampler.is_cut()) {
        // There is no time to use it.
        Err(MappingError::BrokenOff { .. }) => return Ok(()),
        memory => memory?,
    };
    let mut load = Load::new(resource, memory.as_mut());
    let other_sampler = session.sampler(pair.b);
    let rounds_per_slice = sampler.rounds_for(SLICE_NS, |rounds| load.run(rounds));
    let mut random = Random::new(session.random.next_u64());
    let order = random_quads(QUADS_PER_VISIT, &mut random);
    let board = Board::default();
    let mut failed: Option<MappingError> = None;
    with_partner(
        pair.b,
        session.deadline,
        // Its memory is touched on its own CPU, as a program's would be.
        |link| match memory_for(bytes_b, &|| !other_sampler.is_cut()) {
            Ok(mut memory) => {
                let mut load = Load::new(beside, memory.as_mut());
                // Timed here, as its loop may be another one.
                let per_slice = other_sampler.rounds_for(SLICE_NS, |rounds| load.run(rounds));
                board.partner(link, &mut load, (per_slice / REPORTS_PER_SLICE).max(1));
            }
            Err(MappingError::BrokenOff { .. }) => {}
            Err(error) => failed = Some(error),
        },
        |link, partner| {
            if link.wait(|| board.slept.0.load(Ordering::Acquire) > 0) {
                let trials = Trials { subject, board: &board, link, partner, rounds_per_slice };
                trials.take(&order, &mut load, &mut sampler, seen);
            }
        },
    )?;
    session.absorb(&mut sampler);
    failed.map_or(Ok(()), |error| Err(error.into()))
}

/// The trials of one visit.
struct Trials<'a> {
    subject: Subject,
    board: &'a Board,
    link: &'a Link,
    partner: &'a Thread,
    /// Rounds of the loop per slice on the side that times.
    rounds_per_slice: u64,
}

impl Trials<'_> {
    /// Takes all trials in the order given and adds one ratio per adjacent pair.
    fn take(&self, order: &[Arm], load: &mut Load<'_>, sampler: &mut Sampler, seen: &mut Seen) {
        let (mut ratios, mut together_before) = (PointVisit::default(), false);
        for pair in order.chunks_exact(2) {
            let (mut alone, mut together) = (None, None);
            for arm in pair {
                let is_together = *arm == Arm::B;
                let ready = match (is_together, together_before) {
                    (true, false) => self.board.start(self.link, self.partner),
                    (false, true) => self.board.stop(self.link),
                    _ => !self.link.aborted(),
                };
                if !ready {
                    seen.ratios.add(ratios);
                    return;
                }
                together_before = is_together;
                // The ratio is longer by what only the windows together are.
                sampler.about(|| if is_together { self.subject.series_name() } else { String::new() });
                let trial = self.trial(load, sampler, is_together);
                ratios.dropped += trial.dropped;
                if is_together {
                    seen.overlapped += trial.counted;
                    together = trial.best_ns;
                } else {
                    alone = trial.best_ns;
                }
            }
            if let (Some(alone), Some(together)) = (alone, together) {
                ratios.windows.push(together / alone);
            }
        }
        seen.ratios.add(ratios);
    }

    fn trial(&self, load: &mut Load<'_>, sampler: &mut Sampler, together: bool) -> Trial {
        let mut trial = Trial::default();
        // The first slice after a change of state finds cold caches.
        load.run(self.rounds_per_slice);
        for _ in 0..WINDOWS_MAX {
            let progress = &self.board.progress.0;
            let (mut last, mut fresh) = (progress.load(Ordering::Relaxed), 0);
            let window = sampler.window(|| {
                for _ in 0..SLICES {
                    load.run(self.rounds_per_slice);
                    let now = progress.load(Ordering::Relaxed);
                    fresh += usize::from(now != last);
                    last = now;
                }
            });
            match window {
                Some(ns) if !together || fresh == SLICES => {
                    trial.best_ns = Some(trial.best_ns.map_or(ns, |best: f64| best.min(ns)));
                    trial.counted += 1;
                }
                _ => trial.dropped += 1,
            }
            if trial.counted == WINDOWS_PER_TRIAL || sampler.is_cut() {
                break;
            }
        }
        trial
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unlike_loops_are_for_the_nearest_pairs_and_level_3_for_machines_that_tell_of_one() {
        let pair = |a, b| CpuPair { a: machine::CpuId(a), b: machine::CpuId(b) };
        let mut settings = Settings {
            pairs: vec![pair(0, 1), pair(0, 2)],
            unlike_pairs: 1,
            memory_block: Bytes::MIB,
            rounds: 1,
            budget_s: 1.0,
        };
        let of = |settings: &Settings| subjects(settings, &Topology::default());
        let classes = Resource::classes().count();
        let all = of(&settings);
        let unlike: Vec<&Subject> = all.iter().filter(|subject| !subject.is_like()).collect();
        assert_eq!(unlike.len(), 2 * classes * (classes - 1), "both directions of the first pair");
        assert!(unlike.iter().all(|subject| subject.pair.a.0 + subject.pair.b.0 == 1));
        assert!(all.iter().all(|subject| subject.resource != Resource::L3), "no machine, no level 3");
        settings.unlike_pairs = 0;
        assert_eq!(of(&settings).len(), 4 * (Resource::all().count() - 1));
    }
}

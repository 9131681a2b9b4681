//! What reading the time costs: every way in turn, in short batches between two readings of the control loops.
//!
//! A cost without the speed of the core beside it means nothing: on a shared machine the core changes between states and
//! every cost moves with it. So each batch stands between two readings of the control loops, all ways alternate in shuffled
//! rounds, and afterwards [`level`] tells which batches count. The cost in cycles of the core is taken batch by batch with the
//! frequency beside it, so that a frequency that moves from one second to the next does not widen it.
//!
//! | what | module |
//! |---|---|
//! | the ways to read, and what fails | [`catalogue`] |
//! | which batches count | [`level`] |
//! | from batches to costs | [`price`] |
//! | cost by number of threads | [`threads`] |
//! | what threads read in one released round | [`rounds`] |
//! | the document of it all, in so much time | [`fill`] |
//! | the part of a check-up | [`check_up`] |

pub mod catalogue;
pub mod check_up;
pub mod fill;
pub mod level;
pub mod price;
pub mod rounds;
pub mod threads;

use std::time::Instant;

use host::live;
use machine::CpuId;
use stats::Random;

use crate::sampler::Sampler;
use crate::session::Progress;
use catalogue::Read;
use level::{Batch, Level};
use price::FAST_MIN;

/// Shortest batch in nanoseconds: the first and last read of the counter are below 0.5 % of it.
const BATCH_NS: f64 = 15_000.0;
/// Rounds over all ways in a visit.
const ROUNDS_PER_VISIT: usize = 8;
/// Fast batches of each way that are enough to end before the budget does.
const FAST_ENOUGH: usize = 400;
/// Between two looks at what is there.
const VISITS_PER_LOOK: u32 = 100;
/// The same when the budget is spent.
const VISITS_PER_LAST_LOOK: u32 = 4;

/// What to measure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Time at most, in seconds.
    pub budget_s: f64,
    /// Time at most where the budget did not bring the fewest batches that tell a price, in seconds.
    pub most_s: f64,
    /// Time at least: what a busy neighbour does changes within seconds.
    pub least_s: f64,
}

impl Settings {
    /// For a command of its own.
    pub const THOROUGH: Self = Self { least_s: 4.0, ..Self::exactly(10.0) };

    /// No less time and no more.
    pub const fn exactly(budget_s: f64) -> Self {
        Self { budget_s, most_s: budget_s, least_s: budget_s }
    }
}

/// What one way gave.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Batches {
    /// All that were not interrupted, in the order taken.
    pub taken: Vec<Batch>,
    /// How many were interrupted.
    pub interrupted: usize,
}

/// Finds how many reads fill a batch, way by way.
pub fn counts(sampler: &Sampler, reads: &[Read]) -> Vec<u64> {
    reads.iter().map(|read| sampler.rounds_for(BATCH_NS, |count| read.read_many(count))).collect()
}

/// Takes batches of all ways on the CPU that the calling thread is pinned to, until there are enough of them beside the whole
/// core, the budget is spent, or a signal comes.
pub fn measure(
    sampler: &mut Sampler,
    reads: &[Read],
    settings: &Settings,
    random: &mut Random,
    progress: &dyn Progress,
) -> Vec<Batches> {
    let counts = counts(sampler, reads);
    let mut batches = vec![Batches::default(); reads.len()];
    let started = Instant::now();
    for visit in 0.. {
        take_visit(sampler, reads, &counts, visit, random, &mut batches);
        let spent_s = started.elapsed().as_secs_f64();
        progress.update(spent_s / settings.budget_s);
        let looks = |every: u32| visit % every == 0;
        let is_done = spent_s >= settings.least_s && looks(VISITS_PER_LOOK) && have(&batches, FAST_ENOUGH);
        let is_over = spent_s >= settings.most_s || live::pending_signal().is_some();
        let is_spent =
            spent_s >= settings.budget_s && looks(VISITS_PER_LAST_LOOK) && have(&batches, FAST_MIN);
        if is_done || is_spent || is_over || sampler.is_cut() {
            break;
        }
    }
    batches
}

/// The name of the raw series of a way to read.
pub(crate) fn series_name(read: &Read, cpu: CpuId) -> String {
    format!("price of {}, CPU {cpu}", read.name)
}

/// Batches of all ways in shuffled rounds.
pub(crate) fn take_visit(
    sampler: &mut Sampler,
    reads: &[Read],
    counts: &[u64],
    visit: u32,
    random: &mut Random,
    batches: &mut [Batches],
) {
    let mut order: Vec<usize> = (0..reads.len()).collect();
    let mut before = sampler.control.read_long(sampler.rate);
    for _ in 0..ROUNDS_PER_VISIT {
        if sampler.is_cut() {
            break;
        }
        random.shuffle(&mut order);
        for &index in &order {
            let (read, count) = (&reads[index], counts[index]);
            let cpu = sampler.cpu;
            sampler.about(|| series_name(read, cpu));
            let window = sampler.window(|| read.read_many(count));
            let after = sampler.control.read_long(sampler.rate);
            match window {
                Some(ns) => batches[index].taken.push(Batch {
                    ns: ns / count as f64,
                    visit,
                    control: [before, after],
                }),
                None => batches[index].interrupted += 1,
            }
            before = after;
        }
    }
}

/// Whether each way has so many fast batches.
fn have(batches: &[Batches], enough: usize) -> bool {
    let level = Level::of(batches.iter().flat_map(|batches| &batches.taken));
    level.filter(Level::is_certain).is_some_and(|level| {
        let fast = |batches: &Batches| {
            batches.taken.iter().filter(|batch| level.company(batch) == level::Company::Fast).count()
        };
        batches.iter().all(|batches| fast(batches) >= enough)
    })
}

//! Memory-level parallelism: k independent chases at once on one large block in huge pages.
//!
//! One random cycle runs through the block; sixteen cursors stand on it at equal distances. A visit moves the first of
//! every sixteenth, eighth, ... of them; before each visit all sixteen move on together, by more than the caches
//! hold, so that no cursor finds what an earlier visit has fetched.

use std::hint::black_box;

use host::live::{PageRequest, Pages, Pinned};
use kernels::{
    Chain, Cursor, LOADS_PER_ROUND, Layout, PARALLEL_LOADS_PER_ROUND, PARALLEL_MAX, walk_parallel,
};
use machine::{Bytes, Machine};
use record::{ParallelChase, metric};

use super::MemoryError;
use crate::memory::mapped;
use crate::probe::{CheckUpProbe, Planned, Section, Subject};
use crate::room::{beyond_caches, claimed_cache};
use crate::sampler::{Sampler, Visit, VisitPlan};
use crate::series::{PointVisit, Series, page_bytes};
use crate::session::{Budget, Session};

/// Bytes from node to node: a line, on most machines. Where lines are longer, the nodes of one are far apart in the random order, and each
/// misses the caches all the same.
const STRIDE_BYTES: usize = 64;
/// Shortest window in nanoseconds.
const WINDOW_NS: f64 = 150_000.0;
/// Windows of a visit.
const WINDOWS: usize = 12;
/// The smallest block.
const SMALLEST_BLOCK: Bytes = Bytes(64 << 20);
/// Laying the chain and walking it once takes at most this per node, in seconds.
const SLOWEST_NODE_S: f64 = 600e-9;

/// The probe in the check-up.
pub(crate) const PROBE: CheckUpProbe = CheckUpProbe {
    seconds: [None, Some(4.5), Some(10.0)],
    least_s: 1.4,
    epoch_least_s: Some(1.2),
    rank: 170,
    // Sixteen chases load memory.
    disturbs: "machine",
    ..CheckUpProbe::new("parallel", Section::Memory, plan)
};

fn plan(subject: &Subject<'_>, seconds: f64) -> Planned {
    let settings = subject.by_depth([Settings::check_up, Settings::check_up, Settings::full])();
    subject.planned(seconds, settings, |settings| &mut settings.budget_s, Settings::worst_case_s, run)
}

/// What to measure.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Numbers of chases, each 1 to 16.
    pub chains: Vec<usize>,
    /// The largest block, if the machine has room for it.
    pub block_max: Bytes,
    /// Fresh mappings at most.
    pub mappings_max: u32,
    /// Time for everything, in seconds.
    pub budget_s: f64,
}

impl Settings {
    /// The check-up.
    pub fn check_up() -> Self {
        Self {
            chains: vec![1, 2, 3, 4, 6, 8, 10, 12, 14, 16],
            block_max: Bytes(128 << 20),
            mappings_max: 2,
            budget_s: 0.0,
        }
    }

    /// `--full`: every number.
    pub fn full() -> Self {
        let chains = (1..=PARALLEL_MAX).collect();
        Self { chains, block_max: Bytes(256 << 20), mappings_max: 4, ..Self::check_up() }
    }

    /// Four times the largest claimed cache, up to the cap and to what there is room for.
    pub fn block(&self, machine: &Machine) -> Bytes {
        beyond_caches(machine, claimed_cache(machine, SMALLEST_BLOCK), [SMALLEST_BLOCK, self.block_max])
    }

    /// Time it may take at most, in seconds: the budget, and laying and walking one chain.
    pub fn worst_case_s(&self, _cpus: usize, machine: &Machine) -> f64 {
        self.budget_s + self.block(machine).0 as f64 / STRIDE_BYTES as f64 * SLOWEST_NODE_S
    }
}

/// Visits of every point per mapping.
const VISITS_PER_MAPPING: u32 = 3;

/// Measures all numbers of chases on the first CPU of the session, and adds them to the record, also when stopped.
///
/// # Errors
/// No memory, or a CPU that may not be used.
pub fn run(session: &mut Session<'_>, settings: &Settings) -> Result<(), MemoryError> {
    let cpu = session.cpus[0];
    let pinned = Pinned::to(cpu)?;
    let mut sampler = session.sampler(cpu);
    let block = settings.block(&session.record.machine);
    let mut points: Vec<Series> = settings.chains.iter().map(|_| Series::default()).collect();
    let mut given = Vec::new();
    let result = mappings(session, settings, &mut sampler, block, &mut points, &mut given);
    session.absorb(&mut sampler);
    drop(pinned);
    let page_bytes = page_bytes(PageRequest::Huge, &given);
    for (&chains, series) in settings.chains.iter().zip(&points) {
        let name = series_name(chains, block);
        let Some(measured) = series.measured(session, &metric::PARALLEL, name) else { continue };
        session.result().memory.parallel.push(ParallelChase {
            cpu,
            chains,
            block_bytes: block,
            page_bytes,
            ns_per_load: measured.value,
            spread: measured.spread,
        });
    }
    result
}

fn series_name(chains: usize, block: Bytes) -> String {
    format!("parallel, {chains} chases, block {block}")
}

fn mappings(
    session: &mut Session<'_>,
    settings: &Settings,
    sampler: &mut Sampler,
    block: Bytes,
    points: &mut [Series],
    given: &mut Vec<Pages>,
) -> Result<(), MemoryError> {
    let budget = Budget::start(settings.budget_s);
    let cache_lines = claimed_cache(&session.record.machine, SMALLEST_BLOCK).0 / STRIDE_BYTES as u64;
    for number in 0..settings.mappings_max {
        if budget.is_over(session) {
            break;
        }
        let seed = session.random.next_u64();
        let goes_on = || !session.must_stop();
        let mut mapping = match mapped(block, None, &goes_on) {
            Err(error) if error.is_broken_off() => break,
            mapping => mapping?,
        };
        given.push(mapping.pages());
        let layout = Layout::random(STRIDE_BYTES, seed);
        let Some(chain) = Chain::build_while(mapping.as_mut_slice(), layout, &goes_on) else { break };
        let mut cursors = spaced(&chain, sampler);
        // A quarter more than the lines of the caches, in steps of each cursor.
        let flush = (cache_lines.min(chain.nodes() as u64) * 5 / 4)
            .div_ceil(PARALLEL_MAX as u64 * PARALLEL_LOADS_PER_ROUND);
        for _ in 0..VISITS_PER_MAPPING {
            for index in shuffled(points.len(), session) {
                if budget.is_over(session) {
                    return Ok(());
                }
                sampler.in_slices(flush, |rounds| cursors = walk_parallel(cursors, rounds));
                sampler.about(|| series_name(settings.chains[index], block));
                let visit = visit(sampler, &mut cursors, settings.chains[index]);
                points[index].visits.push(PointVisit::of(number, sampler.cpu, visit));
                budget.show(session);
            }
        }
    }
    Ok(())
}

fn shuffled(count: usize, session: &mut Session<'_>) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    session.random.shuffle(&mut order);
    order
}

/// Sixteen cursors at equal distances along the cycle, found by walking it.
fn spaced<'c>(chain: &'c Chain<'_>, sampler: &Sampler) -> [Cursor<'c>; PARALLEL_MAX] {
    let rounds = (chain.nodes() / PARALLEL_MAX) as u64 / LOADS_PER_ROUND;
    let mut cursor = chain.start();
    [(); PARALLEL_MAX].map(|()| {
        sampler.in_slices(rounds, |rounds| cursor = cursor.walk(rounds));
        cursor
    })
}

/// Which of the sixteen cursors `chains` chases use: evenly spaced.
fn chosen(chains: usize) -> impl Iterator<Item = usize> {
    (0..chains).map(move |chain| chain * PARALLEL_MAX / chains)
}

fn visit(sampler: &mut Sampler, cursors: &mut [Cursor<'_>; PARALLEL_MAX], chains: usize) -> Visit {
    let mut active: Vec<Cursor<'_>> = chosen(chains).map(|index| cursors[index]).collect();
    let rounds = sampler.rounds_for(WINDOW_NS, |rounds| walk_together(&mut active, rounds));
    let plan = VisitPlan { windows_min: 7, windows_max: WINDOWS, half_width: 0.005 };
    let units = (PARALLEL_LOADS_PER_ROUND * chains as u64) as f64;
    let visit = sampler.visit(plan, rounds, units, |rounds| walk_together(&mut active, rounds));
    for (index, cursor) in chosen(chains).zip(active) {
        cursors[index] = black_box(cursor);
    }
    visit
}

/// Walks 1 to 16 cursors side by side: the loops are compiled for each number.
#[inline(always)]
fn walk_together(cursors: &mut [Cursor<'_>], rounds: u64) {
    macro_rules! by_number {
        ($($number:literal)*) => {
            match cursors.len() {
                $($number => walk_exactly::<$number>(cursors, rounds),)*
                other => assert!(other == 0, "1 to 16 chases, not {other}"),
            }
        };
    }
    by_number!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16);
}

#[inline(always)]
fn walk_exactly<const K: usize>(cursors: &mut [Cursor<'_>], rounds: u64) {
    let start: [Cursor<'_>; K] = std::array::from_fn(|index| cursors[index]);
    cursors.copy_from_slice(&walk_parallel(start, rounds));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chases_are_spread_evenly_over_the_cycle() {
        for chains in 1..=PARALLEL_MAX {
            let used: Vec<usize> = chosen(chains).collect();
            assert_eq!(used.len(), chains);
            assert!(used.windows(2).all(|pair| pair[0] < pair[1]) && used[chains - 1] < PARALLEL_MAX);
        }
        assert_eq!(chosen(4).collect::<Vec<_>>(), [0, 4, 8, 12]);
    }

    #[test]
    fn the_worst_case_adds_one_chain_to_the_budget() {
        let settings = Settings::check_up();
        let worst = settings.worst_case_s(1, &Machine::default());
        assert!(worst > settings.budget_s && worst < settings.budget_s + 3.0, "{worst}");
        assert!(settings.chains.iter().all(|&chains| (1..=PARALLEL_MAX).contains(&chains)));
    }
}

//! Latency of one chase while other CPUs stream, beside the idle latency of the same chase.
//!
//! Loaders are pinned threads that sweep their own memory when the switch is on and wait when it is off. Each counts the
//! bytes it has moved on a cache line of its own; the chaser reads these counters around every window: they tell
//! the traffic, and a window in which one of them stood still did not overlap and does not count. Idle and loaded
//! visits alternate as ABBA or BAAB in random order.

mod loaders;

use std::hint::black_box;

use host::live::{Mapping, MappingError, PageRequest, Pages, Pinned};
use kernels::{Chain, Cursor, LOADS_PER_ROUND, Layout, Operation, Store, StreamKernel};
use machine::{Bytes, CpuId, CpuSet, Machine, NodeId};
use record::{LoadedLatency, Spread, metric};
use stats::{Interval, median};

use self::loaders::{Loaders, Work, with_loaders};
use super::MemoryError;
use crate::memory::mapped;
use crate::probe::{CheckUpProbe, Planned, Section, Subject, second_cpu_missing};
use crate::room::{beyond_caches, claimed_cache, claimed_caches_together};
use crate::sampler::{Sampler, Visit};
use crate::series::{PointVisit, Series, doubted, page_bytes};
use crate::session::{Budget, Session};

/// Bytes from node to node: a line, on most machines. Where lines are longer, the nodes of one are far apart in the random order, and each
/// misses the caches all the same.
const STRIDE_BYTES: usize = 64;
/// Shortest window: several chunks of every loader, so that traffic is known to a few percent.
const WINDOW_NS: f64 = 400_000.0;
/// Windows of a visit.
const WINDOWS: usize = 8;
/// The smallest block of the chase, and of all loaders together.
const SMALLEST_BLOCK: Bytes = Bytes(64 << 20);
/// Mapping, filling and laying takes at most this per byte, in seconds.
const SLOWEST_SET_UP_S_PER_BYTE: f64 = 10e-9;

/// The probe in the check-up.
pub(crate) const PROBE: CheckUpProbe = CheckUpProbe {
    seconds: [None, Some(4.0), Some(15.0)],
    least_s: 2.8,
    epoch_least_s: Some(1.3),
    rank: 150,
    // It loads memory.
    disturbs: "machine",
    missing: second_cpu_missing,
    ..CheckUpProbe::new("loaded", Section::Memory, plan)
};

fn plan(subject: &Subject<'_>, seconds: f64) -> Planned {
    let settings = subject.by_depth([Settings::check_up, Settings::check_up, Settings::full])();
    subject.planned(seconds, settings, |settings| &mut settings.budget_s, Settings::worst_case_s, run)
}

/// What to measure.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// What the loaders do.
    pub operation: Operation,
    /// The largest block of the chase and of the loaders, if the machine has room for it.
    pub block_max: Bytes,
    /// Quads of idle and loaded visits at most, per number of loaders.
    pub quads_max: u32,
    /// Time for everything, in seconds.
    pub budget_s: f64,
}

impl Settings {
    /// The check-up: loaders read, as Intel's tool does by default.
    pub fn check_up() -> Self {
        Self { operation: Operation::Read, block_max: Bytes(128 << 20), quads_max: 6, budget_s: 0.0 }
    }

    /// `--full`: loaders also write.
    pub fn full() -> Self {
        let operation = Operation::Triad;
        Self { operation, block_max: Bytes(256 << 20), quads_max: 12, ..Self::check_up() }
    }

    /// Block of the chase and of all loaders together.
    fn blocks(&self, machine: &Machine) -> [Bytes; 2] {
        let claimed = [claimed_cache(machine, SMALLEST_BLOCK), claimed_caches_together(machine)];
        claimed.map(|claimed| beyond_caches(machine, claimed, [SMALLEST_BLOCK, self.block_max]))
    }

    /// Time it may take at most, in seconds; 0 with one CPU, where there is nothing to measure.
    pub fn worst_case_s(&self, cpus: usize, machine: &Machine) -> f64 {
        if cpus < 2 {
            return 0.0;
        }
        let bytes: u64 = self.blocks(machine).iter().map(|block| block.0).sum();
        self.budget_s + bytes as f64 * SLOWEST_SET_UP_S_PER_BYTE
    }
}

/// Numbers of loaders to try, of so many: one, half, all.
fn ladder(loaders: usize) -> Vec<usize> {
    let mut steps = vec![1, loaders / 2, loaders];
    steps.retain(|&step| step > 0);
    steps.sort_unstable();
    steps.dedup();
    steps
}

/// One number of loaders; none is idle.
struct Point {
    active: usize,
    latency: Series,
    traffic: Vec<f64>,
    windows_apart: usize,
}

impl Point {
    fn new(active: usize) -> Self {
        Self { active, latency: Series::default(), traffic: Vec::new(), windows_apart: 0 }
    }
}

/// Who chases in whose memory, and who loads it.
pub(super) struct Chased<'c> {
    /// The CPU that chases.
    pub(super) cpu: CpuId,
    /// The CPUs that stream.
    pub(super) others: &'c [CpuId],
    /// The node whose memory all use; none is wherever it comes from.
    pub(super) node: Option<NodeId>,
    /// Of the chase.
    pub(super) block: Bytes,
    /// Of all loaders together.
    pub(super) load_block: Bytes,
}

/// Chases on the first CPU of the session while the others stream, and adds the results to the record, also when
/// stopped half-way.
///
/// # Errors
/// `OneCpu`, no memory, or a CPU that may not be used.
pub fn run(session: &mut Session<'_>, settings: &Settings) -> Result<(), MemoryError> {
    let Some((&cpu, others)) = session.cpus.split_first().filter(|(_, others)| !others.is_empty()) else {
        return Err(MemoryError::OneCpu);
    };
    let others = others.to_vec();
    let [block, load_block] = settings.blocks(&session.record.machine);
    let chased = Chased { cpu, others: &others, node: None, block, load_block };
    let (points, result) = under_load(session, settings, &chased);
    for point in points {
        session.result().memory.loaded.push(point);
    }
    result
}

/// Chases in one block while more and more others stream: idle first. What was measured comes back beside an error.
pub(super) fn under_load(
    session: &mut Session<'_>,
    settings: &Settings,
    chased: &Chased<'_>,
) -> (Vec<LoadedLatency>, Result<(), MemoryError>) {
    let mut points: Vec<Point> =
        std::iter::once(0).chain(ladder(chased.others.len())).map(Point::new).collect();
    let chase = || -> Result<(Pinned, Mapping), MemoryError> {
        Ok((Pinned::to(chased.cpu)?, mapped(chased.block, chased.node, &|| !session.must_stop())?))
    };
    let (pinned, mut mapping) = match chase() {
        Ok(chase) => chase,
        Err(error) => return (Vec::new(), Err(error)),
    };
    let store = if settings.operation.stores() { Store::Plain } else { Store::None };
    let kernel =
        StreamKernel::widest(settings.operation, store).expect("scalar loops exist for every operation");
    let pages = mapping.pages();
    let layout = Layout::random(STRIDE_BYTES, session.random.next_u64());
    let laid = Chain::build_while(mapping.as_mut_slice(), layout, &|| !session.must_stop());
    let Some(chain) = laid else {
        return (Vec::new(), Err(MappingError::BrokenOff { bytes: chased.block }.into()));
    };
    let work = Work {
        kernel,
        part_bytes: chased.load_block.0 as usize / chased.others.len().max(1),
        node: chased.node,
        until: session.deadline,
    };
    let mut sampler = session.sampler(chased.cpu);
    let result = with_loaders(chased.others, work, |loaders| {
        let name = |active| series_name(settings, chased, active, pages);
        measure(session, settings, &mut sampler, &chain, loaders, &mut points, &name);
    });
    session.absorb(&mut sampler);
    drop(pinned);
    (judged(session, settings, chased, &points, pages), result)
}

fn measure(
    session: &mut Session<'_>,
    settings: &Settings,
    sampler: &mut Sampler,
    chain: &Chain<'_>,
    loaders: &Loaders,
    points: &mut [Point],
    series_name: &dyn Fn(usize) -> String,
) {
    let budget = Budget::start(settings.budget_s);
    let lines = claimed_cache(&session.record.machine, SMALLEST_BLOCK).0 / STRIDE_BYTES as u64;
    let warm_loads = lines.min(chain.nodes() as u64);
    let mut cursor = chain.start();
    sampler.in_slices(warm_loads.div_ceil(LOADS_PER_ROUND), |rounds| cursor = cursor.walk(rounds));
    let rounds = sampler.rounds_for(WINDOW_NS, |rounds| cursor = cursor.walk(rounds));
    for quad in 0..settings.quads_max {
        for loaded in 1..points.len() {
            let order = if session.random.next_u64() >> 63 == 0 {
                [0, loaded, loaded, 0]
            } else {
                [loaded, 0, 0, loaded]
            };
            for index in order {
                if budget.is_over(session) {
                    return;
                }
                sampler.about(|| series_name(points[index].active));
                visit(sampler, &mut cursor, rounds, loaders, quad, &mut points[index]);
                budget.show(session);
            }
        }
    }
}

/// Windows with as many loaders as the point asks for.
fn visit(
    sampler: &mut Sampler,
    cursor: &mut Cursor<'_>,
    rounds: u64,
    loaders: &Loaders,
    quad: u32,
    point: &mut Point,
) {
    let control_before = sampler.control.read(sampler.rate);
    let settled = loaders.switch_to(point.active);
    let mut windows = Vec::with_capacity(WINDOWS);
    let mut dropped = 0;
    for number in 0..WINDOWS {
        if number > 0 && sampler.is_cut() {
            break;
        }
        let before = loaders.bytes();
        let start = *cursor;
        let mut end = start;
        let ns = sampler.window(|| end = start.walk(rounds));
        *cursor = black_box(end);
        let moved = loaders.moved_since(&before);
        let overlapped = settled && moved.iter().take(point.active).all(|&bytes| bytes > 0);
        match ns {
            Some(ns) if overlapped => {
                windows.push(ns / (rounds * LOADS_PER_ROUND) as f64);
                point.traffic.push(moved.iter().sum::<u64>() as f64 / ns * 1e9);
            }
            Some(_) => {
                dropped += 1;
                point.windows_apart += 1;
            }
            None => dropped += 1,
        }
    }
    loaders.switch_to(0);
    let control = [control_before, sampler.control.read(sampler.rate)];
    let visit = Visit { windows, dropped, control };
    point.latency.visits.push(PointVisit::of(quad, sampler.cpu, visit));
}

fn series_name(settings: &Settings, chased: &Chased<'_>, active: usize, pages: Pages) -> String {
    let (page, block) = (page_bytes(PageRequest::Huge, &[pages]), chased.block);
    let place = chased.node.map_or_else(String::new, |node| format!(", node {node}"));
    format!("loaded latency, {active} CPUs at {}, {page} pages, block {block}{place}", settings.operation)
}

fn judged(
    session: &mut Session<'_>,
    settings: &Settings,
    chased: &Chased<'_>,
    points: &[Point],
    pages: Pages,
) -> Vec<LoadedLatency> {
    let page = page_bytes(PageRequest::Huge, &[pages]);
    let mut loaded = Vec::new();
    for point in points {
        let name = series_name(settings, chased, point.active, pages);
        let Some(measured) = point.latency.measured(session, &metric::LOADED, name) else { continue };
        let loading: CpuSet = chased.others.iter().take(point.active).copied().collect();
        let traffic = stats::sorted(&point.traffic);
        // All visits share one mapping: what differs between them is time, not place.
        let spread = Spread { mappings: 1, ..doubted(measured.spread, point.windows_apart) };
        loaded.push(LoadedLatency {
            cpu: chased.cpu,
            loading,
            block_bytes: Some(chased.block),
            page_bytes: Some(page),
            load_bytes_per_s: median(&traffic).unwrap_or(0.0),
            load_interval: stats::quantile_interval(&traffic, 0.5)
                .unwrap_or(Interval { low: 0.0, high: 0.0 }),
            // Alone there is nobody to overlap with; else those of the windows that count.
            overlapped_windows: if point.active == 0 { 0 } else { point.traffic.len().min(spread.windows) },
            ns: measured.value,
            spread,
        });
    }
    loaded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ladder_is_one_half_and_all() {
        assert_eq!(ladder(1), [1]);
        assert_eq!(ladder(2), [1, 2]);
        assert_eq!(ladder(3), [1, 3]);
        assert_eq!(ladder(63), [1, 31, 63]);
    }

    #[test]
    fn with_one_cpu_it_takes_no_time() {
        let settings = Settings::check_up();
        let machine = Machine::default();
        assert!(settings.worst_case_s(1, &machine).abs() < 1e-12);
        assert!(settings.worst_case_s(2, &machine) > settings.budget_s);
    }
}

//! The same block in different orders and pages: what prefetching hides and what address translation adds.
//!
//! Sequential is what a prefetcher can follow; random inside groups of pages misses the caches and hits the TLB; random
//! in the whole block misses both. With huge pages the last two come close, with base pages their difference is
//! the page walk. A visit is one order on a mapping; every round has fresh mappings, and shuffles pages and orders.

use std::hint::black_box;

use host::live::{Mapping, MappingError, PageRequest, Pages, Pinned};
use kernels::random::SplitMix64;
use kernels::{Chain, LOADS_PER_ROUND, Layout, Order};
use machine::{Bytes, Machine};
use record::{ChaseOrder, OrderedLatency};

use super::series::{Judge, Kind, PointVisit, Series, page_bytes};
use super::{HALF_WIDTH, MemoryError};
use crate::probe::{CheckUpProbe, Planned, Section, Subject};
use crate::room::{beyond_caches, claimed_cache, line_bytes};
use crate::sampler::{Sampler, Visit, VisitPlan};
use crate::session::{Budget, Session};

/// Group of the page-confined order: 64 base pages, as many as a first-level TLB holds, or far fewer than it reaches
/// with huge pages; multichase confines to the same.
const GROUP_BYTES: usize = 256 << 10;
/// A window of a random order is about 2000 loads from memory.
const WINDOW_NS: f64 = 200_000.0;
/// The block is at least this, so that it is memory that is measured where no cache is claimed.
const SMALLEST_BLOCK: Bytes = Bytes(64 << 20);
/// Laying or walking a random chain takes at most this per node, in seconds.
const SLOWEST_NODE_S: f64 = 400e-9;
/// Cache lines walked before the first window at most: laying the chain has left some of its lines in the caches.
const WARM_LOADS_MAX: u64 = 1 << 20;

/// The probe in the check-up.
pub(crate) const PROBE: CheckUpProbe = CheckUpProbe {
    seconds: [None, Some(3.0), Some(10.0)],
    least_s: 1.0,
    epoch_least_s: Some(0.33),
    rank: 130,
    runs_after: Some("walks"),
    // One chain hardly loads memory, but it fills the shared caches.
    disturbs: "machine",
    ..CheckUpProbe::new("orders", Section::Memory, plan)
};

fn plan(subject: &Subject<'_>, seconds: f64) -> Planned {
    let settings = subject.by_depth([Settings::quick, Settings::check_up, Settings::full])();
    subject.planned(seconds, settings, |settings| &mut settings.budget_s, Settings::worst_case_s, run)
}

/// What to measure.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The largest block, if the machine has room for it.
    pub block_max: Bytes,
    /// Rounds at most.
    pub rounds_max: u32,
    /// Time for everything, in seconds.
    pub budget_s: f64,
}

impl Settings {
    /// `--quick`.
    pub fn quick() -> Self {
        Self { block_max: Bytes(64 << 20), rounds_max: 2, ..Self::check_up() }
    }

    /// The check-up.
    pub fn check_up() -> Self {
        Self { block_max: Bytes(128 << 20), rounds_max: 10, budget_s: 0.0 }
    }

    /// `--full`.
    pub fn full() -> Self {
        Self { block_max: Bytes(256 << 20), rounds_max: 5, ..Self::check_up() }
    }

    /// Four times the largest claimed cache, up to the cap and to what there is room for.
    pub fn block(&self, machine: &Machine) -> Bytes {
        beyond_caches(machine, claimed_cache(machine, SMALLEST_BLOCK), [SMALLEST_BLOCK, self.block_max])
    }

    /// Time it may take at most, in seconds: the budget and one visit, which lays and walks a chain.
    pub fn worst_case_s(&self, _cpus: usize, machine: &Machine) -> f64 {
        self.budget_s + self.block(machine).0 as f64 / line_bytes(machine) as f64 * SLOWEST_NODE_S * 2.0
    }
}

const ORDERS: [(ChaseOrder, Order); 3] = [
    (ChaseOrder::Sequential, Order::Sequential),
    (ChaseOrder::PageConfined, Order::RandomWithin { group_bytes: GROUP_BYTES }),
    (ChaseOrder::Random, Order::Random),
];

struct Point {
    request: PageRequest,
    name: ChaseOrder,
    order: Order,
    series: Series,
    pages: Vec<Pages>,
}

impl Point {
    fn series_name(&self, block: Bytes) -> String {
        format!("order {:?}, {} pages asked for, block {block}", self.name, self.request.page_bytes())
    }
}

/// Measures all orders on the first CPU of the session and adds them to the record, also when stopped half-way.
///
/// # Errors
/// No memory, or a CPU that may not be used.
pub fn run(session: &mut Session<'_>, settings: &Settings) -> Result<(), MemoryError> {
    let cpu = session.cpus[0];
    let pinned = Pinned::to(cpu)?;
    let mut sampler = session.sampler(cpu);
    let mut points: Vec<Point> = [PageRequest::Base, PageRequest::Huge]
        .into_iter()
        .flat_map(|request| {
            let series = Series::default;
            ORDERS.map(|(name, order)| Point { request, name, order, series: series(), pages: Vec::new() })
        })
        .collect();
    let block = settings.block(&session.record.machine);
    let result = rounds(session, settings, &mut sampler, &mut points, block);
    session.absorb(&mut sampler);
    drop(pinned);
    keep(session, cpu, block, &points);
    result
}

fn rounds(
    session: &mut Session<'_>,
    settings: &Settings,
    sampler: &mut Sampler,
    points: &mut [Point],
    block: Bytes,
) -> Result<(), MemoryError> {
    let budget = Budget::start(settings.budget_s);
    // From node to node is a line: two nodes on one would let the second of them hit.
    let stride_bytes = line_bytes(&session.record.machine);
    let cache_lines = claimed_cache(&session.record.machine, SMALLEST_BLOCK).0 / stride_bytes as u64;
    let steps = Steps { stride_bytes, cache_lines };
    for round in 0..settings.rounds_max {
        let judge = judge(points);
        if round > 1 && !points.iter().any(|point| judge.needs_more(&point.series)) {
            break;
        }
        let is_base_first = session.random.next_u64() >> 63 == 0;
        let [first, second] = [PageRequest::Base, PageRequest::Huge];
        for request in if is_base_first { [first, second] } else { [second, first] } {
            if budget.is_over(session) {
                return Ok(());
            }
            let mut mapping = match Mapping::new_while(block.0 as usize, request, &|| !sampler.is_cut()) {
                Err(MappingError::BrokenOff { .. }) => return Ok(()),
                mapping => mapping?,
            };
            let pages = mapping.pages();
            let mut order: Vec<usize> =
                (0..points.len()).filter(|&index| points[index].request == request).collect();
            session.random.shuffle(&mut order);
            for index in order {
                if budget.is_over(session) {
                    return Ok(());
                }
                let point = &mut points[index];
                let random = &mut session.random;
                sampler.about(|| point.series_name(block));
                let Some(visit) = visit(sampler, mapping.as_mut_slice(), point.order, steps, random) else {
                    return Ok(());
                };
                point.series.visits.push(PointVisit::of(round, sampler.cpu, visit));
                point.pages.push(pages);
                budget.show(session);
            }
        }
    }
    Ok(())
}

/// Bytes from node to node, and how many nodes warm the caches.
#[derive(Clone, Copy)]
struct Steps {
    stride_bytes: usize,
    cache_lines: u64,
}

/// Lays the chain anew, walks as many nodes as the caches hold lines, and takes windows; `None` if the sampler was cut before.
fn visit(
    sampler: &mut Sampler,
    block: &mut [u8],
    order: Order,
    Steps { stride_bytes, cache_lines }: Steps,
    random: &mut SplitMix64,
) -> Option<Visit> {
    let layout = Layout { stride_bytes, order, seed: random.next_u64() };
    let chain = Chain::build_while(block, layout, &|| !sampler.is_cut())?;
    let warm_loads = (chain.nodes() as u64).min(cache_lines).min(WARM_LOADS_MAX);
    let mut cursor = chain.cursor(random.below(chain.nodes() as u64) as usize);
    sampler.in_slices(warm_loads.div_ceil(LOADS_PER_ROUND), |rounds| cursor = cursor.walk(rounds));
    let rounds = sampler.rounds_for(WINDOW_NS, |rounds| cursor = cursor.walk(rounds));
    let plan = VisitPlan { windows_min: 12, windows_max: 40, half_width: 0.005 };
    let visit = sampler.visit(plan, rounds, LOADS_PER_ROUND as f64, |rounds| cursor = cursor.walk(rounds));
    black_box(cursor.addr());
    Some(visit)
}

fn judge(points: &[Point]) -> Judge {
    Judge::of(Kind::Duration, HALF_WIDTH, points.iter().map(|point| &point.series))
}

fn keep(session: &mut Session<'_>, cpu: machine::CpuId, block_bytes: Bytes, points: &[Point]) {
    let judge = judge(points);
    for point in points {
        let Some(judged) = judge.judge(&point.series) else { continue };
        let page_bytes = page_bytes(point.request, &point.pages);
        let judged = judged.kept(session, &point.series, point.series_name(block_bytes), "ns");
        session.result().memory.orders.push(OrderedLatency {
            cpu,
            block_bytes,
            page_bytes,
            order: point.name,
            ns: judged.value,
            spread: judged.spread,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_is_four_claimed_caches_within_the_cap() {
        let settings = Settings::check_up();
        let mut machine = Machine::default();
        assert_eq!(settings.block(&machine), settings.block_max);
        machine.topology.caches = vec![machine::Cache {
            level: 2,
            kind: machine::CacheKind::Unified,
            size_bytes: Some(Bytes(1 << 20)),
            line_bytes: None,
            ways: None,
            shared_by: machine::CpuSet::new(),
            sharers_unknown: false,
        }];
        assert_eq!(settings.block(&machine), SMALLEST_BLOCK);
    }

    #[test]
    fn the_worst_case_adds_one_chain_to_the_budget() {
        let settings = Settings::check_up();
        let worst = settings.worst_case_s(1, &Machine::default());
        assert!(worst > settings.budget_s && worst < settings.budget_s + 2.0, "{worst}");
    }
}

//! The latency of memory itself, from blocks that no cache holds: never from the rise between the last cache and memory.

use machine::{Bytes, CpuId};
use record::{ChaseOrder, Conditions, Level, Quality, Record};
use stats::{Interval, Order};

use crate::surface::{Columns, LARGEST_BASE_PAGE_BYTES, Point, is_latency, sane};
use crate::surface::{LEVEL_RATIO, MEMORY_BEYOND, REST_SLOPE, SLOWEST_CACHE_NS, size};
use crate::wording::measured;

/// The name of its level.
pub(crate) const MEMORY: &str = "memory";

/// This many of the largest blocks give a first idea of memory.
const LAST_BLOCKS: usize = 3;

/// What memory was seen to take, and in which block.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MemorySeen {
    pub(crate) ns: f64,
    pub(crate) interval: Interval,
    conditions: Conditions,
    core_cycles: Option<f64>,
}

impl MemorySeen {
    /// The largest block; `None` where the record does not say how large it was.
    pub(crate) fn block_bytes(&self) -> Option<u64> {
        self.conditions.block_bytes.map(|[_, largest]| largest.0)
    }

    /// True if it is no other level than the plateau.
    pub(crate) fn is_near(&self, plateau_ns: f64) -> bool {
        (self.ns / plateau_ns).max(plateau_ns / self.ns) < LEVEL_RATIO
    }

    /// Value and conditions in words.
    pub(crate) fn words(&self) -> String {
        format!("{}, {}", measured(self.ns, self.interval, "ns"), self.conditions)
    }

    /// As a level, still without bandwidth.
    pub(crate) fn level(&self) -> Level {
        Level {
            name: MEMORY.to_owned(),
            size_bytes: None,
            size_interval: None,
            claimed_bytes: None,
            ns: self.ns,
            ns_interval: self.interval,
            core_cycles: self.core_cycles,
            read_bytes_per_s: None,
            read_interval: None,
            conditions: Some(self.conditions.clone()),
        }
    }
}

/// Memory from the first source that reached it, the largest blocks first: random chases, a single chain, the idle chase
/// before loading. Sources without a single value come last.
pub(crate) fn reached(
    record: &Record,
    columns: &Columns,
    last_cache_ns: f64,
    largest_claim: Option<Bytes>,
) -> Option<MemorySeen> {
    let mut sources = chases(record, columns.cpu);
    sources.order_by_key(|source| source.0 == Quality::Unstable);
    let per_ns = cycles_per_ns(columns);
    sources
        .into_iter()
        .map(|(_, seen)| MemorySeen { core_cycles: per_ns.map(|ratio| seen.ns * ratio), ..seen })
        .find(|seen| is_beyond(seen, columns, last_cache_ns, largest_claim))
}

/// The best chase of all, where none is known to have reached memory.
pub(crate) fn not_believed(record: &Record, columns: &Columns) -> Option<MemorySeen> {
    chases(record, columns.cpu).into_iter().map(|(_, seen)| seen).next()
}

/// Memory from the surface alone: the last blocks of the line column, if they rest and are far beyond the last cache.
pub(crate) fn resting(columns: &Columns, last_cache_ns: f64) -> Option<MemorySeen> {
    let stable: Vec<&Point> =
        columns.line().iter().filter(|point| point.quality != Quality::Unstable).collect();
    let middle = |points: &[&Point]| stats::median(&points.iter().map(|point| point.ns).collect::<Vec<_>>());
    let about_ns = middle(&stable[stable.len().saturating_sub(LAST_BLOCKS)..])?;
    if about_ns < LEVEL_RATIO * last_cache_ns {
        return None;
    }
    let last_cache = size(columns.line(), last_cache_ns, about_ns, None)?;
    let beyond = MEMORY_BEYOND * last_cache.bytes;
    let far: Vec<&Point> = stable.into_iter().filter(|point| point.block_bytes as f64 >= beyond).collect();
    let [smallest, .., largest] = far.as_slice() else { return None };
    if slope(&far)? >= REST_SLOPE {
        return None;
    }
    let ns = middle(&far)?;
    let value = Interval { low: ns, high: ns };
    let values: Vec<f64> = far.iter().map(|point| point.ns).collect();
    let halves: Vec<f64> = far.iter().map(|point| point.interval.half_width()).collect();
    let half = stats::median(&halves).unwrap_or(0.0);
    let across = stats::quantile_interval(&stats::sorted(&values), 0.5).unwrap_or(value);
    Some(MemorySeen {
        ns,
        interval: sane(across, ns).hull(&Interval { low: ns - half, high: ns + half }),
        conditions: Conditions {
            block_bytes: Some([Bytes(smallest.block_bytes), Bytes(largest.block_bytes)]),
            page_bytes: columns.page_bytes.clone(),
            order: ChaseOrder::Random,
        },
        core_cycles: cycles_per_ns(columns).map(|ratio| ns * ratio),
    })
}

/// Typical rise between two points, in octaves of latency per octave of block: one noisy cell does not tip it.
fn slope(points: &[&Point]) -> Option<f64> {
    let pairs =
        points.iter().enumerate().flat_map(|(index, a)| points[index + 1..].iter().map(move |b| (a, b)));
    let slopes: Vec<f64> = pairs
        .map(|(a, b)| (b.ns / a.ns).log2() / (b.block_bytes as f64 / a.block_bytes as f64).log2())
        .collect();
    stats::median(&slopes)
}

/// Rank of the source, small pages, smaller block, another CPU than the surface's: ascending is better.
type Rank = (u8, bool, std::cmp::Reverse<u64>, bool, CpuId);

/// Every chase that may have reached memory, the best evidence first.
fn chases(record: &Record, surface_cpu: CpuId) -> Vec<(Quality, MemorySeen)> {
    let memory = &record.memory;
    let seen = |ns: f64, interval: Interval, block: Option<Bytes>, page: Option<Bytes>| MemorySeen {
        ns,
        interval: sane(interval, ns),
        conditions: Conditions {
            block_bytes: block.map(|block| [block, block]),
            page_bytes: page.into_iter().collect(),
            order: ChaseOrder::Random,
        },
        core_cycles: None,
    };
    let order = |rank: u8, page: u64, block: u64, cpu: CpuId| -> Rank {
        (rank, page <= LARGEST_BASE_PAGE_BYTES, std::cmp::Reverse(block), cpu != surface_cpu, cpu)
    };
    let mut found: Vec<(Rank, Quality, MemorySeen)> = Vec::new();
    for chase in memory.orders.iter().filter(|chase| chase.order == ChaseOrder::Random) {
        let (page, block) = (chase.page_bytes, chase.block_bytes);
        let seen = seen(chase.ns, chase.spread.interval, Some(block), Some(page));
        found.push((order(0, page.0, block.0, chase.cpu), chase.spread.quality, seen));
    }
    for chase in memory.parallel.iter().filter(|chase| chase.chains == 1) {
        let (page, block) = (chase.page_bytes, chase.block_bytes);
        let seen = seen(chase.ns_per_load, chase.spread.interval, Some(block), Some(page));
        found.push((order(1, page.0, block.0, chase.cpu), chase.spread.quality, seen));
    }
    for chase in memory.loaded.iter().filter(|chase| chase.loading.is_empty()) {
        let seen = seen(chase.ns, chase.spread.interval, chase.block_bytes, chase.page_bytes);
        let (page, block) = (chase.page_bytes.unwrap_or_default().0, chase.block_bytes.unwrap_or_default().0);
        found.push((order(2, page, block, chase.cpu), chase.spread.quality, seen));
    }
    found.retain(|(key, _, seen)| is_latency(seen.ns) && same_kind(record, key.4, surface_cpu));
    found.order_by_key(|(key, ..)| *key);
    found.into_iter().map(|(_, quality, seen)| (quality, seen)).collect()
}

/// True unless the two CPUs are known to be different kinds of core.
pub(crate) fn same_kind(record: &Record, a: CpuId, b: CpuId) -> bool {
    let kind = |cpu: CpuId| record.machine.topology.cpu(cpu).map(|cpu| cpu.core_kind);
    a == b || kind(a) == kind(b)
}

fn is_beyond(seen: &MemorySeen, columns: &Columns, last_cache_ns: f64, largest_claim: Option<Bytes>) -> bool {
    if seen.ns < LEVEL_RATIO * last_cache_ns {
        return false;
    }
    let last_cache = size(columns.line(), last_cache_ns, seen.ns, None)
        .filter(|size| size.is_one_edge(columns.line(), last_cache_ns))
        .map(|size| size.bytes)
        .or(largest_claim.map(|claim| claim.0 as f64));
    match (seen.block_bytes(), last_cache) {
        (Some(block), Some(cache)) => block as f64 >= MEMORY_BEYOND * cache,
        _ => seen.ns > SLOWEST_CACHE_NS,
    }
}

/// The core clock beside the surface, in cycles per ns.
fn cycles_per_ns(columns: &Columns) -> Option<f64> {
    let ratios: Vec<f64> = columns
        .by_stride
        .values()
        .flatten()
        .filter_map(|point| Some(point.core_cycles? / point.ns))
        .collect();
    stats::median(&ratios)
}

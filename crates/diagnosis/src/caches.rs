//! The levels that the surface shows: the names of its rows, and which of them served a cell. What a cache or memory does is said by the
//! questions.

use machine::{Bytes, CpuId};
use record::{LatencyCell, Level, Levels, Record};

use crate::surface::{Columns, LINE_BYTES, Point, is_latency};
use crate::surface::{EDGE_RATIO, LEVEL_RATIO, MEMORY_BEYOND, SLOWEST_CACHE_NS, Size, plateaus, rest, size};

/// Cells of larger strides this near to the plateau, as a ratio, are of it.
const PLATEAU_RATIO: f64 = 1.12;

/// The name of memory among levels.
const MEMORY: &str = "memory";

/// The levels, nearest first, none if the surface does not show any. Memory is the last one, if a block reached it.
pub(crate) fn caches(record: &Record) -> Vec<Level> {
    let Some(columns) = Columns::of(&record.memory) else { return Vec::new() };
    let mut plateaus = plateaus(&columns);
    let claims = claims(record, &columns);
    let resting = if reaches_memory(&plateaus, &claims, &columns) { plateaus.pop() } else { None };
    let Some(last_ns) = plateaus.last().copied() else { return Vec::new() };
    let memory = memory_ns(record, &columns, last_ns, &claims).or(resting);
    let next_ns = plateaus.iter().skip(1).copied().map(Some).chain([memory]);
    let mut found: Vec<SeenCache> = Vec::new();
    for (here, next) in plateaus.iter().zip(next_ns) {
        let nearer = found.iter().filter_map(|cache| cache.size).map(|size| size.bytes).fold(0.0, f64::max);
        found.push(SeenCache::new(&columns, *here, next, nearer));
    }
    let names = numbers(&found, &claims).into_iter().map(|number| format!("L{number}"));
    let caches = found.iter().zip(names).map(|(cache, name)| Level {
        name,
        size_bytes: cache.size.map(|size| Bytes(size.bytes as u64)),
        size_interval: cache.size.map(|size| size.interval),
        ns: cache.ns,
        ..Level::default()
    });
    let memory = memory.map(|ns| Level { name: MEMORY.to_owned(), ns, ..Level::default() });
    caches.chain(memory).collect()
}

/// A cache as the surface shows it, still without a name.
struct SeenCache {
    ns: f64,
    /// Where it ends, unless another level may lie between it and the next, or a nearer one holds as much.
    size: Option<Size>,
    /// Smallest and largest block that rest at its latency.
    rest: Option<[f64; 2]>,
    /// Where it ends, as far as that is known: its size, the last block that rests, or the last of its latency.
    end: Option<f64>,
}

impl SeenCache {
    fn new(columns: &Columns, plateau_ns: f64, next_ns: Option<f64>, nearer_bytes: f64) -> Self {
        let line = columns.line();
        let cells = cells_of(columns, plateau_ns);
        let values: Vec<f64> = cells.iter().map(|cell| cell.ns).collect();
        let rest = rest(line, plateau_ns);
        let size = next_ns.and_then(|next_ns| size(line, plateau_ns, next_ns));
        let size = size.filter(|size| size.bytes > nearer_bytes);
        let largest = cells.iter().map(|cell| cell.block_bytes).max().map(|block| block as f64);
        let end = size.map(|size| size.bytes).or(rest.map(|[_, end]| end)).or(largest);
        Self { ns: stats::median(&values).unwrap_or(plateau_ns), size, rest, end }
    }
}

/// The time of a read of memory: of the question, of a single chain, of the idle chase before loading, the first whose
/// largest block no cache holds.
fn memory_ns(record: &Record, columns: &Columns, last_ns: f64, claims: &[(u8, Bytes)]) -> Option<f64> {
    let memory = &record.memory;
    let kind = |cpu: CpuId| record.machine.topology.cpu(cpu).map(|cpu| cpu.core_kind);
    let is_alike = |cpu: CpuId| kind(cpu) == kind(columns.cpu);
    let asked = record.samples.iter().filter(|sample| sample.question == MEMORY && is_alike(sample.cpu));
    let times: Vec<f64> = asked.clone().map(|sample| sample.value).collect();
    let asked = asked.filter_map(|sample| sample.block_bytes).max();
    let chain = memory
        .parallel
        .iter()
        .filter(|chase| chase.chains == 1 && is_alike(chase.cpu))
        .max_by_key(|chase| chase.block_bytes);
    let idle = memory
        .loaded
        .iter()
        .filter(|chase| chase.loading.is_empty() && is_alike(chase.cpu))
        .max_by_key(|chase| chase.block_bytes);
    let sources = [
        stats::median(&times).map(|ns| (asked, ns)),
        chain.map(|chase| (Some(chase.block_bytes), chase.ns_per_load)),
        idle.map(|chase| (chase.block_bytes, chase.ns)),
    ];
    let claim = claims.iter().map(|claim| claim.1.0 as f64).reduce(f64::max);
    let is_beyond = |&(block, ns): &(Option<Bytes>, f64)| {
        let held = size(columns.line(), last_ns, ns).map(|size| size.bytes).or(claim);
        is_latency(ns)
            && ns >= LEVEL_RATIO * last_ns
            && match (block, held) {
                (Some(block), Some(held)) => block.0 as f64 >= MEMORY_BEYOND * held,
                _ => ns > SLOWEST_CACHE_NS,
            }
    };
    sources.into_iter().flatten().find(is_beyond).map(|(_, ns)| ns)
}

/// Claimed size by level number, nearest first.
fn claims(record: &Record, columns: &Columns) -> Vec<(u8, Bytes)> {
    (1..=4)
        .filter_map(|level| {
            let cache = record.machine.topology.data_cache(columns.cpu, level)?;
            Some((level, cache.size_bytes.filter(|size| size.0 > 0)?))
        })
        .collect()
}

/// True if the slowest plateau is memory and not the last cache: the surface may end too early, and what lies behind the
/// plateau may have no value. One plateau alone is memory where the smallest of its blocks is far beyond every claim.
fn reaches_memory(found: &[f64], claims: &[(u8, Bytes)], columns: &Columns) -> bool {
    let Some(slowest) = found.last() else { return false };
    let claimed = claims.iter().map(|claim| claim.1.0 as f64).reduce(f64::max);
    let is_beyond = |block: f64| claimed.is_some_and(|claimed| block >= MEMORY_BEYOND * claimed);
    if found.len() == 1 {
        let smallest = cells_of(columns, *slowest).iter().map(|cell| cell.block_bytes).min();
        return smallest.is_some_and(|smallest| is_beyond(smallest as f64));
    }
    let rests_beyond = rest(columns.line(), *slowest).is_some_and(|[_, end]| is_beyond(end));
    let more_than_claimed = !claims.is_empty() && found.len() > claims.len();
    rests_beyond || more_than_claimed || *slowest > SLOWEST_CACHE_NS
}

/// Level numbers of the caches found. Without claims, or with as many, they count up; where fewer are found than claimed
/// each takes the claim that it ends nearest to, in order: a machine whose L2 does not show still has an L3. One that rests only
/// where a nearer claim would hold all its blocks is that nearer one, wherever the rise behind it ends.
fn numbers(found: &[SeenCache], claims: &[(u8, Bytes)]) -> Vec<u8> {
    if found.len() >= claims.len() {
        return (1..=found.len()).map(|number| u8::try_from(number).unwrap_or(u8::MAX)).collect();
    }
    let mut numbers = Vec::new();
    let mut next = 0;
    for (index, level) in found.iter().enumerate() {
        let last = claims.len() - (found.len() - index);
        let distance =
            |claim: &(u8, Bytes)| level.end.map_or(0.0, |end| (claim.1.0 as f64 / end.max(1.0)).log2().abs());
        let nearest = (next..=last).min_by(|a, b| distance(&claims[*a]).total_cmp(&distance(&claims[*b])));
        let mut chosen = nearest.unwrap_or(next);
        while chosen > next && level.rest.is_some_and(|[_, end]| end <= claims[chosen - 1].1.0 as f64) {
            chosen -= 1;
        }
        numbers.push(claims[chosen].0);
        next = chosen + 1;
    }
    numbers
}

/// The cells of a plateau: of the column of lines, which alone is measured in every page size. Larger strides, in base pages
/// only, would add their TLB misses. They stand in where the column of lines passes through a level that is too small to rest at.
fn cells_of(columns: &Columns, plateau_ns: f64) -> Vec<&Point> {
    let is_near = |point: &&Point, ratio: f64| point.ns < plateau_ns * ratio && point.ns > plateau_ns / ratio;
    let line: Vec<&Point> = columns.line().iter().filter(|point| is_near(point, EDGE_RATIO)).collect();
    if line.len() > 1 {
        return line;
    }
    columns.by_stride.values().flatten().filter(|point| is_near(point, PLATEAU_RATIO)).collect()
}

/// Lines that fill at most this share of the last cache cannot be served from memory: its index is hashed, so strides do
/// not crowd into few sets; what makes them slower is translation.
const SURELY_CACHED: f64 = 0.5;

/// Where memory has no value, a line slower than the slowest known cache by this ratio is of no known level: that of two levels, and
/// twice it where each load may need a translation.
const BEYOND_RATIO: f64 = LEVEL_RATIO;
const BEYOND_RATIO_TRANSLATED: f64 = 2.0 * LEVEL_RATIO;

/// Name of the level nearest in latency, in octaves; `None` if nothing is known, or nothing that slow.
pub fn classify<'a>(cell: &LatencyCell, levels: &'a Levels) -> Option<&'a str> {
    if !is_latency(cell.ns) {
        return None;
    }
    let distance = |level: &&Level| (cell.ns / level.ns).log2().abs();
    let nearest = levels
        .caches
        .iter()
        .filter(|level| is_latency(level.ns))
        .min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
    if let [.., last_cache, memory] = levels.caches.as_slice()
        && memory.name == MEMORY
        && std::ptr::eq(nearest, memory)
        && let Some(size) = last_cache.size_interval
    {
        let lines = cell.block_bytes.0 / cell.stride_bytes.0.max(LINE_BYTES);
        if (lines * LINE_BYTES) as f64 <= SURELY_CACHED * size.low {
            return Some(&last_cache.name);
        }
    }
    let slowest = levels.caches.last().filter(|slowest| slowest.name != MEMORY);
    let ratio = if cell.stride_bytes.0 <= LINE_BYTES { BEYOND_RATIO } else { BEYOND_RATIO_TRANSLATED };
    let is_beyond = slowest.is_some_and(|slowest| cell.ns > ratio * slowest.ns);
    (!is_beyond).then_some(&nearest.name)
}

//! Caches and memory as the surface shows them, beside what the machine claims, and which level served a cell.

use std::collections::BTreeSet;

use machine::Bytes;
use record::{ChaseOrder, Conditions, LatencyCell, Level, Levels, Record, Scope, Withheld};
use stats::Interval;

use crate::memory::{self, MemorySeen, same_kind};
use crate::surface::{Columns, LINE_BYTES, Point, is_latency, sane};
use crate::surface::{EDGE_RATIO, LEVEL_RATIO, MEMORY_BEYOND, SLOWEST_CACHE_NS, Size, plateaus, rest, size};
use crate::wording::rounded;

/// Cells this near to the plateau, as a ratio, make up its latency.
const PLATEAU_RATIO: f64 = 1.12;

/// The loop that only reads, as `kernels` names it.
const READ: &str = "read";

/// The levels, nearest first, none if the surface does not show any; and what was looked for and not found, with the
/// reason. Memory is the last level, if a block reached it.
pub(crate) fn caches(record: &Record) -> (Vec<Level>, Vec<Withheld>) {
    let mut withheld = Vec::new();
    let Some(columns) = Columns::of(&record.memory) else { return (Vec::new(), withheld) };
    let mut plateaus = plateaus(&columns);
    let claims = claims(record, &columns);
    let beyond_caches = if reaches_memory(&plateaus, &claims, &columns) { plateaus.pop() } else { None };
    let Some(last_ns) = plateaus.last().copied() else { return (Vec::new(), withheld) };
    let largest_claim = claims.iter().map(|claim| claim.1).max();
    let mut memory = memory::reached(record, &columns, last_ns, largest_claim);
    if let Some(plateau) = beyond_caches {
        memory = memory.or_else(|| memory::resting(&columns, last_ns).filter(|seen| seen.is_near(plateau)));
    }
    let next_ns = plateaus.iter().skip(1).copied().map(Some).chain([memory.as_ref().map(|seen| seen.ns)]);
    let reached = memory.as_ref().and_then(MemorySeen::block_bytes).map(|block| block as f64);
    let found: Vec<SeenCache> = plateaus
        .iter()
        .zip(next_ns)
        .map(|(here, next)| SeenCache::new(&columns, *here, next, reached))
        .collect();
    let numbers = numbers(&found, &claims);
    let mut levels: Vec<Level> = Vec::new();
    for (found, number) in found.iter().zip(&numbers) {
        let mut level = latency(&columns, found.ns);
        level.name = format!("L{number}");
        level.size_bytes = found.size.map(|size| Bytes(size.bytes as u64));
        level.size_interval = found.size.map(|size| size.interval);
        level.claimed_bytes = claims.iter().find(|claim| claim.0 == *number).map(|claim| claim.1);
        withheld.extend(found.doubtful_size(&level.name));
        levels.push(level);
    }
    withheld.extend(unresolved(&claims, &numbers));
    if memory.is_none() {
        withheld.extend(memory::not_believed(record, &columns).map(|seen| Withheld {
            what: "latency of memory".to_owned(),
            value: Some(seen.words()),
            because: "for all that is known a cache may hold that block".to_owned(),
        }));
    }
    levels.extend(memory.as_ref().map(MemorySeen::level));
    for (index, level) in levels.iter_mut().enumerate() {
        let blocks = served(&found, index, memory.as_ref());
        match blocks.and_then(|blocks| read_bandwidth(record, &columns, blocks)) {
            Some((rate, interval)) => {
                level.read_bytes_per_s = Some(rate);
                level.read_interval = Some(interval);
            }
            None if record.memory.bandwidth.iter().any(|point| point.kernel == READ) => {
                withheld.push(without_rate(&level.name));
            }
            None => {}
        }
    }
    (levels, withheld)
}

fn without_rate(name: &str) -> Withheld {
    Withheld {
        what: format!("read rate of {name}"),
        value: None,
        because: format!("no block that was read comes from {name} for certain"),
    }
}

/// A cache as the surface shows it, still without a name.
struct SeenCache {
    ns: f64,
    size: Option<Size>,
    /// Smallest and largest block that rest at its latency: the level surely serves those.
    rest: Option<[f64; 2]>,
    /// A size between two levels that lie too far apart for one edge.
    doubtful: Option<Size>,
    /// The largest block, of any stride, that has its latency: what is left where no block of lines rests.
    largest: Option<f64>,
}

impl SeenCache {
    fn new(columns: &Columns, ns: f64, next_ns: Option<f64>, reached: Option<f64>) -> Self {
        let line = columns.line();
        let rest = rest(line, ns);
        let size = next_ns.and_then(|next_ns| size(line, ns, next_ns, reached));
        let is_wide = |size: &Size| !size.is_one_edge(line, ns);
        let largest = span(columns, ns).map(|[_, largest]| largest);
        Self { ns, size: size.filter(|size| !is_wide(size)), rest, doubtful: size.filter(is_wide), largest }
    }

    /// Where the level ends, as far as that is known: its size, the last block that rests, or the last of its latency.
    fn end(&self) -> Option<f64> {
        self.size.map(|size| size.bytes).or(self.rest.map(|[_, end]| end)).or(self.largest)
    }

    /// The size that is not believed.
    fn doubtful_size(&self, name: &str) -> Option<Withheld> {
        let (size, [_, end]) = (self.doubtful?, self.rest?);
        Some(Withheld {
            what: format!("size of {name}"),
            value: Some(rounded(size.bytes).to_string()),
            because: format!(
                "latency leaves {name} at {} and is half-way to the next level only there: another level may lie between",
                rounded(end)
            ),
        })
    }
}

/// Claimed caches that have no plateau of their own; of the largest a finding tells.
fn unresolved(claims: &[(u8, Bytes)], numbers: &[u8]) -> Vec<Withheld> {
    let largest = claims.iter().map(|claim| claim.0).max();
    let missing = claims.iter().filter(|claim| !numbers.contains(&claim.0) && Some(claim.0) != largest);
    missing
        .map(|(number, claimed)| Withheld {
            what: format!("L{number}"),
            value: None,
            because: format!("no block rests at a latency of its own; {claimed} is claimed"),
        })
        .collect()
}

/// The blocks, above the first number and up to the second, that surely come from the level at `index`; memory is behind the
/// last cache.
fn served(found: &[SeenCache], index: usize, memory: Option<&MemorySeen>) -> Option<[f64; 2]> {
    let before = index.checked_sub(1).and_then(|before| found.get(before));
    let beyond = before.and_then(|before| before.size).map(|size| size.surely_beyond());
    let Some(here) = found.get(index) else {
        let reached = memory?.block_bytes().map(|block| block as f64 - 1.0);
        return Some([beyond.or(reached)?, f64::INFINITY]);
    };
    let above = here.size.map(|size| size.surely_inside()).or(here.rest.map(|[_, end]| end))?;
    let below = if index == 0 { Some(0.0) } else { beyond.or(here.rest.map(|[first, _]| first - 1.0)) };
    Some([below?, above])
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
        return span(columns, *slowest).is_some_and(|[smallest, _]| is_beyond(smallest));
    }
    let rests_beyond = rest(columns.line(), *slowest).is_some_and(|[_, end]| is_beyond(end));
    let more_than_claimed = !claims.is_empty() && found.len() > claims.len();
    rests_beyond || more_than_claimed || *slowest > SLOWEST_CACHE_NS
}

/// Smallest and largest block of the cells of a plateau.
fn span(columns: &Columns, plateau_ns: f64) -> Option<[f64; 2]> {
    let blocks = cells_of(columns, plateau_ns).into_iter().map(|cell| cell.block_bytes);
    let blocks: BTreeSet<u64> = blocks.collect();
    Some([*blocks.first()?, *blocks.last()?].map(|block| block as f64))
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
        let distance = |claim: &(u8, Bytes)| {
            level.end().map_or(0.0, |end| (claim.1.0 as f64 / end.max(1.0)).log2().abs())
        };
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

/// Sizes of a level in each page size that was measured, for two or more of them: scattered base pages collide in a
/// cache that contiguous huge pages fill evenly, so programs without huge pages get less of it. `reached` as in [`size`].
pub(crate) fn sizes_by_page(
    record: &Record,
    here_ns: f64,
    next_ns: f64,
    reached: f64,
) -> Vec<(Bytes, Bytes, Interval)> {
    let pages: BTreeSet<Bytes> = record.memory.latency.iter().map(|cell| cell.page_bytes).collect();
    let found: Vec<(Bytes, Bytes, Interval)> = pages
        .into_iter()
        .filter_map(|page| {
            let columns = Columns::of_pages(&record.memory, |of_cell| of_cell == page.0)?;
            let size = size(columns.line(), here_ns, next_ns, Some(reached))?;
            Some((page, Bytes(size.bytes as u64), size.interval))
        })
        .collect();
    if found.len() > 1 { found } else { Vec::new() }
}

/// The cells of a plateau: of the column of lines, which alone is measured in every page size. Larger strides, in base pages
/// only, would add their TLB misses. They stand in where the column of lines passes through a level that is too small to rest at.
fn cells_of(columns: &Columns, plateau: f64) -> Vec<&Point> {
    let is_near = |point: &Point, ns: f64, ratio: f64| point.ns < ns * ratio && point.ns > ns / ratio;
    let line: Vec<&Point> =
        columns.line().iter().filter(|point| is_near(point, plateau, EDGE_RATIO)).collect();
    if line.len() < 2 {
        let all = columns.by_stride.values().flatten();
        return all.filter(|point| is_near(point, plateau, PLATEAU_RATIO)).collect();
    }
    let values: Vec<f64> = line.iter().map(|point| point.ns).collect();
    let middle = stats::median(&values).unwrap_or(plateau);
    let core: Vec<&Point> =
        line.iter().copied().filter(|point| is_near(point, middle, PLATEAU_RATIO)).collect();
    if core.is_empty() { line } else { core }
}

/// Latency of a plateau over its cells, the level still without name and size.
fn latency(columns: &Columns, plateau: f64) -> Level {
    let cells = cells_of(columns, plateau);
    let values: Vec<f64> = cells.iter().map(|cell| cell.ns).collect();
    let cycles: Vec<f64> = cells.iter().filter_map(|cell| cell.core_cycles).collect();
    let ns = stats::median(&values).unwrap_or(plateau);
    // The wider of the scatter over cells and the typical interval inside a cell.
    let across =
        stats::quantile_interval(&stats::sorted(&values), 0.5).unwrap_or(Interval { low: ns, high: ns });
    let widths: Vec<f64> = cells.iter().map(|cell| cell.interval.half_width()).collect();
    let half = stats::median(&widths).unwrap_or(0.0);
    Level {
        name: String::new(),
        size_bytes: None,
        size_interval: None,
        claimed_bytes: None,
        ns,
        ns_interval: across.hull(&Interval { low: ns - half, high: ns + half }),
        core_cycles: stats::median(&cycles),
        read_bytes_per_s: None,
        read_interval: None,
        conditions: conditions(columns, &cells),
    }
}

/// What the cells of a plateau were measured in.
fn conditions(columns: &Columns, cells: &[&Point]) -> Option<Conditions> {
    let blocks = cells.iter().map(|cell| Bytes(cell.block_bytes));
    Some(Conditions {
        block_bytes: Some([blocks.clone().min()?, blocks.max()?]),
        page_bytes: columns.page_bytes.clone(),
        order: ChaseOrder::Random,
    })
}

/// Best read bandwidth of one CPU of the surface's kind at the block nearest to the middle of a level, in octaves; for memory the largest block.
fn read_bandwidth(record: &Record, columns: &Columns, [below, above]: [f64; 2]) -> Option<(f64, Interval)> {
    let inside = |block: f64| block > below && block <= above;
    // L1 has no lower bound: half of it is its middle. Memory has no upper one: the more the better.
    let target = match (below > 0.0, above.is_finite()) {
        (true, true) => (below * above).sqrt(),
        (false, true) => above / 2.0,
        _ => f64::MAX,
    };
    let distance = |block: u64| (target / block as f64).log2().abs();
    let points: Vec<_> = record
        .memory
        .bandwidth
        .iter()
        .filter(|point| {
            point.scope == Scope::Cpu
                && point.cpus.iter().all(|cpu| same_kind(record, cpu, columns.cpu))
                && point.kernel == READ
                && point.block_bytes.0 > 0
                && inside(point.block_bytes.0 as f64)
                && point.bytes_per_s.is_finite()
                && point.bytes_per_s > 0.0
        })
        .collect();
    let nearest = points.iter().map(|point| distance(point.block_bytes.0)).min_by(f64::total_cmp)?;
    points
        .into_iter()
        .filter(|point| distance(point.block_bytes.0) <= nearest)
        .max_by(|a, b| a.bytes_per_s.total_cmp(&b.bytes_per_s))
        .map(|point| (point.bytes_per_s, sane(point.spread.interval, point.bytes_per_s)))
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
    if nearest.size_bytes.is_none()
        && let [.., last_cache, memory] = levels.caches.as_slice()
        && std::ptr::eq(nearest, memory)
        && let Some(size) = last_cache.size_interval
    {
        let lines = cell.block_bytes.0 / cell.stride_bytes.0.max(LINE_BYTES);
        if (lines * LINE_BYTES) as f64 <= SURELY_CACHED * size.low {
            return Some(&last_cache.name);
        }
    }
    let slowest = levels.caches.last().filter(|slowest| slowest.name != crate::memory::MEMORY);
    let ratio = if cell.stride_bytes.0 <= LINE_BYTES { BEYOND_RATIO } else { BEYOND_RATIO_TRANSLATED };
    let is_beyond = slowest.is_some_and(|slowest| cell.ns > ratio * slowest.ns);
    (!is_beyond).then_some(&nearest.name)
}

//! Address translation: TLB reach and walk cost.
//!
//! The curve is the paired difference of spread and packed chains against the number of pages, so the cost of the caches
//! has cancelled already. A TLB boundary is a step that is large, certain and lasting, and that a second pass repeats.

use std::collections::BTreeMap;

use machine::{CpuId, TlbKind};
use record::{Levels, Record, TlbLevel, WalkPoint};
use stats::Interval;

use crate::surface::{LARGEST_BASE_PAGE_BYTES, sane};

/// Smallest step that is a boundary: half the cheapest second-level TLB hit known (about 4 cycles at 4 GHz).
const SMALLEST_STEP_NS: f64 = 0.5;

/// Differences below this are the noise of the method on a quiet machine.
const NOISE_FLOOR_NS: f64 = 0.1;

/// A step must exceed the typical earlier one by this factor.
const NOISE_FACTOR: f64 = 1.5;

/// Points after the boundary that must stay up.
const LASTING_POINTS: usize = 2;

/// And for how many times the pages: spread lines collide in L1 sets around its size (512 lines) and raise the curve
/// for about an octave.
const LASTING_RATIO: f64 = 2.5;

/// Fewer pairs than this prove nothing.
const FEWEST_PAIRS: usize = 7;

/// Share of the points in that reach that must stay up: a disturbed one may fall.
const LASTING_SHARE: f64 = 0.8;

/// A knee is over at this multiple of the page count where it starts.
const KNEE_RATIO: f64 = 1.4;

/// No data TLB in use is smaller, and fewer pages are not told from the noise of the loop's own pages.
const FEWEST_PAGES: u64 = 16;

/// No known CPU has more levels of data TLB; what rises behind the second is the walk itself growing dearer.
const MOST_LEVELS: usize = 2;

/// A boundary found by a second pass may lie this many times off, one step of a grid of two points per octave.
const PASS_RATIO: f64 = 1.51;

/// Walks are priced up to this multiple of the last TLB's reach: beyond, page tables leave the caches.
const WALK_REACH: f64 = 8.0;

/// One point of the curve.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Step {
    pages: u64,
    delta_ns: f64,
    interval: Interval,
    pairs: usize,
}

/// A boundary with what lies on its two sides.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Boundary {
    fits: u64,
    misses: u64,
    below_ns: f64,
    above_ns: f64,
    miss_interval: Interval,
}

/// Fills in TLB levels and the cost of a walk.
pub(crate) fn describe(record: &Record, levels: &mut Levels) {
    let passes = passes(record);
    if let Some(first) = passes.first() {
        let confirmed = confirmed(&passes, smallest_reach(record));
        let numbers = numbers(record, &confirmed);
        levels.tlbs =
            numbers.iter().zip(&confirmed).map(|(number, found)| tlb(record, *number, found)).collect();
        if let (Some(last), Some(number)) = (confirmed.last(), numbers.last()) {
            let (from, to) = (last.misses, last.fits as f64 * WALK_REACH);
            let beyond: Vec<Step> =
                first.iter().copied().filter(|step| step.pages >= from && step.pages as f64 <= to).collect();
            // A walk is known only where the last TLB level is: the second, or the last one claimed.
            if usize::from(*number) >= claimed_levels(record).unwrap_or(MOST_LEVELS) && !beyond.is_empty() {
                let (value, interval) = typical(&beyond);
                levels.walk_ns = Some(value);
                levels.walk_interval = Some(interval);
            }
        }
    }
}

/// The curves of the CPU with the most points on base pages: first what all passes say together, then what an independent
/// pass says alone. That one is the last visit of each point's raw differences, or a point that repeats a page count.
fn passes(record: &Record) -> Vec<Vec<Step>> {
    let usable = |point: &&WalkPoint| {
        point.page_bytes.0 <= LARGEST_BASE_PAGE_BYTES && point.pages > 0 && point.delta_ns.abs() < 1.0e4
    };
    let mut counts = BTreeMap::<CpuId, usize>::new();
    for point in record.memory.walks.iter().filter(usable) {
        *counts.entry(point.cpu).or_default() += 1;
    }
    let Some((cpu, _)) = counts.iter().max_by_key(|(cpu, count)| (**count, std::cmp::Reverse(**cpu))) else {
        return Vec::new();
    };
    let (mut first, mut second) = (BTreeMap::new(), BTreeMap::new());
    for point in record.memory.walks.iter().filter(usable).filter(|point| point.cpu == *cpu) {
        let step = Step {
            pages: point.pages,
            delta_ns: point.delta_ns,
            interval: sane(point.spread.interval, point.delta_ns),
            pairs: point.spread.windows,
        };
        if let std::collections::btree_map::Entry::Vacant(empty) = first.entry(point.pages) {
            empty.insert(step);
            second.extend(last_pass(record, point).map(|alone| (point.pages, alone)));
        } else {
            second.insert(point.pages, step);
        }
    }
    [first, second].into_iter().map(|pass| pass.into_values().collect()).collect()
}

/// The last pass of a point alone; `None` if there was only one, or its raw differences are not in the record. Its value
/// stands without an interval: a few pairs have hardly one, and certainty is the business of all passes together.
fn last_pass(record: &Record, point: &WalkPoint) -> Option<Step> {
    let raw = record.raw.get(point.spread.raw?).filter(|raw| raw.unit == "ns")?;
    let passes: Vec<&Vec<f32>> = raw.visits.iter().filter(|pass| !pass.is_empty()).collect();
    let [_, .., last] = passes.as_slice() else { return None };
    let delta_ns = stats::median(&last.iter().copied().map(f64::from).collect::<Vec<f64>>())?;
    let interval = Interval { low: delta_ns, high: delta_ns };
    Some(Step { pages: point.pages, delta_ns, interval, pairs: point.spread.windows })
}

/// Boundaries of the first pass that the second, where it was taken there, repeats.
fn confirmed(passes: &[Vec<Step>], smallest_reach: u64) -> Vec<Boundary> {
    let Some(first) = passes.first() else { return Vec::new() };
    let second = passes.get(1).filter(|pass| pass.len() > LASTING_POINTS + 1);
    let again = second.map(|pass| boundaries(pass, smallest_reach));
    boundaries(first, smallest_reach)
        .into_iter()
        // A cost that may be none is no boundary.
        .filter(|found| found.miss_interval.low > 0.0)
        .filter(|found| {
            let (Some(pass), Some(again)) = (second, &again) else { return true };
            let covered = pass.iter().any(|step| step.pages <= found.fits)
                && pass.iter().filter(|step| step.pages >= found.misses).count() > LASTING_POINTS;
            !covered
                || again.iter().any(|other| {
                    let ratio = other.misses as f64 / found.misses as f64;
                    ratio < PASS_RATIO && ratio > 1.0 / PASS_RATIO
                })
        })
        .take(MOST_LEVELS)
        .collect()
}

/// Steps of one pass that pass every test, nearest first.
fn boundaries(steps: &[Step], smallest_reach: u64) -> Vec<Boundary> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut index = 1;
    while index + LASTING_POINTS < steps.len() && found.len() < MOST_LEVELS {
        let level = typical(&steps[start..index]).0;
        let plateau = behind_the_knee(steps, index);
        let stays = typical(&steps[plateau.clone()]).0 - level > SMALLEST_STEP_NS;
        if steps[index].pages > smallest_reach && stays && rises(steps, start, index, level) {
            found.push(boundary(&steps[start..plateau.end], index - start, &steps[plateau.clone()]));
            start = plateau.start;
            index = start + 1;
        } else {
            index += 1;
        }
    }
    found
}

/// True if the curve leaves its level for good at `index`: for certain there and at the next two points, and nearly
/// everywhere for more than an octave.
fn rises(steps: &[Step], start: usize, index: usize, level: f64) -> bool {
    let earlier: Vec<f64> =
        steps[start..index].windows(2).map(|pair| (pair[1].delta_ns - pair[0].delta_ns).abs()).collect();
    let floor = NOISE_FLOOR_NS.max(NOISE_FACTOR * stats::median(&earlier).unwrap_or(0.0));
    let is_up = |step: &Step| step.delta_ns - level > SMALLEST_STEP_NS;
    let certain = steps[index..=index + LASTING_POINTS]
        .iter()
        .all(|step| step.pairs >= FEWEST_PAIRS && is_up(step) && step.interval.low - level > floor);
    let reach = steps[index].pages as f64 * LASTING_RATIO;
    let later: Vec<bool> =
        steps[index..].iter().take_while(|step| step.pages as f64 <= reach).map(is_up).collect();
    certain && later.iter().filter(|up| **up).count() as f64 >= LASTING_SHARE * later.len() as f64
}

/// The points of the next plateau: behind the knee that starts at `index`, for an octave or so, two at least.
fn behind_the_knee(steps: &[Step], index: usize) -> std::ops::Range<usize> {
    let first = steps[index].pages as f64;
    let start = steps.partition_point(|step| (step.pages as f64) < first * KNEE_RATIO);
    let start = start.clamp(index + 1, steps.len() - LASTING_POINTS);
    let end = steps.partition_point(|step| step.pages as f64 <= first * KNEE_RATIO * LASTING_RATIO);
    start..end.max(start + LASTING_POINTS)
}

/// The boundary between the level of the first `below` steps and a plateau at the end of the same steps. Of the page counts
/// between them those less than half-way up still fit: the loop's own pages take a few entries, too.
fn boundary(steps: &[Step], below: usize, plateau: &[Step]) -> Boundary {
    let (below_ns, below_interval) = typical(&steps[..below]);
    let (above_ns, above_interval) = typical(plateau);
    let middle = f64::midpoint(below_ns, above_ns);
    let contradictions = |split: &usize| {
        steps[..*split].iter().filter(|step| step.delta_ns >= middle).count()
            + steps[*split..].iter().filter(|step| step.delta_ns < middle).count()
    };
    let split = (1..steps.len()).min_by_key(contradictions).unwrap_or(below);
    Boundary {
        fits: steps[split - 1].pages,
        misses: steps[split].pages,
        below_ns,
        above_ns,
        miss_interval: Interval {
            low: above_interval.low - below_interval.high,
            high: above_interval.high - below_interval.low,
        },
    }
}

/// Median of the deltas, and an interval from the medians of their ends.
fn typical(steps: &[Step]) -> (f64, Interval) {
    let middle =
        |of: fn(&Step) -> f64| stats::median(&steps.iter().map(of).collect::<Vec<f64>>()).unwrap_or(0.0);
    let value = middle(|step| step.delta_ns);
    (
        value,
        sane(
            Interval { low: middle(|step| step.interval.low), high: middle(|step| step.interval.high) },
            value,
        ),
    )
}

/// Below twice the L1 data cache in pages, or a few pages, nothing is called a TLB boundary.
fn smallest_reach(record: &Record) -> u64 {
    let page = record.memory.walks.first().map_or(4096, |point| point.page_bytes.0.max(1));
    let first_cache = record
        .machine
        .topology
        .cpus
        .first()
        .and_then(|cpu| record.machine.topology.data_cache(cpu.id, 1))
        .and_then(|cache| cache.size_bytes);
    first_cache.map_or(0, |size| size.0.saturating_mul(2) / page).max(FEWEST_PAGES)
}

/// Entries that the machine claims for loads of base pages.
pub(crate) fn claimed(record: &Record, level: u8) -> Option<u32> {
    let page = record.memory.walks.first()?.page_bytes;
    let holds_loads = |kind| matches!(kind, TlbKind::Data | TlbKind::Load | TlbKind::Unified);
    record
        .machine
        .tlbs
        .iter()
        .filter(|tlb| tlb.level == level && holds_loads(tlb.kind) && tlb.page_bytes.contains(&page))
        .map(|tlb| tlb.entries)
        .filter(|entries| *entries > 0)
        .max()
}

fn claimed_levels(record: &Record) -> Option<usize> {
    (1..=MOST_LEVELS as u8).rev().find(|level| claimed(record, *level).is_some()).map(usize::from)
}

/// Level numbers of the boundaries. One alone is that of the claim it is nearest to: the first may not stand out where the
/// second does. Without claims they count up.
fn numbers(record: &Record, found: &[Boundary]) -> Vec<u8> {
    let distance = |boundary: &Boundary, level: u8| {
        let claim = claimed(record, level).map(f64::from)?;
        Some((boundary.fits as f64 / claim).log2().abs())
    };
    if let [one] = found
        && let (Some(first), Some(second)) = (distance(one, 1), distance(one, 2))
        && second < first
    {
        return vec![2];
    }
    (1..=found.len() as u8).collect()
}

fn tlb(record: &Record, level: u8, found: &Boundary) -> TlbLevel {
    let miss_ns = found.above_ns - found.below_ns;
    TlbLevel {
        level,
        entries: found.fits,
        entries_interval: Interval { low: found.fits as f64, high: found.misses as f64 },
        claimed_entries: claimed(record, level),
        miss_ns,
        miss_interval: sane(found.miss_interval, miss_ns),
    }
}

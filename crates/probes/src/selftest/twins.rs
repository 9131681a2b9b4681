//! A latency surface against itself: two of them, interleaved visit by visit, in one family of tests.
//!
//! The difference of two estimates and their intervals give a z, and Benjamini and Hochberg correct over all cells of
//! the family. Sign-flip permutation would need cells visited in common rounds; each surface plans its own.

use std::time::Instant;

use host::live::{PageRequest, Pinned};
use machine::{Bytes, CpuId};
use record::{CellPair, LatencyCell, Quality, Twins};
use stats::{Estimate, benjamini_hochberg};

use crate::memory::surface::{Settings, SurfaceError, SurfaceRun};
use crate::session::Session;

/// A cell is called different when its corrected p is below this.
const LEVEL: f64 = 0.05;
/// Cells whose two values differ by less than this share agree.
const AGREEMENT: f64 = 0.05;
/// Share of the cells not marked unstable that have to agree.
const AGREEING_SHARE_MIN: f64 = 0.95;
/// Share of the cells that may be marked unstable.
const UNSTABLE_SHARE_MAX: f64 = 0.20;
/// One cell called different is allowed for so many cells.
const CELLS_PER_ALARM: usize = 258;
/// Of the cells that do not agree at most so many are named.
const NAMED_MAX: usize = 8;

/// Thirty cells over all levels, in base pages.
pub(super) fn small(budget_s: f64) -> Settings {
    Settings { grid: super::small_grid(), ..Settings::check_up(PageRequest::Base, budget_s) }
}

/// All cells of the check-up.
pub(super) fn whole(page: PageRequest, budget_s: f64) -> Settings {
    Settings::check_up(page, budget_s)
}

/// Measures two surfaces, visit by visit in random order, and compares them.
pub(super) fn measure(
    session: &mut Session<'_>,
    cpu: CpuId,
    settings: &Settings,
) -> Result<Twins, SurfaceError> {
    let started = Instant::now();
    let surfaces = interleaved(session, cpu, settings, 2)?;
    let mut twins = compare(&surfaces[0], &surfaces[1]);
    twins.page_bytes = settings.page.page_bytes();
    twins.seconds = started.elapsed().as_secs_f64();
    Ok(twins)
}

/// Measures several surfaces with seeds of their own, one visit of each in turn, in an order shuffled for each turn.
pub(super) fn interleaved(
    session: &mut Session<'_>,
    cpu: CpuId,
    settings: &Settings,
    count: usize,
) -> Result<Vec<Vec<LatencyCell>>, SurfaceError> {
    let pinned = Pinned::to(cpu)?;
    let mut sampler = session.sampler(cpu);
    let mut runs = (0..count)
        .map(|_| SurfaceRun::new(settings.clone(), session.random.next_u64(), &sampler))
        .collect::<Result<Vec<_>, _>>()?;
    let mut random = stats::Random::new(session.random.next_u64());
    let mut going: Vec<usize> = (0..count).collect();
    let total_s = settings.budget_s * count as f64;
    while !going.is_empty() && !session.must_stop() {
        random.shuffle(&mut going);
        let mut left = Vec::with_capacity(count);
        for &index in &going {
            if runs[index].step(&mut sampler)? {
                left.push(index);
            }
        }
        going = left;
        session.progress.update(runs.iter().map(SurfaceRun::spent_s).sum::<f64>() / total_s);
    }
    session.absorb(&mut sampler);
    drop(pinned);
    let cells = |run: SurfaceRun| run.finish(cpu, None).into_iter().map(|(cell, _)| cell).collect();
    Ok(runs.into_iter().map(cells).collect())
}

/// Holds two surfaces against each other, cell by cell.
fn compare(first: &[LatencyCell], second: &[LatencyCell]) -> Twins {
    let pairs: Vec<(&LatencyCell, &LatencyCell)> = first
        .iter()
        .filter_map(|cell| second.iter().find(|other| place(other) == place(cell)).map(|other| (cell, other)))
        .collect();
    let p_values: Vec<f64> = pairs.iter().map(|(a, b)| estimate(a).difference_p(&estimate(b))).collect();
    let q_values = benjamini_hochberg(&p_values);
    let of_quality = |quality| {
        let marked = |cell: &LatencyCell| usize::from(cell.spread.quality == quality);
        share(pairs.iter().map(|(a, b)| marked(a) + marked(b)).sum(), 2 * pairs.len())
    };
    let judged: Vec<CellPair> = pairs.iter().zip(&q_values).map(|((a, b), &q)| pair(a, b, q)).collect();
    let stable = judged.iter().filter(|pair| is_stable(pair)).count();
    let disagreeing = judged.iter().filter(|pair| disagrees(pair)).count();
    let mut named: Vec<CellPair> =
        judged.iter().filter(|pair| pair.q < LEVEL || disagrees(pair)).copied().collect();
    named.sort_by(|a, b| difference(b).total_cmp(&difference(a)));
    named.truncate(NAMED_MAX);
    Twins {
        page_bytes: Bytes(0),
        cells: pairs.len(),
        called_different: q_values.iter().filter(|&&q| q < LEVEL).count(),
        agreeing_share: share(stable - disagreeing, stable),
        disagreeing,
        unstable_share: of_quality(Quality::Unstable),
        converged_share: of_quality(Quality::Converged),
        named,
        seconds: 0.0,
    }
}

fn pair(a: &LatencyCell, b: &LatencyCell, q: f64) -> CellPair {
    CellPair {
        block_bytes: a.block_bytes,
        stride_bytes: a.stride_bytes,
        ns: [a.ns, b.ns],
        half_width: [a, b].map(|cell| estimate(cell).relative_half_width()),
        mappings: [a.spread.mappings, b.spread.mappings],
        quality: [a.spread.quality, b.spread.quality],
        q,
    }
}

fn is_stable(pair: &CellPair) -> bool {
    pair.quality.iter().all(|&quality| quality != Quality::Unstable)
}

/// Difference as a share of the smaller.
fn difference(pair: &CellPair) -> f64 {
    let [a, b] = pair.ns;
    (a - b).abs() / a.min(b)
}

/// Stable, and too far apart.
fn disagrees(pair: &CellPair) -> bool {
    is_stable(pair) && difference(pair) > AGREEMENT
}

/// Which promises did not hold.
pub(super) fn failures(found: &Twins) -> Vec<String> {
    let mut failures = Vec::new();
    if found.called_different > found.cells.div_ceil(CELLS_PER_ALARM) {
        failures.push(format!("{} of {} cells differ from themselves", found.called_different, found.cells));
    }
    // One cell of a small surface is more than 5 % of it.
    if found.agreeing_share < AGREEING_SHARE_MIN && found.disagreeing > 1 {
        failures.push(format!(
            "{} cells that are not marked unstable differ by more than 5 %",
            found.disagreeing
        ));
    }
    if found.unstable_share > UNSTABLE_SHARE_MAX {
        failures.push(format!("{:.0} % of the cells are unstable", found.unstable_share * 100.0));
    }
    failures
}

fn place(cell: &LatencyCell) -> (Bytes, Bytes) {
    (cell.block_bytes, cell.stride_bytes)
}

fn estimate(cell: &LatencyCell) -> Estimate {
    Estimate { value: cell.ns, interval: cell.spread.interval, ..Estimate::default() }
}

/// A share, 1 of nothing.
pub(super) fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 1.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
pub(super) mod tests {
    use record::Spread;
    use stats::{Interval, Random};

    use super::*;

    /// A cell whose value scatters by `spread` and whose interval claims `half_width`.
    pub(crate) fn cell(index: u64, ns: f64, half_width: f64, quality: Quality) -> LatencyCell {
        LatencyCell {
            cpu: CpuId(0),
            block_bytes: Bytes(4096 * (index + 1)),
            stride_bytes: Bytes(64),
            page_bytes: Bytes(4096),
            ns,
            core_cycles: None,
            level: None,
            spread: Spread {
                interval: Interval { low: ns * (1.0 - half_width), high: ns * (1.0 + half_width) },
                quality,
                ..Spread::default()
            },
        }
    }

    fn surface(random: &mut Random, moved: u64) -> Vec<LatencyCell> {
        (0..258)
            .map(|index| {
                let shift = if index < moved { 1.2 } else { 1.0 };
                cell(index, 10.0 * shift * (1.0 + 0.005 * random.normal()), 0.0098, Quality::Converged)
            })
            .collect()
    }

    #[test]
    fn a_surface_equals_itself_and_differs_from_one_with_moved_cells() {
        let mut random = Random::new(11);
        let twins = compare(&surface(&mut random, 0), &surface(&mut random, 0));
        assert!(twins.called_different <= 1 && failures(&twins).is_empty(), "{twins:?}");
        let moved = compare(&surface(&mut random, 0), &surface(&mut random, 20));
        assert!((18..=23).contains(&moved.called_different), "{moved:?}");
        assert_eq!((moved.disagreeing, failures(&moved).len()), (20, 2));
        assert_eq!(moved.named.len(), NAMED_MAX);
    }

    #[test]
    fn unstable_cells_are_counted_and_need_not_agree() {
        let first: Vec<LatencyCell> = (0..4).map(|i| cell(i, 10.0, 0.01, Quality::Converged)).collect();
        let mut second = first.clone();
        second[0] = cell(0, 15.0, 0.6, Quality::Unstable);
        let twins = compare(&first, &second);
        assert!((twins.agreeing_share - 1.0).abs() < 1e-12);
        assert!((twins.unstable_share - 0.125).abs() < 1e-12);
    }

    #[test]
    fn surfaces_that_share_no_cell_compare_nothing() {
        let twins = compare(&[cell(0, 1.0, 0.1, Quality::Wide)], &[cell(1, 1.0, 0.1, Quality::Wide)]);
        assert_eq!((twins.cells, twins.called_different), (0, 0));
    }
}

//! Coverage of the surface's intervals: how many hold the median of all repeats of their cell.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use host::live::PageRequest;
use machine::{Bytes, CpuId};
use record::{CellCoverage, Coverage, LatencyCell, Quality};
use stats::{median, quantile};

use super::twins::{interleaved, share};
use crate::memory::surface::{Settings, SurfaceError};
use crate::session::Session;

/// Share of the intervals that have to hold the median of all repeats.
const COVERED_SHARE_MIN: f64 = 0.90;
/// Of the cells covered worst at most so many are named.
const NAMED_MAX: usize = 8;
/// A repeat of a cell whose value is off by more than this share is a miss even where its interval is wide.
const FAR_SHARE: f64 = 0.05;

/// Measures repeats of the small surface, interleaved visit by visit, and counts.
pub(super) fn measure(
    session: &mut Session<'_>,
    cpu: CpuId,
    repeats: usize,
    budget_s: f64,
) -> Result<Coverage, SurfaceError> {
    let started = Instant::now();
    let surface = Settings::check_up(PageRequest::Base, budget_s / repeats as f64);
    let settings = Settings { grid: super::small_grid(), ..surface };
    // Each surface stops on its own budget; the deadline is for a machine that is far too slow.
    session.deadline += Duration::from_secs_f64(budget_s);
    let surfaces = interleaved(session, cpu, &settings, repeats)?;
    Ok(Coverage { seconds: started.elapsed().as_secs_f64(), ..count(&surfaces) })
}

fn count(surfaces: &[Vec<LatencyCell>]) -> Coverage {
    let mut by_place: BTreeMap<(Bytes, Bytes), Vec<&LatencyCell>> = BTreeMap::new();
    for cell in surfaces.iter().flatten() {
        by_place.entry((cell.block_bytes, cell.stride_bytes)).or_default().push(cell);
    }
    let (mut intervals, mut covered, mut converged, mut covered_converged, mut unstable) = (0, 0, 0, 0, 0);
    let (mut misses, mut named) = (Vec::new(), Vec::new());
    for cells in by_place.values() {
        let truth = median(&values(cells)).unwrap_or(0.0);
        for cell in cells {
            let inside = usize::from(cell.spread.interval.contains(truth));
            let is_converged = usize::from(cell.spread.quality == Quality::Converged);
            intervals += 1;
            covered += inside;
            converged += is_converged;
            covered_converged += inside * is_converged;
            unstable += usize::from(cell.spread.quality == Quality::Unstable);
            misses.push(distance_in_widths(cell, truth));
        }
        named.push(cell_coverage(cells, truth));
    }
    named.sort_by(|a, b| a.covered_share.total_cmp(&b.covered_share));
    named.retain(|cell| cell.covered_share < COVERED_SHARE_MIN || cell.far_unmarked_share > 0.0);
    named.truncate(NAMED_MAX);
    Coverage {
        cells: by_place.len(),
        repeats: surfaces.len(),
        intervals,
        covered_share: share(covered, intervals),
        covered_share_converged: share(covered_converged, converged),
        converged_share: share(converged, intervals),
        unstable_share: share(unstable, intervals),
        factor_for_90_percent: quantile(&misses, 0.90).unwrap_or(0.0),
        factor_for_95_percent: quantile(&misses, 0.95).unwrap_or(0.0),
        named,
        seconds: 0.0,
    }
}

fn values(cells: &[&LatencyCell]) -> Vec<f64> {
    cells.iter().map(|cell| cell.ns).collect()
}

/// How far the truth lies from the value, in widths of the interval on that side; large where it has none.
fn distance_in_widths(cell: &LatencyCell, truth: f64) -> f64 {
    /// An interval without width misses by more than any factor mends.
    const DISTANCE_MAX: f64 = 1e3;
    let interval = cell.spread.interval;
    let width = if truth < cell.ns { cell.ns - interval.low } else { interval.high - cell.ns };
    let distance = (truth - cell.ns).abs();
    if distance == 0.0 { 0.0 } else { (distance / width).min(DISTANCE_MAX) }
}

fn cell_coverage(cells: &[&LatencyCell], truth: f64) -> CellCoverage {
    let of = |test: &dyn Fn(&LatencyCell) -> bool| {
        share(cells.iter().filter(|cell| test(cell)).count(), cells.len())
    };
    let relative: Vec<f64> = cells.iter().map(|cell| cell.spread.interval.half_width() / cell.ns).collect();
    let values = values(cells);
    let end = |q| quantile(&values, q).unwrap_or(0.0);
    CellCoverage {
        block_bytes: cells[0].block_bytes,
        stride_bytes: cells[0].stride_bytes,
        ns: truth,
        covered_share: of(&|cell| cell.spread.interval.contains(truth)),
        half_width: median(&relative).unwrap_or(0.0),
        scatter: (end(0.95) - end(0.05)) / 2.0 / truth,
        far_unmarked_share: of(&|cell| {
            cell.spread.quality != Quality::Unstable && (cell.ns / truth - 1.0).abs() > FAR_SHARE
        }),
        converged_share: of(&|cell| cell.spread.quality == Quality::Converged),
    }
}

/// The promise, if it did not hold.
pub(super) fn failure(found: &Coverage) -> Option<String> {
    (found.covered_share < COVERED_SHARE_MIN).then(|| {
        format!("{:.1} % of the intervals hold the median of all repeats", found.covered_share * 100.0)
    })
}

#[cfg(test)]
mod tests {
    use stats::Random;

    use super::super::twins::tests::cell;
    use super::*;

    /// Twenty repeats of thirty cells that scatter by 1 %, with intervals of so many standard deviations.
    fn simulated(deviations: f64) -> Coverage {
        let mut random = Random::new(5);
        let surfaces: Vec<Vec<LatencyCell>> = (0..20)
            .map(|_| {
                (0..30)
                    .map(|index| {
                        let ns = 10.0 * (1.0 + 0.01 * random.normal());
                        cell(index, ns, 0.01 * deviations, Quality::Converged)
                    })
                    .collect()
            })
            .collect();
        count(&surfaces)
    }

    #[test]
    fn coverage_of_normal_values_is_that_of_the_normal_distribution() {
        let wide = simulated(1.96);
        assert!((0.93..0.98).contains(&wide.covered_share), "{wide:?}");
        assert!(failure(&wide).is_none());
        let narrow = simulated(0.98);
        assert!((0.60..0.75).contains(&narrow.covered_share), "{narrow:?}");
        assert!(failure(&narrow).is_some());
        assert!((1.7..2.3).contains(&narrow.factor_for_95_percent), "{narrow:?}");
        assert_eq!(
            (narrow.cells, narrow.repeats, narrow.intervals, narrow.named.len()),
            (30, 20, 600, NAMED_MAX)
        );
    }

    #[test]
    fn an_interval_without_width_misses_by_far_and_nothing_covers_nothing() {
        let flat = cell(0, 1.0, 0.0, Quality::Converged);
        assert!(distance_in_widths(&flat, 1.1) > 100.0);
        assert!(distance_in_widths(&flat, 1.0).abs() < 1e-12);
        assert_eq!(count(&[]).intervals, 0);
    }
}

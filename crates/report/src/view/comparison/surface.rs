//! The difference of two latency surfaces, cell by cell: colours about no change, hatching where noise would do.

use std::collections::BTreeSet;

use machine::Bytes;
use record::{LatencyCell, Record};

use crate::draw::{Colours, MatrixChart, MatrixPanel, Measure};
use crate::figure::by_block_and_stride;
use crate::naming;
use crate::number::short;
use crate::page::{Drawn, Table};

/// Colours saturate at this change at least, and at most at that, in percent.
const REACH_PERCENT: (f64, f64) = (5.0, 100.0);
/// The colours saturate where this share of the cells lies within.
const REACH_QUANTILE: f64 = 0.98;

/// Two cells at one place.
type Both<'r> = (&'r LatencyCell, &'r LatencyCell);

/// The figure; `None` if the records have no cell in common.
pub(super) fn draw(name: &str, baseline: &Record, candidate: &Record, margin_percent: f64) -> Option<Drawn> {
    let pages: BTreeSet<Bytes> = baseline.memory.latency.iter().map(|cell| cell.page_bytes).collect();
    let panels: Vec<MatrixPanel> = pages
        .into_iter()
        .map(|page| panel(common(baseline, candidate, page), page))
        .filter(|panel| !panel.cells.is_empty())
        .collect();
    let sizes: Vec<f64> =
        panels.iter().flat_map(|panel| &panel.cells).map(|one| one.measure.value.abs()).collect();
    let reach = stats::quantile(&sizes, REACH_QUANTILE)?.clamp(REACH_PERCENT.0, REACH_PERCENT.1);
    let chart = MatrixChart {
        colours: Colours::Change { margin: margin_percent, reach },
        ..MatrixChart::by_block_and_stride(" %", panels)
    };
    let reading = format!(
        "Change of latency in percent, cell by cell: orange is slower, blue faster, without colour within the margin of \
         {margin_percent} %. Hatched cells have intervals that overlap: there the colour may be noise.",
    );
    Drawn::of(&chart, name, reading, Table::default())
}

fn common<'r>(baseline: &'r Record, candidate: &'r Record, page: Bytes) -> Vec<Both<'r>> {
    let place = |cell: &LatencyCell| (cell.page_bytes, cell.block_bytes, cell.stride_bytes);
    let find = |cell: &LatencyCell| candidate.memory.latency.iter().find(|other| place(other) == place(cell));
    let of_page = baseline.memory.latency.iter().filter(|cell| cell.page_bytes == page);
    let both = of_page.filter_map(|cell| Some((cell, find(cell)?)));
    both.filter(|both| change_percent(both).is_finite()).collect()
}

fn change_percent((cell, other): &Both<'_>) -> f64 {
    (other.ns / cell.ns - 1.0) * 100.0
}

/// The change of each cell, hatched where the intervals overlap.
fn panel(changes: Vec<Both<'_>>, page: Bytes) -> MatrixPanel {
    let measured = changes.into_iter().map(|both| {
        let (cell, other) = both;
        let doubtful = cell.spread.interval.overlaps(&other.spread.interval);
        let [from, to] = [cell.ns, other.ns].map(short);
        let basis = format!("{from} to {to} ns{}", if doubtful { ", intervals overlap" } else { "" });
        (cell, Measure { doubtful, basis, ..Measure::exact(change_percent(&both)) })
    });
    by_block_and_stride(naming::pages(page), measured.collect())
}

//! From the visits of a cell to its latency with an interval: what counts, what is set aside, what is unstable.

use host::live::{PageRequest, Pages};
use machine::{Bytes, CpuId};
use record::{LatencyCell, Quality, RawSeries, Spread};
use stats::{
    Estimate, EstimateOptions, PriorSpread, estimate as estimate_visits, median, pooled_spread, quantile,
};

use super::Place;
use crate::sampler::Visit;

/// Low quantile of the windows of a visit: noise only adds time.
const QUANTILE: f64 = 0.25;
/// A visit whose control loop is slower than the typical visit by this share was made in another state of the machine.
const STATE_SHARE: f64 = 0.08;
/// A cell whose interval is wider than this share of its value on either side has no single value.
const UNSTABLE_HALF_WIDTH: f64 = 0.10;
/// Share of a mapping that has to be in the pages asked for.
const PAGES_SHARE: f64 = 0.95;

/// One visit of a cell and the mapping it was made on.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CellVisit {
    pub(super) mapping: u32,
    pub(super) visit: Visit,
}

/// What is common to all cells of one surface.
pub(super) struct Context<'a> {
    pub(super) cpu: CpuId,
    pub(super) page: PageRequest,
    pub(super) pages: &'a [Pages],
    pub(super) target: f64,
    /// Cycles of one step of the multiply chain; `None` if the core's clock is unknown.
    pub(super) cycles_per_multiply: Option<f64>,
}

/// What all visits of a surface say about noise: the typical control readings and the spread between visits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Noise {
    multiply_ns: f64,
    port_ns: f64,
    prior: PriorSpread,
}

impl Noise {
    pub(super) fn of<'a>(cells: impl Iterator<Item = &'a [CellVisit]>) -> Self {
        let cells: Vec<&[CellVisit]> = cells.collect();
        let readings = || cells.iter().flat_map(|visits| visits.iter()).flat_map(|visit| visit.visit.control);
        let typical = |values: Vec<f64>| median(&values).unwrap_or(0.0);
        let by_visit: Vec<Vec<Vec<f64>>> = cells
            .iter()
            .map(|visits| visits.iter().map(|visit| visit.visit.windows.clone()).collect())
            .collect();
        Self {
            multiply_ns: typical(readings().map(|reading| reading.multiply_ns).collect()),
            port_ns: typical(readings().map(|reading| reading.port_ns).collect()),
            prior: pooled_spread(&by_visit, QUANTILE).unwrap_or_default(),
        }
    }

    /// True if the visit was made at the typical frequency and share of the core, from beginning to end.
    fn is_typical(&self, visit: &Visit) -> bool {
        let near = |value: f64, typical: f64| value <= typical * (1.0 + STATE_SHARE);
        let typical = |reading: &crate::control::ControlReading| {
            near(reading.multiply_ns, self.multiply_ns) && near(reading.port_ns, self.port_ns)
        };
        !visit.control_moved() && visit.control.iter().all(typical)
    }
}

/// A first value of a cell, to find knees with.
pub(super) fn quick_value(visits: &[CellVisit]) -> f64 {
    let centres: Vec<f64> =
        visits.iter().filter_map(|visit| quantile(&visit.visit.windows, QUANTILE)).collect();
    median(&centres).unwrap_or(0.0)
}

/// The visits that count: the typical ones, or all if none is.
fn counting<'a>(visits: &'a [CellVisit], noise: &Noise) -> Vec<&'a CellVisit> {
    let typical: Vec<&CellVisit> = visits.iter().filter(|visit| noise.is_typical(&visit.visit)).collect();
    if typical.is_empty() { visits.iter().collect() } else { typical }
}

/// Latency of a cell in nanoseconds with its interval; the unit of resampling is the visit.
pub(super) fn estimate(visits: &[CellVisit], noise: &Noise) -> Estimate {
    let windows: Vec<Vec<f64>> =
        counting(visits, noise).into_iter().map(|visit| visit.visit.windows.clone()).collect();
    let options = EstimateOptions { prior: noise.prior, ..EstimateOptions::durations(visits.len() as u64) };
    estimate_visits(&windows, &options)
}

/// One cell of the record with its raw windows.
pub(super) fn cell(
    place: Place,
    visits: &[CellVisit],
    noise: &Noise,
    context: &Context<'_>,
) -> (LatencyCell, RawSeries) {
    let estimate = estimate(visits, noise);
    let counted = counting(visits, noise);
    let mappings = distinct_mappings(&counted);
    let set_aside: usize =
        visits.iter().map(|visit| visit.visit.windows.len()).sum::<usize>() - estimate.windows;
    let dropped: usize = visits.iter().map(|visit| visit.visit.dropped).sum();
    let spread = Spread {
        mappings,
        ..Spread::of(&estimate, dropped + set_aside, quality(&estimate, context.target), None)
    };
    let multiply_ns =
        median(&counted.iter().flat_map(|v| v.visit.control.map(|c| c.multiply_ns)).collect::<Vec<_>>());
    let cell = LatencyCell {
        cpu: context.cpu,
        block_bytes: Bytes(place.block_bytes as u64),
        stride_bytes: Bytes(place.stride_bytes as u64),
        page_bytes: page_bytes(context, &counted),
        ns: estimate.value,
        core_cycles: context
            .cycles_per_multiply
            .and_then(|cycles| multiply_ns.map(|multiply_ns| estimate.value / multiply_ns * cycles)),
        level: None,
        spread,
    };
    (cell, raw(place, visits, context))
}

/// Twice the width aimed for still counts as converged: the aim is 1 %, the promise 2 %.
fn quality(estimate: &Estimate, target: f64) -> Quality {
    let half_width = estimate.relative_half_width();
    if half_width > UNSTABLE_HALF_WIDTH || estimate.modes.len() > 1 {
        Quality::Unstable
    } else if half_width > 2.0 * target {
        Quality::Wide
    } else {
        Quality::Converged
    }
}

fn distinct_mappings(visits: &[&CellVisit]) -> usize {
    let mut numbers: Vec<u32> = visits.iter().map(|visit| visit.mapping).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers.len()
}

/// The page size asked for if every mapping got it, else the base page.
fn page_bytes(context: &Context<'_>, visits: &[&CellVisit]) -> Bytes {
    let got = |visit: &&CellVisit| context.pages.get(visit.mapping as usize);
    if visits.iter().filter_map(got).all(|pages| pages.share >= PAGES_SHARE) {
        context.page.page_bytes()
    } else {
        PageRequest::Base.page_bytes()
    }
}

fn raw(place: Place, visits: &[CellVisit], context: &Context<'_>) -> RawSeries {
    let narrow = |windows: &[f64]| windows.iter().map(|&ns| ns as f32).collect();
    RawSeries {
        name: format!(
            "latency, {} pages asked for, block {}, stride {}",
            context.page.page_bytes(),
            Bytes(place.block_bytes as u64),
            Bytes(place.stride_bytes as u64)
        ),
        unit: "ns".to_owned(),
        visits: visits.iter().map(|visit| narrow(&visit.visit.windows)).collect(),
        mapping_of_visit: visits.iter().map(|visit| visit.mapping).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::ControlReading;

    fn visit(mapping: u32, ns: f64, port_ns: f64) -> CellVisit {
        let reading = ControlReading { multiply_ns: 1.0, port_ns };
        let windows = (0..9).map(|window| ns * (1.0 + f64::from(window) * 1e-4)).collect();
        CellVisit { mapping, visit: Visit { windows, dropped: 0, control: [reading; 2] } }
    }

    const PLACE: Place = Place { block_bytes: 4096, stride_bytes: 64 };

    fn cell_of(visits: &[CellVisit]) -> LatencyCell {
        let pages = [Pages { page_bytes: Bytes(4096), share: 1.0 }; 3];
        let context = Context {
            cpu: CpuId(0),
            page: PageRequest::Base,
            pages: &pages,
            target: 0.01,
            cycles_per_multiply: Some(3.0),
        };
        cell(PLACE, visits, &Noise::of([visits].into_iter()), &context).0
    }

    #[test]
    fn a_visit_beside_a_busy_sibling_is_set_aside_and_counted() {
        let cell = cell_of(&[visit(0, 1.0, 0.1), visit(0, 1.001, 0.1), visit(0, 1.9, 0.19)]);
        assert!((cell.ns - 1.0).abs() < 0.01, "{cell:?}");
        assert_eq!((cell.spread.dropped, cell.spread.windows), (9, 18));
    }

    #[test]
    fn mappings_that_disagree_make_a_cell_unstable_rather_than_averaged() {
        let cell = cell_of(&[visit(0, 1.0, 0.1), visit(1, 3.0, 0.1), visit(2, 1.0, 0.1)]);
        assert_eq!(cell.spread.quality, Quality::Unstable);
        assert_eq!(cell.spread.mappings, 3);
        assert!((cell.ns - 1.0).abs() < 0.01);
    }

    #[test]
    fn agreeing_visits_converge() {
        let cell = cell_of(&[visit(0, 5.0, 0.1), visit(0, 5.001, 0.1), visit(1, 5.002, 0.1)]);
        assert_eq!(cell.spread.quality, Quality::Converged);
        assert!(cell.spread.interval.contains(cell.ns));
        assert!((cell.core_cycles.expect("the chain's cycles are known") - 15.0).abs() < 0.1);
    }
}

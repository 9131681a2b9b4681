//! From the visits of a cell to its latency with an interval: what counts, what is set aside, what is unstable.

use std::collections::BTreeMap;

use host::live::{PageRequest, Pages};
use machine::{Bytes, CpuId};
use record::{LatencyCell, RawSeries, Spread};
use stats::{
    Across, Estimate, EstimateOptions, Interval, Mode, PriorSpread, estimate as estimate_visits, median,
    modes, pooled_spread, quantile, student_quantile,
};

use super::Place;
use crate::memory::series::{page_bytes, raw};
use crate::quality::Limits;
use crate::sampler::Visit;

/// Low quantile of the windows of a visit: noise only adds time.
const QUANTILE: f64 = 0.10;
/// A visit whose control loop is slower than the typical visit by this share was made in another state of the machine.
const STATE_SHARE: f64 = 0.08;
/// Visits of one cell on the same pages that differ by more than this share were not both undisturbed.
const AGREEMENT: f64 = 0.03;
/// Visits never agree better than this in the long run, however well those at hand do.
const SPREAD_MIN: f64 = 0.004;
/// A group of fewer cells does not know its own spread.
const GROUP_MIN: usize = 8;
/// A second state of a cell counts when it holds this share of all windows and is slower by `MODE_DISTANCE`.
const MODE_SHARE: f64 = 0.25;
/// See `MODE_SHARE`.
const MODE_DISTANCE: f64 = 0.10;

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

/// What all visits of a surface say about noise: the typical control readings, and the spread between mappings of
/// cells of like blocks, as what comes from a shared cache scatters more than what comes from the core's own.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Noise {
    multiply_ns: f64,
    port_ns: f64,
    spreads: BTreeMap<Group, PriorSpread>,
}

/// Cells whose spread is pooled together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    /// Blocks of one octave, by its exponent.
    Octave(u32),
    /// Latencies within one factor of four: where an octave has too few cells.
    Latency(i32),
}

impl Noise {
    pub(super) fn of<'a>(cells: impl Iterator<Item = (Place, &'a [CellVisit])>) -> Self {
        let cells: Vec<(Place, &[CellVisit])> = cells.collect();
        let readings =
            || cells.iter().flat_map(|(_, visits)| visits.iter()).flat_map(|visit| visit.visit.control);
        let typical = |values: Vec<f64>| median(&values).unwrap_or(0.0);
        let mut noise = Self {
            multiply_ns: typical(readings().map(|reading| reading.multiply_ns).collect()),
            port_ns: typical(readings().map(|reading| reading.port_ns).collect()),
            spreads: BTreeMap::new(),
        };
        let mut groups: BTreeMap<Group, Vec<Vec<Vec<f64>>>> = BTreeMap::new();
        for (place, visits) in &cells {
            let counted = counting(visits, &noise);
            for group in groups_of(*place, &counted) {
                groups.entry(group).or_default().push(units(&counted));
            }
        }
        let pooled = |group: &Vec<Vec<Vec<f64>>>| {
            let found = pooled_spread(group, QUANTILE, Across::LowerQuartile)?;
            Some(PriorSpread { relative: found.relative.max(SPREAD_MIN), ..found })
        };
        noise.spreads = groups
            .iter()
            .filter(|(_, cells)| cells.len() >= GROUP_MIN)
            .filter_map(|(&group, cells)| Some((group, pooled(cells)?)))
            .collect();
        noise
    }

    fn spread(&self, place: Place, counted: &[Vec<&CellVisit>]) -> PriorSpread {
        let of_group = |group| self.spreads.get(&group).copied();
        groups_of(place, counted).into_iter().find_map(of_group).unwrap_or_default()
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

/// The visits that count, by mapping: of those made in the typical state, or of all where fewer than two are, the
/// ones that agree with the fastest. Noise only adds time, so a visit that is slower than another one of the same
/// cell on the same pages was disturbed.
fn counting<'a>(visits: &'a [CellVisit], noise: &Noise) -> Vec<Vec<&'a CellVisit>> {
    let mut mappings: Vec<u32> = visits.iter().map(|visit| visit.mapping).collect();
    mappings.sort_unstable();
    mappings.dedup();
    let of_mapping = |mapping: &u32| -> Vec<&'a CellVisit> {
        let here =
            || visits.iter().filter(|visit| visit.mapping == *mapping && !visit.visit.windows.is_empty());
        let typical: Vec<&CellVisit> = here().filter(|visit| noise.is_typical(&visit.visit)).collect();
        let candidates = if typical.len() < 2 { here().collect() } else { typical };
        let fastest = candidates.iter().map(|visit| centre(visit)).fold(f64::INFINITY, f64::min);
        candidates.into_iter().filter(|visit| centre(visit) <= fastest * (1.0 + AGREEMENT)).collect()
    };
    // A mapping whose fastest visit stands alone may only have been disturbed, or its pages may lie badly: it counts,
    // and the interval shows the doubt.
    mappings.iter().map(of_mapping).filter(|visits| !visits.is_empty()).collect()
}

fn centre(visit: &CellVisit) -> f64 {
    quantile(&visit.visit.windows, QUANTILE).unwrap_or(f64::INFINITY)
}

/// The units of resampling: mappings where there are several, else the visits of the only one.
fn units(counted: &[Vec<&CellVisit>]) -> Vec<Vec<f64>> {
    match counted {
        [only] => only.iter().map(|visit| visit.visit.windows.clone()).collect(),
        several => several
            .iter()
            .map(|visits| visits.iter().flat_map(|visit| visit.visit.windows.iter().copied()).collect())
            .collect(),
    }
}

/// The groups of a cell, the closest first.
fn groups_of(place: Place, counted: &[Vec<&CellVisit>]) -> [Group; 2] {
    let fastest = counted.iter().flatten().map(|visit| centre(visit)).fold(f64::INFINITY, f64::min);
    let latency =
        if fastest.is_finite() && fastest > 0.0 { (fastest.log2() / 2.0).floor() as i32 } else { i32::MAX };
    [Group::Octave(place.block_bytes.max(1).ilog2()), Group::Latency(latency)]
}

/// Latency of a cell in nanoseconds with its interval.
pub(super) fn estimate(place: Place, visits: &[CellVisit], noise: &Noise) -> Estimate {
    let counted = counting(visits, noise);
    let options = EstimateOptions {
        prior: noise.spread(place, &counted),
        quantile: QUANTILE,
        across: Across::LowerQuartile,
        ..EstimateOptions::durations(visits.len() as u64)
    };
    let found = estimate_visits(&units(&counted), &options);
    if counted.len() != 1 {
        return found;
    }
    // Visits to one mapping cannot show how mappings differ; cells of like latency can.
    let reach = student_quantile(options.level, options.prior.degrees) * options.prior.relative * found.value;
    let interval = found.interval.hull(&Interval { low: found.value - reach, high: found.value + reach });
    Estimate { interval, ..found }
}

/// True if the two fastest visits on a mapping agree within this share: they have seen the cell undisturbed.
pub(super) fn is_settled(visits: &[CellVisit], mapping: u32, share: f64) -> bool {
    let mut centres: Vec<f64> = visits
        .iter()
        .filter(|visit| visit.mapping == mapping && !visit.visit.windows.is_empty())
        .map(centre)
        .collect();
    centres.sort_unstable_by(f64::total_cmp);
    matches!(centres.as_slice(), [fastest, second, ..] if *second <= fastest * (1.0 + share))
}

/// True while no two visits agree on the value of the cell: nothing confirms it yet.
pub(super) fn is_unconfirmed(place: Place, visits: &[CellVisit], noise: &Noise) -> bool {
    let value = estimate(place, visits, noise).value;
    let agrees = |visit: &&CellVisit| (centre(visit) / value - 1.0).abs() <= AGREEMENT;
    counting(visits, noise).into_iter().flatten().filter(agrees).count() < 2
}

/// One cell of the record with its raw windows.
pub(super) fn cell(
    place: Place,
    visits: &[CellVisit],
    noise: &Noise,
    context: &Context<'_>,
) -> (LatencyCell, RawSeries) {
    let estimate = estimate(place, visits, noise);
    let by_mapping = counting(visits, noise);
    let mappings = by_mapping.len();
    let counted: Vec<&CellVisit> = by_mapping.into_iter().flatten().collect();
    let windows: Vec<f64> = visits.iter().flat_map(|visit| visit.visit.windows.iter().copied()).collect();
    let dropped: usize = visits.iter().map(|visit| visit.visit.dropped).sum();
    let states = states(&windows);
    // Twice the width aimed for still counts as converged: the aim is 1 %, the promise 2 %.
    let is_confirmed = !is_unconfirmed(place, visits, noise);
    let quality =
        Limits::of_memory(2.0 * context.target).quality(estimate.relative_half_width(), is_confirmed);
    let low = estimate.interval.low.max(fastest_window(&counted) / 2.0);
    let estimate = Estimate { interval: Interval { low, ..estimate.interval }, ..estimate };
    let spread = Spread {
        mappings,
        modes: states,
        ..Spread::of(&estimate, dropped + windows.len() - estimate.windows, quality, None)
    };
    let multiplies: Vec<f64> =
        counted.iter().flat_map(|visit| visit.visit.control.map(|reading| reading.multiply_ns)).collect();
    let multiply_ns = median(&multiplies);
    let given = counted.iter().filter_map(|visit| context.pages.get(visit.mapping as usize));
    let cell = LatencyCell {
        cpu: context.cpu,
        block_bytes: Bytes(place.block_bytes as u64),
        stride_bytes: Bytes(place.stride_bytes as u64),
        page_bytes: page_bytes(context.page, given),
        ns: estimate.value,
        core_cycles: context
            .cycles_per_multiply
            .and_then(|cycles| multiply_ns.map(|multiply_ns| estimate.value / multiply_ns * cycles)),
        level: None,
        spread,
    };
    let windows = visits.iter().map(|visit| (visit.mapping, &visit.visit.windows));
    (cell, raw(series_name(place, context.page), "ns", windows))
}

/// No latency lies below half of the fastest window ever seen: what bounds an interval that is all doubt.
fn fastest_window(visits: &[&CellVisit]) -> f64 {
    let fastest =
        visits.iter().flat_map(|visit| visit.visit.windows.iter().copied()).fold(f64::INFINITY, f64::min);
    if fastest.is_finite() { fastest } else { 0.0 }
}

/// The states that all windows of a cell fall into, those set aside included; empty when there is only one that
/// matters. A minority of slow windows is noise, not a state.
fn states(windows: &[f64]) -> Vec<Mode> {
    let modes: Vec<Mode> = modes(windows).into_iter().filter(|mode| mode.share >= MODE_SHARE).collect();
    match modes.as_slice() {
        [fast, .., slow] if slow.value > fast.value * (1.0 + MODE_DISTANCE) => modes,
        _ => Vec::new(),
    }
}

/// The name of a cell's raw series.
pub(super) fn series_name(place: Place, page: PageRequest) -> String {
    let (block, stride) = (Bytes(place.block_bytes as u64), Bytes(place.stride_bytes as u64));
    format!("latency, {} pages asked for, block {block}, stride {stride}", page.page_bytes())
}

#[cfg(test)]
mod tests {
    use record::Quality;

    use super::*;
    use crate::control::ControlReading;
    use crate::saved;

    #[test]
    fn saved_windows_give_the_stored_cells() {
        let mut random = stats::Random::new(4);
        let mut cells: Vec<(Place, Vec<CellVisit>)> = Vec::new();
        for (index, series) in saved::series("latency").into_iter().enumerate() {
            let place = Place { block_bytes: (1 << 14) + 1024 * index, stride_bytes: 64 };
            cells.push((place, cell_visits(series.visits, &mut random)));
        }
        for visits in [1, 2, 7] {
            let made_up = saved::made_up(100.0, visits, &mut random);
            let place = Place { block_bytes: 1 << 25, stride_bytes: 64 << visits };
            cells.push((place, cell_visits(made_up, &mut random)));
        }
        let noise = Noise::of(cells.iter().map(|(place, visits)| (*place, visits.as_slice())));
        let pages = [Pages { page_bytes: Bytes(4096), share: 1.0 }; 4];
        let context = Context {
            cpu: CpuId(0),
            page: PageRequest::Base,
            pages: &pages,
            target: 0.01,
            cycles_per_multiply: Some(3.0),
        };
        let found: Vec<LatencyCell> =
            cells.iter().map(|(place, visits)| cell(*place, visits, &noise, &context).0).collect();
        saved::check("cells", &found);
    }

    fn cell_visits(visits: Vec<(u32, Vec<f64>)>, random: &mut stats::Random) -> Vec<CellVisit> {
        let visit = |(mapping, windows)| {
            let (dropped, control) = (random.below(3), saved::control(random));
            CellVisit { mapping, visit: Visit { windows, dropped, control } }
        };
        visits.into_iter().map(visit).collect()
    }

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
        cell(PLACE, visits, &Noise::of([(PLACE, visits)].into_iter()), &context).0
    }

    #[test]
    fn a_visit_that_nothing_else_confirms_is_not_taken_as_settled() {
        let visits = [visit(0, 1.0, 0.1), visit(0, 1.5, 0.1)];
        let noise = Noise::of([(PLACE, visits.as_slice())].into_iter());
        assert!(is_unconfirmed(PLACE, &visits, &noise));
        assert!(!is_unconfirmed(
            PLACE,
            &[visit(0, 1.0, 0.1), visit(0, 1.01, 0.1), visit(0, 1.5, 0.1)],
            &noise
        ));
    }

    #[test]
    fn a_cell_is_settled_on_a_mapping_when_its_two_fastest_visits_there_agree() {
        let visits = [visit(0, 1.0, 0.1), visit(0, 1.5, 0.1), visit(1, 1.0, 0.1), visit(1, 1.005, 0.1)];
        assert!(!is_settled(&visits, 0, 0.01));
        assert!(is_settled(&visits, 1, 0.01));
        assert!(!is_settled(&visits, 2, 0.01));
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

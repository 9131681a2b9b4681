//! All visits of one measured point, and what they say together: value, interval, doubt.
//!
//! The unit of resampling is the visit, as in the surface: what the windows of a visit share, the next process does
//! not. A visit made at another frequency or share of the core than is typical for its CPU is set aside.

use std::collections::BTreeMap;

use host::live::{PageRequest, Pages};
use machine::{Bytes, CpuId};
use record::{Quality, RawSeries, Spread};
use stats::{Across, Estimate, EstimateOptions, PriorSpread, estimate, median, pooled_spread, quantile};

use crate::control::ControlReading;
use crate::quality::Limits;
use crate::sampler::Visit;
use crate::session::Session;

/// A control loop slower than the typical one by this share belongs to another state of the machine.
const STATE_SHARE: f64 = 0.08;
/// This share of a visit's CPUs may have been in another state.
const CPUS_IN_ANOTHER_STATE: f64 = 0.1;
/// Share of a mapping that has to be in the pages asked for.
const PAGES_SHARE: f64 = 0.95;

/// Control loops of one CPU before and after a visit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ControlPair {
    pub(super) cpu: CpuId,
    pub(super) readings: [ControlReading; 2],
}

/// One visit of a point, its windows in the unit of the result.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct PointVisit {
    pub(super) mapping: u32,
    pub(super) windows: Vec<f64>,
    pub(super) dropped: usize,
    pub(super) control: Vec<ControlPair>,
}

impl PointVisit {
    /// A visit of a sampler, on the mapping of this number.
    pub(super) fn of(mapping: u32, cpu: CpuId, visit: Visit) -> Self {
        let control = vec![ControlPair { cpu, readings: visit.control }];
        Self { mapping, windows: visit.windows, dropped: visit.dropped, control }
    }
}

/// All visits of one point.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Series {
    pub(super) visits: Vec<PointVisit>,
}

/// What the windows are, and so which quantile stands for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Noise only adds.
    Duration,
    /// Noise only takes away.
    Rate,
    /// Noise goes both ways.
    Difference,
}

/// A point's value and its spread, without the place of its raw windows.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Judged {
    pub(super) value: f64,
    pub(super) spread: Spread,
}

/// What all points of a probe say about noise.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Judge {
    kind: Kind,
    /// Half-width at which a point counts as converged, relative to its value.
    target: f64,
    prior: PriorSpread,
    typical: BTreeMap<CpuId, ControlReading>,
}

impl Kind {
    fn options(self, seed: u64) -> EstimateOptions {
        match self {
            Self::Duration => EstimateOptions::durations(seed),
            Self::Rate => EstimateOptions::rates(seed),
            Self::Difference => EstimateOptions::medians(seed),
        }
    }
}

/// Raw windows of visits, each with the number of its mapping, rounded to single precision.
pub(super) fn raw<'a>(
    name: String,
    unit: &str,
    visits: impl Iterator<Item = (u32, &'a Vec<f64>)>,
) -> RawSeries {
    let narrow = |(mapping, windows): (u32, &'a Vec<f64>)| {
        (mapping, windows.iter().map(|&value| value as f32).collect())
    };
    let (mapping_of_visit, visits) = visits.map(narrow).unzip();
    RawSeries { name, unit: unit.to_owned(), visits, mapping_of_visit }
}

impl Judged {
    /// The same with its raw windows in the record.
    pub(super) fn kept(self, session: &mut Session<'_>, series: &Series, name: String, unit: &str) -> Self {
        let visits = series.visits.iter().map(|visit| (visit.mapping, &visit.windows));
        let index = session.record.push_raw(raw(name, unit, visits));
        Self { spread: Spread { raw: Some(index), ..self.spread }, ..self }
    }
}

impl Judge {
    /// Learns from all points of a probe what is typical.
    pub(super) fn of<'a>(kind: Kind, target: f64, points: impl Iterator<Item = &'a Series>) -> Self {
        let points: Vec<&Series> = points.collect();
        let mut readings: BTreeMap<CpuId, Vec<ControlReading>> = BTreeMap::new();
        for pair in points.iter().flat_map(|point| &point.visits).flat_map(|visit| &visit.control) {
            readings.entry(pair.cpu).or_default().extend(pair.readings);
        }
        let middle = |of: &[ControlReading], part: fn(&ControlReading) -> f64| {
            median(&of.iter().map(part).collect::<Vec<_>>()).unwrap_or(0.0)
        };
        let typical = readings
            .into_iter()
            .map(|(cpu, all)| {
                let multiply_ns = middle(&all, |reading| reading.multiply_ns);
                (cpu, ControlReading { multiply_ns, port_ns: middle(&all, |reading| reading.port_ns) })
            })
            .collect();
        let mut judge = Self { kind, target, prior: PriorSpread::default(), typical };
        // Differences near zero have no relative spread to learn from.
        if kind != Kind::Difference {
            let counted: Vec<Vec<Vec<f64>>> =
                points.iter().map(|point| judge.counted_windows(point)).collect();
            judge.prior =
                pooled_spread(&counted, kind.options(0).quantile, Across::Median).unwrap_or_default();
        }
        judge
    }

    fn counted_windows(&self, series: &Series) -> Vec<Vec<f64>> {
        self.counting(series).iter().map(|visit| visit.windows.clone()).collect()
    }

    /// How much slower the control loops of a visit were than is typical, as a ratio; the slowest of its CPUs is left
    /// out of ten.
    fn slowness(&self, visit: &PointVisit) -> f64 {
        let of_pair = |pair: &ControlPair| {
            self.typical.get(&pair.cpu).map_or(1.0, |typical| {
                let ratio = |value: f64, typical: f64| if typical > 0.0 { value / typical } else { 1.0 };
                let ratios = pair.readings.iter().map(|reading| {
                    ratio(reading.multiply_ns, typical.multiply_ns)
                        .max(ratio(reading.port_ns, typical.port_ns))
                });
                ratios.fold(1.0, f64::max)
            })
        };
        let ratios: Vec<f64> = visit.control.iter().map(of_pair).collect();
        quantile(&ratios, 1.0 - CPUS_IN_ANOTHER_STATE).unwrap_or(1.0)
    }

    /// The visits that count: the typical ones, and never less than the better half, as on a machine whose state
    /// changes all the time hardly any visit is typical from beginning to end.
    fn counting<'a>(&self, series: &'a Series) -> Vec<&'a PointVisit> {
        let mut measured: Vec<(f64, &PointVisit)> = series
            .visits
            .iter()
            .filter(|visit| !visit.windows.is_empty())
            .map(|visit| (self.slowness(visit), visit))
            .collect();
        measured.sort_by(|a, b| a.0.total_cmp(&b.0));
        let typical = measured.partition_point(|(slowness, _)| *slowness <= 1.0 + STATE_SHARE);
        let half = measured.len().div_ceil(2);
        measured.into_iter().take(typical.max(half)).map(|(_, visit)| visit).collect()
    }

    fn estimate(&self, series: &Series) -> Option<Estimate> {
        let windows = self.counted_windows(series);
        let options = EstimateOptions { prior: self.prior, ..self.kind.options(windows.len() as u64) };
        let found = estimate(&windows, &options);
        (found.windows > 0).then_some(found)
    }

    /// True if more visits would help: the interval is still wider than aimed for.
    pub(super) fn needs_more(&self, series: &Series) -> bool {
        self.estimate(series).is_none_or(|found| found.relative_half_width() > self.target)
    }

    /// Value and spread of a point; `None` if no window counts.
    pub(super) fn judge(&self, series: &Series) -> Option<Judged> {
        let found = self.estimate(series)?;
        Some(self.judged(series, &found, found.relative_half_width()))
    }

    /// The same for differences, whose width is measured against `scale`, the size of what is subtracted.
    pub(super) fn judge_against(&self, series: &Series, scale: f64) -> Option<Judged> {
        let found = self.estimate(series)?;
        Some(self.judged(series, &found, found.interval.half_width() / scale))
    }

    fn judged(&self, series: &Series, found: &Estimate, half_width: f64) -> Judged {
        let quality = Limits::of_memory(self.target).quality(half_width, true);
        let taken: usize = series.visits.iter().map(|visit| visit.windows.len() + visit.dropped).sum();
        let mut mappings: Vec<u32> = self.counting(series).iter().map(|visit| visit.mapping).collect();
        mappings.sort_unstable();
        mappings.dedup();
        let spread = Spread::of(found, taken - found.windows, quality, None);
        Judged { value: found.value, spread: Spread { mappings: mappings.len(), ..spread } }
    }
}

/// Windows in which members of a group were seen apart make a result doubtful when they outnumber those that count.
pub(super) fn doubted(spread: Spread, windows_apart: usize) -> Spread {
    if windows_apart > spread.windows { Spread { quality: Quality::Unstable, ..spread } } else { spread }
}

/// The page size asked for if every mapping got it, else the base page.
pub(super) fn page_bytes<'a>(request: PageRequest, given: impl IntoIterator<Item = &'a Pages>) -> Bytes {
    if given.into_iter().all(|pages| pages.share >= PAGES_SHARE) {
        request.page_bytes()
    } else {
        PageRequest::Base.page_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::saved;

    #[test]
    fn saved_windows_give_the_stored_values() {
        let mut random = stats::Random::new(3);
        let mut found = Vec::new();
        for (kind, prefix) in
            [(Kind::Rate, "compute"), (Kind::Duration, "latency"), (Kind::Difference, "latency")]
        {
            let mut points: Vec<_> = saved::series(prefix).into_iter().map(|series| series.visits).collect();
            points.push(saved::made_up(5.0, 7, &mut random));
            let mut point = |visits: Vec<(u32, Vec<f64>)>| {
                let visit = |(mapping, windows)| PointVisit {
                    mapping,
                    windows,
                    dropped: random.below(3),
                    control: vec![ControlPair { cpu: CpuId(0), readings: saved::control(&mut random) }],
                };
                Series { visits: visits.into_iter().map(visit).collect() }
            };
            let points: Vec<Series> = points.into_iter().map(&mut point).collect();
            let judge = Judge::of(kind, 0.02, points.iter());
            found.extend(points.iter().map(|point| {
                let judged = if kind == Kind::Difference {
                    judge.judge_against(point, 20.0)
                } else {
                    judge.judge(point)
                };
                (judged.expect("windows"), judge.needs_more(point))
            }));
        }
        saved::check("series", &found);
    }

    #[test]
    fn what_is_planted_moves_its_row_by_the_factor_and_no_other() {
        const FACTOR: f64 = 1.05;
        let saved = saved::series("latency");
        let chosen = saved[1].name;
        let values = |planted: Vec<record::Planted>| -> Vec<f64> {
            let mut session = saved::session();
            session.record.provenance.planted = planted;
            let mut sampler = session.sampler(CpuId(0));
            let mut point = |series: &saved::SavedSeries| {
                sampler.about(|| series.name.to_owned());
                let visit = |(mapping, windows): &(u32, Vec<f64>)| PointVisit {
                    mapping: *mapping,
                    windows: windows.iter().map(|ns| sampler.counted_ns(*ns)).collect(),
                    ..PointVisit::default()
                };
                Series { visits: series.visits.iter().map(visit).collect() }
            };
            let points: Vec<Series> = saved.iter().map(&mut point).collect();
            let judge = Judge::of(Kind::Duration, 0.02, points.iter());
            points.iter().map(|point| judge.judge(point).expect("windows").value).collect()
        };
        let planted = values(vec![record::Planted { row: chosen.to_owned(), factor: FACTOR }]);
        for ((series, own), planted) in saved.iter().zip(values(Vec::new())).zip(planted) {
            let expected = if series.name == chosen { FACTOR } else { 1.0 };
            assert!((planted / own - expected).abs() < 1e-9, "{}", series.name);
        }
    }

    fn visit(mapping: u32, value: f64, port_ns: f64) -> PointVisit {
        let reading = ControlReading { multiply_ns: 1.0, port_ns };
        PointVisit {
            mapping,
            windows: (0..9).map(|window| value * (1.0 + f64::from(window) * 1e-4)).collect(),
            dropped: 1,
            control: vec![ControlPair { cpu: CpuId(0), readings: [reading; 2] }],
        }
    }

    fn judged(kind: Kind, visits: &[PointVisit]) -> Judged {
        let series = Series { visits: visits.to_vec() };
        Judge::of(kind, 0.02, [&series].into_iter()).judge(&series).expect("visits with windows")
    }

    #[test]
    fn a_visit_beside_a_busy_sibling_is_set_aside_and_counted() {
        let found = judged(Kind::Rate, &[visit(0, 10.0, 0.1), visit(1, 10.01, 0.1), visit(2, 5.0, 0.19)]);
        assert!((found.value - 10.0).abs() < 0.1, "{found:?}");
        assert_eq!((found.spread.windows, found.spread.dropped, found.spread.mappings), (18, 12, 2));
        assert_eq!(found.spread.quality, Quality::Converged);
    }

    #[test]
    fn visits_that_disagree_are_unstable() {
        let found = judged(Kind::Duration, &[visit(0, 1.0, 0.1), visit(1, 3.0, 0.1), visit(2, 1.0, 0.1)]);
        assert_eq!(found.spread.quality, Quality::Unstable);
    }

    #[test]
    fn a_point_without_windows_has_no_value_and_needs_more() {
        let series = Series { visits: vec![PointVisit { dropped: 7, ..PointVisit::default() }] };
        let judge = Judge::of(Kind::Rate, 0.02, [&series].into_iter());
        assert_eq!(judge.judge(&series), None);
        assert!(judge.needs_more(&series));
    }

    #[test]
    fn a_difference_near_zero_is_judged_by_what_it_is_a_difference_of() {
        let mut around_zero = visit(0, 1.0, 0.1);
        around_zero.windows = vec![-0.01, 0.0, 0.01, 0.0, 0.005, -0.005, 0.0];
        let series = Series { visits: vec![around_zero] };
        let judge = Judge::of(Kind::Difference, 0.02, [&series].into_iter());
        let found = judge.judge_against(&series, 4.0).expect("seven windows");
        assert_eq!(found.spread.quality, Quality::Converged);
    }

    #[test]
    fn a_group_that_was_mostly_apart_is_doubted() {
        let spread = Spread { windows: 10, ..Spread::default() };
        assert_eq!(doubted(spread.clone(), 10).quality, Quality::Converged);
        assert_eq!(doubted(spread, 11).quality, Quality::Unstable);
    }

    #[test]
    fn pages_count_as_given_only_when_nearly_all_are() {
        let given = |share| Pages { page_bytes: Bytes(2 << 20), share };
        assert_eq!(page_bytes(PageRequest::Huge, &[given(1.0), given(0.96)]), Bytes(2 << 20));
        assert_eq!(page_bytes(PageRequest::Huge, &[given(1.0), given(0.5)]), Bytes(4096));
    }
}

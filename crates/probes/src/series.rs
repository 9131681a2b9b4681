//! All visits of one number: their windows by mapping, and the control loops beside them.
//!
//! What they say together is decided when all epochs are there ([`crate::estimator`]); here, only whether more visits are of use.

use host::live::{PageRequest, Pages};
use machine::{Bytes, CpuId};
use record::{Metric, Quality, RawSeries, Spread};

use crate::control::ControlReading;
use crate::estimator::{Estimator, Measured};
use crate::sampler::Visit;
use crate::session::Session;

/// Share of a mapping that has to be in the pages asked for.
const PAGES_SHARE: f64 = 0.95;

/// Control loops of one CPU before and after a visit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ControlPair {
    pub(crate) cpu: CpuId,
    pub(crate) readings: [ControlReading; 2],
}

/// One visit, its windows in the unit of the result.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct PointVisit {
    pub(crate) mapping: u32,
    pub(crate) windows: Vec<f64>,
    pub(crate) dropped: usize,
    pub(crate) control: Vec<ControlPair>,
}

impl PointVisit {
    /// A visit of a sampler, on the mapping of this number.
    pub(crate) fn of(mapping: u32, cpu: CpuId, visit: Visit) -> Self {
        let control = vec![ControlPair { cpu, readings: visit.control }];
        Self { mapping, windows: visit.windows, dropped: visit.dropped, control }
    }

    /// Adds a window with its value, or one that was set aside.
    pub(crate) fn add(&mut self, value: Option<f64>) {
        match value {
            Some(value) => self.windows.push(value),
            None => self.dropped += 1,
        }
    }
}

/// All visits of one number.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Series {
    pub(crate) visits: Vec<PointVisit>,
}

impl Series {
    /// The number with its windows in the record; `None` without one.
    pub(crate) fn measured(&self, session: &mut Session<'_>, of: &Metric, name: String) -> Option<Measured> {
        self.measured_against(session, of, name, 0.0)
    }

    /// The same of a difference, whose width is measured against the size of what is subtracted.
    pub(crate) fn measured_against(
        &self,
        session: &mut Session<'_>,
        of: &Metric,
        name: String,
        scale: f64,
    ) -> Option<Measured> {
        let dropped = self.visits.iter().map(|visit| visit.dropped).sum();
        let raw = self.raw(name, of.unit.name);
        let measured = Estimator::of_metric(of)?.of_epoch(&raw, dropped, scale)?;
        let raw = Some(session.record.push_raw(raw));
        Some(Measured { spread: Spread { raw, ..measured.spread }, ..measured })
    }

    /// Its windows as the record keeps them, rounded to single precision.
    pub(crate) fn raw(&self, name: String, unit: &str) -> RawSeries {
        let narrow =
            |visit: &PointVisit| (visit.mapping, visit.windows.iter().map(|&value| value as f32).collect());
        let (mapping_of_visit, visits) = self.visits.iter().map(narrow).unzip();
        RawSeries { name, unit: unit.to_owned(), visits, mapping_of_visit }
    }

    /// Adds a visit that shares nothing with the others.
    pub(crate) fn add(&mut self, visit: PointVisit) {
        self.visits.push(PointVisit { mapping: self.visits.len() as u32, ..visit });
    }

    /// All windows of all visits.
    pub(crate) fn windows(&self) -> Vec<f64> {
        self.visits.iter().flat_map(|visit| &visit.windows).copied().collect()
    }

    /// The value of each visit that has windows, the least disturbed first.
    pub(crate) fn values(&self, of: &Metric) -> Vec<f64> {
        let Some(estimator) = Estimator::of_metric(of) else { return Vec::new() };
        let values = self.visits.iter().filter_map(|visit| estimator.of_windows(&visit.windows));
        estimator.least_disturbed_first(&values.collect::<Vec<f64>>())
    }

    /// True if the two least disturbed visits agree within this share of `scale`: they have seen the point as it is.
    pub(crate) fn is_settled_against(&self, of: &Metric, share: f64, scale: f64) -> bool {
        matches!(self.values(of).as_slice(), [first, second, ..] if (first - second).abs() <= share * scale)
    }

    /// The same within a share of the value.
    pub(crate) fn is_settled(&self, of: &Metric, share: f64) -> bool {
        self.values(of).first().is_some_and(|first| self.is_settled_against(of, share, first.abs()))
    }
}

/// Windows in which members of a group were seen apart make a result doubtful when they outnumber those that count.
pub(crate) fn doubted(spread: Spread, windows_apart: usize) -> Spread {
    if windows_apart > spread.windows { Spread { quality: Quality::Unstable, ..spread } } else { spread }
}

/// The page size asked for if every mapping got it, else the base page.
pub(crate) fn page_bytes<'a>(request: PageRequest, given: impl IntoIterator<Item = &'a Pages>) -> Bytes {
    if given.into_iter().all(|pages| pages.share >= PAGES_SHARE) {
        request.page_bytes()
    } else {
        PageRequest::Base.page_bytes()
    }
}

#[cfg(test)]
mod tests {
    use record::metric;

    use super::*;
    use crate::saved;

    #[test]
    fn what_is_planted_moves_its_row_by_the_factor_and_no_other() {
        const FACTOR: f64 = 1.05;
        let saved = saved::series("latency");
        let chosen = saved[1].name;
        let values = |planted: Vec<record::Planted>| -> Vec<f64> {
            let mut session = saved::session();
            session.record.provenance.planted = planted;
            let mut sampler = session.sampler(CpuId(0));
            let mut value = |series: &saved::SavedSeries| {
                sampler.about(|| series.name.to_owned());
                let visit = |(mapping, windows): &(u32, Vec<f64>)| PointVisit {
                    mapping: *mapping,
                    windows: windows.iter().map(|ns| sampler.counted_ns(*ns)).collect(),
                    ..PointVisit::default()
                };
                let point = Series { visits: series.visits.iter().map(visit).collect() };
                let name = series.name.to_owned();
                point.measured(&mut session, &metric::LATENCY, name).expect("windows").value
            };
            saved.iter().map(&mut value).collect()
        };
        let planted = values(vec![record::Planted { row: chosen.to_owned(), factor: FACTOR }]);
        for ((series, own), planted) in saved.iter().zip(values(Vec::new())).zip(planted) {
            let expected = if series.name == chosen { FACTOR } else { 1.0 };
            assert!((planted / own - expected).abs() < 1e-6, "{}", series.name);
        }
    }

    #[test]
    fn two_visits_that_agree_settle_a_point_at_its_undisturbed_end() {
        let of = |values: &[f64]| {
            let visit = |&value: &f64| PointVisit { windows: vec![value; 9], ..PointVisit::default() };
            Series { visits: values.iter().map(visit).collect() }
        };
        for (values, latency, stream) in [
            (&[1.0, 1.01, 1.5][..], true, false),
            (&[1.0, 1.49, 1.5], false, true),
            (&[1.0], false, false),
            (&[], false, false),
        ] {
            let series = of(values);
            let found = [&metric::LATENCY, &metric::STREAM].map(|metric| series.is_settled(metric, 0.02));
            assert_eq!(found, [latency, stream], "{values:?}");
        }
        assert!(of(&[-0.01, 0.02]).is_settled_against(&metric::WALKS, 0.02, 4.0));
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

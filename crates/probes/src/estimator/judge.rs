//! From the windows of epochs to one value with its interval, its states and its quality.
//!
//! The unit is the epoch. Three of them say little about how they scatter: the variance of a row is moderated by what its class is known to
//! scatter by and, where there are many rows of its group, by what those scatter by in this run (as the variances of Smyth 2004, Linear models
//! and empirical Bayes methods). An epoch alone has the variance of its class, and that of its mappings.

use std::collections::BTreeMap;

use record::{Quality, RawSeries, Spread};
use stats::{Interval, Mode, Variance, median, moderated, student_quantile};

use super::{Estimator, Noise};
use crate::quality::quality;

/// A group of fewer rows does not know its own spread: the whole list's counts, and with fewer none.
const GROUP_MIN: usize = 8;
/// Epochs that differ by less than this share are one state, as are windows of an epoch.
const STATE_DISTANCE: f64 = 0.10;
/// Epochs that differ by less than so many standard deviations of their class are one state.
const STATE_DEVIATIONS: f64 = 3.0;
/// A state of an epoch's windows counts when it holds this share of them: a minority of slow windows is noise.
const STATE_SHARE: f64 = 0.25;
/// What is known of a class counts as so many further epochs. Of 2, 4, 6 and 8 the best interval score on half of the saved records.
const KNOWN_DEGREES: u32 = 4;
/// Probability that the interval covers.
const LEVEL: f64 = 0.95;
/// The median of many values scatters by sqrt(pi / 2) more than their mean; so does the best of three, within 4 %.
const EFFICIENCY: f64 = 1.253_314_137_315_500_1;
/// Median of the sample standard deviation over the true one, for 2, 3 and 4 values: square root of the median of chi-squared
/// over its degrees of freedom.
const MEDIAN_SAMPLE_DEVIATION: [f64; 3] = [0.6745, 0.8326, 0.8880];
/// As narrow as an interval can be asked to be, in standard deviations of the class: three epochs that agree reach 1.0 to 1.5.
const AIM: f64 = 1.5;

/// What one epoch says of a row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EpochEstimate {
    /// The value by the estimator of its class.
    pub(crate) value: f64,
    /// The same of each of its mappings; empty where the probe makes the value itself.
    pub(crate) mappings: Vec<f64>,
    /// Counts, states and doubt.
    pub(crate) spread: Spread,
}

/// All that epochs state of a row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    /// What differences are measured against.
    pub(crate) scale: f64,
    /// Rows of the same number scatter alike.
    pub(crate) group: u32,
    /// By epoch, in their order.
    pub(crate) epochs: Vec<EpochEstimate>,
}

/// A row's value, and which epoch stands for what was not judged.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Judged {
    pub(crate) value: f64,
    pub(crate) spread: Spread,
    /// The epoch nearest to the value, as an index into the epochs.
    pub(crate) nearest: usize,
}

impl EpochEstimate {
    /// From the windows of an epoch; `None` without one.
    pub(crate) fn of(estimator: &Estimator, raw: &RawSeries, dropped: usize) -> Option<Self> {
        let mut by_mapping: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for (index, visit) in raw.visits.iter().enumerate() {
            let mapping = raw.mapping_of_visit.get(index).copied().unwrap_or(index as u32);
            by_mapping.entry(mapping).or_default().extend(visit.iter().map(|&value| f64::from(value)));
        }
        by_mapping.retain(|_, windows| !windows.is_empty());
        let windows: Vec<f64> = by_mapping.values().flatten().copied().collect();
        let value = estimator.of_windows(&windows)?;
        let spread = Spread {
            interval: Interval { low: value, high: value },
            mappings: by_mapping.len(),
            windows: windows.len(),
            dropped,
            modes: states_of_windows(&windows),
            ..Spread::default()
        };
        let mappings = by_mapping.values().filter_map(|windows| estimator.of_windows(windows)).collect();
        Some(Self { value, mappings, spread })
    }
}

/// The states that windows fall into; empty when there is only one that matters.
fn states_of_windows(windows: &[f64]) -> Vec<Mode> {
    let modes: Vec<Mode> =
        stats::modes(windows).into_iter().filter(|mode| mode.share >= STATE_SHARE).collect();
    match modes.as_slice() {
        [fast, .., slow] if slow.value > fast.value * (1.0 + STATE_DISTANCE) => modes,
        _ => Vec::new(),
    }
}

/// Where a row's distances are measured: in shares of its value, or of its scale where it may be near zero.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Axis {
    Logarithm,
    Scale(f64),
}

impl Axis {
    fn of(row: &Row, noise: Noise) -> Self {
        let is_positive = row.epochs.iter().all(|epoch| epoch.value > 0.0 && epoch.value.is_finite());
        if is_positive && (noise != Noise::Both || row.scale <= 0.0) {
            Self::Logarithm
        } else {
            Self::Scale(if row.scale > 0.0 { row.scale } else { 1.0 })
        }
    }

    fn place(self, value: f64) -> f64 {
        match self {
            Self::Logarithm => value.ln(),
            Self::Scale(scale) => value / scale,
        }
    }

    fn places<'v>(self, values: impl Iterator<Item = &'v f64>) -> Vec<f64> {
        values.map(|&value| self.place(value)).collect()
    }

    fn value(self, place: f64) -> f64 {
        match self {
            Self::Logarithm => place.exp(),
            Self::Scale(scale) => place * scale,
        }
    }
}

/// What the rows of a list say together about the spread between epochs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Judge<'a> {
    estimator: &'a Estimator,
    groups: BTreeMap<u32, f64>,
    whole: Option<f64>,
}

impl<'a> Judge<'a> {
    pub(crate) fn of<'r>(estimator: &'a Estimator, rows: impl Iterator<Item = &'r Row>) -> Self {
        let mut by_group: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for row in rows {
            let axis = Axis::of(row, estimator.noise);
            if row.epochs.len() > 1 {
                let variance = Variance::of(&axis.places(row.epochs.iter().map(|epoch| &epoch.value))).value;
                let typical = MEDIAN_SAMPLE_DEVIATION.get(row.epochs.len() - 2).copied().unwrap_or(1.0);
                by_group.entry(row.group).or_default().push(variance.sqrt() / typical);
            }
        }
        let middle = |deviations: &Vec<f64>| {
            let is_known = deviations.len() >= GROUP_MIN;
            median(deviations).filter(|_| is_known)
        };
        let whole = middle(&by_group.values().flatten().copied().collect());
        let groups = by_group.iter().filter_map(|(&group, own)| Some((group, middle(own)?))).collect();
        Self { estimator, groups, whole }
    }

    /// The row's value and its spread; `None` if no epoch said anything.
    pub(crate) fn judge(&self, row: &Row) -> Option<Judged> {
        let axis = Axis::of(row, self.estimator.noise);
        let values: Vec<f64> = row.epochs.iter().map(|epoch| epoch.value).collect();
        let value = self.estimator.joined(&values)?;
        let place = axis.place(value);
        let places = axis.places(values.iter());
        let nearest = nearest(&places, place);
        let known = self.known(row);
        let reach = reach(known, axis, row, &places);
        let states = states(&places, STATE_DISTANCE.max(STATE_DEVIATIONS * known.sqrt()));
        let stands = match states.as_slice() {
            [] | [_] => true,
            several => several
                .iter()
                .any(|state| state.count * 2 > places.len() && state.low <= place && place <= state.high),
        };
        let doubted = row.epochs.iter().filter(|epoch| epoch.spread.quality == Quality::Unstable).count();
        let is_doubted = self.estimator.noise == Noise::Takes && doubted * 2 > places.len();
        let count = |of: fn(&Spread) -> usize| row.epochs.iter().map(|epoch| of(&epoch.spread)).sum();
        let spread = Spread {
            interval: Interval {
                low: axis.value(place - reach).min(value),
                high: axis.value(place + reach).max(value),
            },
            mappings: count(|spread| spread.mappings),
            windows: count(|spread| spread.windows),
            dropped: count(|spread| spread.dropped),
            quality: quality(AIM * self.estimator.between_epochs, reach, stands && !is_doubted),
            modes: modes(&states, axis, places.len(), &row.epochs[nearest].spread),
            raw: None,
            epochs: values,
            estimator: self.estimator.to_string(),
        };
        Some(Judged { value, spread, nearest })
    }

    /// Variance between epochs of such rows: what the class is known to have, and what the group has in this run.
    fn known(&self, row: &Row) -> f64 {
        let class = self.estimator.between_epochs.powi(2);
        let group = self.groups.get(&row.group).copied().or(self.whole);
        group.map_or(class, |deviation| f64::midpoint(class, deviation.powi(2)))
    }
}

/// How far the value may lie from that of further epochs.
fn reach(known: f64, axis: Axis, row: &Row, places: &[f64]) -> f64 {
    if let [only] = row.epochs.as_slice() {
        let mappings = axis.places(only.mappings.iter());
        let within = Variance::of(&mappings).value / mappings.len().max(1) as f64;
        return student_quantile(LEVEL, KNOWN_DEGREES) * (known + within).sqrt();
    }
    let known = Variance { value: known, degrees: f64::from(KNOWN_DEGREES) };
    let variance = moderated(Variance::of(places), known);
    let error = EFFICIENCY * (variance.value / places.len() as f64).sqrt();
    student_quantile(LEVEL, variance.degrees as u32) * error
}

fn nearest(places: &[f64], place: f64) -> usize {
    let distance = |index: &usize| (places[*index] - place).abs();
    (0..places.len()).min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap_or(0)
}

/// Epochs that agree.
#[derive(Debug, Clone, Copy, PartialEq)]
struct State {
    low: f64,
    high: f64,
    count: usize,
}

/// Epochs apart by more than this are separate states.
fn states(places: &[f64], distance: f64) -> Vec<State> {
    let mut states: Vec<State> = Vec::new();
    for place in stats::sorted(places) {
        match states.last_mut() {
            Some(state) if place - state.high <= distance => {
                state.high = place;
                state.count += 1;
            }
            _ => states.push(State { low: place, high: place, count: 1 }),
        }
    }
    states
}

/// The states of the epochs, or where they agree those that the windows of the nearest one fell into.
fn modes(states: &[State], axis: Axis, epochs: usize, nearest: &Spread) -> Vec<Mode> {
    if states.len() < 2 {
        return nearest.modes.clone();
    }
    let mode = |state: &State| Mode {
        value: axis.value(f64::midpoint(state.low, state.high)),
        share: state.count as f64 / epochs as f64,
    };
    states.iter().map(mode).collect()
}

//! From the values of epochs to one value with its interval, its states and its quality.
//!
//! The unit is the epoch. Three of them say little about how they scatter, rows of one group say much together: the variance
//! of a row is moderated by that of its group.

use std::collections::BTreeMap;

use record::{Quality, Spread};
use stats::{Interval, Mode, PriorSpread, median, student_quantile};

use super::estimator::{Estimator, Noise};
use crate::quality::Limits;

/// A group of fewer rows does not know its own spread: the whole list's counts.
const GROUP_MIN: usize = 8;
/// Epochs that differ by less than this share are one state, however narrow their intervals: the distance at which the windows
/// of a cell of the surface are two states.
const STATE_DISTANCE: f64 = 0.10;
/// Probability that the interval covers.
const LEVEL: f64 = 0.95;
/// The median of many values scatters by sqrt(pi / 2) more than their mean; so does the best of three, within 4 %.
const EFFICIENCY: f64 = 1.253_314_137_315_500_1;
/// Median of the sample standard deviation over the true one, for 2, 3 and 4 values: square root of the median of chi-squared
/// over its degrees of freedom.
const MEDIAN_SAMPLE_DEVIATION: [f64; 3] = [0.6745, 0.8326, 0.8880];

/// What one epoch says of a row.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct EpochEstimate {
    /// The value by the estimator of its class.
    pub(super) value: f64,
    /// How far the epoch's own interval reaches below and above the value that its probe stated.
    pub(super) reach: [f64; 2],
    /// What the epoch stated beside its own value.
    pub(super) spread: Spread,
}

/// All that epochs state of a row.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    /// What differences are measured against.
    pub(super) scale: f64,
    /// Rows of the same number scatter alike.
    pub(super) group: u32,
    /// By epoch, in their order.
    pub(super) epochs: Vec<EpochEstimate>,
}

/// A row's value, and which epoch stands for what was not judged.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Judged {
    pub(super) value: f64,
    pub(super) spread: Spread,
    /// The epoch nearest to the value, as an index into the epochs.
    pub(super) nearest: usize,
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

    fn value(self, place: f64) -> f64 {
        match self {
            Self::Logarithm => place.exp(),
            Self::Scale(scale) => place * scale,
        }
    }

    /// A distance below and above a value, in places.
    fn reach(self, epoch: &EpochEstimate) -> [f64; 2] {
        let [below, above] = epoch.reach.map(|reach| if reach.is_finite() { reach.max(0.0) } else { 0.0 });
        match self {
            // As far down as up in logarithms: an interval that reaches to zero must not reach to nothing.
            Self::Logarithm => [below, above].map(|reach| (reach / epoch.value).ln_1p()),
            Self::Scale(scale) => [below / scale, above / scale],
        }
    }
}

/// What the rows of a list say together about the spread between epochs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Judge<'a> {
    estimator: &'a Estimator,
    /// By group; the last is the whole list's.
    groups: BTreeMap<u32, f64>,
    whole: Option<f64>,
}

impl<'a> Judge<'a> {
    pub(super) fn of<'r>(estimator: &'a Estimator, rows: impl Iterator<Item = &'r Row>) -> Self {
        let mut by_group: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for row in rows {
            let axis = Axis::of(row, estimator.noise);
            let places: Vec<f64> = row.epochs.iter().map(|epoch| axis.place(epoch.value)).collect();
            if let Some(deviation) = deviation(&places) {
                let typical = MEDIAN_SAMPLE_DEVIATION.get(places.len() - 2).copied().unwrap_or(1.0);
                by_group.entry(row.group).or_default().push(deviation / typical);
            }
        }
        let all: Vec<f64> = by_group.values().flatten().copied().collect();
        let groups = by_group
            .iter()
            .filter(|(_, deviations)| deviations.len() >= GROUP_MIN)
            .filter_map(|(&group, deviations)| Some((group, median(deviations)?)))
            .collect();
        Self { estimator, groups, whole: median(&all) }
    }

    /// The row's value and its spread; `None` if no epoch said anything.
    pub(super) fn judge(&self, row: &Row) -> Option<Judged> {
        let axis = Axis::of(row, self.estimator.noise);
        let values: Vec<f64> = row.epochs.iter().map(|epoch| epoch.value).collect();
        let value = self.estimator.joined(&values)?;
        let places: Vec<f64> = values.iter().map(|&value| axis.place(value)).collect();
        let place = axis.place(value);
        let nearest = nearest(&places, place);
        let between = self.between(row.group, &places);
        let reach = [0, 1].map(|side| between.max(within(row, axis, side)));
        let interval = Interval {
            low: axis.value(place - reach[0]).min(value),
            high: axis.value(place + reach[1]).max(value),
        };
        let states = states(row, axis, &places);
        let stands = match states.as_slice() {
            [] | [_] => true,
            several => several
                .iter()
                .any(|state| state.count * 2 > places.len() && state.low <= place && place <= state.high),
        };
        let half_width = reach[0].max(reach[1]);
        let doubted = row.epochs.iter().filter(|epoch| epoch.spread.quality == Quality::Unstable).count();
        let is_doubted = self.estimator.noise == Noise::Takes && doubted * 2 > places.len();
        let quality = Limits::of_cores(self.estimator.half_width).quality(half_width, stands && !is_doubted);
        let count = |of: fn(&Spread) -> usize| row.epochs.iter().map(|epoch| of(&epoch.spread)).sum();
        let spread = Spread {
            interval,
            mappings: count(|spread| spread.mappings),
            windows: count(|spread| spread.windows),
            dropped: count(|spread| spread.dropped),
            quality,
            modes: modes(&states, axis, places.len(), &row.epochs[nearest].spread),
            raw: None,
            epochs: values,
            estimator: self.estimator.to_string(),
        };
        Some(Judged { value, spread, nearest })
    }

    /// How far the value may lie from the truth by what epochs differ.
    fn between(&self, group: u32, places: &[f64]) -> f64 {
        let prior = PriorSpread::default();
        let pooled = self.groups.get(&group).copied().or(self.whole).unwrap_or(prior.relative);
        let own_degrees = places.len() as u32 - 1;
        let own = deviation(places).unwrap_or(0.0);
        let degrees = prior.degrees + own_degrees;
        let moderated = (f64::from(prior.degrees) * pooled.powi(2) + f64::from(own_degrees) * own.powi(2))
            / f64::from(degrees);
        student_quantile(LEVEL, degrees) * standard_error(moderated.sqrt(), places.len())
    }
}

/// Error of the value of so many epochs that scatter so much.
fn standard_error(deviation: f64, epochs: usize) -> f64 {
    let efficiency = if epochs > 1 { EFFICIENCY } else { 1.0 };
    efficiency * deviation / (epochs as f64).sqrt()
}

/// How far the value may lie from the truth by what each epoch saw within it.
fn within(row: &Row, axis: Axis, side: usize) -> f64 {
    let squares: f64 = row.epochs.iter().map(|epoch| axis.reach(epoch)[side].powi(2)).sum();
    standard_error((squares / row.epochs.len() as f64).sqrt(), row.epochs.len())
}

fn deviation(places: &[f64]) -> Option<f64> {
    let deviation = stats::sample_variance(places).sqrt();
    (places.len() > 1 && deviation.is_finite()).then_some(deviation)
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

/// Epochs apart by more than their intervals, and by more than `STATE_DISTANCE`, are separate states.
fn states(row: &Row, axis: Axis, places: &[f64]) -> Vec<State> {
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by(|&a, &b| places[a].total_cmp(&places[b]));
    let mut states: Vec<State> = Vec::new();
    let mut reached = f64::NEG_INFINITY;
    for index in order {
        let [below, above] = axis.reach(&row.epochs[index]);
        let place = places[index];
        match states.last_mut() {
            Some(state) if place - state.high <= STATE_DISTANCE || place - below <= reached => {
                state.high = place;
                state.count += 1;
            }
            _ => states.push(State { low: place, high: place, count: 1 }),
        }
        reached = reached.max(place + above);
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

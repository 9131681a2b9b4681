//! Offset and rate between two counters from many exchanges: what is certain, and what is likely.
//!
//! An exchange says that the offset was at least `lo` at one tick and at most `hi` at another. A counter that runs at a
//! constant rate draws a straight line that passes above all lower points and below all upper ones: the feasible strip.
//!
//! ```text
//! certain   steepest line   min over lower points i before upper points j of (hi_j - lo_i) / (t_j - t_i)
//!           flattest line   the same with the roles changed
//!           no line fits    flattest > steepest: not one constant rate (a step, or a rate that changed)
//!           drift           max lo > min hi: no constant offset fits
//! likely    least squares through the centres (t_lo + t_hi, lo + hi) / 2, with its standard error
//! ```
//! Both halves of a centre are taken at their own ticks, so the centre of an exchange lies on the line also when the line
//! is so steep that its ends differ by more than the strip is wide.
//!
//! Three pairs make a ring: from a to b, from b to c and back to a one is where one began. Intervals of which no three offsets add up
//! to zero contradict each other: one of them was not an interval, or an offset changed between the measurements. Centres that miss
//! zero by more than their errors tell of paths whose two directions differ.
//!
//! All times and offsets are ticks of the first counter, as `f64`: exact to one tick for 2^53 ticks, a month at 3 GHz. A rate is
//! a pure number.

use crate::exchange::Exchanged;

/// A bound at a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Ticks of the first counter since the beginning of the strip.
    pub at_ticks: f64,
    /// Second counter minus first, in ticks.
    pub offset_ticks: f64,
}

/// One exchange in a strip.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sighting {
    /// The offset is at least this.
    pub lower: Point,
    /// The offset is at most this.
    pub upper: Point,
}

/// Exchanges between two counters, in any order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Strip {
    /// The tick of the first counter that is time 0.
    pub origin_ticks: u64,
    /// Steps in which the counters count, in ticks: see [`crate::resolution_ticks`]. What is read lags what is meant by less than
    /// one step, on both CPUs, so that bounds which shall hold for a straight line are wider by a step on either side.
    pub resolution_ticks: f64,
    /// The exchanges that count.
    pub sightings: Vec<Sighting>,
}

/// A closed interval; empty if `low > high`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// Not below this.
    pub low: f64,
    /// Not above this.
    pub high: f64,
}

/// Two bounds that no constant offset fits: the certain sign that counters moved.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Contradiction {
    /// The offset was at least this.
    pub at_least: Point,
    /// The offset was at most this, which is less.
    pub at_most: Point,
}

/// The line through the centres, by least squares.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    /// Mean time of the centres.
    pub mean_at_ticks: f64,
    /// Offset at that time.
    pub offset_ticks: f64,
    /// Standard error of the offset.
    pub offset_error_ticks: f64,
    /// Slope: 1e-9 is one part per billion.
    pub rate: f64,
    /// Standard error of the slope, for centres that err independently of each other or in runs.
    pub rate_error: f64,
    /// Standard deviation of a centre about the line.
    pub residual_ticks: f64,
    /// Centres.
    pub count: usize,
}

/// Standard errors that a rate has to be away from zero to be taken for real.
pub(crate) const ERRORS_FOR_DRIFT: f64 = 6.0;
/// Exchanges below which a standard error is not believed.
pub const SIGHTINGS_FOR_DRIFT: usize = 6;
/// The centre of an exchange lies within its half-width of the truth, so two centres may differ by twice that, and nothing has
/// moved but the path. On a guest it does: its host moves the virtual CPUs between cores that are near or far, and whose counters
/// are some nanoseconds apart. On one the centres went from -10 to +15 ns within four minutes, at a half-width of 30 ns, and back.
/// Only what moved the centres by more is taken for drift.
pub(crate) const HALF_WIDTHS_FOR_DRIFT: f64 = 2.0;

impl Bounds {
    /// Whether nothing lies within.
    pub fn is_empty(&self) -> bool {
        self.low > self.high
    }

    /// Whether a value lies within.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// What lies within and is nearest to a value; the middle if the ends cross.
    pub fn nearest_to(&self, value: f64) -> f64 {
        if self.is_empty() { f64::midpoint(self.low, self.high) } else { value.max(self.low).min(self.high) }
    }
}

impl Point {
    fn raised(self, by_ticks: f64) -> Self {
        Self { offset_ticks: self.offset_ticks + by_ticks, ..self }
    }
}

impl Sighting {
    /// The symmetric estimate: the offset if both directions take equally long.
    pub fn centre(&self) -> Point {
        Point {
            at_ticks: f64::midpoint(self.lower.at_ticks, self.upper.at_ticks),
            offset_ticks: f64::midpoint(self.lower.offset_ticks, self.upper.offset_ticks),
        }
    }

    /// Half the width of the causality interval.
    pub fn half_width_ticks(&self) -> f64 {
        (self.upper.offset_ticks - self.lower.offset_ticks) / 2.0
    }
}

impl Strip {
    /// A strip without exchanges, whose time 0 is a tick of the first counter. The counters count every tick.
    pub fn new(origin_ticks: u64) -> Self {
        Self::with_resolution(origin_ticks, 0.0)
    }

    /// The same for counters that count in steps of so many ticks.
    pub fn with_resolution(origin_ticks: u64, resolution_ticks: f64) -> Self {
        Self { origin_ticks, resolution_ticks, sightings: Vec::new() }
    }

    /// Adds an exchange. The caller has seen that it is usable.
    pub fn push(&mut self, exchanged: &Exchanged) {
        let point = |bound: crate::Bound| Point {
            at_ticks: bound.at_ticks.wrapping_sub(self.origin_ticks).cast_signed() as f64,
            offset_ticks: bound.offset_ticks as f64,
        };
        let (lower, upper) = (point(exchanged.at_least), point(exchanged.at_most));
        self.sightings.push(Sighting { lower, upper });
    }

    /// The rates of all lines that pass between all bounds: certain, if the rate is constant. Infinite on the sides
    /// on which nothing bounds it; empty if no line fits.
    pub fn rate(&self) -> Bounds {
        let step = self.resolution_ticks;
        let lower: Vec<Point> = self.sightings.iter().map(|sighting| sighting.lower.raised(-step)).collect();
        let upper: Vec<Point> = self.sightings.iter().map(|sighting| sighting.upper.raised(step)).collect();
        Bounds { low: -steepest(&mirrored(&upper), &mirrored(&lower)), high: steepest(&lower, &upper) }
    }

    /// Offsets that all exchanges allow, if it is constant: the certain sign of drift or of a step is that there are none.
    pub fn constant_offset(&self) -> Bounds {
        self.tightest().map_or(Bounds { low: f64::NEG_INFINITY, high: f64::INFINITY }, |(lower, upper)| {
            Bounds { low: lower.offset_ticks, high: upper.offset_ticks }
        })
    }

    /// The highest lower point and the lowest upper one, wider by a step of the counters; `None` without exchanges.
    fn tightest(&self) -> Option<(Point, Point)> {
        let by_offset = |a: &Point, b: &Point| a.offset_ticks.total_cmp(&b.offset_ticks);
        let lower = self.sightings.iter().map(|sighting| sighting.lower.raised(-self.resolution_ticks));
        let upper = self.sightings.iter().map(|sighting| sighting.upper.raised(self.resolution_ticks));
        lower.max_by(by_offset).zip(upper.min_by(by_offset))
    }

    /// The two bounds that contradict each other most, if any do; the steps in which the counters count are taken off.
    pub fn contradiction(&self) -> Option<Contradiction> {
        let (at_least, at_most) = self.tightest()?;
        (at_least.offset_ticks > at_most.offset_ticks).then_some(Contradiction { at_least, at_most })
    }

    /// Certain drift or step: no constant offset fits.
    pub fn moves_for_certain(&self) -> bool {
        self.contradiction().is_some()
    }

    /// Likely drift: the rate is six standard errors from zero, and has moved the centres by more than a change of the
    /// path can.
    pub fn moves_likely(&self) -> bool {
        let rates = self.line().zip(self.least_likely_rate());
        rates.is_some_and(|(line, least)| line.rate.abs() > least)
    }

    /// The rate from which on drift is likely; `None` where too little is known. Steps in which the counters count hide as much
    /// movement as they are wide.
    pub fn least_likely_rate(&self) -> Option<f64> {
        let line = self.line().filter(|_| self.sightings.len() >= SIGHTINGS_FOR_DRIFT)?;
        let by_scatter = ERRORS_FOR_DRIFT * line.rate_error.hypot(self.rate_rounding());
        let half_width = self.half_width_ticks()?.max(0.0) + self.resolution_ticks;
        Some(by_scatter.max(HALF_WIDTHS_FOR_DRIFT * half_width / self.span_ticks()))
    }

    /// The line through the centres; `None` below three exchanges or if all are at one time.
    pub fn line(&self) -> Option<Line> {
        let mut centres: Vec<Point> = self.sightings.iter().map(Sighting::centre).collect();
        centres.sort_by(|a, b| a.at_ticks.total_cmp(&b.at_ticks));
        fit(&centres)
    }

    /// Ticks from the first to the last centre.
    pub fn span_ticks(&self) -> f64 {
        let times = self.sightings.iter().map(|sighting| sighting.centre().at_ticks);
        let (first, last) =
            times.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), at| (low.min(at), high.max(at)));
        (last - first).max(0.0)
    }

    /// What the steps in which counters count may make of a likely rate, as a standard error: its ends are rounded each by itself,
    /// with a deviation of a step by the root of twelve. It need not average out, as nothing shakes the steps.
    pub fn rate_rounding(&self) -> f64 {
        2_f64.sqrt() * self.resolution_ticks / 12_f64.sqrt() / self.span_ticks()
    }

    /// Median half-width of the causality intervals.
    pub fn half_width_ticks(&self) -> Option<f64> {
        let mut widths: Vec<f64> = self.sightings.iter().map(Sighting::half_width_ticks).collect();
        widths.sort_by(f64::total_cmp);
        widths.get(widths.len() / 2).copied()
    }

    /// The exchange with the narrowest causality interval.
    pub fn narrowest(&self) -> Option<&Sighting> {
        self.sightings.iter().min_by(|a, b| a.half_width_ticks().total_cmp(&b.half_width_ticks()))
    }
}

fn mirrored(points: &[Point]) -> Vec<Point> {
    points.iter().map(|point| Point { offset_ticks: -point.offset_ticks, ..*point }).collect()
}

fn slope(from: &Point, to: &Point) -> f64 {
    (to.offset_ticks - from.offset_ticks) / (to.at_ticks - from.at_ticks)
}

/// The steepest line from before all points that stays below the upper ones and above the lower ones: the least slope from a
/// lower point to a later upper one. Infinite if there is no such pair, minus infinity if two bounds of one time contradict
/// each other.
///
/// Only lower points on the upper hull of those passed so far can be touched, and along the hull the slope to a later point
/// falls, then rises: a search by halves finds the turn. O(n log n).
fn steepest(lower: &[Point], upper: &[Point]) -> f64 {
    let (mut lower, mut upper) = (lower.to_vec(), upper.to_vec());
    lower.sort_by(|a, b| a.at_ticks.total_cmp(&b.at_ticks));
    upper.sort_by(|a, b| a.at_ticks.total_cmp(&b.at_ticks));
    let mut waiting = lower.iter().peekable();
    let mut hull: Vec<Point> = Vec::new();
    let mut least = f64::INFINITY;
    for target in &upper {
        while let Some(point) = waiting.next_if(|point| point.at_ticks < target.at_ticks) {
            add_to_hull(&mut hull, *point);
        }
        let mut at_once = waiting.clone().take_while(|point| point.at_ticks <= target.at_ticks);
        if at_once.any(|point| point.offset_ticks > target.offset_ticks) {
            return f64::NEG_INFINITY;
        }
        if hull.is_empty() {
            continue;
        }
        let (mut first, mut last) = (0, hull.len() - 1);
        while first < last {
            let middle = usize::midpoint(first, last);
            if slope(&hull[middle + 1], target) < slope(&hull[middle], target) {
                first = middle + 1;
            } else {
                last = middle;
            }
        }
        least = least.min(slope(&hull[first], target));
    }
    least
}

/// Adds the latest point to an upper hull.
fn add_to_hull(hull: &mut Vec<Point>, point: Point) {
    if let Some(last) = hull.last().copied().filter(|last| last.at_ticks >= point.at_ticks) {
        if last.offset_ticks >= point.offset_ticks {
            return;
        }
        hull.pop();
    }
    while let [.., before, last] = hull.as_slice() {
        if slope(before, last) > slope(last, &point) {
            break;
        }
        hull.pop();
    }
    hull.push(point);
}

/// Centres below which a line has no error.
const CENTRES_MIN: usize = 3;

/// Least squares through centres in order of time. Neighbours that err alike make the errors larger: both are multiplied
/// by sqrt((1 + r) / (1 - r)) for a correlation r > 0 of neighbours, as for an autoregression of order one.
fn fit(centres: &[Point]) -> Option<Line> {
    let count = centres.len();
    if count < CENTRES_MIN {
        return None;
    }
    let n = count as f64;
    let mean_at_ticks = centres.iter().map(|point| point.at_ticks).sum::<f64>() / n;
    let offset_ticks = centres.iter().map(|point| point.offset_ticks).sum::<f64>() / n;
    let spread: f64 = centres.iter().map(|point| (point.at_ticks - mean_at_ticks).powi(2)).sum();
    if spread <= 0.0 {
        return None;
    }
    let product: f64 = centres
        .iter()
        .map(|point| (point.at_ticks - mean_at_ticks) * (point.offset_ticks - offset_ticks))
        .sum();
    let rate = product / spread;
    let residual =
        |point: &Point| point.offset_ticks - offset_ticks - rate * (point.at_ticks - mean_at_ticks);
    let residuals: Vec<f64> = centres.iter().map(residual).collect();
    let squares: f64 = residuals.iter().map(|residual| residual * residual).sum();
    // A centre is half of a sum of whole ticks: it is not known better than by rounding to half a tick.
    let variance = (squares / (n - 2.0)).max(ROUNDING_VARIANCE);
    let neighbours: f64 = residuals.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let alike = if squares > 0.0 { (neighbours / squares).clamp(0.0, ALIKE_MAX) } else { 0.0 };
    let inflation = ((1.0 + alike) / (1.0 - alike)).sqrt();
    Some(Line {
        mean_at_ticks,
        offset_ticks,
        offset_error_ticks: (variance / n).sqrt() * inflation,
        rate,
        rate_error: (variance / spread).sqrt() * inflation,
        residual_ticks: variance.sqrt(),
        count,
    })
}

/// Variance of a value rounded to half a tick: 0.5^2 / 12.
const ROUNDING_VARIANCE: f64 = 0.25 / 12.0;
/// Neighbours this much alike make the error four times as large; more is not believed of any finite series.
const ALIKE_MAX: f64 = 0.9;

/// What is known of one offset, in ticks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KnownOffset {
    /// The causality interval.
    pub bounds: Bounds,
    /// The symmetric estimate.
    pub estimate_ticks: f64,
    /// Its standard error.
    pub error_ticks: f64,
}

/// What is left of an offset after a way round three CPUs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoopClosure {
    /// The way round, by causality: must hold zero.
    pub bounds: Bounds,
    /// The way round, by the estimates.
    pub estimate_ticks: f64,
    /// Its standard error.
    pub error_ticks: f64,
}

impl KnownOffset {
    /// The same offset the other way: a minus b for b minus a.
    #[must_use]
    pub fn reversed(self) -> Self {
        Self {
            bounds: Bounds { low: -self.bounds.high, high: -self.bounds.low },
            estimate_ticks: -self.estimate_ticks,
            ..self
        }
    }
}

impl LoopClosure {
    /// Goes from a to b, to c and back to a.
    pub fn of(a_to_b: KnownOffset, b_to_c: KnownOffset, c_to_a: KnownOffset) -> Self {
        let legs = [a_to_b, b_to_c, c_to_a];
        Self {
            bounds: Bounds {
                low: legs.iter().map(|leg| leg.bounds.low).sum(),
                high: legs.iter().map(|leg| leg.bounds.high).sum(),
            },
            estimate_ticks: legs.iter().map(|leg| leg.estimate_ticks).sum(),
            error_ticks: legs.iter().map(|leg| leg.error_ticks.powi(2)).sum::<f64>().sqrt(),
        }
    }

    /// Whether the three intervals can be true at once.
    pub fn holds(&self) -> bool {
        self.bounds.contains(0.0)
    }
}

#[cfg(test)]
mod tests;

//! What is known of the counters of two CPUs: their exchanges by stretch, and the numbers made of them.
//!
//! Two numbers are never mixed: the causality interval, which assumes nothing, and the symmetric estimate, which assumes that
//! both directions of the path take equally long. The interval given is that of one exchange, the narrowest. The estimate
//! is the mean over the narrow exchanges, as NTP does it: what made an exchange wide made it lopsided, too.

use std::collections::BTreeMap;

use clock::{Bounds, Exchanged, KnownOffset, Sighting, Strip};
use record::{ClockContradiction, ClockFault, ClockPair, ClockStep, VisibleDrift};

use super::classify::{Motion, Rate, classify, pooled_rate};
use super::{Place, Stress};
use crate::probe::CpuPair;

/// An exchange is narrow if it is at most this much wider than the narrowest.
const NARROW: f64 = 1.25;

/// With fewer narrow ones all are taken.
const NARROW_MIN: usize = 3;

/// Exchanges of two CPUs.
#[derive(Debug, Clone, PartialEq)]
pub struct PairWatch {
    /// The CPUs; `a` is the reference.
    pub pair: CpuPair,
    /// Exchanges tried.
    pub exchanges: usize,
    /// All usable ones.
    pub whole: Strip,
    /// The same by stretch of the schedule.
    pub by_place: BTreeMap<Place, Strip>,
    /// Ticks from the first usable exchange until drift or a jump was seen, if it was.
    pub seen_after_ticks: Option<f64>,
    /// Usable exchanges at which the pair is next asked whether it moves.
    asked_again_at: usize,
    overlap_shares: Vec<f64>,
    best_after_ticks: Vec<f64>,
}

/// Interval and estimate of an offset, in ticks.
#[derive(Debug, Clone, PartialEq)]
pub struct Known {
    /// The narrowest exchange.
    pub bounds: Bounds,
    /// Mean of the narrow ones.
    pub estimate: f64,
    /// Standard deviation of one.
    pub deviation: f64,
    /// Standard error of the mean.
    pub error: f64,
}

impl PairWatch {
    /// A pair of which nothing is known; times are counted from a tick of the reference.
    pub fn new(pair: CpuPair, origin_ticks: u64, resolution_ticks: u64) -> Self {
        Self {
            pair,
            exchanges: 0,
            whole: Strip::with_resolution(origin_ticks, resolution_ticks as f64),
            by_place: BTreeMap::new(),
            seen_after_ticks: None,
            asked_again_at: 0,
            overlap_shares: Vec::new(),
            best_after_ticks: Vec::new(),
        }
    }

    /// Adds an exchange, if it is usable; `None` if the two saw nothing of each other.
    pub fn add(&mut self, place: Place, exchanged: Option<&Exchanged>) {
        self.overlap_shares.push(exchanged.map_or(0.0, Exchanged::overlap_share));
        let Some(exchanged) = exchanged.filter(|exchanged| exchanged.is_usable()) else { return };
        self.best_after_ticks.push(exchanged.best_after_ticks as f64);
        self.whole.push(exchanged);
        let empty = || Strip::with_resolution(self.whole.origin_ticks, self.whole.resolution_ticks);
        self.by_place.entry(place).or_insert_with(empty).push(exchanged);
        let count = self.whole.sightings.len();
        if self.seen_after_ticks.is_none() && count >= self.asked_again_at {
            // Asking takes time in proportion to the exchanges; after a 50th more of them the answer is late by no more.
            self.asked_again_at = count + 1 + count / 50;
            let moves = self.whole.moves_for_certain() || self.whole.moves_likely();
            self.seen_after_ticks = moves.then(|| self.whole.span_ticks());
        }
    }

    /// Forgets half of the exchanges, the wider of any two that follow each other: for a watch that has no end.
    pub fn thin(&mut self) {
        let halve = |strip: &mut Strip| {
            let narrower = |two: &[Sighting]| {
                two.iter().min_by(|a, b| a.half_width_ticks().total_cmp(&b.half_width_ticks())).copied()
            };
            strip.sightings = strip.sightings.chunks(2).filter_map(narrower).collect();
        };
        halve(&mut self.whole);
        self.by_place.values_mut().for_each(halve);
        self.overlap_shares.clear();
        self.best_after_ticks.clear();
        self.asked_again_at = 0;
    }

    /// Forgets the shares of overlap once there are more of them than so many: those of two CPUs that never meet would grow
    /// for ever.
    pub fn remember_overlaps(&mut self, count_max: usize) {
        if self.overlap_shares.len() > count_max {
            self.overlap_shares.clear();
        }
    }

    /// The narrow exchanges.
    fn narrow(&self) -> Strip {
        let limit = self.whole.narrowest().map_or(0.0, |sighting| sighting.half_width_ticks() * NARROW);
        // Counters that drift apart within an exchange can make widths negative; all are then as good as each other.
        let is_narrow = |sighting: &&Sighting| limit <= 0.0 || sighting.half_width_ticks() <= limit;
        let sightings = self.whole.sightings.iter().filter(is_narrow).copied().collect();
        Strip { sightings, ..Strip::with_resolution(self.whole.origin_ticks, self.whole.resolution_ticks) }
    }

    /// Interval and estimate; `None` without a usable exchange.
    pub fn known(&self) -> Option<Known> {
        let narrowest = self.whole.narrowest()?;
        // What a counter shows lags by up to a step.
        let step = self.whole.resolution_ticks;
        let bounds =
            Bounds { low: narrowest.lower.offset_ticks - step, high: narrowest.upper.offset_ticks + step };
        let mut narrow = self.narrow();
        if narrow.sightings.len() < NARROW_MIN {
            narrow = self.whole.clone();
        }
        let line = narrow.line();
        let moving = self.seen_after_ticks.is_some();
        let centres: Vec<f64> = narrow.sightings.iter().map(|each| each.centre().offset_ticks).collect();
        // A pair that drifts spreads about its line, one in step about its mean.
        let deviation = match line.filter(|_| moving) {
            Some(line) => line.residual_ticks,
            None => stats::sample_variance(&centres).sqrt(),
        };
        let error = line.map_or(f64::NAN, |line| line.offset_error_ticks);
        // An estimate is the mean of two differences of readings, each of which is rounded down to a step: the variance of
        // their rounding is a twelfth of its square. It need not average out: nothing shakes the steps.
        let rounding = step / 12_f64.sqrt();
        Some(Known {
            bounds,
            estimate: stats::mean(&centres),
            deviation: deviation.hypot(rounding),
            error: error.hypot(rounding),
        })
    }

    /// What a ring of three needs to know.
    pub fn known_offset(&self) -> Option<KnownOffset> {
        let known = self.known()?;
        Some(KnownOffset { bounds: known.bounds, estimate_ticks: known.estimate, error_ticks: known.error })
    }

    /// What is wrong with the pair, if anything.
    pub fn motion(&self) -> Option<Motion> {
        classify(&self.whole, &self.by_place)
    }

    /// An offset below this would not have been seen, in ticks.
    pub fn blind_below_ticks(&self) -> Option<f64> {
        let bounds = self.known()?.bounds;
        Some(if bounds.contains(0.0) {
            bounds.high.max(-bounds.low)
        } else {
            (bounds.high - bounds.low) / 2.0
        })
    }

    /// The least drift that would have been seen, as a pure number.
    pub fn visible_rate(&self) -> Option<f64> {
        let bounds = self.whole.rate();
        if bounds.is_empty() {
            return None;
        }
        let certain = bounds.high - bounds.low;
        let likely = self.whole.least_likely_rate().unwrap_or(f64::INFINITY);
        Some(certain.min(likely)).filter(|rate| rate.is_finite())
    }

    /// The row of the document.
    pub fn row(&self, counter_hz: f64) -> ClockPair {
        let ns = 1e9 / counter_hz;
        let finite = |value: f64| value.is_finite().then_some(value);
        let known = self.known();
        // The narrow exchanges err less, but may all lie in one short stretch.
        let rates = [Rate::of(&self.narrow()), Rate::of(&self.whole)].into_iter().flatten();
        let rate = rates.min_by(|a, b| a.error.total_cmp(&b.error));
        let bounds = self.whole.rate();
        let motion = self.motion();
        let fits = motion
            .as_ref()
            .is_none_or(|motion| matches!(motion.fault, ClockFault::Offset | ClockFault::Slope));
        // A mean over both sides of a jump is an estimate of nothing.
        let steady = known.as_ref().filter(|_| fits);
        let first = self.whole.sightings.first().map_or(0.0, |sighting| sighting.centre().at_ticks);
        let seconds = |at_ticks: f64| (at_ticks - first) / counter_hz;
        let centre = |sighting: &Sighting| {
            let centre = sighting.centre();
            [seconds(centre.at_ticks), centre.offset_ticks * ns]
        };
        let contradiction = self.whole.contradiction().map(|found| ClockContradiction {
            at_least_s: seconds(found.at_least.at_ticks),
            at_least_ns: found.at_least.offset_ticks * ns,
            at_most_s: seconds(found.at_most.at_ticks),
            at_most_ns: found.at_most.offset_ticks * ns,
        });
        let jump = motion.as_ref().and_then(|motion| motion.jump);
        ClockPair {
            a: self.pair.a,
            b: self.pair.b,
            interval_ns: known.as_ref().map(|known| [known.bounds.low * ns, known.bounds.high * ns]),
            estimate_ns: steady.and_then(|known| finite(known.estimate * ns)),
            sd_ns: steady.and_then(|known| finite(known.deviation * ns)),
            standard_error_ns: steady.and_then(|known| finite(known.error * ns)),
            rate_ppb: rate.filter(|_| fits).map(|rate| rate.rate * 1e9),
            rate_error_ppb: rate.filter(|_| fits).map(|rate| rate.error * 1e9),
            rate_interval_ppb: (fits && bounds.low.is_finite() && bounds.high.is_finite())
                .then_some([bounds.low * 1e9, bounds.high * 1e9]),
            moves_for_certain: contradiction.is_some(),
            contradiction,
            step: jump
                .map(|jump| ClockStep { ns: jump.ticks * ns, between_s: jump.between_ticks.map(seconds) }),
            seen_after_s: self.seen_after_ticks.map(|ticks| ticks / counter_hz),
            fault: motion.as_ref().map(|motion| motion.fault),
            rate_ppb_by_stress: self.rates_by_stress(),
            half_width_ns: self.whole.half_width_ticks().map(|ticks| ticks * ns),
            exchanges: self.exchanges,
            usable: self.whole.sightings.len(),
            overlap_share: stats::median(&self.overlap_shares).unwrap_or(0.0),
            best_after_ms: stats::median(&self.best_after_ticks).map(|ticks| ticks / counter_hz * 1e3),
            watched_s: self.whole.span_ticks() / counter_hz,
            centres: self.whole.sightings.iter().map(centre).collect(),
        }
    }

    /// Rates by what the CPUs did, where more than one thing was tried.
    fn rates_by_stress(&self) -> BTreeMap<String, f64> {
        let mut stresses: Vec<Stress> = self.by_place.keys().map(|place| place.stress).collect();
        stresses.dedup();
        if stresses.len() < 2 {
            return BTreeMap::new();
        }
        let rate = |stress: &Stress| {
            let rate = pooled_rate(&self.by_place, *stress)?.rate;
            Some((stress.name().to_owned(), rate * 1e9))
        };
        stresses.iter().filter_map(rate).collect()
    }

    /// The drift that would have been seen, in the units of the document.
    pub fn visible_drift(&self, counter_hz: f64) -> Option<VisibleDrift> {
        let rate = self.visible_rate()?;
        Some(VisibleDrift { ppb: rate * 1e9, in_s: self.whole.span_ticks() / counter_hz })
    }
}

#[cfg(test)]
mod tests {
    use machine::CpuId;

    use super::*;

    #[test]
    fn a_watch_over_cpus_that_never_meet_does_not_grow() {
        let mut watch = PairWatch::new(CpuPair { a: CpuId(0), b: CpuId(1) }, 0, 1);
        for _ in 0..10_000 {
            watch.add(Place { stress: Stress::AsIs, stretch: 0 }, None);
            watch.remember_overlaps(100);
        }
        assert!(watch.overlap_shares.len() <= 100);
    }
}

//! What is believed of one CPU's counter against the reference's: the same, or a line of its own.
//!
//! A CPU is corrected only if an exchange excludes that its counter is the reference's. An offset inside the causality
//! interval is invisible to code that talks through memory, and a correction by a wrong estimate would make the very fault that
//! it is to mend.
//!
//! The line of a correction is an estimate, which takes both directions of a path for equally long. Bounds are not: a line
//! outside them, however little, has been seen to let time go back between the two CPUs. So the line is moved between the bounds of
//! all exchanges that are kept: where a host moves virtual CPUs, the middle of today's bounds may be the edge of tomorrow's.

use crate::exchange::Exchanged;
use crate::timestamp_exchange::{Bounds, Point, SIGHTINGS_FOR_DRIFT, Sighting, Strip};

/// Exchanges that are kept: what is older would hide a rate that changes.
const SIGHTINGS_KEPT: usize = 32;

/// A correction stands on exchanges over at least this long, in nanoseconds: 1 tick of error over it is some 1 ppb.
const BASE_NS: f64 = 4e8;

/// A CPU's counter against the reference's, in ticks of the reference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Correction {
    /// Tick of the reference for which the offset holds.
    pub at_ticks: u64,
    /// This CPU's counter minus the reference's there.
    pub offset_ticks: f64,
    /// How much faster it runs, as a share.
    pub rate: f64,
    /// Half of the causality interval: how far the truth may be from the line.
    pub half_width_ticks: f64,
}

/// What is believed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Belief {
    /// Nothing was measured.
    Unknown,
    /// No exchange tells it from the reference; it may be up to this far apart.
    Same {
        /// The end of the causality interval that is further from zero.
        apart_ticks: f64,
    },
    /// It is another line, which is not known well enough yet.
    Seeking,
    /// It is another line.
    Corrected(Correction),
}

/// What an exchange did to the belief.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It fits.
    Fits,
    /// It rules out what was believed.
    Contradicts,
}

/// One CPU's exchanges with the reference, and what follows.
#[derive(Debug, Clone, PartialEq)]
pub struct Alignment {
    strip: Strip,
    /// What is believed.
    pub belief: Belief,
}

impl Alignment {
    /// Nothing is known.
    pub fn unknown() -> Self {
        Self { strip: Strip::new(0), belief: Belief::Unknown }
    }

    /// The reference itself.
    pub fn reference() -> Self {
        Self { belief: Belief::Same { apart_ticks: 0.0 }, ..Self::unknown() }
    }

    /// Takes in an exchange; `ns_per_tick` of the reference.
    pub fn see(&mut self, exchanged: &Exchanged, ns_per_tick: f64) -> Change {
        if self.strip.sightings.is_empty() {
            self.strip = Strip::new(exchanged.at_least.at_ticks);
        }
        self.strip.push(exchanged);
        if self.strip.sightings.len() > SIGHTINGS_KEPT {
            self.strip.sightings.remove(0);
        }
        let Some(newest) = self.strip.sightings.last().copied() else { return Change::Fits };
        match self.belief {
            Belief::Unknown | Belief::Same { .. } if !excludes_zero(&newest) => {
                let bounds = self.strip.constant_offset();
                self.belief = Belief::Same { apart_ticks: bounds.low.abs().max(bounds.high.abs()) };
            }
            Belief::Unknown => self.belief = Belief::Seeking,
            Belief::Same { .. } => return self.start_again(newest),
            Belief::Seeking => self.seek(ns_per_tick),
            Belief::Corrected(correction) => {
                let fits = self.allows(&newest, &correction);
                if !fits && self.shifts(&correction).is_empty() {
                    return self.start_again(newest);
                }
                self.seek(ns_per_tick);
                if !fits {
                    return Change::Contradicts;
                }
            }
        }
        Change::Fits
    }

    fn start_again(&mut self, newest: Sighting) -> Change {
        self.strip.sightings = vec![newest];
        self.belief = Belief::Seeking;
        Change::Contradicts
    }

    /// Whether a line passes between the bounds of an exchange. Where it does not, times corrected by it have gone back
    /// between the two CPUs: by just that, a message of this exchange would have come before it was sent.
    fn allows(&self, sighting: &Sighting, correction: &Correction) -> bool {
        self.shifts_for(sighting, correction).contains(0.0)
    }

    /// By how many ticks a line can be moved to pass between the bounds of an exchange; those of a drifting counter may cross.
    fn shifts_for(&self, sighting: &Sighting, correction: &Correction) -> Bounds {
        let away = |point: Point| {
            let at_ticks = self.strip.origin_ticks.wrapping_add_signed(point.at_ticks as i64);
            point.offset_ticks - correction.offset_at(at_ticks)
        };
        Bounds { low: away(sighting.lower), high: away(sighting.upper) }
    }

    /// The same for all exchanges that are kept; empty if there is no such line.
    fn shifts(&self, correction: &Correction) -> Bounds {
        let all = self.strip.sightings.iter().map(|sighting| self.shifts_for(sighting, correction));
        all.reduce(|a, b| Bounds { low: a.low.max(b.low), high: a.high.min(b.high) })
            .unwrap_or(Bounds { low: f64::NEG_INFINITY, high: f64::INFINITY })
    }

    /// The line through all exchanges, if there are enough over a long enough time.
    fn seek(&mut self, ns_per_tick: f64) {
        let Some(line) = self.strip.line() else { return };
        let is_long = self.strip.span_ticks() * ns_per_tick >= BASE_NS;
        if line.count < SIGHTINGS_FOR_DRIFT || !is_long {
            return;
        }
        let at_ticks = self.strip.origin_ticks.wrapping_add_signed(line.mean_at_ticks as i64);
        // The mean is between two ticks.
        let fraction = line.mean_at_ticks - line.mean_at_ticks.trunc();
        let mut correction = Correction {
            at_ticks,
            offset_ticks: line.offset_ticks - fraction * line.rate,
            rate: line.rate,
            half_width_ticks: half_width_along(&self.strip.sightings, line.rate),
        };
        // The line lags behind a path whose two directions have come to differ; the newest bounds do not.
        let of_newest = self.strip.sightings.last().map(|newest| self.shifts_for(newest, &correction));
        let shifts = Some(self.shifts(&correction)).filter(|shifts| !shifts.is_empty()).or(of_newest);
        correction.offset_ticks += shifts.map_or(0.0, |shifts| shifts.nearest_to(0.0));
        self.belief = Belief::Corrected(correction);
    }

    /// Whether times of this CPU can be told.
    pub fn is_settled(&self) -> bool {
        matches!(self.belief, Belief::Same { .. } | Belief::Corrected(_))
    }

    /// How far a time of this CPU may be from the reference's at one moment, in ticks; infinite while nothing is known.
    pub fn apart_ticks(&self) -> f64 {
        match self.belief {
            Belief::Same { apart_ticks } => apart_ticks,
            Belief::Corrected(correction) => correction.half_width_ticks,
            Belief::Unknown | Belief::Seeking => f64::INFINITY,
        }
    }

    /// The line, if there is one.
    pub fn correction(&self) -> Option<Correction> {
        match self.belief {
            Belief::Corrected(correction) => Some(correction),
            _ => None,
        }
    }

    /// The reference's tick at a tick of this CPU.
    pub fn to_reference(&self, local: u64) -> u64 {
        self.correction().map_or(local, |correction| correction.to_reference(local))
    }
}

impl Correction {
    /// This CPU's counter minus the reference's, at a tick of the reference.
    fn offset_at(&self, reference: u64) -> f64 {
        self.offset_ticks + reference.wrapping_sub(self.at_ticks).cast_signed() as f64 * self.rate
    }

    /// This CPU's tick at a tick of the reference.
    pub fn to_local(&self, reference: u64) -> u64 {
        reference.wrapping_add_signed(self.offset_at(reference).round() as i64)
    }

    /// The reference's tick at a tick of this CPU.
    pub fn to_reference(&self, local: u64) -> u64 {
        let passed = local.wrapping_sub(self.at_ticks).cast_signed() as f64 - self.offset_ticks;
        self.at_ticks.wrapping_add_signed((passed / (1.0 + self.rate)).round() as i64)
    }
}

/// Median half-width of the causality intervals of a drifting counter: both ends moved to one moment along the line.
fn half_width_along(sightings: &[Sighting], rate: f64) -> f64 {
    let drift = |sighting: &Sighting| rate * (sighting.upper.at_ticks - sighting.lower.at_ticks);
    let mut widths: Vec<f64> =
        sightings.iter().map(|sighting| sighting.half_width_ticks() - drift(sighting) / 2.0).collect();
    widths.sort_by(f64::total_cmp);
    // A line that a path of changing length has bent may make one negative; nothing is known better than to a tick.
    widths.get(widths.len() / 2).map_or(f64::INFINITY, |width| width.max(1.0))
}

fn excludes_zero(sighting: &Sighting) -> bool {
    sighting.lower.offset_ticks > 0.0 || sighting.upper.offset_ticks < 0.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::Bound;
    use proptest::prelude::*;

    const NS_PER_TICK: f64 = 0.4;

    /// An exchange at a tick of the reference that brackets a true offset by `width` on either side.
    fn exchanged(at_ticks: u64, offset: i64, width: i64) -> Exchanged {
        Exchanged {
            at_least: Bound { at_ticks, offset_ticks: offset - width },
            at_most: Bound { at_ticks, offset_ticks: offset + width },
            fresh: [10_000; 2],
            best_after_ticks: 0,
            overlap_ns: 3_000_000,
            elapsed_ns: 3_000_000,
        }
    }

    #[test]
    fn a_cpu_is_left_alone_unless_zero_is_excluded() {
        let mut alignment = Alignment::unknown();
        for at in 1..50 {
            assert_eq!(alignment.see(&exchanged(at * 250_000_000, 99, 100), NS_PER_TICK), Change::Fits);
        }
        assert_eq!(alignment.belief, Belief::Same { apart_ticks: 199.0 });
        assert_eq!(alignment.see(&exchanged(50 * 250_000_000, 101, 100), NS_PER_TICK), Change::Contradicts);
        assert_eq!(alignment.belief, Belief::Seeking);
    }

    #[test]
    fn an_excluded_zero_becomes_a_line_after_enough_exchanges() {
        let mut alignment = Alignment::unknown();
        let offset = |at: u64| 2_500_000 + (at / 20_000).cast_signed();
        for step in 1..40_u64 {
            let at = step * 250_000_000;
            assert_eq!(alignment.see(&exchanged(at, offset(at), 100), NS_PER_TICK), Change::Fits, "{step}");
            assert_eq!(alignment.is_settled(), step >= 6, "{step}");
        }
        let correction = alignment.correction().unwrap();
        assert!((correction.rate - 50e-6).abs() < 1e-9, "{correction:?}");
        let at = 11_000_000_000;
        assert!(correction.to_local(at).abs_diff(at + offset(at) as u64) <= 2);
        // The rate changes: what the line says is soon excluded.
        let later = exchanged(10_500_000_000, offset(10_500_000_000) + 400, 100);
        assert_eq!(alignment.see(&later, NS_PER_TICK), Change::Contradicts);
    }

    #[test]
    fn a_line_is_given_up_as_soon_as_one_message_would_have_come_before_it_was_sent() {
        for (moved, expected) in [(90, Change::Fits), (-90, Change::Fits), (110, Change::Contradicts)] {
            let mut alignment = Alignment::unknown();
            for step in 1..20_u64 {
                alignment.see(&exchanged(step * 250_000_000, 2_500_000, 100), NS_PER_TICK);
            }
            let later = exchanged(20 * 250_000_000, 2_500_000 + moved, 100);
            assert_eq!(alignment.see(&later, NS_PER_TICK), expected, "{moved}");
        }
    }

    #[test]
    fn a_path_whose_longer_direction_changes_does_not_rule_out_a_line_that_all_its_bounds_allow() {
        let mut alignment = Alignment::unknown();
        // As seen on a guest: its host moves the CPUs by turns to where one direction is longer, then the other.
        let lopsided = [-60, -60, -20, 20, 60, 60];
        let changes: Vec<Change> = (1..200_u64)
            .map(|step| {
                let offset = 2_500_000 + lopsided[(step / 40) as usize % lopsided.len()];
                alignment.see(&exchanged(step * 250_000_000, offset, 100), NS_PER_TICK)
            })
            .collect();
        assert!(changes.iter().all(|change| *change == Change::Fits), "{changes:?}");
        let sightings = alignment.strip.sightings.clone();
        let correction = alignment.correction().expect("a line");
        assert!(sightings.iter().all(|sighting| alignment.allows(sighting, &correction)));
    }

    #[test]
    fn a_message_that_rules_a_line_out_moves_it_where_another_one_fits_all_bounds() {
        let mut alignment = Alignment::unknown();
        for step in 1..20_u64 {
            alignment.see(&exchanged(step * 250_000_000, 2_500_000, 100), NS_PER_TICK);
        }
        // Bounds from 110 to 310 beside those from -100 to 100 leave nothing; from 20 to 220 they do.
        let narrow = exchanged(20 * 250_000_000, 2_500_000 + 120, 100);
        assert_eq!(alignment.see(&narrow, NS_PER_TICK), Change::Contradicts);
        assert!(alignment.is_settled(), "{:?}", alignment.belief);
        let beyond = exchanged(21 * 250_000_000, 2_500_000 + 310, 100);
        assert_eq!(alignment.see(&beyond, NS_PER_TICK), Change::Contradicts);
        assert_eq!(alignment.belief, Belief::Seeking);
    }

    #[test]
    fn a_line_passes_between_the_newest_bounds_whatever_the_older_ones_say() {
        let mut alignment = Alignment::unknown();
        for step in 1..20_u64 {
            // Half of the time one direction of the path is the longer one, then the other.
            let lopsided = if step < 10 { 60 } else { -60 };
            alignment.see(&exchanged(step * 250_000_000, 2_500_000 + lopsided, 100), NS_PER_TICK);
            let Some(correction) = alignment.correction() else { continue };
            let newest = *alignment.strip.sightings.last().unwrap();
            assert!(alignment.allows(&newest, &correction), "{step}: {correction:?}");
        }
    }

    proptest! {
        #[test]
        fn there_and_back_is_where_it_was(
            at_ticks in 0_u64..1 << 50, offset in -1e12_f64..1e12, rate in -1e-3_f64..1e-3, tick in 0_u64..1 << 50,
        ) {
            let correction = Correction { at_ticks, offset_ticks: offset, rate, half_width_ticks: 100.0 };
            let back = correction.to_reference(correction.to_local(tick));
            prop_assert!(back.wrapping_sub(tick).wrapping_add(2) <= 4, "{} {}", back, tick);
        }
    }
}

//! What moves two counters apart: nothing, a constant offset, a constant rate, a jump, or what their CPUs are doing.
//!
//! ```text
//! no movement seen                 offset, if every exchange excludes zero; else nothing
//! too few exchanges to tell        moved
//! one line fits all exchanges      slope
//! two lines and one jump           step
//! some stresses move, others not   by frequency or by idling, whichever separates them
//! else                             a rate that changes
//! ```
//! All decisions rest on the certain bounds; the likely rate only says whether there is movement where a line fits. A rate that
//! is small against the bounds in every stretch is called a slope even if it is there only half of the time: nothing that was
//! seen contradicts it.

use std::collections::BTreeMap;

use clock::{Bounds, SIGHTINGS_FOR_DRIFT, Strip};
use record::ClockFault;

use super::{Place, Stress};

/// What is wrong between two counters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Motion {
    /// Its kind.
    pub fault: ClockFault,
    /// The jump, for a step.
    pub jump: Option<Jump>,
}

/// A jump of one counter against another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Jump {
    /// Its size.
    pub ticks: f64,
    /// The last exchange before it and the first after it, in ticks of the reference since the origin of the strip.
    pub between_ticks: [f64; 2],
}

/// What is wrong with a pair, given all its exchanges, and the same by stretch.
pub fn classify(whole: &Strip, by_place: &BTreeMap<Place, Strip>) -> Option<Motion> {
    let of = |fault| Some(Motion { fault, jump: None });
    if whole.sightings.is_empty() {
        return None;
    }
    if !whole.moves_for_certain() && !whole.moves_likely() {
        return if whole.constant_offset().contains(0.0) { None } else { of(ClockFault::Offset) };
    }
    if whole.sightings.len() < SIGHTINGS_FOR_DRIFT {
        return of(ClockFault::Moved);
    }
    if !whole.rate().is_empty() {
        return of(ClockFault::Slope);
    }
    if let Some(fault) = by_stress(by_place) {
        return of(fault);
    }
    match jump(whole) {
        Some(jump) => Some(Motion { fault: ClockFault::Step, jump: Some(jump) }),
        None => of(ClockFault::RateChanges),
    }
}

/// Whether a strip moves, as far as its own exchanges tell.
pub(super) fn moves(strip: &Strip) -> bool {
    strip.moves_for_certain() || strip.moves_likely()
}

/// The stresses that move the pair, if others do not.
fn by_stress(by_place: &BTreeMap<Place, Strip>) -> Option<ClockFault> {
    let mut stresses: Vec<Stress> = by_place.keys().map(|place| place.stress).collect();
    stresses.dedup();
    let strips = |stress: Stress| by_place.iter().filter(move |(place, _)| place.stress == stress);
    // A jump within a stretch may fall into any of them.
    let fits = |stress: Stress| strips(stress).all(|(_, strip)| !strip.rate().is_empty());
    let mover = |stress: &Stress| strips(*stress).any(|(_, strip)| moves(strip));
    let (movers, others): (Vec<Stress>, Vec<Stress>) = stresses.into_iter().partition(mover);
    if movers.is_empty() || others.is_empty() || !others.iter().all(|&stress| fits(stress)) {
        return None;
    }
    if !movers_agree(by_place, &movers) {
        return None;
    }
    let sleeps = |stress: &Stress| matches!(stress, Stress::Idle | Stress::Mixed | Stress::AsIs);
    let works_at_full_speed = |stress: &Stress| matches!(stress, Stress::Load | Stress::Fastest);
    if movers.iter().all(sleeps) && others.iter().any(works_at_full_speed) {
        Some(ClockFault::SlopeAfterIdle)
    } else {
        movers.iter().all(|stress| stress.holds_pstates()).then_some(ClockFault::SlopeAtOneFrequency)
    }
}

/// A jump makes one stretch move, and a rate that comes with a stress all stretches of it that are long enough to tell.
fn movers_agree(by_place: &BTreeMap<Place, Strip>, movers: &[Stress]) -> bool {
    let moving =
        by_place.iter().filter(|(place, strip)| movers.contains(&place.stress) && moves(strip)).count();
    moving >= 2
}

/// The jump that leaves one line on either side of it, both of one rate; `None` if there is no such place.
fn jump(whole: &Strip) -> Option<Jump> {
    let mut sightings = whole.sightings.clone();
    sightings.sort_by(|a, b| a.centre().at_ticks.total_cmp(&b.centre().at_ticks));
    let gaps = sightings.windows(2).map(|two| two[1].centre().offset_ticks - two[0].centre().offset_ticks);
    let (place, size) = gaps.enumerate().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))?;
    let part = |sightings: &[clock::Sighting]| Strip {
        sightings: sightings.to_vec(),
        ..Strip::with_resolution(whole.origin_ticks, whole.resolution_ticks)
    };
    let (before, after) = (part(&sightings[..=place]).rate(), part(&sightings[place + 1..]).rate());
    let both = Bounds { low: before.low.max(after.low), high: before.high.min(after.high) };
    if both.is_empty() {
        return None;
    }
    // What the common rate makes of the time between the two belongs to the rate.
    let between_ticks = [place, place + 1].map(|index| sightings[index].centre().at_ticks);
    let rate = f64::midpoint(both.low, both.high);
    let of_rate_ticks = if rate.is_finite() { rate * (between_ticks[1] - between_ticks[0]) } else { 0.0 };
    Some(Jump { ticks: size - of_rate_ticks, between_ticks })
}

/// A likely rate, and its standard error with what the steps of the counters may make of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rate {
    pub(super) rate: f64,
    pub(super) error: f64,
}

impl Rate {
    /// That of a strip; `None` if too little is known.
    pub(super) fn of(strip: &Strip) -> Option<Self> {
        let line = strip.line()?;
        Some(Self { rate: line.rate, error: line.rate_error.hypot(strip.rate_rounding()) })
    }
}

/// Least-squares rate within the stretches of one stress, each with an offset of its own; `None` if too little is known.
pub(super) fn pooled_rate(by_place: &BTreeMap<Place, Strip>, stress: Stress) -> Option<Rate> {
    let mut weights = 0.0;
    let mut sum = 0.0;
    let mut variance = 0.0;
    for strip in by_place.iter().filter(|(place, _)| place.stress == stress).map(|(_, strip)| strip) {
        let Some(Rate { rate, error }) = Rate::of(strip) else { continue };
        // As the squares about their mean add up, for exchanges spread evenly.
        let weight = strip.sightings.len() as f64 * strip.span_ticks().powi(2);
        weights += weight;
        sum += weight * rate;
        variance += (weight * error).powi(2);
    }
    (weights > 0.0).then(|| Rate { rate: sum / weights, error: variance.sqrt() / weights })
}

//! What the counters did by what the CPUs did: a verdict for each stress.
//!
//! A counter that moves in one stretch of a stress moves under that stress, be it by chance: a jump falls into whatever is
//! being done. That a fault comes *with* a stress is said of a pair, by [`super::classify`].

use std::collections::BTreeSet;

use clock::{SIGHTINGS_FOR_DRIFT, Strip};
use record::{ClockRegime, RegimeDrift, RegimeVerdict};

use super::Stress;
use super::classify::{moves, pooled_rate};
use super::pair_watch::PairWatch;

/// One row for each stress; none where nothing was varied.
pub(super) fn regimes(pairs: &[PairWatch], stresses: &BTreeSet<Stress>) -> Vec<ClockRegime> {
    if stresses.iter().all(|&stress| stress == Stress::AsIs) {
        return Vec::new();
    }
    stresses.iter().map(|&stress| regime(pairs, stress)).collect()
}

fn regime(pairs: &[PairWatch], stress: Stress) -> ClockRegime {
    let (mut moving, mut seen, mut usable) = (0, 0, 0);
    for pair in pairs {
        let strips =
            || pair.by_place.iter().filter(|(place, _)| place.stress == stress).map(|(_, strip)| strip);
        let is_moving = strips().any(moves);
        let is_seen = |strip: &Strip| strip.sightings.len() >= SIGHTINGS_FOR_DRIFT;
        moving += usize::from(is_moving);
        seen += usize::from(is_moving || strips().any(is_seen));
        usable += strips().map(|strip| strip.sightings.len()).sum::<usize>();
    }
    let verdict = match (moving, seen) {
        (0, seen) if seen < pairs.len() || pairs.is_empty() => RegimeVerdict::CannotTell,
        (0, _) => RegimeVerdict::Steady,
        _ => RegimeVerdict::Moving,
    };
    ClockRegime {
        stress: stress.name().to_owned(),
        verdict,
        moving,
        seen,
        usable,
        drift: drift(pairs, stress),
    }
}

/// The pair whose drift is the most errors away from zero.
fn drift(pairs: &[PairWatch], stress: Stress) -> Option<RegimeDrift> {
    let drifts = pairs.iter().filter_map(|pair| {
        let rate = pooled_rate(&pair.by_place, stress)?;
        let (a, b) = (pair.pair.a, pair.pair.b);
        Some(RegimeDrift { a, b, rate_ppb: rate.rate * 1e9, error_ppb: rate.error * 1e9 })
    });
    drifts.max_by(|a, b| (a.rate_ppb / a.error_ppb).abs().total_cmp(&(b.rate_ppb / b.error_ppb).abs()))
}

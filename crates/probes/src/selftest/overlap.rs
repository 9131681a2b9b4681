//! Whether two threads really run at the same time: one publishes a counter, the other counts the values it has not
//! seen before.
//!
//! Two CPUs that take turns on one core of the host show a fresh value only when they are switched, a few times per
//! millisecond at most; two that run together show one for nearly every look.

use std::sync::atomic::{AtomicU64, Ordering};

use clock::begin;
use host::live::{AffinityError, Pinned};
use machine::CpuId;
use record::Overlap;
use stats::median;

use crate::rendezvous::{Alone, Link, with_partner};
use crate::session::Session;

/// Length of a slice in nanoseconds.
const SLICE_NS: f64 = 1e6;
/// Slices per pair.
const SLICES: usize = 120;
/// Pairs looked at.
const PAIRS_MAX: usize = 4;
/// From so many fresh values per millisecond on both run together: a host that switches every 10 us is not known.
const TOGETHER_PER_MS: f64 = 100.0;
/// From this share of such slices on the pair can be measured: other load may hold one of the two for the rest.
const TOGETHER_SHARE_MIN: f64 = 0.1;

/// Looks at a few pairs of neighbouring CPUs; none if the session has one CPU.
pub(super) fn measure(session: &Session<'_>) -> Result<Vec<Overlap>, AffinityError> {
    let pairs: Vec<[CpuId; 2]> =
        session.cpus.windows(2).take(PAIRS_MAX).map(|pair| [pair[0], pair[1]]).collect();
    let mut found = Vec::with_capacity(pairs.len());
    for [a, b] in pairs {
        if session.must_stop() {
            break;
        }
        let fresh = fresh_by_slice(session, a, b)?;
        // A pair of which nothing was seen is not judged.
        if !fresh.is_empty() {
            found.push(judge(a, b, &fresh));
        }
    }
    Ok(found)
}

fn fresh_by_slice(session: &Session<'_>, a: CpuId, b: CpuId) -> Result<Vec<f64>, AffinityError> {
    let counter = Alone(AtomicU64::new(0));
    let _pinned = Pinned::to(a)?;
    let slice_ticks = session.rate.ticks(SLICE_NS) as u64;
    let publish = |link: &Link| {
        while !link.aborted() {
            counter.0.fetch_add(1, Ordering::Relaxed);
        }
    };
    with_partner(b, None, publish, |link, _| {
        // The other thread has to be there before it can be missed.
        while counter.0.load(Ordering::Relaxed) == 0 && !link.aborted() && !session.must_stop() {
            std::hint::spin_loop();
        }
        slices(|| session.must_stop(), || look(&counter.0, slice_ticks))
    })
}

/// Looks slice by slice, as long as there is time: on a busy CPU a slice of a millisecond takes a hundred.
fn slices(must_stop: impl Fn() -> bool, mut look: impl FnMut() -> f64) -> Vec<f64> {
    (0..SLICES).take_while(|_| !must_stop()).map(|_| look()).collect()
}

fn look(counter: &AtomicU64, slice_ticks: u64) -> f64 {
    let started = begin();
    let (mut fresh, mut last) = (0_u32, counter.load(Ordering::Relaxed));
    while begin().wrapping_sub(started) < slice_ticks {
        let seen = counter.load(Ordering::Relaxed);
        fresh += u32::from(seen != last);
        last = seen;
    }
    f64::from(fresh) / (SLICE_NS / 1e6)
}

fn judge(a: CpuId, b: CpuId, fresh: &[f64]) -> Overlap {
    let together: Vec<f64> = fresh.iter().copied().filter(|&fresh| fresh >= TOGETHER_PER_MS).collect();
    let together_share = together.len() as f64 / fresh.len().max(1) as f64;
    let fresh_per_ms = median(&together).or_else(|| median(fresh)).unwrap_or(0.0);
    Overlap { a, b, fresh_per_ms, together_share, can_tell: together_share >= TOGETHER_SHARE_MIN }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn no_slice_begins_once_the_time_is_up() {
        for (slice_ms, looks) in [(1, 120), (100, 6), (1_000, 1)] {
            let now_ms = Cell::new(0);
            let look = || {
                now_ms.set(now_ms.get() + slice_ms);
                0.0
            };
            assert_eq!(slices(|| now_ms.get() >= 600, look).len(), looks, "{slice_ms} ms each");
        }
        assert!(slices(|| true, || 0.0).is_empty());
    }

    #[test]
    fn threads_that_take_turns_cannot_be_told_from_one() {
        let turns = judge(CpuId(0), CpuId(1), &[0.0, 1.0, 2.0, 0.0]);
        assert!(!turns.can_tell && turns.together_share.abs() < 1e-12);
        let together = judge(CpuId(0), CpuId(1), &[9000.0, 8000.0, 1.0, 9500.0]);
        assert!(together.can_tell);
        assert!((together.together_share - 0.75).abs() < 1e-12);
        assert!((together.fresh_per_ms - 9000.0).abs() < 1e-12);
        assert!(!judge(CpuId(0), CpuId(1), &[]).can_tell);
    }
}

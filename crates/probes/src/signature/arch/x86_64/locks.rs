//! The signature of split locks: additions across two lines, in a child that the kernel may kill for them.
//!
//! Each holds up all CPUs of the machine, so there are at most two hundred, and only if that is allowed. The kernel may
//! answer the first by SIGBUS, which is a result, or slow the child down (Linux, Documentation/arch/x86/buslock.rst).

use std::time::Duration;

use clock::{begin, end};
use host::live::{Forked, in_forked_child};
use kernels::signature::{LockPlace, LockedLines};
use record::{Reading, SignatureReading};

use super::judgement::{Held, Turns};
use crate::signature::{SignatureProbe, SignatureSetup};

/// Batches of each kind.
const BATCHES: usize = 18;
/// Locks of a batch across two lines.
const LOCKS_PER_BATCH: u32 = 10;
/// Locks of a batch of the control: cheap, and as many as take a thousand times what reading the counter may be off by.
const CONTROL_LOCKS: u32 = 1000;
/// A turn: one batch of the control, one across two lines, and one of the control.
const ORDER: [LockPlace; 3] = [LockPlace::Inside, LockPlace::Across, LockPlace::Inside];
/// The most locks across lines that a run may make.
const SPLIT_LOCKS_MAX: u32 = 200;
/// A kernel that slows split locks down makes each wait ten milliseconds: two hundred take two seconds.
const LIMIT: Duration = Duration::from_millis(2500);
/// Eighteen batches hardly have a tail.
const QUANTILE: f64 = 0.25;
/// How far locks within a line may differ before and after: eighteen batches do not tell less.
const WITHIN_A_LINE: f64 = 0.1;
/// `SIGBUS`, signal(7) on x86.
const SIGBUS: i32 = 7;

const _: () = assert!(BATCHES as u32 * LOCKS_PER_BATCH <= SPLIT_LOCKS_MAX);

/// Nanoseconds per locked addition across two lines.
///
/// # Errors
/// Why nothing could be measured; the kernel's refusal is among the reasons.
pub(super) fn split_lock(setup: &SignatureSetup<'_>) -> Result<Reading<SignatureReading>, String> {
    let ticks = match in_forked_child(add_in_batches, LIMIT).map_err(|error| format!("no child: {error}"))? {
        Forked::Numbers(ticks) => ticks,
        Forked::Signal(SIGBUS) => return Err("the kernel refuses split locks (SIGBUS)".to_owned()),
        Forked::Signal(signal) => return Err(format!("the child was killed by signal {signal}")),
        Forked::TimedOut => {
            return Err(format!(
                "the kernel slows split locks down: {BATCHES} batches of {LOCKS_PER_BATCH} took more than {LIMIT:?}"
            ));
        }
        Forked::Silent => return Err("the child ended without an answer".to_owned()),
    };
    let per_lock =
        |(ticks, place): (&u64, LockPlace)| setup.rate.nanoseconds(*ticks) / f64::from(locks_of(place));
    let values =
        ticks.chunks(ORDER.len()).map(|turn| turn.iter().zip(ORDER).map(per_lock).collect()).collect();
    let turns = Turns { values, slowdown: 1.0, quantile: QUANTILE, seed: setup.seed };
    let held = Held {
        text: "the same additions within one line",
        ratio: |lows| lows[2] / lows[0],
        bound: WITHIN_A_LINE,
        plausible: None,
    };
    Ok(turns.reading(SignatureProbe::SplitLock, |lows| lows[1], &held))
}

/// Locks of a batch.
const fn locks_of(place: LockPlace) -> u32 {
    match place {
        LockPlace::Inside => CONTROL_LOCKS,
        LockPlace::Across => LOCKS_PER_BATCH,
    }
}

/// The child's work: it neither allocates nor locks, but for the word in question.
fn add_in_batches(ticks: &mut [u64; BATCHES * ORDER.len()]) {
    let mut lines = LockedLines::new();
    for (ticks, place) in ticks.iter_mut().zip(ORDER.into_iter().cycle()) {
        // The first locks after some across two lines are slow, and belong to neither.
        lines.add(LockPlace::Inside, CONTROL_LOCKS);
        let start = begin();
        lines.add(place, locks_of(place));
        *ticks = end().wrapping_sub(start);
    }
}

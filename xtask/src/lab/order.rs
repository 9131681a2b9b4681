//! Whether time goes back between two CPUs of a guest: by the bare counter, and by the clock that corrects each CPU.
//!
//! Each side loads what the other published, reads, and publishes its reading: one that is below what it loaded went back. `sidestep
//! clock check` looks in the same way, but only for a fraction of a second.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Context;
use clock::Clock;
use host::live::Pinned;
use kernels::ticks::lfence_rdtsc;
use machine::CpuId;
use serde_json::json;

/// The clock reads the kernel's until it knows the counters.
const PATIENCE: Duration = Duration::from_secs(20);
/// A side that waits for the other in vain so often looks whether it has ended.
const TURNS_PER_LOOK: u32 = 256;

/// A value alone on its pair of cache lines.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Line(AtomicU64);

/// What both sides saw.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Seen {
    observations: u64,
    backwards: u64,
    /// The largest step back, in the unit of the reading.
    largest: u64,
}

/// Counts on CPUs 0 and 1 until each side has half of `observations`, and prints a document.
///
/// # Errors
/// A CPU that may not be used, or no clock.
pub fn run(observations: u64) -> anyhow::Result<()> {
    let clock = Clock::new().context("there is no clock")?;
    let uses_counter = clock.wait_for_counter(PATIENCE);
    let corrected = count(observations, || clock.now().as_nanos())?;
    let bare = count(observations, lfence_rdtsc)?;
    let of = |seen: Seen| json!({ "observations": seen.observations, "backwards": seen.backwards, "largest": seen.largest });
    println!("{}", json!({ "uses_counter": uses_counter, "clock": of(corrected), "counter": of(bare) }));
    Ok(())
}

fn count(observations: u64, read: impl Fn() -> u64 + Sync) -> anyhow::Result<Seen> {
    let lines = [Line::default(), Line::default()];
    let is_over = AtomicBool::new(false);
    let side = |own: usize| -> anyhow::Result<Seen> {
        let pinned = Pinned::to(CpuId(own as u32));
        let seen =
            pinned.map(|_pinned| watch(&lines[own].0, &lines[1 - own].0, &is_over, observations / 2, &read));
        is_over.store(true, Ordering::Relaxed);
        Ok(seen?)
    };
    let [first, second] = std::thread::scope(|scope| {
        let other = scope.spawn(|| side(1));
        let first = side(0);
        [first, other.join().expect("a side does not panic")]
    });
    let (first, second) = (first?, second?);
    Ok(Seen {
        observations: first.observations + second.observations,
        backwards: first.backwards + second.backwards,
        largest: first.largest.max(second.largest),
    })
}

/// One side, until it has seen enough or the other has ended.
fn watch(
    own: &AtomicU64,
    other: &AtomicU64,
    is_over: &AtomicBool,
    enough: u64,
    read: impl Fn() -> u64,
) -> Seen {
    let (mut seen, mut last) = (Seen::default(), 0);
    while seen.observations < enough && !is_over.load(Ordering::Relaxed) {
        for _ in 0..TURNS_PER_LOOK {
            let published = other.load(Ordering::Acquire);
            let now = read();
            if published != last {
                last = published;
                seen.observations += 1;
                // Half of the numbers lie behind any number.
                let behind = published.wrapping_sub(now);
                if behind != 0 && behind < 1 << 63 {
                    seen.backwards += 1;
                    seen.largest = seen.largest.max(behind);
                }
            }
            own.store(now, Ordering::Release);
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_below_what_the_other_published_went_back() {
        let (own, other, is_over) = (AtomicU64::new(0), AtomicU64::new(5), AtomicBool::new(false));
        let seen = |now: u64| watch(&own, &other, &is_over, 1, || now);
        assert_eq!(seen(5), Seen { observations: 1, backwards: 0, largest: 0 });
        assert_eq!(seen(3), Seen { observations: 1, backwards: 1, largest: 2 });
        assert_eq!(own.load(Ordering::Relaxed), 3);
    }

    #[test]
    fn a_side_ends_with_the_other() {
        let (own, other) = (AtomicU64::new(0), AtomicU64::new(0));
        assert_eq!(watch(&own, &other, &AtomicBool::new(true), 1, || 1), Seen::default());
    }
}

//! Whether time goes backwards between two threads: one reads a time that the other has read before, and gets an earlier one.
//!
//! ```text
//! each side:  seen = load(line of the other);  now = read();  if seen is new: fresh += 1, backwards if now < seen
//!             store(own line, now)
//! ```
//! The other had its value before it stored it, and this side reads after it loaded it: `now < seen` breaks what every program
//! takes for granted. Counters in step do not help if the read may run before the load is done, as RDTSC may.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clock::{Clock, CounterSource, FRESH_ENOUGH};
use host::live::{AffinityError, Pinned, TimeSource, start_on};
use kernels::ticks::TickRead;
use machine::CpuId;
use record::{BackwardsCount, ClockCheck};

use crate::probe::CpuPair;
use crate::rendezvous::Alone;
use crate::session::SessionError;

/// Turns between two looks at the clock.
const TURNS_PER_LOOK: u32 = 64;

/// Time for each way of reading at least.
const EACH: Duration = Duration::from_millis(100);
/// The same at most, where the two threads hardly run at the same time.
const EACH_MOST: Duration = Duration::from_millis(700);
/// Fresh values by which one side has seen enough.
const FRESH_ENOUGH_OF_A_SIDE: u64 = 20_000;
/// Time for all ways on one pair at most: a dozen of them.
pub const WORST: Duration = Duration::from_secs(9);
/// Time for the clock of `sidestep-clock` to be calibrated; until then it gives the kernel's time.
const OWN_CLOCK_PATIENCE: Duration = Duration::from_millis(500);

/// A way to read the time.
struct Reading<'a> {
    name: &'static str,
    is_ordered: bool,
    ns_per_unit: f64,
    read: Box<dyn Fn(u32) -> u64 + Sync + 'a>,
}

/// What one side counted.
#[derive(Debug, Clone, Copy, Default)]
struct Count {
    fresh: u64,
    backwards: u64,
    largest: u64,
}

/// Looks at the first pair, and at one as far away as the numbers of CPUs tell, by every way of reading, until the time
/// is up; what was seen, and what was not, goes into the document.
///
/// # Errors
/// A debug build, or a CPU that may not be used.
pub fn fill<S: CounterSource>(
    check: &mut ClockCheck,
    cpus: &[CpuId],
    source: &S,
    counter_hz: f64,
    until: Instant,
) -> Result<(), super::ClockPairsError> {
    if cfg!(debug_assertions) {
        return Err(SessionError::DebugBuild.into());
    }
    let (Some(&first), Some(&next), Some(&last)) = (cpus.first(), cpus.get(1), cpus.last()) else {
        return Ok(());
    };
    let mut pairs = vec![CpuPair { a: first, b: next }];
    if last != next {
        pairs.push(CpuPair { a: first, b: last });
    }
    let patience = OWN_CLOCK_PATIENCE.min(until.saturating_duration_since(Instant::now()));
    let own_clock = Clock::new().ok().filter(|clock| clock.wait_for_counter(patience));
    let reads = reads(source, counter_hz, own_clock.as_ref(), &mut check.without);
    let mut late = Vec::new();
    for pair in pairs {
        for read in &reads {
            if Instant::now() >= until {
                late.push(format!("{} on CPUs {}-{}", read.name, pair.a, pair.b));
                continue;
            }
            let count = observe(pair, read, until)?;
            if is_enough(&count) {
                check.backwards.push(count);
            } else {
                check.without.push(format!(
                    "{} on CPUs {}-{}: {} new values are too few; it changes too rarely, or the two hardly ran at the \
                     same time",
                    count.name, count.a, count.b, count.fresh
                ));
            }
        }
    }
    if !late.is_empty() {
        check.without.push(format!("no time was left to look for steps back of {}", late.join(", ")));
    }
    Ok(())
}

/// All ways to read that are open to this process; why others are not, goes to `without`.
fn reads<'a, S: CounterSource>(
    source: &'a S,
    counter_hz: f64,
    own_clock: Option<&'a Clock>,
    without: &mut Vec<String>,
) -> Vec<Reading<'a>> {
    let tick_ns = 1e9 / counter_hz;
    let mut reads = vec![
        Reading {
            name: TickRead::BARE.name(),
            is_ordered: false,
            ns_per_unit: tick_ns,
            read: Box::new(|cpu| source.ticks(cpu)),
        },
        Reading {
            name: TickRead::FENCED.name(),
            is_ordered: true,
            ns_per_unit: tick_ns,
            read: Box::new(|cpu| source.ordered_ticks(cpu)),
        },
    ];
    if let Some(counter) = TickRead::UNFENCED.available() {
        // A double has no such instruction: this one always reads the hardware.
        let read = Box::new(move |_| counter.read_once());
        reads.push(Reading { name: TickRead::UNFENCED.name(), is_ordered: true, ns_per_unit: tick_ns, read });
    }
    if let Some(clock) = own_clock {
        let read = Box::new(move |_| clock.now().as_nanos());
        reads.push(Reading { name: "sidestep_clock", is_ordered: true, ns_per_unit: 1.0, read });
    }
    let denied = TimeSource::system_call_denied();
    for (source, name) in TimeSource::ALL.into_iter().filter(|(source, _)| source.is_of_the_system()) {
        if let Some(reason) = denied.as_ref().filter(|_| source.is_system_call()) {
            without.push(format!("{name}: {reason}"));
        } else if source.read_ns().is_some() {
            let read = Box::new(move |_| source.read_ns().unwrap_or(0));
            reads.push(Reading { name, is_ordered: true, ns_per_unit: 1.0, read });
        } else {
            without.push(format!("{name}: the kernel refuses: {}", std::io::Error::last_os_error()));
        }
    }
    reads
}

fn observe(pair: CpuPair, read: &Reading<'_>, until: Instant) -> Result<BackwardsCount, AffinityError> {
    let lines = [Alone::<AtomicU64>::default(), Alone::default()];
    let is_over = AtomicBool::new(false);
    let side = |own: usize, cpu| -> Result<Count, AffinityError> {
        let _pinned = Pinned::to(cpu)?;
        Ok(count(&lines[own].0, &lines[1 - own].0, Stop { is_over: &is_over, until }, || (read.read)(cpu.0)))
    };
    let [a, b] = std::thread::scope(|scope| {
        let other = start_on(scope, pair.b, || side(1, pair.b))?;
        let a = side(0, pair.a);
        is_over.store(true, Ordering::Relaxed);
        let b = other.join().expect("nothing panics in a side");
        Ok::<_, AffinityError>([a?, b?])
    })?;
    Ok(BackwardsCount {
        name: read.name.to_owned(),
        a: pair.a,
        b: pair.b,
        ordered: read.is_ordered,
        fresh: a.fresh + b.fresh,
        backwards: a.backwards + b.backwards,
        largest_ns: a.largest.max(b.largest) as f64 * read.ns_per_unit,
    })
}

/// What ends a side beside its own time.
#[derive(Clone, Copy)]
struct Stop<'a> {
    /// The other has left.
    is_over: &'a AtomicBool,
    /// The time for all ways is up.
    until: Instant,
}

/// One side, until its time is up or the other has left.
fn count(own: &AtomicU64, other: &AtomicU64, stop: Stop<'_>, read: impl Fn() -> u64) -> Count {
    let mut count = Count::default();
    let mut last = 0;
    let started = Instant::now();
    while !stop.is_over.load(Ordering::Relaxed) {
        let now = Instant::now();
        let elapsed = now.saturating_duration_since(started);
        if now >= stop.until
            || elapsed >= EACH_MOST
            || (elapsed >= EACH && count.fresh >= FRESH_ENOUGH_OF_A_SIDE)
        {
            break;
        }
        for _ in 0..TURNS_PER_LOOK {
            let seen = other.load(Ordering::Acquire);
            let now = read();
            if seen != last {
                last = seen;
                count.fresh += 1;
                // Half of the numbers lie behind any number: a counter may wrap.
                let behind = seen.wrapping_sub(now);
                if behind != 0 && behind < 1 << 63 {
                    count.backwards += 1;
                    count.largest = count.largest.max(behind);
                }
            }
            own.store(now, Ordering::Release);
        }
    }
    count
}

/// Whether two threads overlapped enough for the count to mean something.
fn is_enough(count: &BackwardsCount) -> bool {
    count.fresh >= 2 * FRESH_ENOUGH
}

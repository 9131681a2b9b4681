//! What threads read in one released round, held against causality.
//!
//! ```text
//! first:   released = read();  go = round;  own = read();  wait until all have arrived;  arrived = read()
//! others:  wait for go;  own = read();  tell that they have arrived
//! ```
//! Every value was read after the release and before the arrival, so it has to lie between the two readings of the first
//! thread, and no two may differ by more than they do. Where the whole round takes less than a switch of threads does, all
//! were running at the same time.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use host::live::{Pinned, start_thread};
use machine::CpuId;
use record::{RoundsSeen, RoundsVerdict};
use stats::median;

use super::catalogue::Read;
use crate::rendezvous::Alone;

/// Time for the rounds of one read in so many threads.
const EACH: Duration = Duration::from_millis(60);
/// Rounds of more threads than CPUs that are enough: in each, every value is held against causality.
const CROWDED_MIN: usize = 3;
/// Rounds kept at most.
const ROUNDS_MAX: usize = 4_000;
/// Time at most where nothing else is waiting: more threads than CPUs take turns.
pub const PATIENCE: Duration = Duration::from_millis(600);
/// A round this short left no time to switch threads: a switch alone takes more than a microsecond, and a thread that waits
/// for its turn waits for a time slice, which is a hundred times this.
const OVERLAP_NS: f64 = 20_000.0;
/// Rounds that overlap, without which nothing is said about threads that could all run at once.
const OVERLAPPING_MIN: usize = 50;
/// Looks at the flag before a waiting thread lets others run.
const SPINS: u32 = 200;

/// One round, in units of the read.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Round {
    /// Largest value less the smallest.
    apart: u64,
    /// Arrival less release; 0 if the arrival was before the release.
    bound: u64,
    /// Values outside.
    outside: u64,
}

/// Half of all numbers lie behind any number: a counter may wrap.
fn is_before(a: u64, b: u64) -> bool {
    let behind = b.wrapping_sub(a);
    behind != 0 && behind < 1 << 63
}

impl Round {
    fn of(released: u64, arrived: u64, values: impl Iterator<Item = u64> + Clone) -> Self {
        let outside = |value: &u64| is_before(*value, released) || is_before(arrived, *value);
        // From the release on, so that a wrap does no harm; a value before it counts as its distance the other way.
        let after = values.clone().map(|value| value.wrapping_sub(released).cast_signed());
        let (low, high) = after.fold((i64::MAX, i64::MIN), |(low, high), at| (low.min(at), high.max(at)));
        Self {
            apart: if low <= high { high.abs_diff(low) } else { 0 },
            bound: if is_before(arrived, released) { 0 } else { arrived.wrapping_sub(released) },
            outside: values.filter(outside).count() as u64,
        }
    }
}

/// What the threads of one group share.
struct Barrier {
    go: AtomicU64,
    arrived: AtomicUsize,
    is_over: AtomicBool,
    slots: Vec<Alone<AtomicU64>>,
}

fn wait(until: impl Fn() -> bool) {
    let mut spins = 0_u32;
    while !until() {
        spins += 1;
        if spins.is_multiple_of(SPINS) {
            std::thread::yield_now();
        } else {
            std::hint::spin_loop();
        }
    }
}

/// Rounds of one read in `threads` threads, the first on the first CPU, and so on in a circle, for `patience` at most.
///
/// # Errors
/// A thread could not be started or pinned.
pub fn run(
    read: &Read,
    threads: usize,
    cpus: &[CpuId],
    ns_per_unit: f64,
    patience: Duration,
) -> Result<RoundsSeen, String> {
    let barrier = Barrier {
        go: AtomicU64::new(0),
        arrived: AtomicUsize::new(0),
        is_over: AtomicBool::new(false),
        slots: (1..threads).map(|_| Alone::default()).collect(),
    };
    let judge = Judge::of(read, threads <= cpus.len(), ns_per_unit);
    let rounds = std::thread::scope(|scope| {
        let mut started = Ok(());
        for index in 1..threads {
            let (barrier, cpu) = (&barrier, cpus[index % cpus.len()]);
            let what = format_args!("thread {} of {threads}", index + 1);
            if let Err(refused) = start_thread(scope, what, move || follow(read, cpu, index - 1, barrier)) {
                started = Err(refused.to_string());
                break;
            }
        }
        let rounds = started.and_then(|()| lead(read, cpus[0], &barrier, &judge, patience));
        barrier.is_over.store(true, Ordering::Release);
        rounds
    })?;
    Ok(judge.judge(read, threads, &rounds))
}

/// The first thread.
fn lead(
    read: &Read,
    cpu: CpuId,
    barrier: &Barrier,
    judge: &Judge,
    patience: Duration,
) -> Result<Vec<Round>, String> {
    let _pinned = Pinned::to(cpu).map_err(|error| error.to_string())?;
    let others = barrier.slots.len();
    let now = || read.now().unwrap_or_default();
    let mut rounds = Vec::with_capacity(ROUNDS_MAX);
    // All are there before the first round counts.
    barrier.go.store(1, Ordering::Release);
    wait(|| barrier.arrived.load(Ordering::Acquire) == others);
    let (started, mut overlapping) = (Instant::now(), 0);
    while rounds.len() < ROUNDS_MAX {
        let elapsed = started.elapsed();
        if elapsed >= patience || (elapsed >= EACH && judge.is_enough(rounds.len(), overlapping)) {
            break;
        }
        barrier.arrived.store(0, Ordering::Relaxed);
        let released = now();
        barrier.go.fetch_add(1, Ordering::AcqRel);
        let own = now();
        wait(|| barrier.arrived.load(Ordering::Acquire) == others);
        let arrived = now();
        let values = barrier.slots.iter().map(|slot| slot.0.load(Ordering::Relaxed));
        let round = Round::of(released, arrived, values.chain([own]));
        overlapping += usize::from(judge.overlaps(&round));
        rounds.push(round);
    }
    Ok(rounds)
}

/// Any other thread.
fn follow(read: &Read, cpu: CpuId, index: usize, barrier: &Barrier) {
    // A CPU that may not be used leaves the thread where it is: causality holds there as well.
    let _pinned = Pinned::to(cpu);
    let mut round = 0;
    loop {
        let (go, is_over) = (&barrier.go, &barrier.is_over);
        wait(|| go.load(Ordering::Acquire) != round || is_over.load(Ordering::Acquire));
        if go.load(Ordering::Acquire) == round {
            return;
        }
        round += 1;
        let value = read.now().unwrap_or_default();
        barrier.slots[index].0.store(value, Ordering::Relaxed);
        barrier.arrived.fetch_add(1, Ordering::Release);
    }
}

/// What rounds of one read are held against.
#[derive(Debug, Clone, Copy)]
struct Judge {
    could_overlap: bool,
    ns_per_unit: f64,
    step_ns: f64,
}

impl Judge {
    fn of(read: &Read, could_overlap: bool, ns_per_unit: f64) -> Self {
        Self { could_overlap, ns_per_unit, step_ns: read.resolution_ns.unwrap_or(0.0) }
    }

    fn ns(&self, units: u64) -> f64 {
        units as f64 * self.ns_per_unit
    }

    /// Whether all threads were running: the clock may stand still within a round, which took at most a step more than
    /// it shows.
    fn overlaps(&self, round: &Round) -> bool {
        self.could_overlap && self.ns(round.bound) + self.step_ns <= OVERLAP_NS
    }

    /// Whether something can be said after so many rounds, of which so many overlap.
    fn is_enough(&self, rounds: usize, overlapping: usize) -> bool {
        if self.could_overlap { overlapping >= OVERLAPPING_MIN } else { rounds >= CROWDED_MIN }
    }

    fn judge(&self, read: &Read, threads: usize, rounds: &[Round]) -> RoundsSeen {
        let overlapping: Vec<&Round> = rounds.iter().filter(|round| self.overlaps(round)).collect();
        let all: Vec<&Round> = rounds.iter().collect();
        let count = overlapping.len();
        let shown = if count > 0 { &overlapping } else { &all };
        let largest = shown.iter().max_by_key(|round| round.apart);
        let apart: Vec<f64> = shown.iter().map(|round| self.ns(round.apart)).collect();
        let outside = rounds.iter().map(|round| round.outside).sum();
        RoundsSeen {
            read: read.name.to_owned(),
            threads,
            rounds: rounds.len(),
            overlapping: count,
            largest_ns: largest.map_or(0.0, |round| self.ns(round.apart)),
            bound_ns: largest.map_or(0.0, |round| self.ns(round.bound)),
            typical_ns: median(&apart).unwrap_or(0.0),
            outside,
            verdict: if outside > 0 {
                RoundsVerdict::Backwards
            } else if self.is_enough(rounds.len(), count) {
                RoundsVerdict::InOrder
            } else {
                RoundsVerdict::CannotTell
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_outside_its_round_is_counted_also_where_the_counter_wraps() {
        for (released, arrived, values, expected) in [
            (100, 200, vec![120, 180], Round { apart: 60, bound: 100, outside: 0 }),
            (100, 200, vec![90, 180], Round { apart: 90, bound: 100, outside: 1 }),
            (100, 200, vec![100, 201], Round { apart: 101, bound: 100, outside: 1 }),
            (u64::MAX - 10, 20, vec![u64::MAX, 5], Round { apart: 6, bound: 31, outside: 0 }),
            (100, 90, vec![95], Round { apart: 0, bound: 0, outside: 1 }),
            (100, 200, vec![], Round { apart: 0, bound: 100, outside: 0 }),
        ] {
            assert_eq!(
                Round::of(released, arrived, values.iter().copied()),
                expected,
                "{released} {values:?}"
            );
        }
    }

    #[test]
    fn threads_that_hardly_met_leave_it_open_and_one_step_back_settles_it() {
        let read = Read::shared_word();
        let round = |bound, outside| Round { apart: 40, bound, outside };
        let judged = |rounds: &[Round], could_overlap| {
            Judge::of(&read, could_overlap, 1.0).judge(&read, 2, rounds).verdict
        };
        let (short, long) = (vec![round(300, 0); 60], vec![round(3_000_000, 0); 60]);
        assert_eq!(judged(&short, true), RoundsVerdict::InOrder);
        assert_eq!(judged(&long, true), RoundsVerdict::CannotTell);
        // More threads than CPUs cannot all run at once: causality holds all the same.
        assert_eq!(judged(&long, false), RoundsVerdict::InOrder);
        assert_eq!(judged(&[round(3_000_000, 1)], true), RoundsVerdict::Backwards);
        let seen = Judge::of(&read, true, 0.5).judge(&read, 2, &[long[0], Round { apart: 70, ..short[0] }]);
        assert_eq!((seen.largest_ns, seen.bound_ns, seen.overlapping), (35.0, 150.0, 1));
        // A clock that tells milliseconds cannot tell that a round was short.
        let mut coarse = Read::shared_word();
        coarse.resolution_ns = Some(4e6);
        assert!(!Judge::of(&coarse, true, 1.0).overlaps(&Round { apart: 0, bound: 0, outside: 0 }));
    }

    #[test]
    fn a_thread_that_is_not_started_is_named_and_the_others_end() {
        let cpus: Vec<CpuId> = host::live::allowed_cpus().iter().collect();
        let seen = host::live::with_threads_left(1, || run(&Read::shared_word(), 3, &cpus, 1.0, PATIENCE));
        assert!(seen.is_err_and(|reason| reason.starts_with("cannot start thread 3 of 3: ")));
    }

    #[test]
    fn rounds_of_real_threads_end_and_stay_in_order() {
        let cpus: Vec<CpuId> = host::live::allowed_cpus().iter().collect();
        for threads in [1, 2, 5] {
            let seen =
                run(&Read::shared_word(), threads, &cpus, 1.0, PATIENCE).expect("threads can be started");
            assert_eq!(seen.threads, threads);
            // The word is shared, so that it cannot go back whatever the counters do.
            assert_eq!(seen.outside, 0, "{seen:?}");
        }
    }
}

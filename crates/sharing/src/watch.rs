//! Watching a program: samples in, the document out.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use host::live::{PerfError, ThreadError, is_running, pending_signal, start_thread, thread_cpu_time_ns};
use record::{SHARING_SCHEMA, Sharing};

use crate::overlap::{TOUCHES_FEW, overlaps};
use crate::region::regions;
use crate::samplers::Samplers;
use crate::segment::segments;
use crate::tally::Tally;

/// Samples per second of CPU time unless asked otherwise: what a thread loses by that is below what can be measured.
pub const RATE_HZ: f64 = 250.0;
/// How often the rings are emptied: code that a program makes while it runs must be read before it is made anew, and a ring
/// holds some seconds.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How often the kernel is asked for names and CPU times.
const THREADS_EVERY: Duration = Duration::from_millis(500);
/// More threads than this are not listed one by one: the matrices would have more than 65,536 cells.
const THREADS_MAX: usize = 256;

/// How.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProfileOptions {
    /// Samples per second of a thread's CPU time.
    pub rate_hz: f64,
    /// The longest time of watching; a program that was started goes on to its end.
    pub limit: Option<Duration>,
    /// So many samples that touch memory are enough.
    pub memory_samples: Option<u64>,
}

impl ProfileOptions {
    /// CPU time of a thread from one sample to the next.
    pub fn period(&self) -> Duration {
        Duration::from_secs_f64(1.0 / self.rate_hz)
    }
}

impl Default for ProfileOptions {
    fn default() -> Self {
        Self { rate_hz: RATE_HZ, limit: None, memory_samples: None }
    }
}

/// Watches a process that runs, and its descendants, until it ends, the time is over, there are samples enough, or a signal comes.
///
/// # Errors
/// The kernel forbids it, or the process is gone.
pub fn profile(pid: u32, options: ProfileOptions) -> Result<Sharing, PerfError> {
    let mut samplers = Samplers::of_process(pid, options.period())?;
    Ok(watch(&mut samplers, options, || !is_running(pid)))
}

/// Takes samples while `run` runs on this thread: the kernel's clock hears of what this thread starts only.
///
/// # Errors
/// The thread that would watch is not started; then nothing is run.
pub fn watch_while<R>(
    samplers: &mut Samplers,
    options: ProfileOptions,
    run: impl FnOnce() -> R,
) -> Result<(R, Sharing), ThreadError> {
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watching = || watch(samplers, options, || ended.load(Ordering::Acquire));
        let watcher = start_thread(scope, "the thread that takes samples", watching)?;
        let ran = run();
        ended.store(true, Ordering::Release);
        Ok((ran, watcher.join().expect("watching does not panic")))
    })
}

/// Takes samples until `is_over`, or as the options say, and adds them up.
pub fn watch(samplers: &mut Samplers, options: ProfileOptions, is_over: impl Fn() -> bool) -> Sharing {
    let (begun, begun_cpu_ns) = (Instant::now(), thread_cpu_time_ns());
    let mut tally = Tally::of(options.memory_samples);
    let mut threads_at = begun;
    loop {
        // Asked before the last look, so that nothing that came before the end is left.
        let over = is_over()
            || pending_signal().is_some()
            || options.limit.is_some_and(|limit| begun.elapsed() >= limit);
        let mut seen = Vec::new();
        samplers.drain(|observation| seen.push(observation));
        tally.take(seen);
        if threads_at <= Instant::now() || over {
            tally.look_at_threads();
            threads_at = Instant::now() + THREADS_EVERY;
        }
        if over || tally.has_enough() {
            break;
        }
        // Rings that cannot be waited for are looked at all the same.
        let _ = samplers.wait(LOOK_EVERY);
    }
    let cpu_ns = thread_cpu_time_ns() - begun_cpu_ns;
    conclude(samplers, tally, options.rate_hz, &Effort { seconds: begun.elapsed().as_secs_f64(), cpu_ns })
}

/// What watching took.
struct Effort {
    seconds: f64,
    cpu_ns: u64,
}

fn conclude(samplers: &Samplers, mut tally: Tally, rate_hz: f64, effort: &Effort) -> Sharing {
    let left_out = tally.keep_busiest(THREADS_MAX);
    let pid_of: Vec<u32> = tally.threads.iter().map(|one| one.thread.pid).collect();
    tally.touches.part_copies(&pid_of);
    let segments = segments(&tally.touches);
    let overlaps = overlaps(&segments, tally.threads.len());
    let regions = regions(&segments, &tally.touches, &mut tally.programs);
    let mut blind_spots = samplers.blind_spots();
    if tally.threads.iter().any(|one| one.thread.memory_samples < TOUCHES_FEW) {
        blind_spots.push(format!(
            "what threads with fewer than {TOUCHES_FEW} samples that touch memory share is hardly known; watch longer"
        ));
    }
    let seconds = effort.seconds;
    tally.schedules.settle(true);
    if tally.schedules.by_interrupt > 0 {
        tally.skipped.insert("wakes by interrupts".to_owned(), tally.schedules.by_interrupt);
    }
    let schedules = tally.schedules;
    let mut threads: Vec<_> = tally.threads.into_iter().map(|one| one.done(seconds, rate_hz)).collect();
    if samplers.sees_gaps() {
        for thread in &mut threads {
            thread.idle_gaps = Some(schedules.gaps(thread.tid));
            thread.arrivals = Some(schedules.arrivals(thread.tid));
        }
    }
    let wakes_refused = samplers.wakes_refused();
    let wakes = wakes_refused.is_none().then(|| schedules.wakes(&threads, seconds));
    let busy_s: f64 = threads.iter().map(|thread| thread.cpu_share * seconds).sum();
    Sharing {
        schema: SHARING_SCHEMA,
        seconds,
        rate_hz,
        samples: tally.samples,
        memory_samples: tally.memory_samples,
        undecodable: tally.undecodable,
        lost: tally.lost,
        skipped: tally.skipped,
        threads,
        threads_left_out: left_out,
        write_shared: overlaps.write_shared,
        read_shared: overlaps.read_shared,
        wakes,
        wakes_refused,
        regions,
        overhead: (busy_s > 0.0).then(|| effort.cpu_ns as f64 / 1e9 / busy_s),
        blind_spots,
    }
}

//! Watching a program: samples in, the document out.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use host::Root;
use host::live::{
    ChildError, ChildOutput, ChildRun, PerfError, ThreadError, is_running, pending_signal, run_child,
    start_thread, thread_cpu_time_ns,
};
use record::{SHARING_SCHEMA, Sharing};

use crate::clock_registers::ClockRegisters;
use crate::offered::{name_no_sample, of_processor};
use crate::overlap::{TOUCHES_FEW, overlaps};
use crate::region::regions;
use crate::segment::segments;
use crate::source::{Source, SourceChoice, SourceError, source_of};
use crate::tally::Tally;
use crate::writers::{Known, shared_writers};

/// Samples per second of CPU time unless asked otherwise: what a thread loses by that is below what can be measured.
pub const RATE_HZ: f64 = 250.0;
/// How often the rings are emptied: code that a program makes while it runs must be read before it is made anew, and a ring
/// holds some seconds.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How often the kernel is asked for names and CPU times.
const THREADS_EVERY: Duration = Duration::from_millis(500);
/// More threads than this are not listed one by one: the matrices would have more than 65,536 cells.
const THREADS_MAX: usize = 256;

/// Who is watched.
#[derive(Debug)]
pub enum Subject {
    /// A program that is started for it, and runs to its end.
    Command(Command, ChildOutput),
    /// A process that runs, and its descendants.
    Process(u32),
}

/// How.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProfileOptions {
    /// Samples per second of a thread's CPU time.
    pub rate_hz: f64,
    /// The longest time of watching; a program that was started goes on to its end.
    pub limit: Option<Duration>,
    /// So many samples that touch memory are enough.
    pub memory_samples: Option<u64>,
    /// By what; of a process that runs only the kernel's clock serves.
    pub source: SourceChoice,
}

impl Default for ProfileOptions {
    fn default() -> Self {
        Self { rate_hz: RATE_HZ, limit: None, memory_samples: None, source: SourceChoice::Best }
    }
}

/// What came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// Who shares what.
    pub sharing: Sharing,
    /// How the program ended that was started.
    pub run: Option<ChildRun>,
}

/// Why a program cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// The kernel says no to watching a process that runs.
    #[error(
        "{0}; start it by sidestep place -- COMMAND, so that a library in it can do what the kernel forbids"
    )]
    Perf(#[from] PerfError),
    /// Nothing serves for this command.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The program could not be started.
    #[error(transparent)]
    Child(#[from] ChildError),
    /// Nobody would watch it.
    #[error(transparent)]
    Thread(#[from] ThreadError),
    /// A rate that is none.
    #[error("cannot take {0} samples per second; give 1 to 10000")]
    Rate(f64),
}

/// Watches a program until it ends, the time is over, there are samples enough, or a signal comes.
///
/// # Errors
/// It cannot be started or watched.
pub fn profile(subject: Subject, options: ProfileOptions) -> Result<Profile, ProfileError> {
    /// perf_event_open takes no period below 10 us (kernel/events/core.c, `perf_swevent_start_hrtimer`), and at 10 kHz a thread
    /// is disturbed by more than 1 %.
    const RATES_HZ: std::ops::RangeInclusive<f64> = 1.0..=10_000.0;
    if !RATES_HZ.contains(&options.rate_hz) {
        return Err(ProfileError::Rate(options.rate_hz));
    }
    let period = Duration::from_secs_f64(1.0 / options.rate_hz);
    match subject {
        Subject::Process(pid) => {
            let mut source = ClockRegisters::of_process(pid, period)?;
            let sharing = watch(&mut source, options, || !is_running(pid));
            Ok(Profile { sharing, run: None })
        }
        Subject::Command(mut command, output) => {
            let mut source = source_of(command.get_program(), options.source, period)?;
            source.prepare(&mut command);
            let (run, sharing) =
                watch_while(&mut *source, options, || run_child(command, &[], output, None))?;
            Ok(Profile { sharing, run: Some(run?) })
        }
    }
}

/// Takes samples from a source while `run` runs on this thread: the kernel's clock hears of what this thread starts only.
///
/// # Errors
/// The thread that would watch is not started; then nothing is run.
pub fn watch_while<R>(
    source: &mut dyn Source,
    options: ProfileOptions,
    run: impl FnOnce() -> R,
) -> Result<(R, Sharing), ThreadError> {
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watching = || watch(source, options, || ended.load(Ordering::Acquire));
        let watcher = start_thread(scope, "the thread that takes samples", watching)?;
        let ran = run();
        ended.store(true, Ordering::Release);
        Ok((ran, watcher.join().expect("watching does not panic")))
    })
}

/// Takes samples from a source until `is_over`, or as the options say, and adds them up.
pub fn watch(source: &mut dyn Source, options: ProfileOptions, is_over: impl Fn() -> bool) -> Sharing {
    let (begun, begun_cpu_ns) = (Instant::now(), thread_cpu_time_ns());
    let mut tally = Tally::of(options.memory_samples);
    let mut threads_at = begun;
    loop {
        // Asked before the last look, so that nothing that came before the end is left.
        let over = is_over()
            || pending_signal().is_some()
            || options.limit.is_some_and(|limit| begun.elapsed() >= limit);
        let mut seen = Vec::new();
        source.drain(&mut |observation| seen.push(observation));
        tally.take(seen);
        source.heed(&tally.touches, tally.cpu_s(options.rate_hz));
        if threads_at <= Instant::now() || over {
            tally.look_at_threads();
            threads_at = Instant::now() + THREADS_EVERY;
        }
        // A source that cannot be waited for is looked at all the same.
        if over
            || tally.has_enough()
            || source.wait(LOOK_EVERY).is_err() && source.kind() == record::SharingSource::None
        {
            break;
        }
    }
    let cpu_ns = thread_cpu_time_ns() - begun_cpu_ns;
    conclude(source, tally, options.rate_hz, &Effort { seconds: begun.elapsed().as_secs_f64(), cpu_ns })
}

/// What watching took.
struct Effort {
    seconds: f64,
    cpu_ns: u64,
}

fn conclude(source: &mut dyn Source, mut tally: Tally, rate_hz: f64, effort: &Effort) -> Sharing {
    let left_out = tally.keep_busiest(THREADS_MAX);
    let pid_of: Vec<u32> = tally.threads.iter().map(|one| one.thread.pid).collect();
    tally.touches.part_copies(&pid_of);
    let segments = segments(&tally.touches);
    let overlaps = overlaps(&segments, tally.threads.len());
    let regions = regions(&segments, &tally.touches, &mut tally.programs);
    let mut blind_spots = source.blind_spots();
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
    let tids: Vec<u32> = tally.threads.iter().map(|one| one.thread.tid).collect();
    let schedules = tally.schedules;
    let mut threads: Vec<_> = tally.threads.into_iter().map(|one| one.done(seconds, rate_hz)).collect();
    if source.sees_gaps() {
        for thread in &mut threads {
            thread.idle_gaps = Some(schedules.gaps(thread.tid));
            thread.arrivals = Some(schedules.arrivals(thread.tid));
        }
    }
    let wakes = source.sees_wakes().then(|| schedules.wakes(&threads, seconds));
    let mut offers = vec![of_processor(&Root::live())];
    offers.extend(source.offers());
    if tally.samples == 0 {
        name_no_sample(&mut offers, source.kind());
    }
    let busy_s: f64 = threads.iter().map(|thread| thread.cpu_share * seconds).sum();
    let known = Known {
        segments: &segments,
        touches: &tally.touches,
        tids: &tids,
        write_shared: &overlaps.write_shared,
        cpu_s: busy_s,
    };
    let writers = source.writes().map(|seen| shared_writers(&seen, &known));
    Sharing {
        schema: SHARING_SCHEMA,
        source: source.kind(),
        offers,
        cost: source.cost(),
        privilege: source.privilege(),
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
        regions,
        overhead: (busy_s > 0.0).then(|| effort.cpu_ns as f64 / 1e9 / busy_s),
        blind_spots,
        writers,
    }
}

//! Questions that adjacent windows answer: latency of L1 and L2 in cycles of the core, of memory, the gain of huge pages, and whether
//! CPUs are alike.
//!
//! A sample is what varies between runs: a fresh mapping, a visit to a pair of CPUs. Its windows stand between readings of the control
//! loops, which say in what clock and whether the core was this thread's alone; of a contrast both sides are timed in adjacent windows
//! in random order, so that what others do meanwhile cancels. Samples, not windows, are what an answer counts: windows of one mapping
//! repeat its luck.

mod bench;
mod cpus;
mod latency;
mod pages;

use std::time::{Duration, Instant};

use host::live::Pinned;
use machine::{CpuId, Machine};

use self::bench::Bench;
use crate::memory::MemoryError;
use crate::probe::{CheckUpProbe, Planned, Section, Subject};
use crate::session::Session;

/// The probe in the check-up.
pub(crate) const PROBE: CheckUpProbe = CheckUpProbe {
    seconds: [Some(8.5), Some(24.0), Some(60.0)],
    least_s: 4.5,
    epoch_least_s: Some(2.8),
    takes_left_over: true,
    rank: 15,
    disturbs: "core",
    ..CheckUpProbe::new("questions", Section::Memory, plan)
};

/// Laying what cannot be broken off takes at most this long, in seconds: it is asked every few thousand links.
const ENDING_S: f64 = 0.1;

fn plan(subject: &Subject<'_>, seconds: f64) -> Planned {
    subject.planned(
        seconds,
        Settings { budget_s: 0.0 },
        |settings| &mut settings.budget_s,
        Settings::worst_case_s,
        run,
    )
}

/// What to measure.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Settings {
    /// Time for everything, in seconds.
    pub(crate) budget_s: f64,
}

impl Settings {
    fn worst_case_s(&self, _cpus: usize, _machine: &Machine) -> f64 {
        self.budget_s + ENDING_S
    }
}

/// One group of questions: its share of the time that is left when its turn comes, and what takes samples until then.
type Task = (f64, fn(&mut Bench, CpuId, Instant) -> Result<(), MemoryError>);

/// In the order in which they run: memory that was touched once comes soon to those behind. What ends early leaves its time to the next.
const TASKS: [Task; 4] =
    [(0.52, latency::memory), (0.2, latency::caches), (0.62, pages::gain), (1.0, cpus::alike)];

/// Takes samples for all questions on the last CPU of the session, as interrupts go to the first ones on most machines, and adds them
/// to the record, also when stopped half-way.
///
/// # Errors
/// No memory, or a CPU that may not be used.
pub(crate) fn run(session: &mut Session<'_>, settings: &Settings) -> Result<(), MemoryError> {
    let cpu = *session.cpus.last().expect("a session has at least one CPU");
    let pinned = Pinned::to(cpu)?;
    let end = Instant::now() + Duration::from_secs_f64(settings.budget_s);
    let mut bench = Bench::new(session, cpu);
    let mut result = Ok(());
    for (done, (share, task)) in TASKS.into_iter().enumerate() {
        let left = end.saturating_duration_since(Instant::now());
        result = result.and(task(&mut bench, cpu, Instant::now() + left.mul_f64(share)));
        session.progress.update((done + 1) as f64 / TASKS.len() as f64);
    }
    bench.finish(session);
    drop(pinned);
    result
}

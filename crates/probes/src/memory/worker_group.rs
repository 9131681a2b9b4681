//! Several CPUs at work at once, in lockstep windows whose overlap is observed, not assumed.
//!
//! Each member is a thread pinned to its CPU. A barrier opens every window for all. A window consists of a few parts,
//! and a member counts its parts on a cache line of its own; half-way through a window it looks at the others'
//! counters: one that has not finished its first part, or has finished its last, did not run beside it, and the
//! window does not count. Members of a large group look at their next few neighbours, so that everyone is watched.

mod streaming;

use std::hint;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use host::live::{AffinityError, Pinned, start_on};

use crate::rendezvous::Alone;
use crate::sampler::Sampler;

pub(super) use streaming::{
    FILL_BYTE, GroupMemory, PART_BYTES_MIN, StreamJob, map_for_group, stream_visit, worst_case_visit_s,
};

/// Parts of one window.
pub(super) const PARTS: u64 = 4;
/// Chunks that a visit of a large part moves on by in one window of one pass.
pub(super) const CHUNKS_PER_WINDOW: usize = PARTS as usize;
/// Neighbours that a member looks at: a look costs a cache miss inside the window.
const WATCHED_MAX: usize = 16;
/// How long after its probe's end a group still waits for a member whose CPU others have.
const GRACE: Duration = Duration::from_millis(500);
/// Spins between two looks at the time: some tens of microseconds.
const SPINS_PER_LOOK: u32 = 1_024;
/// Starting a thread and pinning it takes about this long, in seconds: for worst-case estimates.
pub(super) const THREAD_START_S: f64 = 100e-6;

/// Where the members of a group meet and watch each other.
#[derive(Debug)]
pub(super) struct Gate {
    members: usize,
    arrived: AtomicUsize,
    generation: AtomicUsize,
    broken: AtomicBool,
    /// Nobody waits longer than this.
    until: Instant,
    shared: AtomicU64,
    beats: Vec<Alone<AtomicU64>>,
}

/// One member while the group works.
#[derive(Debug)]
pub(super) struct Member<'g> {
    /// Index in the group; 0 leads.
    pub(super) index: usize,
    /// Samples on the member's CPU, where the thread is pinned.
    pub(super) sampler: Sampler,
    gate: &'g Gate,
    windows_opened: u64,
}

/// One member's view of one window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct WindowReport {
    /// Its own time; `None` if its CPU was taken away.
    pub(super) ns: Option<f64>,
    /// All members it watches were seen inside the same window.
    pub(super) overlapped: bool,
}

/// The windows of a group, counted and not.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Lockstep {
    /// Time of the slowest member, for every window that counts.
    pub(super) slowest_ns: Vec<f64>,
    /// Windows in which a member was pre-empted.
    pub(super) preempted: usize,
    /// Windows in which a member did not see the others at work.
    pub(super) apart: usize,
}

impl Gate {
    pub(super) fn new(members: usize, until: Instant) -> Self {
        Self {
            members,
            arrived: AtomicUsize::new(0),
            generation: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
            until,
            shared: AtomicU64::new(0),
            beats: (0..members).map(|_| Alone::default()).collect(),
        }
    }

    /// Waits until all members are here; false if one of them will never come, or the time is up.
    fn wait(&self) -> bool {
        if Instant::now() >= self.until {
            self.broken.store(true, Ordering::Relaxed);
        }
        let generation = self.generation.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.members {
            self.arrived.store(0, Ordering::Relaxed);
            self.generation.fetch_add(1, Ordering::AcqRel);
        }
        let mut spins = 0_u32;
        while self.generation.load(Ordering::Acquire) == generation {
            spins = spins.wrapping_add(1);
            if spins.is_multiple_of(SPINS_PER_LOOK) && Instant::now() >= self.until {
                self.broken.store(true, Ordering::Relaxed);
            }
            if self.broken.load(Ordering::Relaxed) {
                return false;
            }
            hint::spin_loop();
        }
        !self.broken.load(Ordering::Relaxed)
    }

    /// True if all that `index` watches are inside window number `window`: first part done, last part not.
    fn sees_all_at_work(&self, index: usize, window: u64) -> bool {
        let watched = (self.members - 1).min(WATCHED_MAX);
        (1..=watched).all(|distance| {
            let beat = self.beats[(index + distance) % self.members].0.load(Ordering::Relaxed);
            beat > window * PARTS && beat < (window + 1) * PARTS
        })
    }
}

/// Breaks the gate if its thread panics, so that the others do not wait for ever.
struct BreakOnPanic<'g>(&'g Gate);

impl Drop for BreakOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.broken.store(true, Ordering::Relaxed);
        }
    }
}

impl Member<'_> {
    /// Waits for all members; false if the group has broken up.
    pub(super) fn meet(&self) -> bool {
        self.gate.wait()
    }

    /// What the leader computes, for all members; `None` if the group has broken up.
    pub(super) fn agree(&mut self, compute: impl FnOnce(&Sampler) -> u64) -> Option<u64> {
        if self.index == 0 {
            self.gate.shared.store(compute(&self.sampler), Ordering::Relaxed);
        }
        self.meet().then(|| self.gate.shared.load(Ordering::Relaxed))
    }

    /// One lockstep window of `PARTS` parts; `None` if the group has broken up.
    pub(super) fn window(&mut self, mut part: impl FnMut()) -> Option<WindowReport> {
        if !self.meet() {
            return None;
        }
        let (window, index, gate) = (self.windows_opened, self.index, self.gate);
        self.windows_opened += 1;
        let mut overlapped = true;
        let ns = self.sampler.window(|| {
            for number in 1..=PARTS {
                part();
                gate.beats[index].0.fetch_add(1, Ordering::Relaxed);
                if number == PARTS / 2 {
                    overlapped = gate.sees_all_at_work(index, window);
                }
            }
        });
        Some(WindowReport { ns, overlapped })
    }
}

/// Runs `job` on every CPU at once, one pinned thread each with its own item, and returns what each made of it.
/// A group of one works on the calling thread: on a busy machine starting another costs a turn of the scheduler. A group that is still
/// at work some time after `deadline` breaks up: what others do to its CPUs does not cost the budget.
///
/// # Errors
/// If a CPU may not be used or a thread is not started; the others then find the group broken up.
pub(super) fn on_each<T: Send, R: Send>(
    samplers: Vec<Sampler>,
    items: Vec<T>,
    deadline: Instant,
    job: impl Fn(&mut Member<'_>, T) -> R + Sync,
) -> Result<Vec<R>, AffinityError> {
    let gate = Gate::new(samplers.len(), deadline + GRACE);
    let (gate, job) = (&gate, &job);
    let run = move |index: usize, sampler: Sampler, item: T| {
        let _broken_on_panic = BreakOnPanic(gate);
        let pinned = Pinned::to(sampler.cpu).inspect_err(|_| gate.broken.store(true, Ordering::Relaxed))?;
        let mut member = Member { index, sampler, gate, windows_opened: 0 };
        let result = job(&mut member, item);
        drop(pinned);
        Ok(result)
    };
    let members = samplers.into_iter().zip(items).enumerate();
    if gate.members == 1 {
        return members.map(|(index, (sampler, item))| run(index, sampler, item)).collect();
    }
    thread::scope(|scope| {
        let mut threads = Vec::with_capacity(gate.members);
        let mut refused = None;
        for (index, (sampler, item)) in members {
            match start_on(scope, sampler.cpu, move || run(index, sampler, item)) {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    gate.broken.store(true, Ordering::Relaxed);
                    refused = Some(error);
                    break;
                }
            }
        }
        let join = |thread: thread::ScopedJoinHandle<'_, Result<R, AffinityError>>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        let results = threads.into_iter().map(join).collect();
        refused.map_or(results, Err)
    })
}

/// Puts the members' views of the same windows together.
pub(super) fn lockstep(reports: &[Vec<WindowReport>]) -> Lockstep {
    let windows = reports.iter().map(Vec::len).min().unwrap_or(0);
    let mut together = Lockstep::default();
    for window in 0..windows {
        let views = || reports.iter().map(|member| member[window]);
        let slowest = views().try_fold(0.0_f64, |slowest, view| view.ns.map(|ns| slowest.max(ns)));
        match slowest {
            None => together.preempted += 1,
            Some(_) if !views().all(|view| view.overlapped) => together.apart += 1,
            Some(ns) => together.slowest_ns.push(ns),
        }
    }
    together
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use super::*;

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    #[test]
    fn who_waits_for_a_member_past_the_end_breaks_the_group() {
        let gate = Gate::new(2, Instant::now());
        assert!(!gate.wait() && gate.broken.load(Ordering::Relaxed));
    }

    #[test]
    fn nobody_passes_the_gate_before_all_are_there() {
        const ROUNDS: u32 = 50;
        let (gate, passed) = (Gate::new(3, soon()), AtomicU32::new(0));
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for round in 0..ROUNDS {
                        passed.fetch_add(1, Ordering::SeqCst);
                        assert!(gate.wait());
                        assert!(passed.load(Ordering::SeqCst) >= (round + 1) * 3);
                        assert!(gate.wait());
                    }
                });
            }
        });
        assert_eq!(passed.load(Ordering::SeqCst), 3 * ROUNDS);
    }

    #[test]
    fn a_broken_gate_lets_nobody_wait_for_ever() {
        let gate = Gate::new(2, soon());
        gate.broken.store(true, Ordering::Relaxed);
        assert!(!gate.wait());
    }

    #[test]
    fn a_group_whose_last_thread_is_not_started_breaks_up() {
        let cpu = host::live::allowed_cpus().first().expect("a CPU");
        let rate = clock::TickRate::calibrate(1_000_000).expect("a counter that counts");
        let control = crate::control::ControlLoops { cycles_per_multiply: None };
        for left in [0, 1] {
            let samplers = vec![Sampler::new(cpu, rate, control); 2];
            let met = host::live::with_threads_left(left, || {
                on_each(samplers, vec![(); 2], soon(), |member, ()| member.meet())
            });
            let error = met.expect_err("there are two");
            assert!(error.to_string().starts_with("cannot start a thread for CPU"), "{error}");
        }
    }

    #[test]
    fn a_member_is_at_work_between_its_first_and_its_last_part() {
        let gate = Gate::new(2, soon());
        for (beats, at_work) in [(4, false), (5, true), (7, true), (8, false), (12, false)] {
            gate.beats[1].0.store(beats, Ordering::Relaxed);
            assert_eq!(gate.sees_all_at_work(0, 1), at_work, "{beats} parts");
        }
        assert!(Gate::new(1, soon()).sees_all_at_work(0, 0), "alone there is nobody to see");
    }

    #[test]
    fn a_window_counts_only_if_all_ran_and_saw_each_other() {
        let view = |ns, overlapped| WindowReport { ns, overlapped };
        let first =
            vec![view(Some(10.0), true), view(Some(10.0), true), view(Some(10.0), true), view(None, false)];
        let second =
            vec![view(Some(12.0), true), view(None, true), view(Some(11.0), false), view(None, true)];
        let together = lockstep(&[first, second]);
        assert_eq!(together, Lockstep { slowest_ns: vec![12.0], preempted: 2, apart: 1 });
        assert_eq!(lockstep(&[]), Lockstep::default());
    }
}

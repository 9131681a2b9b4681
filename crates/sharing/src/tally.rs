//! What observations add up to: threads, touches, demands, and what could not be used.

use std::collections::{BTreeMap, HashMap};

use host::arch::no_decoder;
use host::live::{Observation, RegisterSample, ThreadState, thread_state};
use record::{SharingThread, UnitDemand};

use crate::instruction::{Access, Operand};
use crate::program::Programs;
use crate::schedule::Schedules;
use crate::segment::LINE_BYTES;
use crate::touch::{Touch, Touches};

/// More touches than this are counted and not kept: 32 bytes each, and none of them would change a matrix.
const TOUCHES_MAX: usize = 2_000_000;

/// A thread while it is watched.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Watched {
    pub(super) thread: SharingThread,
    /// Times that it came to a CPU or left one.
    switches: u64,
    /// Sums over samples; shares once it is done.
    demand_of: u64,
    /// CPU time at the first and the last look.
    cpu_ns: Option<[u64; 2]>,
}

/// All that was seen so far.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) programs: Programs,
    pub(super) touches: Touches,
    pub(super) threads: Vec<Watched>,
    pub(super) schedules: Schedules,
    by_tid: HashMap<u32, usize>,
    pub(super) samples: u64,
    pub(super) memory_samples: u64,
    /// So many of them were asked for; what the same look brings beyond is dropped.
    enough: Option<u64>,
    pub(super) undecodable: u64,
    pub(super) lost: u64,
    pub(super) skipped: BTreeMap<String, u64>,
}

impl Tally {
    /// Nothing so far, and at most so many samples that touch memory.
    pub(super) fn of(enough: Option<u64>) -> Self {
        Self { enough, ..Self::default() }
    }

    /// Takes what one look at the rings has brought. Rings of several CPUs have no common order, so samples come last: a
    /// program that was begun in the same look is known by then.
    pub(super) fn take(&mut self, observations: Vec<Observation>) {
        self.programs.begin_look();
        let mut samples = Vec::new();
        for observation in observations {
            match observation {
                Observation::Sample(sample) => samples.push(sample),
                Observation::Named { pid, tid, name, exec } => {
                    if exec {
                        self.programs.forget(pid);
                    }
                    let known = self.by_tid.get(&tid).copied();
                    if let Some(watched) = known.map(|thread| &mut self.threads[thread]) {
                        watched.thread.name = name;
                    } else {
                        self.add(pid, tid, name);
                    }
                }
                Observation::Started { pid, parent, .. } => self.programs.started(pid, parent),
                Observation::Mapped { pid, start, bytes, file_offset, path } => {
                    self.programs.mapped(pid, start, bytes, file_offset, path);
                }
                Observation::Ended { .. } => {}
                Observation::Woke { waker, woken } => self.schedules.woke(waker, woken),
                Observation::Switched { pid, tid, time_ns, what } => {
                    let thread = self.thread(pid, tid);
                    self.threads[thread].switches += 1;
                    self.schedules.switched(tid, time_ns, what);
                }
                Observation::LostSwitches(count) => {
                    *self
                        .skipped
                        .entry("switches and wakes dropped by the kernel".to_owned())
                        .or_default() += count;
                }
                Observation::Lost(count) => self.lost += count,
            }
        }
        self.schedules.settle(false);
        for sample in &samples {
            self.sample(sample);
        }
    }

    /// True once there are as many samples that touch memory as were asked for.
    pub(super) fn has_enough(&self) -> bool {
        self.enough.is_some_and(|enough| self.memory_samples >= enough)
    }

    fn add(&mut self, pid: u32, tid: u32, name: String) -> usize {
        let thread = SharingThread { tid, pid, name, ..SharingThread::default() };
        self.threads.push(Watched { thread, ..Watched::default() });
        self.by_tid.insert(tid, self.threads.len() - 1);
        self.threads.len() - 1
    }

    fn thread(&mut self, pid: u32, tid: u32) -> usize {
        if let Some(known) = self.by_tid.get(&tid) {
            return *known;
        }
        let name = thread_state(tid).map(|state| state.name).unwrap_or_default();
        self.add(pid, tid, name)
    }

    fn skip(&mut self, reason: &str) {
        *self.skipped.entry(reason.to_owned()).or_default() += 1;
    }

    fn sample(&mut self, sample: &RegisterSample) {
        if self.has_enough() {
            return;
        }
        let thread = self.thread(sample.pid, sample.tid);
        self.samples += 1;
        self.threads[thread].thread.samples += 1;
        let Some(registers) = sample.registers else {
            // Where none are asked for, what is not seen is said once, among the blind spots.
            if no_decoder().is_none() {
                self.skip("samples without user registers");
            }
            return;
        };
        let run = match self.programs.run(sample) {
            Ok(run) => run,
            Err(unread) => {
                self.undecodable += 1;
                self.skip(unread.reason());
                return;
            }
        };
        let operands: Vec<Operand> = run.operands(&registers).collect();
        let demand = run.demand();
        let watched = &mut self.threads[thread];
        watched.demand_of += 1;
        add_demand(&mut watched.thread.demand, demand);
        let first = self.touches.touches.len();
        for operand in operands {
            match operand {
                Operand::Access(access) => self.touch(thread, sample.pid, access, first),
                Operand::Stack => self.skip("operands on the thread's own stack"),
                Operand::ThreadLocal => self.skip("operands in thread-local memory"),
                Operand::VectorIndex => self.skip("gathers and scatters"),
            }
        }
        if self.touches.touches.len() > first {
            self.memory_samples += 1;
            self.threads[thread].thread.memory_samples += 1;
        }
    }

    /// Notes an access, once per line and sample: `first` is the first touch of this sample.
    fn touch(&mut self, thread: usize, pid: u32, access: Access, first: usize) {
        if self.touches.touches.len() >= TOUCHES_MAX {
            self.skip("accesses beyond two million");
            return;
        }
        let Some((object, extent, place)) = self.programs.place(pid, access.address) else {
            self.skip("addresses where nothing is mapped");
            return;
        };
        let extent = self.touches.extent(object, extent);
        let (reads, writes) = (access.reads, access.writes);
        let same =
            |touch: &&mut Touch| touch.extent == extent && touch.place / LINE_BYTES == place / LINE_BYTES;
        if let Some(known) = self.touches.touches[first..].iter_mut().find(same) {
            known.reads |= reads;
            known.writes |= writes;
        } else {
            self.touches.touches.push(Touch { thread, extent, place, bytes: access.bytes, reads, writes });
        }
    }

    /// Keeps the threads with the most samples, and of those without the ones that come and go most, in their order; says how
    /// many were left out. Who only ever waits for others may never be sampled, and is worth placing.
    pub(super) fn keep_busiest(&mut self, most: usize) -> u64 {
        let mut order: Vec<usize> = (0..self.threads.len()).collect();
        let activity = |thread: &usize| {
            let watched = &self.threads[*thread];
            (watched.thread.samples, watched.switches)
        };
        order.sort_by_key(|thread| std::cmp::Reverse(activity(thread)));
        let mut kept: Vec<usize> =
            order.into_iter().take(most).filter(|thread| activity(thread) > (0, 0)).collect();
        kept.sort_unstable();
        let mut place = vec![None; self.threads.len()];
        for (new, old) in kept.iter().enumerate() {
            place[*old] = Some(new);
        }
        self.touches.touches.retain_mut(|touch| match place[touch.thread] {
            Some(new) => {
                touch.thread = new;
                true
            }
            None => false,
        });
        let before = self.threads.len();
        self.threads = kept.iter().map(|thread| self.threads[*thread].clone()).collect();
        (before - kept.len()) as u64
    }

    /// Asks the kernel what the threads are called and have used; those that have ended keep what they had.
    pub(super) fn look_at_threads(&mut self) {
        for watched in &mut self.threads {
            if let Some(ThreadState { name, cpu_ns, .. }) = thread_state(watched.thread.tid) {
                watched.thread.name = name;
                if let Some(cpu_ns) = cpu_ns {
                    let first = watched.cpu_ns.map_or(cpu_ns, |[first, _]| first);
                    watched.cpu_ns = Some([first, cpu_ns]);
                }
            }
        }
    }
}

impl Watched {
    /// The thread with shares in place of sums.
    pub(super) fn done(mut self, seconds: f64, rate_hz: f64) -> SharingThread {
        let demand = &mut self.thread.demand;
        let count = self.demand_of.max(1) as f64;
        for part in [&mut demand.integer, &mut demand.floating, &mut demand.front_end, &mut demand.memory] {
            *part /= count;
        }
        self.thread.cpu_share = (self.cpu_s(rate_hz) / seconds.max(f64::MIN_POSITIVE)).min(1.0);
        self.thread
    }

    /// Samples see user mode only; the kernel's own count sees all, from the first look on.
    fn cpu_s(&self, rate_hz: f64) -> f64 {
        let sampled_s = self.thread.samples as f64 / rate_hz;
        let counted_s = self.cpu_ns.map_or(0.0, |[first, last]| last.saturating_sub(first) as f64 / 1e9);
        sampled_s.max(counted_s)
    }
}

fn add_demand(sum: &mut UnitDemand, one: UnitDemand) {
    sum.integer += one.integer;
    sum.floating += one.floating;
    sum.front_end += one.front_end;
    sum.memory += one.memory;
}

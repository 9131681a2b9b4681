//! The discrete-event simulator: what happens next is the end of a step, of a slice, of a wake-up or of a pause.
//!
//! Each CPU knows the time of its next event, and the earliest is found by looking at all of them: a change of speed
//! moves many such times at once, which a heap would have to forget.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use stats::Random;

use super::compiled::Compiled;
use super::description::Policy;
use super::load::{Load, Step};
use super::policy::{self, View};

/// Stream of the policy's random numbers; threads have the streams below it.
const STREAM_OF_POLICY: u64 = 1 << 32;

/// Sums over a run.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Totals {
    /// Cycles of work done, by all threads.
    pub work_cycles: f64,
    /// Time of all CPUs with a running thread.
    pub running_ns: f64,
    /// Of that, the time in which the smallest unit had another running thread.
    pub shared_ns: f64,
    /// Wake-ups of idle CPUs.
    pub wakes: u64,
    /// Time that these took.
    pub wake_ns: f64,
    /// Time of all units of the clock's level that were awake: a stand-in for energy.
    pub awake_ns: f64,
    /// Events.
    pub events: u64,
}

impl Totals {
    /// What happened after `earlier` totals of the same run.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            work_cycles: self.work_cycles - earlier.work_cycles,
            running_ns: self.running_ns - earlier.running_ns,
            shared_ns: self.shared_ns - earlier.shared_ns,
            wakes: self.wakes - earlier.wakes,
            wake_ns: self.wake_ns - earlier.wake_ns,
            awake_ns: self.awake_ns - earlier.awake_ns,
            events: self.events - earlier.events,
        }
    }
}

/// Why a thread is not on a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rest {
    No,
    Sleeping,
    Waiting,
}

#[derive(Debug, Clone)]
pub(super) struct ThreadState {
    /// Index of the step it is at.
    step: usize,
    pub(super) remaining_cycles: f64,
    work_cycles: f64,
    rest: Rest,
    /// Wakes that came before it waited.
    early_wakes: u32,
    /// When it left its CPU last.
    left_ns: f64,
    pub(super) cpu: Option<usize>,
    random: Random,
}

/// What one CPU is doing.
#[derive(Debug, Clone)]
pub(super) struct CpuState {
    pub(super) running: Option<usize>,
    /// The thread that it wakes up for.
    starting: Option<usize>,
    queue: VecDeque<usize>,
    pub(super) cycles_per_ns: f64,
    /// Until when the running thread's work is counted.
    settled_ns: f64,
    pub(super) finish_ns: f64,
    pub(super) slice_end_ns: f64,
    /// Another thread runs in its smallest unit.
    pub(super) is_sharing: bool,
}

/// What happens to whom apart from CPUs; ordered by time, then by order of planning.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Timer {
    at_ns: f64,
    number: u64,
    what: Due,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Due {
    ThreadWakes(usize),
    /// The unit, and its count of departures when the timer was set.
    UnitSleeps(usize, u64),
}

impl Eq for Timer {}

impl Ord for Timer {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.at_ns.total_cmp(&other.at_ns).then(self.number.cmp(&other.number))
    }
}

impl PartialOrd for Timer {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// One run of a load on a machine under a policy.
#[derive(Debug, Clone)]
pub struct Engine<'a> {
    pub(super) machine: &'a Compiled,
    pub(super) load: &'a Load,
    /// Threads that use each set of shared data.
    pub(super) members: Vec<Vec<usize>>,
    policy: Policy,
    /// CPU of each thread under a plan for all; empty without one.
    plan: Vec<usize>,
    random: Random,
    pub(super) threads: Vec<ThreadState>,
    pub(super) cpus: Vec<CpuState>,
    /// Time of each CPU's next event.
    pub(super) next_ns: Vec<f64>,
    assigned: Vec<u16>,
    idle_since_ns: Vec<f64>,
    /// Running threads in each unit of each level.
    pub(super) present: Vec<Vec<u16>>,
    /// Threads on each unit of the clock's level, whether it is awake, and how often its last thread left.
    unit_threads: Vec<u16>,
    unit_awake: Vec<bool>,
    unit_departures: Vec<u64>,
    pub(super) awake: usize,
    awake_settled_ns: f64,
    queued: usize,
    timers: BinaryHeap<Reverse<Timer>>,
    timers_set: u64,
    /// CPUs whose speed may have changed in this event.
    pub(super) changed: std::ops::Range<usize>,
    /// More of them: of those who share data with a thread that moved.
    pub(super) changed_partners: Vec<usize>,
    pub(super) now_ns: f64,
    totals: Totals,
}

impl<'a> Engine<'a> {
    /// Starts all threads at time 0; every CPU has rested for a long time. `plan` holds a CPU per thread,
    /// or nothing; for the kernel-like policy it is where each was created and ran first.
    pub fn new(machine: &'a Compiled, load: &'a Load, policy: Policy, plan: &[usize], seed: u64) -> Self {
        let computes = |step: &Step| matches!(step, Step::Compute(..));
        assert!(load.threads.iter().all(|own| own.steps.iter().any(computes)), "a thread never computes");
        let units = machine.cpus / machine.clock_cpus;
        let begins_asleep = machine.asleep_after_ns().is_some();
        let idle = CpuState {
            running: None,
            starting: None,
            queue: VecDeque::new(),
            cycles_per_ns: 0.0,
            settled_ns: 0.0,
            finish_ns: f64::INFINITY,
            slice_end_ns: f64::INFINITY,
            is_sharing: false,
        };
        let thread = |index: usize| ThreadState {
            step: 0,
            remaining_cycles: 0.0,
            work_cycles: 0.0,
            rest: Rest::No,
            early_wakes: 0,
            left_ns: 0.0,
            cpu: if policy == Policy::KernelLike { plan.get(index).copied() } else { None },
            random: Random::for_stream(seed, index as u64),
        };
        let mut engine = Self {
            machine,
            load,
            members: load.members(),
            policy,
            plan: if policy == Policy::KernelLike { Vec::new() } else { plan.to_vec() },
            random: Random::for_stream(seed, STREAM_OF_POLICY),
            threads: (0..load.threads.len()).map(thread).collect(),
            cpus: vec![idle; machine.cpus],
            next_ns: vec![f64::INFINITY; machine.cpus],
            assigned: vec![0; machine.cpus],
            idle_since_ns: vec![f64::NEG_INFINITY; machine.cpus],
            present: machine.levels.iter().map(|level| vec![0; machine.cpus / level.cpus]).collect(),
            unit_threads: vec![0; units],
            unit_awake: vec![!begins_asleep; units],
            unit_departures: vec![0; units],
            awake: if begins_asleep { 0 } else { units },
            awake_settled_ns: 0.0,
            queued: 0,
            timers: BinaryHeap::new(),
            timers_set: 0,
            changed: 0..0,
            changed_partners: Vec::new(),
            now_ns: 0.0,
            totals: Totals::default(),
        };
        for thread in 0..engine.threads.len() {
            engine.proceed(thread, 0);
        }
        engine.refresh();
        engine
    }

    /// Runs until a time and says what happened since time 0.
    pub fn run_until(&mut self, until_ns: f64) -> Totals {
        loop {
            let (cpu, at_ns) = self.next_of_cpus();
            let timer_ns = self.timers.peek().map_or(f64::INFINITY, |timer| timer.0.at_ns);
            if at_ns.min(timer_ns) > until_ns {
                break;
            }
            self.totals.events += 1;
            if at_ns <= timer_ns {
                self.now_ns = at_ns;
                self.cpu_event(cpu);
            } else if let Some(Reverse(timer)) = self.timers.pop() {
                self.now_ns = timer.at_ns;
                self.due(timer.what);
            }
            self.refresh();
        }
        self.now_ns = until_ns;
        self.settle_all();
        self.totals
    }

    /// The CPU each thread is on, or was on last.
    pub fn places(&self) -> Vec<Option<usize>> {
        self.threads.iter().map(|thread| thread.cpu).collect()
    }

    fn next_of_cpus(&self) -> (usize, f64) {
        let mut best = (0, f64::INFINITY);
        for (cpu, at_ns) in self.next_ns.iter().enumerate() {
            if *at_ns < best.1 {
                best = (cpu, *at_ns);
            }
        }
        best
    }

    fn cpu_event(&mut self, cpu: usize) {
        if let Some(thread) = self.cpus[cpu].starting.take() {
            self.start(cpu, thread);
            return;
        }
        let Some(thread) = self.cpus[cpu].running else { return };
        let is_done = self.cpus[cpu].finish_ns <= self.now_ns;
        self.settle(cpu);
        if is_done {
            let state = &mut self.threads[thread];
            state.work_cycles += state.remaining_cycles;
            state.remaining_cycles = 0.0;
            let step = state.step + 1;
            self.proceed(thread, step);
        } else if let Some(next) = self.cpus[cpu].queue.pop_front() {
            self.cpus[cpu].queue.push_back(thread);
            self.threads[thread].left_ns = self.now_ns;
            self.leave(cpu);
            self.start(cpu, next);
        }
    }

    fn due(&mut self, what: Due) {
        match what {
            Due::ThreadWakes(thread) => {
                self.threads[thread].rest = Rest::No;
                let step = self.threads[thread].step + 1;
                self.proceed(thread, step);
            }
            Due::UnitSleeps(unit, departures) => {
                let stayed_idle = self.unit_threads[unit] == 0 && self.unit_departures[unit] == departures;
                if stayed_idle && std::mem::take(&mut self.unit_awake[unit]) {
                    self.set_awake(self.awake - 1);
                }
            }
        }
    }

    /// Goes on at a step of a thread's program, until the thread computes or rests. A thread that it wakes goes on at once, while
    /// the waker still has its CPU.
    fn proceed(&mut self, thread: usize, mut step: usize) {
        loop {
            step %= self.load.threads[thread].steps.len();
            let state = &mut self.threads[thread];
            state.step = step;
            match self.load.threads[thread].steps[step] {
                Step::Compute(length) => {
                    state.remaining_cycles = length.draw(&mut state.random);
                    self.compute(thread);
                    break;
                }
                Step::Sleep(length) => {
                    let pause_ns = length.draw(&mut state.random);
                    state.rest = Rest::Sleeping;
                    self.set_timer(self.now_ns + pause_ns, Due::ThreadWakes(thread));
                    self.vacate(thread);
                    break;
                }
                Step::Wait if state.early_wakes == 0 => {
                    state.rest = Rest::Waiting;
                    self.vacate(thread);
                    break;
                }
                Step::Wait => state.early_wakes -= 1,
                Step::Wake(other) => {
                    let other_state = &mut self.threads[other];
                    if other_state.rest == Rest::Waiting {
                        other_state.rest = Rest::No;
                        let next = other_state.step + 1;
                        self.proceed(other, next);
                    } else {
                        other_state.early_wakes += 1;
                    }
                }
            }
            step += 1;
        }
    }

    /// The thread has work: it stays on its CPU if it is on one.
    fn compute(&mut self, thread: usize) {
        match self.threads[thread].cpu.filter(|cpu| self.cpus[*cpu].running == Some(thread)) {
            Some(cpu) => self.touch(cpu),
            None => self.dispatch(thread),
        }
    }

    fn dispatch(&mut self, thread: usize) {
        let cpu = self.choose(thread);
        self.set_cpu(thread, cpu);
        let unit = cpu / self.machine.clock_cpus;
        if self.assigned[cpu] > 0 {
            self.cpus[cpu].queue.push_back(thread);
            self.queued += 1;
            if self.cpus[cpu].slice_end_ns == f64::INFINITY {
                self.cpus[cpu].slice_end_ns = self.now_ns + self.machine.slice_ns;
                self.touch(cpu);
            }
        } else {
            let exit_ns = self.exit_ns(cpu);
            self.totals.wakes += 1;
            self.totals.wake_ns += exit_ns;
            if exit_ns > 0.0 {
                self.cpus[cpu].starting = Some(thread);
                self.next_ns[cpu] = self.now_ns + exit_ns;
            } else {
                self.start(cpu, thread);
            }
        }
        self.assigned[cpu] += 1;
        self.unit_threads[unit] += 1;
        if !std::mem::replace(&mut self.unit_awake[unit], true) {
            self.set_awake(self.awake + 1);
        }
    }

    fn choose(&mut self, thread: usize) -> usize {
        let view = View {
            machine: self.machine,
            assigned: &self.assigned,
            idle_since_ns: &self.idle_since_ns,
            previous: self.threads[thread].cpu,
            planned: self.plan.get(thread).copied(),
        };
        policy::choose(self.policy, &view, &mut self.random)
    }

    /// How long an idle CPU takes to run again: as the deepest state that it or its unit has entered says, or until a
    /// unit that is waking is awake.
    fn exit_ns(&self, cpu: usize) -> f64 {
        let mut exit_ns = 0.0_f64;
        for rest in &self.machine.rests {
            let first = cpu / rest.cpus * rest.cpus;
            let mut idle_since_ns = f64::NEG_INFINITY;
            let mut waking_ns = 0.0_f64;
            for other in first..first + rest.cpus {
                if self.assigned[other] > 0 {
                    idle_since_ns = f64::INFINITY;
                    if self.cpus[other].starting.is_some() {
                        waking_ns = waking_ns.max(self.next_ns[other] - self.now_ns);
                    }
                }
                idle_since_ns = idle_since_ns.max(self.idle_since_ns[other]);
            }
            let entered = self.now_ns - idle_since_ns >= rest.after_ns;
            exit_ns = exit_ns.max(if entered { rest.exit_ns } else { waking_ns });
        }
        exit_ns
    }

    fn start(&mut self, cpu: usize, thread: usize) {
        self.set_cpu(thread, cpu);
        let state = &mut self.cpus[cpu];
        state.running = Some(thread);
        state.settled_ns = self.now_ns;
        state.slice_end_ns =
            if state.queue.is_empty() { f64::INFINITY } else { self.now_ns + self.machine.slice_ns };
        self.count(cpu, true);
        self.touch(cpu);
    }

    /// Takes the running thread off, its work being settled.
    fn leave(&mut self, cpu: usize) {
        if self.cpus[cpu].running.take().is_some() {
            self.count(cpu, false);
        }
        self.next_ns[cpu] = f64::INFINITY;
        self.touch(cpu);
    }

    /// A thread rests: its CPU takes the next of its queue, or of the longest one, or goes idle.
    fn vacate(&mut self, thread: usize) {
        let Some(cpu) = self.threads[thread].cpu.filter(|cpu| self.cpus[*cpu].running == Some(thread)) else {
            return;
        };
        self.threads[thread].left_ns = self.now_ns;
        self.leave(cpu);
        let unit = cpu / self.machine.clock_cpus;
        if self.queued > 0 {
            let from = self.next_queue(cpu);
            if let Some(next) = self.cpus[from].queue.pop_front() {
                self.queued -= 1;
                self.assigned[from] -= 1;
                self.unit_threads[from / self.machine.clock_cpus] -= 1;
                self.unit_threads[unit] += 1;
                self.assigned[cpu] += 1;
                if self.cpus[from].queue.is_empty() {
                    self.cpus[from].slice_end_ns = f64::INFINITY;
                    self.touch(from);
                }
                self.start(cpu, next);
            }
        }
        self.assigned[cpu] -= 1;
        self.unit_threads[unit] -= 1;
        if self.assigned[cpu] == 0 {
            self.idle_since_ns[cpu] = self.now_ns;
        }
        if self.unit_threads[unit] == 0 {
            self.unit_departures[unit] += 1;
            if let Some(after_ns) = self.machine.asleep_after_ns() {
                let due = Due::UnitSleeps(unit, self.unit_departures[unit]);
                self.set_timer(self.now_ns + after_ns, due);
            }
        }
    }

    /// The queue that an idle CPU takes a thread from: its own, else the longest whose first thread may be moved.
    fn next_queue(&self, cpu: usize) -> usize {
        let may_move = |other: usize| {
            let first = self.cpus[other].queue.front();
            let is_cold = |thread: &usize| self.now_ns - self.threads[*thread].left_ns >= self.machine.hot_ns;
            first.is_some_and(is_cold)
        };
        if !self.cpus[cpu].queue.is_empty() {
            return cpu;
        }
        let others = (0..self.cpus.len()).filter(|other| may_move(*other));
        others.max_by_key(|other| (self.cpus[*other].queue.len(), Reverse(*other))).unwrap_or(cpu)
    }

    fn set_timer(&mut self, at_ns: f64, what: Due) {
        self.timers_set += 1;
        self.timers.push(Reverse(Timer { at_ns, number: self.timers_set, what }));
    }

    fn set_awake(&mut self, awake: usize) {
        self.settle_awake();
        let before = self.machine.ghz(self.awake);
        self.awake = awake;
        if before.to_bits() != self.machine.ghz(awake).to_bits() {
            self.changed = 0..self.machine.cpus;
        }
    }

    fn settle_awake(&mut self) {
        self.totals.awake_ns += self.awake as f64 * (self.now_ns - self.awake_settled_ns);
        self.awake_settled_ns = self.now_ns;
    }

    fn count(&mut self, cpu: usize, comes: bool) {
        for (level, units) in self.machine.levels.iter().zip(&mut self.present) {
            let present = &mut units[level.unit(cpu)];
            if comes { *present += 1 } else { *present -= 1 }
        }
    }

    /// Counts the work that the CPU's thread has done until now.
    pub(super) fn settle(&mut self, cpu: usize) {
        let state = &mut self.cpus[cpu];
        let Some(thread) = state.running else { return };
        let ran_ns = self.now_ns - state.settled_ns;
        if ran_ns <= 0.0 {
            return;
        }
        state.settled_ns = self.now_ns;
        self.totals.running_ns += ran_ns;
        self.totals.shared_ns += if state.is_sharing { ran_ns } else { 0.0 };
        let thread = &mut self.threads[thread];
        let cycles = (ran_ns * state.cycles_per_ns).min(thread.remaining_cycles);
        thread.work_cycles += cycles;
        thread.remaining_cycles -= cycles;
    }

    fn settle_all(&mut self) {
        for cpu in 0..self.cpus.len() {
            self.settle(cpu);
        }
        self.settle_awake();
        // Sorted, so that the sum does not depend on which thread sat where.
        let mut work: Vec<f64> = self.threads.iter().map(|thread| thread.work_cycles).collect();
        work.sort_by(f64::total_cmp);
        self.totals.work_cycles = work.iter().sum();
    }
}

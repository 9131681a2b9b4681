//! Windows and visits: how one number is sampled on a machine that others use too.
//!
//! A window is 0.1 to 1 ms of the loop under test. It is set aside when the kernel took the CPU away during it, or
//! when it moved to another CPU. A visit is a handful of windows on one mapping, between two readings of the control
//! loops; a visit during which the frequency or the share of the core moved is set aside as a whole, unless nearly
//! all are like it. Probes come back to every cell in later rounds, as a disturbance that outlasts a visit is
//! invisible inside it.

use std::time::Instant;

use clock::{TickRate, begin, end, stamp};
use host::live::{ThreadUsage, pending_signal};
use machine::CpuId;
use record::Planted;

use crate::answers::{Answer, Answers};
use crate::control::{ControlLoops, ControlReading};
use crate::fault_injection;

/// Windows must be longer than this, in nanoseconds: reading the counter twice then stays below 0.1 %.
pub const WINDOW_NS: f64 = 100_000.0;

/// A control loop that differs by more than this share between the start and the end of a visit has moved.
const CONTROL_MOVED: f64 = 0.04;

/// What samplers count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Windows taken.
    pub windows: u64,
    /// Windows set aside.
    pub dropped: u64,
    /// Involuntary context switches seen in windows.
    pub involuntary_switches: u64,
}

impl Tally {
    /// Adds the counts of another.
    pub fn add(&mut self, other: &Self) {
        self.windows += other.windows;
        self.dropped += other.dropped;
        self.involuntary_switches += other.involuntary_switches;
    }
}

/// How a visit is sampled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VisitPlan {
    /// Windows that have to count before the width may end the visit.
    pub windows_min: usize,
    /// Windows taken at most, those set aside included.
    pub windows_max: usize,
    /// The visit ends when the half-width of the low quantile's interval is below this share of it.
    pub half_width: f64,
}

/// What one visit brought.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Visit {
    /// Nanoseconds per unit of work, one value per window that counts, in the order taken.
    pub windows: Vec<f64>,
    /// Windows set aside.
    pub dropped: usize,
    /// Control loops before and after.
    pub control: [ControlReading; 2],
}

impl Visit {
    /// True if the frequency or the share of the core moved during the visit.
    pub fn control_moved(&self) -> bool {
        let [before, after] = &self.control;
        self.frequency_moved() || moved(before.port_ns, after.port_ns)
    }

    /// True if the frequency moved during the visit.
    pub fn frequency_moved(&self) -> bool {
        let [before, after] = &self.control;
        moved(before.multiply_ns, after.multiply_ns)
    }
}

fn moved(a: f64, b: f64) -> bool {
    (a - b).abs() > CONTROL_MOVED * a.min(b)
}

/// Samples loops on one CPU. The calling thread has to be pinned to it.
#[derive(Debug, Clone)]
pub struct Sampler {
    /// Where it samples.
    pub cpu: CpuId,
    /// Rate of the counter.
    pub rate: TickRate,
    /// The control loops of this machine.
    pub control: ControlLoops,
    /// When what it does is cut, if ever: a starved CPU takes a second for what a free one does in a millisecond.
    pub until: Option<Instant>,
    tally: Tally,
    /// What was planted, and by how much it makes the windows of the row at hand longer.
    planted: Vec<Planted>,
    factor: f64,
    answers: Answers,
}

impl Sampler {
    /// A sampler for the CPU that the calling thread is pinned to.
    pub fn new(cpu: CpuId, rate: TickRate, control: ControlLoops) -> Self {
        let (tally, planted, answers) = (Tally::default(), Vec::new(), Answers::default());
        Self { cpu, rate, control, until: None, tally, planted, factor: 1.0, answers }
    }

    /// The same, cut at some time.
    #[must_use]
    pub fn until(self, until: Option<Instant>) -> Self {
        Self { until, ..self }
    }

    /// The same with differences planted, which no user of sidestep meets unless asked for.
    #[must_use]
    pub fn planted(self, planted: Vec<Planted>) -> Self {
        Self { planted, ..self }
    }

    /// The same with a place where wrong results are computed again.
    #[must_use]
    pub(crate) fn answering(self, answers: Answers) -> Self {
        Self { answers, ..self }
    }

    /// Says of which raw series the next windows are; `name` is only made where something is planted.
    pub fn about(&mut self, name: impl FnOnce() -> String) {
        if !self.planted.is_empty() {
            self.factor = fault_injection::factor(&self.planted, &name());
        }
    }

    /// A bit that turns a result of this loop wrong, if that is asked for: a seam for tests, planted like differences.
    pub(crate) fn planted_bit(&self, kernel: &str) -> u64 {
        u64::from(fault_injection::is_wrong(&self.planted, kernel))
    }

    /// Counts results of a loop whose answer is known, with what they were computed from and a way to compute them again. Not for
    /// inside a window.
    pub(crate) fn count(
        &mut self,
        answer: Answer,
        operands: impl FnOnce() -> String,
        again: impl FnMut() -> u64 + Send,
    ) {
        self.answers.count(self.cpu, answer, operands, again);
    }

    /// What was counted since the last call.
    pub(crate) fn answers(&mut self) -> &mut Answers {
        &mut self.answers
    }

    /// True when it is to end with the window that has begun: its time is up, or the user wants the program to end.
    pub fn is_cut(&self) -> bool {
        pending_signal().is_some() || self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// Runs so many rounds outside of any window, in slices, as long as it is not cut.
    pub fn in_slices(&self, rounds: u64, mut run: impl FnMut(u64)) {
        /// Of 64 loads each: some two milliseconds where all miss.
        const SLICE_ROUNDS: u64 = 256;
        let mut left = rounds;
        while left > 0 && !self.is_cut() {
            let slice = left.min(SLICE_ROUNDS);
            run(slice);
            left -= slice;
        }
    }

    /// The counts since the last call.
    pub fn take_tally(&mut self) -> Tally {
        std::mem::take(&mut self.tally)
    }

    /// Times one window in nanoseconds; `None` if it has to be set aside.
    #[inline(always)]
    pub fn window(&mut self, region: impl FnOnce()) -> Option<f64> {
        let before = ThreadUsage::now();
        let start = begin();
        region();
        let (ticks, aux) = stamp();
        let after = ThreadUsage::now();
        let switches = after.involuntary_switches - before.involuntary_switches;
        self.tally.windows += 1;
        self.tally.involuntary_switches += switches;
        // RDTSCP carries `node << 12 | cpu`; Linux, arch/x86/include/asm/segment.h, VDSO_CPUNODE_BITS.
        let moved = aux.is_some_and(|aux| aux & 0xfff != self.cpu.0 & 0xfff);
        if switches > 0 || moved {
            self.tally.dropped += 1;
            return None;
        }
        Some(self.counted_ns(self.rate.nanoseconds(ticks.wrapping_sub(start))))
    }

    /// What a window counts that took so long: as long, but for what is planted.
    pub fn counted_ns(&self, ns: f64) -> f64 {
        ns * self.factor
    }

    /// Doubles the rounds until one window lasts at least `window_ns`, in the faster of two windows, as a single one
    /// may only be long because it was interrupted; nothing is rejected from above.
    pub fn rounds_for(&self, window_ns: f64, mut run: impl FnMut(u64)) -> u64 {
        /// A loop that is this fast after so many rounds is not a loop.
        const ROUNDS_MAX: u64 = 1 << 40;
        let mut timed_ns = |rounds: u64| {
            let start = begin();
            run(rounds);
            self.rate.nanoseconds(end().wrapping_sub(start))
        };
        let mut rounds = 1;
        loop {
            let mut ns = timed_ns(rounds);
            if ns >= window_ns {
                ns = ns.min(timed_ns(rounds));
            }
            if ns >= window_ns || rounds >= ROUNDS_MAX || self.is_cut() {
                return rounds;
            }
            // Jump close to the goal, but never by more than 8: the first rounds may have been cold.
            let factor = (window_ns * 1.1 / ns.max(1.0)).clamp(1.2, 8.0);
            rounds = (rounds as f64 * factor).ceil() as u64;
        }
    }

    /// Samples a loop of `rounds` rounds with `units` units of work each, between two control readings.
    pub fn visit(&mut self, plan: VisitPlan, rounds: u64, units: f64, mut run: impl FnMut(u64)) -> Visit {
        let control_before = self.control.read(self.rate);
        let (mut windows, mut dropped) = (Vec::with_capacity(plan.windows_max), 0);
        while windows.len() + dropped < plan.windows_max {
            match self.window(|| run(rounds)) {
                Some(ns) => windows.push(ns / (rounds as f64 * units)),
                None => dropped += 1,
            }
            let is_narrow = windows.len() >= plan.windows_min && low_half_width(&windows) <= plan.half_width;
            if is_narrow || self.is_cut() {
                break;
            }
        }
        Visit { windows, dropped, control: [control_before, self.control.read(self.rate)] }
    }
}

/// Half of the distance between the fastest window and the upper bound of the first quartile's rank interval,
/// relative to the fastest: a cheap stopping rule on width, never on significance.
fn low_half_width(windows: &[f64]) -> f64 {
    let mut sorted = windows.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let quartile = sorted.len() as f64 * 0.25;
    // Order statistics of a quantile: rank +- 1.96 sqrt(n q (1 - q)).
    let upper = (quartile + 1.96 * (quartile * 0.75).sqrt()).ceil() as usize;
    let high = sorted[upper.min(sorted.len() - 1)];
    (high - sorted[0]) / 2.0 / sorted[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_outliers_do_not_widen_the_low_end() {
        let mut windows = vec![10.0, 10.01, 10.02, 10.0, 10.01, 10.02, 10.01];
        windows.extend([30.0, 40.0]);
        assert!(low_half_width(&windows) < 0.002);
    }

    #[test]
    fn windows_are_as_long_as_they_were_but_for_what_is_planted() {
        let rate = TickRate { hz: 1e9, error_ppm: 1.0 };
        let sampler = Sampler::new(CpuId(0), rate, ControlLoops { cycles_per_multiply: None });
        let rule = Planted { row: "order Random".to_owned(), factor: 1.25 };
        let mut planted = sampler.clone().planted(vec![rule]);
        for (name, expected) in [("order Random, block 8 MiB", 125.0), ("order Sequential", 100.0)] {
            planted.about(|| name.to_owned());
            assert!((planted.counted_ns(100.0) - expected).abs() < 1e-9, "{name}");
        }
        assert!((sampler.counted_ns(100.0) - 100.0).abs() < 1e-12);
    }

    #[test]
    fn a_visit_whose_port_loop_moved_says_so() {
        let reading = |multiply_ns, port_ns| ControlReading { multiply_ns, port_ns };
        let visit = |after| Visit { control: [reading(1.0, 0.1), after], ..Visit::default() };
        assert!(!visit(reading(1.01, 0.101)).control_moved());
        assert!(visit(reading(1.0, 0.2)).control_moved() && !visit(reading(1.0, 0.2)).frequency_moved());
        assert!(visit(reading(1.2, 0.1)).control_moved());
    }
}

//! A loop that is sampled in a few windows, of which a low quantile counts.

use std::time::Instant;

use host::live::{PageRequest, Pages};
use machine::Bytes;

use super::{ShortProbe, ShortProbeError, chase};
use crate::sampler::Sampler;
use crate::timed_loop::TimedLoop;

/// Windows of a sample.
const WINDOWS: usize = 8;
/// Windows taken for a sample at most, those set aside included.
const WINDOWS_MAX: usize = 4 * WINDOWS;
/// Searches for the rounds of a window; the largest number counts, as an interruption makes it too small.
const SEARCHES: usize = 3;

/// Which of a sample's windows counts; disturbance by others only adds time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Low {
    /// The fastest: for loops that do the same work in each window.
    Fastest,
    /// The lower quartile: for loops whose windows differ by what they happen to touch.
    Quartile,
}

impl Low {
    /// The value of `windows`, which are sorted here; `None` if there are none.
    fn of(self, windows: &mut [f64]) -> Option<f64> {
        windows.sort_unstable_by(f64::total_cmp);
        let rank = match self {
            Self::Fastest => 0,
            Self::Quartile => windows.len() / 4,
        };
        windows.get(rank).copied()
    }
}

/// What a windowed probe is made of.
pub(super) struct Work {
    /// What runs; a sample is nanoseconds per unit.
    pub(super) timed: TimedLoop<'static>,
    /// How long a window is where nothing is switched, in nanoseconds.
    pub(super) window_ns: f64,
    /// Which window counts.
    pub(super) low: Low,
}

/// The memory of a probe: what was asked for, and the pages that were given.
#[derive(Debug, Clone, Copy)]
pub(super) struct Memory {
    pub(super) block: Bytes,
    pub(super) asked: PageRequest,
    pub(super) pages: Pages,
}

/// A windowed probe.
pub(super) struct Windowed {
    name: &'static str,
    work: Work,
    sampler: Sampler,
    rounds: u64,
    /// Core cycles of a step of the multiply chain, where they are known.
    cycles_per_multiply: Option<f64>,
    core_cycles: Option<f64>,
    memory: Option<Memory>,
}

impl Windowed {
    /// Finds how many rounds fill a window.
    pub(super) fn start(name: &'static str, mut work: Work, sampler: &Sampler) -> Self {
        let searches = (0..SEARCHES).map(|_| sampler.rounds_for(work.window_ns, &mut work.timed.run));
        let rounds = searches.max().unwrap_or(1);
        let cycles_per_multiply = sampler.control.believed_cycles(sampler.rate);
        Self {
            name,
            work,
            sampler: sampler.clone(),
            rounds,
            cycles_per_multiply,
            core_cycles: None,
            memory: None,
        }
    }

    /// The same, with a chase through this memory.
    pub(super) fn with_memory(self, memory: Memory) -> Self {
        Self { memory: Some(memory), ..self }
    }
}

impl ShortProbe for Windowed {
    fn name(&self) -> &'static str {
        self.name
    }

    fn unit(&self) -> &'static str {
        "ns"
    }

    fn sample(&mut self) -> Result<f64, ShortProbeError> {
        let (mut windows, mut taken, mut kept) = ([0.0; WINDOWS], 0, 0);
        let before = self.sampler.control.read(self.sampler.rate);
        while kept < WINDOWS && taken < WINDOWS_MAX && !(taken > 0 && self.sampler.is_cut()) {
            taken += 1;
            if let Some(ns) = self.sampler.window(|| (self.work.timed.run)(self.rounds)) {
                windows[kept] = ns;
                kept += 1;
            }
        }
        let after = self.sampler.control.read(self.sampler.rate);
        let disturbed = ShortProbeError::Disturbed { probe: self.name, windows: taken };
        let window_ns = self.work.low.of(&mut windows[..kept]).ok_or(disturbed)?;
        let ns = window_ns / (self.rounds * self.work.timed.units_per_round) as f64;
        let multiply_ns = before.multiply_ns.min(after.multiply_ns);
        self.core_cycles = self.cycles_per_multiply.map(|cycles| ns / multiply_ns * cycles);
        Ok(ns)
    }

    fn core_cycles(&self) -> Option<f64> {
        self.core_cycles
    }

    fn pages(&self) -> Option<Pages> {
        self.memory.map(|memory| memory.pages)
    }

    fn lay_anew(&mut self, seed: u64, until: Option<Instant>) -> Result<Option<Pages>, ShortProbeError> {
        let Some(memory) = &mut self.memory else { return Ok(None) };
        let laid = chase::chase(memory.block, memory.asked, seed, until)?;
        memory.pages = laid.pages;
        self.work = laid.work;
        Ok(Some(laid.pages))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_low_end_of_no_window_is_nothing_and_of_one_that_one() {
        for low in [Low::Fastest, Low::Quartile] {
            assert_eq!(low.of(&mut []), None);
            assert_eq!(low.of(&mut [3.0]), Some(3.0));
        }
    }

    #[test]
    fn the_quartile_leaves_a_quarter_of_the_windows_below() {
        let mut windows = [8.0, 1.0, 7.0, 2.0, 6.0, 3.0, 5.0, 4.0];
        assert_eq!(Low::Fastest.of(&mut windows), Some(1.0));
        assert_eq!(Low::Quartile.of(&mut windows), Some(3.0));
    }
}

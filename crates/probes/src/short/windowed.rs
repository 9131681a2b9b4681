//! A loop that is sampled in a few windows, of which a low quantile counts; among them dependent loads at random over a block.

use std::hint::black_box;
use std::time::Instant;

use host::live::{Mapping, MappingError, PageRequest, Pages, pending_signal};
use kernels::offset_chase::{OFFSETS_PER_ROUND, OffsetChase};
use machine::Bytes;

use crate::sampler::Sampler;
use crate::timed_loop::TimedLoop;

/// A thousand loads from memory at 0.1 to 0.2 us: enough that what each happens to miss evens out.
const CHASE_WINDOW_NS: f64 = 200_000.0;
/// In the first level every window is the same.
const L1_WINDOW_NS: f64 = 60_000.0;
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
struct Memory {
    block: Bytes,
    asked: PageRequest,
    pages: Pages,
}

/// A windowed probe.
pub(super) struct Windowed {
    work: Work,
    sampler: Sampler,
    rounds: u64,
    memory: Option<Memory>,
}

impl Windowed {
    /// Finds how many rounds fill a window.
    pub(super) fn start(mut work: Work, sampler: &Sampler) -> Self {
        let searches = (0..SEARCHES).map(|_| sampler.rounds_for(work.window_ns, &mut work.timed.run));
        let rounds = searches.max().unwrap_or(1);
        Self { work, sampler: sampler.clone(), rounds, memory: None }
    }

    /// A chase through a block of memory; in the first level every window does the same work.
    pub(super) fn chase(
        block: Bytes,
        of_l1: bool,
        asked: PageRequest,
        seed: u64,
        until: Option<Instant>,
        sampler: &Sampler,
    ) -> Result<Self, MappingError> {
        let (timed, pages) = laid(block, asked, seed, until)?;
        let (low, window_ns) =
            if of_l1 { (Low::Fastest, L1_WINDOW_NS) } else { (Low::Quartile, CHASE_WINDOW_NS) };
        let memory = Some(Memory { block, asked, pages });
        Ok(Self { memory, ..Self::start(Work { timed, window_ns, low }, sampler) })
    }

    pub(super) fn pages(&self) -> Option<Pages> {
        self.memory.map(|memory| memory.pages)
    }

    pub(super) fn lay_anew(
        &mut self,
        seed: u64,
        until: Option<Instant>,
    ) -> Result<Option<Pages>, MappingError> {
        let Some(memory) = &mut self.memory else { return Ok(None) };
        (self.work.timed, memory.pages) = laid(memory.block, memory.asked, seed, until)?;
        Ok(Some(memory.pages))
    }

    /// Nanoseconds per unit of work.
    ///
    /// # Errors
    /// How many windows were taken, if all were set aside.
    pub(super) fn sample(&mut self) -> Result<f64, usize> {
        let (mut windows, mut taken, mut kept) = ([0.0; WINDOWS], 0, 0);
        while kept < WINDOWS && taken < WINDOWS_MAX && !(taken > 0 && self.sampler.is_cut()) {
            taken += 1;
            if let Some(ns) = self.sampler.window(|| (self.work.timed.run)(self.rounds)) {
                windows[kept] = ns;
                kept += 1;
            }
        }
        let window_ns = self.work.low.of(&mut windows[..kept]).ok_or(taken)?;
        Ok(window_ns / (self.rounds * self.work.timed.units_per_round) as f64)
    }
}

/// Maps a block and lays a chase through it.
fn laid(
    block: Bytes,
    asked: PageRequest,
    seed: u64,
    until: Option<Instant>,
) -> Result<(TimedLoop<'static>, Pages), MappingError> {
    let goes_on = || pending_signal().is_none() && until.is_none_or(|until| Instant::now() < until);
    let mut mapping = Mapping::new_while(block.0 as usize, asked, &goes_on)?;
    let laid = OffsetChase::lay_while(mapping.as_mut_slice(), seed, &goes_on);
    let mut chase = laid.ok_or(MappingError::BrokenOff { bytes: block })?;
    let pages = mapping.pages();
    let run = move |rounds| {
        chase.walk(mapping.as_mut_slice(), rounds);
        black_box(chase.offset());
    };
    Ok((TimedLoop::new(OFFSETS_PER_ROUND, run), pages))
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

//! Windows of several loops in turns: each turn has one window of each, so that all see the same machine.
//!
//! Between two windows the control loops are read. A turn counts as a whole or not at all: not if the CPU was taken away
//! in one of its windows, nor if frequency or share of the core moved beside one.

use std::time::{Duration, Instant};

use crate::control::ControlReading;
use crate::sampler::{Sampler, Visit};

/// Turns that are wanted.
const TURNS: usize = 200;
/// Turns that are enough where the machine is so busy that time runs out.
const TURNS_MIN: usize = 40;
/// Longest time for the turns of one probe that has enough of them. Fifteen probes then stay below eight seconds also where
/// all take all of it.
const TURNS_LIMIT: Duration = Duration::from_millis(450);
/// Longest time for the turns of a probe that has not enough yet.
const PATIENCE: Duration = Duration::from_millis(1200);
/// Searches for the rounds of a window; the largest number counts, as an interruption makes it too small.
const SEARCHES: usize = 2;

/// Length of a window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Length {
    /// As many rounds as take so many nanoseconds.
    Nanoseconds(f64),
    /// One round.
    Round,
}

/// One loop.
pub(super) struct Work<'w> {
    /// Units of work in a round: what a value is per.
    pub(super) units_per_round: f64,
    /// Makes so many rounds; allocates nothing.
    pub(super) run: Box<dyn FnMut(u64) + 'w>,
}

impl<'w> Work<'w> {
    /// A loop with so many units per round.
    pub(super) fn new(units_per_round: u64, run: impl FnMut(u64) + 'w) -> Self {
        Self { units_per_round: units_per_round as f64, run: Box::new(run) }
    }
}

/// What a window is told in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Scale {
    /// Nanoseconds.
    Nanoseconds,
    /// Core cycles, of which a step of the multiply chain beside the window takes so many.
    Cycles {
        /// Core cycles of a step.
        per_multiply: f64,
    },
}

impl Scale {
    /// A value of nanoseconds beside two readings of the control loops.
    fn of(self, ns: f64, before: &ControlReading, after: &ControlReading) -> f64 {
        match self {
            Self::Nanoseconds => ns,
            Self::Cycles { per_multiply } => ns / before.multiply_ns.min(after.multiply_ns) * per_multiply,
        }
    }
}

/// Takes turns of the loops: values per unit of work, by turn and loop.
///
/// # Errors
/// Too few turns were undisturbed.
pub(super) fn take_turns(
    sampler: &mut Sampler,
    scale: Scale,
    length: Length,
    works: &mut [Work<'_>],
) -> Result<Vec<Vec<f64>>, String> {
    let started = Instant::now();
    let rounds: Vec<u64> = works.iter_mut().map(|work| rounds_of(sampler, length, work)).collect();
    let (mut turns, mut taken) = (Vec::with_capacity(TURNS), 0);
    let has_time = |turns: usize| {
        let limit = if turns < TURNS_MIN { PATIENCE } else { TURNS_LIMIT };
        turns < TURNS && started.elapsed() < limit
    };
    while has_time(turns.len()) {
        taken += 1;
        turns.extend(turn(sampler, scale, works, &rounds));
    }
    if turns.len() < TURNS_MIN {
        return Err(format!(
            "the machine was too busy: only {} of {taken} turns were undisturbed, and {TURNS_MIN} are needed; \
             try again with less load, or another CPU",
            turns.len()
        ));
    }
    Ok(turns)
}

fn rounds_of(sampler: &Sampler, length: Length, work: &mut Work<'_>) -> u64 {
    let Length::Nanoseconds(window_ns) = length else {
        (work.run)(1);
        return 1;
    };
    (0..SEARCHES).map(|_| sampler.rounds_for(window_ns, &mut work.run)).max().unwrap_or(1)
}

/// One window of each loop; `None` if one has to be set aside.
fn turn(sampler: &mut Sampler, scale: Scale, works: &mut [Work<'_>], rounds: &[u64]) -> Option<Vec<f64>> {
    let mut values = Vec::with_capacity(works.len());
    let mut before = sampler.control.read(sampler.rate);
    for (work, &rounds) in works.iter_mut().zip(rounds) {
        let ns = sampler.window(|| (work.run)(rounds))?;
        let after = sampler.control.read(sampler.rate);
        let visit = Visit { control: [before, after], ..Visit::default() };
        if visit.control_moved() {
            return None;
        }
        values.push(scale.of(ns / (rounds as f64 * work.units_per_round), &before, &after));
        before = after;
    }
    Some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_are_steps_of_the_faster_chain_beside_the_window() {
        let reading = |multiply_ns| ControlReading { multiply_ns, port_ns: 0.1 };
        let scale = Scale::Cycles { per_multiply: 3.0 };
        for (scale, expected) in [(scale, 30.0), (Scale::Nanoseconds, 10.0)] {
            assert!((scale.of(10.0, &reading(1.0), &reading(1.03)) - expected).abs() < 1e-9);
        }
    }
}

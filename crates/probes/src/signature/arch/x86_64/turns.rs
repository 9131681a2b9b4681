//! Windows of several loops in turns: each turn has one window of each, so that all see the same machine.
//!
//! Between two windows the control loops are read. A turn counts as a whole or not at all: not if the CPU was taken away
//! in one of its windows, nor if the frequency moved beside one. What shares the core slows loops and controls alike, and
//! shows in the port loop: it takes longer, in steps of the multiply chain, than it did at best since the setup was made.
//! Turns that had the core to themselves are preferred. If there are too few, all are taken, with the factor by which the
//! ports were slower: the most that sharing can have done to a loop, as the port loop needs all of them.

use std::time::{Duration, Instant};

use record::{Reading, SignatureReading};
use stats::{median, quantile};

use super::judgement::{Held, Turns};
use crate::control::ControlReading;
use crate::probe::SignatureProbe;
use crate::sampler::{Sampler, Visit};
use crate::signature::SignatureSetup;
use crate::timed_loop::TimedLoop;

/// Turns to run.
const TURNS: usize = 200;
/// Turns that are enough where the machine is so busy that time runs out.
const TURNS_MIN: usize = 40;
/// Longest time for the turns of one probe that has enough of them.
const TURNS_LIMIT: Duration = Duration::from_millis(450);
/// Longest time for a probe of which too few turns had the core to themselves.
const SHARED_LIMIT: Duration = Duration::from_millis(600);
/// Longest time for the turns of a probe that has not enough of any kind.
const PATIENCE: Duration = Duration::from_millis(1200);
/// Which of the shares seen stands for a core to oneself; a single one may be off.
const SHARE_QUANTILE: f64 = 0.1;
/// Readings of the share before the first turn.
const SHARE_READINGS: usize = 60;
/// A turn had the core to itself if the port loop took at most so many times as long as at best. On a guest of Zen 5 the
/// median of readings was 1.01 of their tenth percentile; with something else on the same core the tenth percentile rose
/// to between 1.08 and 1.2 of that, and system calls from 495 to 570 cycles.
const SHARE_MAX: f64 = 1.06;
/// Searches for the rounds of a window; the largest number counts, as an interruption makes it too small.
const SEARCHES: usize = 2;

/// One turn.
#[derive(Debug, Clone, PartialEq)]
struct Turn {
    values: Vec<f64>,
    /// Time of the port loop in steps of the multiply chain, at its longest.
    share: f64,
}

/// Loops in turns, what they show, and what must not move.
pub(super) struct Plan<'w> {
    pub(super) works: Vec<TimedLoop<'w>>,
    /// Core cycles of a step of the multiply chain beside a window, where values are in cycles; else they are in nanoseconds.
    pub(super) cycles_per_multiply: Option<f64>,
    pub(super) window_ns: f64,
    /// Which quantile of a loop's values counts.
    pub(super) quantile: f64,
    /// The value as a function of low quantiles.
    pub(super) value: fn(&[f64]) -> f64,
    pub(super) held: Held,
}

impl Plan<'_> {
    /// Takes turns on the CPU that the calling thread is pinned to, and says what they show.
    ///
    /// # Errors
    /// Too few turns were undisturbed.
    pub(super) fn measure(
        mut self,
        probe: SignatureProbe,
        setup: &SignatureSetup<'_>,
        mut sampler: Sampler,
    ) -> Result<Reading<SignatureReading>, String> {
        let (values, slowdown) = take_turns(setup, &mut sampler, &mut self)?;
        let turns = Turns { values, slowdown, quantile: self.quantile, seed: setup.seed };
        Ok(turns.reading(probe, self.value, &self.held))
    }
}

/// Values per unit of work, by turn and loop; and the time of the port loop over its time at best, in the median turn: 1 where all had the
/// core to themselves.
type Values = (Vec<Vec<f64>>, f64);

/// A value of nanoseconds beside two readings of the control loops, in cycles where the chain's are known.
fn scaled(ns: f64, cycles_per_multiply: Option<f64>, before: &ControlReading, after: &ControlReading) -> f64 {
    cycles_per_multiply.map_or(ns, |cycles| ns / before.multiply_ns.min(after.multiply_ns) * cycles)
}

fn take_turns(
    setup: &SignatureSetup<'_>,
    sampler: &mut Sampler,
    plan: &mut Plan<'_>,
) -> Result<Values, String> {
    let started = Instant::now();
    let shares: Vec<f64> =
        (0..SHARE_READINGS).map(|_| share_of(&sampler.control.read(sampler.rate))).collect();
    note_share(setup, low_share(&shares));
    let window_ns = plan.window_ns;
    let rounds: Vec<u64> = plan.works.iter_mut().map(|work| rounds_of(sampler, window_ns, work)).collect();
    let (mut turns, mut alone, mut taken) = (Vec::<Turn>::with_capacity(TURNS), 0, 0);
    while alone < TURNS && started.elapsed() < limit(turns.len(), alone) && !setup.is_over() {
        taken += 1;
        if let Some(turn) = turn(sampler, plan, &rounds) {
            alone += usize::from(turn.share <= setup.best_share.get() * SHARE_MAX);
            turns.push(turn);
        }
    }
    if turns.len() < TURNS_MIN {
        return Err(format!(
            "the machine was too busy: only {} of {taken} turns were undisturbed, and {TURNS_MIN} are needed; \
             try again with less load, or another CPU",
            turns.len()
        ));
    }
    note_share(setup, low_share(&turns.iter().map(|turn| turn.share).collect::<Vec<f64>>()));
    Ok(sift(turns, setup.best_share.get()))
}

/// How long turns may be taken, with so many so far, of which some had the core to themselves.
fn limit(turns: usize, alone: usize) -> Duration {
    match (turns, alone) {
        (..TURNS_MIN, _) => PATIENCE,
        (_, ..TURNS_MIN) => SHARED_LIMIT,
        _ => TURNS_LIMIT,
    }
}

/// Leaves the turns that had the core to themselves if there are enough, else all, with what sharing did.
fn sift(turns: Vec<Turn>, best_share: f64) -> Values {
    let is_alone = |turn: &&Turn| turn.share <= best_share * SHARE_MAX;
    if turns.iter().filter(is_alone).count() >= TURNS_MIN {
        let alone = turns.iter().filter(is_alone).map(|turn| turn.values.clone());
        return (alone.collect(), 1.0);
    }
    let shares: Vec<f64> = turns.iter().map(|turn| turn.share / best_share).collect();
    let slowdown = median(&shares).map_or(1.0, |share| share.max(1.0));
    (turns.into_iter().map(|turn| turn.values).collect(), slowdown)
}

/// Takes over a share of the core that is better than those before.
fn note_share(setup: &SignatureSetup<'_>, share: f64) {
    setup.best_share.set(setup.best_share.get().min(share));
}

/// Time of the port loop in steps of the multiply chain.
fn share_of(reading: &ControlReading) -> f64 {
    reading.port_ns / reading.multiply_ns
}

fn low_share(shares: &[f64]) -> f64 {
    quantile(shares, SHARE_QUANTILE).unwrap_or(f64::INFINITY)
}

fn rounds_of(sampler: &Sampler, window_ns: f64, work: &mut TimedLoop<'_>) -> u64 {
    (0..SEARCHES).map(|_| sampler.rounds_for(window_ns, &mut work.run)).max().unwrap_or(1)
}

/// One window of each loop; `None` if one has to be set aside.
fn turn(sampler: &mut Sampler, plan: &mut Plan<'_>, rounds: &[u64]) -> Option<Turn> {
    let mut values = Vec::with_capacity(plan.works.len());
    let mut before = sampler.control.read(sampler.rate);
    let mut share = share_of(&before);
    for (work, &rounds) in plan.works.iter_mut().zip(rounds) {
        let ns = sampler.window(|| (work.run)(rounds))?;
        let after = sampler.control.read(sampler.rate);
        let visit = Visit { control: [before, after], ..Visit::default() };
        if visit.frequency_moved() {
            return None;
        }
        let unit_ns = ns / (rounds as f64 * work.units_per_round as f64);
        values.push(scaled(unit_ns, plan.cycles_per_multiply, &before, &after));
        share = share.max(share_of(&after));
        before = after;
    }
    Some(Turn { values, share })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_on_a_shared_core_are_left_out_while_there_are_others() {
        let turn = |share: f64| Turn { values: vec![share], share };
        let turns = |alone: usize, shared: usize| {
            let shares = std::iter::repeat_n(1.02, alone).chain(std::iter::repeat_n(1.3, shared));
            sift(shares.map(turn).collect(), 1.0)
        };
        let enough = turns(TURNS_MIN, 100);
        assert!(enough.0.len() == TURNS_MIN && (enough.1 - 1.0).abs() < 1e-9, "{enough:?}");
        let few = turns(TURNS_MIN - 1, 100);
        assert!(few.0.len() == TURNS_MIN + 99 && (few.1 - 1.3).abs() < 1e-9, "{few:?}");
    }

    #[test]
    fn cycles_are_steps_of_the_faster_chain_beside_the_window() {
        let reading = |multiply_ns| ControlReading { multiply_ns, port_ns: 0.1 };
        for (cycles, expected) in [(Some(3.0), 30.0), (None, 10.0)] {
            assert!((scaled(10.0, cycles, &reading(1.0), &reading(1.03)) - expected).abs() < 1e-9);
        }
    }
}

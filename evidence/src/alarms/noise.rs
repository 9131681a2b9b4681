//! Made-up series that drift in known ways: what a shared machine does to a loop that does not change.

use std::f64::consts::TAU;

use stats::Random;

use super::experiment::{SAMPLES_PER_TRIAL, Source, TRIALS_PER_QUAD, fastest};

/// Noise that every sample has.
const BASE_NOISE: f64 = 0.005;
/// Steps come once in this many samples on average: a neighbour that comes or goes.
const SAMPLES_PER_STEP: f64 = 150.0;
/// Spread of the levels between which it steps.
const STEP_SPREAD: f64 = 0.05;
/// The most by which a series rises or falls from its first sample to its last.
const SLOPE_MAX: f64 = 0.20;
/// A random walk's step per sample.
const WALK_STEP: f64 = 0.001;
/// Amplitude of a periodic disturbance.
const AMPLITUDE: f64 = 0.05;
/// Periods in samples, from less than a trial to a dozen quads.
const PERIODS: (f64, f64) = (3.0, 300.0);
/// Share of samples that are hit by something long.
const HIT_SHARE: f64 = 0.3;
/// Exponent of the Pareto distribution of hits: no variance.
const HIT_EXPONENT: f64 = 1.2;
/// The smallest hit.
const HIT_LEAST: f64 = 0.02;

/// One way to drift: adds to the logarithms of samples in the order taken.
type Drift = fn(&mut [f64], &mut Random);

/// A made-up series.
pub(super) struct Scenario {
    name: &'static str,
    drifts: &'static [Drift],
}

/// All scenarios, the quiet one first and the worst last.
pub(super) fn scenarios() -> Vec<Scenario> {
    let rows: [(&str, &[Drift]); 9] = [
        ("quiet", &[]),
        ("steps", &[steps]),
        ("slow drift: slope", &[slope]),
        ("slow drift: random walk", &[walk]),
        ("periodic, period by chance", &[periodic]),
        ("periodic, period of a pair", &[period_of_a_pair]),
        ("periodic, period of a quad", &[period_of_a_quad]),
        ("heavy tails", &[hits]),
        ("all but the two periods", &[steps, slope, walk, periodic, hits]),
    ];
    rows.into_iter().map(|(name, drifts)| Scenario { name, drifts }).collect()
}

impl Source for Scenario {
    fn name(&self) -> &str {
        self.name
    }

    fn trials(&self, count: usize, random: &mut Random) -> Vec<f64> {
        let mut logs: Vec<f64> =
            (0..count * SAMPLES_PER_TRIAL).map(|_| BASE_NOISE * random.normal()).collect();
        for drift in self.drifts {
            drift(&mut logs, random);
        }
        let samples: Vec<f64> = logs.into_iter().map(f64::exp).collect();
        fastest(&samples)
    }
}

fn steps(logs: &mut [f64], random: &mut Random) {
    let mut level = STEP_SPREAD * random.normal();
    for log in logs {
        if random.unit() * SAMPLES_PER_STEP < 1.0 {
            level = STEP_SPREAD * random.normal();
        }
        *log += level;
    }
}

fn slope(logs: &mut [f64], random: &mut Random) {
    let rise = SLOPE_MAX * (2.0 * random.unit() - 1.0) / logs.len() as f64;
    for (index, log) in logs.iter_mut().enumerate() {
        *log += rise * index as f64;
    }
}

fn walk(logs: &mut [f64], random: &mut Random) {
    let mut level = 0.0;
    for log in logs {
        level += WALK_STEP * random.normal();
        *log += level;
    }
}

fn periodic(logs: &mut [f64], random: &mut Random) {
    let period = PERIODS.0 * (PERIODS.1 / PERIODS.0).powf(random.unit());
    wave(logs, period, random);
}

fn period_of_a_pair(logs: &mut [f64], random: &mut Random) {
    wave(logs, (2 * SAMPLES_PER_TRIAL) as f64, random);
}

fn period_of_a_quad(logs: &mut [f64], random: &mut Random) {
    wave(logs, (TRIALS_PER_QUAD * SAMPLES_PER_TRIAL) as f64, random);
}

fn wave(logs: &mut [f64], period: f64, random: &mut Random) {
    let phase = random.unit();
    for (index, log) in logs.iter_mut().enumerate() {
        *log += AMPLITUDE * (TAU * (index as f64 / period + phase)).sin();
    }
}

fn hits(logs: &mut [f64], random: &mut Random) {
    for log in logs {
        if random.unit() < HIT_SHARE {
            *log += (HIT_LEAST * (1.0 - random.unit()).powf(-1.0 / HIT_EXPONENT)).ln_1p();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_make_equal_series_of_the_length_asked_for() {
        for scenario in scenarios() {
            let [one, other] = [1, 1].map(|seed| scenario.trials(60, &mut Random::new(seed)));
            assert_eq!(one.len(), 60);
            assert_eq!(one, other, "{}", scenario.name());
            assert!(one.iter().all(|log| log.is_finite()));
        }
    }

    #[test]
    fn every_drift_moves_the_series_and_the_quiet_one_stays() {
        let spread = |scenario: &Scenario| {
            let trials = scenario.trials(200, &mut Random::new(2));
            trials.iter().fold(f64::MIN, |a, b| a.max(*b)) - trials.iter().fold(f64::MAX, |a, b| a.min(*b))
        };
        let scenarios = scenarios();
        let quiet = spread(&scenarios[0]);
        assert!(quiet < 0.03, "{quiet}");
        for scenario in scenarios[1..].iter().filter(|scenario| scenario.name != "heavy tails") {
            assert!(spread(scenario) > 1.5 * quiet, "{}", scenario.name);
        }
    }
}

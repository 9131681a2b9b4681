//! The self-test: how small a difference each kind of loop shows on this machine, now, and how often equal work differs.
//!
//! | what | module |
//! |---|---|
//! | the kinds of loops, and their trials | `subjects` |
//! | from trials to a detectable difference and false alarms | this one |
//!
//! A trial is the best of a few short windows, as noise only adds time. Adjacent trials make a pair; the log ratios of
//! all pairs have a Hodges-Lehmann shift, whose interval says what would have been seen. Both sides of every comparison do the same work: what differs is noise. Control loops, pairs of CPUs and the surface
//! against itself are what the check-up measures.

mod subjects;

use std::time::{Duration, Instant};

use record::{Alarms, Resolution, Selftest};
use stats::{Arm, Random, binomial_quantile, hodges_lehmann, median, random_quads, signed_rank_p};

use crate::session::Session;

/// Time for all kinds of loops unless the user gives another.
const RESOLUTION_S: f64 = 20.0;
/// How long after its time the last kind may still be measured.
const GRACE: Duration = Duration::from_millis(500);

/// Seconds that it takes where so many are asked for.
pub fn seconds(budget_s: Option<f64>) -> f64 {
    budget_s.unwrap_or(RESOLUTION_S)
}

/// Measures every kind of loop against itself on the last CPU of the session, in so many seconds.
pub fn measure(session: &mut Session<'_>, seconds: f64) -> Selftest {
    session.deadline = Instant::now() + Duration::from_secs_f64(seconds) + GRACE;
    let cpu = *session.cpus.last().expect("a session has at least one CPU");
    let mut without = Vec::new();
    let resolution = subjects::measure(session, cpu, seconds, &mut without);
    Selftest { alarms: alarms(&resolution), resolution, without }
}

/// What is outside the stated limits, a line each.
pub fn failures(found: &Selftest) -> Vec<String> {
    let Alarms { groups, alarms, limit } = found.alarms;
    let line = || format!("{alarms} of {groups} comparisons of equal work gave an alarm");
    (alarms > limit).then(line).into_iter().collect()
}

/// Trials of a quad.
const QUAD: usize = 4;
/// Pairs of each group that is tested for a false alarm: six whole quads, twice what the exact test needs at 5 %.
const PAIRS_PER_GROUP: usize = 12;
/// Level of each of these tests.
const LEVEL: f64 = 0.05;
/// Above this quantile of the binomial distribution the alarms are too many.
const ALARM_QUANTILE: f64 = 0.99;
/// A difference of so many half-widths of the 95 % interval is found in four of five tries: (1.96 + 0.84) / 1.96,
/// the normal quantiles of 97.5 and 80 %.
const FOUND_IN_FOUR_OF_FIVE: f64 = 1.43;
/// The difference that the time is scaled to.
const GOAL: f64 = 0.01;

/// The sum over all kinds.
fn alarms(resolutions: &[Resolution]) -> Alarms {
    let groups = resolutions.iter().map(|resolution| resolution.groups).sum();
    let alarms = resolutions.iter().map(|resolution| resolution.alarms).sum();
    Alarms { groups, alarms, limit: binomial_quantile(ALARM_QUANTILE, groups, LEVEL) }
}

/// Trials of one kind of loop.
#[derive(Debug, Clone, PartialEq, Default)]
struct Trials {
    /// Logarithm of second over first arm of each pair, in the order taken.
    log_ratios: Vec<f64>,
    values: Vec<f64>,
}

impl Trials {
    /// Adds a quad; a random draw decides which trials belong to which arm. A pair without both trials is left out.
    fn add(&mut self, trials: [Option<f64>; QUAD], random: &mut Random) {
        let arms = random_quads(1, random);
        self.values.extend(trials.iter().flatten());
        for (trials, arms) in trials.chunks_exact(2).zip(arms.chunks_exact(2)) {
            if let [Some(early), Some(late)] = *trials {
                let ratio = (late / early).ln();
                self.log_ratios.push(if arms[0] == Arm::A { ratio } else { -ratio });
            }
        }
    }

    /// What these trials say; `None` for too few pairs.
    fn resolution(&self, kind: &str, unit: &str, seconds: f64) -> Option<Resolution> {
        let shift = hodges_lehmann(&self.log_ratios, 1.0 - LEVEL)?;
        let interval = shift.interval?;
        let half_width = interval.half_width().exp_m1();
        let detectable = FOUND_IN_FOUR_OF_FIVE * half_width;
        let groups = self.log_ratios.chunks_exact(PAIRS_PER_GROUP);
        Some(Resolution {
            kind: kind.to_owned(),
            unit: unit.to_owned(),
            typical: median(&self.values)?,
            pairs: self.log_ratios.len(),
            seconds,
            shift: shift.value.exp_m1(),
            interval: interval.map(f64::exp_m1),
            half_width,
            detectable,
            seconds_for_one_percent: seconds * (detectable / GOAL).powi(2),
            groups: groups.len(),
            alarms: groups.filter(|group| signed_rank_p(group) < LEVEL).count(),
        })
    }
}

#[cfg(test)]
mod tests {
    use machine::CpuId;

    use super::*;

    #[test]
    fn without_time_nothing_is_measured_and_that_is_said() {
        let mut session = Session {
            record: record::Record::default(),
            cpus: vec![CpuId(0)],
            rate: clock::TickRate::calibrate(1_000_000).expect("a counter that counts"),
            random: kernels::random::SplitMix64::new(1),
            deadline: Instant::now(),
            progress: &crate::session::Silent,
            tally: crate::sampler::Tally::default(),
            results: 0,
        };
        let mut without = Vec::new();
        let found = subjects::measure(&mut session, CpuId(0), 0.0, &mut without);
        assert!(found.is_empty() && without[0].ends_with("the time was up before; give more with --budget"));
        assert_eq!(failures(&Selftest::default()), Vec::<String>::new());
    }

    /// Trials that scatter by `noise` around a drift that doubles every 100 quads.
    fn simulated(seed: u64, quads: usize, noise: f64) -> Trials {
        let (mut random, mut order, mut trials) =
            (Random::new(seed), Random::new(seed + 1), Trials::default());
        for quad in 0..quads {
            let drift = (quad as f64 / 100.0).exp2();
            trials.add([(); QUAD].map(|()| Some(drift * (1.0 + noise * random.normal()))), &mut order);
        }
        trials
    }

    #[test]
    fn the_detectable_difference_follows_noise_and_number() {
        let of = |quads, noise| {
            simulated(3, quads, noise).resolution("x", "ns", 1.0).expect("enough pairs").detectable
        };
        // Standard error of the mean of 200 log ratios of 1 % noise on both sides: 0.01 * sqrt(2 / 200) = 0.1 %.
        let expected = 0.001 * 1.96 * 1.43;
        assert!((of(100, 0.01) / expected - 1.0).abs() < 0.25, "{}", of(100, 0.01));
        assert!(of(400, 0.01) < 0.65 * of(100, 0.01));
        assert!(of(100, 0.03) > 2.5 * of(100, 0.01));
    }

    #[test]
    fn equal_work_on_a_drifting_machine_seldom_gives_an_alarm() {
        let all: Vec<Resolution> =
            (0..20).filter_map(|seed| simulated(10 * seed, 60, 0.02).resolution("x", "ns", 1.0)).collect();
        let alarms = alarms(&all);
        assert_eq!(alarms.groups, 200);
        assert!(alarms.alarms <= alarms.limit, "{alarms:?}");
        let outside = all.iter().filter(|found| !found.interval.contains(0.0)).count();
        assert!(outside <= 4, "{outside} of 20 intervals miss zero");
    }

    #[test]
    fn a_trial_that_was_set_aside_takes_its_pair_with_it() {
        let mut trials = Trials::default();
        trials.add([Some(1.0), None, Some(1.0), Some(1.1)], &mut Random::new(1));
        assert_eq!((trials.log_ratios.len(), trials.values.len()), (1, 3));
        assert_eq!(trials.resolution("x", "ns", 1.0), None);
    }
}

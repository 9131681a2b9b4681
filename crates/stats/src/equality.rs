//! Whether several subjects are alike that were measured in interleaved rounds on a machine where noise only adds time.
//!
//! ```text
//! value of a subject   low quantile of its windows over all rounds: what a disturbance left alone
//! ratio                value / geometric mean of the others' values
//! interval             bootstrap over blocks of rounds, the same for all subjects, corrected for their number (Bonferroni)
//! A/A                  the same subject, even blocks against odd ones: half-width of that ratio's interval
//! ```
//! A neighbour on a subject's core slows a control loop beside its windows, and the windows with it. By how much is asked of each
//! subject's own visits (a line through the logarithms, one slope for all); all windows are then taken back to the same control.
//!
//! A bootstrap over a few blocks is too narrow: its spread is that of n values without the n - 1, its ends are those of a normal and not
//! of a Student distribution. Both intervals are widened by what that comes to.
//! Blocks, as a neighbour's load outlasts a round. A claim needs an A/A below the margin, an interval beyond it, both halves of the
//! run beyond it on the same side, twice what A/A shows, and more than what equals differ by from one run to the next: some states
//! outlast a run, which no part of one run can show. Subjects are alike if their intervals, and what runs differ by, lie within twice the margin.
//! Steal of a CPU for part of the time leaves windows alone and does not move a low quantile; what slows every window does.

use crate::{Interval, Random, mean, median, normal_quantile, quantile_of_sorted, sorted, student_quantile};

/// Quantile of the windows that stands for a subject.
const LOW: f64 = 0.10;
/// Resamples: the ends of a 95 % interval corrected for ten subjects still have five beyond them.
const RESAMPLES: usize = 2_000;
/// Blocks that a run is cut into.
const BLOCKS: usize = 16;
/// Rounds below which nothing is said: one for each block.
pub const FEWEST_ROUNDS: usize = BLOCKS;
/// Visits slower than this quantile of their subject count as it does where the slope is sought: visits under steal are no line.
const SLOWEST: f64 = 0.90;
/// A window waits for memory; that it loses half of what its core loses is more than any did.
const SLOPE_MAX: f64 = 0.5;
/// Level of the intervals over all subjects together.
const ALARMS: f64 = 0.05;

/// How two or more subjects compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Likeness {
    /// No subject differs by more than the margin.
    Alike,
    /// At least one does: its interval excludes no difference.
    Asymmetric,
    Inconclusive,
}

/// What was measured of a subject in one round.
#[derive(Debug, Clone, PartialEq)]
pub struct SubjectVisit {
    /// Its windows, in time per unit of work.
    pub windows: Vec<f64>,
    /// What a control loop took beside them, in a unit that is the same for all: more where a neighbour was on the core.
    pub control: f64,
}

/// One subject against the others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SubjectRatio {
    /// Low quantile of its windows over the geometric mean of the others': above 1 is slower.
    pub ratio: f64,
    /// Interval of the ratio, at 95 % for all subjects together.
    pub interval: Interval,
    /// The ratio in the first and in the second half of the run.
    pub halves: [f64; 2],
    /// Whether its interval excludes no difference.
    pub differs: bool,
}

/// All subjects together.
#[derive(Debug, Clone, PartialEq)]
pub struct Equality {
    /// The subjects, in the order given.
    pub subjects: Vec<SubjectRatio>,
    /// Half-width of the widest A/A interval, relative: smaller differences cannot be detected.
    pub aa_half_width: f64,
    pub likeness: Likeness,
}

/// What a difference is held against, both relative.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tolerance {
    /// A smaller difference is of no matter.
    pub margin: f64,
    /// Standard deviation of the ratio of equal subjects from run to run.
    pub between_runs: f64,
}

/// Compares subjects: `rounds[r][s]` is the visit of subject `s` in round `r`. `None` with fewer than two subjects, fewer than
/// [`FEWEST_ROUNDS`] rounds in which all have windows, or a window or control that is no positive number.
pub fn equality(rounds: &[Vec<SubjectVisit>], tolerance: Tolerance, seed: u64) -> Option<Equality> {
    let count = rounds.first()?.len();
    let is_whole = |round: &&Vec<SubjectVisit>| {
        round.len() == count && round.iter().all(|visit| !visit.windows.is_empty())
    };
    let whole: Vec<&Vec<SubjectVisit>> = rounds.iter().filter(is_whole).collect();
    let is_sane = |value: f64| value.is_finite() && value > 0.0;
    let is_sane =
        |visit: &SubjectVisit| is_sane(visit.control) && visit.windows.iter().all(|&window| is_sane(window));
    if count < 2 || whole.len() < FEWEST_ROUNDS || !whole.iter().copied().flatten().all(is_sane) {
        return None;
    }
    let rounds = whole.len();
    let slope = slope(&whole)?;
    let windows: Vec<Windows> = (0..count).map(|subject| Windows::of(&whole, subject, slope)).collect();
    let all: Vec<usize> = (0..rounds).collect();
    let of = |some: &[usize]| log_ratios(&values(&windows, &each_of(some, rounds)));
    let (logs, halves) = (of(&all), [of(&all[..rounds / 2]), of(&all[rounds / 2..])]);
    let blocks: Vec<usize> = (0..BLOCKS).collect();
    let mut random = Random::new(seed);
    let mut resampled = vec![Vec::with_capacity(RESAMPLES); count];
    for _ in 0..RESAMPLES {
        let logs = log_ratios(&values(&windows, &draw(&mut random, &blocks, rounds)));
        resampled.iter_mut().zip(logs).for_each(|(of_subject, log)| of_subject.push(log));
    }
    let tail = ALARMS / 2.0 / count as f64;
    let aa_half_width = twin_half_width(&windows, rounds, &mut random);
    let rule = Rule { tolerance, aa_half_width };
    let subject = |index: usize| {
        let interval = ends(&resampled[index], tail, few_blocks(BLOCKS, BLOCKS - 1, tail));
        let halves = halves.each_ref().map(|half| half[index]);
        SubjectRatio {
            ratio: logs[index].exp(),
            interval: interval.map(f64::exp),
            halves: halves.map(f64::exp),
            differs: [1.0, -1.0].into_iter().any(|sign| rule.claims(logs[index], interval, halves, sign)),
        }
    };
    let subjects: Vec<SubjectRatio> = (0..count).map(subject).collect();
    let widest = (1.0 + 2.0 * tolerance.margin).ln();
    let between_runs = normal_quantile(1.0 - ALARMS / 2.0) * tolerance.between_runs;
    // What another run would show may be as far off as runs differ.
    let within = |subject: &SubjectRatio| {
        let (middle, interval) = (subject.ratio.ln(), subject.interval.map(f64::ln));
        let reach = |end: f64| (end - middle).hypot(between_runs);
        middle - reach(interval.low) > -widest && middle + reach(interval.high) < widest
    };
    let likeness = if subjects.iter().any(|subject| subject.differs) {
        Likeness::Asymmetric
    } else if subjects.iter().all(within) {
        Likeness::Alike
    } else {
        Likeness::Inconclusive
    };
    Some(Equality { subjects, aa_half_width, likeness })
}

/// What a claim takes.
struct Rule {
    tolerance: Tolerance,
    aa_half_width: f64,
}

impl Rule {
    /// Whether a subject is slower (sign 1) or faster (-1) by its whole interval; all in logarithms.
    fn claims(&self, log: f64, interval: Interval, halves: [f64; 2], sign: f64) -> bool {
        let Tolerance { margin, between_runs } = self.tolerance;
        let least = (1.0 + margin).ln();
        let near = if sign > 0.0 { interval.low } else { interval.high };
        self.aa_half_width <= margin
            && near * sign > least
            && halves.iter().all(|half| half * sign > least)
            && log * sign > (crate::BEYOND_RUNS * between_runs).max(2.0 * self.aa_half_width)
    }
}

/// By how much the logarithm of a window rises with that of the control beside it, within the visits of each subject.
fn slope(rounds: &[&Vec<SubjectVisit>]) -> Option<f64> {
    let (mut rise, mut run) = (0.0, 0.0);
    for subject in 0..rounds[0].len() {
        let visits = || rounds.iter().map(|round| &round[subject]);
        let controls: Vec<f64> = visits().map(|visit| visit.control.ln()).collect();
        let medians: Option<Vec<f64>> = visits().map(|visit| Some(median(&visit.windows)?.ln())).collect();
        let medians = medians?;
        let slowest = quantile_of_sorted(&sorted(&medians), SLOWEST)?;
        let medians: Vec<f64> = medians.into_iter().map(|log| log.min(slowest)).collect();
        let (control_mean, median_mean) = (mean(&controls), mean(&medians));
        for (control, median) in controls.iter().zip(&medians) {
            rise += (control - control_mean) * (median - median_mean);
            run += (control - control_mean).powi(2);
        }
    }
    Some(if run > 0.0 { (rise / run).clamp(0.0, SLOPE_MAX) } else { 0.0 })
}

/// The logarithms of one subject's windows at the same control, ascending, each with the round it is of.
struct Windows(Vec<(f64, usize)>);

impl Windows {
    fn of(rounds: &[&Vec<SubjectVisit>], subject: usize, slope: f64) -> Self {
        let each = |(number, round): (usize, &&Vec<SubjectVisit>)| {
            let SubjectVisit { windows, control } = &round[subject];
            let slower = slope * control.ln();
            windows.iter().map(move |window| (window.ln() - slower, number)).collect::<Vec<_>>()
        };
        let mut windows: Vec<(f64, usize)> = rounds.iter().enumerate().flat_map(each).collect();
        windows.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        Self(windows)
    }

    /// The low quantile, each window as often as its round was drawn: the first below which the share lies.
    fn low(&self, drawn: &[u32]) -> f64 {
        let total: u32 = self.0.iter().map(|&(_, round)| drawn[round]).sum();
        let mut left = LOW * f64::from(total);
        let found = self.0.iter().find(|&&(_, round)| {
            left -= f64::from(drawn[round]);
            left < 0.0
        });
        found.map_or(f64::NAN, |&(window, _)| window)
    }
}

/// Logarithm of the value of each subject over the rounds, each as often as it was drawn.
fn values(subjects: &[Windows], drawn: &[u32]) -> Vec<f64> {
    subjects.iter().map(|windows| windows.low(drawn)).collect()
}

/// How often each round is drawn when as many blocks are drawn from these as there are; a round belongs to the block of its time.
fn draw(random: &mut Random, from: &[usize], rounds: usize) -> Vec<u32> {
    let mut of_block = [0; BLOCKS];
    for _ in from {
        of_block[from[random.below(from.len())]] += 1;
    }
    (0..rounds).map(|round| of_block[round * BLOCKS / rounds]).collect()
}

/// Each of these rounds once.
fn each_of(from: &[usize], rounds: usize) -> Vec<u32> {
    let mut drawn = vec![0; rounds];
    for &round in from {
        drawn[round] = 1;
    }
    drawn
}

/// Half-width of the widest interval of a subject's even blocks against its odd ones.
fn twin_half_width(windows: &[Windows], rounds: usize, random: &mut Random) -> f64 {
    let (even, odd): (Vec<usize>, Vec<usize>) = (0..BLOCKS).partition(|block| block % 2 == 0);
    let mut twins = vec![Vec::with_capacity(RESAMPLES); windows.len()];
    for _ in 0..RESAMPLES {
        let [first, second] = [&even, &odd].map(|of| values(windows, &draw(random, of, rounds)));
        for (of_subject, (a, b)) in twins.iter_mut().zip(first.iter().zip(&second)) {
            of_subject.push(a - b);
        }
    }
    let tail = ALARMS / 2.0;
    let wider = few_blocks(BLOCKS / 2, BLOCKS - 2, tail);
    let half_widths = twins.iter().map(|samples: &Vec<f64>| ends(samples, tail, wider).half_width());
    // Halves of a run scatter by sqrt(2) twice: once as each has half of the rounds, once as there are two.
    half_widths.fold(0.0, f64::max) / 2.0
}

/// Each logarithm against the mean of the others: of a value over their geometric mean.
fn log_ratios(logs: &[f64]) -> Vec<f64> {
    let sum: f64 = logs.iter().sum();
    let others = (logs.len() - 1) as f64;
    logs.iter().map(|log| log - (sum - log) / others).collect()
}

/// By how much a bootstrap's ends have to be farther from its middle if it drew from so few blocks.
fn few_blocks(blocks: usize, degrees: usize, tail: f64) -> f64 {
    let few = blocks as f64 / (blocks - 1) as f64;
    few.sqrt() * student_quantile(1.0 - 2.0 * tail, degrees as u32) / normal_quantile(1.0 - tail)
}

/// The ends that leave a tail on either side, so many times as far from the middle.
fn ends(samples: &[f64], tail: f64, wider: f64) -> Interval {
    let mut ascending = samples.to_vec();
    ascending.sort_unstable_by(f64::total_cmp);
    let at = |q| quantile_of_sorted(&ascending, q).unwrap_or(f64::NAN);
    let middle = at(0.5);
    let end = |q| middle + wider * (at(q) - middle);
    Interval { low: end(tail), high: end(1.0 - tail) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOLERANCE: Tolerance = Tolerance { margin: 0.015, between_runs: 0.009 };
    const ROUNDS: usize = 48;
    const WINDOWS: usize = 8;
    /// What the simulated windows lose of what their core loses.
    const LOST: f64 = 0.15;

    /// Windows of subjects: each has a cost, the share of windows that steal lengthens, and noise that only adds.
    fn run(costs: &[f64], stolen: &[f64], seed: u64) -> Vec<Vec<SubjectVisit>> {
        let mut random = Random::new(seed);
        let mut round = || {
            let round_slow = 1.0 + 0.02 * random.unit();
            let mut visit = |(cost, stolen): (&f64, &f64)| {
                let mut window = || {
                    let noise = 1.0 + 0.01 * random.normal().abs();
                    let theft = if random.unit() < *stolen { 1.0 + random.unit() } else { 1.0 };
                    cost * round_slow * noise * theft
                };
                SubjectVisit { windows: (0..WINDOWS).map(|_| window()).collect(), control: 1.0 }
            };
            costs.iter().zip(stolen).map(&mut visit).collect()
        };
        (0..ROUNDS).map(|_| round()).collect()
    }

    /// A neighbour that takes a share of each subject's core, another share in each visit, as little and as much as asked.
    fn beside(mut rounds: Vec<Vec<SubjectVisit>>, taken: &[[f64; 2]]) -> Vec<Vec<SubjectVisit>> {
        let mut random = Random::new(9);
        for round in &mut rounds {
            for (visit, [least, most]) in round.iter_mut().zip(taken) {
                visit.control = 1.0 + least + (most - least) * random.unit();
                let slower = visit.control.powf(LOST);
                visit.windows.iter_mut().for_each(|window| *window *= slower);
            }
        }
        rounds
    }

    fn found(costs: &[f64], stolen: &[f64]) -> [usize; 3] {
        let mut counts = [0; 3];
        for seed in 0..24 {
            let equality = equality(&run(costs, stolen, seed), TOLERANCE, seed).expect("enough rounds");
            counts[equality.likeness as usize] += 1;
        }
        counts
    }

    #[test]
    fn equal_subjects_are_not_called_asymmetric_and_five_per_cent_in_every_window_are() {
        let [alike, asymmetric, _] = found(&[1.0; 4], &[0.0; 4]);
        assert!(asymmetric == 0 && alike >= 20, "{alike} alike, {asymmetric} asymmetric of 24");
        let [_, asymmetric, _] = found(&[1.0, 1.0, 1.05, 1.0], &[0.0; 4]);
        assert!(asymmetric >= 23, "{asymmetric} of 24");
        let [_, asymmetric, _] = found(&[1.0, 1.05], &[0.0; 2]);
        assert!(asymmetric >= 23, "{asymmetric} of 24");
    }

    #[test]
    fn steal_of_part_of_the_time_is_no_asymmetry() {
        for stolen in [0.2, 0.5, 0.7] {
            let [_, asymmetric, _] = found(&[1.0; 2], &[0.0, stolen]);
            assert!(asymmetric <= 1, "{asymmetric} of 24 with {stolen}");
        }
    }

    #[test]
    fn states_as_long_as_a_block_seldom_put_equals_outside_their_interval() {
        let outside = |seed: &u64| {
            let mut random = Random::new(1_000 + seed);
            let mut rounds = run(&[1.0; 2], &[0.0; 2], *seed);
            for block in rounds.chunks_mut(ROUNDS / BLOCKS) {
                let states: Vec<f64> = (0..2).map(|_| (0.02 * random.normal()).exp()).collect();
                for round in block {
                    for (visit, state) in round.iter_mut().zip(&states) {
                        visit.windows.iter_mut().for_each(|window| *window *= state);
                    }
                }
            }
            let found = equality(&rounds, TOLERANCE, *seed).expect("enough rounds");
            let interval = found.subjects[0].interval;
            interval.low > 1.0 || interval.high < 1.0
        };
        let outside = (0..80).filter(outside).count();
        assert!(outside <= 6, "{outside} of 80");
    }

    #[test]
    fn two_per_cent_in_every_window_are_a_state_that_outlasts_the_run() {
        let [alike, asymmetric, _] = found(&[1.0, 1.02], &[0.0; 2]);
        assert_eq!((alike, asymmetric), (0, 0));
    }

    #[test]
    fn what_a_neighbour_on_the_core_takes_is_no_difference_and_hides_none() {
        let mut random = Random::new(5);
        for seed in 0..24 {
            let often = 0.1 + 0.4 * random.unit();
            // The one is alone for most of the time, the other hardly ever.
            let taken = [[0.0, 0.1], [often, often + 0.3]];
            let found = |costs: &[f64]| {
                equality(&beside(run(costs, &[0.0; 2], seed), &taken), TOLERANCE, seed)
                    .expect("enough rounds")
            };
            let (equal, slow) = (found(&[1.0; 2]), found(&[1.0, 1.05]));
            assert_ne!(equal.likeness, Likeness::Asymmetric, "{seed}");
            assert_eq!(slow.likeness, Likeness::Asymmetric, "{seed}");
            assert!((equal.subjects[1].ratio - 1.0).abs() < 0.02, "{}", equal.subjects[1].ratio);
        }
    }

    #[test]
    fn what_differs_has_its_name_and_the_others_lie_on_the_other_side() {
        let equality = equality(&run(&[1.0, 1.0, 1.2, 1.0], &[0.0; 4], 7), TOLERANCE, 1).expect("enough");
        let differs: Vec<bool> = equality.subjects.iter().map(|subject| subject.differs).collect();
        assert!(differs[2]);
        let slow = equality.subjects[2];
        assert!(slow.interval.low <= slow.ratio && slow.ratio <= slow.interval.high);
        assert!((slow.ratio - 1.2).abs() < 0.02, "{}", slow.ratio);
    }

    #[test]
    fn too_little_or_senseless_is_none() {
        assert_eq!(equality(&[], TOLERANCE, 1), None);
        assert_eq!(equality(&run(&[1.0], &[0.0], 1), TOLERANCE, 1), None);
        assert_eq!(equality(&run(&[1.0, 1.0], &[0.0; 2], 1)[..FEWEST_ROUNDS - 1], TOLERANCE, 1), None);
        let mut wrong = run(&[1.0, 1.0], &[0.0; 2], 1);
        wrong[3][1].windows[0] = f64::NAN;
        assert_eq!(equality(&wrong, TOLERANCE, 1), None);
        wrong[3][1].windows.clear();
        assert!(equality(&wrong, TOLERANCE, 1).is_some(), "a round in which one has nothing is left out");
        wrong[4][0].control = 0.0;
        assert_eq!(equality(&wrong, TOLERANCE, 1), None);
    }
}

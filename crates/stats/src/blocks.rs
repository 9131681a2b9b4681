//! Treatments against a control in randomised blocks, runs of which may be missing or wild: robust least squares.
//!
//! A run is the sum of its block, its treatment and noise. Residuals beyond a few robust deviations are pulled in, and the fit is
//! made again of what that leaves, until it stands (Huber, "Robust Statistics", 1981, section 7.8: pseudo-values); the variance is
//! corrected for what was pulled in.

use crate::{Interval, median, student_two_sided};

/// A residual is pulled in to this many robust deviations. Source: Huber's 2 to 3 for errors with rare wild values.
const PULLED_IN_FROM: f64 = 2.5;
/// A normal distribution's standard deviation over its median absolute deviation.
const DEVIATION_OF_MEDIAN: f64 = 1.4826;
/// Rounds of pulling in; five suffice to stand within a hundredth of a standard error.
const ROUNDS: usize = 8;
/// With fewer degrees of freedom than this share of the runs, most residuals are zero whatever the noise (a treatment that ran once
/// has none), and their median is no measure of it: then nothing is pulled in.
const DEGREES_SHARE_MIN: f64 = 1.0 / 3.0;
/// No number of a program is better than this, as a share: a metric that never varies has a standard error all the same.
const DEVIATION_MIN: f64 = 1e-10;
/// A pivot below this share of its row is none: the treatment cannot be separated from blocks.
const PIVOT_MIN: f64 = 1e-9;

/// One run: the treatment's number (0 is the control), its block, and its value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlockRun {
    /// 0 for the control.
    pub treatment: usize,
    /// Blocks need not be numbered without gaps.
    pub block: usize,
    /// On the log scale for ratios.
    pub value: f64,
}

/// What one treatment differs from the control by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlockEffect {
    /// Its value less the control's.
    pub difference: f64,
    /// Of the difference.
    pub standard_error: f64,
    /// Runs of the treatment.
    pub runs: usize,
}

/// All treatments against the control.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockFit {
    /// By treatment, the control left out: place 0 is treatment 1. `None` without enough runs.
    pub effects: Vec<Option<BlockEffect>>,
    /// The same differences with every run counted as it is: what comes in a minority of runs is in these alone. 0 without enough runs.
    pub plain_differences: Vec<f64>,
    /// Standard deviation of one run's noise.
    pub deviation: f64,
    /// Degrees of freedom of the deviation.
    pub degrees: u32,
    /// Runs of the control.
    pub control_runs: usize,
    /// Covariances of all differences, by treatment; 0 where there is none.
    covariances: Vec<Vec<f64>>,
}

impl BlockFit {
    /// Fits so many treatments; `None` if the runs leave no degree of freedom.
    pub fn of(runs: &[BlockRun], treatments: usize) -> Option<Self> {
        let runs: Vec<BlockRun> =
            runs.iter().copied().filter(|run| run.value.is_finite() && run.treatment <= treatments).collect();
        let design = Design::of(&runs, treatments)?;
        let mut values: Vec<f64> = runs.iter().map(|run| run.value).collect();
        let mut fitted = design.fitted(&values);
        let plain_differences = fitted.of_treatments.clone();
        let is_robust = f64::from(design.degrees) >= DEGREES_SHARE_MIN * runs.len() as f64;
        let (mut deviation, mut kept) = (0.0, 1.0);
        for _ in 0..ROUNDS {
            let residuals: Vec<f64> =
                runs.iter().zip(&fitted.of_runs).map(|(run, fit)| run.value - fit).collect();
            let sizes: Vec<f64> = residuals.iter().map(|residual| residual.abs()).collect();
            // Residuals have fewer degrees than runs: their median is small by that share.
            let scale = (runs.len() as f64 / f64::from(design.degrees)).sqrt();
            let typical = if is_robust { median(&sizes)? } else { 0.0 };
            let limit = PULLED_IN_FROM * DEVIATION_OF_MEDIAN * typical * scale;
            let pulled = |residual: f64| if limit > 0.0 { residual.clamp(-limit, limit) } else { residual };
            let squares: f64 = residuals.iter().map(|residual| pulled(*residual).powi(2)).sum();
            let inside = sizes.iter().filter(|size| limit <= 0.0 || **size <= limit).count();
            kept = inside as f64 / runs.len() as f64;
            deviation = ((squares / f64::from(design.degrees)).sqrt() / kept).max(DEVIATION_MIN);
            for ((value, fit), residual) in values.iter_mut().zip(&fitted.of_runs).zip(&residuals) {
                *value = fit + pulled(*residual);
            }
            // Pulling in shortens a step of the fit; the share that was kept makes up for it.
            let next = design.fitted(&values);
            fitted = fitted.stepped(&next, kept.recip());
        }
        debug_assert!(kept > 0.0, "half of all residuals lie within their median");
        let effects = (1..=treatments)
            .map(|treatment| {
                let factor = design.variance_factors[treatment - 1]?;
                Some(BlockEffect {
                    difference: fitted.of_treatments[treatment - 1],
                    standard_error: deviation * factor.sqrt(),
                    runs: design.counts[treatment],
                })
            })
            .collect();
        let mut covariances = vec![vec![0.0; treatments]; treatments];
        for (row, a) in design.inverse.iter().zip(&design.estimable) {
            for (factor, b) in row.iter().zip(&design.estimable) {
                covariances[a - 1][b - 1] = factor * deviation * deviation;
            }
        }
        Some(Self {
            effects,
            plain_differences,
            deviation,
            degrees: design.degrees,
            control_runs: design.counts[0],
            covariances,
        })
    }

    /// What these treatments (1 is the first) differ by together if they add up, and its standard error; `None` if one was not
    /// estimated.
    pub fn sum(&self, treatments: &[usize]) -> Option<BlockEffect> {
        let effects: Vec<BlockEffect> =
            treatments.iter().map(|treatment| self.effects[treatment - 1]).collect::<Option<_>>()?;
        let covariance =
            |a: usize| treatments.iter().map(move |b| self.covariances[a - 1][b - 1]).sum::<f64>();
        Some(BlockEffect {
            difference: effects.iter().map(|effect| effect.difference).sum(),
            standard_error: treatments.iter().map(|a| covariance(*a)).sum::<f64>().sqrt(),
            runs: effects.iter().map(|effect| effect.runs).sum(),
        })
    }

    /// How large the largest t of these treatments is by chance.
    pub fn family(&self) -> Dunnett {
        let known: Vec<f64> = self.effects.iter().flatten().map(|effect| effect.runs as f64).collect();
        let control = (self.control_runs.max(1) as f64).recip();
        let share = |runs: &f64| control / (control + runs.recip());
        let correlation = known.iter().map(share).sum::<f64>() / known.len().max(1) as f64;
        Dunnett { treatments: known.len().max(1), correlation, degrees: self.degrees }
    }
}

impl BlockEffect {
    /// The difference in standard errors.
    pub fn t(&self) -> f64 {
        if self.standard_error > 0.0 { self.difference / self.standard_error } else { 0.0 }
    }

    /// The chance of so large a difference of this treatment alone.
    pub fn p(&self, degrees: u32) -> f64 {
        student_two_sided(self.t(), degrees)
    }

    /// So many standard errors to either side.
    pub fn interval(&self, critical: f64) -> Interval {
        let half = critical * self.standard_error;
        Interval { low: self.difference - half, high: self.difference + half }
    }
}

/// Values of runs and treatments by a fit.
struct Fitted {
    of_runs: Vec<f64>,
    of_treatments: Vec<f64>,
}

impl Fitted {
    fn stepped(&self, next: &Self, factor: f64) -> Self {
        let step =
            |from: &[f64], to: &[f64]| from.iter().zip(to).map(|(a, b)| a + factor * (b - a)).collect();
        Self {
            of_runs: step(&self.of_runs, &next.of_runs),
            of_treatments: step(&self.of_treatments, &next.of_treatments),
        }
    }
}

/// Which runs there are, and what solves for the treatments once blocks are taken out.
struct Design {
    /// Treatment and block (numbered without gaps) of each run.
    places: Vec<(usize, usize)>,
    /// Runs by treatment.
    counts: Vec<usize>,
    block_counts: Vec<f64>,
    /// Inverse of the normal matrix of the treatments that can be estimated.
    inverse: Vec<Vec<f64>>,
    /// Treatments in it.
    estimable: Vec<usize>,
    /// Variance of each difference, over that of a run; `None` where there is no difference.
    variance_factors: Vec<Option<f64>>,
    degrees: u32,
}

impl Design {
    fn of(runs: &[BlockRun], treatments: usize) -> Option<Self> {
        let mut blocks: Vec<usize> = runs.iter().map(|run| run.block).collect();
        blocks.sort_unstable();
        blocks.dedup();
        let place = |run: &BlockRun| (run.treatment, blocks.binary_search(&run.block).unwrap_or(0));
        let places: Vec<(usize, usize)> = runs.iter().map(place).collect();
        let (mut counts, mut block_counts) = (vec![0; treatments + 1], vec![0.0; blocks.len()]);
        let mut incidence = vec![vec![0.0; blocks.len()]; treatments + 1];
        for (treatment, block) in &places {
            counts[*treatment] += 1;
            block_counts[*block] += 1.0;
            incidence[*treatment][*block] += 1.0;
        }
        let shares_block = |treatment: usize| {
            (0..blocks.len()).any(|block| incidence[treatment][block] > 0.0 && incidence[0][block] > 0.0)
        };
        let estimable: Vec<usize> = (1..=treatments).filter(|treatment| shares_block(*treatment)).collect();
        let parameters = blocks.len() + estimable.len();
        let degrees =
            u32::try_from(runs.len().checked_sub(parameters)?).ok().filter(|degrees| *degrees > 0)?;
        let entry = |a: usize, b: usize| {
            let shared: f64 = (0..blocks.len())
                .map(|block| incidence[a][block] * incidence[b][block] / block_counts[block])
                .sum();
            if a == b { counts[a] as f64 - shared } else { -shared }
        };
        let matrix = estimable.iter().map(|a| estimable.iter().map(|b| entry(*a, *b)).collect()).collect();
        let inverse = inverse(matrix)?;
        let mut variance_factors = vec![None; treatments];
        for (at, treatment) in estimable.iter().enumerate() {
            variance_factors[treatment - 1] = Some(inverse[at][at]);
        }
        Some(Self { places, counts, block_counts, inverse, estimable, variance_factors, degrees })
    }

    /// Least squares of these values.
    fn fitted(&self, values: &[f64]) -> Fitted {
        let mut block_sums = vec![0.0; self.block_counts.len()];
        for ((_, block), value) in self.places.iter().zip(values) {
            block_sums[*block] += value;
        }
        let block_mean = |block: usize| block_sums[block] / self.block_counts[block];
        let mut adjusted = vec![0.0; self.counts.len()];
        for ((treatment, block), value) in self.places.iter().zip(values) {
            adjusted[*treatment] += value - block_mean(*block);
        }
        let mut effects = vec![0.0; self.counts.len()];
        for (row, treatment) in self.inverse.iter().zip(&self.estimable) {
            effects[*treatment] =
                row.iter().zip(&self.estimable).map(|(factor, other)| factor * adjusted[*other]).sum();
        }
        let mut block_effects = block_sums;
        for (treatment, block) in &self.places {
            block_effects[*block] -= effects[*treatment];
        }
        let of_run = |(treatment, block): &(usize, usize)| {
            block_effects[*block] / self.block_counts[*block] + effects[*treatment]
        };
        Fitted { of_runs: self.places.iter().map(of_run).collect(), of_treatments: effects[1..].to_vec() }
    }
}

/// The inverse by Gauss and Jordan; `None` if there is none. Of nothing: nothing.
fn inverse(mut matrix: Vec<Vec<f64>>) -> Option<Vec<Vec<f64>>> {
    let size = matrix.len();
    let mut inverse: Vec<Vec<f64>> =
        (0..size).map(|row| (0..size).map(|column| f64::from(u8::from(row == column))).collect()).collect();
    for column in 0..size {
        let pivot =
            (column..size).max_by(|a, b| matrix[*a][column].abs().total_cmp(&matrix[*b][column].abs()))?;
        if matrix[pivot][column].abs() < PIVOT_MIN {
            return None;
        }
        matrix.swap(column, pivot);
        inverse.swap(column, pivot);
        let factor = matrix[column][column].recip();
        for value in matrix[column].iter_mut().chain(&mut inverse[column]) {
            *value *= factor;
        }
        let (row_of, inverse_of) = (matrix[column].clone(), inverse[column].clone());
        for row in (0..size).filter(|row| *row != column) {
            let factor = matrix[row][column];
            for (value, pivot) in matrix[row].iter_mut().zip(&row_of) {
                *value -= factor * pivot;
            }
            for (value, pivot) in inverse[row].iter_mut().zip(&inverse_of) {
                *value -= factor * pivot;
            }
        }
    }
    Some(inverse)
}

// Many treatments against one control: how large the largest of their t values is by chance.
//
// Source: Dunnett, "A multiple comparison procedure for comparing several treatments with a control", JASA 50 (1955). The t values
// share the control and the residual variance; with one correlation between all of them their joint distribution is an integral over
// two normal-like numbers, which is done here by sums.

/// Steps of each integral; with 64 the probability is right to 1e-6, which no one shows.
const STEPS: usize = 64;
/// The normal part is taken this far to either side: beyond lies 1e-15 of it.
const LARGEST_Z: f64 = 8.0;
/// The residual deviation is taken so many of its own standard deviations to either side.
const DEVIATIONS: f64 = 8.0;
/// Halvings of the bracket of a critical value.
const HALVINGS: usize = 50;
/// No critical value that is asked for is beyond this.
const LARGEST_T: f64 = 1000.0;
/// A correlation nearer to one leaves nothing to integrate over.
const CORRELATION_MAX: f64 = 0.999_9;

/// So many treatments, their correlation with each other through the control, and the degrees of freedom of the residual variance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dunnett {
    /// Treatments, at least one.
    pub treatments: usize,
    /// 0 to 1: the share of a difference's variance that the control brings; one half for equal numbers of runs.
    pub correlation: f64,
    /// Degrees of freedom of the residual variance, at least 1.
    pub degrees: u32,
}

impl Dunnett {
    /// Chance that the largest of all |t| exceeds `t` where no treatment does anything: the p value adjusted for all of them.
    pub fn exceeds(self, t: f64) -> f64 {
        let t = t.abs();
        let degrees = f64::from(self.degrees.max(1));
        // The residual deviation over the true one is a chi over the root of its degrees; its spread is about this.
        let spread = (2.0 * degrees).sqrt().recip();
        let (low, high) = ((1.0 - DEVIATIONS * spread).max(1e-6), 1.0 + DEVIATIONS * spread);
        // The exponent is zero at the top of the density, so that it neither over- nor underflows.
        let density = |deviation: f64| {
            ((degrees - 1.0) * deviation.ln() - degrees * (deviation * deviation - 1.0) / 2.0).exp()
        };
        let (mut inside, mut all) = (0.0, 0.0);
        for deviation in steps(low, high) {
            let weight = density(deviation);
            all += weight;
            inside += weight * self.none_beyond(t * deviation);
        }
        (1.0 - inside / all).clamp(0.0, 1.0)
    }

    /// Chance that no treatment is beyond `bound` true standard errors.
    fn none_beyond(self, bound: f64) -> f64 {
        let correlation = self.correlation.clamp(0.0, CORRELATION_MAX);
        let (shared, own) = (correlation.sqrt(), (1.0 - correlation).sqrt());
        let (mut inside, mut all) = (0.0, 0.0);
        for z in steps(-LARGEST_Z, LARGEST_Z) {
            let weight = (-z * z / 2.0).exp();
            let one = crate::normal_cdf((bound - shared * z) / own)
                - crate::normal_cdf((-bound - shared * z) / own);
            all += weight;
            inside += weight * one.powi(i32::try_from(self.treatments.max(1)).unwrap_or(i32::MAX));
        }
        inside / all
    }

    /// Whether so many standard errors are at least the critical value: cheaper than [`Dunnett::quantile`].
    pub fn is_beyond(self, t: f64, level: f64) -> bool {
        // No family is less strict than one normal number alone.
        t >= crate::normal_quantile(f64::midpoint(1.0, level)) && self.exceeds(t) <= 1.0 - level
    }

    /// The t that the largest |t| exceeds with chance `1 - level`.
    pub fn quantile(self, level: f64) -> f64 {
        let (mut low, mut high) = (0.0, 2.0);
        while self.exceeds(high) > 1.0 - level && high < LARGEST_T {
            high *= 2.0;
        }
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(low, high);
            if self.exceeds(middle) > 1.0 - level { low = middle } else { high = middle }
        }
        f64::midpoint(low, high)
    }
}

fn steps(low: f64, high: f64) -> impl Iterator<Item = f64> {
    (0..STEPS).map(move |step| low + (high - low) * (step as f64 + 0.5) / STEPS as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Random, mean};

    /// So many blocks: each treatment once, the control so often; differences as given.
    fn blocks(
        count: usize,
        controls: usize,
        differences: &[f64],
        noise: &mut dyn FnMut() -> f64,
    ) -> Vec<BlockRun> {
        let mut runs = Vec::new();
        for block in 0..count {
            let level = (block as f64).sin();
            for _ in 0..controls {
                runs.push(BlockRun { treatment: 0, block, value: level + noise() });
            }
            for (index, difference) in differences.iter().enumerate() {
                runs.push(BlockRun { treatment: index + 1, block, value: level + difference + noise() });
            }
        }
        runs
    }

    #[test]
    fn without_noise_the_differences_are_found_exactly() {
        let mut runs = blocks(5, 2, &[0.1, -0.2, 0.0], &mut || 0.0);
        // A missing run changes nothing.
        runs.remove(3);
        let fit = BlockFit::of(&runs, 3).expect("enough runs");
        let found: Vec<f64> = fit.effects.iter().flatten().map(|effect| effect.difference).collect();
        for (found, expected) in found.iter().zip([0.1, -0.2, 0.0]) {
            assert!((found - expected).abs() < 1e-9, "{found}");
        }
        assert!(fit.deviation < 1e-9);
    }

    #[test]
    fn a_single_block_knows_its_noise() {
        const NOISE: f64 = 0.02;
        let mut random = Random::new(9);
        for treatments in [3, 6, 12] {
            let of_noise = |_: usize| {
                let runs = blocks(1, 4, &vec![0.0; treatments], &mut || NOISE * random.normal());
                BlockFit::of(&runs, treatments).expect("four runs of the control").deviation
            };
            let variance = (0..200).map(of_noise).map(|deviation| deviation * deviation).sum::<f64>() / 200.0;
            assert!((0.8..1.25).contains(&(variance.sqrt() / NOISE)), "{treatments}: {}", variance.sqrt());
        }
    }

    #[test]
    fn the_plain_difference_counts_every_run_as_it_is() {
        let mut random = Random::new(4);
        let mut runs = blocks(60, 2, &[0.0], &mut || 0.005 * random.normal());
        let of_treatment = runs.iter_mut().filter(|run| run.treatment == 1);
        of_treatment.step_by(4).for_each(|run| run.value += 0.1);
        let fit = BlockFit::of(&runs, 1).expect("enough runs");
        assert!((fit.plain_differences[0] - 0.025).abs() < 0.005, "{:?}", fit.plain_differences);
    }

    #[test]
    fn a_balanced_fit_is_the_difference_of_means() {
        let mut random = Random::new(3);
        let runs = blocks(6, 3, &[0.3], &mut || 0.01 * random.normal());
        let fit = BlockFit::of(&runs, 1).expect("enough runs");
        let of = |treatment: usize| {
            let values: Vec<f64> =
                runs.iter().filter(|run| run.treatment == treatment).map(|run| run.value).collect();
            mean(&values)
        };
        let effect = fit.effects[0].expect("it ran");
        assert!((effect.difference - (of(1) - of(0))).abs() < effect.standard_error * 0.5);
        let expected = fit.deviation * (1.0 / 6.0 + 1.0 / 18.0_f64).sqrt();
        assert!((effect.standard_error / expected - 1.0).abs() < 1e-9);
    }

    #[test]
    fn what_never_ran_beside_the_control_has_no_effect_and_nothing_has_no_fit() {
        let runs = blocks(4, 1, &[0.0], &mut || 0.0);
        let fit = BlockFit::of(&runs, 2).expect("enough runs");
        assert!(fit.effects[0].is_some() && fit.effects[1].is_none());
        assert_eq!(BlockFit::of(&[], 2), None);
        assert_eq!(BlockFit::of(&runs[..2], 1), None);
    }

    /// Share of experiments in which any of eight treatments that do nothing is beyond the critical value, and the mean width.
    fn alarms(wild_share: f64) -> f64 {
        const EXPERIMENTS: u64 = 300;
        let (mut alarms, mut critical) = (0, None);
        for seed in 0..EXPERIMENTS {
            let mut random = Random::new(seed);
            let mut noise = || {
                let wild = if random.unit() < wild_share { 10.0 } else { 1.0 };
                0.02 * wild * random.normal()
            };
            let fit = BlockFit::of(&blocks(8, 3, &[0.0; 8], &mut noise), 8).expect("enough runs");
            // Every experiment has the same design.
            let critical = *critical.get_or_insert_with(|| fit.family().quantile(0.95));
            alarms += usize::from(fit.effects.iter().flatten().any(|effect| effect.t().abs() > critical));
        }
        alarms as f64 / EXPERIMENTS as f64
    }

    #[test]
    fn treatments_that_do_nothing_seldom_seem_to_with_and_without_wild_runs() {
        // 5 % are asked for. With a tenth of the runs ten times as wild, t values of eight runs have longer tails than Student's:
        // whoever names a treatment has to see it again in fresh runs.
        for (wild_share, most) in [(0.0, 0.08), (0.1, 0.12)] {
            let share = alarms(wild_share);
            assert!(share < most, "{wild_share}: {share}");
        }
    }
}

#[cfg(test)]
mod dunnett_tests {
    use super::*;
    use crate::Random;

    #[test]
    fn one_treatment_is_students_test() {
        for degrees in [3, 10, 60] {
            let one = Dunnett { treatments: 1, correlation: 0.5, degrees };
            let student = crate::student_quantile(0.95, degrees);
            assert!((one.quantile(0.95) / student - 1.0).abs() < 2e-3, "{degrees}: {}", one.quantile(0.95));
        }
    }

    #[test]
    fn critical_values_equal_drawn_ones() {
        // 95 % quantiles of the largest |t| in millions of draws of the joint distribution, good to 0.002.
        for (treatments, degrees, expected) in
            [(2, 10, 2.567), (3, 20, 2.540), (5, 20, 2.736), (9, 60, 2.770)]
        {
            let found = Dunnett { treatments, correlation: 0.5, degrees }.quantile(0.95);
            assert!((found - expected).abs() < 0.006, "{treatments} {degrees}: {found}");
        }
    }

    #[test]
    fn simulated_experiments_exceed_the_critical_value_as_often_as_asked() {
        const EXPERIMENTS: usize = 4000;
        let (treatments, runs, control_runs) = (6, 4, 8);
        let degrees = (treatments * (runs - 1) + control_runs - 1) as u32;
        let share = 1.0 / control_runs as f64 / (1.0 / control_runs as f64 + 1.0 / runs as f64);
        let critical = Dunnett { treatments, correlation: share, degrees }.quantile(0.95);
        let mut random = Random::new(7);
        let mut beyond = 0;
        for _ in 0..EXPERIMENTS {
            let mut sample = |runs: usize| (0..runs).map(|_| random.normal()).collect::<Vec<f64>>();
            let control = sample(control_runs);
            let arms: Vec<Vec<f64>> = (0..treatments).map(|_| sample(runs)).collect();
            let squares = |values: &Vec<f64>| crate::sample_variance(values) * (values.len() as f64 - 1.0);
            let variance = (squares(&control) + arms.iter().map(squares).sum::<f64>()) / f64::from(degrees);
            let error = (variance * (1.0 / runs as f64 + 1.0 / control_runs as f64)).sqrt();
            let t = |arm: &Vec<f64>| ((crate::mean(arm) - crate::mean(&control)) / error).abs();
            beyond += usize::from(arms.iter().map(t).fold(0.0, f64::max) > critical);
        }
        let share = beyond as f64 / EXPERIMENTS as f64;
        assert!((0.04..0.06).contains(&share), "{share}");
    }
}

//! Two levels of repetition: how far trials lie apart within a group, and how far groups lie apart themselves.
//!
//! For trials within boots: more trials per boot narrow the first only. The difference of means of groups holds both, so
//! the share of the first is taken off: T2^2 = S2^2 - S1^2 / k (Kalibera and Jones, "Rigorous benchmarking in reasonable
//! time", ISMM 2013), here as the analysis of variance has it for groups of unlike size, where it stays unbiased.

use crate::mean;

/// Variances at both levels, pooled over arms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TwoLevels {
    /// Variance of a trial within its group; `None` if no group holds two.
    pub within_variance: Option<f64>,
    /// Variance of the groups themselves; below zero where chance put them closer than their trials allow; `None`
    /// without two groups in an arm or without the variance within.
    pub between_variance: Option<f64>,
    /// Groups with a value.
    pub groups: usize,
    pub values: usize,
}

impl TwoLevels {
    /// Standard deviation of a trial within its group.
    pub fn within_deviation(&self) -> Option<f64> {
        self.within_variance.map(f64::sqrt)
    }

    /// Standard deviation of the groups themselves; an estimate below zero counts as zero.
    pub fn between_deviation(&self) -> Option<f64> {
        self.between_variance.map(|variance| variance.max(0.0).sqrt())
    }
}

/// Variances of the values in `arms`, each a list of groups; an arm's own mean is no variance.
pub fn two_levels(arms: &[Vec<Vec<f64>>]) -> TwoLevels {
    let (mut inner_sum, mut inner_degrees) = (0.0, 0.0);
    let (mut outer_sum, mut outer_degrees, mut size) = (0.0, 0.0, 0.0);
    let (mut groups, mut values) = (0, 0);
    for arm in arms {
        let filled: Vec<Vec<f64>> = arm
            .iter()
            .map(|group| group.iter().copied().filter(|value| value.is_finite()).collect::<Vec<f64>>())
            .filter(|group| !group.is_empty())
            .collect();
        let count: f64 = filled.iter().map(|group| group.len() as f64).sum();
        let centre = filled.iter().flatten().sum::<f64>() / count.max(1.0);
        for group in &filled {
            let own = mean(group);
            inner_sum += group.iter().map(|value| (value - own).powi(2)).sum::<f64>();
            inner_degrees += group.len() as f64 - 1.0;
            outer_sum += group.len() as f64 * (own - centre).powi(2);
        }
        if !filled.is_empty() {
            outer_degrees += filled.len() as f64 - 1.0;
            size += count - filled.iter().map(|group| (group.len() as f64).powi(2)).sum::<f64>() / count;
        }
        groups += filled.len();
        values += count as usize;
    }
    let within_variance = (inner_degrees > 0.0).then(|| inner_sum / inner_degrees);
    let between_variance = within_variance
        .filter(|_| outer_degrees > 0.0 && size > 0.0)
        .map(|within| (outer_sum / outer_degrees - within) / (size / outer_degrees));
    TwoLevels { within_variance, between_variance, groups, values }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    #[test]
    fn balanced_groups_give_the_difference_of_the_two_mean_squares() {
        // By hand: within (2 + 2 + 8) / 3 = 4; means 2, 4, 9 have variance 13; less 4 / 2 leaves 11.
        let found = two_levels(&[vec![vec![1.0, 3.0], vec![3.0, 5.0], vec![7.0, 11.0]]]);
        assert_eq!((found.groups, found.values), (3, 6));
        assert!((found.within_variance.expect("pairs") - 4.0).abs() < 1e-12);
        assert!((found.between_variance.expect("groups") - 11.0).abs() < 1e-12);
    }

    #[test]
    fn what_cannot_be_known_is_absent() {
        for arms in [vec![], vec![vec![]], vec![vec![vec![1.0], vec![2.0]]], vec![vec![vec![f64::NAN]]]] {
            let found = two_levels(&arms);
            assert_eq!((found.within_variance, found.between_variance), (None, None), "{arms:?}");
        }
        let one = two_levels(&[vec![vec![1.0, 2.0]], vec![vec![5.0, 9.0]]]);
        assert!(one.within_variance.is_some() && one.between_variance.is_none(), "{one:?}");
    }

    /// The mean of many estimates, with the size of the groups of one arm and planted deviations.
    fn mean_estimate(sizes: &[usize], within: f64, between: f64) -> (f64, f64) {
        const ROUNDS: usize = 4000;
        let mut random = Random::new(5);
        let (mut inner, mut outer) = (0.0, 0.0);
        for _ in 0..ROUNDS {
            let mut arm = |centre: f64| -> Vec<Vec<f64>> {
                let mut group = |size: &usize| {
                    let own = centre + between * random.normal();
                    (0..*size).map(|_| own + within * random.normal()).collect()
                };
                sizes.iter().map(&mut group).collect()
            };
            let found = two_levels(&[arm(0.0), arm(7.0)]);
            inner += found.within_variance.expect("groups of two and more");
            outer += found.between_variance.expect("several groups");
        }
        (inner / ROUNDS as f64, outer / ROUNDS as f64)
    }

    #[test]
    fn planted_variances_are_found_without_bias_also_in_unlike_groups_and_where_there_is_none() {
        for (sizes, within, between) in
            [(vec![5; 5], 1.0, 2.0), (vec![2, 3, 9, 5], 2.0, 1.0), (vec![4; 4], 3.0, 0.0)]
        {
            let (inner, outer) = mean_estimate(&sizes, within, between);
            let close =
                |found: f64, planted: f64| (found - planted).abs() < 0.1 * (within * within + between);
            assert!(close(inner, within * within), "{sizes:?}: {inner}");
            assert!(close(outer, between * between), "{sizes:?}: {outer}");
        }
    }
}

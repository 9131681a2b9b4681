//! Signs of drift in a series taken between trials: dependence of neighbours, and places where the level changes.

use serde::{Deserialize, Serialize};

use crate::{mean, student_two_sided};

/// A level holds for at least this many values, or it is an outlier.
const SHORTEST_SEGMENT: usize = 6;

/// Change points have at most this p. The best of all places is tested, so nominal values are far too small: with this
/// one about one series of 200 independent normal values in thirty shows a change that is not there (10 of 300).
const LARGEST_P: f64 = 0.001;

/// Correlation of each value with the next, -1 to 1; `None` for fewer than 3 finite values or for equal ones.
///
/// For independent values it lies within 2 / sqrt(n) of zero 19 times in 20.
pub fn lag1_autocorrelation(values: &[f64]) -> Option<f64> {
    let finite: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    if finite.len() < 3 {
        return None;
    }
    let mean = mean(&finite);
    let squares: f64 = finite.iter().map(|value| (value - mean).powi(2)).sum();
    let products: f64 = finite.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    let correlation = products / squares;
    correlation.is_finite().then_some(correlation)
}

/// A place where a series changes its level.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChangePoint {
    /// The first value of the new level.
    pub index: usize,
    /// Mean of the segment before.
    pub before: f64,
    /// Mean of the segment after.
    pub after: f64,
    /// Two-sided p of Student's test between the two, not corrected for the search.
    pub p: f64,
}

/// Change points of a series in order: E-divisive (Matteson and James 2014) with Student's test in place of permutations,
/// so that equal series give equal answers.
///
/// Each segment is split where the energy distance between its parts is largest, as long as the parts differ. Values
/// that are not finite must not occur.
pub fn change_points(values: &[f64]) -> Vec<ChangePoint> {
    let mut found = Vec::new();
    divide(values, 0, values.len(), &mut found);
    found.sort_unstable();
    let mut ends = found.clone();
    ends.insert(0, 0);
    ends.push(values.len());
    let segment = |index: usize| &values[ends[index]..ends[index + 1]];
    let point = |(place, index): (usize, &usize)| {
        let (before, after) = (segment(place), segment(place + 1));
        ChangePoint { index: *index, before: mean(before), after: mean(after), p: student_p(before, after) }
    };
    found.iter().enumerate().map(point).collect()
}

fn divide(values: &[f64], start: usize, end: usize, found: &mut Vec<usize>) {
    let segment = &values[start..end];
    let Some(place) = widest_split(segment) else { return };
    if student_p(&segment[..place], &segment[place..]) <= LARGEST_P {
        found.push(start + place);
        divide(values, start, start + place, found);
        divide(values, start + place, end, found);
    }
}

/// Where the energy statistic between the two parts of a segment is largest; `None` if it is too short to split.
fn widest_split(segment: &[f64]) -> Option<usize> {
    let count = segment.len();
    let mut met = Distances::of(segment);
    let to_earlier: Vec<f64> = (0..count).map(|index| met.add(index)).collect();
    let total: f64 = to_earlier.iter().sum();
    let (mut left, mut right) = (0.0, total);
    let mut best = None;
    for split in 1..count {
        left += to_earlier[split - 1];
        right -= met.to_all(split - 1) - to_earlier[split - 1];
        if split < SHORTEST_SEGMENT || count - split < SHORTEST_SEGMENT {
            continue;
        }
        let (n, m) = (split as f64, (count - split) as f64);
        let apart = 2.0 * (total - left - right) / (n * m);
        let within = 2.0 * left / (n * (n - 1.0)) + 2.0 * right / (m * (m - 1.0));
        let statistic = n * m / (n + m) * (apart - within);
        if best.is_none_or(|(_, largest)| statistic > largest) {
            best = Some((split, statistic));
        }
    }
    best.map(|(split, _)| split)
}

/// Sums of the distances of a value to those that were added before: by rank, counts and sums in a Fenwick tree.
struct Distances {
    /// About the first value, which keeps the sums small.
    values: Vec<f64>,
    /// The place of each in ascending order, from 1.
    ranks: Vec<usize>,
    tree: Vec<(f64, f64)>,
}

impl Distances {
    fn of(segment: &[f64]) -> Self {
        let values: Vec<f64> = segment.iter().map(|value| value - segment[0]).collect();
        let mut ascending: Vec<usize> = (0..values.len()).collect();
        ascending.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
        let mut ranks = vec![0; values.len()];
        ascending.into_iter().enumerate().for_each(|(rank, index)| ranks[index] = rank + 1);
        Self { tree: vec![(0.0, 0.0); values.len() + 1], values, ranks }
    }

    /// How many of those added have at most this rank, and their sum.
    fn up_to(&self, mut rank: usize) -> (f64, f64) {
        let mut found = (0.0, 0.0);
        while rank > 0 {
            found = (found.0 + self.tree[rank].0, found.1 + self.tree[rank].1);
            rank &= rank - 1;
        }
        found
    }

    /// The distances of a value to all that were added.
    fn to_all(&self, index: usize) -> f64 {
        let (value, (below, sum_below)) = (self.values[index], self.up_to(self.ranks[index]));
        let (all, sum) = self.up_to(self.values.len());
        value * (2.0 * below - all) + sum - 2.0 * sum_below
    }

    /// The same, and adds it.
    fn add(&mut self, index: usize) -> f64 {
        let found = self.to_all(index);
        let mut rank = self.ranks[index];
        while let Some((count, sum)) = self.tree.get_mut(rank) {
            *count += 1.0;
            *sum += self.values[index];
            rank += rank & rank.wrapping_neg();
        }
        found
    }
}

/// Two-sided p of Student's test with pooled variance, for parts of at least two values.
fn student_p(first: &[f64], second: &[f64]) -> f64 {
    let (n, m) = (first.len() as f64, second.len() as f64);
    let squares = |values: &[f64]| -> f64 {
        let mean = mean(values);
        values.iter().map(|value| (value - mean).powi(2)).sum()
    };
    let difference = mean(second) - mean(first);
    let variance = (squares(first) + squares(second)) / (n + m - 2.0) * (n.recip() + m.recip());
    let t = difference / variance.sqrt();
    let degrees = u32::try_from(first.len() + second.len() - 2).unwrap_or(u32::MAX);
    if t.is_nan() { 1.0 } else { student_two_sided(t, degrees) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Random;

    #[test]
    fn sums_of_distances_are_those_of_all_pairs() {
        let mut random = Random::new(9);
        let mut values: Vec<f64> = (0..60).map(|_| 5.0 + random.normal()).collect();
        values.extend([5.0, 5.0, values[3]]);
        let mut met = Distances::of(&values);
        for index in 0..values.len() {
            let plain: f64 = values[..index].iter().map(|other| (values[index] - other).abs()).sum();
            assert!((met.add(index) - plain).abs() < 1e-9, "{index}");
        }
        assert!(values.iter().enumerate().all(|(index, value)| {
            let plain: f64 = values.iter().map(|other| (value - other).abs()).sum();
            (met.to_all(index) - plain).abs() < 1e-9
        }));
    }

    fn levels(random: &mut Random, levels: &[f64], each: usize) -> Vec<f64> {
        levels.iter().flat_map(|level| vec![*level; each]).map(|level| level + random.normal()).collect()
    }

    #[test]
    fn correlation_and_p_equal_numpy_and_scipy() {
        // d = x - x.mean(); (d[:-1] * d[1:]).sum() / (d * d).sum()
        let values = [0.3, -0.1, 0.8, 0.25, 1.7, -0.4, 0.6, 0.05, 0.9, -0.2, 0.45, 0.15];
        let found = lag1_autocorrelation(&values).expect("twelve");
        assert!((found + 0.608_431_644_691_186_6).abs() < 1e-12, "{found}");
        // scipy.stats.ttest_ind(a, b).pvalue
        let p = student_p(&[10.1, 10.4, 9.8, 10.0, 10.2, 10.9, 9.9], &[10.3, 11.3, 10.7, 10.5, 10.05]);
        assert!((p - 0.145_313_684_652_137_98).abs() < 1e-9, "{p}");
        assert_eq!((lag1_autocorrelation(&[1.0, 2.0]), lag1_autocorrelation(&[1.0; 9])), (None, None));
    }

    #[test]
    fn steps_are_found_where_they_are() {
        let mut random = Random::new(6);
        let found = change_points(&levels(&mut random, &[0.0, 4.0, -2.0], 40));
        assert_eq!(found.len(), 2, "{found:?}");
        for (point, (index, before, after)) in found.iter().zip([(40, 0.0, 4.0), (80, 4.0, -2.0)]) {
            assert!(point.index.abs_diff(index) <= 2, "{point:?}");
            assert!((point.before - before).abs() < 0.7 && (point.after - after).abs() < 0.7, "{point:?}");
        }
    }

    #[test]
    fn noise_outliers_short_and_constant_series_have_few_changes_or_none() {
        let mut random = Random::new(7);
        let changed =
            (0..60).filter(|_| !change_points(&levels(&mut random, &[0.0], 200)).is_empty()).count();
        assert!(changed <= 9, "{changed} of 60");
        let mut series = levels(&mut random, &[0.0], 60);
        series[30] = 50.0;
        assert!(change_points(&series).is_empty());
        assert!(change_points(&[3.0; 50]).is_empty());
        assert!(change_points(&[]).is_empty() && change_points(&[1.0, 9.0, 1.0]).is_empty());
        let clean: Vec<f64> = (0..40).map(|i| f64::from(i / 20)).collect();
        assert_eq!(change_points(&clean).first().map(|point| point.index), Some(20));
    }

    proptest! {
        #[test]
        fn the_fast_split_is_that_of_the_definition(values in proptest::collection::vec(-10.0..10.0_f64, 12..30)) {
            let between = |a: &[f64], b: &[f64]| -> f64 {
                a.iter().flat_map(|x| b.iter().map(move |y| (x - y).abs())).sum()
            };
            let energy = |split: usize| {
                let (a, b) = values.split_at(split);
                let (n, m) = (a.len() as f64, b.len() as f64);
                let within = between(a, a) / (n * (n - 1.0)) + between(b, b) / (m * (m - 1.0));
                n * m / (n + m) * (2.0 * between(a, b) / (n * m) - within)
            };
            let found = widest_split(&values).expect("long enough");
            let splits = SHORTEST_SEGMENT..=values.len() - SHORTEST_SEGMENT;
            let largest = splits.map(energy).fold(f64::NEG_INFINITY, f64::max);
            prop_assert!((energy(found) - largest).abs() < 1e-9);
        }
    }
}

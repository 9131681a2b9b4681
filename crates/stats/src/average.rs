//! The average over many rows: the geometric mean of ratios with its interval.

use crate::Interval;
use crate::bca::Resamples;
use serde::{Deserialize, Serialize};

/// Level of the interval.
const LEVEL: f64 = 0.95;

/// The signed average of a group of rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GeometricMean {
    /// Geometric mean of the rows' ratios, each row's taken as in its own comparison.
    pub ratio: f64,
    /// 95 % interval of the ratio; `None` for fewer than 10 blocks.
    pub interval: Option<Interval>,
    /// Rows averaged.
    pub rows: usize,
    /// Blocks drawn.
    pub blocks: usize,
}

/// Geometric mean of the ratios of `rows`, each the log ratios of its blocks, such as pairs, in the order taken.
///
/// Block i of every row was taken in the same round. The BCa interval draws whole blocks for all rows at once, so that
/// drift which the rows share is carried. A block that one row lacks is NaN there. `None` without a row that holds a
/// finite value. Takes memory for the pairs of blocks of one row.
pub fn geometric_mean(rows: &[Vec<f64>], seed: u64) -> Option<GeometricMean> {
    let blocks = rows.iter().map(Vec::len).max()?;
    let resamples = Resamples::draw(blocks, seed);
    let mut sums = vec![(0.0, 0_u32); resamples.iter().count()];
    let mut averaged = 0;
    for row in rows.iter().filter_map(|row| ResampledRow::of(row)) {
        averaged += 1;
        // A row none of whose blocks was drawn has no say in that resample.
        for ((sum, count), times) in sums.iter_mut().zip(resamples.iter()) {
            if let Some(shift) = row.shift(times) {
                (*sum, *count) = (*sum + shift, *count + 1);
            }
        }
    }
    let logs: Vec<f64> = sums.into_iter().map(|(sum, count)| sum / f64::from(count)).collect();
    let interval = resamples.interval(&logs, LEVEL).map(|interval| interval.map(f64::exp));
    let ratio = logs.first()?.exp();
    (averaged > 0).then_some(GeometricMean { ratio, interval, rows: averaged, blocks })
}

// The Hodges-Lehmann shift of many resamples of one row: its Walsh averages are sorted once, and walked up to the middle.

/// The Walsh averages of one row, ascending.
#[derive(Debug, Clone)]
pub(crate) struct ResampledRow(Vec<Average>);

/// An average, and the places of the two values that it is made of.
#[derive(Debug, Clone, Copy)]
struct Average {
    value: f64,
    places: [u32; 2],
}

impl ResampledRow {
    /// Of all finite values, whose places stay those of the slice; `None` without any.
    pub(crate) fn of(values: &[f64]) -> Option<Self> {
        let places: Vec<usize> = (0..values.len()).filter(|place| values[*place].is_finite()).collect();
        let pairs =
            places.iter().enumerate().flat_map(|(at, one)| places[at..].iter().map(move |two| (*one, *two)));
        let average = |(one, two): (usize, usize)| Average {
            value: f64::midpoint(values[one], values[two]),
            places: [one as u32, two as u32],
        };
        let mut averages: Vec<Average> = pairs.map(average).collect();
        averages.sort_unstable_by(|a, b| a.value.total_cmp(&b.value));
        (!averages.is_empty()).then_some(Self(averages))
    }

    /// The shift of the resample that holds the value at place i `times[i]` times; `None` if it holds none.
    pub(crate) fn shift(&self, times: &[u32]) -> Option<f64> {
        let weight = |average: &Average| {
            let [one, two] = average.places.map(|place| u64::from(times[place as usize]));
            // A value drawn t times makes t (t + 1) / 2 averages with itself.
            if average.places[0] == average.places[1] { one * (one + 1) / 2 } else { one * two }
        };
        let total: u64 = self.0.iter().map(weight).sum();
        let (lower, upper) = (total.checked_sub(1)? / 2, total / 2);
        let (mut below, mut low) = (0, None);
        for average in &self.0 {
            below += weight(average);
            if below > lower {
                let low = *low.get_or_insert(average.value);
                if below > upper {
                    return Some(f64::midpoint(low, average.value));
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Random, hodges_lehmann};

    /// Rows around a true log ratio, with noise of their own and drift that all rows of a block share.
    fn rows(random: &mut Random, rows: usize, blocks: usize, log: f64, drift: f64) -> Vec<Vec<f64>> {
        let shared: Vec<f64> = (0..blocks).map(|_| drift * random.normal()).collect();
        (0..rows).map(|_| shared.iter().map(|drift| log + drift + 0.01 * random.normal()).collect()).collect()
    }

    #[test]
    fn the_mean_is_that_of_the_rows_own_estimates() {
        let data = rows(&mut Random::new(1), 5, 12, 0.02, 0.0);
        let shifts = data.iter().map(|row| hodges_lehmann(row, 0.95).expect("twelve").value);
        let expected = (shifts.sum::<f64>() / 5.0).exp();
        let found = geometric_mean(&data, 1).expect("rows");
        assert!((found.ratio - expected).abs() < 1e-12);
        assert!(found.interval.expect("twelve blocks").contains(found.ratio));
        assert_eq!((found.rows, found.blocks), (5, 12));
        let few: Vec<Vec<f64>> = data.iter().map(|row| row[..9].to_vec()).collect();
        assert_eq!(geometric_mean(&few, 1).expect("rows").interval, None);
    }

    #[test]
    fn the_interval_covers_the_true_mean_although_the_rows_drift_together() {
        let mut random = Random::new(2);
        let (mut covered, mut alone) = (0, 0);
        for seed in 0..40 {
            let data = rows(&mut random, 4, 16, 0.01, 0.01);
            let interval = |data: &[Vec<f64>]| {
                geometric_mean(data, seed).and_then(|mean| mean.interval).expect("sixteen blocks")
            };
            let truth = 0.01_f64.exp();
            covered += u32::from(interval(&data).contains(truth));
            // The same values, as if the rows' blocks had nothing in common: far too sure.
            let torn: Vec<Vec<f64>> = data
                .iter()
                .enumerate()
                .map(|(row, values)| {
                    let gap = vec![f64::NAN; 16];
                    (0..4).flat_map(|place| if place == row { values.clone() } else { gap.clone() }).collect()
                })
                .collect();
            alone += u32::from(interval(&torn).contains(truth));
        }
        assert!((34..=40).contains(&covered) && alone < covered, "{covered} and {alone} of 40");
    }

    #[test]
    fn rows_without_values_are_left_out_and_nothing_has_no_average() {
        let data = vec![vec![0.1; 8], vec![f64::NAN; 8], vec![]];
        assert_eq!(geometric_mean(&data, 1).expect("a row").rows, 1);
        assert_eq!(geometric_mean(&data[1..], 1), None);
        assert_eq!(geometric_mean(&[], 1), None);
    }
}

#[cfg(test)]
mod resampled_tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Random, hodges_lehmann};

    fn check(values: &[f64], seed: u64) -> Result<(), TestCaseError> {
        let mut random = Random::new(seed);
        let row = ResampledRow::of(values).expect("values");
        for _ in 0..10 {
            let mut times = vec![0; values.len()];
            (0..values.len()).for_each(|_| times[random.below(values.len())] += 1);
            let repeated = values.iter().zip(&times).flat_map(|(value, times)| vec![*value; *times as usize]);
            let resample: Vec<f64> = repeated.collect();
            let expected = hodges_lehmann(&resample, 0.95).expect("values").value;
            prop_assert_eq!(row.shift(&times).map(f64::to_bits), Some(expected.to_bits()));
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn the_shift_of_a_resample_is_that_of_its_values(
            values in proptest::collection::vec(-1e3..1e3_f64, 1..40), seed in 0..u64::MAX,
        ) {
            check(&values, seed)?;
        }

        #[test]
        fn so_it_is_with_ties(values in proptest::collection::vec(-3..=3_i32, 1..40), seed in 0..u64::MAX) {
            check(&values.into_iter().map(f64::from).collect::<Vec<f64>>(), seed)?;
        }
    }

    #[test]
    fn a_resample_of_nothing_has_no_shift() {
        assert!(ResampledRow::of(&[f64::NAN]).is_none());
        let row = ResampledRow::of(&[f64::NAN, 2.0, 4.0]).expect("two");
        assert_eq!((row.shift(&[3, 0, 0]), row.shift(&[1, 0, 2])), (None, Some(4.0)));
    }
}

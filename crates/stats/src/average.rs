//! Averages over many rows: the geometric mean of ratios with its interval, and the mean of absolute differences with
//! what it would be for nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bca::Resamples;
use crate::resampled::ResampledRow;
use crate::{Comparison, Interval};

/// Level of the interval.
const LEVEL: f64 = 0.95;

/// Mean of |x| for a normal x with mean 0 and standard deviation 1: the root of 2 / pi.
const MEAN_ABSOLUTE_NORMAL: f64 = 0.797_884_560_802_865_4;

/// The signed average of a group of rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
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
/// finite value. Takes 0.2 s for 400 rows of 40 blocks, and memory for the pairs of blocks of one row.
pub fn geometric_mean(rows: &[Vec<f64>], seed: u64) -> Option<GeometricMean> {
    let blocks = rows.iter().map(Vec::len).max()?;
    let resamples = Resamples::draw(blocks, seed);
    let mut sums = vec![(0.0, 0_u32); resamples.iter().count()];
    let mut averaged = 0;
    for mut row in rows.iter().filter_map(|row| ResampledRow::of(row)) {
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

/// The average of symmetric differences over rows in percent, and its floor.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AbsoluteAverage {
    /// Mean of the rows' |a - b| over the mean of a and b, in percent.
    pub percent: f64,
    /// What a machine compared with itself would show on average, from the noise of the rows; `None` if a row has no
    /// interval, as then its noise is not known.
    pub floor_percent: Option<f64>,
    /// Rows averaged.
    pub rows: usize,
}

/// Average of the symmetric differences of the rows; `None` without a row.
///
/// Absolute values do not cancel: noise alone makes an average of 0.8 standard errors.
pub fn absolute_average(rows: &[Comparison]) -> Option<AbsoluteAverage> {
    if rows.is_empty() {
        return None;
    }
    let mean = |sum: f64| 100.0 * sum / rows.len() as f64;
    // |a - b| over the mean of a and b, from the log of a / b.
    let differences: f64 = rows.iter().map(|row| 2.0 * (row.ratio.ln().abs() / 2.0).tanh()).sum();
    let errors: Option<f64> = rows.iter().map(Comparison::standard_error).sum();
    Some(AbsoluteAverage {
        percent: mean(differences),
        floor_percent: errors.map(|sum| mean(MEAN_ABSOLUTE_NORMAL * sum)),
        rows: rows.len(),
    })
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

    #[test]
    fn noise_alone_makes_an_average_of_about_its_floor() {
        let mut random = Random::new(3);
        let comparisons: Vec<Comparison> = (0..200)
            .map(|_| {
                let logs: Vec<f64> = (0..20).map(|_| 0.02 * random.normal()).collect();
                Comparison::of_log_ratios(&logs).expect("twenty")
            })
            .collect();
        let found = absolute_average(&comparisons).expect("rows");
        let floor = found.floor_percent.expect("all have intervals");
        assert!((found.percent / floor - 1.0).abs() < 0.15, "{found:?}");
        let single = Comparison::of_log_ratios(&[0.1]).expect("one");
        assert_eq!(absolute_average(&[single]).expect("a row").floor_percent, None);
        assert_eq!(absolute_average(&[]), None);
    }
}

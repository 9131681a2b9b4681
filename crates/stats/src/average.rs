//! The average over many rows: the geometric mean of ratios with its interval.

use serde::{Deserialize, Serialize};

use crate::Interval;
use crate::bca::Resamples;
use crate::resampled::ResampledRow;

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

//! Interval of a median by the bootstrap over clusters: what the units of a cluster share stays together.

use crate::quantile::{middle_of_sorted, sorted};
use crate::{Interval, Random, median};

/// Resamples. Source: Efron and Tibshirani (1993), chapter 14: 1000 or more for intervals at 95 %.
const RESAMPLES: usize = 1000;
/// Fewer clusters than this have no interval.
const FEWEST_CLUSTERS: usize = 10;

/// The percentile interval at `level` of the median of the values, where whole clusters are drawn; `None` for fewer than 10 clusters.
///
/// Each cluster is the values of its units. Percentiles, as the jackknife of a median, which better intervals need, is degenerate.
/// Equal seeds give equal intervals.
pub fn clustered_median(clusters: &[Vec<f64>], level: f64, seed: u64) -> Option<Interval> {
    if clusters.len() < FEWEST_CLUSTERS {
        return None;
    }
    let mut random = Random::new(seed);
    let resampled: Vec<f64> = (0..RESAMPLES)
        .filter_map(|_| {
            let drawn = (0..clusters.len()).flat_map(|_| &clusters[random.below(clusters.len())]);
            median(&drawn.copied().collect::<Vec<_>>())
        })
        .collect();
    middle_of_sorted(&sorted(&resampled), level)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_covers_the_median_about_as_often_as_it_says_and_clusters_make_it_wider() {
        let mut random = Random::new(3);
        let (mut covered, mut widths) = (0, [0.0; 2]);
        for seed in 0..200 {
            let clusters: Vec<Vec<f64>> = (0..16)
                .map(|_| {
                    let shared = random.normal();
                    (0..4).map(|_| shared + 0.3 * random.normal()).collect()
                })
                .collect();
            let alone: Vec<Vec<f64>> = clusters.iter().flatten().map(|value| vec![*value]).collect();
            let found = clustered_median(&clusters, 0.95, seed).expect("enough");
            let too_narrow = clustered_median(&alone, 0.95, seed).expect("enough");
            covered += usize::from(found.contains(0.0));
            widths[0] += found.half_width();
            widths[1] += too_narrow.half_width();
        }
        assert!((180..=199).contains(&covered), "{covered} of 200");
        assert!(widths[0] > 1.4 * widths[1], "{widths:?}");
    }

    #[test]
    fn few_clusters_have_no_interval() {
        assert_eq!(clustered_median(&vec![vec![1.0]; 9], 0.95, 1), None);
        assert_eq!(clustered_median(&vec![vec![]; 10], 0.95, 1), None);
        assert!(clustered_median(&vec![vec![1.0]; 10], 0.95, 1).is_some_and(|found| found.contains(1.0)));
    }
}

//! Separate states in the windows of one measurement, such as a sibling that is busy or idle.
//!
//! Two states are two modes, never a mean between them: 154 and 307 GB/s are two conditions of the host, not 230.

use crate::Mode;
use crate::quantile::{quantile_of_sorted, sorted};

/// Fewer windows than this cannot be distinguished from one state with noise.
const FEWEST_WINDOWS: usize = 8;

/// A state needs this share of the windows; less is outliers.
const SMALLEST_SHARE: f64 = 0.1;

/// A state needs this many windows.
const SMALLEST_COUNT: usize = 3;

/// States nearer than this, relative to the larger, are not worth telling apart: the width we aim for is 2 %.
const SMALLEST_DISTANCE: f64 = 0.05;

/// The empty space between two states, in widths (10 % to 90 %) of the wider one. Splits of normal, uniform
/// and exponential noise stay below 0.6 in simulation.
const SMALLEST_GAP_IN_WIDTHS: f64 = 1.0;

/// The same where a state has fewer than `FEWEST_WINDOWS` windows, as its width is hardly known.
const SMALLEST_GAP_OF_FEW: f64 = 3.0;

/// A machine with more states than this is noise; each split halves the windows at most.
const DEEPEST_SPLIT: u32 = 3;

/// The states of the windows, lowest first; one entry when they form a single state, none without a finite window.
pub fn modes(windows: &[f64]) -> Vec<Mode> {
    let ascending = sorted(windows);
    let mut found = Vec::new();
    split(&ascending, ascending.len(), DEEPEST_SPLIT, &mut found);
    found
}

fn split(ascending: &[f64], total: usize, depth: u32, found: &mut Vec<Mode>) {
    let Some(value) = quantile_of_sorted(ascending, 0.5) else { return };
    if depth > 0
        && let Some(place) = best_split(ascending)
        && are_separate(&ascending[..place], &ascending[place..], total)
    {
        split(&ascending[..place], total, depth - 1, found);
        split(&ascending[place..], total, depth - 1, found);
        return;
    }
    found.push(Mode { value, share: ascending.len() as f64 / total as f64 });
}

/// The split into two groups with the largest variance between them: two-means in one dimension, exactly.
fn best_split(ascending: &[f64]) -> Option<usize> {
    if ascending.len() < FEWEST_WINDOWS || ascending.first() == ascending.last() {
        return None;
    }
    // Relative to the largest magnitude, so that huge values do not overflow when squared.
    let scale = ascending.iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
    let total: f64 = ascending.iter().map(|value| value / scale).sum();
    let count = ascending.len() as f64;
    let (mut below, mut best) = (0.0, (0, f64::NEG_INFINITY));
    for (index, value) in ascending[..ascending.len() - 1].iter().enumerate() {
        below += value / scale;
        let (low, high) = ((index + 1) as f64, count - (index + 1) as f64);
        let distance = below / low - (total - below) / high;
        let between = low * high * distance * distance;
        if between > best.1 {
            best = (index + 1, between);
        }
    }
    (best.0 > 0).then_some(best.0)
}

fn are_separate(low: &[f64], high: &[f64], total: usize) -> bool {
    let smaller = low.len().min(high.len());
    if smaller < SMALLEST_COUNT || (smaller as f64) < SMALLEST_SHARE * total as f64 {
        return false;
    }
    let at = |group: &[f64], q: f64| quantile_of_sorted(group, q).unwrap_or_default();
    let gap = at(high, 0.1) - at(low, 0.9);
    let width = (at(low, 0.9) - at(low, 0.1)).max(at(high, 0.9) - at(high, 0.1));
    let needed = if smaller < FEWEST_WINDOWS { SMALLEST_GAP_OF_FEW } else { SMALLEST_GAP_IN_WIDTHS };
    let larger = at(high, 0.5).abs().max(at(low, 0.5).abs());
    gap > needed * width && at(high, 0.5) - at(low, 0.5) > SMALLEST_DISTANCE * larger
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    fn noisy(random: &mut Random, centre: f64, count: usize) -> Vec<f64> {
        (0..count).map(|_| centre * (1.0 + 0.02 * random.normal())).collect()
    }

    #[test]
    fn a_busy_sibling_makes_two_modes_with_their_shares() {
        let mut random = Random::new(11);
        let mut windows = noisy(&mut random, 154.0, 10);
        windows.extend(noisy(&mut random, 307.0, 30));
        random.shuffle(&mut windows);
        let found = modes(&windows);
        assert_eq!(found.len(), 2);
        assert!((found[0].value - 154.0).abs() < 4.0 && (found[0].share - 0.25).abs() < 1e-9);
        assert!((found[1].value - 307.0).abs() < 6.0 && (found[1].share - 0.75).abs() < 1e-9);
    }

    #[test]
    fn three_states_are_three_modes() {
        let mut random = Random::new(12);
        let windows: Vec<f64> =
            [100.0, 150.0, 300.0].into_iter().flat_map(|centre| noisy(&mut random, centre, 20)).collect();
        assert_eq!(modes(&windows).len(), 3);
    }

    #[test]
    fn noise_of_one_state_is_one_mode() {
        let mut random = Random::new(13);
        let mut split = 0;
        for round in 0..600_usize {
            let count = 8 + round % 57;
            let windows: Vec<f64> = (0..count)
                .map(|_| match round % 3 {
                    0 => 100.0 + 10.0 * random.normal(),
                    1 => 100.0 - 20.0 * (1.0 - random.unit()).ln(),
                    _ => 100.0 + 30.0 * random.unit(),
                })
                .collect();
            split += usize::from(modes(&windows).len() > 1);
        }
        assert!(split <= 3, "{split} of 600");
    }

    #[test]
    fn outliers_and_tiny_differences_are_not_modes() {
        let mut windows = vec![100.0; 40];
        windows.extend([900.0, 910.0]);
        assert_eq!(modes(&windows).len(), 1);
        let steps: Vec<f64> = (0..40).map(|i| if i % 2 == 0 { 100.0 } else { 101.0 }).collect();
        assert_eq!(modes(&steps).len(), 1);
        assert!(modes(&[f64::NAN]).is_empty());
        assert_eq!(modes(&[f64::MAX; 20]).len(), 1);
    }
}

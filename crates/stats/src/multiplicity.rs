//! Many tests at once: what remains when one admits how many were made.

use crate::Random;

/// Adjusted p values (q values) of Benjamini and Hochberg (1995), in the order given. NaN counts as 1.
pub fn benjamini_hochberg(p_values: &[f64]) -> Vec<f64> {
    let known = |p: f64| if p.is_nan() { 1.0 } else { p.clamp(0.0, 1.0) };
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| known(p_values[*a]).total_cmp(&known(p_values[*b])));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut smallest = 1.0_f64;
    for (rank, index) in order.into_iter().enumerate().rev() {
        smallest = smallest.min(known(p_values[index]) * p_values.len() as f64 / (rank + 1) as f64);
        adjusted[index] = smallest;
    }
    adjusted
}

/// Adjusted p values of Holm (1979), in the order given: the chance of even one false alarm among a few tests, whatever the others
/// show. NaN counts as 1.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let known = |p: f64| if p.is_nan() { 1.0 } else { p.clamp(0.0, 1.0) };
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| known(p_values[*a]).total_cmp(&known(p_values[*b])));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut largest = 0.0_f64;
    for (rank, index) in order.into_iter().enumerate() {
        largest = largest.max(known(p_values[index]) * (p_values.len() - rank) as f64).min(1.0);
        adjusted[index] = largest;
    }
    adjusted
}

/// Adjusted p values of a family of rows, such as the cells of a surface, by sign-flip permutation of the largest |z|.
///
/// `rows` holds the paired differences of each row; pair i of every row was taken in the same round and is flipped
/// together, so that drift shared by the whole surface is carried. Controls the chance of even one false alarm. A family
/// of n rounds cannot go below p = 2^(1-n): fewer than 6 rounds never reach 5 %.
pub fn sign_flip_max_z(rows: &[Vec<f64>], permutations: usize, seed: u64) -> Vec<f64> {
    let observed: Vec<f64> = rows.iter().map(|row| studentised(row, &[])).collect();
    let rounds = rows.iter().map(Vec::len).max().unwrap_or(0);
    let mut random = Random::new(seed);
    let mut flips = vec![false; rounds];
    let largest: Vec<f64> = (0..permutations)
        .map(|_| {
            flips.fill_with(|| random.bool());
            rows.iter().map(|row| studentised(row, &flips)).fold(0.0, f64::max)
        })
        .collect();
    observed
        .into_iter()
        .map(|z| {
            let as_large = largest.iter().filter(|drawn| **drawn >= z).count();
            (as_large + 1) as f64 / (permutations + 1) as f64
        })
        .collect()
}

/// |mean| over its standard error about zero, which stays finite when all differences are alike. 0 for nothing.
///
/// The sum of squares does not change with the signs, so rows compare fairly across permutations.
fn studentised(row: &[f64], flips: &[bool]) -> f64 {
    let (mut sum, mut squares) = (0.0, 0.0);
    for (index, difference) in row.iter().enumerate().filter(|(_, difference)| difference.is_finite()) {
        sum += if flips.get(index) == Some(&true) { -difference } else { *difference };
        squares += difference * difference;
    }
    if squares > 0.0 && squares.is_finite() { sum.abs() / squares.sqrt() } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adjusted_values_equal_scipy() {
        // scipy.stats.false_discovery_control([0.01, 0.04, 0.03, 0.005, 0.55, 0.04], method="bh")
        let found = benjamini_hochberg(&[0.01, 0.04, 0.03, 0.005, 0.55, 0.04]);
        for (found, expected) in found.iter().zip([0.03, 0.048, 0.048, 0.03, 0.55, 0.048]) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
        assert_eq!(benjamini_hochberg(&[f64::NAN, 0.01]), [1.0, 0.02]);
    }

    #[test]
    fn one_alarm_is_not_made_easier_by_what_others_show() {
        // The definition by hand: 6 x 0.005, 5 x 0.01, 4 x 0.03, then what came before where it is more.
        let found = holm(&[0.01, 0.04, 0.03, 0.005, 0.55, 0.04]);
        for (found, expected) in found.iter().zip([0.05, 0.12, 0.12, 0.03, 0.55, 0.12]) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
        assert_eq!(holm(&[f64::NAN, 0.01]), [1.0, 0.02]);
        // Two arms that are certainly worse: a third with p = 0.03 stays what it is, and is not lifted above its own p.
        assert!(holm(&[1e-6, 1e-6, 0.03])[2] >= 0.03);
    }

    /// 258 rows of 12 rounds with a drift that all rows of a round share.
    fn surface(random: &mut Random, moved: usize) -> Vec<Vec<f64>> {
        let drift: Vec<f64> = (0..12).map(|_| 0.5 * random.normal()).collect();
        (0..258)
            .map(|row| {
                let shift = if row < moved { 4.0 } else { 0.0 };
                drift.iter().map(|shared| shift + shared + random.normal()).collect()
            })
            .collect()
    }

    #[test]
    fn a_surface_against_itself_seldom_raises_an_alarm_and_a_moved_cell_does() {
        let mut random = Random::new(31);
        let alarms = (0..20)
            .filter(|seed| sign_flip_max_z(&surface(&mut random, 0), 200, *seed).iter().any(|p| *p <= 0.05))
            .count();
        assert!(alarms <= 3, "{alarms} of 20 surfaces");
        let found = sign_flip_max_z(&surface(&mut random, 3), 400, 1);
        assert!(found[..3].iter().all(|p| *p <= 0.05), "{:?}", &found[..3]);
        assert!(found[3..].iter().filter(|p| **p <= 0.05).count() <= 1);
    }

    #[test]
    fn nonsense_is_never_significant() {
        let rows = vec![vec![], vec![f64::NAN; 8], vec![0.0; 8], vec![f64::MAX; 8]];
        assert!(sign_flip_max_z(&rows, 50, 1).iter().all(|p| *p > 0.05));
        assert!(sign_flip_max_z(&[], 50, 1).is_empty());
    }
}

//! Many tests at once: what remains when one admits how many were made.

/// Adjusted p values (q values) of Benjamini and Hochberg (1995), in the order given. NaN counts as 1.
pub fn benjamini_hochberg(p_values: &[f64]) -> Vec<f64> {
    let (count, mut smallest) = (p_values.len() as f64, 1.0_f64);
    let mut ascending = ascending(p_values);
    for (rank, (_, p)) in ascending.iter_mut().enumerate().rev() {
        smallest = smallest.min(*p * count / (rank + 1) as f64);
        *p = smallest;
    }
    in_order(ascending)
}

/// Adjusted p values of Holm (1979), in the order given: the chance of even one false alarm among a few tests, whatever the others
/// show. NaN counts as 1.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut largest = 0.0_f64;
    let mut ascending = ascending(p_values);
    for (rank, (_, p)) in ascending.iter_mut().enumerate() {
        largest = largest.max(*p * (p_values.len() - rank) as f64).min(1.0);
        *p = largest;
    }
    in_order(ascending)
}

/// The p values with their places, the smallest first.
fn ascending(p_values: &[f64]) -> Vec<(usize, f64)> {
    let known = |p: f64| if p.is_nan() { 1.0 } else { p.clamp(0.0, 1.0) };
    let mut ascending: Vec<(usize, f64)> = p_values.iter().map(|p| known(*p)).enumerate().collect();
    ascending.sort_by(|a, b| a.1.total_cmp(&b.1));
    ascending
}

fn in_order(mut placed: Vec<(usize, f64)>) -> Vec<f64> {
    placed.sort_unstable_by_key(|(place, _)| *place);
    placed.into_iter().map(|(_, p)| p).collect()
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
}

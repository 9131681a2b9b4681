//! Many tests at once: what remains when one admits how many were made.

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

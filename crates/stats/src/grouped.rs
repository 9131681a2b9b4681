//! A level from samples in groups: what varies between runs is the group, and a few groups say little of how much.

use crate::between_runs::{Variance, moderated};
use crate::interval::Interval;
use crate::quantile::median;
use crate::student::student_quantile;

/// The median of the medians of groups with a 95 % interval for that of further runs: their spread is that of the groups, moderated by
/// what is known of such quantities, of which runs of one unchanged machine have this variance, and never less than one such run differs
/// from the next. `None` without a sample.
pub fn grouped_level(groups: &[Vec<f64>], known: Variance) -> Option<(f64, Interval)> {
    let medians: Vec<f64> = groups.iter().filter_map(|group| median(group)).collect();
    if medians.is_empty() {
        return None;
    }
    let variance = moderated(Variance::of(&medians), known);
    let reach = student_quantile(0.95, (variance.degrees as u32).max(1)) * variance.value.sqrt();
    let level = median(&medians)?;
    Some((level, Interval { low: level - reach, high: level + reach }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: Variance = Variance { value: 0.02 * 0.02, degrees: 8.0 };

    #[test]
    fn what_is_known_keeps_two_lucky_groups_from_claiming_too_much() {
        let (level, interval) = grouped_level(&[vec![0.2, 0.2], vec![0.2]], KNOWN).expect("samples");
        assert!((level - 0.2).abs() < 1e-12);
        assert!((0.03..0.06).contains(&interval.half_width()), "{interval:?}");
    }

    #[test]
    fn groups_that_differ_widen_it_and_none_has_no_level() {
        let narrow = grouped_level(&[vec![0.2], vec![0.21], vec![0.19]], KNOWN).expect("samples").1;
        let wide = grouped_level(&[vec![0.1], vec![0.3], vec![0.2]], KNOWN).expect("samples").1;
        assert!(wide.half_width() > 2.0 * narrow.half_width());
        assert_eq!(grouped_level(&[vec![], vec![]], KNOWN), None);
    }
}

//! Order statistics of Walsh averages, the means of all pairs of values, without holding the n (n + 1) / 2 of them.
//!
//! For values in ascending order the averages form a matrix with ascending rows and columns, so that those up to a
//! threshold are counted in one pass of two pointers (Johnson and Mizoguchi, SIAM J. Comput. 7, 1978; Monahan, ACM TOMS
//! Algorithm 616, 1984). A threshold is then bisected over the representations of f64, of which there are 2^64: at most
//! 64 passes, and the result is an average itself, not one near it.

/// All bits but the sign.
const MAGNITUDE: i64 = i64::MAX;

/// Finite values in ascending order, of which Walsh averages are taken.
#[derive(Debug, Clone)]
pub(crate) struct Walsh {
    ascending: Vec<f64>,
}

impl Walsh {
    /// Of the finite ones among `values`; `None` without any.
    pub(crate) fn of(values: &[f64]) -> Option<Self> {
        let mut ascending: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
        ascending.sort_unstable_by(f64::total_cmp);
        (!ascending.is_empty()).then_some(Self { ascending })
    }

    /// How many values.
    pub(crate) fn values(&self) -> usize {
        self.ascending.len()
    }

    /// How many averages.
    pub(crate) fn averages(&self) -> usize {
        self.values() * (self.values() + 1) / 2
    }

    /// How many averages are at most `threshold`.
    fn count_up_to(&self, threshold: f64) -> usize {
        let (mut count, mut end) = (0, self.values());
        for (index, low) in self.ascending.iter().enumerate() {
            // The larger the one, the smaller the other: the end only moves down.
            while end > index && f64::midpoint(*low, self.ascending[end - 1]) > threshold {
                end -= 1;
            }
            if end <= index {
                break;
            }
            count += end - index;
        }
        count
    }

    /// The average of `rank`, counted from 1.
    pub(crate) fn ranked(&self, rank: usize) -> f64 {
        assert!((1..=self.averages()).contains(&rank), "there are {} averages, not {rank}", self.averages());
        let (mut low, mut high) = (key(self.ascending[0]), key(self.ascending[self.values() - 1]));
        while low < high {
            // No overflow: the sum of two halves, rounded down.
            let middle = (low & high) + ((low ^ high) >> 1);
            if self.count_up_to(of_key(middle)) >= rank { high = middle } else { low = middle + 1 }
        }
        // Both zeros compare equal, so that the lower is found; it is shown without its sign.
        of_key(low) + 0.0
    }

    /// The median of the averages.
    pub(crate) fn median(&self) -> f64 {
        let (lower, upper) = (self.averages().div_ceil(2), self.averages() / 2 + 1);
        let low = self.ranked(lower);
        if lower == upper { low } else { f64::midpoint(low, self.ranked(upper)) }
    }
}

/// An integer in the same order as the values: IEEE 754 magnitudes ascend with their bits, negative ones the other way.
fn key(value: f64) -> i64 {
    let bits = value.to_bits().cast_signed();
    if bits < 0 { bits ^ MAGNITUDE } else { bits }
}

/// The value of a key.
fn of_key(key: i64) -> f64 {
    f64::from_bits((if key < 0 { key ^ MAGNITUDE } else { key }).cast_unsigned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// All averages, made and sorted.
    fn all(values: &[f64]) -> Vec<f64> {
        let mut all: Vec<f64> = values
            .iter()
            .enumerate()
            .flat_map(|(index, a)| values[index..].iter().map(|b| f64::midpoint(*a, *b)))
            .collect();
        all.sort_unstable_by(f64::total_cmp);
        all
    }

    #[test]
    fn keys_are_in_the_order_of_their_values_and_lead_back() {
        let values = [f64::MIN, -1.5, -f64::MIN_POSITIVE, -5e-324, -0.0, 0.0, 5e-324, 1.0, 1.5, f64::MAX];
        assert!(values.is_sorted_by_key(|value| key(*value)));
        assert!(values.iter().all(|value| of_key(key(*value)).to_bits() == value.to_bits()));
    }

    #[test]
    fn extremes_and_nothing_are_no_trouble() {
        assert!(Walsh::of(&[f64::NAN, f64::INFINITY]).is_none());
        let walsh = Walsh::of(&[f64::MAX, f64::MIN, f64::NAN, 0.0]).expect("three finite");
        assert_eq!((walsh.values(), walsh.averages()), (3, 6));
        assert_eq!((walsh.ranked(1), walsh.ranked(6)), (f64::MIN, f64::MAX));
        assert_eq!(Walsh::of(&[-0.0, -0.0]).expect("two").median().to_bits(), 0.0_f64.to_bits());
    }

    fn check(values: &[f64]) -> Result<(), TestCaseError> {
        let (walsh, naive) = (Walsh::of(values).expect("finite"), all(values));
        for (index, expected) in naive.iter().enumerate() {
            prop_assert_eq!(walsh.ranked(index + 1).to_bits(), expected.to_bits(), "rank {}", index + 1);
            prop_assert_eq!(walsh.count_up_to(*expected), naive.partition_point(|value| value <= expected));
        }
        let median = crate::quantile_of_sorted(&naive, 0.5).expect("finite");
        prop_assert_eq!(walsh.median().to_bits(), median.to_bits());
        Ok(())
    }

    proptest! {
        #[test]
        fn every_rank_is_that_of_the_sorted_averages(values in proptest::collection::vec(-1e3..1e3_f64, 1..30)) {
            check(&values)?;
        }

        #[test]
        fn ties_and_zeros_change_nothing(values in proptest::collection::vec(-3..=3_i32, 1..30)) {
            check(&values.into_iter().map(f64::from).collect::<Vec<f64>>())?;
        }
    }
}

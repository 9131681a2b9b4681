//! The Hodges-Lehmann shift of many resamples of one row: its Walsh averages are sorted once, and walked up to the middle.

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

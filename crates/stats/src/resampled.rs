//! The Hodges-Lehmann shift of many resamples of one row: its Walsh averages are sorted once.
//!
//! The shift of a resample lies near that of the row. So the averages below the row's own median are counted in one
//! pass over the values, and only those between there and the shift are walked: of 40 values about 60 of 820.

/// The Walsh averages of one row.
#[derive(Debug, Clone)]
pub(crate) struct ResampledRow {
    /// Places of the finite values, in the order of their values.
    places: Vec<usize>,
    /// The average of each pair, ascending.
    averages: Vec<Average>,
    /// Where the walks begin: the first average that equals the median, or is next to it.
    centre: usize,
    /// For each value, in their order, the end of those whose average with it lies before the centre.
    ends: Vec<usize>,
    /// How often each value is in the resample at hand, and the sums of these up to each.
    drawn: Vec<u64>,
    sums: Vec<u64>,
}

/// An average and the two values it is made of, by their order.
#[derive(Debug, Clone, Copy)]
struct Average {
    value: f64,
    low: u32,
    high: u32,
}

impl ResampledRow {
    /// Of all finite values, whose places stay those of the slice; `None` without any.
    pub(crate) fn of(values: &[f64]) -> Option<Self> {
        let mut places: Vec<usize> = (0..values.len()).filter(|place| values[*place].is_finite()).collect();
        places.sort_unstable_by(|a, b| values[*a].total_cmp(&values[*b]));
        let count = places.len();
        let average = |low: usize, high: usize| f64::midpoint(values[places[low]], values[places[high]]);
        let pairs = (0..count).flat_map(|low| (low..count).map(move |high| (low, high)));
        let mut averages: Vec<Average> = pairs
            .map(|(low, high)| Average { value: average(low, high), low: low as u32, high: high as u32 })
            .collect();
        averages.sort_unstable_by(|a, b| a.value.total_cmp(&b.value));
        let middle = averages.get(averages.len() / 2)?.value;
        let centre = averages.partition_point(|average| average.value < middle);
        let ends = (0..count)
            .map(|low| low + (low..count).take_while(|high| average(low, *high) < middle).count())
            .collect();
        let (drawn, sums) = (vec![0; count], vec![0; count + 1]);
        Some(Self { places, averages, centre, ends, drawn, sums })
    }

    /// The shift of the resample that holds the value at place i `times[i]` times; `None` if it holds none.
    pub(crate) fn shift(&mut self, times: &[u32]) -> Option<f64> {
        for (order, place) in self.places.iter().enumerate() {
            self.drawn[order] = u64::from(times[*place]);
            self.sums[order + 1] = self.sums[order] + self.drawn[order];
        }
        let total = pairs_of(self.sums[self.places.len()]);
        let last = total.checked_sub(1)?;
        let (lower, upper) = (last / 2, total / 2);
        let (mut at, mut below) = (self.centre, self.before_centre());
        while below > lower {
            at -= 1;
            below -= self.weight(self.averages[at]);
        }
        let low = self.pass(&mut at, &mut below, lower);
        let high = self.pass(&mut at, &mut below, upper);
        Some(f64::midpoint(low, high))
    }

    /// Goes on to the average that holds the rank, counted from 0, where `below` come before `at`.
    fn pass(&self, at: &mut usize, below: &mut u64, rank: u64) -> f64 {
        loop {
            let average = self.averages[*at];
            let reached = *below + self.weight(average);
            if reached > rank {
                return average.value;
            }
            (*at, *below) = (*at + 1, reached);
        }
    }

    /// How often the average is there.
    fn weight(&self, average: Average) -> u64 {
        let (low, high) = (self.drawn[average.low as usize], self.drawn[average.high as usize]);
        let is_alone = u64::from(average.low == average.high);
        // A value drawn t times makes t (t + 1) / 2 averages with itself.
        (low * (high + is_alone)) >> is_alone
    }

    /// How many averages lie before the centre.
    fn before_centre(&self) -> u64 {
        let values = self.ends.iter().zip(&self.drawn).enumerate();
        values
            .take_while(|(low, (end, _))| *end > low)
            .map(|(low, (end, drawn))| pairs_of(*drawn) + drawn * (self.sums[*end] - self.sums[low + 1]))
            .sum()
    }
}

/// Pairs of so many, each with itself included.
fn pairs_of(count: u64) -> u64 {
    count * (count + 1) / 2
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Random, hodges_lehmann};

    fn check(values: &[f64], seed: u64) -> Result<(), TestCaseError> {
        let mut random = Random::new(seed);
        let mut row = ResampledRow::of(values).expect("values");
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
        let mut row = ResampledRow::of(&[f64::NAN, 2.0, 4.0]).expect("two");
        assert_eq!((row.shift(&[3, 0, 0]), row.shift(&[1, 0, 2])), (None, Some(4.0)));
    }
}

//! Numbers of threads as they are typed: `1..8`, or `4`.

use std::str::FromStr;

/// Beyond this a round of threads takes seconds on any machine that runs them in turns.
const THREADS_MAX: usize = 1024;
/// Up to so many numbers all are measured; of more, those that double.
const ALL_UP_TO: usize = 12;

/// How many threads to measure with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ThreadRange {
    low: usize,
    high: usize,
}

impl ThreadRange {
    /// The numbers to measure, ascending; the first is 1, with which all others are compared.
    pub(crate) fn counts(self) -> Vec<usize> {
        let mut counts: Vec<usize> = if self.high - self.low < ALL_UP_TO {
            (self.low..=self.high).collect()
        } else {
            let doubled = |count: &usize| Some(count * 2);
            let within = |count: &usize| *count < self.high;
            std::iter::successors(Some(self.low), doubled).take_while(within).chain([self.high]).collect()
        };
        if counts.first() != Some(&1) {
            counts.insert(0, 1);
        }
        counts
    }
}

impl FromStr for ThreadRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (low, high) = text.split_once("..").unwrap_or((text, text));
        let high = high.strip_prefix('=').unwrap_or(high);
        let number = |text: &str| {
            text.parse::<usize>().map_err(|_| "give a number of threads or a range, such as 1..8".to_owned())
        };
        let (low, high) = (number(low)?, number(high)?);
        if low == 0 {
            return Err("there is no measuring with 0 threads; give 1 or more, such as 1..8".to_owned());
        }
        if low > high {
            return Err(format!("the range is empty; give the smaller number first: {high}..{low}"));
        }
        if high > THREADS_MAX {
            return Err(format!("give at most {THREADS_MAX} threads"));
        }
        Ok(Self { low, high })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_typed_as_people_write_them_and_nonsense_is_refused() {
        for (text, expected) in [
            ("1..4", vec![1, 2, 3, 4]),
            ("1..=3", vec![1, 2, 3]),
            ("4", vec![1, 4]),
            ("1", vec![1]),
            ("3..5", vec![1, 3, 4, 5]),
            ("1..1000", vec![1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000]),
            ("6..64", vec![1, 6, 12, 24, 48, 64]),
        ] {
            assert_eq!(text.parse::<ThreadRange>().expect(text).counts(), expected, "{text}");
        }
        for text in ["", "0", "0..4", "5..2", "100000", "1..100000", "-1", "1..", "..", "x", "1..2..3"] {
            assert!(text.parse::<ThreadRange>().is_err(), "{text}");
        }
    }
}

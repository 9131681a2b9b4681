//! From values to coordinates, and ticks at numbers that people read.

use machine::Bytes;

use crate::number;

/// At most this many labels stand on one axis.
const MOST_TICKS: usize = 14;

/// Mean width of a character of a label, and room between two labels, in units of the picture.
const CHARACTER: f64 = 6.2;
const LABEL_GAP: f64 = 10.0;

/// How an axis is divided and labelled.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Axis {
    /// Powers of two of bytes, in binary units.
    Bytes,
    /// Powers of two as plain numbers.
    Powers,
    /// 1, 2, 5, 10: decimal logarithmic.
    Decades,
    /// From zero in equal steps.
    Linear,
}

/// A straight or logarithmic map of values to coordinates.
#[derive(Clone, Copy)]
pub(crate) struct Scale {
    axis: Axis,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Scale {
    /// A scale that holds all the values; logarithmic axes leave out those that are not positive.
    pub(crate) fn holding(axis: Axis, values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let usable = values.filter_map(if axis == Axis::Linear { number::finite } else { number::positive });
        let (low, high) =
            usable.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
        let (low, high) = match axis {
            _ if low > high => (1.0, 2.0),
            Axis::Linear => {
                let (low, high) = (low.min(0.0), high.max(0.0));
                if low >= high { (0.0, 1.0) } else { (low * 1.05, high * 1.05) }
            }
            Axis::Decades => (low / 1.15, high * 1.15),
            Axis::Bytes | Axis::Powers if low >= high => (low / 2.0, high * 2.0),
            Axis::Bytes | Axis::Powers => (low, high),
        };
        Self { axis, low, high, from, to }
    }

    /// Where a value stands; outside the scale at its ends, nowhere if it is no number for this axis.
    pub(crate) fn at(&self, value: f64) -> Option<f64> {
        let share = if self.axis == Axis::Linear {
            (number::finite(value)? - self.low) / (self.high - self.low)
        } else {
            (number::positive(value)?.ln() - self.low.ln()) / (self.high.ln() - self.low.ln())
        };
        number::finite(share).map(|share| self.from + share.clamp(0.0, 1.0) * (self.to - self.from))
    }

    /// True if the value lies on the scale.
    pub(crate) fn holds(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// Values with a label.
    pub(crate) fn ticks(&self) -> Vec<(f64, String)> {
        match self.axis {
            Axis::Bytes | Axis::Powers => self.powers_of_two(),
            Axis::Decades => self.decades(),
            Axis::Linear => self.steps(),
        }
    }

    fn powers_of_two(&self) -> Vec<(f64, String)> {
        let first = self.low.log2().ceil().clamp(0.0, 63.0) as i32;
        let last = self.high.log2().floor().clamp(0.0, 63.0) as i32;
        let labelled = |power| {
            let value = 2f64.powi(power);
            let label = match self.axis {
                Axis::Bytes => Bytes(value as u64).to_string(),
                _ => format!("{value:.0}"),
            };
            (value, label)
        };
        let all: Vec<(f64, String)> = (first..=last).map(labelled).collect();
        let widest = all.iter().map(|(_, label)| label.chars().count()).max().unwrap_or(1);
        let room = (self.to - self.from).abs() / (CHARACTER * widest as f64 + LABEL_GAP);
        let every = all.len().div_ceil((room as usize + 1).min(MOST_TICKS)).max(1);
        all.into_iter().step_by(every).collect()
    }

    fn decades(&self) -> Vec<(f64, String)> {
        let first = self.low.log10().floor().clamp(-300.0, 300.0) as i32;
        let last = self.high.log10().ceil().clamp(-300.0, 300.0) as i32;
        let parts: &[f64] = match last - first {
            ..=4 => &[1.0, 2.0, 5.0],
            _ => &[1.0],
        };
        let every = (last - first) as usize / MOST_TICKS + 1;
        (first..=last)
            .step_by(every)
            .flat_map(|power| parts.iter().map(move |part| part * 10f64.powi(power)))
            .filter(|value| self.holds(*value))
            .map(|value| (value, number::short(value)))
            .collect()
    }

    fn steps(&self) -> Vec<(f64, String)> {
        let rough = (self.high - self.low) / 5.0;
        let magnitude = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|part| part * magnitude).into_iter().find(|step| *step >= rough);
        let Some(step) = step.and_then(number::positive) else { return Vec::new() };
        let first = (self.low / step).ceil();
        (0..MOST_TICKS)
            .map(|index| (first + index as f64) * step)
            .filter(|value| self.holds(*value))
            .map(|value| (value, number::short(value)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Axis, Scale};

    fn labels(axis: Axis, values: &[f64]) -> Vec<String> {
        Scale::holding(axis, values.iter().copied(), 0.0, 100.0).ticks().into_iter().map(|(_, l)| l).collect()
    }

    #[test]
    fn ticks_stand_at_round_numbers() {
        assert_eq!(labels(Axis::Bytes, &[4096.0, 16384.0]), ["4 KiB", "8 KiB", "16 KiB"]);
        assert_eq!(labels(Axis::Bytes, &[65_536.0, 1_048_576.0]), ["64 KiB", "512 KiB"]);
        assert_eq!(labels(Axis::Decades, &[1.0, 30.0]), ["1", "2", "5", "10", "20"]);
        assert_eq!(labels(Axis::Linear, &[0.0, 41.0]), ["0", "10", "20", "30", "40"]);
        assert_eq!(labels(Axis::Linear, &[-41.0, -20.0]), ["-40", "-30", "-20", "-10", "0"]);
    }

    #[test]
    fn values_that_are_no_numbers_neither_stretch_the_scale_nor_get_a_place() {
        let scale =
            Scale::holding(Axis::Decades, [f64::NAN, -1.0, 0.0, 10.0, f64::INFINITY].into_iter(), 0.0, 1.0);
        assert!(scale.at(f64::NAN).is_none() && scale.at(-1.0).is_none());
        assert!(scale.at(10.0).is_some());
        for axis in [Axis::Bytes, Axis::Powers, Axis::Decades, Axis::Linear] {
            for extreme in [&[][..], &[f64::MAX], &[f64::MIN_POSITIVE], &[f64::MIN, f64::MAX]] {
                let scale = Scale::holding(axis, extreme.iter().copied(), 0.0, 1.0);
                assert!(scale.ticks().len() < 60);
            }
        }
    }
}

//! Drawing in SVG: a canvas, scales with readable ticks, the palette, and three kinds of chart, whose marks say what they are to a
//! pointer that rests on them.

mod canvas;
mod lines;
mod matrix;
mod palette;
mod scale;
mod surface;

use std::fmt::Write;

use record::{Quality, Spread};
use stats::Interval;

use crate::number;

pub(crate) use canvas::{Anchor, Svg, Word};
pub(crate) use lines::{LineChart, LinePanel, LinePoint, LineSeries, Mark};
pub(crate) use matrix::{MatrixCell, MatrixChart, MatrixPanel};
pub(crate) use palette::{
    STYLE_DARK, STYLE_LIGHT, ink_on, level_colour, level_rank, magnitude, series_colour,
};
pub(crate) use scale::{Axis, Scale};
pub(crate) use surface::{SurfaceCell, SurfaceChart};

pub(crate) trait Chart {
    /// True if there is nothing that could be drawn.
    fn is_empty(&self) -> bool;

    /// The picture; `name` makes its ids unique in a page.
    fn draw(&self, name: &str) -> Svg;
}

/// A number as a chart shows it, in the unit of the chart.
#[derive(Debug, Clone, Default)]
pub(crate) struct Measure {
    pub(crate) value: f64,
    pub(crate) ends: Option<Interval>,
    /// Drawn hatched or hollow.
    pub(crate) doubtful: bool,
    /// What it rests on: `96 windows in 8 mappings`; empty where nothing was measured.
    pub(crate) basis: String,
}

impl Measure {
    /// A number without an interval.
    pub(crate) fn exact(value: f64) -> Self {
        Self { value, ..Self::default() }
    }

    /// A measured number, in the unit that `scale` makes of the record's.
    pub(crate) fn of(value: f64, spread: &Spread, scale: fn(f64) -> f64) -> Self {
        let Spread { mappings, windows, quality, .. } = spread;
        let basis = match (windows, mappings) {
            (0, _) => String::new(),
            (windows, 0 | 1) => number::count(*windows, "window"),
            (windows, mappings) => {
                format!("{} in {mappings} mappings", number::count(*windows, "window"))
            }
        };
        let doubtful = *quality != Quality::Converged;
        Self { value: scale(value), ends: Some(spread.interval.map(scale)), doubtful, basis }
    }

    /// The lower end, or the value.
    pub(crate) fn low(&self) -> f64 {
        self.ends.map_or(self.value, |ends| ends.low)
    }

    /// The upper end, or the value.
    pub(crate) fn high(&self) -> f64 {
        self.ends.map_or(self.value, |ends| ends.high)
    }

    /// `CPU 3: 12.3 GB/s [12.1, 12.5], 96 windows in 8 mappings`; the unit has its blank before it.
    pub(crate) fn title(&self, of: &str, unit: &str) -> String {
        let mut text = format!("{of}: {}{unit}", number::short(self.value));
        if let Some(ends) = self.ends.filter(|ends| ends.low.is_finite() && ends.high.is_finite()) {
            let _ = write!(text, " [{}, {}]", number::short(ends.low), number::short(ends.high));
        }
        let doubt = if self.doubtful && self.ends.is_some() { "unstable or wide" } else { "" };
        for part in [self.basis.as_str(), doubt].into_iter().filter(|part| !part.is_empty()) {
            text += ", ";
            text += part;
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_says_its_value_interval_unit_and_what_it_rests_on() {
        let spread = Spread {
            interval: Interval { low: 1.9e9, high: 2.2e9 },
            mappings: 8,
            windows: 96,
            quality: Quality::Wide,
            ..Spread::default()
        };
        let measure = Measure::of(2e9, &spread, number::gigabytes);
        assert_eq!(
            measure.title("CPU 3", " GB/s"),
            "CPU 3: 2 GB/s [1.9, 2.2], 96 windows in 8 mappings, unstable or wide"
        );
        assert_eq!(Measure::exact(4.0).title("4 KiB", " ns"), "4 KiB: 4 ns");
    }
}

//! Drawing in SVG: a canvas, scales with readable ticks, the palette, and three kinds of chart, whose marks say what they are to a
//! pointer that rests on them.

mod canvas;
mod lines;
mod matrix;
mod measure;
mod palette;
mod scale;
mod surface;

pub(crate) use canvas::{Anchor, Svg, Word};
pub(crate) use lines::{LineChart, LinePanel, LinePoint, LineSeries, Mark};
pub(crate) use matrix::{MatrixCell, MatrixChart, MatrixPanel};
pub(crate) use measure::Measure;
pub(crate) use palette::{
    STYLE_DARK, STYLE_LIGHT, ink_on, level_colour, level_rank, magnitude, series_colour,
};
pub(crate) use scale::{Axis, Scale};
pub(crate) use surface::{SurfaceCell, SurfaceChart};

/// A chart.
pub(crate) trait Chart {
    /// True if there is nothing that could be drawn.
    fn is_empty(&self) -> bool;

    /// The picture; `name` makes its ids unique in a page.
    fn draw(&self, name: &str) -> Svg;
}

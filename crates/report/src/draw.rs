//! Drawing in SVG: a canvas, scales with readable ticks, the palette, and five kinds of chart.

mod bars;
mod canvas;
mod lines;
mod matrix;
mod palette;
mod scale;
mod surface;

pub(crate) use bars::{BarChart, BarGroup, BarRow};
pub(crate) use canvas::{Anchor, Svg, Word, coordinate};
pub(crate) use lines::{LineChart, LinePanel, LinePoint, LineSeries, Mark};
pub(crate) use matrix::{MatrixCell, MatrixChart, MatrixPanel, outline};
pub(crate) use palette::{
    STYLE_DARK, STYLE_LIGHT, ink_on, level_colour, level_rank, magnitude, series_colour,
};
pub(crate) use scale::{Axis, Scale};
pub(crate) use surface::{SurfaceCell, SurfaceChart};

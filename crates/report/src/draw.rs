//! Drawing in SVG: a canvas, scales with readable ticks, the palette, and four kinds of chart.

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
pub(crate) use matrix::{CHANGE_ENDS, Colours, MatrixCell, MatrixChart, MatrixPanel};
pub(crate) use palette::{
    STYLE_DARK, STYLE_LIGHT, ink_on, level_colour, level_rank, magnitude, series_colour,
};
pub(crate) use scale::{Axis, Scale};
pub(crate) use surface::{SurfaceCell, SurfaceChart};

/// A chart: drawn on paper, and with the same data for the page's script.
pub(crate) trait Chart {
    /// True if there is nothing that could be drawn.
    fn is_empty(&self) -> bool;

    /// The picture; `name` makes its ids unique in a page.
    fn draw(&self, name: &str) -> Svg;

    /// Traces and layout for plotly.
    fn interactive(&self) -> serde_json::Value;

    /// Whether plotly draws it with WebGL only.
    fn needs_webgl(&self) -> bool {
        false
    }
}

//! Horizontal bars in groups, with whiskers for the interval and hatching for doubt.

use super::lines::whisker;
use super::{Anchor, Axis, Chart, Measure, Scale, Svg, series_colour};

const WIDTH: f64 = 900.0;
const LEFT: f64 = 150.0;
const RIGHT: f64 = 800.0;
/// Rows of a machine with few CPUs are tall enough for a label each; of many, they shrink to this.
const THICKEST: f64 = 18.0;
const THINNEST: f64 = 4.0;
/// The height that all rows together should not exceed.
const WISHED_HEIGHT: f64 = 900.0;
/// A row needs this much for a label.
const LABEL_HEIGHT: f64 = 11.0;

/// One bar.
pub(crate) struct BarRow {
    pub(crate) name: String,
    pub(crate) measure: Measure,
    /// What stands beside it.
    pub(crate) label: String,
}

/// Bars under one heading.
pub(crate) struct BarGroup {
    pub(crate) title: String,
    pub(crate) style: usize,
    pub(crate) rows: Vec<BarRow>,
}

/// Groups over one scale that begins at zero.
pub(crate) struct BarChart {
    pub(crate) x_label: &'static str,
    /// With its blank before it.
    pub(crate) unit: &'static str,
    pub(crate) groups: Vec<BarGroup>,
}

impl BarChart {
    fn rows(&self) -> impl Iterator<Item = &BarRow> {
        self.groups.iter().flat_map(|group| &group.rows)
    }
}

impl Chart for BarChart {
    fn is_empty(&self) -> bool {
        !self.rows().any(|row| row.measure.value.is_finite())
    }

    fn draw(&self, name: &str) -> Svg {
        let row_count = self.rows().count().max(1);
        let step = (WISHED_HEIGHT / row_count as f64).clamp(THINNEST, THICKEST);
        let heading = 30.0;
        let plot_height = row_count as f64 * step + self.groups.len() as f64 * heading;
        let mut svg = Svg::new(name, WIDTH, plot_height + 46.0);
        let hatch = svg.hatch("hatch");
        let scale = Scale::holding(Axis::Linear, self.rows().map(|row| row.measure.value), LEFT, RIGHT);
        for (value, label) in scale.ticks() {
            if let Some(x) = scale.at(value) {
                svg.line("grid", (x, 6.0), (x, plot_height + 6.0));
                svg.text((x, plot_height + 21.0), "small", Anchor::Middle, &label);
            }
        }
        let mut y = 6.0;
        for group in &self.groups {
            svg.text((LEFT + 6.0, y + 20.0), "strong halo", Anchor::Start, &group.title);
            y += heading;
            for (index, row) in group.rows.iter().enumerate() {
                let every = (LABEL_HEIGHT / step).ceil() as usize;
                svg.open_mark(&row.measure.title(&format!("{}, {}", row.name, group.title), self.unit));
                draw_row(&mut svg, row, group.style, scale, (y, step), index % every.max(1) == 0, &hatch);
                svg.close();
                y += step;
            }
        }
        svg.line("axis", (LEFT, 6.0), (LEFT, plot_height + 6.0));
        svg.text((f64::midpoint(LEFT, RIGHT), plot_height + 39.0), "dim", Anchor::Middle, self.x_label);
        svg
    }
}

fn draw_row(
    svg: &mut Svg,
    row: &BarRow,
    style: usize,
    scale: Scale,
    (y, step): (f64, f64),
    labelled: bool,
    hatch: &str,
) {
    let middle = y + step / 2.0;
    let baseline = middle + 4.0;
    if labelled {
        svg.text((LEFT - 8.0, baseline), "small", Anchor::End, &row.name);
    }
    let Some(x) = scale.at(row.measure.value) else {
        svg.text((LEFT + 6.0, baseline), "dim small", Anchor::Start, "not a number");
        return;
    };
    let gap = if step > 8.0 { 2.5 } else { 0.5 };
    let size = (x - LEFT, step - 2.0 * gap);
    let colour = series_colour(style);
    svg.rectangle((LEFT, y + gap), size, &format!("fill=\"{colour}\" rx=\"1.5\" opacity=\".9\""));
    if row.measure.doubtful {
        svg.rectangle((LEFT, y + gap), size, &format!("fill=\"url(#{hatch})\""));
    }
    let (low, high) = (scale.at(row.measure.low()).unwrap_or(x), scale.at(row.measure.high()).unwrap_or(x));
    whisker(svg, low, high, middle, (step / 2.0 - gap - 1.0).clamp(0.8, 4.0));
    if labelled && step >= LABEL_HEIGHT {
        svg.text((high.max(x) + 7.0, baseline), "small ink halo", Anchor::Start, &row.label);
    }
}

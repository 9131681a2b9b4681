//! Line charts: panels above each other, a ribbon for the interval, a hollow marker for doubt.

use record::Spread;

use super::{Anchor, Axis, Chart, Measure, Scale, Svg, series_colour};
use crate::number;

const WIDTH: f64 = 900.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 882.0;
const PANEL_HEIGHT: f64 = 270.0;
/// Room for the tick labels of one panel and the title of the next.
const PANEL_GAP: f64 = 58.0;
const LEGEND_ROW: f64 = 20.0;
/// Mean width of a character of the legend in user units, for placing the next entry.
const CHARACTER: f64 = 6.6;
/// Dashes, so that series stay apart without colour.
const DASHES: [&str; 4] = ["", "7 3", "2 3", "9 3 2 3"];

/// Points of a curve that get a marker, about.
const MARKERS_MAX: usize = 24;
/// Of longer curves only the markers say what they are: the page would be large and no pointer could choose.
const HINTS_MAX: usize = 96;

/// One point of a curve.
#[derive(Clone)]
pub(crate) struct LinePoint {
    pub(crate) x: f64,
    pub(crate) measure: Measure,
}

impl LinePoint {
    /// A point without an interval.
    pub(crate) fn exact(x: f64, y: f64) -> Self {
        Self { x, measure: Measure::exact(y) }
    }

    /// A measured point, in the unit that `scale` makes of the record's.
    pub(crate) fn measured(x: f64, value: f64, spread: &Spread, scale: fn(f64) -> f64) -> Self {
        Self { x, measure: Measure::of(value, spread, scale) }
    }
}

/// One curve; `style` chooses colour, dash and marker.
pub(crate) struct LineSeries {
    pub(crate) name: String,
    pub(crate) style: usize,
    pub(crate) points: Vec<LinePoint>,
}

/// A vertical line with a name, such as the size of a cache.
#[derive(Clone)]
pub(crate) struct Mark {
    pub(crate) x: f64,
    pub(crate) label: String,
}

/// Curves over one pair of axes.
pub(crate) struct LinePanel {
    pub(crate) title: String,
    pub(crate) series: Vec<LineSeries>,
    pub(crate) marks: Vec<Mark>,
}

impl LinePanel {
    /// Curves without marks.
    pub(crate) fn new(title: impl Into<String>, series: impl IntoIterator<Item = LineSeries>) -> Self {
        Self { title: title.into(), series: series.into_iter().collect(), marks: Vec::new() }
    }
}

/// Panels that share their axes.
pub(crate) struct LineChart {
    pub(crate) x_label: &'static str,
    pub(crate) y_label: &'static str,
    /// Of the values, with its blank before it.
    pub(crate) unit: &'static str,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) panels: Vec<LinePanel>,
}

impl LineChart {
    /// Curves in one panel over straight axes.
    pub(crate) fn straight(
        x_label: &'static str,
        y_label: &'static str,
        unit: &'static str,
        panel: LinePanel,
    ) -> Self {
        Self { x_label, y_label, unit, x: Axis::Linear, y: Axis::Linear, panels: vec![panel] }
    }

    /// Bandwidths by size of the block.
    pub(crate) fn bandwidths(panels: Vec<LinePanel>) -> Self {
        let x_label = "block: all bytes of all arrays and threads, logarithmic";
        Self {
            x_label,
            y_label: "GB/s, logarithmic",
            unit: " GB/s",
            x: Axis::Bytes,
            y: Axis::Decades,
            panels,
        }
    }

    fn points(&self) -> impl Iterator<Item = &LinePoint> {
        self.panels.iter().flat_map(|panel| &panel.series).flat_map(|series| &series.points)
    }

    /// One entry per style, with its place; rows are filled from the left.
    fn legend_places(&self) -> Vec<(&LineSeries, f64, f64)> {
        let mut places: Vec<(&LineSeries, f64, f64)> = Vec::new();
        let (mut x, mut y) = (LEFT, 0.0);
        for series in self.panels.iter().flat_map(|panel| &panel.series) {
            if places.iter().any(|(have, ..)| have.style == series.style) {
                continue;
            }
            let width = 36.0 + CHARACTER * series.name.chars().count() as f64 + 22.0;
            if x + width > RIGHT && x > LEFT {
                (x, y) = (LEFT, y + LEGEND_ROW);
            }
            places.push((series, x, y));
            x += width;
        }
        places
    }

    fn frame(&self, svg: &mut Svg, panel: &LinePanel, x: Scale, y: Scale, top: f64) {
        let bottom = top + PANEL_HEIGHT;
        svg.text((LEFT, top - 8.0), "strong", Anchor::Start, &panel.title);
        for (value, label) in y.ticks() {
            if let Some(at) = y.at(value) {
                svg.line("grid", (LEFT, at), (RIGHT, at));
                svg.text((LEFT - 8.0, at + 4.0), "small", Anchor::End, &label);
            }
        }
        for (value, label) in x.ticks() {
            if let Some(at) = x.at(value) {
                svg.line("grid", (at, top), (at, bottom));
                svg.text((at, bottom + 16.0), "small", Anchor::Middle, &label);
            }
        }
        let mut last_label = f64::NEG_INFINITY;
        for mark in panel.marks.iter().filter(|mark| x.holds(mark.x)) {
            if let Some(at) = x.at(mark.x) {
                svg.line("mark", (at, top), (at, bottom));
                // Two names too near each other would cover each other; the second goes one line lower.
                let lower = if at - last_label < CHARACTER * 18.0 { 26.0 } else { 12.0 };
                svg.text((at - 4.0, top + lower), "dim small halo", Anchor::End, &mark.label);
                last_label = at;
            }
        }
        svg.line("axis", (LEFT, bottom), (RIGHT, bottom));
        svg.upright_text((14.0, f64::midpoint(top, bottom)), self.y_label);
    }

    /// The ribbon, the line, and the points, each of which says what it is.
    fn curve(&self, svg: &mut Svg, series: &LineSeries, x: Scale, y: Scale) {
        let placed = series.points.iter().filter_map(|point| {
            let at = (x.at(point.x)?, y.at(point.measure.value)?);
            Some((at, point))
        });
        let placed: Vec<((f64, f64), &LinePoint)> = placed.collect();
        if placed.len() > 1 {
            let edge = |end: fn(&Measure) -> f64| {
                placed.iter().map(move |(at, point)| (at.0, y.at(end(&point.measure)).unwrap_or(at.1)))
            };
            let around: Vec<(f64, f64)> = edge(Measure::high).chain(edge(Measure::low).rev()).collect();
            svg.polygon(&around, &format!("fill=\"{}\" opacity=\".18\"", series_colour(series.style)));
        }
        let line: Vec<(f64, f64)> = placed.iter().map(|(at, _)| *at).collect();
        svg.polyline(&line, &stroke(series.style));
        // Markers of crowded curves would hide the line: every n-th, and each doubtful one.
        let every = placed.len() / MARKERS_MAX + 1;
        let says_all = placed.len() <= HINTS_MAX;
        for (index, (at, point)) in placed.iter().enumerate() {
            let is_marked = point.measure.doubtful || index % every == 0;
            if !is_marked && !says_all {
                continue;
            }
            svg.open_mark(&point.measure.title(&self.place(series, point.x), self.unit));
            if is_marked {
                marker(svg, series.style, *at, point.measure.doubtful);
            } else {
                svg.circle(*at, 4.0, "class=\"hit\"");
            }
            svg.close();
        }
    }

    /// `triad AVX2, 64 KiB`
    fn place(&self, series: &LineSeries, x: f64) -> String {
        let at = match self.x {
            Axis::Bytes => machine::Bytes(x as u64).to_string(),
            Axis::Powers | Axis::Decades | Axis::Linear => format!("at {}", number::short(x)),
        };
        format!("{}, {at}", series.name)
    }
}

impl Chart for LineChart {
    fn is_empty(&self) -> bool {
        !self.points().any(|point| point.x.is_finite() && point.measure.value.is_finite() && point.x > 0.0)
    }

    fn draw(&self, name: &str) -> Svg {
        let legend = self.legend_places();
        let legend_height = legend.last().map_or(0.0, |(_, _, y)| y + LEGEND_ROW);
        let panel_step = PANEL_HEIGHT + PANEL_GAP;
        let height = legend_height + panel_step * self.panels.len() as f64 + 16.0;
        let mut svg = Svg::new(name, WIDTH, height);
        for (series, x, y) in &legend {
            sample(&mut svg, series.style, (*x, y + 10.0));
            svg.text((x + 36.0, y + 14.0), "ink", Anchor::Start, &series.name);
        }
        let x = Scale::holding(self.x, self.points().map(|point| point.x), LEFT, RIGHT);
        for (index, panel) in self.panels.iter().enumerate() {
            let top = legend_height + panel_step * index as f64 + 26.0;
            let values = self.points().map(|point| point.measure.value);
            let y = Scale::holding(self.y, values, top + PANEL_HEIGHT, top);
            self.frame(&mut svg, panel, x, y, top);
            for series in &panel.series {
                self.curve(&mut svg, series, x, y);
            }
        }
        svg.text((f64::midpoint(LEFT, RIGHT), height - 4.0), "dim", Anchor::Middle, self.x_label);
        svg
    }
}

fn stroke(style: usize) -> String {
    let colour = series_colour(style);
    let dash = DASHES[(style / 2) % DASHES.len()];
    let dash = if dash.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{dash}\"") };
    format!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" stroke-linejoin=\"round\"{dash}")
}

fn sample(svg: &mut Svg, style: usize, at: (f64, f64)) {
    svg.polyline(&[at, (at.0 + 28.0, at.1)], &stroke(style));
    marker(svg, style, (at.0 + 14.0, at.1), false);
}

/// Circle, square, triangle or diamond; hollow if the point is doubtful.
fn marker(svg: &mut Svg, style: usize, (x, y): (f64, f64), doubtful: bool) {
    let colour = series_colour(style);
    let paint = if doubtful {
        format!("class=\"hollow\" stroke=\"{colour}\" stroke-width=\"1.5\"")
    } else {
        format!("fill=\"{colour}\"")
    };
    let r = 3.2;
    match style % 4 {
        0 => svg.circle((x, y), r, &paint),
        1 => svg.rectangle((x - r, y - r), (2.0 * r, 2.0 * r), &paint),
        2 => svg.polygon(&[(x, y - 4.0), (x + 4.0, y + 3.0), (x - 4.0, y + 3.0)], &paint),
        _ => svg.polygon(&[(x, y - 4.2), (x + 4.2, y), (x, y + 4.2), (x - 4.2, y)], &paint),
    }
}

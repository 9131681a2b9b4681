//! Heat maps: cells by row and column, numbers inside where they fit, hatching for doubt, a scale below.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::canvas::coordinate;
use super::{Anchor, Chart, Measure, Svg, Word, magnitude};
use crate::{naming, number};

const WIDTH: f64 = 900.0;
const GAP: f64 = 34.0;
/// Room for labels of rows and what they are labels of, at least.
const LABELS_LEFT_MIN: f64 = 64.0;
/// Longer labels lose their middle.
const LABEL_CHARACTERS_MAX: usize = 16;
/// Width of a character of small text, roughly.
const CHARACTER_WIDTH: f64 = 6.2;
/// Room beside the labels of rows, for what they are labels of.
const ROW_LABEL_WIDTH: f64 = 26.0;
/// Half of the last column's label may stick out.
const LABELS_RIGHT: f64 = 12.0;
const TITLE_HEIGHT: f64 = 24.0;
const LABELS_BELOW: f64 = 40.0;
const SCALE_HEIGHT: f64 = 46.0;
/// Cells are not larger than this, or two CPUs would fill the page.
const LARGEST_CELL: f64 = 76.0;
/// A number needs a cell of this width and height.
const NUMBER_WIDTH: f64 = 25.0;
const NUMBER_HEIGHT: f64 = 13.0;
/// Shades of heat maps: cells are drawn as one path per shade to keep the file small. No eye tells more apart.
const SHADES: usize = 24;

/// Charts of more cells say what they hold by the row.
const HINTS_MAX: usize = 700;

/// One cell.
#[derive(Default)]
pub(crate) struct MatrixCell {
    pub(crate) row: usize,
    pub(crate) column: usize,
    pub(crate) measure: Measure,
}

/// One matrix with the names of its rows and columns.
pub(crate) struct MatrixPanel {
    pub(crate) title: String,
    pub(crate) rows: Vec<String>,
    pub(crate) columns: Vec<String>,
    pub(crate) cells: Vec<MatrixCell>,
}

impl MatrixPanel {
    fn shown(&self) -> impl Iterator<Item = &MatrixCell> {
        self.cells.iter().filter(|cell| cell.measure.value.is_finite())
    }
}

/// Matrices with one colour scale.
pub(crate) struct MatrixChart {
    pub(crate) row_label: &'static str,
    pub(crate) column_label: &'static str,
    pub(crate) unit: &'static str,
    /// What the darkest colour stands for, where a value has a meaning, such as a slowdown of 1.
    pub(crate) least: Option<f64>,
    /// From here on all colours are the brightest, so that a few large values do not hide what all others differ by.
    pub(crate) most: Option<f64>,
    pub(crate) panels_per_row: usize,
    /// Cells are as high as wide.
    pub(crate) square: bool,
    /// What hatching and grey mean, beside the scale.
    pub(crate) note: &'static str,
    pub(crate) panels: Vec<MatrixPanel>,
}

impl Default for MatrixChart {
    /// An empty one of square cells, two panels in a row.
    fn default() -> Self {
        Self {
            row_label: "",
            column_label: "",
            unit: "",
            least: None,
            most: None,
            panels_per_row: 2,
            square: true,
            note: "grey: not measured; hatched, *: unstable or wide interval",
            panels: Vec::new(),
        }
    }
}

/// A panel and where it stands: its corner, the size of a cell, the ends of the scale.
#[derive(Clone, Copy)]
struct Spot<'p> {
    panel: &'p MatrixPanel,
    at: (f64, f64),
    cell: (f64, f64),
    ends: (f64, f64),
}

impl Spot<'_> {
    /// The middle of a cell.
    fn middle(&self, one: &MatrixCell) -> (f64, f64) {
        let middle = |from: f64, index: usize, size: f64| from + (index as f64 + 0.5) * size;
        (middle(self.at.0, one.column, self.cell.0), middle(self.at.1, one.row, self.cell.1))
    }

    /// A group whose unit of length is a cell.
    fn by_cell(&self) -> String {
        let [x, y, width, height] =
            [self.at.0, self.at.1, self.cell.0, self.cell.1].map(|v| format!("{v:.3}"));
        format!("transform=\"translate({x} {y}) scale({width} {height})\"")
    }
}

struct Layout {
    cell: (f64, f64),
    panel: (f64, f64),
    columns: usize,
}

impl MatrixChart {
    fn values(&self) -> impl Iterator<Item = f64> {
        self.panels.iter().flat_map(MatrixPanel::shown).map(|cell| cell.measure.value)
    }

    /// Room for the labels of rows.
    fn labels_left(&self) -> f64 {
        let labels = self.panels.iter().flat_map(|panel| &panel.rows);
        let longest = labels.map(|label| label.chars().count().min(LABEL_CHARACTERS_MAX)).max().unwrap_or(0);
        LABELS_LEFT_MIN.max(CHARACTER_WIDTH * longest as f64 + ROW_LABEL_WIDTH)
    }

    fn layout(&self) -> Layout {
        let columns = self.panels_per_row.clamp(1, self.panels.len().max(1));
        let widest = self.panels.iter().map(|panel| panel.columns.len()).max().unwrap_or(1).max(1);
        let tallest = self.panels.iter().map(|panel| panel.rows.len()).max().unwrap_or(1).max(1);
        let room = (WIDTH - GAP * (columns - 1) as f64) / columns as f64 - self.labels_left() - LABELS_RIGHT;
        let cell_width = (room / widest as f64).min(LARGEST_CELL);
        let cell_height = if self.square { cell_width.min(48.0) } else { cell_width.min(24.0) };
        let height = TITLE_HEIGHT + cell_height * tallest as f64 + LABELS_BELOW;
        Layout {
            cell: (cell_width, cell_height),
            panel: (room + self.labels_left() + LABELS_RIGHT + GAP, height),
            columns,
        }
    }

    fn labels(&self, svg: &mut Svg, panel: &MatrixPanel, (x, y): (f64, f64), (width, height): (f64, f64)) {
        let every = |room: f64, cell: f64| ((room / cell.max(0.1)).ceil() as usize).max(1);
        let bottom = y + height * panel.rows.len() as f64;
        for (index, row) in panel.rows.iter().enumerate().step_by(every(12.0, height)) {
            let row = shortened(row, LABEL_CHARACTERS_MAX);
            svg.text((x - 7.0, y + (index as f64 + 0.5) * height + 4.0), "small", Anchor::End, &row);
        }
        let longest = panel.columns.iter().map(|label| label.chars().count()).max().unwrap_or(1);
        let step = every(CHARACTER_WIDTH * longest as f64 + 6.0, width);
        for (index, column) in panel.columns.iter().enumerate().step_by(step) {
            svg.text((x + (index as f64 + 0.5) * width, bottom + 15.0), "small", Anchor::Middle, column);
        }
        svg.rectangle((x, y), (width * panel.columns.len() as f64, bottom - y), "class=\"empty\"");
        let middle = x + width * panel.columns.len() as f64 / 2.0;
        svg.text((middle, bottom + 31.0), "dim small", Anchor::Middle, self.column_label);
        svg.upright_text((x - self.labels_left() + 10.0, f64::midpoint(y, bottom)), self.row_label);
    }

    /// The numbers in large cells; those of one ink are one text.
    fn numbers(svg: &mut Svg, spot: Spot<'_>) {
        let size = if spot.cell.0 < 40.0 { "tiny" } else { "small" };
        svg.open(&format!("class=\"{size}\" text-anchor=\"middle\""));
        let mut by_ink: BTreeMap<&str, Vec<Word>> = BTreeMap::new();
        for one in spot.panel.shown() {
            let ink = magnitude(shaded(shade(one.measure.value, spot.ends))).1;
            let (x, y) = spot.middle(one);
            let doubt = if one.measure.doubtful { "*" } else { "" };
            let text = format!("{}{doubt}", number::short(one.measure.value));
            by_ink.entry(ink).or_default().push(Word { at: (x, y + 3.5), text });
        }
        for (ink, words) in by_ink {
            svg.words(ink, Anchor::Inherit, &words);
        }
        svg.close();
    }

    /// One path per shade, neighbours of one shade in one stroke.
    fn colour(svg: &mut Svg, spot: Spot<'_>, hatch: &str) {
        let mut cells: BTreeSet<(usize, usize, usize)> = BTreeSet::new();
        let mut doubtful = String::new();
        for one in spot.panel.shown() {
            cells.insert((shade(one.measure.value, spot.ends), one.row, one.column));
            if one.measure.doubtful {
                let (at, cell) = (spot.at, spot.cell);
                let corner = (at.0 + one.column as f64 * cell.0, at.1 + one.row as f64 * cell.1);
                doubtful += &outline(corner, cell);
            }
        }
        let cells: Vec<(usize, usize, usize)> = cells.into_iter().collect();
        let mut paths: BTreeMap<usize, String> = BTreeMap::new();
        for run in cells.chunk_by(|(shade, row, column), next| *next == (*shade, *row, column + 1)) {
            let ((shade, row, column), length) = (run[0], run.len());
            let _ = write!(paths.entry(shade).or_default(), "M{column} {row}h{length}v1h-{length}z");
        }
        // Without blending at edges no seams show between neighbours.
        svg.open(&format!("{} shape-rendering=\"crispEdges\"", spot.by_cell()));
        for (shade, data) in paths {
            svg.path(&data, &format!("fill=\"{}\"", magnitude(shaded(shade)).0));
        }
        svg.close();
        if !doubtful.is_empty() {
            svg.path(&doubtful, &format!("fill=\"url(#{hatch})\" opacity=\".4\""));
        }
    }

    /// What each cell says to a pointer; of a large chart what each row says, as thousands of texts outweigh the page.
    fn hints(&self, svg: &mut Svg, spot: Spot<'_>) {
        let panel = spot.panel;
        let name = |names: &[String], index: usize| names.get(index).cloned().unwrap_or_default();
        svg.open(&format!("class=\"hit\" {}", spot.by_cell()));
        if self.values().count() <= HINTS_MAX {
            for one in panel.shown() {
                let (row, column) = (name(&panel.rows, one.row), name(&panel.columns, one.column));
                let title = one.measure.title(&format!("{row} × {column}"), self.unit);
                svg.hint(&format!("M{} {}h1v1h-1z", one.column, one.row), &title);
            }
        } else {
            let by_row = naming::grouped(panel.shown().map(|one| (one.row, one)));
            for (row, cells) in by_row {
                let title = self.row_hint(&name(&panel.rows, row), &cells, &panel.columns);
                svg.hint(&format!("M0 {row}h{0}v1h-{0}z", panel.columns.len()), &title);
            }
        }
        svg.close();
    }

    /// `5: 64 cells, median 102 ns; least 98 ns (7), most 130 ns (61)`
    fn row_hint(&self, row: &str, cells: &[&MatrixCell], columns: &[String]) -> String {
        let values: Vec<f64> = cells.iter().map(|one| one.measure.value).collect();
        let by_value = |a: &&&MatrixCell, b: &&&MatrixCell| a.measure.value.total_cmp(&b.measure.value);
        let end = |one: Option<&&MatrixCell>| {
            one.map_or_else(String::new, |one| {
                let column = columns.get(one.column).map_or("", String::as_str);
                format!("{}{} ({column})", number::short(one.measure.value), self.unit)
            })
        };
        let (least, most) = (end(cells.iter().min_by(by_value)), end(cells.iter().max_by(by_value)));
        let median = stats::median(&values).map_or_else(String::new, number::short);
        let cells = number::count(cells.len(), "cell");
        format!("{row}: {cells}, median {median}{}; least {least}, most {most}", self.unit)
    }

    fn scale(&self, svg: &mut Svg, y: f64, (low, high): (f64, f64)) {
        const STEPS: usize = 48;
        let (left, width) = (self.labels_left(), 260.0);
        for step in 0..STEPS {
            let share = step as f64 / (STEPS - 1) as f64;
            let paint = format!("fill=\"{}\"", magnitude(share).0);
            let x = left + width * step as f64 / STEPS as f64;
            svg.rectangle((x, y), (width / STEPS as f64 + 0.5, 10.0), &paint);
        }
        let label = |value: f64| format!("{}{}", number::short(value), self.unit);
        svg.text((left, y + 25.0), "small", Anchor::Start, &label(low));
        svg.text((left + width, y + 25.0), "small", Anchor::End, &label(high));
        svg.text((left + width + 28.0, y + 10.0), "dim small", Anchor::Start, self.note);
    }
}

impl Chart for MatrixChart {
    fn is_empty(&self) -> bool {
        self.values().next().is_none()
    }

    fn draw(&self, name: &str) -> Svg {
        let layout = self.layout();
        let rows = self.panels.len().div_ceil(layout.columns);
        let height = layout.panel.1 * rows as f64 + SCALE_HEIGHT;
        let mut svg = Svg::new(name, WIDTH, height);
        let values = self.values().chain(self.least);
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        let ends = (low, self.most.map_or(high, |most| most.min(high)));
        let hatch = svg.hatch();
        for (index, panel) in self.panels.iter().enumerate() {
            let x = (index % layout.columns) as f64 * layout.panel.0 + self.labels_left();
            let y = (index / layout.columns) as f64 * layout.panel.1 + TITLE_HEIGHT;
            svg.text((x, y - 9.0), "strong", Anchor::Start, &panel.title);
            self.labels(&mut svg, panel, (x, y), layout.cell);
            let spot = Spot { panel, at: (x, y), cell: layout.cell, ends };
            Self::colour(&mut svg, spot, &hatch);
            if layout.cell.0 >= NUMBER_WIDTH && layout.cell.1 >= NUMBER_HEIGHT {
                Self::numbers(&mut svg, spot);
            }
            self.hints(&mut svg, spot);
        }
        self.scale(&mut svg, height - SCALE_HEIGHT + 8.0, ends);
        svg
    }
}

/// A label that fits, its beginning and its end if it has to lose something: names of threads differ at both.
fn shortened(label: &str, characters_max: usize) -> String {
    let count = label.chars().count();
    if count <= characters_max {
        return label.to_owned();
    }
    let begin: String = label.chars().take(characters_max / 2).collect();
    let end: String = label.chars().skip(count - (characters_max - 1 - characters_max / 2)).collect();
    format!("{begin}\u{2026}{end}")
}

/// The shade of a value between the least and the greatest.
fn shade(value: f64, (low, high): (f64, f64)) -> usize {
    let share = (value - low) / (high - low);
    let share = if share.is_finite() { share } else { 0.0 };
    ((share * (SHADES - 1) as f64).round() as usize).min(SHADES - 1)
}

/// Where a shade lies between the darkest and the brightest, 0 to 1.
fn shaded(shade: usize) -> f64 {
    shade as f64 / (SHADES - 1) as f64
}

/// The outline of a cell as path data: shorter than a rectangle, and many join in one path.
fn outline((x, y): (f64, f64), (width, height): (f64, f64)) -> String {
    let [x, y, width, height] = [x, y, width, height].map(coordinate);
    format!("M{x} {y}h{width}v{height}h-{width}z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_in_a_row_are_one_outline() {
        let cell = |(row, column)| MatrixCell { row, column, ..MatrixCell::default() };
        let cells = [(0, 0), (0, 1), (0, 3), (1, 4)].map(cell).into();
        let names = |count: usize| (0..count).map(|index| index.to_string()).collect();
        let panel = MatrixPanel { title: String::new(), rows: names(2), columns: names(5), cells };
        let svg = MatrixChart { panels: vec![panel], ..MatrixChart::default() }.draw("x");
        let svg = svg.finish("", "", true);
        assert!(svg.contains("d=\"M0 0h2v1h-2zM3 0h1v1h-1zM4 1h1v1h-1z\""), "{svg}");
    }

    #[test]
    fn a_long_label_keeps_its_beginning_and_its_end() {
        assert_eq!(shortened("12 worker#3", 16), "12 worker#3");
        assert_eq!(shortened("12 a-very-long-name#3", 16), "12 a-ver\u{2026}-name#3");
        assert_eq!(shortened("\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}", 4), "\u{e9}\u{e9}\u{2026}\u{e9}");
    }
}

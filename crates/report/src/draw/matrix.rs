//! Heat maps: cells by row and column, numbers inside where they fit, hatching for doubt, a scale below.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::canvas::coordinate;
use super::{Anchor, Svg, Word, magnitude};
use crate::number;

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

/// One cell.
pub(crate) struct MatrixCell {
    pub(crate) row: usize,
    pub(crate) column: usize,
    pub(crate) value: f64,
    pub(crate) doubtful: bool,
}

/// One matrix with the names of its rows and columns.
pub(crate) struct MatrixPanel {
    pub(crate) title: String,
    pub(crate) rows: Vec<String>,
    pub(crate) columns: Vec<String>,
    pub(crate) cells: Vec<MatrixCell>,
}

/// Matrices with one colour scale.
pub(crate) struct MatrixChart {
    pub(crate) row_label: &'static str,
    pub(crate) column_label: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) logarithmic: bool,
    /// The value of the darkest shade, where one has a meaning, such as a slowdown of 1.
    pub(crate) least: Option<f64>,
    pub(crate) panels_per_row: usize,
    /// Cells are as high as wide.
    pub(crate) square: bool,
    pub(crate) panels: Vec<MatrixPanel>,
}

struct Layout {
    cell: (f64, f64),
    panel: (f64, f64),
    columns: usize,
}

impl MatrixChart {
    fn values(&self) -> impl Iterator<Item = f64> {
        let usable = if self.logarithmic { number::positive } else { number::finite };
        self.panels.iter().flat_map(|panel| &panel.cells).filter_map(move |cell| usable(cell.value))
    }

    /// True if there is nothing that could be drawn.
    pub(crate) fn is_empty(&self) -> bool {
        self.values().next().is_none()
    }

    /// Where a value lies between the least and the greatest, 0 to 1.
    fn share(&self, value: f64, (low, high): (f64, f64)) -> f64 {
        let of = |v: f64| if self.logarithmic { v.ln() } else { v };
        let share = (of(value) - of(low)) / (of(high) - of(low));
        if share.is_finite() { share } else { 0.0 }
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

    pub(crate) fn draw(&self, name: &str) -> Svg {
        let layout = self.layout();
        let rows = self.panels.len().div_ceil(layout.columns);
        let height = layout.panel.1 * rows as f64 + SCALE_HEIGHT;
        let mut svg = Svg::new(name, WIDTH, height);
        let hatch = svg.hatch("hatch");
        let values = self.values().chain(self.least);
        let ends = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        for (index, panel) in self.panels.iter().enumerate() {
            let x = (index % layout.columns) as f64 * layout.panel.0 + self.labels_left();
            let y = (index / layout.columns) as f64 * layout.panel.1 + TITLE_HEIGHT;
            svg.text((x, y - 9.0), "strong", Anchor::Start, &panel.title);
            self.labels(&mut svg, panel, (x, y), layout.cell);
            if layout.cell.0 < NUMBER_WIDTH || layout.cell.1 < NUMBER_HEIGHT {
                self.crowded(&mut svg, panel, (x, y), layout.cell, ends, &hatch);
            } else {
                self.cells(&mut svg, panel, (x, y), layout.cell, ends, &hatch);
            }
        }
        self.scale(&mut svg, height - SCALE_HEIGHT + 8.0, ends);
        svg
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

    /// Large cells: as small ones, with their numbers inside; numbers of one ink are one text.
    fn cells(
        &self,
        svg: &mut Svg,
        panel: &MatrixPanel,
        at: (f64, f64),
        cell: (f64, f64),
        ends: (f64, f64),
        hatch: &str,
    ) {
        self.crowded(svg, panel, at, cell, ends, hatch);
        let size = if cell.0 < 40.0 { "tiny" } else { "small" };
        svg.open(&format!("class=\"{size}\" text-anchor=\"middle\""));
        let mut by_ink: BTreeMap<&str, Vec<Word>> = BTreeMap::new();
        for one in panel.cells.iter().filter(|one| self.is_shown(one)) {
            let (_, ink) = magnitude(shaded(self.shade(one.value, ends)));
            let mark = if one.doubtful { "*" } else { "" };
            let middle = |from: f64, index: usize, size: f64| from + (index as f64 + 0.5) * size;
            let at = (middle(at.0, one.column, cell.0), middle(at.1, one.row, cell.1) + 3.5);
            let text = format!("{}{mark}", number::short(one.value));
            by_ink.entry(ink).or_default().push(Word { at, text });
        }
        for (ink, words) in by_ink {
            svg.words(ink, Anchor::Inherit, &words);
        }
        svg.close();
    }

    fn is_shown(&self, cell: &MatrixCell) -> bool {
        if self.logarithmic { number::positive(cell.value).is_some() } else { cell.value.is_finite() }
    }

    fn shade(&self, value: f64, ends: (f64, f64)) -> usize {
        let shade = (self.share(value, ends) * (SHADES - 1) as f64).round() as usize;
        shade.min(SHADES - 1)
    }

    /// One path per shade, neighbours of one shade in one stroke.
    fn crowded(
        &self,
        svg: &mut Svg,
        panel: &MatrixPanel,
        at: (f64, f64),
        cell: (f64, f64),
        ends: (f64, f64),
        hatch: &str,
    ) {
        let mut cells: Vec<(usize, usize, usize)> = Vec::new();
        let mut doubtful = String::new();
        for one in panel.cells.iter().filter(|one| self.is_shown(one)) {
            cells.push((one.row, one.column, self.shade(one.value, ends)));
            if one.doubtful {
                let corner = (at.0 + one.column as f64 * cell.0, at.1 + one.row as f64 * cell.1);
                doubtful += &outline(corner, cell);
            }
        }
        cells.sort_unstable();
        let mut paths = vec![String::new(); SHADES];
        let mut rest = cells.as_slice();
        while let Some(&(row, column, shade)) = rest.first() {
            let run =
                rest.iter().zip(column..).take_while(|(cell, at)| **cell == (row, *at, shade)).count().max(1);
            let _ = write!(paths[shade], "M{column} {row}h{run}v1h-{run}z");
            rest = &rest[run..];
        }
        let [x, y, width, height] = [at.0, at.1, cell.0, cell.1].map(|v| format!("{v:.3}"));
        // Without blending at edges no seams show between neighbours.
        svg.open(&format!(
            "transform=\"translate({x} {y}) scale({width} {height})\" shape-rendering=\"crispEdges\""
        ));
        for (shade, data) in paths.iter().enumerate().filter(|(_, data)| !data.is_empty()) {
            let (colour, _) = magnitude(shaded(shade));
            svg.path(data, &format!("fill=\"{colour}\""));
        }
        svg.close();
        if !doubtful.is_empty() {
            svg.path(&doubtful, &format!("fill=\"url(#{hatch})\" opacity=\".4\""));
        }
    }

    fn scale(&self, svg: &mut Svg, y: f64, (low, high): (f64, f64)) {
        const STEPS: usize = 48;
        let (left, width) = (self.labels_left(), 260.0);
        for step in 0..STEPS {
            let share = step as f64 / (STEPS - 1) as f64;
            let x = left + width * step as f64 / STEPS as f64;
            let size = (width / STEPS as f64 + 0.5, 10.0);
            svg.rectangle((x, y), size, &format!("fill=\"{}\"", magnitude(share).0));
        }
        let label = |value: f64| format!("{}{}", number::short(value), self.unit);
        svg.text((left, y + 25.0), "small", Anchor::Start, &label(low));
        svg.text((left + width, y + 25.0), "small", Anchor::End, &label(high));
        if self.logarithmic {
            svg.text((left + width / 2.0, y + 25.0), "dim small", Anchor::Middle, "logarithmic");
        }
        let note = "grey: not measured; hatched, *: unstable or wide interval";
        svg.text((left + width + 28.0, y + 10.0), "dim small", Anchor::Start, note);
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

/// Where a shade lies between the darkest and the brightest, 0 to 1.
fn shaded(shade: usize) -> f64 {
    shade as f64 / (SHADES - 1) as f64
}

/// The outline of a cell as path data: shorter than a rectangle, and many join in one path.
pub(crate) fn outline((x, y): (f64, f64), (width, height): (f64, f64)) -> String {
    let [x, y, width, height] = [x, y, width, height].map(coordinate);
    format!("M{x} {y}h{width}v{height}h-{width}z")
}

#[cfg(test)]
mod tests {
    use super::shortened;

    #[test]
    fn a_long_label_keeps_its_beginning_and_its_end() {
        assert_eq!(shortened("12 worker#3", 16), "12 worker#3");
        assert_eq!(shortened("12 a-very-long-name#3", 16), "12 a-ver\u{2026}-name#3");
        assert_eq!(shortened("\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}", 4), "\u{e9}\u{e9}\u{2026}\u{e9}");
    }
}

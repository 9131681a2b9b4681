//! The difference of two latency surfaces, cell by cell: colours about no change, hatching where noise would do.

use std::collections::{BTreeMap, BTreeSet};

use machine::Bytes;
use record::{LatencyCell, Record};
use serde_json::{Value, json};

use super::wording;
use crate::draw::{Anchor, Svg, outline};
use crate::figure::{DataTable, Drawn};
use crate::naming;

const WIDTH: f64 = 900.0;
const LEFT: f64 = 76.0;
const RIGHT: f64 = 888.0;
const TITLE_HEIGHT: f64 = 26.0;
const LABELS_BELOW: f64 = 44.0;
const SCALE_HEIGHT: f64 = 46.0;
const LARGEST_CELL: (f64, f64) = (64.0, 22.0);
/// A number needs a cell of this width.
const NUMBER_WIDTH: f64 = 24.0;
/// Colours saturate at this change at least, and at most at that, in percent.
const REACH_PERCENT: (f64, f64) = (5.0, 100.0);
/// The colours saturate where this share of the cells lies within.
const REACH_QUANTILE: f64 = 0.98;

/// Ends of the colour map, dark enough for white to stand out: blue is faster, orange slower. Okabe and Ito (2008). Its
/// middle is a class, as it is near white on a light ground and grey on a dark one; changes are laid over it.
const FASTER: &str = "#0072b2";
const SLOWER: &str = "#d55e00";
/// Steps of the colours on either side.
const STEPS: f64 = 25.0;
/// From this share of the way on white stands out on both grounds.
const WHITE_FROM: f64 = 0.62;

/// One cell that both records hold.
struct Change {
    block: Bytes,
    stride: Bytes,
    percent: f64,
    /// Both intervals overlap: noise alone would do.
    doubtful: bool,
    told: String,
}

/// The changes of one page size.
struct Panel {
    page: Bytes,
    changes: Vec<Change>,
}

/// The figure; `None` if the records have no cell in common.
pub(crate) fn draw(name: &str, baseline: &Record, candidate: &Record, margin_percent: f64) -> Option<Drawn> {
    let pages: BTreeSet<Bytes> = baseline.memory.latency.iter().map(|cell| cell.page_bytes).collect();
    let panels: Vec<Panel> = pages
        .into_iter()
        .map(|page| Panel { page, changes: changes(baseline, candidate, page) })
        .filter(|panel| !panel.changes.is_empty())
        .collect();
    let sizes: Vec<f64> =
        panels.iter().flat_map(|panel| &panel.changes).map(|one| one.percent.abs()).collect();
    let reach = stats::quantile(&sizes, REACH_QUANTILE)?.clamp(REACH_PERCENT.0, REACH_PERCENT.1);
    let mut y = 0.0;
    let heights: Vec<f64> = panels.iter().map(height).collect();
    let mut svg = Svg::new(name, WIDTH, heights.iter().sum::<f64>() + SCALE_HEIGHT);
    let hatch = svg.hatch("hatch overneutral");
    for (panel, height) in panels.iter().zip(&heights) {
        draw_panel(&mut svg, panel, y, (margin_percent, reach), &hatch);
        y += height;
    }
    scale(&mut svg, y + 6.0, (margin_percent, reach));
    Some(Drawn {
        svg,
        reading: format!(
            "Change of latency in percent, cell by cell: orange is slower, blue faster, without colour within the margin of \
             {margin_percent} %. Hatched cells have intervals that overlap: there the colour may be noise.",
        ),
        table: DataTable::default(),
        interactive: Some(interactive(&panels, reach)),
        needs_webgl: false,
    })
}

fn changes(baseline: &Record, candidate: &Record, page: Bytes) -> Vec<Change> {
    let place = |cell: &LatencyCell| (cell.page_bytes, cell.block_bytes, cell.stride_bytes);
    let find = |cell: &LatencyCell| candidate.memory.latency.iter().find(|other| place(other) == place(cell));
    let of_page = baseline.memory.latency.iter().filter(|cell| cell.page_bytes == page);
    of_page
        .filter_map(|cell| {
            let other = find(cell)?;
            let percent = (other.ns / cell.ns - 1.0) * 100.0;
            percent.is_finite().then(|| Change {
                block: cell.block_bytes,
                stride: cell.stride_bytes,
                percent,
                doubtful: cell.spread.interval.overlaps(&other.spread.interval),
                told: format!(
                    "block {}, stride {}: {} to {} ns, {} %",
                    cell.block_bytes,
                    cell.stride_bytes,
                    crate::number::short(cell.ns),
                    crate::number::short(other.ns),
                    wording::signed(percent)
                ),
            })
        })
        .collect()
}

fn axes(panel: &Panel) -> (Vec<Bytes>, Vec<Bytes>) {
    let of = |key: fn(&Change) -> Bytes| {
        panel.changes.iter().map(key).collect::<BTreeSet<Bytes>>().into_iter().collect::<Vec<Bytes>>()
    };
    (of(|one| one.block), of(|one| one.stride))
}

fn cell_size(panel: &Panel) -> (f64, f64) {
    let (blocks, _) = axes(panel);
    (((RIGHT - LEFT) / blocks.len() as f64).min(LARGEST_CELL.0), LARGEST_CELL.1)
}

fn height(panel: &Panel) -> f64 {
    let (_, strides) = axes(panel);
    TITLE_HEIGHT + strides.len() as f64 * cell_size(panel).1 + LABELS_BELOW
}

/// A colour over the neutral ground.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Tint {
    end: &'static str,
    /// How far it covers the ground, in steps.
    steps: u8,
}

impl Tint {
    /// Of a change; `(margin, reach)` in percent.
    fn of(percent: f64, (margin, reach): (f64, f64)) -> Self {
        let beyond = ((percent.abs() - margin) / (reach - margin).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
        Self { end: if percent > 0.0 { SLOWER } else { FASTER }, steps: (beyond * STEPS).round() as u8 }
    }

    fn share(self) -> f64 {
        f64::from(self.steps) / STEPS
    }

    /// The class of text that is readable on it.
    fn ink(self) -> &'static str {
        if self.share() > WHITE_FROM { "ondark" } else { "onneutral" }
    }

    /// Attributes of a shape; `None` where the ground shows.
    fn paint(self) -> Option<String> {
        let opacity = format!("{:.2}", self.share());
        let opacity = opacity.trim_start_matches('0');
        (self.steps > 0).then(|| format!("fill=\"{}\" fill-opacity=\"{opacity}\"", self.end))
    }
}

fn draw_panel(svg: &mut Svg, panel: &Panel, top: f64, ends: (f64, f64), hatch: &str) {
    let (blocks, strides) = axes(panel);
    let (width, height) = cell_size(panel);
    let (y, bottom) = (top + TITLE_HEIGHT, top + TITLE_HEIGHT + strides.len() as f64 * height);
    svg.text((LEFT, y - 9.0), "strong", Anchor::Start, &naming::pages(panel.page));
    svg.rectangle((LEFT, y), (width * blocks.len() as f64, bottom - y), "class=\"empty\"");
    for (row, stride) in strides.iter().enumerate() {
        let middle = y + (row as f64 + 0.5) * height + 4.0;
        svg.text((LEFT - 7.0, middle), "small", Anchor::End, &stride.to_string());
    }
    // Labels such as "768 KiB" need about this much room.
    let every = (50.0 / width).ceil() as usize;
    for (column, block) in blocks.iter().enumerate().step_by(every.max(1)) {
        let middle = LEFT + (column as f64 + 0.5) * width;
        svg.text((middle, bottom + 15.0), "small", Anchor::Middle, &block.to_string());
    }
    let middle = LEFT + width * blocks.len() as f64 / 2.0;
    svg.text((middle, bottom + 32.0), "dim small", Anchor::Middle, "block size");
    svg.upright_text((12.0, f64::midpoint(y, bottom)), "stride");
    cells(svg, panel, (LEFT, y), ends, hatch);
}

/// The cells, one path per colour and one for all hatches; their numbers where they fit.
fn cells(svg: &mut Svg, panel: &Panel, at: (f64, f64), ends: (f64, f64), hatch: &str) {
    let (blocks, strides) = axes(panel);
    let (width, height) = cell_size(panel);
    let mut fills = BTreeMap::<Tint, BTreeSet<Place>>::new();
    let (mut ground, mut doubtful) = (BTreeSet::new(), BTreeSet::new());
    let mut numbers: Vec<((f64, f64), &'static str, String)> = Vec::new();
    for one in &panel.changes {
        let places = (strides.binary_search(&one.stride), blocks.binary_search(&one.block));
        let (Ok(row), Ok(column)) = places else { continue };
        let corner = (at.0 + column as f64 * width, at.1 + row as f64 * height);
        let tint = Tint::of(one.percent, ends);
        ground.insert((row, column));
        if tint.steps > 0 {
            fills.entry(tint).or_default().insert((row, column));
        }
        if one.doubtful {
            doubtful.insert((row, column));
        }
        let told = if one.percent.abs() < 0.5 { "0".to_owned() } else { format!("{:+.0}", one.percent) };
        numbers.push(((corner.0 + width / 2.0, corner.1 + height / 2.0 + 3.0), tint.ink(), told));
    }
    // Without anti-aliasing there are no seams between neighbours.
    svg.open("shape-rendering=\"crispEdges\"");
    let outlines = |places: &BTreeSet<Place>| outlines(places, at, (width, height));
    svg.path(&outlines(&ground), "class=\"neutral\"");
    for (tint, places) in &fills {
        svg.path(&outlines(places), &tint.paint().unwrap_or_default());
    }
    svg.close();
    if !doubtful.is_empty() {
        svg.path(&outlines(&doubtful), &format!("fill=\"url(#{hatch})\" opacity=\".28\""));
    }
    // One group for each kind of ink keeps the page small.
    for kind in ["onneutral", "ondark"].into_iter().filter(|_| width >= NUMBER_WIDTH) {
        svg.open(&format!("class=\"tiny {kind}\" text-anchor=\"middle\""));
        for (place, _, told) in numbers.iter().filter(|(_, ink, _)| *ink == kind) {
            svg.text(*place, "", Anchor::Inherit, told);
        }
        svg.close();
    }
}

/// Row and column of a cell.
type Place = (usize, usize);

/// The outlines of cells, neighbours in a row as one.
fn outlines(places: &BTreeSet<Place>, at: (f64, f64), (width, height): (f64, f64)) -> String {
    let places: Vec<Place> = places.iter().copied().collect();
    let runs = places.chunk_by(|(row, column), next| *next == (*row, column + 1));
    let run = |run: &[Place]| {
        let (row, column) = run[0];
        let corner = (at.0 + column as f64 * width, at.1 + row as f64 * height);
        outline(corner, (width * run.len() as f64, height))
    };
    runs.map(run).collect()
}

fn scale(svg: &mut Svg, y: f64, ends: (f64, f64)) {
    const PARTS: usize = 56;
    let width = 280.0;
    let part_width = width / PARTS as f64;
    svg.open("shape-rendering=\"crispEdges\"");
    svg.rectangle((LEFT, y), (width, 10.0), "class=\"neutral\"");
    for part in 0..PARTS {
        let percent = ends.1 * (2.0 * part as f64 / (PARTS - 1) as f64 - 1.0);
        if let Some(paint) = Tint::of(percent, ends).paint() {
            svg.rectangle((LEFT + part_width * part as f64, y), (part_width, 10.0), &paint);
        }
    }
    svg.close();
    let label = |percent: f64| format!("{percent:+.0} %");
    svg.text((LEFT, y + 24.0), "small", Anchor::Start, &label(-ends.1));
    svg.text((LEFT + width / 2.0, y + 24.0), "small", Anchor::Middle, "0");
    svg.text((LEFT + width, y + 24.0), "small", Anchor::End, &label(ends.1));
    let note = "hatched: the intervals overlap; empty: not in both";
    svg.text((LEFT + width + 28.0, y + 10.0), "dim small", Anchor::Start, note);
}

fn interactive(panels: &[Panel], reach: f64) -> Value {
    let mut layout = json!({
        "grid": { "rows": panels.len(), "columns": 1, "pattern": "independent", "ygap": 0.4 },
        "height": 320 * panels.len() + 80,
        "coloraxis": {
            "cmin": -reach, "cmax": reach, "colorbar": { "title": { "text": "%" } },
            // The page puts the theme's colour in the middle.
            "colorscale": [[0, FASTER], [0.5, "neutral"], [1, SLOWER]],
        },
    });
    let mut traces = Vec::new();
    for (index, panel) in panels.iter().enumerate() {
        let (blocks, strides) = axes(panel);
        let mut z: Vec<Vec<Option<f64>>> = vec![vec![None; blocks.len()]; strides.len()];
        let mut text = vec![vec![String::new(); blocks.len()]; strides.len()];
        for one in &panel.changes {
            if let (Ok(row), Ok(column)) =
                (strides.binary_search(&one.stride), blocks.binary_search(&one.block))
            {
                z[row][column] = Some(one.percent);
                text[row][column] =
                    format!("{}{}", one.told, if one.doubtful { ", intervals overlap" } else { "" });
            }
        }
        let suffix = if index == 0 { String::new() } else { (index + 1).to_string() };
        let names = |values: &[Bytes]| values.iter().map(ToString::to_string).collect::<Vec<_>>();
        traces.push(json!({
            "type": "heatmap", "x": names(&blocks), "y": names(&strides), "z": z, "text": text, "hoverinfo": "text",
            "xaxis": format!("x{suffix}"), "yaxis": format!("y{suffix}"), "coloraxis": "coloraxis", "hoverongaps": false,
        }));
        layout[format!("xaxis{suffix}")] = json!({
            "type": "category", "automargin": true,
            "title": { "text": format!("{}<br>block size", naming::pages(panel.page)) },
        });
        layout[format!("yaxis{suffix}")] = json!({ "type": "category", "automargin": true, "autorange": "reversed", "title": { "text": "stride" } });
    }
    json!({ "data": traces, "layout": layout })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_in_a_row_are_one_outline() {
        let places = BTreeSet::from([(0, 0), (0, 1), (0, 3), (1, 4)]);
        assert_eq!(
            outlines(&places, (10.0, 20.0), (5.0, 2.0)),
            "M10 20h10v2h-10zM25 20h5v2h-5zM30 22h5v2h-5z"
        );
    }

    #[test]
    fn no_change_shows_the_ground_and_more_than_the_scale_holds_its_end() {
        let tint = |percent: f64| Tint::of(percent, (1.0, 20.0));
        assert_eq!((tint(0.9).paint(), tint(-1.0).ink()), (None, "onneutral"));
        assert_eq!(tint(50.0).paint().as_deref(), Some("fill=\"#d55e00\" fill-opacity=\"1.00\""));
        assert_eq!(tint(-8.0).paint().as_deref(), Some("fill=\"#0072b2\" fill-opacity=\".36\""));
        assert_eq!((tint(-20.0).ink(), tint(8.0).ink()), ("ondark", "onneutral"));
    }
}

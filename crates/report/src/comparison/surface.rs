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

/// Ends of the colour map, dark enough for white to stand out: blue is faster, orange slower. Okabe and Ito (2008).
const FASTER: [f64; 3] = [0.0, 114.0, 178.0];
const SLOWER: [f64; 3] = [213.0, 94.0, 0.0];
const SAME: [f64; 3] = [250.0, 250.0, 250.0];

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
pub(super) fn draw(name: &str, baseline: &Record, candidate: &Record, margin_percent: f64) -> Option<Drawn> {
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
    let hatch = svg.hatch();
    for (panel, height) in panels.iter().zip(&heights) {
        draw_panel(&mut svg, panel, y, (margin_percent, reach), &hatch);
        y += height;
    }
    scale(&mut svg, y + 6.0, (margin_percent, reach));
    Some(Drawn {
        svg,
        reading: format!(
            "Change of latency in percent, cell by cell: orange is slower, blue faster, white within the margin of \
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

/// A colour, and the class of text that is readable on it. `(margin, reach)` in percent.
fn colour(percent: f64, (margin, reach): (f64, f64)) -> (String, &'static str) {
    let beyond = ((percent.abs() - margin) / (reach - margin).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
    let end = if percent > 0.0 { SLOWER } else { FASTER };
    let [r, g, b] = [0, 1, 2].map(|channel| SAME[channel] + (end[channel] - SAME[channel]) * beyond);
    let class = if beyond > 0.62 { "ondark" } else { "onlight" };
    (format!("#{:02x}{:02x}{:02x}", r as u8, g as u8, b as u8), class)
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

/// The cells, one path per colour and one for all hatches, which keeps the page small; their numbers where they fit.
fn cells(svg: &mut Svg, panel: &Panel, at: (f64, f64), ends: (f64, f64), hatch: &str) {
    let (blocks, strides) = axes(panel);
    let (width, height) = cell_size(panel);
    let (mut fills, mut doubtful) = (BTreeMap::<String, String>::new(), String::new());
    let mut numbers: Vec<((f64, f64), &'static str, String)> = Vec::new();
    for one in &panel.changes {
        let places = (strides.binary_search(&one.stride), blocks.binary_search(&one.block));
        let (Ok(row), Ok(column)) = places else { continue };
        let corner = (at.0 + column as f64 * width, at.1 + row as f64 * height);
        let (fill, ink) = colour(one.percent, ends);
        // A hair of overlap hides the seams that anti-aliasing leaves between neighbours.
        fills.entry(fill).or_default().push_str(&outline(corner, (width + 0.3, height + 0.3)));
        if one.doubtful {
            doubtful += &outline(corner, (width, height));
        }
        let told = if one.percent.abs() < 0.5 { "0".to_owned() } else { format!("{:+.0}", one.percent) };
        numbers.push(((corner.0 + width / 2.0, corner.1 + height / 2.0 + 3.0), ink, told));
    }
    for (fill, data) in &fills {
        svg.path(data, &format!("fill=\"{fill}\""));
    }
    if !doubtful.is_empty() {
        svg.path(&doubtful, &format!("fill=\"url(#{hatch})\" opacity=\".28\""));
    }
    if width >= NUMBER_WIDTH {
        svg.open("class=\"tiny\" text-anchor=\"middle\"");
        for (place, ink, told) in &numbers {
            svg.text(*place, ink, Anchor::Inherit, told);
        }
        svg.close();
    }
}

fn scale(svg: &mut Svg, y: f64, ends: (f64, f64)) {
    const STEPS: usize = 60;
    let width = 280.0;
    for step in 0..STEPS {
        let percent = ends.1 * (2.0 * step as f64 / (STEPS - 1) as f64 - 1.0);
        let x = LEFT + width * step as f64 / STEPS as f64;
        let size = (width / STEPS as f64 + 0.5, 10.0);
        svg.rectangle((x, y), size, &format!("fill=\"{}\"", colour(percent, ends).0));
    }
    let label = |percent: f64| format!("{percent:+.0} %");
    svg.text((LEFT, y + 24.0), "small", Anchor::Start, &label(-ends.1));
    svg.text((LEFT + width / 2.0, y + 24.0), "small", Anchor::Middle, "0");
    svg.text((LEFT + width, y + 24.0), "small", Anchor::End, &label(ends.1));
    let note = "hatched: the intervals overlap; grey: not in both";
    svg.text((LEFT + width + 28.0, y + 10.0), "dim small", Anchor::Start, note);
}

fn interactive(panels: &[Panel], reach: f64) -> Value {
    let rgb = |[r, g, b]: [f64; 3]| format!("rgb({r},{g},{b})");
    let mut layout = json!({
        "grid": { "rows": panels.len(), "columns": 1, "pattern": "independent", "ygap": 0.4 },
        "height": 320 * panels.len() + 80,
        "coloraxis": {
            "cmin": -reach, "cmax": reach, "colorbar": { "title": { "text": "%" } },
            "colorscale": [[0, rgb(FASTER)], [0.5, rgb(SAME)], [1, rgb(SLOWER)]],
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

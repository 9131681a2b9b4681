//! The latency surface in perspective: quads drawn far to near, lit, coloured by the level that served them.

use std::collections::BTreeMap;

use machine::Bytes;
use stats::Order;

use super::{Anchor, Chart, Measure, Svg, level_colour, level_rank};
use crate::number;

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 654.0;
/// Angles of the view in radians, chosen so that the slope from cache to memory faces the reader.
const AZIMUTH: f64 = 2.35;
const ELEVATION: f64 = 0.48;
/// Distance of the eye and size of the picture, in units of the half-width of the floor and of the view box.
const EYE: f64 = 4.0;
const MAGNIFICATION: f64 = 232.0;
const CENTRE: (f64, f64) = (438.0, 262.0);
/// The floor lies a little below the lowest value, which is at -0.5.
const FLOOR: f64 = -0.55;
const LIGHT: [f64; 3] = [-0.5, -0.3, 0.75];

/// Marks of doubtful cells stand out on every level's colour.
const DOUBT_PAINT: &str = "fill=\"#fff\" stroke=\"#16202b\" stroke-width=\"1\"";

/// One measured cell.
pub(crate) struct SurfaceCell {
    pub(crate) block_bytes: u64,
    pub(crate) stride_bytes: u64,
    /// In nanoseconds.
    pub(crate) measure: Measure,
    pub(crate) level: String,
}

impl SurfaceCell {
    /// `64 KiB × 64 B, L2: 4.1 ns [4, 4.2], 24 windows`
    fn title(&self) -> String {
        let (block, stride) = (Bytes(self.block_bytes), Bytes(self.stride_bytes));
        self.measure.title(&format!("{block} × {stride}, {}", self.level), " ns")
    }
}

/// Latency over block size and stride.
pub(crate) struct SurfaceChart {
    pub(crate) cells: Vec<SurfaceCell>,
}

/// A point in the box: x and y from -1 to 1, z from -0.5 to 0.5.
type Point = [f64; 3];

struct Corner<'c> {
    cell: &'c SurfaceCell,
    point: Point,
}

struct Quad<'c> {
    /// Its corner of the smallest block and stride.
    cell: &'c SurfaceCell,
    depth: f64,
    fill: String,
    level: &'c str,
    screen: [(f64, f64); 4],
}

/// Screen coordinates and depth; greater is farther.
fn project([x, y, z]: Point) -> ((f64, f64), f64) {
    let across = x * AZIMUTH.cos() - y * AZIMUTH.sin();
    let away = x * AZIMUTH.sin() + y * AZIMUTH.cos();
    let up = z * ELEVATION.cos() + away * ELEVATION.sin();
    let depth = away * ELEVATION.cos() - z * ELEVATION.sin();
    let scale = MAGNIFICATION * EYE / (EYE + depth);
    ((CENTRE.0 + across * scale, CENTRE.1 - up * scale), depth)
}

fn screen(point: Point) -> (f64, f64) {
    project(point).0
}

/// Position of a value between two others on a logarithmic axis, -1 to 1.
fn along(value: u64, (low, high): (u64, u64)) -> f64 {
    let share = (value as f64 / low as f64).ln() / (high as f64 / low as f64).ln();
    if share.is_finite() { share * 2.0 - 1.0 } else { 0.0 }
}

impl SurfaceChart {
    fn usable(&self) -> impl Iterator<Item = &SurfaceCell> {
        self.cells.iter().filter(|c| {
            number::positive(c.measure.value).is_some() && c.block_bytes > 0 && c.stride_bytes > 0
        })
    }

    fn legend(&self, svg: &mut Svg) {
        let mut levels: Vec<&str> = self.usable().map(|cell| cell.level.as_str()).collect();
        levels.order_by_key(|level| (level_rank(level), (*level).to_owned()));
        levels.dedup();
        // The table of levels says what each level takes; this is another quantity.
        svg.text((24.0, 25.0), "dim", Anchor::Start, "medians of cells:");
        let mut x = 148.0;
        for level in levels {
            let values: Vec<f64> =
                self.usable().filter(|c| c.level == level).map(|c| c.measure.value).collect();
            let median = stats::median(&values).map(|ns| format!(" {} ns", number::short(ns)));
            let median = median.unwrap_or_default();
            let label = format!("{level}{median}");
            svg.rectangle((x, 14.0), (13.0, 13.0), &format!("fill=\"{}\" rx=\"2\"", level_colour(level)));
            svg.text((x + 19.0, 25.0), "ink", Anchor::Start, &label);
            x += 48.0 + 6.8 * label.chars().count() as f64;
        }
        if self.usable().any(|cell| cell.measure.doubtful) {
            svg.circle((x + 6.0, 20.5), 3.0, DOUBT_PAINT);
            svg.text((x + 16.0, 25.0), "dim", Anchor::Start, "unstable or wide interval");
        }
    }
}

impl Chart for SurfaceChart {
    fn is_empty(&self) -> bool {
        let bounds = |of: fn(&SurfaceCell) -> u64| {
            let values: std::collections::BTreeSet<u64> = self.usable().map(of).collect();
            values.len()
        };
        bounds(|c| c.block_bytes) < 2 || bounds(|c| c.stride_bytes) < 2
    }

    fn draw(&self, name: &str) -> Svg {
        let mut svg = Svg::new(name, WIDTH, HEIGHT);
        let of = |key: fn(&SurfaceCell) -> u64| {
            (self.usable().map(key).min().unwrap_or(1), self.usable().map(key).max().unwrap_or(1))
        };
        let (blocks, strides) = (of(|c| c.block_bytes), of(|c| c.stride_bytes));
        let (low, high) = self.usable().fold((f64::INFINITY, 0.0_f64), |(low, high), c| {
            (low.min(c.measure.value), high.max(c.measure.value))
        });
        let height = |ns: f64| {
            let share = (ns / low).ln() / (high / low).ln();
            if share.is_finite() { share - 0.5 } else { 0.0 }
        };
        walls(&mut svg, (low, high), &height);
        axis_labels(&mut svg, blocks, strides);
        let corners: BTreeMap<(u64, u64), Corner<'_>> = self
            .usable()
            .map(|cell| {
                let point = [
                    along(cell.block_bytes, blocks),
                    along(cell.stride_bytes, strides),
                    height(cell.measure.value),
                ];
                ((cell.block_bytes, cell.stride_bytes), Corner { cell, point })
            })
            .collect();
        let quads = quads(&corners);
        svg.open("stroke=\"#000\" stroke-opacity=\".35\" stroke-width=\".5\"");
        for quad in &quads {
            svg.open_mark(&quad.cell.title());
            svg.polygon(&quad.screen, &format!("fill=\"{}\"", quad.fill));
            svg.close();
        }
        svg.close();
        svg.open(DOUBT_PAINT);
        for corner in corners.values().filter(|corner| corner.cell.measure.doubtful) {
            svg.open_mark(&corner.cell.title());
            svg.circle(screen(corner.point), 2.4, "");
            svg.close();
        }
        svg.close();
        self.legend(&mut svg);
        level_labels(&mut svg, &quads);
        svg
    }
}

/// The faces between neighbouring cells, farthest first.
fn quads<'c>(corners: &BTreeMap<(u64, u64), Corner<'c>>) -> Vec<Quad<'c>> {
    let of = |key: fn(&(u64, u64)) -> u64| {
        let mut values: Vec<u64> = corners.keys().map(key).collect();
        values.sort_unstable();
        values.dedup();
        values
    };
    let (blocks, strides) = (of(|key| key.0), of(|key| key.1));
    let mut quads = Vec::new();
    for block in blocks.windows(2) {
        for stride in strides.windows(2) {
            let at = |b: usize, s: usize| corners.get(&(block[b], stride[s]));
            if let (Some(a), Some(b), Some(c), Some(d)) = (at(0, 0), at(1, 0), at(1, 1), at(0, 1)) {
                quads.push(quad([a, b, c, d]));
            }
        }
    }
    quads.order_by(|a, b| b.depth.total_cmp(&a.depth));
    quads
}

fn quad<'c>(corners: [&Corner<'c>; 4]) -> Quad<'c> {
    let slowest =
        corners.iter().map(|corner| corner.cell.level.as_str()).max_by_key(|level| level_rank(level));
    let level = slowest.unwrap_or_default();
    let [origin, along_block, _, along_stride] = corners.map(|corner| corner.point);
    let edge = |to: Point| [to[0] - origin[0], to[1] - origin[1], to[2] - origin[2]];
    let (u, v) = (edge(along_block), edge(along_stride));
    let normal = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
    let length = normal.iter().map(|part| part * part).sum::<f64>().sqrt().max(f64::MIN_POSITIVE);
    let light = normal.iter().zip(LIGHT).map(|(part, towards)| part * towards).sum::<f64>().abs() / length;
    Quad {
        cell: corners[0].cell,
        depth: corners.iter().map(|corner| project(corner.point).1).sum(),
        fill: lit(level_colour(level), (0.62 + 0.42 * light).min(1.1)),
        level,
        screen: corners.map(|corner| screen(corner.point)),
    }
}

/// A `#rrggbb` colour made brighter or darker.
fn lit(colour: &str, factor: f64) -> String {
    let channel = |at: usize| {
        let value =
            colour.get(at..at + 2).and_then(|digits| u8::from_str_radix(digits, 16).ok()).unwrap_or(128);
        (f64::from(value) * factor).clamp(0.0, 255.0) as u8
    };
    format!("#{:02x}{:02x}{:02x}", channel(1), channel(3), channel(5))
}

fn walls(svg: &mut Svg, (low, high): (f64, f64), height: &dyn Fn(f64) -> f64) {
    let floor = [[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]].map(|[x, y]| screen([x, y, FLOOR]));
    svg.polygon(&floor, "class=\"wall\"");
    for step in 1..4 {
        let at = f64::from(step) / 2.0 - 1.0;
        svg.line("wall", screen([at, -1.0, FLOOR]), screen([at, 1.0, FLOOR]));
        svg.line("wall", screen([-1.0, at, FLOOR]), screen([1.0, at, FLOOR]));
    }
    // The far sides, of this view: greatest depth.
    let far_x = if project([1.0, 0.0, 0.0]).1 > project([-1.0, 0.0, 0.0]).1 { 1.0 } else { -1.0 };
    let far_y = if project([0.0, 1.0, 0.0]).1 > project([0.0, -1.0, 0.0]).1 { 1.0 } else { -1.0 };
    for (x, y) in [(far_x, -1.0), (far_x, 1.0), (-far_x, far_y)] {
        svg.line("wall", screen([x, y, FLOOR]), screen([x, y, 0.5]));
    }
    let decades = (-3..6).flat_map(|power| [1.0, 2.0, 5.0].map(|part| part * 10f64.powi(power)));
    let corner = screen([-far_x, far_y, FLOOR]);
    let left = corner.0 < CENTRE.0;
    for ns in decades.filter(|ns| low <= *ns && *ns <= high) {
        let z = height(ns);
        svg.line("wall", screen([-far_x, far_y, z]), screen([far_x, far_y, z]));
        svg.line("wall", screen([far_x, far_y, z]), screen([far_x, -far_y, z]));
        let (x, y) = screen([-far_x, far_y, z]);
        let (x, anchor) = if left { (x - 8.0, Anchor::End) } else { (x + 8.0, Anchor::Start) };
        svg.text((x, y + 4.0), "small", anchor, &format!("{} ns", number::short(ns)));
    }
}

fn axis_labels(svg: &mut Svg, blocks: (u64, u64), strides: (u64, u64)) {
    let near_x = if project([1.0, 0.0, 0.0]).1 < project([-1.0, 0.0, 0.0]).1 { 1.0 } else { -1.0 };
    let near_y = if project([0.0, 1.0, 0.0]).1 < project([0.0, -1.0, 0.0]).1 { 1.0 } else { -1.0 };
    let powers = |(low, high): (u64, u64)| {
        let (first, last) = (low.max(1).next_power_of_two().ilog2(), high.max(1).ilog2());
        // Every second power of a long axis, and never more than eight labels.
        let every = ((last.saturating_sub(first)) / 8 + 1) as usize;
        (first..=last).step_by(every).map(|power| 1_u64 << power)
    };
    for block in powers(blocks) {
        let (x, y) = screen([along(block, blocks), near_y * 1.06, FLOOR]);
        let anchor = if near_y * AZIMUTH.sin() > 0.0 { Anchor::End } else { Anchor::Start };
        svg.text((x, y + 10.0), "small", anchor, &Bytes(block).to_string());
    }
    for stride in powers(strides) {
        let (x, y) = screen([near_x * 1.06, along(stride, strides), FLOOR]);
        let anchor = if near_x * AZIMUTH.cos() > 0.0 { Anchor::Start } else { Anchor::End };
        svg.text((x, y + 10.0), "small", anchor, &Bytes(stride).to_string());
    }
    let (x, y) = screen([0.0, near_y * 1.42, FLOOR]);
    svg.text((x, y + 10.0), "strong", Anchor::Middle, "block size");
    let (x, y) = screen([near_x * 1.42, 0.0, FLOOR]);
    svg.text((x, y + 10.0), "strong", Anchor::Middle, "stride");
}

/// The name of each level on the middle of its faces, so that colour is not its only carrier.
fn level_labels(svg: &mut Svg, quads: &[Quad<'_>]) {
    let mut places: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
    for quad in quads {
        let middle = quad.screen.iter().fold((0.0, 0.0), |sum, at| (sum.0 + at.0 / 4.0, sum.1 + at.1 / 4.0));
        places.entry(quad.level).or_default().push(middle);
    }
    for (level, places) in places {
        let count = places.len() as f64;
        let mean = places.iter().fold((0.0, 0.0), |sum, at| (sum.0 + at.0 / count, sum.1 + at.1 / count));
        // The face nearest to the centre of all, so that the name lies on its own colour.
        let far = |at: &(f64, f64)| (at.0 - mean.0).powi(2) + (at.1 - mean.1).powi(2);
        if let Some(at) = places.iter().min_by(|a, b| far(a).total_cmp(&far(b))) {
            svg.text((at.0, at.1 + 4.0), "strong halo", Anchor::Middle, level);
        }
    }
}

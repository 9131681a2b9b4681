//! Every change as a point with its interval, in groups: how large, which way, how sure.

use std::fmt::Write;

use record::ComparisonRow;
use stats::Verdict;
use stats::text::{signed_ends, signed_points, value};

use crate::draw::{Anchor, Svg};
use crate::page::{Drawn, Table};

const WIDTH: f64 = 900.0;
const LEFT: f64 = 270.0;
const RIGHT: f64 = 735.0;
const ROW_HEIGHT: f64 = 17.0;
const HEADING_HEIGHT: f64 = 26.0;
const TOP: f64 = 30.0;
/// Names of this many characters fit left of the plot.
const NAME_CHARACTERS: usize = 42;
/// The axis shows at least a change of 5 %, so that nothing looks large that is not.
const LEAST_REACH: f64 = 0.05;
/// Beyond a factor of eight the axis ends; what lies farther stands at its end.
const MOST_REACH: f64 = 2.08;
/// Marks of the axis in percent of cost.
const TICKS: [f64; 13] =
    [-80.0, -67.0, -50.0, -33.0, -20.0, -10.0, -5.0, 5.0, 10.0, 25.0, 50.0, 100.0, 300.0];
/// Ticks nearer than this to each other or to the middle are left out.
const TICK_GAP: f64 = 44.0;

/// A change as a cost on the log scale: right is slower.
struct Effect<'r> {
    row: &'r ComparisonRow,
    log: f64,
    ends: Option<(f64, f64)>,
}

impl<'r> Effect<'r> {
    fn of(row: &'r ComparisonRow) -> Option<Self> {
        let cost = |percent: f64| row.better.cost((percent / 100.0).ln_1p());
        let log = Some(cost(row.change_percent)).filter(|log| log.is_finite())?;
        let ends = row.interval.map(|interval| {
            let (one, other) = (cost(interval.low), cost(interval.high));
            (one.min(other), one.max(other))
        });
        Some(Self { row, log, ends: ends.filter(|(low, high)| !low.is_nan() && !high.is_nan()) })
    }
}

/// The colour and the word of a verdict.
fn style(verdict: Verdict) -> (&'static str, &'static str) {
    let colour = match verdict {
        Verdict::Slower => "#D55E00",
        Verdict::Faster => "#0072B2",
        Verdict::Equivalent => "#009E73",
        Verdict::Inconclusive => "#8a94a0",
    };
    (colour, verdict.word())
}

/// The chart of one candidate; `None` without a row that can be drawn.
pub(super) fn draw(name: &str, rows: &[&ComparisonRow]) -> Option<Drawn> {
    let effects: Vec<Effect<'_>> = rows.iter().filter_map(|row| Effect::of(row)).collect();
    if effects.is_empty() {
        return None;
    }
    let far =
        effects.iter().flat_map(|one| [one.log.abs(), one.ends.map_or(0.0, |(l, h)| l.abs().max(h.abs()))]);
    let points = effects.iter().map(|one| one.log.abs() * 1.3).fold(LEAST_REACH, f64::max);
    // Wide intervals of a few rows must not squeeze all others to the middle.
    let reach = far.fold(LEAST_REACH, f64::max).min(points * 2.0).clamp(LEAST_REACH, MOST_REACH);
    let at = |log: f64| f64::midpoint(LEFT, RIGHT) + (log / reach).clamp(-1.0, 1.0) * (RIGHT - LEFT) / 2.0;
    let groups =
        effects.iter().enumerate().filter(|(i, one)| *i == 0 || effects[i - 1].row.group != one.row.group);
    let bottom = TOP + groups.count() as f64 * HEADING_HEIGHT + effects.len() as f64 * ROW_HEIGHT + 8.0;
    let mut svg = Svg::new(name, WIDTH, bottom + 34.0);
    axis(&mut svg, &at, bottom);
    let mut y = TOP;
    let mut group = "";
    for effect in &effects {
        if effect.row.group != group {
            group = &effect.row.group;
            svg.text((12.0, y + 18.0), "strong", Anchor::Start, group);
            y += HEADING_HEIGHT;
        }
        draw_row(&mut svg, effect, &at, y + ROW_HEIGHT / 2.0);
        y += ROW_HEIGHT;
    }
    let reading = "Each point is a change of cost with its 95 % interval: right of the line is slower, left is faster, \
                   whatever the unit. Filled points are claims that hold over all rows; hollow ones are undetermined or \
                   carry no interval; the band is the margin of each row.";
    Some(Drawn { svg, reading: reading.to_owned(), table: Table::default() })
}

fn axis(svg: &mut Svg, at: &dyn Fn(f64) -> f64, bottom: f64) {
    let middle = at(0.0);
    let mut taken = vec![middle];
    for percent in TICKS {
        let x = at((percent / 100.0_f64).ln_1p());
        let inside = x > LEFT + 1.0 && x < RIGHT - 1.0;
        if inside && taken.iter().all(|have| (have - x).abs() >= TICK_GAP) {
            taken.push(x);
            svg.line("grid", (x, TOP), (x, bottom));
            svg.text((x, bottom + 16.0), "small", Anchor::Middle, &format!("{percent:+.0} %"));
        }
    }
    svg.line("axis", (middle, TOP), (middle, bottom));
    svg.text((middle, bottom + 16.0), "small", Anchor::Middle, "0");
    svg.text((LEFT, 16.0), "dim", Anchor::Start, "◀ faster");
    svg.text((RIGHT, 16.0), "dim", Anchor::End, "slower ▶");
    svg.text((middle, bottom + 31.0), "dim small", Anchor::Middle, "change of cost, logarithmic");
}

fn draw_row(svg: &mut Svg, effect: &Effect<'_>, at: &dyn Fn(f64) -> f64, y: f64) {
    let row = effect.row;
    let (colour, word) = style(row.verdict);
    let mut name: String = row.name.chars().take(NAME_CHARACTERS).collect();
    if row.name.chars().count() > NAME_CHARACTERS {
        name.push('…');
    }
    svg.text((LEFT - 10.0, y + 4.0), "small", Anchor::End, &name);
    svg.open_mark(&title(row));
    let margin = (row.margin_percent / 100.0).ln_1p();
    let band = (at(-margin), at(margin));
    svg.rectangle((band.0, y - ROW_HEIGHT / 2.0), (band.1 - band.0, ROW_HEIGHT), "class=\"empty\"");
    if let Some((low, high)) = effect.ends {
        let paint = format!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"");
        svg.polyline(&[(at(low), y), (at(high), y)], &paint);
    }
    let is_claim = row.verdict != Verdict::Inconclusive;
    let fill = if is_claim {
        format!("fill=\"{colour}\"")
    } else {
        format!("class=\"hollow\" stroke=\"{colour}\" stroke-width=\"1.6\"")
    };
    svg.circle((at(effect.log), y), 4.0, &fill);
    let verdict = if row.interval.is_none() { "no interval" } else { word };
    let change = format!("{} %", signed_points(row.change_percent));
    svg.text((RIGHT + 10.0, y + 4.0), "small ink", Anchor::Start, &change);
    svg.text((RIGHT + 72.0, y + 4.0), "small", Anchor::Start, verdict);
    svg.close();
}

/// One row in words, for a pointer that rests on it.
fn title(row: &ComparisonRow) -> String {
    let mut text = format!(
        "{}: {} to {} {}, change {} %",
        row.name,
        value(row.a, row.a_interval),
        value(row.b, row.b_interval),
        row.unit,
        signed_points(row.change_percent)
    );
    if let Some(interval) = row.interval {
        let _ = write!(text, " {}, {}", signed_ends(interval), row.verdict.word());
    }
    text
}

//! Wake-up latency against idle time.

use record::{Quality, Record, WakePoint};

use super::{Drawn, Figure};
use crate::draw::{Axis, LineChart, LinePanel, LinePoint, LineSeries};
use crate::interactive;
use crate::view::check_up;

/// More pairs than this make the picture unreadable; two curves belong to each.
const MOST_PAIRS: usize = 3;

pub(super) fn draw(record: &Record) -> Option<Drawn> {
    let points = &record.cores.wake;
    let mut pairs = Vec::new();
    for point in points {
        if !pairs.contains(&(point.waker, point.sleeper)) {
            pairs.push((point.waker, point.sleeper));
        }
    }
    let curve = |name: String, style: usize, of: &[&WakePoint], ninetieth: bool| LineSeries {
        name,
        style,
        points: of
            .iter()
            .map(|p| LinePoint {
                x: p.idle_us,
                y: if ninetieth { p.p90_ns / 1e3 } else { p.ns / 1e3 },
                low: if ninetieth { p.p90_ns / 1e3 } else { p.spread.interval.low / 1e3 },
                high: if ninetieth { p.p90_ns / 1e3 } else { p.spread.interval.high / 1e3 },
                doubtful: !ninetieth && p.spread.quality != Quality::Converged,
            })
            .collect(),
    };
    let mut series = Vec::new();
    for (index, pair) in pairs.iter().take(MOST_PAIRS).enumerate() {
        let mut of: Vec<&WakePoint> = points.iter().filter(|p| (p.waker, p.sleeper) == *pair).collect();
        of.sort_by(|a, b| a.idle_us.total_cmp(&b.idle_us));
        let name = format!("CPU {} wakes CPU {}", pair.0, pair.1);
        series.push(curve(format!("{name}, median"), 2 * index, &of, false));
        series.push(curve(format!("{name}, 90th percentile"), 2 * index + 1, &of, true));
    }
    let panels = vec![LinePanel { title: String::new(), series, marks: Vec::new() }];
    let chart = LineChart {
        x_label: "idle before the call, µs, logarithmic",
        y_label: "latency, µs, logarithmic",
        x: Axis::Decades,
        y: Axis::Decades,
        panels,
    };
    if chart.is_empty() {
        return None;
    }
    Some(Drawn {
        svg: chart.draw(Figure::Wake.name()),
        reading:
            "From the call to the first instruction of the sleeper. Steps are idle states: the longer a CPU \
                  slept, the deeper, and the more its waking costs."
                .to_owned(),
        table: check_up::waking(record).into(),
        interactive: Some(interactive::lines(&chart)),
        needs_webgl: false,
    })
}

//! Wake-up latency against idle time.

use record::{Record, WakePoint};

use super::Figure;
use crate::draw::{Axis, LineChart, LinePanel, LinePoint, LineSeries};
use crate::page::{Drawn, Table};

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
    let in_us = |ns: f64| ns / 1e3;
    let mut series = Vec::new();
    for (index, pair) in pairs.iter().take(MOST_PAIRS).enumerate() {
        let mut of: Vec<&WakePoint> = points.iter().filter(|p| (p.waker, p.sleeper) == *pair).collect();
        of.sort_by(|a, b| a.idle_us.total_cmp(&b.idle_us));
        let name = format!("CPU {} wakes CPU {}", pair.0, pair.1);
        let median = of.iter().map(|p| LinePoint::measured(p.idle_us, p.ns, &p.spread, in_us));
        let ninetieth = of.iter().map(|p| LinePoint::exact(p.idle_us, in_us(p.p90_ns)));
        for (style, what, points) in
            [(2 * index, "median", median.collect()), (2 * index + 1, "90th percentile", ninetieth.collect())]
        {
            series.push(LineSeries { name: format!("{name}, {what}"), style, points });
        }
    }
    let chart = LineChart {
        x_label: "idle before the call, µs, logarithmic",
        y_label: "latency, µs, logarithmic",
        unit: " µs",
        x: Axis::Decades,
        y: Axis::Decades,
        panels: vec![LinePanel::new("", series)],
    };
    let reading = "From the call to the first instruction of the sleeper. Steps are idle states: the longer a CPU slept, the \
                   deeper, and the more its waking costs.";
    Drawn::of(&chart, Figure::Wake.name(), reading, Table::default())
}

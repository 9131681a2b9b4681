//! The curve of a simulation of schedulers: gains by number of threads, or packing over spreading by shared data.

use models::scheduling::{GainRow, Packing, SchedulingSimulation};
use stats::Interval;

use crate::draw::{Axis, LineChart, LinePanel, LinePoint, LineSeries, Measure};
use crate::page::Drawn;

/// The curve with its heading; none if there is nothing to draw.
pub(super) fn gain(simulation: &SchedulingSimulation) -> Option<(&'static str, Drawn)> {
    let (heading, chart) = match &simulation.packing {
        Some(found) => {
            ("Packing partners over spreading them", packing_chart(found, simulation.machine.has_turbo()))
        }
        None => ("Gain by number of threads", gain_chart(&simulation.rows)),
    };
    let reading = "Above zero the policy is better. Ribbons are 95 % intervals of the runs.";
    Some((heading, Drawn::of(&chart, "simulated-gain", reading)?))
}

type Curve<'a> = (&'a str, Vec<(f64, f64, Interval)>);

fn gain_chart(rows: &[GainRow]) -> LineChart {
    let curve = |value: fn(&GainRow) -> (f64, Interval)| -> Vec<(f64, f64, Interval)> {
        rows.iter().map(|row| (row.threads as f64, value(row).0, value(row).1)).collect()
    };
    chart(
        "threads",
        "Gain, per cent",
        vec![
            ("over random", curve(|row| (row.gain_over_random_percent, row.gain_over_random_interval))),
            ("over in-order", curve(|row| (row.gain_over_in_order_percent, row.gain_over_in_order_interval))),
            (
                "over kernel-like",
                curve(|row| (row.gain_over_kernel_like_percent, row.gain_over_kernel_like_interval)),
            ),
        ],
    )
}

fn packing_chart(packing: &Packing, has_turbo: bool) -> LineChart {
    let exact = |x: f64, y: f64| (x, y, Interval { low: y, high: y });
    let points = || packing.points.iter();
    let with = points().map(|point| exact(point.sharing_percent, point.gain_of_packing_percent));
    let mut curves = vec![(if has_turbo { "with turbo" } else { "gain" }, with.collect())];
    if has_turbo {
        let without =
            points().map(|point| exact(point.sharing_percent, point.gain_of_packing_without_turbo_percent));
        curves.push(("without", without.collect()));
    }
    chart("what a thread gains from its partner, per cent", "Packing over spreading, per cent", curves)
}

fn chart(x_label: &'static str, y_label: &'static str, curves: Vec<Curve<'_>>) -> LineChart {
    let series = curves.into_iter().enumerate().map(|(style, (name, points))| {
        let point = |(x, value, ends)| LinePoint {
            x,
            measure: Measure { ends: Some(ends), ..Measure::exact(value) },
        };
        LineSeries { name: name.to_owned(), style, points: points.into_iter().map(point).collect() }
    });
    let panels = vec![LinePanel::new(y_label, series)];
    LineChart { x_label, y_label, unit: " %", x: Axis::Linear, y: Axis::Linear, panels }
}

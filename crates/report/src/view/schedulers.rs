//! Simulated schedulers: what a placement policy gains by number of threads, beside what was published.

mod words;

use models::scheduling::{GainRow, JoinedNumber, Packing, SchedulingSimulation};
use stats::Interval;

use super::simulated;
use crate::draw::{LineChart, LinePanel, LinePoint, LineSeries, Measure};
use crate::number;
use crate::page::{Cell, Drawn, Page, Section, Table};

/// Numbers of threads on a first screen.
const ROWS_FIRST: usize = 8;

/// The simulation as a page.
pub fn schedulers_page(simulation: &SchedulingSimulation) -> Page {
    let machine = &simulation.machine;
    let compared = simulation.packing.as_ref().map(|found| {
        let (threads, level) = (number::count(found.threads, "thread"), &found.level);
        let title = format!("{threads} in pairs: partners in one {level} over partners in two");
        Section::new("packing", title).table(packing(found, machine.has_turbo()))
    });
    let picture = curve(simulation)
        .map(|(heading, drawn)| Section::new("curve", "").figure("simulated-gain", heading, Some(drawn)));
    let numbers = machine.numbers().into_iter();
    let sections = [
        gains(simulation).section(""),
        compared,
        picture,
        published(simulation).section("Published numbers, joined afterwards").map(Section::detailed),
    ];
    let page = Page {
        answer: words::answer(simulation),
        because: words::because(simulation),
        sections: sections.into_iter().flatten().collect(),
        about: vec![format!("seed {}", simulation.scenario.seed)],
        ..Page::default()
    };
    simulated::page(
        &machine.title,
        numbers.map(|(name, value, source)| [name, value, source.to_owned()]).collect(),
        page,
    )
}

fn gain(percent: f64, interval: Interval) -> Cell {
    Cell::within(number::signed_percent(percent), percent, interval)
}

fn gains(simulation: &SchedulingSimulation) -> Table {
    let most = simulation.rows.iter().map(|row| row.gain_over_random_percent).fold(0.0, f64::max);
    let share = |row: &GainRow| Some(row.gain_over_random_percent / most).filter(|share| *share > 0.0);
    let mut rows = Table::of("gains", &simulation.rows)
        .number("threads", |row| row.threads)
        .number("over random", |row| gain(row.gain_over_random_percent, row.gain_over_random_interval))
        .bar(|row| share(row).map(Cell::Share))
        .number("over in-order", |row| gain(row.gain_over_in_order_percent, row.gain_over_in_order_interval))
        .number("over kernel-like", |row| {
            gain(row.gain_over_kernel_like_percent, row.gain_over_kernel_like_interval)
        })
        .number(("shared", 1), |row| Cell::percent(row.throughput.shared))
        .number(("runs", 3), |row| row.throughput.runs)
        .number(("cycles per ns", 4), |row| row.throughput.cycles_per_ns)
        .first(ROWS_FIRST);
    let (smallest, clocked) = (&simulation.machine.level[0].name, &simulation.machine.clock.level);
    let mut awake = String::new();
    if simulation.machine.sleeps() {
        rows = rows.number(("awake", 2), |row| Cell::short(row.throughput.awake));
        awake = format!("; awake: mean number of awake units ({clocked})");
    }
    rows.legend(format!(
        "gain in throughput over random idle CPUs, the first idle CPU, and Linux without knowledge of shared data; shared: time with two threads in one {smallest}{awake}"
    ))
}

fn packing(packing: &Packing, has_turbo: bool) -> Table {
    let title = if has_turbo { "packing, with turbo" } else { "packing gains" };
    let rows = Table::of("packing", &packing.points)
        .number(("gain from the partner", "%"), |point| Cell::short(point.sharing_percent))
        .number(title, |point| Cell::change(Some(point.gain_of_packing_percent)));
    if !has_turbo {
        return rows.table();
    }
    rows.number("without turbo", |point| Cell::change(Some(point.gain_of_packing_without_turbo_percent)))
        .table()
}

fn published(simulation: &SchedulingSimulation) -> Table {
    Table::of("published", &simulation.published)
        .word("workload", |one| &one.published.workload)
        .number(("threads", 1), |one| {
            one.published.threads.map_or_else(|| number::UNKNOWN.into(), Cell::from)
        })
        .word(("over", 1), |one| one.published.over.name())
        .number("published", |one| {
            Cell::shown(words::range(one.published.gain_percent), one.published.gain_percent[0])
        })
        .number("predicted", |one| Cell::shown(predicted(one), one.predicted_percent.unwrap_or(f64::NAN)))
        .prose(("source", 2), |one| &one.published.source)
        .legend(
            "threads unknown: predicted is the range over all numbers of threads above; -: not simulated here",
        )
}

fn predicted(one: &JoinedNumber) -> String {
    match one.predicted_percent {
        Some(percent) if one.published.fitted => format!("{} (fitted)", number::signed_percent(percent)),
        Some(percent) => number::signed_percent(percent),
        None if one.published.threads.is_some() => "-".to_owned(),
        None => words::range(one.predicted_range_percent),
    }
}

/// The curve with its heading; none if there is nothing to draw.
fn curve(simulation: &SchedulingSimulation) -> Option<(&'static str, Drawn)> {
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
    LineChart::straight(x_label, y_label, " %", LinePanel::new(y_label, series))
}

#[cfg(test)]
mod tests;

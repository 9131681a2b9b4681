//! Gains of a policy as a page: numbers, the curve, what was published beside it, words, every number with its source.

use models::scheduling::{GainRow, Packing, Policy, PolicyGain, PolicyRow, SchedulingSimulation};
use stats::Interval;

use super::words;
use crate::draw::{Axis, LineChart, LinePanel, LinePoint, LineSeries};
use crate::escape::markup;
use crate::figure::{DataTable, Drawn};
use crate::html::markup::{Charts, list, placed, section, table, terms};
use crate::html::{self, Html};
use crate::{interactive, number};

/// The page of the simulation.
pub fn scheduling_html(simulation: &SchedulingSimulation, options: Html) -> String {
    let mut charts = Charts::new(options.script);
    let mut body = format!(
        "<header><p class=\"kicker\">sidestep simulation</p><h1>{}</h1><p class=\"sub\">{}: {}</p></header>\n",
        markup(&simulation.machine.title),
        words::origin(simulation),
        markup(&words::scenario(simulation))
    );
    let (title, chart) = match &simulation.packing {
        Some(found) => {
            ("Packing partners over spreading them", packing_chart(found, simulation.machine.has_turbo()))
        }
        None if !simulation.policies.is_empty() => {
            ("Gain over random placement by number of threads", policy_chart(&simulation.policies))
        }
        None => ("Gain by number of threads", gain_chart(&simulation.rows)),
    };
    if !simulation.rows.is_empty() {
        body += &section(
            "gains",
            "What the policy gains",
            &table(&gains(&simulation.rows, simulation.machine.sleeps())),
        );
    }
    if !simulation.policies.is_empty() {
        body += &section("policies", "All policies", &table(&policies(&simulation.policies)));
    }
    if !chart.is_empty() {
        let drawn = Drawn {
            svg: chart.draw("simulated-gain"),
            reading: "Above zero the policy is better. Ribbons are 95 % intervals of the runs.".to_owned(),
            table: DataTable::default(),
            interactive: Some(interactive::lines(&chart)),
            needs_webgl: false,
        };
        body += &section("curve", title, &placed("simulated-gain", title, drawn, &mut charts));
    }
    if !simulation.published.is_empty() {
        body += &section("published", "Published, joined afterwards", &table(&published(simulation)));
    }
    body += &section("words", "In words", &list(&words::sentences(simulation)));
    body += &section("numbers", "The machine", &numbers(simulation));
    html::document_page(&simulation.machine.title, &body, simulation, "simulation.json", charts, options)
}

/// Place of the column in the table of gains that only a machine has whose units sleep.
const AWAKE_COLUMN: usize = 6;

fn gains(rows: &[GainRow], sleeps: bool) -> DataTable {
    let headers =
        ["threads", "over random", "95 %", "over in-order", "over kernel-like", "shared", "awake", "runs"];
    let row = |row: &GainRow| {
        let Interval { low, high } = row.gain_over_random_interval;
        vec![
            row.threads.to_string(),
            words::signed(row.gain_over_random_percent),
            format!("{low:.2} to {high:.2}"),
            words::signed(row.gain_over_in_order_percent),
            words::signed(row.gain_over_kernel_like_percent),
            number::percent(row.throughput.shared),
            number::short(row.throughput.awake),
            row.throughput.runs.to_string(),
        ]
    };
    let mut found =
        DataTable { headers: headers.map(str::to_owned).to_vec(), rows: rows.iter().map(row).collect() };
    if !sleeps {
        // Where no unit sleeps all are awake at any time.
        for cells in found.rows.iter_mut().chain([&mut found.headers]) {
            cells.remove(AWAKE_COLUMN);
        }
    }
    found
}

fn policies(rows: &[PolicyRow]) -> DataTable {
    let headers = ["threads", "policy", "cycles per ns", "over random", "95 %", "over kernel-like", "runs"];
    let row = |(threads, one): (usize, &PolicyGain)| {
        let Interval { low, high } = one.over_random.interval;
        vec![
            threads.to_string(),
            one.policy.name().to_owned(),
            number::short(one.throughput.cycles_per_ns),
            words::signed(one.over_random.percent),
            format!("{low:.2} to {high:.2}"),
            words::signed(one.over_kernel_like.percent),
            one.throughput.runs.to_string(),
        ]
    };
    let all = rows.iter().flat_map(|row| row.policies.iter().map(|one| (row.threads, one)));
    DataTable { headers: headers.map(str::to_owned).to_vec(), rows: all.map(row).collect() }
}

fn published(simulation: &SchedulingSimulation) -> DataTable {
    let headers = ["workload", "threads", "over", "published", "predicted", "all counts", "source"];
    let row = |one: &models::scheduling::JoinedNumber| {
        let published = &one.published;
        let fitted = if published.fitted { " (fitted)" } else { "" };
        vec![
            published.workload.clone(),
            published.threads.map_or("unknown".to_owned(), |threads| threads.to_string()),
            published.over.name().to_owned(),
            words::published(one),
            one.predicted_percent.map_or(String::new(), |percent| words::signed(percent) + fitted),
            words::range(one.predicted_range_percent),
            published.source.clone(),
        ]
    };
    DataTable {
        headers: headers.map(str::to_owned).to_vec(),
        rows: simulation.published.iter().map(row).collect(),
    }
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

fn policy_chart(rows: &[PolicyRow]) -> LineChart {
    let curve = |policy: Policy| {
        let of = |row: &PolicyRow| {
            let one = row.policies.iter().find(|one| one.policy == policy)?;
            Some((row.threads as f64, one.over_random.percent, one.over_random.interval))
        };
        (policy.name(), rows.iter().filter_map(of).collect())
    };
    let others = Policy::ALL.into_iter().filter(|policy| *policy != Policy::Random);
    chart("threads", "Gain over random placement, per cent", others.map(curve).collect())
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
        let point = |(x, y, interval): (f64, f64, Interval)| LinePoint {
            x,
            y,
            low: interval.low,
            high: interval.high,
            doubtful: false,
        };
        LineSeries { name: name.to_owned(), style, points: points.into_iter().map(point).collect() }
    });
    let panel = LinePanel { title: y_label.to_owned(), series: series.collect(), marks: Vec::new() };
    LineChart { x_label, y_label, x: Axis::Linear, y: Axis::Linear, panels: vec![panel] }
}

/// Each number of the machine with its source.
fn numbers(simulation: &SchedulingSimulation) -> String {
    let numbers = simulation.machine.numbers();
    let said: Vec<(&str, String)> =
        numbers.iter().map(|(name, value, source)| (name.as_str(), format!("{value}; {source}"))).collect();
    terms(&said)
}

//! Drifting counters as a page: a row per remedy, the figure, words, every number with its source.

use models::Sourced;
use models::tsc::{DriftRow, DriftSimulation, Remedy};

use super::{terminal, words};
use crate::draw::{Axis, LineChart, LinePanel, LinePoint, LineSeries};
use crate::escape::markup;
use crate::figure::{DataTable, Drawn};
use crate::html::markup::{Charts, list, placed, section, table, terms};
use crate::html::{self, Html};
use crate::{interactive, number};

/// The page of the simulation.
pub fn drift_html(simulation: &DriftSimulation, options: Html) -> String {
    let scenario = simulation.scenario;
    let mut charts = Charts::new(options.script);
    let mut body = format!(
        "<header><p class=\"kicker\">sidestep simulation</p><h1>{}</h1><p class=\"sub\">on paper: governor {}, workload {}, {} s</p></header>\n",
        markup(&simulation.machine.title),
        scenario.governor.name(),
        scenario.workload.name(),
        number::short(scenario.seconds)
    );
    body += &section("remedies", "What each remedy does", &table(&remedies(simulation)));
    let how: Vec<(&str, String)> =
        simulation.rows.iter().map(|row| (row.remedy.name(), row.how.clone())).collect();
    body += &section("how", "How each is switched", &terms(&how));
    body += &section("words", "In words", &list(&words::sentences(simulation)));
    if let Some(drawn) = figure(simulation) {
        let picture =
            placed("simulated-drift", "Counter of the worst core against core 0", drawn, &mut charts);
        body += &section("drift", "Drift", &picture);
    }
    body += &section("numbers", "The machine", &terms(&numbers(simulation)));
    html::document_page(&simulation.machine.title, &body, simulation, "simulation.json", charts, options)
}

fn remedies(simulation: &DriftSimulation) -> DataTable {
    let headers = [
        "remedy",
        "core",
        "counters apart",
        "mean rate",
        "went back",
        "of",
        "by at most",
        "clock off",
        "price",
        "time is",
    ];
    let row = |row: &DriftRow| {
        vec![
            row.remedy.name().to_owned(),
            row.core.to_string(),
            number::duration_ns(row.offset_us * 1e3),
            terminal::clock_error(row.rate_ppm),
            row.backwards.to_string(),
            row.observations.to_string(),
            number::duration_ns(row.backwards_us * 1e3),
            terminal::clock_error(row.clock_error_ppm),
            number::duration_ns(row.read_ns),
            if row.safe { "safe" } else { "unsafe" }.to_owned(),
        ]
    };
    DataTable {
        headers: headers.map(str::to_owned).to_vec(),
        rows: simulation.rows.iter().map(row).collect(),
    }
}

/// Offset over time, a curve per remedy that touches the counters.
fn figure(simulation: &DriftSimulation) -> Option<Drawn> {
    let touches = |row: &&DriftRow| !matches!(row.remedy, Remedy::Hpet | Remedy::AcpiPm);
    let series = simulation.rows.iter().filter(touches).enumerate().map(|(style, row)| {
        let point = |point: &models::tsc::DriftPoint| {
            let y = point.offset_us / 1e3;
            LinePoint { x: point.at_s, y, low: y, high: y, doubtful: false }
        };
        LineSeries {
            name: row.remedy.name().to_owned(),
            style,
            points: row.curve.iter().map(point).collect(),
        }
    });
    let chart = LineChart {
        x_label: "seconds",
        y_label: "ahead of core 0, ms",
        x: Axis::Linear,
        y: Axis::Linear,
        panels: vec![LinePanel {
            title: "Ahead of core 0, ms".to_owned(),
            series: series.collect(),
            marks: Vec::new(),
        }],
    };
    if chart.is_empty() {
        return None;
    }
    Some(Drawn {
        svg: chart.draw("simulated-drift"),
        reading: "A flat line at zero is a counter that can be trusted. HPET and PM timer leave the counters as they are, and do not ask them."
            .to_owned(),
        table: DataTable::default(),
        interactive: Some(interactive::lines(&chart)),
        needs_webgl: false,
    })
}

/// Each number of the machine with its source.
fn numbers(simulation: &DriftSimulation) -> Vec<(&'static str, String)> {
    let machine = &simulation.machine;
    let states: Vec<String> = machine.pstates_hz.value.iter().map(|hz| number::frequency(*hz)).collect();
    let duration = |ns: &Sourced<f64>| (number::duration_ns(ns.value), ns.source.clone());
    let plain = |one: &Sourced<f64>| (number::short(one.value), one.source.clone());
    let threshold = &machine.governor_up_threshold;
    let mut rows = vec![
        ("P-states", (states.join(", "), machine.pstates_hz.source.clone())),
        ("step of a change", (number::frequency(machine.step_hz.value), machine.step_hz.source.clone())),
        ("time per step", duration(&machine.step_ns)),
        ("divisor in HLT", plain(&machine.halt_divisor)),
        ("ticks per second", plain(&machine.tick_hz)),
        ("work of a tick", duration(&machine.tick_work_ns)),
        ("governor decides every", duration(&machine.governor_period_ns)),
        ("governor's threshold", (number::percent(threshold.value), threshold.source.clone())),
        ("counters compared within, cycles", plain(&machine.transfer_cycles)),
    ];
    rows.extend(machine.read.iter().map(|read| {
        ("a reading", {
            let (value, source) = duration(&read.ns);
            (format!("{value} ({})", read.name), source)
        })
    }));
    rows.into_iter().map(|(name, (value, source))| (name, format!("{value}; {source}"))).collect()
}

//! A simulation in the terminal: predictions beside published numbers, words, where the time goes, plots.

use std::collections::BTreeSet;

use machine::Bytes;
use models::memory::{PageTableReads, Residual, Row, Simulation, SurfaceCell, Workaround};

use super::{SimulationView, measured, state, words};
use crate::escape::plain;
use crate::number;
use crate::terminal::{Ink, Paper, Terminal, bar, table_of};

/// Width of the longest bar of the bandwidth plot.
const BAR_COLUMNS: usize = 36;
/// The best of the other choices that are shown.
const ALTERNATIVES_SHOWN: usize = 6;

/// The simulation for people.
pub fn simulation_terminal(simulation: &Simulation, view: SimulationView, terminal: Terminal) -> String {
    let mut paper = Paper::new(terminal);
    paper.strong(&plain(&format!("{} on paper, {} off and on", simulation.title, simulation.workaround)));
    paper.blank();
    tests(&mut paper, simulation);
    paper.blank();
    for sentence in words::sentences(simulation) {
        paper.wrapped("- ", &plain(&sentence));
    }
    paper.blank();
    if view.strides {
        strides(&mut paper, simulation);
    }
    bandwidth(&mut paper, simulation, view);
    surface(&mut paper, simulation, view);
    if simulation.bandwidth.is_empty() && simulation.surface.is_empty() && !view.strides {
        where_time_goes(&mut paper, simulation);
    }
    fit(&mut paper, simulation);
    if let Some(fit) = &simulation.measured {
        measured::fit(&mut paper, fit);
    }
    paper.finish()
}

pub(super) fn headers<const COUNT: usize>(names: [&str; COUNT]) -> Vec<String> {
    names.map(str::to_owned).to_vec()
}

fn tests(paper: &mut Paper, simulation: &Simulation) {
    let known = words::known(simulation);
    let mut table = table_of(&headers(["test", "off", "on", "unit", "change", known, "error"]));
    for row in &simulation.rows {
        let boards = if row.board_off == row.board_on { "" } else { " *" };
        table.add_row([
            plain(&format!("{}{boards}", row.name)),
            number::column(row.off),
            number::column(row.on),
            row.unit.text().to_owned(),
            words::change(row),
            words::published(row),
            words::errors(row),
        ]);
    }
    paper.table(table);
    let fitted = match &simulation.measured {
        None => "off and on are predicted; published numbers were joined afterwards",
        Some(_) => "off is fitted to what was measured, on is predicted",
    };
    let starred = simulation.rows.iter().any(|row| row.board_off != row.board_on);
    let boards = if starred { "; * two boards, each at its own clock" } else { "" };
    paper.wrapped_inked(Ink::Faint, "", &format!("{fitted}{boards}"));
}

fn where_time_goes(paper: &mut Paper, simulation: &Simulation) {
    let told = || simulation.rows.iter().filter(|row| row.off.is_finite() && !row.parts_off.is_empty());
    let Some(first) = told().next() else { return };
    paper.strong("Where the time goes, ns per access");
    let names = first.parts_off.iter().map(|part| plain(&part.name));
    let mut table = table_of(
        &["test".to_owned(), simulation.workaround.clone()].into_iter().chain(names).collect::<Vec<_>>(),
    );
    let cells = |row: &Row, on: bool| {
        let parts = if on { &row.parts_on } else { &row.parts_off };
        let value = |ns: f64| if ns < 0.005 { "-".to_owned() } else { number::column(ns) };
        let name = if on { String::new() } else { plain(&row.name) };
        let start = [name, state(on).to_owned()];
        start.into_iter().chain(parts.iter().map(|part| value(part.ns))).collect::<Vec<_>>()
    };
    for row in told() {
        table.add_row(cells(row, false));
        // The same again would only be long.
        if words::change_percent(row).abs() >= 0.05 {
            table.add_row(cells(row, true));
        }
    }
    paper.table(table);
    paper.blank();
}

fn strides(paper: &mut Paper, simulation: &Simulation) {
    paper.strong("A chain of loads through memory, ns per load");
    let mut table = table_of(&headers(["stride", "off", "on", "added"]));
    for one in &simulation.strides {
        table.add_row([
            one.stride_bytes.to_string(),
            number::column(one.off_ns),
            number::column(one.on_ns),
            number::column(one.on_ns - one.off_ns),
        ]);
    }
    paper.table(table);
    paper.blank();
}

fn bandwidth(paper: &mut Paper, simulation: &Simulation, view: SimulationView) {
    let points = &simulation.bandwidth;
    let all = points.iter().flat_map(|point| [point.off_mb_per_s, point.on_mb_per_s]);
    let (low, high) = all.fold((f64::INFINITY, 0.0_f64), |(low, high), one| (low.min(one), high.max(one)));
    // A logarithmic bar needs a foot: half of the smallest value.
    let share = |value: f64| (value / (low / 2.0)).ln() / (high / (low / 2.0)).ln();
    for on in view.states().into_iter().filter(|_| !points.is_empty()) {
        let name = format!(
            "Bandwidth against block size, {} {}, MB/s, logarithmic",
            simulation.workaround,
            state(on)
        );
        paper.strong(&plain(&name));
        for point in points {
            let value = if on { point.on_mb_per_s } else { point.off_mb_per_s };
            let block = point.block_bytes.to_string();
            let value_text = format!("{value:.0}");
            paper
                .inked(Ink::Plain, &format!("{block:>8} {value_text:>7} {}", bar(share(value), BAR_COLUMNS)));
        }
        paper.blank();
    }
}

fn surface(paper: &mut Paper, simulation: &Simulation, view: SimulationView) {
    let cells = &simulation.surface;
    let of = |key: fn(&SurfaceCell) -> Bytes| cells.iter().map(key).collect::<BTreeSet<Bytes>>();
    let (blocks, strides) = (of(|cell| cell.block_bytes), of(|cell| cell.stride_bytes));
    for on in view.states().into_iter().filter(|_| !cells.is_empty()) {
        paper.strong(&plain(&format!(
            "Latency over block and stride, {} {}, ns per load",
            simulation.workaround,
            state(on)
        )));
        let names = strides.iter().map(|stride| stride.to_string().replace(" KiB", "K").replace(" B", ""));
        let line = |first: &str, rest: Vec<String>| {
            rest.iter().fold(format!("{first:>8}"), |line, text| format!("{line}{text:>6}"))
        };
        paper.faint(&line("block", names.collect()));
        for block in &blocks {
            let values = strides.iter().map(|stride| {
                let cell =
                    cells.iter().find(|cell| cell.block_bytes == *block && cell.stride_bytes == *stride);
                cell.map_or_else(String::new, |cell| {
                    number::column(if on { cell.on_ns } else { cell.off_ns })
                })
            });
            paper.inked(Ink::Plain, &line(&block.to_string(), values.collect()));
        }
        paper.blank();
    }
}

fn residual_cells(one: &Residual) -> [String; 5] {
    [
        plain(&one.name),
        state(one.workaround == Workaround::On).to_owned(),
        number::column(one.published),
        number::column(one.predicted),
        format!("{:+.1} %", one.error_percent),
    ]
}

fn fit(paper: &mut Paper, simulation: &Simulation) {
    let Some(report) = &simulation.fit else { return };
    paper.strong("Fit to the published numbers");
    let names = ["number", "state", "published", "fitted", "error"];
    let mut table = table_of(&headers(names));
    for one in &report.fit.residuals {
        table.add_row(residual_cells(one));
    }
    paper.table(table);
    for sentence in words::of_the_fit(simulation) {
        paper.wrapped("- ", &plain(&sentence));
    }
    paper.blank();
    paper.strong("Each number by a fit of the others");
    let mut table = table_of(&headers(["number", "state", "published", "predicted", "error"]));
    for one in &report.held_out {
        table.add_row(residual_cells(one));
    }
    paper.table(table);
    paper.blank();
    alternatives(paper, simulation);
}

/// The best choices, and the best of those that read one entry per walk.
fn alternatives(paper: &mut Paper, simulation: &Simulation) {
    let Some(report) = &simulation.fit else { return };
    let all = &report.alternatives;
    let one_read = all.iter().position(|one| one.page_table_reads == PageTableReads::LastUncached);
    let shown =
        all.iter().enumerate().filter(|(index, _)| *index < ALTERNATIVES_SHOWN || Some(*index) == one_read);
    paper.strong("Choices that no document makes, best first");
    let names = ["reads per walk", "stride", "ns per read", "worst", "held out", "error", "squares"];
    let mut table = table_of(&headers(names));
    for (_, one) in shown {
        let reads = one.page_table_levels.map_or_else(|| "1".to_owned(), |levels| levels.to_string());
        let told = one.held_out.as_ref();
        table.add_row([
            reads,
            one.stride_bytes.map_or_else(String::new, |stride| stride.to_string()),
            number::column(one.uncached_read_ns),
            format!("{:.1}", one.worst),
            told.map_or_else(String::new, |told| number::column(told.predicted)),
            told.map_or_else(String::new, |told| format!("{:+.1} %", told.error_percent)),
            one.squares_without.map_or_else(String::new, number::column),
        ]);
    }
    paper.table(table);
    paper.wrapped_inked(
        Ink::Faint,
        "",
        "worst: the largest error in units of its tolerance; held out: the number that was left out, by a fit of the others; squares: what that fit leaves, in squared tolerances",
    );
}

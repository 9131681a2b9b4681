//! A simulated memory: what a workaround costs, test by test, why, and how well the model knows its numbers.

mod words;

use std::collections::BTreeSet;

use machine::Bytes;
use models::memory::{BandwidthPoint, Row, Simulation, SurfaceCell};

use super::simulated;
use crate::draw::{LineChart, LinePanel, LinePoint, LineSeries, Measure, SurfaceCell as Face, SurfaceChart};
use crate::number;
use crate::page::{Block, Cell, Drawn, Page, Section, Table};

/// Parts of an access that take less are left blank, in ns.
const PART_LEAST_NS: f64 = 0.005;

/// Above the curve and its numbers.
const BANDWIDTH: &str = "Bandwidth against block size";

const STATES: [bool; 2] = [false, true];

/// How a state of the workaround is called.
fn state(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

/// A section of a table that `--long` shows.
fn detail(table: Table, title: impl Into<String>) -> Option<Section> {
    table.section(title).map(Section::detailed)
}

/// The simulation as a page.
pub fn memory_page(simulation: &Simulation) -> Page {
    let meaning = |row: &Row| {
        let source = row.published_source.iter().map(|source| format!("; published by {source}"));
        (row.name.clone(), row.title.clone() + &source.collect::<String>())
    };
    let meanings = simulation.rows.iter().map(meaning).collect();
    let details = Section::new("details", "Test by test").list(words::details(simulation));
    let first = [
        Some(Section::new("tests", "").table(tests(simulation))),
        Some(pictures(simulation)),
        detail(strides(simulation), "A chain of loads through memory"),
        detail(bandwidth(simulation), BANDWIDTH),
    ];
    let rest = [details.filled().map(Section::detailed), where_time_goes(simulation)];
    let last = Section::new("meanings", "The tests").with(Block::Facts(meanings)).detailed();
    let page = Page {
        answer: words::answer(simulation),
        because: words::because(simulation),
        sections: (first.into_iter().flatten())
            .chain(surface(simulation))
            .chain(rest.into_iter().flatten())
            .chain([last])
            .collect(),
        ..Page::default()
    };
    simulated::page(&simulation.title, simulated::numbers(&simulation.description), page)
}

fn tests(simulation: &Simulation) -> Table {
    let rows = Table::of("tests", &simulation.rows)
        .word("test", |row| &row.name)
        .number("off", |row| row.off)
        .number("on", |row| row.on)
        .word(("unit", 2), |row| row.unit.text())
        .number(("change", 1), |row| Cell::change(number::finite(words::change_percent(row))))
        .detail(|row| {
            let is_of_two = row.board_off != row.board_on;
            is_of_two.then(|| "off and on are two boards, each at its own clock".to_owned())
        });
    let workaround = &simulation.workaround;
    rows.number(("published off", 3), |row| Cell::known(row.published_off))
        .number(("published on", 3), |row| Cell::known(row.published_on))
        .number(("error off", 4), |row| Cell::change(row.error_off_percent))
        .number(("error on", 4), |row| Cell::change(row.error_on_percent))
        .legend(format!(
            "off, on: predicted without and with {workaround}; published numbers joined afterwards"
        ))
}

fn strides(simulation: &Simulation) -> Table {
    Table::of("strides", &simulation.strides)
        .number("stride", |one| one.stride_bytes)
        .number(("off", "ns"), |one| one.off_ns)
        .number(("on", "ns"), |one| one.on_ns)
        .number(("added", "ns"), |one| one.on_ns - one.off_ns)
        .table()
}

fn bandwidth(simulation: &Simulation) -> Table {
    let value = |point: &BandwidthPoint, on| if on { point.on_mb_per_s } else { point.off_mb_per_s };
    let points = &simulation.bandwidth;
    let highest = points.iter().map(|point| point.off_mb_per_s.max(point.on_mb_per_s)).fold(0.0, f64::max);
    let rows = Table::of("bandwidth", points).number("block", |point| point.block_bytes);
    let columns = STATES.into_iter().fold(rows, |rows, on| {
        let title = format!("{} {}", simulation.workaround, state(on));
        rows.number((title, "MB/s"), |point| value(point, on))
            .bar(|point| Cell::Share(value(point, on) / highest))
    });
    columns.table()
}

fn surface(simulation: &Simulation) -> impl Iterator<Item = Section> {
    let section = move |on: bool| {
        let id = if on { "latency_on" } else { "latency_off" };
        detail(by_place(id, &simulation.surface, on), of_state(simulation, on))
    };
    STATES.into_iter().filter_map(section)
}

/// A row for each block and a column for each stride.
fn by_place(id: &'static str, cells: &[SurfaceCell], on: bool) -> Table {
    let blocks: BTreeSet<Bytes> = cells.iter().map(|cell| cell.block_bytes).collect();
    let strides: BTreeSet<Bytes> = cells.iter().map(|cell| cell.stride_bytes).collect();
    let rows = Table::of(id, blocks).number("block", |block| *block);
    let columns = strides.into_iter().fold(rows, |rows, stride| {
        rows.number(stride.to_string(), |block| {
            let cell = cells.iter().find(|cell| (cell.block_bytes, cell.stride_bytes) == (*block, stride));
            Cell::known(cell.map(|cell| if on { cell.on_ns } else { cell.off_ns }))
        })
    });
    columns.table()
}

/// The heading of a surface.
fn of_state(simulation: &Simulation, on: bool) -> String {
    format!("Latency by block and stride, ns per load, {} {}", simulation.workaround, state(on))
}

/// Curves and surfaces as pictures.
fn pictures(simulation: &Simulation) -> Section {
    let start =
        Section::new("pictures", "").figure("simulated-bandwidth", BANDWIDTH, bandwidth_curves(simulation));
    STATES.into_iter().fold(start, |section, on| {
        let name = if on { "simulated-surface-on" } else { "simulated-surface-off" };
        section.figure(name, of_state(simulation, on), surface_figure(simulation, name, on))
    })
}

fn where_time_goes(simulation: &Simulation) -> Option<Section> {
    let rows = simulation.rows.iter();
    let states = rows.flat_map(|row| {
        let on = (!words::is_unchanged(row)).then_some((row, true, &row.parts_on));
        [(row, false, &row.parts_off)].into_iter().chain(on)
    });
    let names = states.clone().next()?.2.iter().map(|part| part.name.clone());
    let start =
        Table::of("time", states).word("test", |(row, ..)| &row.name).word("state", |(_, on, _)| state(*on));
    let columns = names.enumerate().fold(start, |columns, (place, name)| {
        columns.number(name, |(.., parts)| {
            parts.get(place).map(|part| part.ns).filter(|ns| *ns >= PART_LEAST_NS)
        })
    });
    let table = columns.legend("A test that the workaround does not change has one row.");
    table.section("Where the time goes, ns per access").map(Section::detailed)
}

/// Bandwidth without and with the workaround in one panel.
fn bandwidth_curves(simulation: &Simulation) -> Option<Drawn> {
    let curve = |on: bool| {
        let points = simulation.bandwidth.iter().map(|point| {
            let value = if on { point.on_mb_per_s } else { point.off_mb_per_s } / 1e3;
            LinePoint::exact(point.block_bytes.0 as f64, value)
        });
        let name = format!("{} {}", simulation.workaround, state(on));
        LineSeries { name, style: usize::from(on), points: points.collect() }
    };
    let chart = LineChart::bandwidths(vec![LinePanel::new("One core, reading", [curve(false), curve(true)])]);
    let reading = "Both curves are one until the block outgrows what the caches and the TLBs hold.";
    Drawn::of(&chart, "simulated-bandwidth", reading)
}

/// The latency surface in one state.
fn surface_figure(simulation: &Simulation, name: &str, on: bool) -> Option<Drawn> {
    let cells = simulation.surface.iter().map(|cell| Face {
        block_bytes: cell.block_bytes.0,
        stride_bytes: cell.stride_bytes.0,
        measure: Measure::exact(if on { cell.on_ns } else { cell.off_ns }),
        level: cell.level.clone(),
    });
    let reading = "Latency of a chain of loads in rising order; height is logarithmic. Each face is coloured by the level that serves it.";
    Drawn::of(&SurfaceChart { cells: cells.collect() }, name, reading)
}

//! A simulated memory: what a workaround costs, test by test, why, and how well the model knows its numbers.

mod figures;
mod fit;
mod words;

use std::collections::BTreeSet;

use machine::Bytes;
use models::memory::{Part, Row, Simulation, SurfaceCell};

use super::simulated;
use crate::number;
use crate::page::{Block, Cell, Column, Page, Placed, Section, Table};

/// Parts of an access that take less are left blank, in ns.
const PART_LEAST_NS: f64 = 0.005;

/// Above the curve and its numbers.
const BANDWIDTH: &str = "Bandwidth against block size";

/// What was asked for by name: it stands on the first screen, and the rest with `--long`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemoryView {
    /// Curves and surfaces in this state only: with (`true`) or without the workaround; in both if none.
    pub workaround: Option<bool>,
    /// What the workaround adds by stride.
    pub strides: bool,
    /// Bandwidth against block size.
    pub bandwidth: bool,
    /// Latency over block size and stride.
    pub surface: bool,
}

impl MemoryView {
    /// The states to show, without the workaround first.
    fn states(self) -> Vec<bool> {
        self.workaround.map_or_else(|| vec![false, true], |on| vec![on])
    }
}

/// How a state of the workaround is called.
fn state(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

/// A section that was asked for, or a detail.
fn asked(is_asked: bool, id: &'static str, title: impl Into<String>) -> Section {
    if is_asked { Section::new(id, title) } else { Section::detail(id, title) }
}

/// A size as people read it.
fn bytes(size: Bytes) -> Cell {
    Cell::shown(size.to_string(), size.0 as f64)
}

/// The simulation as a page.
pub fn memory_page(simulation: &Simulation, view: MemoryView) -> Page {
    let subject = match &simulation.measured {
        None => simulated::subject(&simulation.title),
        Some(_) => format!("{}: simulation, fitted to what was measured", simulation.title),
    };
    let tests = Section::new("tests", "").with(Block::Table(tests(simulation)));
    let mut sections = vec![tests, pictures(simulation, view)];
    if !simulation.strides.is_empty() {
        let section = asked(view.strides, "strides", "A chain of loads through memory");
        sections.push(section.with(Block::Table(strides(simulation))));
    }
    sections.extend(bandwidth(simulation, view));
    sections.extend(surface(simulation, view));
    let details = words::details(simulation);
    if !details.is_empty() {
        sections.push(Section::detail("details", "Test by test").with(Block::List(details)));
    }
    sections.extend(where_time_goes(simulation));
    sections.extend(fit::sections(simulation));
    let meaning = |row: &Row| {
        let source = row.published_source.iter().map(|source| format!("; published by {source}"));
        (row.name.clone(), row.title.clone() + &source.collect::<String>())
    };
    let meanings = simulation.rows.iter().map(meaning).collect();
    sections.push(Section::detail("meanings", "The tests").with(Block::Facts(meanings)));
    Page {
        subject,
        answer: words::answer(simulation),
        because: words::because(simulation),
        sections,
        ..Page::default()
    }
}

fn tests(simulation: &Simulation) -> Table {
    let is_measured = simulation.measured.is_some();
    let mut columns = vec![
        Column::word("test"),
        Column::number("off", ""),
        Column::number("on", ""),
        Column::word("unit").priority(2),
        Column::number("change", "").priority(1),
    ];
    columns.extend(if is_measured {
        vec![Column::number("measured", "").priority(3), Column::number("error", "").priority(4)]
    } else {
        vec![
            Column::number("published off", "").priority(3),
            Column::number("published on", "").priority(3),
            Column::number("error off", "").priority(4),
            Column::number("error on", "").priority(4),
        ]
    });
    let mut table = Table::new("tests", columns);
    for row in &simulation.rows {
        let mut cells = vec![
            Cell::text(&row.name),
            Cell::number(row.off),
            Cell::number(row.on),
            Cell::text(row.unit.text()),
            Cell::change(number::finite(words::change_percent(row))),
        ];
        cells.extend(if is_measured {
            vec![Cell::known(row.measured), Cell::change(row.error_off_percent)]
        } else {
            vec![
                Cell::known(row.published_off),
                Cell::known(row.published_on),
                Cell::change(row.error_off_percent),
                Cell::change(row.error_on_percent),
            ]
        });
        table.row(cells);
        if let Some(last) = table.rows.last_mut().filter(|_| row.board_off != row.board_on) {
            last.detail = Some("off and on are two boards, each at its own clock".to_owned());
        }
    }
    let workaround = &simulation.workaround;
    table.legend = Some(match simulation.measured {
        None => {
            format!("off, on: predicted without and with {workaround}; published numbers joined afterwards")
        }
        Some(_) => format!("off: fitted to what was measured; on: predicted with {workaround}"),
    });
    table
}

fn strides(simulation: &Simulation) -> Table {
    let columns = vec![
        Column::number("stride", ""),
        Column::number("off", "ns"),
        Column::number("on", "ns"),
        Column::number("added", "ns"),
    ];
    let mut table = Table::new("strides", columns);
    for one in &simulation.strides {
        table.row(vec![
            bytes(one.stride_bytes),
            Cell::number(one.off_ns),
            Cell::number(one.on_ns),
            Cell::number(one.on_ns - one.off_ns),
        ]);
    }
    table
}

fn bandwidth(simulation: &Simulation, view: MemoryView) -> Option<Section> {
    let value = |point: &models::memory::BandwidthPoint, on| {
        if on { point.on_mb_per_s } else { point.off_mb_per_s }
    };
    let points = &simulation.bandwidth;
    if points.is_empty() {
        return None;
    }
    let highest = points.iter().map(|point| point.off_mb_per_s.max(point.on_mb_per_s)).fold(0.0, f64::max);
    let columns = view.states().into_iter().flat_map(|on| {
        [Column::number(format!("{} {}", simulation.workaround, state(on)), "MB/s"), Column::bar()]
    });
    let mut table =
        Table::new("bandwidth", [Column::number("block", "")].into_iter().chain(columns).collect());
    for point in points {
        let of = |on| [Cell::number(value(point, on)), Cell::Share(value(point, on) / highest)];
        let cells = view.states().into_iter().flat_map(of);
        table.row([bytes(point.block_bytes)].into_iter().chain(cells).collect());
    }
    Some(asked(view.bandwidth, "bandwidth", BANDWIDTH).with(Block::Table(table)))
}

fn surface(simulation: &Simulation, view: MemoryView) -> Vec<Section> {
    let cells = &simulation.surface;
    let of = |key: fn(&SurfaceCell) -> Bytes| cells.iter().map(key).collect::<BTreeSet<Bytes>>();
    let (blocks, strides) = (of(|cell| cell.block_bytes), of(|cell| cell.stride_bytes));
    let section = |on: bool| {
        let id = if on { "latency_on" } else { "latency_off" };
        let columns = strides.iter().map(|stride| Column::number(stride.to_string(), ""));
        let mut table = Table::new(id, [Column::number("block", "")].into_iter().chain(columns).collect());
        for block in &blocks {
            let found = |stride: &Bytes| {
                let is_it = |cell: &&SurfaceCell| (cell.block_bytes, cell.stride_bytes) == (*block, *stride);
                let cell = cells.iter().find(is_it);
                Cell::known(cell.map(|cell| if on { cell.on_ns } else { cell.off_ns }))
            };
            let row = [bytes(*block)].into_iter().chain(strides.iter().map(found));
            table.row(row.collect());
        }
        asked(view.surface, id, of_state(simulation, on)).with(Block::Table(table))
    };
    let states = if cells.is_empty() { Vec::new() } else { view.states() };
    states.into_iter().map(section).collect()
}

/// The heading of a surface.
fn of_state(simulation: &Simulation, on: bool) -> String {
    format!("Latency by block and stride, ns per load, {} {}", simulation.workaround, state(on))
}

/// Curves and surfaces as pictures.
fn pictures(simulation: &Simulation, view: MemoryView) -> Section {
    let bandwidth = figures::bandwidth(simulation);
    let bandwidth = bandwidth.map(|drawn| ("simulated-bandwidth", BANDWIDTH.to_owned(), drawn));
    let surface = |on: bool| {
        let name = if on { "simulated-surface-on" } else { "simulated-surface-off" };
        Some((name, of_state(simulation, on), figures::surface(simulation, name, on)?))
    };
    let placed = bandwidth.into_iter().chain(view.states().into_iter().filter_map(surface));
    let figure = |(name, heading, drawn)| Block::Figure(Box::new(Placed { name, heading, drawn }));
    Section { blocks: placed.map(figure).collect(), ..Section::new("pictures", "") }
}

fn where_time_goes(simulation: &Simulation) -> Option<Section> {
    let rows = || simulation.rows.iter().filter(|row| row.off.is_finite() && !row.parts_off.is_empty());
    let parts = rows().next()?.parts_off.iter().map(|part| Column::number(part.name.clone(), ""));
    let start = [Column::word("test"), Column::word("state")];
    let mut table = Table::new("time", start.into_iter().chain(parts).collect());
    for row in rows() {
        let mut add = |on: bool, parts: &[Part]| {
            let shown = |part: &Part| {
                if part.ns < PART_LEAST_NS { Cell::Empty } else { Cell::number(part.ns) }
            };
            let start = [Cell::text(&row.name), Cell::text(state(on))];
            table.row(start.into_iter().chain(parts.iter().map(shown)).collect());
        };
        add(false, &row.parts_off);
        if !words::is_unchanged(row) {
            add(true, &row.parts_on);
        }
    }
    table.legend = Some("A test that the workaround does not change has one row.".to_owned());
    Some(Section::detail("time", "Where the time goes, ns per access").with(Block::Table(table)))
}

//! Every CPU against the memory of every node: whether the CPUs are alike, the latencies and bandwidths, and how they were under load.

use machine::{CpuId, NodeId};
use models::interconnect::Inference;
use record::{Concurrency, SocketVerdict, Sockets, Spread};

use super::{inferred_links, socket_account};
use crate::interconnect::capital;
use crate::naming;
use crate::number::{column, gigabytes, percent, plus_minus, quality_mark};
use crate::page::{Block, Cell, Column, Page, Section, Statement, Table, Tone};
use crate::sockets::{asymmetry_words, flight_doubts, kernels, likeness_words, nodes_words, subjects_words};

/// Nodes or CPUs shown beside each other; the document and the files of CSV have all.
const PLACES_SHOWN: usize = 16;
/// Rows of a table on a first screen.
const ROWS_FIRST: usize = 6;
/// Reasons on a first screen.
const REASONS_FIRST: usize = 3;

/// What was measured, with the links that it shows.
pub fn measured_sockets_page(sockets: &Sockets, inference: Option<&Inference>) -> Page {
    Page {
        subject: subjects_words(sockets),
        answer: answer(sockets),
        because: because(sockets),
        sections: sections(sockets, inference),
        ..Page::default()
    }
}

/// The tables, then the links; for the check-up's page as well.
pub(crate) fn sections(sockets: &Sockets, inference: Option<&Inference>) -> Vec<Section> {
    let mut sections = vec![
        Section::new("memory", "").with(Block::Table(memory(sockets))).with(Block::Table(points(sockets))),
    ];
    if !sockets.equality.is_empty() {
        let title = "Difference from the other CPUs, each in its own memory";
        sections.push(Section::detail("alike", title).with(Block::Table(alike(sockets))));
    }
    let hidden = sockets.because.get(REASONS_FIRST..).unwrap_or_default();
    if !hidden.is_empty() {
        sections.push(Section::detail("reasons", "More reasons").with(Block::List(hidden.to_vec())));
    }
    for (id, title, table) in [
        ("requests", "Outstanding cache-line requests", requests(sockets)),
        ("loaded", "Latency under load", loaded(sockets)),
        ("together", "Triad of several CPUs together", together(sockets)),
        ("lines", "Line transfer between two CPUs", line_transfer(sockets)),
    ] {
        if !table.rows.is_empty() {
            sections.push(Section::detail(id, title).with(Block::Table(table)));
        }
    }
    if let Some(inference) = inference {
        let said = inferred_links::answer(inference);
        sections.push(Section {
            blocks: vec![Block::Text(said)],
            ..Section::detail("links", "Links by latency")
        });
        sections.extend(inferred_links::sections(inference));
    }
    sections.extend(sockets.gate.iter().flat_map(socket_account::reasons));
    sections
}

pub(crate) fn answer(sockets: &Sockets) -> Statement {
    match sockets.verdict {
        SocketVerdict::Alike => {
            Statement::new(Tone::Good, format!("The CPUs are alike: {}.", likeness_words(sockets)))
        }
        SocketVerdict::Asymmetric => {
            let words = asymmetry_words(sockets);
            let words = if words.is_empty() { "the CPUs differ".to_owned() } else { words };
            Statement::new(Tone::Look, format!("{}.", capital(&words)))
        }
        SocketVerdict::Inconclusive => {
            let why = sockets.because.first().map_or_else(String::new, |why| format!(": {why}"));
            Statement::new(Tone::Doubt, format!("Whether the CPUs are alike is undetermined{why}."))
        }
    }
}

pub(crate) fn because(sockets: &Sockets) -> Vec<Statement> {
    let of = |tone: Tone| move |text: String| Statement::new(tone, text);
    let is_answered = usize::from(sockets.verdict == SocketVerdict::Inconclusive);
    let reasons = sockets.because.iter().take(REASONS_FIRST).skip(is_answered).cloned();
    let mut said: Vec<Statement> = reasons.map(of(Tone::Plain)).collect();
    if let Some(gate) = &sockets.gate {
        said.push(socket_account::gate_answer(gate));
        said.extend(socket_account::more_causes(gate));
    }
    said.extend(nodes_words(sockets).filter(|_| !sockets.latency.is_empty()).map(of(Tone::Faint)));
    let stand_for = sockets.subjects.iter().filter(|subject| subject.stands_for.len() > 1);
    let stand_for = stand_for.map(|subject| format!("{} for {}", subject.cpu, subject.stands_for));
    let stand_for: Vec<String> = stand_for.take(PLACES_SHOWN).collect();
    if !stand_for.is_empty() {
        let text = format!("Measured CPUs stand for others: {}.", stand_for.join("; "));
        said.push(Statement::new(Tone::Faint, text));
    }
    said.extend(flight_doubts(sockets).into_iter().chain(sockets.without.clone()).map(of(Tone::Doubt)));
    said
}

/// The nodes whose memory was measured.
fn nodes(sockets: &Sockets) -> Vec<NodeId> {
    let mut nodes: Vec<NodeId> = sockets.latency.iter().map(|one| one.node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

/// A number with its mark, its uncertainty, and its interval.
fn cell(value: f64, spread: &Spread, scale: fn(f64) -> f64) -> Cell {
    let interval = spread.interval.map(scale);
    let text = format!("{}{} {}", column(value), quality_mark(spread.quality), plus_minus(value, interval));
    Cell::within(text.trim_end(), value, interval)
}

/// What a CPU measured in the memory of one node: latency, then a bandwidth for each loop.
fn measured(sockets: &Sockets) -> Vec<(String, CpuId, NodeId, Cell)> {
    let latency = sockets.latency.iter().map(|one| {
        let cell = cell(one.ns, &one.spread, |ns| ns);
        ("latency, ns".to_owned(), one.cpu, one.node, cell)
    });
    let bandwidth = kernels(sockets).into_iter().flat_map(|(kernel, store)| {
        let name = format!("{}, GB/s", naming::series_short(kernel, "", store, false));
        let of = sockets.bandwidth.iter().filter(move |one| one.kernel == kernel && one.store == store);
        of.map(move |one| {
            let cell = cell(gigabytes(one.bytes_per_s), &one.spread, gigabytes);
            (name.clone(), one.cpu, one.node, cell)
        })
    });
    latency.chain(bandwidth).collect()
}

/// A row per quantity and CPU, a column per node; where there is one node, a column per CPU.
fn memory(sockets: &Sockets) -> Table {
    let nodes = nodes(sockets);
    let is_one_node = nodes.len() < 2;
    let (noun, places): (&str, Vec<u32>) = if is_one_node {
        ("CPU", sockets.subjects.iter().map(|subject| subject.cpu.0).collect())
    } else {
        ("node", nodes.iter().map(|node| node.0).collect())
    };
    let cut = if places.len() > PLACES_SHOWN {
        format!("; {PLACES_SHOWN} of {} {noun}s, the rest with --json or --csv", places.len())
    } else {
        String::new()
    };
    let places = &places[..places.len().min(PLACES_SHOWN)];
    let mut columns = vec![Column::word("quantity")];
    columns.extend((!is_one_node).then(|| Column::number("CPU", "")));
    // The last give way on a narrow screen.
    columns.extend(
        (0..).zip(places).map(|(index, place)| Column::number(format!("{noun} {place}"), "").priority(index)),
    );
    let first_rows = ROWS_FIRST.max(2 * sockets.subjects.len().min(ROWS_FIRST));
    let mut table = Table { first_rows: Some(first_rows), ..Table::new("memory", columns) };
    let mut keys: Vec<(String, Option<CpuId>)> = Vec::new();
    for (quantity, cpu, node, cell) in measured(sockets) {
        let (key, place) = if is_one_node { (None, cpu.0) } else { (Some(cpu), node.0) };
        let Some(place) = places.iter().position(|one| *one == place) else { continue };
        let found = keys.iter().position(|(of, by)| *of == quantity && *by == key);
        let row = found.unwrap_or_else(|| {
            let start = [Some(Cell::text(&quantity)), key.map(of_cpu)].into_iter().flatten();
            table.row(start.chain(places.iter().map(|_| Cell::Empty)).collect());
            keys.push((quantity, key));
            keys.len() - 1
        });
        let first = table.columns.len() - places.len();
        table.rows[row].cells[first + place] = cell;
    }
    let axes = if is_one_node { "" } else { "CPU: the one that loads; node: whose memory; " };
    table.legend = Some(format!("{axes}±: 95 % interval; ~ wide, * unstable{cut}"));
    table
}

fn of_cpu(cpu: CpuId) -> Cell {
    Cell::count(cpu.0 as usize)
}

/// Every number of every pair, for programs.
fn points(sockets: &Sockets) -> Table {
    let columns = vec![
        Column::word("quantity"),
        Column::number("CPU", ""),
        Column::number("node", ""),
        Column::number("value", ""),
    ];
    let mut table = Table { is_data: true, ..Table::new("points", columns) };
    for (quantity, cpu, node, cell) in measured(sockets) {
        table.row(vec![Cell::text(quantity), of_cpu(cpu), Cell::count(node.0 as usize), cell]);
    }
    table
}

/// By how much each CPU differs.
fn alike(sockets: &Sockets) -> Table {
    let columns = vec![
        Column::word("quantity"),
        Column::number("CPU", ""),
        Column::number("difference", "%"),
        Column::word("verdict"),
    ];
    let mut table = Table::new("alike", columns);
    for of in &sockets.equality {
        for row in &of.rows {
            let change = |ratio: f64| 100.0 * (ratio - 1.0);
            let (value, interval) = (change(row.ratio), row.interval.map(change));
            let text = format!("{value:+.1} [{:+.1}, {:+.1}]", interval.low, interval.high);
            let (tone, word) = if row.differs { (Tone::Look, "differs") } else { (Tone::Plain, "alike") };
            table.row(vec![
                Cell::text(&of.quantity),
                of_cpu(row.cpu),
                Cell::within(text, value, interval),
                Cell::State(tone, word.to_owned()),
            ]);
        }
    }
    let noise = sockets
        .equality
        .iter()
        .map(|of| format!("{} ±{} over {} rounds", of.quantity, percent(of.aa_half_width), of.rounds));
    let noise = noise.collect::<Vec<_>>().join("; ");
    table.legend = Some(format!("The same CPU differs from itself within this run by: {noise}."));
    table
}

fn requests(sockets: &Sockets) -> Table {
    let columns = vec![
        Column::number("CPU", ""),
        Column::number("node", ""),
        Column::word("kernel"),
        Column::number("lines of 64 B", ""),
    ];
    let mut table = Table::new("requests", columns);
    let cell = |one: &Concurrency| {
        let [value, low, high] = [one.lines, one.interval.low, one.interval.high].map(column);
        let doubt = if one.doubt.is_some() { "?" } else { "" };
        Cell::within(format!("{value}{doubt} [{low}, {high}]"), one.lines, one.interval)
    };
    for one in &sockets.concurrency {
        let node = Cell::count(one.node.0 as usize);
        table.row(vec![of_cpu(one.cpu), node, Cell::text(naming::words(&one.kernel)), cell(one)]);
    }
    table
}

/// Idle latency of each node, and what it becomes.
fn loaded(sockets: &Sockets) -> Table {
    let columns = vec![
        Column::number("node", ""),
        Column::number("CPU", ""),
        Column::word("while these CPUs also load memory"),
        Column::number("their load", "GB/s"),
        Column::number("latency", "ns"),
    ];
    let mut table = Table::new("loaded", columns);
    for one in &sockets.loaded {
        let point = &one.point;
        let load = gigabytes(point.load_bytes_per_s);
        let is_idle = point.loading.is_empty();
        table.row(vec![
            Cell::count(one.node.0 as usize),
            of_cpu(point.cpu),
            Cell::text(if is_idle { "none (idle)".to_owned() } else { point.loading.to_string() }),
            if is_idle { Cell::Empty } else { Cell::number(load) },
            cell(point.ns, &point.spread, |ns| ns),
        ]);
    }
    table
}

fn together(sockets: &Sockets) -> Table {
    let mut table = Table::new("together", vec![Column::word("CPUs"), Column::number("bandwidth", "GB/s")]);
    for one in &sockets.scaling {
        let cell = cell(gigabytes(one.bytes_per_s), &one.spread, gigabytes);
        table.row(vec![Cell::text(one.cpus.to_string()), cell]);
    }
    // Another block at another time: the two may differ.
    table.legend = Some("One CPU alone is measured apart from the table of bandwidths above.".to_owned());
    table
}

fn line_transfer(sockets: &Sockets) -> Table {
    let columns = vec![Column::word("CPUs"), Column::word("protocol"), Column::number("one way", "ns")];
    let mut table = Table::new("lines", columns);
    for one in &sockets.line_transfer {
        table.row(vec![
            Cell::text(format!("{}-{}", one.a, one.b)),
            Cell::text(naming::words(&one.protocol)),
            cell(one.ns, &one.spread, |ns| ns),
        ]);
    }
    table
}

#[cfg(test)]
mod tests;

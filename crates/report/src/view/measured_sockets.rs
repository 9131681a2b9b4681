//! Every CPU against the memory of every node: whether the CPUs are alike, the latencies and bandwidths, and how they were under load.

use machine::{CpuId, NodeId};
use models::interconnect::SocketAccount;
use record::{Concurrency, GateVerdict, SocketGate, SocketVerdict, Sockets, SubjectRow};
use stats::text::capital;

use super::cells::{lines, loaded, margined};
use super::socket_words::{asymmetry_words, flight_doubts, likeness_words, nodes_words, subjects_words};
use super::{inferred_links, socket_account};
use crate::figure::Figure;
use crate::figure::sockets::{self as figures, kernels, nodes};
use crate::naming;
use crate::number::{column, gigabytes, joined, percent};
use crate::page::{Cell, Page, Section, Statement, Table, Tone};

/// Nodes or CPUs shown beside each other; the document and the files of CSV have all.
const PLACES_SHOWN: usize = 16;
/// Rows of a table on a first screen.
const ROWS_FIRST: usize = 6;
/// Reasons on a first screen.
const REASONS_FIRST: usize = 3;

/// What was measured, with the links that it shows; `account` is what the models make of it.
pub fn measured_sockets_page(sockets: &Sockets, account: Option<&SocketAccount>) -> Page {
    Page {
        subject: subjects_words(sockets),
        answer: answer(sockets),
        because: because(sockets),
        sections: sections(sockets, account),
        ..Page::default()
    }
}

/// The figures and tables, then the links; for the check-up's page as well.
pub(crate) fn sections(sockets: &Sockets, account: Option<&SocketAccount>) -> Vec<Section> {
    let inference = account.and_then(|account| account.inference.as_ref());
    let hidden = sockets.because.get(REASONS_FIRST..).unwrap_or_default();
    let alike = Section::new("alike", "Difference from the other CPUs, each in its own memory");
    let details = [
        (!sockets.equality.is_empty()).then(|| alike.table(self::alike(sockets))),
        Section::new("reasons", "More reasons").list(hidden.to_vec()).filled(),
        requests(sockets).section("Outstanding cache-line requests"),
        loaded(sockets.loaded.iter().map(|one| (Some(one.node), &one.point))).section("Latency under load"),
        together(sockets).section("Triad of several CPUs together"),
        lines(&sockets.line_transfer).section("Line transfer between two CPUs"),
        inference
            .map(|found| Section::new("links", "Links by latency").stating([inferred_links::answer(found)])),
    ];
    let memory = Section::new("memory", "").table(memory(sockets)).table(points(sockets));
    [figures(sockets, account), memory]
        .into_iter()
        .chain(details.into_iter().flatten().map(Section::detailed))
        .chain(inference.map(inferred_links::section))
        .chain(sockets.gate.iter().flat_map(socket_account::reasons))
        .collect()
}

/// How nodes are linked, latency and bandwidth by CPU and node.
fn figures(sockets: &Sockets, account: Option<&SocketAccount>) -> Section {
    let titled = |name| Figure::named(name).title;
    let [links, latency, bandwidth] = ["socket-links", "socket-latency", "socket-bandwidth"];
    let graph = figures::links(sockets, account, links);
    let graph = Section::new("figures", "").figure(links, titled(links), graph);
    let with_reads = figures::reads(sockets, account).into_iter().fold(graph, Section::table);
    with_reads
        .figure(latency, titled(latency), figures::latency(sockets, account, latency))
        .figure(bandwidth, titled(bandwidth), figures::bandwidth(sockets, account, bandwidth))
        .of_report()
}

pub(crate) fn answer(sockets: &Sockets) -> Statement {
    let answer = answer_on_cpus(sockets);
    match sockets.machine_nodes.as_slice() {
        [_] => Statement::new(answer.tone, format!("One node, so no sockets to compare. {}", answer.text)),
        _ => answer,
    }
}

/// The gate, where it finds what single CPUs do not show: together they are not alike.
fn contradicting_gate(sockets: &Sockets) -> Option<&SocketGate> {
    let gate = sockets.gate.as_ref().filter(|gate| gate.verdict == GateVerdict::Outside);
    gate.filter(|_| sockets.verdict == SocketVerdict::Alike)
}

fn answer_on_cpus(sockets: &Sockets) -> Statement {
    if let Some(gate) = contradicting_gate(sockets) {
        return socket_account::gate_answer(gate);
    }
    match sockets.verdict {
        SocketVerdict::Alike => Statement::good(format!("The CPUs are alike: {}.", likeness_words(sockets))),
        SocketVerdict::Asymmetric => {
            let words = asymmetry_words(sockets);
            let words = if words.is_empty() { "the CPUs differ".to_owned() } else { words };
            Statement::look(format!("{}.", capital(&words)))
        }
        SocketVerdict::Inconclusive => {
            let why = sockets.because.first().map_or_else(String::new, |why| format!(": {why}"));
            Statement::doubt(format!("Whether the CPUs are alike is undetermined{why}."))
        }
    }
}

pub(crate) fn because(sockets: &Sockets) -> Vec<Statement> {
    let is_answered = usize::from(sockets.verdict == SocketVerdict::Inconclusive);
    let reasons = sockets.because.iter().take(REASONS_FIRST).skip(is_answered);
    let mut said: Vec<Statement> = reasons.map(Statement::plain).collect();
    if let Some(gate) = &sockets.gate {
        said.push(match contradicting_gate(sockets) {
            Some(_) => {
                Statement::plain(format!("One at a time the CPUs are alike: {}.", likeness_words(sockets)))
            }
            None => socket_account::gate_answer(gate),
        });
        said.extend(socket_account::more_causes(gate));
    }
    said.extend(nodes_words(sockets).filter(|_| !sockets.latency.is_empty()).map(Statement::faint));
    let stand_for = sockets.subjects.iter().filter(|subject| subject.stands_for.len() > 1);
    let stand_for = stand_for.map(|subject| format!("{} for {}", subject.cpu, subject.stands_for));
    let stand_for = joined(stand_for.take(PLACES_SHOWN), "; ");
    if !stand_for.is_empty() {
        said.push(Statement::faint(format!("Measured CPUs stand for others: {stand_for}.")));
    }
    said.extend(flight_doubts(sockets).into_iter().chain(sockets.without.clone()).map(Statement::doubt));
    said
}

/// What a CPU measured in the memory of one node: latency, then a bandwidth for each loop.
fn measured(sockets: &Sockets) -> Vec<(String, CpuId, NodeId, Cell)> {
    let latency = sockets.latency.iter().map(|one| {
        let cell = margined(one.ns, &one.spread, |ns| ns);
        ("latency, ns".to_owned(), one.cpu, one.node, cell)
    });
    let bandwidth = kernels(sockets).into_iter().flat_map(|(kernel, store)| {
        let name = format!("{}, GB/s", naming::series_short(kernel, store));
        let of = sockets.bandwidth.iter().filter(move |one| one.kernel == kernel && one.store == store);
        of.map(move |one| {
            let cell = margined(one.bytes_per_s, &one.spread, gigabytes);
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
    let place = |cpu: CpuId, node: NodeId| if is_one_node { (None, cpu.0) } else { (Some(cpu), node.0) };
    let shown = measured(sockets).into_iter().filter_map(|(quantity, cpu, node, cell)| {
        let (key, place) = place(cpu, node);
        Some(((quantity, key), (places.iter().position(|one| *one == place)?, cell)))
    });
    let mut rows =
        Table::of("memory", naming::grouped(shown)).word("quantity", |((quantity, _), _)| quantity.clone());
    if !is_one_node {
        rows = rows.number("CPU", |((_, cpu), _)| *cpu);
    }
    let first_rows = ROWS_FIRST.max(2 * sockets.subjects.len().min(ROWS_FIRST));
    let axes = if is_one_node { "" } else { "CPU: the one that loads; node: whose memory; " };
    // The last give way on a narrow screen.
    let columns = places.iter().enumerate().fold(rows, |rows, (index, name)| {
        rows.number((format!("{noun} {name}"), index as u8), |(_, cells)| {
            cells.iter().rfind(|(place, _)| *place == index).map(|(_, cell)| cell.clone())
        })
    });
    columns.first(first_rows).legend(format!("{axes}±: 95 % interval; ~ wide, * unstable{cut}"))
}

/// Every number of every pair, for programs.
fn points(sockets: &Sockets) -> Table {
    Table::of("points", measured(sockets))
        .word("quantity", |(quantity, ..)| quantity.clone())
        .number("CPU", |(_, cpu, ..)| *cpu)
        .number("node", |(_, _, node, _)| node.0)
        .number("value", |(.., cell)| cell.clone())
        .data()
}

/// By how much each CPU differs.
fn alike(sockets: &Sockets) -> Table {
    let difference = |row: &SubjectRow| {
        let change = |ratio: f64| 100.0 * (ratio - 1.0);
        let (value, ends) = (change(row.ratio), row.interval.map(change));
        Cell::within(format!("{value:+.1} [{:+.1}, {:+.1}]", ends.low, ends.high), value, ends)
    };
    let noise = sockets
        .equality
        .iter()
        .map(|of| format!("{} ±{} over {} rounds", of.quantity, percent(of.aa_half_width), of.rounds));
    let noise = joined(noise, "; ");
    Table::of("alike", sockets.equality.iter().flat_map(|of| of.rows.iter().map(move |row| (of, row))))
        .word("quantity", |(of, _)| &of.quantity)
        .number("CPU", |(_, row)| row.cpu)
        .number(("difference", "%"), |(_, row)| difference(row))
        .word(
            "verdict",
            |(_, row)| if row.differs { (Tone::Look, "differs") } else { (Tone::Plain, "alike") },
        )
        .legend(format!("The same CPU differs from itself within this run by: {noise}."))
}

fn requests(sockets: &Sockets) -> Table {
    let lines = |one: &Concurrency| {
        let [value, low, high] = [one.lines, one.interval.low, one.interval.high].map(column);
        let doubt = if one.doubt.is_some() { "?" } else { "" };
        Cell::within(format!("{value}{doubt} [{low}, {high}]"), one.lines, one.interval)
    };
    Table::of("requests", &sockets.concurrency)
        .number("CPU", |one| one.cpu)
        .number("node", |one| one.node.0)
        .word("kernel", |one| naming::words(&one.kernel))
        .number("lines of 64 B", |one| lines(one))
        .table()
}

fn together(sockets: &Sockets) -> Table {
    // Another block at another time: the two may differ.
    Table::of("together", &sockets.scaling)
        .word("CPUs", |one| one.cpus.to_string())
        .number(("bandwidth", "GB/s"), |one| margined(one.bytes_per_s, &one.spread, gigabytes))
        .legend("One CPU alone is measured apart from the table of bandwidths above.")
}

#[cfg(test)]
mod tests {
    use machine::CpuSet;
    use record::{
        LoadedLatency, NodeBandwidth, NodeLatency, NodeLoadedLatency, SocketSubject, Spread, SubjectEquality,
        SubjectRow,
    };
    use stats::Interval;

    use super::*;
    use crate::Terminal;
    use crate::view::socket_words::own_node;

    fn subject(cpu: CpuId) -> SocketSubject {
        SocketSubject { cpu, package: None, node: None, stands_for: CpuSet::new() }
    }

    fn sockets(cpus: u32, nodes: u32) -> Sockets {
        let pairs = || (0..cpus).flat_map(move |cpu| (0..nodes).map(move |node| (CpuId(cpu), NodeId(node))));
        Sockets {
            verdict: SocketVerdict::Asymmetric,
            because: vec!["latency: CPU 0 takes 16.0 % longer than the others".to_owned()],
            subjects: (0..cpus).map(CpuId).map(subject).collect(),
            latency: pairs()
                .map(|(cpu, node)| NodeLatency {
                    cpu,
                    node,
                    ns: 123.4,
                    standard_error_ns: 1.2,
                    spread: Spread { interval: Interval { low: 121.0, high: 125.8 }, ..Spread::default() },
                })
                .collect(),
            bandwidth: pairs()
                .map(|(cpu, node)| NodeBandwidth {
                    cpu,
                    node,
                    kernel: "triad".to_owned(),
                    isa: "avx2".to_owned(),
                    store: "plain".to_owned(),
                    bytes_per_s: 12.3e9,
                    bus_bytes_per_s: 16.4e9,
                    spread: Spread { interval: Interval { low: 12.0e9, high: 12.6e9 }, ..Spread::default() },
                })
                .collect(),
            loaded: (0..nodes)
                .flat_map(|node| [0, cpus].map(|load| (NodeId(node), load)))
                .map(|(node, load)| NodeLoadedLatency {
                    node,
                    point: LoadedLatency {
                        cpu: CpuId(0),
                        loading: (1..load).map(CpuId).collect(),
                        block_bytes: None,
                        page_bytes: None,
                        load_bytes_per_s: 12.3e9,
                        load_interval: Interval { low: 12.0e9, high: 12.6e9 },
                        overlapped_windows: 32,
                        ns: 234.5,
                        spread: Spread {
                            interval: Interval { low: 230.0, high: 239.0 },
                            ..Spread::default()
                        },
                    },
                })
                .collect(),
            equality: vec![SubjectEquality {
                quantity: "latency".to_owned(),
                verdict: SocketVerdict::Asymmetric,
                aa_half_width: 0.004,
                rounds: 24,
                rows: (0..cpus)
                    .map(|cpu| SubjectRow {
                        cpu: CpuId(cpu),
                        ratio: 1.16,
                        interval: Interval { low: 1.15, high: 1.17 },
                        differs: true,
                    })
                    .collect(),
            }],
            ..Sockets::default()
        }
    }

    /// What is said of CPUs on two nodes of which only one was measured, and of a machine whose nodes were not read.
    #[test]
    fn nodes_that_were_not_measured_or_not_read_are_unknown() {
        let mut partly = sockets(2, 2);
        partly.machine_nodes = vec![NodeId(0), NodeId(1)];
        for subject in &mut partly.subjects {
            subject.node = Some(NodeId(subject.cpu.0));
        }
        assert_eq!((nodes_words(&partly), own_node(&partly, &partly.subjects[0])), (None, Some(NodeId(0))));
        partly.latency.retain(|one| one.node == NodeId(1));
        assert_eq!(own_node(&partly, &partly.subjects[0]), None);
        let text = measured_sockets_page(&partly, None).terminal(Terminal::default(), false);
        assert!(text.starts_with("2 CPUs, 1 of them measured in its own memory"), "{text}");
        assert!(text.contains("Of 2 nodes only the memory of node 1 was measured"), "{text}");
        assert!(!text.contains("There is one node"), "{text}");
        let mut unread = sockets(2, 1);
        assert!(nodes_words(&unread).is_some_and(|text| text.contains("unknown")));
        unread.machine_nodes = vec![NodeId(0)];
        assert!(nodes_words(&unread).is_some_and(|text| text.starts_with("There is one node")));
    }

    #[test]
    fn the_page_begins_with_the_verdict_and_fits_a_screen_of_80_columns() {
        for (cpus, nodes) in [(0, 0), (1, 1), (2, 1), (8, 8), (64, 64)] {
            let page = measured_sockets_page(&sockets(cpus, nodes), None);
            let first = page.terminal(Terminal::default(), false);
            assert!(first.starts_with(&format!("{}\n", subjects_words(&sockets(cpus, nodes)))), "{first}");
            assert!(cpus == 0 || first.contains("Latency 15.0 to 17.0 % longer on"), "{first}");
            assert!(first.lines().count() <= 24, "{first}");
            let text = page.terminal(Terminal::default(), true);
            assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
            let points = page.csv().into_iter().find(|(id, _)| *id == "points").expect("it is there").1;
            assert_eq!(points.lines().count(), 1 + 2 * cpus as usize * nodes as usize);
        }
    }
}

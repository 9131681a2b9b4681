//! Every CPU against the memory of every node, as text: the verdict first, then matrices, lines in flight, scaling.

mod figures;
mod links;
mod page;
mod words;

use machine::{CpuId, CpuSet, NodeId};
use record::{NodeBandwidth, SocketSubject, SocketVerdict, Sockets};

use crate::escape::plain;
use crate::naming;
use crate::number::{self, column, gigabytes, percent, plus_minus, quality_mark};
use crate::terminal::{Ink, Paper, Terminal, table_of};

/// Nodes shown beside each other; --json has all.
const NODES_SHOWN: usize = 8;
/// CPUs shown below each other.
const CPUS_SHOWN: usize = 24;

pub(crate) use figures::{bandwidth, graph, latency, links, read_map, together};
pub(crate) use page::{head, section};
pub(crate) use words::{asymmetry_words, flight_doubts, likeness_words, nodes_words, subjects_words};

/// The page.
pub fn measured_sockets_terminal(sockets: &Sockets, terminal: Terminal) -> String {
    let mut paper = Paper::new(terminal);
    opening(&mut paper, sockets);
    latencies(&mut paper, sockets);
    bandwidths(&mut paper, sockets);
    likeness(&mut paper, sockets);
    under_load(&mut paper, sockets);
    for scaling in &sockets.scaling {
        let value = gigabytes(scaling.bytes_per_s);
        paper.wrapped(
            "together ",
            &format!(
                "{}: triad {} GB/s{} {}",
                at_work(&scaling.cpus),
                column(value),
                quality_mark(scaling.spread.quality),
                plus_minus(value, scaling.spread.interval.map(gigabytes))
            ),
        );
    }
    for transfer in sockets.line_transfer.iter().take(CPUS_SHOWN) {
        paper.wrapped(
            "line     ",
            &format!(
                "CPUs {}-{}, {}: {} ns {}",
                transfer.a,
                transfer.b,
                naming::words(&transfer.protocol),
                column(transfer.ns),
                plus_minus(transfer.ns, transfer.spread.interval)
            ),
        );
    }
    if sockets.line_transfer.len() > CPUS_SHOWN {
        let more = number::count(sockets.line_transfer.len() - CPUS_SHOWN, "more pair");
        paper.faint(&format!("{more} of CPUs: --json has them"));
    }
    for line in &sockets.without {
        paper.wrapped_inked(Ink::Doubt, "? ", &plain(line));
    }
    paper.finish()
}

/// Who took part in a step of the curve of CPUs together. One alone has its own number in the table of bandwidths: another
/// block at another time, so that the two may differ.
fn at_work(cpus: &CpuSet) -> String {
    match cpus.len() {
        1 => format!("CPU {cpus} alone, first of this curve and measured apart from the table above"),
        _ => format!("CPUs {cpus}"),
    }
}

fn opening(paper: &mut Paper, sockets: &Sockets) {
    let (ink, verdict) = match sockets.verdict {
        SocketVerdict::Alike => (Ink::Good, "alike"),
        SocketVerdict::Asymmetric => (Ink::Warning, "asymmetric"),
        SocketVerdict::Inconclusive => (Ink::Doubt, "inconclusive"),
    };
    paper.inked(ink, &format!("{}: {verdict}", subjects_words(sockets)));
    for reason in sockets.because.iter().take(CPUS_SHOWN) {
        paper.wrapped("  ", &plain(reason));
    }
    if sockets.because.len() > CPUS_SHOWN {
        let more = number::count(sockets.because.len() - CPUS_SHOWN, "more line");
        paper.faint(&format!("  {more}: --json has them"));
    }
    let stand_for = sockets.subjects.iter().filter(|subject| subject.stands_for.len() > 1);
    for subject in stand_for.take(CPUS_SHOWN) {
        paper.faint(&format!("  CPU {} stands for CPUs {}", subject.cpu, subject.stands_for));
    }
    if let Some(told) = nodes_words(sockets).filter(|_| !sockets.latency.is_empty()) {
        paper.wrapped_inked(Ink::Faint, "  ", &told);
    }
    paper.blank();
}

fn nodes_measured(sockets: &Sockets) -> Vec<NodeId> {
    let mut nodes: Vec<NodeId> = sockets.latency.iter().map(|latency| latency.node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

/// The CPUs and nodes that are shown.
fn places(sockets: &Sockets) -> (Vec<CpuId>, Vec<NodeId>) {
    let cpus = sockets.subjects.iter().map(|subject| subject.cpu).take(CPUS_SHOWN).collect();
    let mut nodes = nodes_measured(sockets);
    nodes.truncate(NODES_SHOWN);
    (cpus, nodes)
}

/// One row per CPU, one column per node.
fn matrix(paper: &mut Paper, title: &str, sockets: &Sockets, cell: &dyn Fn(CpuId, NodeId) -> Option<String>) {
    let (cpus, nodes) = places(sockets);
    let headers: Vec<String> =
        std::iter::once(title.to_owned()).chain(nodes.iter().map(|node| format!("node {node}"))).collect();
    let mut table = table_of(&headers);
    for cpu in cpus {
        let cells = nodes.iter().map(|&node| cell(cpu, node).unwrap_or_else(|| "-".to_owned()));
        table.add_row(std::iter::once(format!("CPU {cpu}")).chain(cells).collect::<Vec<String>>());
    }
    paper.table(table);
    paper.blank();
}

fn latencies(paper: &mut Paper, sockets: &Sockets) {
    if sockets.latency.is_empty() {
        return;
    }
    matrix(paper, "latency, ns", sockets, &|cpu, node| {
        let latency = sockets.latency.iter().find(|one| one.cpu == cpu && one.node == node)?;
        let mark = quality_mark(latency.spread.quality);
        Some(format!("{}{mark} ±{:.1}", column(latency.ns), latency.standard_error_ns))
    });
    let legend = "± standard error; row: the CPU that loads, column: the node whose memory it loads";
    paper.wrapped_inked(Ink::Faint, "", legend);
    left_out(paper, sockets);
    paper.blank();
}

/// What no table below has room for.
fn left_out(paper: &mut Paper, sockets: &Sockets) {
    let count = |all: usize, shown: usize, what: &str| {
        (all > shown).then(|| number::count(all - shown, &format!("more {what}")))
    };
    let cpus = count(sockets.subjects.len(), CPUS_SHOWN, "CPU");
    let nodes = count(nodes_measured(sockets).len(), NODES_SHOWN, "node");
    let more: Vec<String> = cpus.into_iter().chain(nodes).collect();
    if !more.is_empty() {
        paper.faint(&format!("{}, here and below: --json has them", more.join(", ")));
    }
}

/// Kernels with their kinds of store, in the order measured.
fn kernels(sockets: &Sockets) -> Vec<(&str, &str)> {
    let mut kernels: Vec<(&str, &str)> = Vec::new();
    for one in &sockets.bandwidth {
        if !kernels.contains(&(&one.kernel, &one.store)) {
            kernels.push((&one.kernel, &one.store));
        }
    }
    kernels
}

/// The node whose memory is a CPU's own, if it was measured; where the machine tells of no node, the one that it reaches soonest.
fn own_node(sockets: &Sockets, subject: &SocketSubject) -> Option<NodeId> {
    let mut of_cpu = sockets.latency.iter().filter(|one| one.cpu == subject.cpu);
    match subject.node {
        Some(own) => of_cpu.any(|one| one.node == own).then_some(own),
        None => of_cpu.min_by(|a, b| a.ns.total_cmp(&b.ns)).map(|one| one.node),
    }
}

fn bandwidths(paper: &mut Paper, sockets: &Sockets) {
    let kernels = kernels(sockets);
    let is_one_node = places(sockets).1.len() <= 1;
    if is_one_node {
        by_kernel(paper, sockets, &kernels);
        return;
    }
    for (kernel, store) in kernels {
        let title = format!("{}, GB/s", naming::series_short(kernel, "", store, false));
        matrix(paper, &title, sockets, &|cpu, node| {
            let of = |one: &&NodeBandwidth| {
                one.cpu == cpu && one.node == node && one.kernel == kernel && one.store == store
            };
            sockets.bandwidth.iter().find(of).map(rate)
        });
    }
}

fn rate(one: &NodeBandwidth) -> String {
    let value = gigabytes(one.bytes_per_s);
    let mark = quality_mark(one.spread.quality);
    format!("{}{mark} {}", column(value), plus_minus(value, one.spread.interval.map(gigabytes)))
}

/// With one node, kernels stand beside each other.
fn by_kernel(paper: &mut Paper, sockets: &Sockets, kernels: &[(&str, &str)]) {
    if kernels.is_empty() {
        return;
    }
    let names = kernels.iter().map(|(kernel, store)| naming::series_short(kernel, "", store, false));
    let headers: Vec<String> = std::iter::once("GB/s".to_owned()).chain(names).collect();
    let mut table = table_of(&headers);
    for cpu in places(sockets).0 {
        let cell = |(kernel, store): &(&str, &str)| {
            let of = |one: &&NodeBandwidth| one.cpu == cpu && one.kernel == *kernel && one.store == *store;
            sockets.bandwidth.iter().find(of).map_or_else(|| "-".to_owned(), rate)
        };
        table.add_row(
            std::iter::once(format!("CPU {cpu}")).chain(kernels.iter().map(cell)).collect::<Vec<String>>(),
        );
    }
    paper.table(table);
    paper.blank();
}

fn likeness(paper: &mut Paper, sockets: &Sockets) {
    for of in &sockets.equality {
        let rows = of.rows.iter().take(CPUS_SHOWN).map(|row| {
            format!(
                "CPU {} {:+.1} % [{:+.1}, {:+.1}]{}",
                row.cpu,
                100.0 * (row.ratio - 1.0),
                100.0 * (row.interval.low - 1.0),
                100.0 * (row.interval.high - 1.0),
                if row.differs { " !" } else { "" }
            )
        });
        paper.wrapped(
            "alike    ",
            &format!(
                "{}: {}; the same CPU differs from itself by ±{} within this run, over {} rounds",
                plain(&of.quantity),
                rows.collect::<Vec<_>>().join(", "),
                percent(of.aa_half_width),
                of.rounds
            ),
        );
    }
    let lines = sockets.concurrency.iter().take(CPUS_SHOWN).map(|one| {
        format!(
            "CPU {} node {} {} {}{} [{}, {}]",
            one.cpu,
            one.node,
            plain(&one.kernel),
            column(one.lines),
            if one.doubt.is_some() { "?" } else { "" },
            column(one.interval.low),
            column(one.interval.high)
        )
    });
    let lines: Vec<String> = lines.collect();
    if !lines.is_empty() {
        paper.wrapped("flying   ", &format!("lines of 64 B at once: {}", lines.join(", ")));
    }
    for doubt in flight_doubts(sockets) {
        paper.wrapped_inked(Ink::Doubt, "? ", &plain(&doubt));
    }
}

/// Idle latency of each node, and what it becomes.
fn under_load(paper: &mut Paper, sockets: &Sockets) {
    let mut nodes: Vec<NodeId> = sockets.loaded.iter().map(|one| one.node).collect();
    nodes.dedup();
    for node in nodes.into_iter().take(CPUS_SHOWN) {
        let points = sockets.loaded.iter().filter(|one| one.node == node).map(|one| &one.point);
        let told: Vec<String> = points
            .clone()
            .map(|point| {
                let load = match point.loading.len() {
                    0 => "idle".to_owned(),
                    _ => format!(
                        "beside CPUs {} at {} GB/s",
                        point.loading,
                        column(gigabytes(point.load_bytes_per_s))
                    ),
                };
                let mark = quality_mark(point.spread.quality);
                format!(
                    "{load} {} ns{mark} {}",
                    column(point.ns),
                    plus_minus(point.ns, point.spread.interval)
                )
            })
            .collect();
        let cpu = points.map(|point| point.cpu).next().map_or_else(String::new, |cpu| cpu.to_string());
        paper.wrapped("loaded   ", &format!("CPU {cpu} to node {node}: {}", told.join("; ")));
    }
}

#[cfg(test)]
mod tests {
    use record::{
        LoadedLatency, NodeLatency, NodeLoadedLatency, SocketSubject, Spread, SubjectEquality, SubjectRow,
    };
    use stats::Interval;

    use super::*;

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
        let text = measured_sockets_terminal(&partly, Terminal::default());
        assert!(text.starts_with("2 CPUs, 1 of them measured in its own memory"), "{text}");
        assert!(text.contains("Of 2 nodes only the memory of node 1 was measured"), "{text}");
        assert!(!text.contains("There is one node"), "{text}");
        let mut unread = sockets(2, 1);
        assert!(nodes_words(&unread).is_some_and(|told| told.contains("unknown")));
        unread.machine_nodes = vec![NodeId(0)];
        assert!(nodes_words(&unread).is_some_and(|told| told.starts_with("There is one node")));
    }

    #[test]
    fn the_page_begins_with_the_verdict_and_keeps_to_80_columns() {
        for (cpus, nodes) in [(0, 0), (1, 1), (2, 1), (8, 8), (64, 64)] {
            let text = measured_sockets_terminal(&sockets(cpus, nodes), Terminal::default());
            assert!(
                text.starts_with(&format!("{}: asymmetric\n", subjects_words(&sockets(cpus, nodes)))),
                "{text}"
            );
            assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
            let left_out = text.contains("40 more CPUs, 56 more nodes, here and below: --json has them");
            assert_eq!(left_out, cpus == 64, "{text}");
        }
    }
}

//! Pages of measured sockets: what comes first, what fits, and what is unknown.

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
                    spread: Spread { interval: Interval { low: 230.0, high: 239.0 }, ..Spread::default() },
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

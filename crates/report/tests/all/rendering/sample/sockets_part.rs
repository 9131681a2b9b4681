//! Measured sockets of simulated machines: what their models give stands in the place of what was measured.

use machine::{CpuId, CpuSet, NodeId};
use models::interconnect::{SocketMachine, Variant, simulate};
use record::{
    Concurrency, NodeBandwidth, NodeLatency, PackageScaling, SOCKETS_SCHEMA, SocketNode, SocketSubject,
    SocketVerdict, Sockets, SubjectEquality, SubjectRow,
};

use super::{around, spread};

/// CPUs of a package, numbered one package after the other.
const CPUS_PER_PACKAGE: u32 = 4;
/// Relative half-width of every interval.
const HALF_WIDTH: f64 = 0.01;

/// A machine whose packages each have a node, as its description gives it: latencies, and triads by Little's law.
pub(crate) fn of_known(name: &str) -> Sockets {
    let machine: SocketMachine = models::known(name).expect("a known machine");
    let run = simulate(&machine, &Variant::default()).expect("it runs");
    of_latencies(&run.latency_ns, &(0..run.rows.len() as u32).collect::<Vec<_>>())
}

/// Two Sapphire Rapids cut into four clusters each, with the latencies that somebody measured and published.
pub(crate) fn of_clusters() -> Sockets {
    const CLUSTERS_PER_PACKAGE: i64 = 4;
    let matrix = include_str!("../../../../../../tests/cli/matrices/spr-snc4.csv");
    let rows = matrix.lines().filter(|line| !line.starts_with('#'));
    let row = |line: &str| line.split(',').map(|ns| ns.parse().expect("a number")).collect();
    let published: Vec<Vec<f64>> = rows.map(row).collect();
    let mut sockets = of_latencies(&published, &(0..published.len() as u32).collect::<Vec<_>>());
    for subject in &mut sockets.subjects {
        subject.package = subject.package.map(|cluster| cluster / CLUSTERS_PER_PACKAGE);
    }
    sockets
}

/// A machine of these latencies, by node that reads (row) and node that is read; nodes may have gaps in their numbers. Columns
/// beyond the rows are memory without CPUs.
pub(crate) fn of_latencies(latency_ns: &[Vec<f64>], nodes: &[u32]) -> Sockets {
    let packages = latency_ns.len() as u32;
    let own_ns: Vec<f64> = latency_ns.iter().enumerate().map(|(package, row)| row[package]).collect();
    let mean_ns = own_ns.iter().sum::<f64>() / own_ns.len() as f64;
    let differs = own_ns.iter().any(|ns| (ns / mean_ns - 1.0).abs() > 0.02);
    let verdict = if differs { SocketVerdict::Asymmetric } else { SocketVerdict::Alike };
    let row = |package: u32, ns: f64| SubjectRow {
        cpu: first_cpu(package),
        ratio: ns / mean_ns,
        interval: around(ns / mean_ns, HALF_WIDTH / 2.0),
        differs,
    };
    let mut sockets = Sockets {
        schema: SOCKETS_SCHEMA,
        verdict,
        because: vec!["simulated: no number of these was measured".to_owned()],
        subjects: (0..packages).map(|package| subject(package, nodes[package as usize])).collect(),
        nodes: nodes.iter().map(|&node| measured_node(node)).collect(),
        scaling: (0..packages).zip(&own_ns).flat_map(|(package, &ns)| scaling(package, rate(ns))).collect(),
        equality: vec![SubjectEquality {
            quantity: "latency".to_owned(),
            verdict,
            aa_half_width: 0.004,
            rounds: 24,
            rows: (0..packages).zip(&own_ns).map(|(package, &ns)| row(package, ns)).collect(),
        }],
        elapsed_s: 6.0,
        ..Sockets::default()
    };
    for (package, row) in (0..packages).zip(latency_ns) {
        for (&node, &ns) in nodes.iter().zip(row) {
            add_cell(&mut sockets, first_cpu(package), NodeId(node), ns);
        }
    }
    sockets
}

fn first_cpu(package: u32) -> CpuId {
    CpuId(package * CPUS_PER_PACKAGE)
}

fn cpus_of(package: u32) -> CpuSet {
    (package * CPUS_PER_PACKAGE..(package + 1) * CPUS_PER_PACKAGE).map(CpuId).collect()
}

/// Eight outstanding lines.
fn rate(ns: f64) -> f64 {
    8.0 * 64.0 / ns * 1e9
}

fn subject(package: u32, node: u32) -> SocketSubject {
    SocketSubject {
        cpu: first_cpu(package),
        package: Some(i64::from(package)),
        node: Some(NodeId(node)),
        stands_for: cpus_of(package),
    }
}

fn measured_node(node: u32) -> SocketNode {
    SocketNode { node: NodeId(node), block_bytes: machine::Bytes(64 << 20), placed_share: Some(1.0) }
}

/// What one CPU gets from one node.
fn add_cell(sockets: &mut Sockets, cpu: CpuId, node: NodeId, ns: f64) {
    sockets.latency.push(NodeLatency {
        cpu,
        node,
        ns,
        standard_error_ns: 0.8,
        spread: spread(ns, HALF_WIDTH),
    });
    for (kernel, store) in [("triad", "plain"), ("read", "none")] {
        sockets.bandwidth.push(NodeBandwidth {
            cpu,
            node,
            kernel: kernel.to_owned(),
            isa: "sse2".to_owned(),
            store: store.to_owned(),
            bytes_per_s: rate(ns),
            bus_bytes_per_s: rate(ns),
            spread: spread(rate(ns), HALF_WIDTH),
        });
    }
    sockets.concurrency.push(Concurrency {
        doubt: None,
        cpu,
        node,
        kernel: "triad".to_owned(),
        lines: 8.0,
        interval: around(8.0, 2.0 * HALF_WIDTH),
    });
}

/// 1, 2 and 4 CPUs of a package, up to a roof of two and a half CPUs.
fn scaling(package: u32, single: f64) -> [PackageScaling; 3] {
    [1_usize, 2, 4].map(|count| {
        let rate = single * (count as f64).min(2.5);
        PackageScaling {
            package: Some(i64::from(package)),
            cpus: cpus_of(package).iter().take(count).collect(),
            bytes_per_s: rate,
            spread: spread(rate, HALF_WIDTH),
        }
    })
}

/// Two CPUs of one node: nothing but the table can be shown.
pub(crate) fn of_one_node() -> Sockets {
    let mut sockets = of_latencies(&[vec![95.0, 95.4]], &[0, 1]);
    let second = SocketSubject { cpu: CpuId(1), ..sockets.subjects[0].clone() };
    sockets.subjects.push(second);
    for one in &mut sockets.latency {
        (one.cpu, one.node) = (CpuId(one.node.0), NodeId(0));
    }
    for one in &mut sockets.bandwidth {
        (one.cpu, one.node) = (CpuId(one.node.0), NodeId(0));
    }
    for one in &mut sockets.concurrency {
        (one.cpu, one.node) = (CpuId(one.node.0), NodeId(0));
    }
    sockets.nodes.truncate(1);
    sockets.machine_nodes = vec![NodeId(0)];
    sockets.scaling.truncate(2);
    sockets.verdict = SocketVerdict::Inconclusive;
    sockets.because = vec![
        "latency: the same CPU differs from itself by ±3.1 %, too much to call the CPUs alike".to_owned(),
    ];
    sockets
}

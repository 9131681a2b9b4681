//! What was measured of sockets beside what one model makes of it: latencies over links, bandwidth by outstanding lines.
//!
//! ```text
//! graph      the one that the latencies tell; else that of firmware, if latencies follow its links; else none
//! latency    what the model of that graph says, fitted to the matrix; without a graph the mean of its kind
//! bandwidth  C 64 B / L (Little's law), with one C for all sockets: what differs then comes from the latencies
//! ```
//! A triad waits for three lines per row where stores allocate, and counts three: their number cancels.

use serde::Serialize;

use super::firmware::FirmwareGraph;
use super::graph::{Graph, Hops};
use super::inference::{Explanation, Inference, Verdict, infer, over_known_links, without_links};
use super::matrix::Matrix;
use super::simulation::{Alternative, alternatives};
use crate::published::{Misses, missed_percent};

/// Bytes of a cache line on x86-64.
const LINE_BYTES: f64 = 64.0;

/// One socket, by the CPU that was measured for it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MeasuredSocket {
    /// The CPU.
    pub cpu: u32,
    /// The node whose memory is its own.
    pub node: Option<u32>,
    /// Latency to its own memory.
    pub latency_ns: Option<f64>,
    /// Triad in its own memory with stores that allocate, 10^6 bytes per second as STREAM counts them.
    pub triad_mb_per_s: Option<f64>,
}

/// One socket, measured and predicted.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AccountRow {
    /// The CPU.
    pub cpu: u32,
    /// The node whose memory is its own.
    pub node: Option<u32>,
    /// Links to the farthest node, over the graph used.
    pub eccentricity: Option<u32>,
    /// The nodes that far.
    pub farthest: Vec<u32>,
    /// Latency to its own memory, as measured.
    pub latency_ns: Option<f64>,
    /// As the model has it.
    pub latency_predicted_ns: Option<f64>,
    /// By how much the model misses what was measured, in per cent of that.
    pub latency_error_percent: Option<f64>,
    /// Triad as measured.
    pub triad_mb_per_s: Option<f64>,
    /// As the model has it.
    pub triad_predicted_mb_per_s: Option<f64>,
    /// By how much the model misses what was measured, in per cent of that.
    pub triad_error_percent: Option<f64>,
    /// Outstanding lines that this CPU's own latency and triad make.
    pub lines: Option<f64>,
}

/// The links that the predictions go over.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GraphUsed {
    /// Who tells it.
    pub source: String,
    /// Whether the latencies alone tell it.
    pub is_inferred: bool,
    /// The links.
    pub edges: Vec<[u32; 2]>,
    /// Links to the farthest of each node of the matrix; empty if they do not join all.
    pub eccentricities: Vec<u32>,
}

/// All of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SocketAccount {
    /// A row per CPU.
    pub rows: Vec<AccountRow>,
    /// What the matrix of latencies tells of links; none with fewer than two nodes that have CPUs and memory.
    pub inference: Option<Inference>,
    /// The graph that was used; none if no links are identifiable.
    pub graph: Option<GraphUsed>,
    /// How latencies come about over it.
    pub explanation: Option<Explanation>,
    /// Outstanding lines, one number for all.
    pub lines: Option<f64>,
    /// Latencies of the own memory.
    pub latency: Option<Misses>,
    /// Triads in the own memory.
    pub triad: Option<Misses>,
    /// Other readings of the same triads, if there were no latencies.
    pub degeneracy: Vec<Alternative>,
}

/// Explains what was measured; `known` are links known from elsewhere, the most trusted first.
pub fn account(
    sockets: &[MeasuredSocket],
    matrix: Option<&Matrix>,
    known: &[FirmwareGraph],
) -> SocketAccount {
    let inference = matrix.map(infer);
    let chosen = matrix
        .zip(inference.as_ref())
        .map(|(matrix, inference)| choose(&matrix.with_error(inference.standard_error), inference, known));
    let chosen = chosen.unwrap_or_default();
    let hops = chosen.graph.as_ref().and_then(Graph::hops);
    let nodes: Vec<u32> = matrix.map(|matrix| matrix.nodes.clone()).unwrap_or_default();
    let mean_ns = geometric_mean(sockets.iter().filter_map(|socket| socket.latency_ns));
    let mut rows: Vec<AccountRow> = Vec::new();
    for socket in sockets {
        let place = socket.node.and_then(|node| nodes.iter().position(|other| *other == node));
        let by_model = chosen.explanation.as_ref().map_or(mean_ns, |explanation| {
            place.and_then(|place| explanation.predicted(hops.as_ref(), place, place))
        });
        let far = hops.as_ref().zip(place);
        rows.push(AccountRow {
            cpu: socket.cpu,
            node: socket.node,
            eccentricity: far.map(|(hops, place)| hops.eccentricity(place)),
            farthest: far.map_or_else(Vec::new, |(hops, place)| {
                hops.farthest(place).into_iter().map(|other| nodes[other]).collect()
            }),
            latency_ns: socket.latency_ns,
            latency_predicted_ns: by_model,
            latency_error_percent: missed_percent(by_model, socket.latency_ns),
            triad_mb_per_s: socket.triad_mb_per_s,
            triad_predicted_mb_per_s: None,
            triad_error_percent: None,
            lines: socket.latency_ns.zip(socket.triad_mb_per_s).map(|(ns, rate)| lines(ns, rate)),
        });
    }
    let lines = predict_triads(&mut rows);
    let eccentricities = hops.as_ref().map(Hops::eccentricities).unwrap_or_default();
    SocketAccount {
        latency: Misses::of(rows.iter().map(|row| row.latency_error_percent)),
        triad: Misses::of(rows.iter().map(|row| row.triad_error_percent)),
        degeneracy: degeneracy(&rows),
        graph: chosen.graph.map(|graph| GraphUsed {
            source: chosen.source,
            is_inferred: chosen.is_inferred,
            edges: graph.numbered_links(&nodes),
            eccentricities,
        }),
        explanation: chosen.explanation,
        inference,
        lines,
        rows,
    }
}

/// A graph and how it explains the latencies.
#[derive(Default)]
struct Chosen {
    source: String,
    is_inferred: bool,
    graph: Option<Graph>,
    explanation: Option<Explanation>,
}

fn choose(matrix: &Matrix, inference: &Inference, known: &[FirmwareGraph]) -> Chosen {
    let graph_of = |edges: &[[u32; 2]]| Graph::of_numbered(&matrix.nodes, edges);
    if inference.verdict == Verdict::Identified {
        return Chosen {
            source: "the measured latencies".to_owned(),
            is_inferred: true,
            graph: graph_of(&inference.edges),
            explanation: Some(inference.explanation.clone()),
        };
    }
    let usable = known.iter().filter(|graph| graph.undetermined.is_none() && graph.nodes == matrix.nodes);
    for of in usable {
        let graph = graph_of(&of.edges);
        if let Some(explanation) = graph.as_ref().and_then(|graph| over_known_links(matrix, graph)) {
            let source = of.source.clone();
            return Chosen { source, is_inferred: false, graph, explanation: Some(explanation) };
        }
    }
    let explanation = inference.clusters().cloned().or_else(|| without_links(matrix));
    Chosen { explanation, ..Chosen::default() }
}

/// Outstanding lines by Little's law.
fn lines(latency_ns: f64, triad_mb_per_s: f64) -> f64 {
    triad_mb_per_s * latency_ns / 1e3 / LINE_BYTES
}

/// One number of lines for all, and what that makes of the predicted latencies.
fn predict_triads(rows: &mut [AccountRow]) -> Option<f64> {
    let own = |row: &AccountRow| Some(lines(row.latency_predicted_ns?, row.triad_mb_per_s?));
    let shared = geometric_mean(rows.iter().filter_map(own))?;
    for row in rows {
        row.triad_predicted_mb_per_s = row.latency_predicted_ns.map(|ns| shared * LINE_BYTES * 1e3 / ns);
        row.triad_error_percent = missed_percent(row.triad_predicted_mb_per_s, row.triad_mb_per_s);
    }
    Some(shared)
}

fn degeneracy(rows: &[AccountRow]) -> Vec<Alternative> {
    let triads: Vec<(f64, u32)> =
        rows.iter().filter_map(|row| Some((row.triad_mb_per_s?, row.eccentricity.unwrap_or(0)))).collect();
    alternatives(LINE_BYTES, &triads)
}

fn geometric_mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let logs: Vec<f64> = values.map(f64::ln).collect();
    (!logs.is_empty()).then(|| stats::mean(&logs).exp())
}

#[cfg(test)]
mod tests {
    use super::super::latency::{Coherence, ReadTimes};
    use super::super::matrix::Unit;
    use super::*;

    const DIAMOND: [[usize; 2]; 5] = [[0, 1], [0, 2], [1, 2], [1, 3], [2, 3]];

    /// Sockets of the blade, and their matrix: broadcast snoops, or a filter that hides the links of far probes.
    fn blade(times: ReadTimes, lines: f64) -> (Vec<MeasuredSocket>, Matrix) {
        let hops = Graph::of_links(4, &DIAMOND).expect("a graph").hops().expect("connected");
        let rows = times.matrix_ns(&hops, Coherence::Broadcast);
        let sockets = (0..4_u32).map(|node| {
            let ns = rows[node as usize][node as usize];
            MeasuredSocket {
                cpu: 4 * node,
                node: Some(node),
                latency_ns: Some(ns),
                triad_mb_per_s: Some(lines * 64e3 / ns),
            }
        });
        let rows: Vec<Vec<Option<f64>>> =
            rows.iter().map(|row| row.iter().copied().map(Some).collect()).collect();
        (sockets.collect(), Matrix::of_rows(Unit::Nanoseconds, &rows).expect("a matrix"))
    }

    #[test]
    fn the_blade_is_explained_by_its_links_and_eight_lines() {
        let times = ReadTimes { probe_ns: 66.0, dram_ns: 74.0, hop_ns: 18.0 };
        let (sockets, matrix) = blade(times, 8.0);
        let found = account(&sockets, Some(&matrix), &[]);
        let graph = found.graph.expect("the matrix tells it");
        assert!(graph.is_inferred && graph.eccentricities == [2, 1, 1, 2] && graph.edges.len() == 5);
        assert!((found.lines.expect("both were measured") - 8.0).abs() < 0.01, "{:?}", found.lines);
        assert!(found.triad.expect("predicted").max_percent < 0.1);
        assert_eq!((found.rows[0].farthest.as_slice(), found.rows[1].farthest.len()), ([3].as_slice(), 3));
    }

    #[test]
    fn a_socket_that_the_links_do_not_slow_is_missed_by_as_much() {
        let (mut sockets, matrix) = blade(ReadTimes { probe_ns: 66.0, dram_ns: 74.0, hop_ns: 18.0 }, 8.0);
        sockets[2].triad_mb_per_s = sockets[2].triad_mb_per_s.map(|rate| rate * 0.7);
        let found = account(&sockets, Some(&matrix), &[]);
        let errors: Vec<f64> = found.rows.iter().filter_map(|row| row.triad_error_percent).collect();
        assert!(errors[2] > 25.0 && errors.iter().filter(|error| **error > 0.0).count() == 1, "{errors:?}");
    }

    #[test]
    fn links_of_firmware_are_used_where_latencies_follow_them_and_not_where_they_are_flat() {
        let known = FirmwareGraph {
            source: "AMD routing registers".to_owned(),
            undetermined: None,
            nodes: vec![0, 1, 2, 3],
            edges: DIAMOND.map(|[from, to]| [from as u32, to as u32]).to_vec(),
            eccentricities: vec![2, 1, 1, 2],
            probe_depths: Vec::new(),
        };
        // Known to half of a link only: several graphs are as good.
        let (sockets, mut matrix) = blade(ReadTimes { probe_ns: 67.0, dram_ns: 74.0, hop_ns: 16.5 }, 8.0);
        matrix.standard_error = Some(7.0);
        let found = account(&sockets, Some(&matrix), std::slice::from_ref(&known));
        let graph = found.graph.expect("registers tell it");
        assert_eq!((graph.is_inferred, graph.source.as_str()), (false, "AMD routing registers"));
        let rows = vec![vec![Some(100.0); 4]; 4];
        let flat = Matrix::of_rows(Unit::Nanoseconds, &rows).expect("a matrix");
        let found = account(&sockets, Some(&flat), &[known]);
        assert!(found.graph.is_none() && found.inference.is_some_and(|one| one.edges.is_empty()));
        assert_eq!(found.explanation, Some(Explanation::Flat { local: Some(100.0), remote: Some(100.0) }));
    }

    #[test]
    fn without_a_matrix_equals_are_what_is_predicted_and_nothing_is_one_row_less() {
        let one =
            MeasuredSocket { latency_ns: Some(90.0), triad_mb_per_s: Some(8000.0), ..Default::default() };
        let other = MeasuredSocket { cpu: 1, latency_ns: Some(110.0), ..one.clone() };
        let found = account(&[one, other], None, &[]);
        assert!((found.rows[0].latency_predicted_ns.expect("a mean") - 99.5).abs() < 0.1);
        assert!(found.graph.is_none() && found.lines.is_some());
        let nothing = account(&[], None, &[]);
        assert!(nothing.rows.is_empty() && nothing.lines.is_none() && nothing.triad.is_none());
    }
}

//! Whether sockets are alike in their own memory, what likely keeps one back, and whether firmware's distances are what was measured.

use std::collections::BTreeSet;

use machine::NodeId;
use models::interconnect::{Matrix, SocketAccount, Verdict, contrast};
use record::{Area, Finding, GateVerdict, Record, Severity, SocketVerdict, Sockets};

use super::{Details, finding};
use crate::socket_gate::socket_gate;
use crate::sockets::{socket_account, socket_matrix};
use crate::wording::count;

/// What shows the model beside the numbers.
const EXPLAIN: &str = "sidestep sockets explain RECORD";

pub(super) fn judge(record: &Record, found: &mut Vec<Finding>) {
    // With one node there is nothing to compare; whether its CPUs are alike is a question.
    let Some(sockets) = record.sockets.as_ref().filter(|sockets| has_several_nodes(sockets)) else { return };
    let account = socket_account(sockets, Some(&record.machine));
    found.push(alike(sockets, &account));
    let Some((measured, inference)) = socket_matrix(sockets).zip(account.inference) else { return };
    if inference.verdict == Verdict::Identified {
        let links: Vec<String> = inference.edges.iter().map(|[from, to]| format!("{from}-{to}")).collect();
        let text = format!(
            "the latencies between {} show their links: {}",
            count(inference.nodes.len(), "node"),
            links.join(" ")
        );
        found.push(
            finding(Area::Memory, "sockets-links", Severity::Notice, text)
                .showing([format!("{:.1} ns root mean square are left over", inference.rms)])
                .fixed_by(EXPLAIN.to_owned()),
        );
    }
    let slit = Matrix::of_machine(&record.machine).ok();
    if let Some(text) = slit.and_then(|slit| contrast(&slit, &measured, &inference)) {
        found.push(
            finding(Area::Memory, "sockets-firmware", Severity::Notice, text)
                .caused_by(
                    "the kernel places memory and threads by SLIT; where it is wrong, so are its choices",
                )
                .fixed_by("sidestep sockets firmware compares all sources"),
        );
    }
}

fn has_several_nodes(sockets: &Sockets) -> bool {
    let nodes: BTreeSet<NodeId> = sockets.latency.iter().map(|one| one.node).collect();
    sockets.subjects.len() > 1 && nodes.len().max(sockets.machine_nodes.len()) > 1
}

fn alike(sockets: &Sockets, account: &SocketAccount) -> Finding {
    let gate = sockets.gate.clone().unwrap_or_else(|| socket_gate(sockets, account, None));
    let cpus = count(sockets.subjects.len(), "CPU");
    let mut verdict = match (sockets.verdict, gate.verdict) {
        (SocketVerdict::Asymmetric, _) | (_, GateVerdict::Outside) => {
            let text = gate
                .causes
                .first()
                .map_or_else(|| format!("{cpus} differ in their own memory"), |cause| cause.text.clone());
            finding(Area::Memory, "sockets-unequal", Severity::Warning, text)
        }
        (SocketVerdict::Inconclusive, _) => {
            let text = format!("equality of {cpus} in their own memory: undetermined");
            finding(Area::Memory, "sockets-unequal", Severity::Inconclusive, text)
        }
        (SocketVerdict::Alike, _) => {
            let text = format!("{cpus} are alike in their own memory");
            finding(Area::Memory, "sockets-unequal", Severity::Good, text)
        }
    };
    verdict.evidence.extend(sockets.because.iter().cloned());
    for cause in &gate.causes {
        verdict.evidence.extend(cause.reasoning.iter().map(|why| format!("CPU {}: {why}", cause.cpu)));
    }
    verdict.mechanism = gate.causes.get(1).map(|cause| format!("also {}", cause.text));
    verdict.remedy = Some(if verdict.severity == Severity::Inconclusive {
        "sidestep sockets --budget 1m, on a quiet machine".to_owned()
    } else {
        EXPLAIN.to_owned()
    });
    verdict
}

#[cfg(test)]
mod tests {
    use machine::{CpuId, CpuSet, Node, NodeId};
    use record::{NodeLatency, SocketSubject, Spread, SubjectEquality};

    use super::*;

    /// Four CPUs on nodes in a square without a snoop; firmware tells nothing of it.
    fn record(verdict: SocketVerdict) -> Record {
        let mut record = Record::default();
        let mut sockets = Sockets { verdict, ..Sockets::default() };
        for cpu in 0..4_u32 {
            sockets.subjects.push(SocketSubject {
                cpu: CpuId(cpu),
                package: Some(i64::from(cpu)),
                node: Some(NodeId(cpu)),
                stands_for: CpuSet::new(),
            });
            for node in 0..4_u32 {
                let links = (cpu ^ node).count_ones();
                sockets.latency.push(NodeLatency {
                    cpu: CpuId(cpu),
                    node: NodeId(node),
                    ns: 99.0 + 23.0 * f64::from(links),
                    standard_error_ns: 0.5,
                    spread: Spread::default(),
                });
            }
            let distances = (0..4).map(|node| if node == cpu { 10 } else { 20 }).collect();
            record.machine.topology.nodes.push(Node {
                id: NodeId(cpu),
                cpus: CpuSet::new(),
                memory_bytes: None,
                free_bytes: None,
                distances,
                attributes: Vec::new(),
                side_caches: Vec::new(),
            });
            record.machine.topology.distance_nodes.push(NodeId(cpu));
        }
        record.sockets = Some(sockets);
        record
    }

    #[test]
    fn where_a_cpu_differs_from_itself_by_more_than_a_link_no_links_are_reported() {
        let is_known = |aa_half_width: f64| {
            let mut sockets = record(SocketVerdict::Inconclusive).sockets.expect("it has sockets");
            sockets.equality.push(SubjectEquality {
                quantity: "latency".to_owned(),
                verdict: SocketVerdict::Inconclusive,
                aa_half_width,
                rounds: 40,
                rows: Vec::new(),
            });
            socket_account(&sockets, None).graph.is_some()
        };
        assert_eq!([0.005, 0.4].map(is_known), [true, false]);
    }

    fn found(verdict: SocketVerdict) -> Vec<(String, Severity)> {
        let mut found = Vec::new();
        judge(&record(verdict), &mut found);
        found.into_iter().map(|finding| (finding.id, finding.severity)).collect()
    }

    #[test]
    fn links_and_distances_that_hide_them_are_findings_beside_the_verdict() {
        for (verdict, severity) in [
            (SocketVerdict::Asymmetric, Severity::Warning),
            (SocketVerdict::Inconclusive, Severity::Inconclusive),
            (SocketVerdict::Alike, Severity::Good),
        ] {
            let expected = [
                ("sockets-unequal", severity),
                ("sockets-links", Severity::Notice),
                ("sockets-firmware", Severity::Notice),
            ];
            assert_eq!(found(verdict), expected.map(|(id, severity)| (id.to_owned(), severity)));
        }
        let mut none = Vec::new();
        judge(&Record::default(), &mut none);
        assert!(none.is_empty());
    }
}

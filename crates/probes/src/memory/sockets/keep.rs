//! From visits to the document: values by CPU and node, lines in flight, and the verdict.

use machine::{Bytes, NodeId};
use record::{
    Concurrency, NodeBandwidth, NodeLatency, Record, SocketSubject, SocketVerdict, Sockets, SubjectEquality,
    metric,
};
use stats::{Interval, STANDARD_ERRORS_OF_95, median};

use super::equality::{self, Quantity};
use super::{Cell, Table};
use crate::room::line_bytes;
use crate::series::Series;
use crate::session::Session;

/// More lines at once than a core is thought to keep outstanding, prefetchers included. Assumed: AMD documents 8 for family 10h
/// (25112 rev. 3.06, page 109); what the caches of later cores add is in no document that is known here. Their vendors could tell.
const LINES_MAX: f64 = 64.0;

impl Table<'_> {
    /// Puts everything into the document.
    pub(super) fn keep(&mut self, session: &mut Session<'_>, sockets: &mut Sockets) {
        sockets.nodes = std::mem::take(&mut self.nodes);
        sockets.without = std::mem::take(&mut self.without);
        let elsewhere = sockets.nodes.iter().filter_map(|of| Some((of.node, 1.0 - of.placed_share?)));
        sockets.without.extend(
            elsewhere
                .filter(|(_, share)| *share > 0.0)
                .map(|(node, share)| format!("{:.1} % of node {node}'s blocks lay elsewhere", 100.0 * share)),
        );
        self.latencies(session, sockets);
        self.bandwidths(session, sockets);
        sockets.concurrency = concurrency(sockets, self.block, line_bytes(&session.record.machine));
        self.likeness(sockets, &session.record);
    }

    fn latencies(&self, session: &mut Session<'_>, sockets: &mut Sockets) {
        for cell in &self.cells {
            let (cpu, node) = self.place(cell);
            let name = format!("latency of CPU {cpu} to node {node}, huge pages, block {}", self.block);
            let Some(measured) = cell.chase.measured(session, &metric::NODE_LATENCY, name) else { continue };
            sockets.latency.push(NodeLatency {
                cpu,
                node,
                ns: measured.value,
                standard_error_ns: measured.spread.interval.half_width() / STANDARD_ERRORS_OF_95,
                spread: measured.spread,
            });
        }
    }

    fn bandwidths(&self, session: &mut Session<'_>, sockets: &mut Sockets) {
        let count = self.cells.first().map_or(0, |cell| cell.streams.len());
        for index in 0..count {
            for cell in &self.cells {
                let point = &cell.streams[index];
                let kernel = point.kernel.kernel();
                let (cpu, node) = self.place(cell);
                let name = format!("stream, {kernel}, CPU {cpu}, node {node}, block {}", self.block);
                let measured = point.series.measured(session, &metric::NODE_BANDWIDTH, name);
                let Some(measured) = measured else { continue };
                sockets.bandwidth.push(NodeBandwidth {
                    cpu,
                    node,
                    kernel: kernel.operation.name().to_owned(),
                    isa: kernel.isa.name().to_owned(),
                    store: kernel.store.name().to_owned(),
                    bytes_per_s: measured.value,
                    bus_bytes_per_s: measured.value * kernel.bus_share(),
                    spread: measured.spread,
                });
            }
        }
    }

    fn place(&self, cell: &Cell) -> (machine::CpuId, machine::NodeId) {
        let node = self.settings.nodes.get(cell.node).copied().unwrap_or(machine::NodeId(0));
        (self.settings.subjects[cell.subject].cpu, node)
    }

    /// The cell of a CPU and its own memory: that of its node, also where nothing could be measured there, and none where its node
    /// has no memory; what it reaches soonest where the machine does not tell.
    fn own(&self, subject: usize) -> Option<&Cell> {
        let of_subject = || self.cells.iter().filter(move |cell| cell.subject == subject);
        match self.settings.subjects[subject].node {
            Some(node) if !self.settings.nodes.is_empty() => {
                of_subject().find(|cell| self.settings.nodes.get(cell.node) == Some(&node))
            }
            _ => of_subject().min_by(|a, b| usual_ns(a).total_cmp(&usual_ns(b))),
        }
    }

    /// Whether the memory of a cell's node was refused to the whole run.
    fn is_refused(&self, cell: &Cell, sockets: &Sockets) -> bool {
        let node = self.settings.nodes.get(cell.node);
        node.is_some_and(|&node| sockets.nodes.iter().all(|have| have.node != node))
    }

    fn likeness(&self, sockets: &mut Sockets, record: &Record) {
        let seed = record.provenance.seed;
        let in_guest = record.machine.identity.hypervisor.is_some();
        sockets.in_guest = in_guest;
        let own: Vec<&Cell> =
            (0..self.settings.subjects.len()).filter_map(|subject| self.own(subject)).collect();
        let (refused, own): (Vec<&Cell>, Vec<&Cell>) =
            own.into_iter().partition(|cell| self.is_refused(cell, sockets));
        let subjects: Vec<SocketSubject> =
            own.iter().map(|cell| self.settings.subjects[cell.subject].clone()).collect();
        let chases: Vec<&Series> = own.iter().map(|cell| &cell.chase).collect();
        let triads: Option<Vec<&Series>> =
            own.iter().map(|cell| Some(&cell.streams.first()?.series)).collect();
        sockets.equality.extend(equality::judge(Quantity::Latency, &subjects, &chases, seed));
        if let Some(triads) = triads {
            sockets.equality.extend(equality::judge(Quantity::Triad { in_guest }, &subjects, &triads, seed));
        }
        sockets.cores = equality::cores(&subjects, &chases);
        let memoryless = memoryless(&self.settings.subjects, &self.settings.nodes);
        let is_complete = refused.is_empty() && memoryless.is_empty();
        sockets.because.extend(memoryless);
        for cell in &refused {
            let (cpu, node) = self.place(cell);
            sockets.because.push(format!(
                "CPU {cpu} is compared with none: no memory of its node {node} may be used or is left"
            ));
        }
        if subjects.len() < 2 {
            if is_complete {
                let alone = "there is one CPU to measure, and one is always like itself";
                sockets.because.push(alone.to_owned());
            }
            return;
        }
        let unequal = equality::unequal_cores(&subjects, &chases);
        for (cpu, what, share) in &unequal {
            sockets.because.push(format!(
                "CPU {cpu} differs in its {what} by {:.1} %: what its memory does is undetermined",
                100.0 * share
            ));
        }
        let (verdict, because) = verdict(&sockets.equality, in_guest);
        let is_of_all = is_complete || verdict != SocketVerdict::Alike;
        let is_decided = unequal.is_empty() && is_of_all;
        sockets.verdict = if is_decided { verdict } else { SocketVerdict::Inconclusive };
        sockets.because.extend(because);
    }
}

/// The CPUs whose nodes have no memory, in words; `nodes` have some, and are empty where the machine does not tell.
fn memoryless(subjects: &[SocketSubject], nodes: &[NodeId]) -> Vec<String> {
    let placed = subjects.iter().filter_map(|subject| Some((subject.cpu, subject.node?)));
    placed
        .filter(|(_, node)| !nodes.is_empty() && !nodes.contains(node))
        .map(|(cpu, node)| format!("CPU {cpu} is compared with none: its node {node} has no memory"))
        .collect()
}

/// Median of all windows of a cell's chase; infinite without any.
fn usual_ns(cell: &Cell) -> f64 {
    median(&cell.chase.windows()).unwrap_or(f64::INFINITY)
}

fn verdict(equality: &[SubjectEquality], in_guest: bool) -> (SocketVerdict, Vec<String>) {
    let mut because = Vec::new();
    let mut verdict = if equality.is_empty() { SocketVerdict::Inconclusive } else { SocketVerdict::Alike };
    for of in equality {
        for row in of.rows.iter().filter(|row| row.differs) {
            let (than, sign) = if row.ratio > 1.0 { ("longer", 1.0) } else { ("shorter", -1.0) };
            let ends = [row.interval.low, row.interval.high].map(|end| 100.0 * sign * (end - 1.0));
            because.push(format!(
                "{}: CPU {} takes {:.1} % {than} than the others, between {:.1} and {:.1} %",
                of.quantity,
                row.cpu,
                100.0 * sign * (row.ratio - 1.0),
                ends[0].min(ends[1]),
                ends[0].max(ends[1])
            ));
        }
        match of.verdict {
            SocketVerdict::Asymmetric => verdict = SocketVerdict::Asymmetric,
            SocketVerdict::Inconclusive => {
                because.push(undecided(of, in_guest));
                if verdict == SocketVerdict::Alike {
                    verdict = SocketVerdict::Inconclusive;
                }
            }
            SocketVerdict::Alike => {}
        }
    }
    if verdict == SocketVerdict::Alike {
        because.push(format!("no CPU differs from the others by more than {:.0} %", 100.0 * equality::ALIKE));
    }
    if equality.is_empty() {
        because.push("too few undisturbed rounds; give more time with --budget".to_owned());
    }
    (verdict, because)
}

/// Why one quantity does not tell: noise, runs that differ more than likeness allows, or a difference that is neither small nor
/// clear.
fn undecided(of: &SubjectEquality, in_guest: bool) -> String {
    let aa_percent = 100.0 * of.aa_half_width;
    if of.aa_half_width > equality::MARGIN {
        return format!(
            "{}: the same CPU differs from itself by ±{aa_percent:.1} %, too much to call the CPUs alike",
            of.quantity
        );
    }
    let farthest = of.rows.iter().map(|row| (row.ratio - 1.0).abs()).fold(0.0, f64::max);
    let runs = equality::runs_differ_by(&of.quantity, in_guest);
    if runs > equality::ALIKE {
        return format!(
            "{}: the CPUs differ by {:.1} %, and equal ones by ±{:.0} % from one run to the next, too much to call them alike",
            of.quantity,
            100.0 * farthest,
            100.0 * runs
        );
    }
    format!(
        "{}: the CPUs differ by {:.1} %, too little to call them unequal and too much to call them alike; the same CPU differs from itself by ±{aa_percent:.1} %",
        of.quantity,
        100.0 * farthest
    )
}

/// Traffic on the bus times latency over a line, for the reading kernel and triad with plain stores.
fn concurrency(sockets: &Sockets, block: Bytes, line_bytes: usize) -> Vec<Concurrency> {
    let is_counted = |bandwidth: &&NodeBandwidth| {
        matches!((bandwidth.kernel.as_str(), bandwidth.store.as_str()), ("read", _) | ("triad", "plain"))
    };
    let of = |bandwidth: &NodeBandwidth| {
        let latency = sockets
            .latency
            .iter()
            .find(|latency| latency.cpu == bandwidth.cpu && latency.node == bandwidth.node)?;
        let lines = bandwidth.bus_bytes_per_s * latency.ns / 1e9 / line_bytes as f64;
        let relative = |half: f64, value: f64| half / value;
        let error = relative(bandwidth.spread.interval.half_width(), bandwidth.bytes_per_s)
            .hypot(relative(latency.spread.interval.half_width(), latency.ns));
        let interval = Interval { low: lines * (1.0 - error), high: lines * (1.0 + error) };
        Some(Concurrency {
            cpu: bandwidth.cpu,
            node: bandwidth.node,
            kernel: bandwidth.kernel.clone(),
            lines,
            interval,
            doubt: (interval.low > LINES_MAX).then(|| {
                format!(
                    "more than the {LINES_MAX} that a core is thought to keep outstanding; part of the block of {block} is likely in a cache, of a guest's host perhaps"
                )
            }),
        })
    };
    sockets.bandwidth.iter().filter(is_counted).filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use machine::{CpuId, CpuSet};
    use record::SubjectRow;

    use super::*;

    fn equality(quantity: &str, verdict: SocketVerdict, ratio: f64) -> SubjectEquality {
        let interval = Interval { low: ratio - 0.01, high: ratio + 0.01 };
        let differs = verdict == SocketVerdict::Asymmetric;
        SubjectEquality {
            quantity: quantity.to_owned(),
            verdict,
            aa_half_width: 0.01,
            rounds: 16,
            rows: vec![SubjectRow { cpu: CpuId(1), ratio, interval, differs }],
        }
    }

    #[test]
    fn a_cpu_whose_node_has_no_memory_is_compared_with_none() {
        let subject = |cpu: u32| SocketSubject {
            cpu: CpuId(cpu),
            package: None,
            node: Some(NodeId(cpu)),
            stands_for: CpuSet::new(),
        };
        let subjects = [subject(0), subject(1)];
        assert_eq!(
            memoryless(&subjects, &[NodeId(1)]),
            ["CPU 0 is compared with none: its node 0 has no memory"]
        );
        assert!(memoryless(&subjects, &[]).is_empty());
    }

    #[test]
    fn the_reason_of_a_verdict_is_the_one_that_decided() {
        use SocketVerdict::{Alike, Asymmetric, Inconclusive};
        for (quantity, found, ratio, in_guest, reason) in [
            (
                "latency",
                Asymmetric,
                1.05,
                true,
                "latency: CPU 1 takes 5.0 % longer than the others, between 4.0 and 6.0 %",
            ),
            (
                "latency",
                Asymmetric,
                0.95,
                true,
                "latency: CPU 1 takes 5.0 % shorter than the others, between 4.0 and 6.0 %",
            ),
            (
                "latency",
                Inconclusive,
                1.02,
                true,
                "latency: the CPUs differ by 2.0 %, too little to call them unequal and too much to call them alike; the same CPU differs from itself by ±1.0 %",
            ),
            (
                "triad",
                Inconclusive,
                1.002,
                true,
                "triad: the CPUs differ by 0.2 %, and equal ones by ±12 % from one run to the next, too much to call them alike",
            ),
            (
                "triad",
                Inconclusive,
                1.02,
                false,
                "triad: the CPUs differ by 2.0 %, too little to call them unequal and too much to call them alike; the same CPU differs from itself by ±1.0 %",
            ),
            ("triad", Alike, 1.002, false, "no CPU differs from the others by more than 3 %"),
        ] {
            let (verdict, because) = verdict(&[equality(quantity, found, ratio)], in_guest);
            assert_eq!((verdict, because.as_slice()), (found, [reason.to_owned()].as_slice()));
        }
    }
}

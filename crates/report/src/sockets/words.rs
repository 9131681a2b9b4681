//! The verdict on sockets in a line, for the summary and the page.

use machine::CpuSet;
use record::{Sockets, SubjectEquality};

use crate::number;

/// CPUs that are named; of more, their number is told.
const CPUS_NAMED: usize = 8;

/// What a machine of one node cannot show.
pub(crate) const ONE_NODE: &str =
    "There is one node: no memory is nearer than other memory, and there are no links between nodes.";

/// `2 CPUs in their own memory`
pub(crate) fn subjects_words(sockets: &Sockets) -> String {
    let count = sockets.subjects.len();
    let whose = if count == 1 { "its" } else { "their" };
    format!("{} in {whose} own memory", number::count(count, "CPU"))
}

/// `lines at once of CPUs 0-3: more than ...`, a line for each doubt.
pub(crate) fn flight_doubts(sockets: &Sockets) -> Vec<String> {
    let mut doubts: Vec<(&str, CpuSet)> = Vec::new();
    for one in &sockets.concurrency {
        let Some(doubt) = one.doubt.as_deref() else { continue };
        match doubts.iter_mut().find(|(of, _)| *of == doubt) {
            Some((_, cpus)) => {
                cpus.insert(one.cpu);
            }
            None => doubts.push((doubt, [one.cpu].into_iter().collect())),
        }
    }
    let told = doubts.into_iter().map(|(doubt, cpus)| {
        let whom = if cpus.len() == 1 { "CPU" } else { "CPUs" };
        format!("lines at once of {whom} {cpus}: {doubt}")
    });
    told.collect()
}

/// `2 CPUs in their own memory, latency within ±2.3 %, triad within ±1.1 %`
pub(crate) fn likeness_words(sockets: &Sockets) -> String {
    let within = sockets.equality.iter().map(|of| {
        let farthest = of.rows.iter().map(|row| (row.ratio - 1.0).abs()).fold(0.0, f64::max);
        format!("{} within ±{}", of.quantity, number::percent(farthest))
    });
    std::iter::once(subjects_words(sockets)).chain(within).collect::<Vec<_>>().join(", ")
}

/// `latency 15.1 to 17.0 % longer on CPUs 0,12; triad 13.9 to 15.2 % longer on CPUs 0,12`
pub(crate) fn asymmetry_words(sockets: &Sockets) -> String {
    let of = |of: &SubjectEquality| {
        let told: Vec<String> = [1.0, -1.0].into_iter().filter_map(|sign| beyond(of, sign)).collect();
        (!told.is_empty()).then(|| format!("{} {}", of.quantity, told.join(", ")))
    };
    sockets.equality.iter().filter_map(of).collect::<Vec<_>>().join("; ")
}

/// The CPUs that take longer than the others (or shorter, by the sign) beyond doubt, and by how much at least and at most.
fn beyond(of: &SubjectEquality, sign: f64) -> Option<String> {
    let rows = || of.rows.iter().filter(|row| row.differs && (row.ratio - 1.0) * sign > 0.0);
    let cpus: CpuSet = rows().map(|row| row.cpu).collect();
    let first = cpus.first()?;
    let ends =
        rows().flat_map(|row| [row.interval.low, row.interval.high]).map(|end| 100.0 * sign * (end - 1.0));
    let (low, high) =
        ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), end| (low.min(end), high.max(end)));
    let than = if sign > 0.0 { "longer" } else { "shorter" };
    let whom = match cpus.len() {
        1 => format!("CPU {first}"),
        few if few <= CPUS_NAMED => format!("CPUs {cpus}"),
        many => format!("{many} CPUs, such as {first}"),
    };
    Some(format!("{low:.1} to {high:.1} % {than} on {whom}"))
}

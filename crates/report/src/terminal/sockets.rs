//! Whether sockets are alike, in a few lines of the summary; nothing where there is nothing to compare.

use record::{Record, SocketVerdict, Sockets};

use super::paint::Paper;
use crate::escape::plain;
use crate::interconnect::verdict_words;
use crate::number;
use crate::sockets::{asymmetry_words, likeness_words};

pub(super) fn write(paper: &mut Paper, record: &Record) {
    let Some(sockets) = record.sockets.as_ref().filter(|sockets| !sockets.latency.is_empty()) else { return };
    if sockets.subjects.len() > 1 {
        let told = match sockets.verdict {
            SocketVerdict::Alike => format!("alike: {}", likeness_words(sockets)),
            SocketVerdict::Asymmetric => format!("asymmetric: {}", asymmetry_words(sockets)),
            SocketVerdict::Inconclusive => format!("inconclusive: {}", sockets.because.join("; ")),
        };
        paper.wrapped("sockets ", &plain(&told));
        if let Some(gate) = &sockets.gate {
            let told = format!("{}, against {}", verdict_words(gate.verdict), gate.expected_from);
            paper.wrapped("gate    ", &plain(&told));
        }
    }
    if let Some(told) = near_and_far(sockets) {
        paper.wrapped("nodes   ", &told);
    }
}

/// `own memory 102 to 138 ns, other nodes 120 to 146 ns`; none with one node.
fn near_and_far(sockets: &Sockets) -> Option<String> {
    let span = |is_own: bool| {
        let of = |one: &&record::NodeLatency| {
            let subject = sockets.subjects.iter().find(|subject| subject.cpu == one.cpu);
            one.ns.is_finite() && subject.is_some_and(|subject| (subject.node == Some(one.node)) == is_own)
        };
        let values = sockets.latency.iter().filter(of).map(|one| one.ns);
        let (low, high) =
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), ns| (low.min(ns), high.max(ns)));
        let [low, high] = (low <= high).then_some([low, high])?.map(number::short);
        Some(if low == high { low } else { format!("{low} to {high}") })
    };
    // The page tells pages as well; here they would take a line.
    let largest = sockets.nodes.iter().map(|node| node.block_bytes).max();
    let how = largest.map_or_else(String::new, |bytes| format!(", random in {bytes}"));
    Some(format!("own memory {} ns, other nodes {} ns{how}", span(true)?, span(false)?))
}

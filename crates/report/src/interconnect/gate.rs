//! Each socket against what is expected of it, in the terminal: who is outside, why, and with which numbers.

use record::{GateVerdict, SocketGate};

use crate::escape::plain;
use crate::number;
use crate::terminal::{Ink, Paper, Terminal};

/// The gate for people.
pub fn socket_gate_terminal(gate: &SocketGate, terminal: Terminal) -> String {
    let mut paper = Paper::new(terminal);
    let mut sockets: Vec<_> = gate.bands.iter().map(|band| band.cpu).collect();
    sockets.sort_unstable();
    sockets.dedup();
    let against = format!("{} against {}", number::count(sockets.len(), "CPU"), gate.expected_from);
    let ink = match gate.verdict {
        GateVerdict::Within => Ink::Good,
        GateVerdict::Outside => Ink::Warning,
        GateVerdict::Inconclusive => Ink::Doubt,
    };
    paper.inked(ink, &plain(&format!("{against}: {}", verdict_words(gate.verdict))));
    for cause in &gate.causes {
        paper.wrapped_inked(Ink::Warning, "! ", &plain(&cause.text));
        for reason in &cause.reasoning {
            paper.wrapped("    ", &plain(reason));
        }
    }
    for doubt in &gate.because {
        paper.wrapped_inked(Ink::Doubt, "? ", &plain(doubt));
    }
    paper.finish()
}

/// What a gate says of all sockets.
pub(crate) const fn verdict_words(verdict: GateVerdict) -> &'static str {
    match verdict {
        GateVerdict::Within => "as expected",
        GateVerdict::Outside => "not as expected",
        GateVerdict::Inconclusive => "inconclusive",
    }
}

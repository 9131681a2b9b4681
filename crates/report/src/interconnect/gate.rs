//! Each socket against what is expected of it, in the terminal: who is outside, why, and with which numbers.

use record::{GateVerdict, SocketGate};

use crate::escape::plain;
use crate::terminal::{Ink, Paper, Terminal};

/// The gate for people.
pub fn socket_gate_terminal(gate: &SocketGate, terminal: Terminal) -> String {
    let mut paper = Paper::new(terminal);
    let mut sockets: Vec<_> = gate.bands.iter().map(|band| band.cpu).collect();
    sockets.sort_unstable();
    sockets.dedup();
    let against = format!("{} CPUs against {}", sockets.len(), gate.expected_from);
    let (ink, verdict) = match gate.verdict {
        GateVerdict::Within => (Ink::Good, "as expected"),
        GateVerdict::Outside => (Ink::Warning, "not as expected"),
        GateVerdict::Inconclusive => (Ink::Doubt, "inconclusive"),
    };
    paper.inked(ink, &plain(&format!("{against}: {verdict}")));
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

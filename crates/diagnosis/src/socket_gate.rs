//! Each socket against what is expected of it: by the other CPUs and the model of their links, or by the record of a good machine.
//!
//! ```text
//! without a record   a CPU is outside if it is slower than the others beyond doubt (probes: A/A, both halves, margin);
//!                    packages whose CPUs together get less than the best package by more than the margin
//! with a record      slower than there by more than the margin, both A/A, and what two runs differ by, with the whole interval
//! then the cause     the first that the numbers speak for: clock, neighbour, nodes of the package, snoop hop, channels
//! ```
//! Where the same CPU differs from itself by more than the margin, nothing that was timed is gated: the verdict is inconclusive.

mod bands;
mod causes;

use models::interconnect::SocketAccount;
use record::{GateVerdict, SocketBand, SocketGate, SocketSubject, SocketVerdict, Sockets};

/// A difference below this share is of no matter, and an A/A above it tells nothing: as for the verdict on sockets.
const MARGIN: f64 = 0.015;

/// A record of a machine that is known to be good.
#[derive(Debug, Clone, Copy)]
pub struct GoodMachine<'a> {
    /// What to call it.
    pub name: &'a str,
    /// Its sockets.
    pub sockets: &'a Sockets,
}

/// Holds each socket against what is expected of it; `account` is what the model makes of the same sockets.
pub fn socket_gate(sockets: &Sockets, account: &SocketAccount, good: Option<GoodMachine<'_>>) -> SocketGate {
    let bands = bands::bands(sockets, good.map(|good| good.sockets));
    let outside =
        |subject: &&SocketSubject| bands.iter().any(|band| band.is_outside && band.cpu == subject.cpu);
    let causes: Vec<_> = sockets
        .subjects
        .iter()
        .filter(outside)
        .map(|subject| {
            let of_subject: Vec<&SocketBand> = bands.iter().filter(|band| band.cpu == subject.cpu).collect();
            causes::likely(sockets, account, subject, &of_subject, good.is_some())
        })
        .collect();
    let because = doubts(sockets, good);
    let verdict = if !causes.is_empty() {
        GateVerdict::Outside
    } else if because.is_empty() {
        GateVerdict::Within
    } else {
        GateVerdict::Inconclusive
    };
    let expected_from = good.map_or_else(|| "the other CPUs".to_owned(), |good| good.name.to_owned());
    SocketGate { verdict, expected_from, bands, causes, because }
}

/// The widest A/A of a document; none if it has none.
fn widest_aa(sockets: &Sockets) -> Option<f64> {
    let widths = sockets.equality.iter().map(|of| of.aa_half_width).filter(|width| width.is_finite());
    widths.reduce(f64::max)
}

/// What keeps the timed numbers from being held against anything.
fn doubts(sockets: &Sockets, good: Option<GoodMachine<'_>>) -> Vec<String> {
    let mut because = Vec::new();
    if good.is_none() && sockets.subjects.len() < 2 {
        because.push("there is one CPU and nothing to hold it against; give --expect RECORD".to_owned());
        return because;
    }
    match widest_aa(sockets) {
        None => {
            because.push("too few undisturbed rounds to know what noise makes of these numbers".to_owned());
        }
        Some(aa) if aa > MARGIN => because.push(format!(
            "the same CPU differs from itself by ±{:.1} %, more than the margin of {:.1} %",
            100.0 * aa,
            100.0 * MARGIN
        )),
        Some(_) => {}
    }
    if let Some(good) = good {
        if widest_aa(good.sockets).is_none_or(|aa| aa > MARGIN) {
            because.push(format!("{} is too noisy itself to be held against", good.name));
        }
        if bands::pairs(sockets, good.sockets).is_empty() {
            because.push(format!("{} measured no CPU of the same number or package", good.name));
        }
        if !bands::are_rates_steady(sockets, good.sockets) {
            because.push(
                "bandwidth is not held against another run in a guest, where it comes and goes with other guests"
                    .to_owned(),
            );
        }
    } else if sockets.verdict == SocketVerdict::Inconclusive && because.is_empty() {
        because.push("whether the CPUs are alike is inconclusive".to_owned());
    }
    because
}

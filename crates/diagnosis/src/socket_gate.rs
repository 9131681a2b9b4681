//! Each socket against what is expected of it: by the other CPUs and the model of their links, or by the record of a good machine.
//!
//! ```text
//! without a record   a CPU is outside if it is slower than the others by its whole interval (probes: A/A, both halves, margin);
//!                    packages whose CPUs together get less than the best package by more than the margin
//! with a record      slower than there by more than the margin, both A/A, and what two runs differ by, with the whole interval
//! then the cause     the first that the numbers speak for: clock, neighbour, nodes of the package, snoop hop, channels
//! ```
//! Where the same CPU differs from itself by more than the margin, nothing that was timed is gated: the verdict is inconclusive.

mod bands;

use models::interconnect::{AccountRow, Explanation, SocketAccount};
use record::{
    GateVerdict, SocketBand, SocketCause, SocketCauseKind, SocketGate, SocketSubject, SocketVerdict, Sockets,
    SubjectCore,
};

use crate::sockets::sane;

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
            likely(sockets, account, subject, &of_subject, good.is_some())
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

/// A model that misses a latency or triad by no more, in per cent, explains it.
const EXPLAINED_PERCENT: f64 = 4.0;
/// A core that has so much less of itself than the best is shared with somebody.
const SHARE_MARGIN: f64 = 0.20;
/// More visits than this share beside a slow control loop are no quiet core.
const DISTURBED_SHARE: f64 = 0.20;
/// Channels of memory that a socket may have; of which one or two are missing.
const CHANNELS: std::ops::RangeInclusive<u32> = 2..=12;
/// A bandwidth is that of fewer channels if it is as near to their share.
const CHANNEL_TOLERANCE: f64 = 0.03;

/// The bands of one subject that is outside of at least one.
fn likely(
    sockets: &Sockets,
    account: &SocketAccount,
    subject: &SocketSubject,
    bands: &[&SocketBand],
    by_record: bool,
) -> SocketCause {
    let seen = Seen { sockets, account, subject, bands, by_record };
    let tried = [Seen::clock, Seen::nodes, Seen::neighbour, Seen::hop, Seen::channels];
    let (kind, why, shown) = tried.iter().find_map(|cause| cause(&seen)).unwrap_or_else(|| {
        let why = "its numbers fit none of the known causes".to_owned();
        (SocketCauseKind::Unknown, "for a reason that these measurements do not tell", vec![why])
    });
    let mut reasoning: Vec<String> =
        bands.iter().filter(|band| band.is_outside).map(|band| seen.measured(band)).collect();
    reasoning.extend(shown);
    let worst = bands.iter().find(|band| band.is_outside).map_or("", |band| band.quantity.as_str());
    let text = format!("{}: {worst} is outside of what is expected, likely {why}", seen.name());
    SocketCause { cpu: subject.cpu, package: subject.package, kind, text, reasoning }
}

/// A cause: its kind, in words, and what speaks for it.
type Cause = (SocketCauseKind, &'static str, Vec<String>);

/// Everything that is known of one subject.
struct Seen<'a> {
    sockets: &'a Sockets,
    account: &'a SocketAccount,
    subject: &'a SocketSubject,
    bands: &'a [&'a SocketBand],
    by_record: bool,
}

impl Seen<'_> {
    fn name(&self) -> String {
        match self.subject.package {
            Some(package) => format!("socket {package} (CPU {})", self.subject.cpu),
            None => format!("CPU {}", self.subject.cpu),
        }
    }

    fn measured(&self, band: &SocketBand) -> String {
        let number = |value: f64| if value >= 100.0 { format!("{value:.0}") } else { format!("{value:.2}") };
        let [low, high] = band.expected.map(number);
        let unit = if band.unit.is_empty() { String::new() } else { format!(" {}", band.unit) };
        let expected = if low == high { low } else { format!("{low} to {high}") };
        let who = if self.by_record { "by the record" } else { "by the others" };
        format!("{}: {}{unit}, expected {who} {expected}", band.quantity, number(band.measured))
    }

    fn band(&self, quantity: &str) -> Option<&SocketBand> {
        self.bands.iter().find(|band| band.quantity == quantity).copied()
    }

    fn is_outside(&self, quantity: &str) -> bool {
        self.band(quantity).is_some_and(|band| band.is_outside)
    }

    fn core(&self) -> Option<&SubjectCore> {
        self.sockets.cores.iter().find(|core| core.cpu == self.subject.cpu)
    }

    fn row(&self) -> Option<&AccountRow> {
        self.account.rows.iter().find(|row| row.cpu == self.subject.cpu.0)
    }

    fn clock(&self) -> Option<Cause> {
        let band = self.band("clock").filter(|band| band.is_outside)?;
        let slower = band.measured * 2.0 / (band.expected[0] + band.expected[1]) - 1.0;
        let why = format!(
            "a chain of multiplies takes {:.0} % longer there, and nothing but the core's clock slows it: heat, a power limit, or a governor",
            100.0 * slower
        );
        Some((SocketCauseKind::Throttling, "throttling", vec![why]))
    }

    fn nodes(&self) -> Option<Cause> {
        let band = self.band("nodes of the package").filter(|band| band.is_outside)?;
        let why = format!(
            "its package is cut into {:.0} nodes and {} into {:.0}: the firmware's setting of NPS (AMD) or SNC (Intel) differs",
            band.measured,
            if self.by_record { "that of the record" } else { "the others" },
            band.expected[0]
        );
        Some((SocketCauseKind::NodeMode, "the wrong NPS or SNC mode", vec![why]))
    }

    fn neighbour(&self) -> Option<Cause> {
        let core = self.core()?;
        let ports = self.sockets.cores.iter().filter_map(|core| sane(core.port_ns));
        let less = core.port_ns / ports.reduce(f64::min)? - 1.0;
        let mut why = Vec::new();
        if less > SHARE_MARGIN {
            why.push(format!(
                "a loop that fills the core's ports takes {:.0} % longer there while its clock is as it should be: somebody runs on the other thread of the core",
                100.0 * less
            ));
        }
        if core.disturbed_share > DISTURBED_SHARE {
            why.push(format!("{:.0} % of the visits were disturbed there", 100.0 * core.disturbed_share));
        }
        (!why.is_empty()).then_some((SocketCauseKind::NoisyNeighbour, "a noisy neighbour", why))
    }

    /// Latency and bandwidth are as the model of the links has them, and a node is farther than for others.
    fn hop(&self) -> Option<Cause> {
        let row = self.row()?;
        let least = self.account.rows.iter().filter_map(|row| row.eccentricity).min()?;
        let far = row.eccentricity.filter(|far| *far > least)?;
        if !matches!(self.account.explanation, Some(Explanation::Snoops { .. }))
            || !self.is_outside("latency")
        {
            return None;
        }
        let missed = [row.latency_error_percent, row.triad_error_percent];
        let is_explained = missed.iter().flatten().all(|error| error.abs() <= EXPLAINED_PERCENT);
        let graph = self.account.graph.as_ref().filter(|_| is_explained)?;
        let whom = row.farthest.first().map_or_else(String::new, |node| format!(" (node {node})"));
        let mut why = vec![format!(
            "its farthest node{whom} is {far} links away and that of others {least}; a read ends when all have answered the snoop, and with the links of {} the model meets its latency within {:.1} %",
            graph.source,
            row.latency_error_percent.map_or(0.0, f64::abs)
        )];
        why.push(if self.by_record {
            "the record's machine has no such hop: a link is down, or a probe filter is off".to_owned()
        } else {
            "that is how the board is wired: hold it against a record of a good one with --expect".to_owned()
        });
        Some((SocketCauseKind::SnoopHop, "a snoop hop", why))
    }

    /// One CPU alone waits no longer, all together get less.
    fn channels(&self) -> Option<Cause> {
        let band = self.band("triad together").filter(|band| band.is_outside)?;
        if self.is_outside("latency") {
            return None;
        }
        let share = band.measured * 2.0 / (band.expected[0] + band.expected[1]);
        let mut why = vec![
            "one CPU alone waits no longer than expected, so it is not the way to memory but its width"
                .to_owned(),
        ];
        let like = CHANNELS.flat_map(|of| [1, 2].map(|missing| (of - missing.min(of - 1), of)));
        let near = like
            .map(|(have, of)| (have, of, (f64::from(have) / f64::from(of) - share).abs()))
            .filter(|(_, _, off)| *off < CHANNEL_TOLERANCE)
            .min_by(|a, b| a.2.total_cmp(&b.2).then(a.1.cmp(&b.1)));
        why.push(match near {
            Some((have, of, _)) => format!(
                "all CPUs together get {:.0} % of what is expected, as with {have} of {of} channels; look at dmidecode -t memory for an empty or disabled module",
                100.0 * share
            ),
            None => format!(
                "all CPUs together get {:.0} % of what is expected, which is no whole number of channels; memory may run at a lower clock",
                100.0 * share
            ),
        });
        Some((SocketCauseKind::MissingChannel, "a missing or slow memory channel", why))
    }
}

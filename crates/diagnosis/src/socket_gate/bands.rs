//! What each quantity of each socket is expected to be, and whether it is worse.

use std::collections::BTreeSet;

use machine::NodeId;
use record::{NodeBandwidth, PackageScaling, Quality, SocketBand, SocketSubject, Sockets, SubjectCore};
use stats::Host;

use super::{MARGIN, widest_aa};
use crate::sockets::{latency, own_node, sane};

/// A clock that is lower by more than this share is no matter of noise.
const CLOCK_MARGIN: f64 = 0.05;

/// In which direction a quantity is worse.
#[derive(Clone, Copy, PartialEq)]
enum Worse {
    Higher,
    Lower,
}

/// A measured number with its interval.
#[derive(Clone, Copy)]
struct Measured {
    value: f64,
    interval: [f64; 2],
}

/// What a band is made of: a quantity, its unit, in which direction it is worse.
struct Kind {
    quantity: &'static str,
    unit: &'static str,
    worse: Worse,
}

const LATENCY: Kind = Kind { quantity: "latency", unit: "ns", worse: Worse::Higher };
const TRIAD: Kind = Kind { quantity: "triad", unit: "MB/s", worse: Worse::Lower };
const TOGETHER: Kind = Kind { quantity: "triad together", unit: "MB/s", worse: Worse::Lower };
const CLOCK: Kind = Kind { quantity: "clock", unit: "ns per multiply", worse: Worse::Higher };
/// Of `SocketBand::quantity`.
const NODES: &str = "nodes of the package";

impl Kind {
    /// A band of so much around what is expected; outside takes the whole interval.
    fn band(&self, subject: &SocketSubject, measured: Measured, expected: f64, half: f64) -> SocketBand {
        let band = [expected * (1.0 - half), expected * (1.0 + half)];
        let is_outside = match self.worse {
            Worse::Higher => measured.interval[0] > band[1],
            Worse::Lower => measured.interval[1] < band[0],
        };
        SocketBand {
            cpu: subject.cpu,
            package: subject.package,
            quantity: self.quantity.to_owned(),
            unit: self.unit.to_owned(),
            measured: measured.value,
            expected: band,
            is_outside,
        }
    }
}

/// All bands, against the record of a good machine, or else against the others.
pub(super) fn bands(sockets: &Sockets, good: Option<&Sockets>) -> Vec<SocketBand> {
    let mut bands = good.map_or_else(|| by_others(sockets), |good| by_record(sockets, good));
    bands.extend(clocks(sockets, good));
    bands.extend(together(sockets, good));
    bands.extend(nodes(sockets, good));
    bands
}

/// Against the other CPUs of the machine.
fn by_others(sockets: &Sockets) -> Vec<SocketBand> {
    let mut bands = Vec::new();
    for (kind, measured) in [(LATENCY, own_latency as Reader), (TRIAD, own_triad)] {
        let Some(equality) = sockets.equality.iter().find(|of| of.quantity == kind.quantity) else {
            continue;
        };
        for subject in &sockets.subjects {
            let row = equality.rows.iter().find(|row| row.cpu == subject.cpu);
            let Some((row, own)) = row.zip(measured(sockets, subject)).filter(|(row, _)| row.ratio > 0.0)
            else {
                continue;
            };
            // The ratio is one of times: what the others need of its time.
            let expected =
                if kind.worse == Worse::Higher { own.value / row.ratio } else { own.value * row.ratio };
            let between_runs = stats::BEYOND_RUNS
                * match kind.worse {
                    Worse::Higher => stats::equal_latencies(),
                    Worse::Lower => stats::equal_rates(Host::of(sockets.in_guest)),
                };
            let half = MARGIN.max(2.0 * equality.aa_half_width).max(between_runs);
            let mut band = kind.band(subject, own, expected, half);
            band.is_outside = row.differs && row.ratio > 1.0;
            bands.push(band);
        }
    }
    bands
}

/// Against the record of a good machine.
fn by_record(sockets: &Sockets, good: &Sockets) -> Vec<SocketBand> {
    let mut bands = Vec::new();
    let noise = [sockets, good].map(widest_aa);
    let is_known = noise.iter().all(|aa| aa.is_some_and(|aa| aa <= MARGIN));
    let half = MARGIN + noise.iter().flatten().sum::<f64>() + two_runs(sockets, good);
    for (subject, other) in pairs(sockets, good) {
        for (kind, measured) in [(LATENCY, own_latency as Reader), (TRIAD, own_triad)] {
            let Some((own, expected)) = measured(sockets, subject).zip(measured(good, other)) else {
                continue;
            };
            let mut band = kind.band(subject, own, expected.value, half);
            band.is_outside &= is_known && (kind.worse == Worse::Higher || are_rates_steady(sockets, good));
            bands.push(band);
        }
    }
    bands
}

/// By how much one CPU's numbers may differ between two runs.
fn two_runs(sockets: &Sockets, good: &Sockets) -> f64 {
    let in_guest = sockets.in_guest || good.in_guest;
    stats::BEYOND_RUNS * stats::two_runs_of_latency(Host::of(in_guest))
}

/// Whether bandwidth can be held against another run: a guest's triad spreads by 17.6 % (100 runs of six seconds on a busy one).
pub(super) fn are_rates_steady(sockets: &Sockets, good: &Sockets) -> bool {
    !sockets.in_guest && !good.in_guest
}

/// Reads one quantity of a CPU.
type Reader = fn(&Sockets, &SocketSubject) -> Option<Measured>;

/// Subjects of both by CPU, else by package.
pub(super) fn pairs<'a>(
    sockets: &'a Sockets,
    good: &'a Sockets,
) -> Vec<(&'a SocketSubject, &'a SocketSubject)> {
    let same = |subject: &SocketSubject| {
        let by_cpu = good.subjects.iter().find(|other| other.cpu == subject.cpu);
        let by_package =
            || good.subjects.iter().find(|other| other.package.is_some() && other.package == subject.package);
        by_cpu.or_else(by_package)
    };
    sockets.subjects.iter().filter_map(|subject| Some((subject, same(subject)?))).collect()
}

fn own_latency(sockets: &Sockets, subject: &SocketSubject) -> Option<Measured> {
    let of = latency(sockets, subject.cpu, own_node(sockets, subject)?)?;
    measured(of.ns, of.spread.interval, 1.0)
}

fn own_triad(sockets: &Sockets, subject: &SocketSubject) -> Option<Measured> {
    let own = own_node(sockets, subject);
    let is_own = |one: &&NodeBandwidth| {
        one.cpu == subject.cpu && Some(one.node) == own && one.kernel == "triad" && one.store == "plain"
    };
    let of = sockets.bandwidth.iter().find(is_own)?;
    measured(of.bytes_per_s, of.spread.interval, 1e-6)
}

fn measured(value: f64, interval: stats::Interval, scale: f64) -> Option<Measured> {
    let value = sane(value)?;
    let interval = crate::surface::sane(interval, value);
    Some(Measured { value: value * scale, interval: [interval.low * scale, interval.high * scale] })
}

/// The clock of each core against the fastest, or against the same one's.
fn clocks(sockets: &Sockets, good: Option<&Sockets>) -> Vec<SocketBand> {
    let of = |sockets: &Sockets, subject: &SocketSubject| -> Option<Measured> {
        let core: &SubjectCore = sockets.cores.iter().find(|core| core.cpu == subject.cpu)?;
        measured(core.multiply_ns, core.multiply_interval, 1.0)
    };
    let all = sockets.subjects.iter().filter_map(|subject| Some((subject, of(sockets, subject)?)));
    let best = all.clone().map(|(_, own)| own.value).fold(f64::INFINITY, f64::min);
    all.filter_map(|(subject, own)| {
        let expected = match good {
            Some(good) => {
                let pairs = pairs(sockets, good);
                let (_, other) = pairs.into_iter().find(|(one, _)| one.cpu == subject.cpu)?;
                of(good, other)?.value
            }
            None => best,
        };
        Some(CLOCK.band(subject, own, expected, CLOCK_MARGIN))
    })
    .collect()
}

/// All CPUs of each package together against the best package of as many, or against the same of the record.
fn together(sockets: &Sockets, good: Option<&Sockets>) -> Vec<SocketBand> {
    let is_quiet = widest_aa(sockets).is_some_and(|aa| aa <= MARGIN)
        && good.is_none_or(|good| are_rates_steady(sockets, good));
    let between_runs = match good {
        Some(good) => two_runs(sockets, good),
        None if sockets.in_guest => stats::BEYOND_RUNS * stats::equal_rates(Host::Guest),
        None => 0.0,
    };
    let half = between_runs.max(2.0 * MARGIN);
    let whole = |sockets: &Sockets, package: Option<i64>| -> Option<PackageScaling> {
        let of_package = sockets.scaling.iter().filter(|row| row.package == package && row.cpus.len() > 1);
        of_package.max_by_key(|row| row.cpus.len()).cloned()
    };
    let mut seen = BTreeSet::new();
    let mut bands = Vec::new();
    for subject in sockets.subjects.iter().filter(|subject| subject.package.is_some()) {
        if !seen.insert(subject.package) {
            continue;
        }
        let Some(own) = whole(sockets, subject.package) else { continue };
        let others: Vec<PackageScaling> = match good {
            Some(good) => whole(good, subject.package).into_iter().collect(),
            None => sockets.subjects.iter().filter_map(|one| whole(sockets, one.package)).collect(),
        };
        let of_as_many = others.iter().filter(|other| other.cpus.len() == own.cpus.len());
        let best = of_as_many.filter_map(|other| sane(other.bytes_per_s)).reduce(f64::max);
        let Some((best, measured)) = best.zip(measured(own.bytes_per_s, own.spread.interval, 1e-6)) else {
            continue;
        };
        let mut band = TOGETHER.band(subject, measured, best / 1e6, half);
        band.is_outside &= is_quiet && own.spread.quality != Quality::Unstable;
        bands.push(band);
    }
    bands
}

/// Nodes per package against the most frequent number, or against the record's; none where nodes were left out (--per socket, --cpus).
fn nodes(sockets: &Sockets, good: Option<&Sockets>) -> Vec<SocketBand> {
    let has_cpu = |sockets: &Sockets, node| sockets.subjects.iter().any(|subject| subject.node == Some(node));
    let is_whole = |sockets: &Sockets| sockets.nodes.iter().all(|of| has_cpu(sockets, of.node));
    if !is_whole(sockets) || !good.is_none_or(is_whole) {
        return Vec::new();
    }
    let count = |sockets: &Sockets, package: Option<i64>| {
        let of_package = sockets.subjects.iter().filter(|subject| subject.package == package);
        of_package.filter_map(|subject| subject.node).collect::<BTreeSet<NodeId>>().len()
    };
    let packages: BTreeSet<Option<i64>> = sockets.subjects.iter().map(|subject| subject.package).collect();
    let counts: Vec<usize> = packages.iter().map(|&package| count(sockets, package)).collect();
    let often = |number: usize| counts.iter().filter(|&&other| other == number).count();
    let usual = counts.iter().copied().max_by_key(|&number| (often(number), number)).unwrap_or(0);
    let mut bands = Vec::new();
    for package in packages.into_iter().flatten().map(Some) {
        let Some(subject) = sockets.subjects.iter().find(|subject| subject.package == package) else {
            continue;
        };
        let own = count(sockets, package);
        let expected = good.map_or(usual, |good| count(good, package));
        if expected == 0 || own == 0 {
            continue;
        }
        bands.push(SocketBand {
            cpu: subject.cpu,
            package,
            quantity: NODES.to_owned(),
            unit: String::new(),
            measured: own as f64,
            expected: [expected as f64; 2],
            is_outside: own != expected,
        });
    }
    bands
}

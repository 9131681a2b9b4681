//! Where what CPUs were measured to share is not what the kernel says: cores and second-level caches that are claimed to be
//! shared and cost nothing, and caches that are claimed to be separate and cost something.
//!
//! Cores that are shared without a claim are reported by `sharing`. Nothing is said of the last level: its loop shows the way to it.

use std::collections::BTreeMap;

use machine::{CpuId, Topology};
use record::{Area, Finding, PairSlowdown, Record, Severity};

use super::sharing::{CERTAIN_ABOVE, MOST_NAMED, interval, is_execution, line, shares, usable};
use super::{Details, finding};
use crate::surface::sane;
use crate::wording::measured;

pub(super) fn judge(record: &Record, found: &mut Vec<Finding>) {
    claimed_cores(record, found);
    second_levels(record, found);
}

/// What was measured of two CPUs on some of the resources, both directions.
type Pairs<'r> = BTreeMap<(CpuId, CpuId), Vec<&'r PairSlowdown>>;

fn pairs(record: &Record, is_meant: impl Fn(&PairSlowdown) -> bool) -> Pairs<'_> {
    let mut pairs = Pairs::new();
    for pair in record.cores.sharing.iter().filter(|pair| usable(pair) && is_meant(pair)) {
        pairs.entry((pair.a.min(pair.b), pair.a.max(pair.b))).or_default().push(pair);
    }
    pairs
}

/// How the measurements of one pair of CPUs read together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// At least one loop is slowed for certain.
    Shared,
    /// None is slowed by more than noise.
    Apart,
    /// Neither is certain.
    Open,
}

fn reading(measured: &[&PairSlowdown]) -> Reading {
    if measured.iter().any(|pair| shares(pair)) {
        Reading::Shared
    } else if measured.iter().all(|pair| interval(pair).high < CERTAIN_ABOVE) {
        Reading::Apart
    } else {
        Reading::Open
    }
}

/// The pairs whose measurements read so.
fn of_reading<'r>(pairs: &Pairs<'r>, sought: Reading) -> Pairs<'r> {
    pairs.iter().filter(|(_, seen)| reading(seen) == sought).map(|(key, seen)| (*key, seen.clone())).collect()
}

fn are_siblings(topology: &Topology, a: CpuId, b: CpuId) -> bool {
    topology.siblings(a).contains(b)
}

/// Whether the machine says that two CPUs share a second level; `None` if it says nothing of one.
fn share_l2(topology: &Topology, a: CpuId, b: CpuId) -> Option<bool> {
    topology.data_cache(b, 2)?;
    topology.data_cache(a, 2).map(|cache| cache.shared_by.contains(b))
}

fn named<'p>(pairs: impl Iterator<Item = &'p (CpuId, CpuId)>) -> String {
    pairs.take(MOST_NAMED).map(|(a, b)| format!("{a} and {b}")).collect::<Vec<_>>().join(", ")
}

fn evidence(record: &Record, pairs: &Pairs<'_>) -> Vec<String> {
    let loops = pairs.values().flatten().map(|pair| line(pair));
    let lines = record.cores.line_transfer.iter().filter(|hop| {
        pairs.contains_key(&(hop.a.min(hop.b), hop.a.max(hop.b))) && hop.ns.is_finite() && hop.ns > 0.0
    });
    let lines = lines.map(|hop| {
        let ns = measured(hop.ns, sane(hop.spread.interval, hop.ns), "ns");
        format!("CPUs {} and {}: a line takes {ns} one way, {}", hop.a, hop.b, hop.protocol.replace('_', "-"))
    });
    loops.take(MOST_NAMED).chain(lines.take(MOST_NAMED)).collect()
}

/// Why a claim and a measurement may differ although neither is wrong.
fn doubt(record: &Record) -> &'static str {
    if record.machine.identity.hypervisor.is_some() {
        "a hypervisor may show any topology, and may have moved a virtual CPU while this was measured"
    } else {
        "the tables of the firmware may be wrong, or something kept the two from running at the same time unseen"
    }
}

fn claimed_cores(record: &Record, found: &mut Vec<Finding>) {
    let topology = &record.machine.topology;
    let all = pairs(record, |pair| is_execution(pair) && are_siblings(topology, pair.a, pair.b));
    let (apart, open) = (of_reading(&all, Reading::Apart), of_reading(&all, Reading::Open));
    if !apart.is_empty() {
        let text = format!(
            "the kernel says that CPUs {} share a core; running together they cost each other nothing",
            named(apart.keys())
        );
        found.push(
            finding(Area::Cores, "claimed-core-apart", Severity::Notice, text)
                .showing(evidence(record, &apart))
                .caused_by(format!("they run on cores of their own: {} (inference)", doubt(record)))
                .expecting("two threads of one core: 1.3 to 2 times in at least one of these loops")
                .fixed_by("repeat it; if it stays so, use both as cores: sidestep place finds out whether that pays for a program"),
        );
    }
    if !open.is_empty() {
        let text =
            format!("too noisy to tell whether CPUs {} share a core, as the kernel says", named(open.keys()));
        found.push(
            finding(Area::Cores, "claimed-core-apart", Severity::Inconclusive, text)
                .showing(evidence(record, &open)),
        );
    }
}

fn second_levels(record: &Record, found: &mut Vec<Finding>) {
    let topology = &record.machine.topology;
    // Threads of one core share its caches, whatever is claimed of them: that is reported already.
    let cores = pairs(record, is_execution);
    let is_one_core =
        |key: &(CpuId, CpuId)| cores.get(key).is_none_or(|seen| reading(seen) != Reading::Apart);
    let all = pairs(record, |pair| pair.resource == "l2");
    let of = |claim: bool, sought: Reading| -> Pairs<'_> {
        let mut pairs = of_reading(&all, sought);
        pairs.retain(|key, _| share_l2(topology, key.0, key.1) == Some(claim) && !is_one_core(key));
        pairs
    };
    let (hidden, apart) = (of(false, Reading::Shared), of(true, Reading::Apart));
    if !hidden.is_empty() {
        let text = format!(
            "the kernel says that CPUs {} have second-level caches of their own; reading what fits one, they slow each other",
            named(hidden.keys())
        );
        found.push(
            finding(Area::Cores, "hidden-shared-cache", Severity::Notice, text)
                .showing(evidence(record, &hidden))
                .caused_by(format!(
                    "one second level serves both, or each is smaller than claimed and both read from the level behind it: {} \
                     (inference)",
                    doubt(record)
                ))
                .expecting("separate second levels: 1.00 times")
                .fixed_by("compare the sizes that were found with those claimed (Memory hierarchy in the report), and repeat it"),
        );
    }
    if !apart.is_empty() {
        let text = format!(
            "the kernel says that CPUs {} share a second-level cache; reading more than it holds, they cost each other nothing",
            named(apart.keys())
        );
        found.push(
            finding(Area::Cores, "claimed-cache-apart", Severity::Notice, text)
                .showing(evidence(record, &apart))
                .caused_by(format!("each has one of its own: {} (inference)", doubt(record)))
                .expecting("two blocks of three quarters of one cache: well above 1 times")
                .fixed_by("do not place threads by this claim; repeat it first"),
        );
    }
}

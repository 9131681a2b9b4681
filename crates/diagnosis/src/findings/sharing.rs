//! Which CPUs share a core, whatever the topology says.

use std::collections::BTreeSet;

use machine::CpuId;
use record::{Area, Finding, PairSlowdown, Record, Severity};
use stats::Interval;

use super::{Details, finding};
use crate::surface::sane;
use crate::wording::{count, measured};

/// Two threads of one core slow each other in a port-saturating loop by at least this; separate cores by the noise.
const SHARES_ABOVE: f64 = 1.25;

/// The lower end of the interval must exceed this.
pub(super) const CERTAIN_ABOVE: f64 = 1.1;

/// Fewer windows in which both were seen to run prove nothing.
const FEWEST_OVERLAPPED: usize = 5;

/// Below this share of the best port loop, something else runs on the core.
pub(crate) const BUSY_PORTS_BELOW: f64 = 0.8;

/// Pairs named one by one.
pub(super) const MOST_NAMED: usize = 8;

pub(super) fn judge(record: &Record, found: &mut Vec<Finding>) {
    hidden_siblings(record, found);
    front_ends(record, found);
    busy_sibling(record, found);
}

pub(super) fn usable(pair: &PairSlowdown) -> bool {
    pair.slowdown.is_finite()
        && pair.slowdown > 0.0
        && pair.overlapped_windows >= FEWEST_OVERLAPPED
        && pair.a != pair.b
}

pub(super) fn interval(pair: &PairSlowdown) -> Interval {
    sane(pair.spread.interval, pair.slowdown)
}

pub(super) fn shares(pair: &PairSlowdown) -> bool {
    pair.slowdown >= SHARES_ABOVE && interval(pair).low > CERTAIN_ABOVE
}

fn separate_by_claim(record: &Record, a: CpuId, b: CpuId) -> bool {
    !record.machine.topology.siblings(a).contains(b)
}

pub(super) fn line(pair: &PairSlowdown) -> String {
    let slowdown = measured(pair.slowdown, interval(pair), "times");
    format!("CPU {} beside CPU {}: {} loop takes {slowdown}", pair.a, pair.b, pair.resource)
}

/// The execution units of a core, which no two separate cores share.
pub(super) fn is_execution(pair: &PairSlowdown) -> bool {
    matches!(pair.resource.as_str(), "integer" | "simd")
}

/// The pairs of CPUs, whichever was beside the other and by whatever loop.
fn distinct<'p>(pairs: impl Iterator<Item = &'p PairSlowdown>) -> BTreeSet<(CpuId, CpuId)> {
    pairs.map(|pair| (pair.a.min(pair.b), pair.a.max(pair.b))).collect()
}

fn hidden_siblings(record: &Record, found: &mut Vec<Finding>) {
    let measured: Vec<&PairSlowdown> = record
        .cores
        .sharing
        .iter()
        .filter(|pair| usable(pair) && is_execution(pair) && separate_by_claim(record, pair.a, pair.b))
        .collect();
    if measured.is_empty() {
        return;
    }
    let sharing: Vec<&&PairSlowdown> = measured.iter().filter(|pair| shares(pair)).collect();
    if !sharing.is_empty() {
        let pairs = distinct(sharing.iter().copied().copied());
        let named: Vec<String> = pairs.iter().take(MOST_NAMED).map(|(a, b)| format!("{a} and {b}")).collect();
        let text = format!("CPUs {} share one core, which the machine does not say", named.join(", "));
        found.push(
            finding(Area::Cores, "hidden-siblings", Severity::Warning, text)
                .showing(sharing.iter().take(MOST_NAMED).map(|pair| line(pair)))
                .caused_by("their loops saturate the same execution ports: two hardware threads of one core, shown as two cores")
                .expecting("separate cores: 1.00 times; two threads of one core: 1.3 to 2 times")
                .fixed_by("count them as one core; in a guest ask for CPUs with the host's topology exposed, or one vCPU per core"),
        );
        return;
    }
    let open: Vec<&&PairSlowdown> =
        measured.iter().filter(|pair| interval(pair).high >= SHARES_ABOVE).collect();
    let (severity, text) = if open.is_empty() {
        // Each pair was measured in both directions and with several loops.
        let pairs = distinct(measured.iter().copied()).len();
        (
            Severity::Good,
            format!(
                "no hidden siblings: CPUs of {} on separate cores do not slow each other",
                count(pairs, "pair")
            ),
        )
    } else {
        (
            Severity::Inconclusive,
            format!(
                "too noisy to rule out hidden siblings in {}",
                count(distinct(open.iter().copied().copied()).len(), "pair")
            ),
        )
    };
    let mut verdict = finding(Area::Cores, "hidden-siblings", severity, text);
    let shown: Vec<&PairSlowdown> =
        if open.is_empty() { measured } else { open.into_iter().copied().collect() };
    verdict.evidence = shown.iter().take(MOST_NAMED).map(|pair| line(pair)).collect();
    found.push(verdict);
}

/// Separate cores that share instruction fetch and decode: a module.
fn front_ends(record: &Record, found: &mut Vec<Finding>) {
    let executes_apart = |pair: &PairSlowdown| {
        !record.cores.sharing.iter().any(|other| {
            usable(other) && is_execution(other) && other.a == pair.a && other.b == pair.b && shares(other)
        })
    };
    let sharing: Vec<&PairSlowdown> = record
        .cores
        .sharing
        .iter()
        .filter(|pair| usable(pair) && pair.resource == "front_end" && shares(pair) && executes_apart(pair))
        .filter(|pair| separate_by_claim(record, pair.a, pair.b))
        .collect();
    let Some(first) = sharing.first() else { return };
    let text = format!("CPUs {} and {} have cores of their own but share the front end", first.a, first.b);
    found.push(
        finding(Area::Cores, "shared-front-end", Severity::Notice, text)
            .showing(sharing.iter().take(MOST_NAMED).map(|pair| line(pair)))
            .caused_by("one fetch and decode unit feeds both: a module")
            .fixed_by("put busy threads on different modules first"),
    );
}

fn busy_sibling(record: &Record, found: &mut Vec<Finding>) {
    let hit: Vec<_> = record
        .cores
        .control
        .iter()
        .filter(|control| control.core_share > 0.0 && control.core_share < BUSY_PORTS_BELOW)
        .collect();
    if hit.is_empty() {
        return;
    }
    let text = format!("{} got only part of a core: execution ports were busy", count(hit.len(), "CPU"));
    let mut busy = finding(Area::Noise, "busy-sibling", Severity::Warning, text).showing(
        hit.iter().take(MOST_NAMED).map(|control| {
            format!(
                "CPU {}: {:.0} % of the best port loop on this machine",
                control.cpu,
                100.0 * control.core_share
            )
        }),
    );
    let cpus: Vec<CpuId> = hit.iter().map(|control| control.cpu).collect();
    busy.mechanism =
        Some(format!("the clock is steady and throughput is down: {}", who_uses_ports(record, &cpus)));
    busy.prediction = Some("an undisturbed core: 100 %".to_owned());
    busy.remedy = Some(
        "repeat at a quiet time; rates of these CPUs are lower bounds, latencies upper bounds".to_owned(),
    );
    found.push(busy);
}

/// Who may use the ports of these CPUs, as far as the machine's description lets it be known.
fn who_uses_ports(record: &Record, cpus: &[CpuId]) -> &'static str {
    let topology = &record.machine.topology;
    if cpus.iter().any(|cpu| topology.siblings(*cpu).len() > 1) {
        "the SMT sibling is busy (inference)"
    } else if record.machine.identity.hypervisor.is_some() {
        "in a guest a sibling thread of the host may be busy (inference)"
    } else {
        "no CPU here has an SMT sibling, so it is other programs on the same CPUs, an emulator, or a hypervisor that \
         does not show itself (inference)"
    }
}

//! Pairs of findings, or of a finding and what was measured, of which one takes the ground from the other.

use machine::CpuId;
use record::{Control, Finding, Record, Severity};

use super::{Doubtful, Ruling, UNDECIDED};
use crate::findings::{BUSY_PORTS_BELOW, surface_is_doubtful};

/// A rule with its name.
pub(super) type Rule = (&'static str, fn(&Record) -> Option<Ruling>);

/// All rules for statements.
pub(super) const RULES: [Rule; 7] = [
    ("a loop that was slowed alone shows no separate core", no_sibling_beside_busy_ports),
    ("a loop that was slowed alone contradicts no claimed core", no_claim_beside_busy_ports),
    ("a CPU that had part of a core is not unequal by itself", unequal_beside_busy_ports),
    ("sockets that are alike have no unequal CPUs", unequal_beside_alike_sockets),
    ("no cache is missing from a surface that is doubtful", missing_beside_doubtful_surface),
    ("no cache that has no size holds more or less than it claims", effective_without_size),
    ("no cache that has no size is consistent with its claim", consistent_without_size),
];

/// The finding with this id, if it claims something.
fn claimed<'r>(record: &'r Record, id: &str) -> Option<&'r Finding> {
    record.findings.iter().find(|finding| finding.id == id && finding.severity != UNDECIDED)
}

/// CPUs that had only a part of their core when nothing else of ours ran there.
fn with_busy_ports(record: &Record) -> impl Iterator<Item = &Control> {
    let is_busy = |control: &&Control| control.core_share > 0.0 && control.core_share < BUSY_PORTS_BELOW;
    record.cores.control.iter().filter(is_busy)
}

fn had_part_of_a_core(record: &Record, is_meant: impl Fn(CpuId) -> bool) -> Option<String> {
    let control = with_busy_ports(record).find(|control| is_meant(control.cpu))?;
    Some(format!(
        "CPU {} had {:.0} % of a core before it was paired",
        control.cpu,
        100.0 * control.core_share
    ))
}

fn is_paired(record: &Record, cpu: CpuId) -> bool {
    record.cores.sharing.iter().any(|pair| pair.a == cpu || pair.b == cpu)
}

fn no_sibling_beside_busy_ports(record: &Record) -> Option<Ruling> {
    claimed(record, "hidden-siblings").filter(|finding| finding.severity == Severity::Good)?;
    let because = had_part_of_a_core(record, |cpu| is_paired(record, cpu))?;
    Some(Ruling::new(
        Doubtful::Finding("hidden-siblings", "hidden SMT siblings: undetermined".to_owned()),
        because,
    ))
}

fn no_claim_beside_busy_ports(record: &Record) -> Option<Ruling> {
    claimed(record, "claimed-core-apart")?;
    let because = had_part_of_a_core(record, |cpu| is_paired(record, cpu))?;
    let instead = "whether claimed siblings share a core: undetermined".to_owned();
    Some(Ruling::new(Doubtful::Finding("claimed-core-apart", instead), because))
}

fn unequal_beside_busy_ports(record: &Record) -> Option<Ruling> {
    claimed(record, "cpus-unequal").filter(|finding| finding.severity == Severity::Warning)?;
    let streamed = |cpu: CpuId| record.memory.stream.iter().any(|result| result.cpu == Some(cpu));
    let because = had_part_of_a_core(record, streamed)?;
    Some(Ruling::new(Doubtful::Finding("cpus-unequal", "CPU bandwidth: undetermined".to_owned()), because))
}

fn unequal_beside_alike_sockets(record: &Record) -> Option<Ruling> {
    claimed(record, "cpus-unequal").filter(|finding| finding.severity == Severity::Warning)?;
    claimed(record, "sockets-unequal").filter(|finding| finding.severity == Severity::Good)?;
    let subjects = &record.sockets.as_ref()?.subjects;
    // Only where the same CPUs were compared: a CPU behind a socket's first may differ from it.
    let same = record
        .memory
        .stream
        .iter()
        .filter_map(|result| result.cpu)
        .all(|cpu| subjects.iter().any(|subject| subject.cpu == cpu));
    same.then(|| Ruling {
        doubtful: Doubtful::Finding("cpus-unequal", "CPU bandwidth: undetermined".to_owned()),
        because: "the longer comparison of the same CPUs in their own memory found them alike".to_owned(),
    })
}

/// Findings about the size of one cache.
const SIZES: [(&str, &str); 4] =
    [("effective-l1", "L1"), ("effective-l2", "L2"), ("effective-l3", "L3"), ("effective-l4", "L4")];

/// True if the record has this level and no size of it.
fn has_no_size(record: &Record, name: &str) -> bool {
    record.levels.caches.iter().any(|level| level.name == name && level.size_bytes.is_none())
}

fn effective_without_size(record: &Record) -> Option<Ruling> {
    let (id, name) =
        SIZES.into_iter().find(|(id, name)| claimed(record, id).is_some() && has_no_size(record, name))?;
    Some(Ruling::new(
        Doubtful::Finding(id, format!("usable {name}: undetermined")),
        "its size is withheld".to_owned(),
    ))
}

fn consistent_without_size(record: &Record) -> Option<Ruling> {
    let said = &claimed(record, "cache-sizes")?.text;
    let is_said = |name: &str| said.split([' ', ',']).any(|word| word == name);
    let (_, name) = SIZES.into_iter().find(|(_, name)| is_said(name) && has_no_size(record, name))?;
    let instead = "whether cache sizes are as claimed: undetermined".to_owned();
    Some(Ruling::new(Doubtful::Finding("cache-sizes", instead), format!("the size of {name} is withheld")))
}

fn missing_beside_doubtful_surface(record: &Record) -> Option<Ruling> {
    if !surface_is_doubtful(record) {
        return None;
    }
    let named = |name: &str| record.levels.caches.iter().any(|level| level.name == name);
    let (id, name) = SIZES.into_iter().find(|(id, name)| claimed(record, id).is_some() && !named(name))?;
    let because = "too many cells of the latency surface have no single value".to_owned();
    Some(Ruling::new(Doubtful::Finding(id, format!("usable {name}: undetermined")), because))
}

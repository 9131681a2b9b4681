//! Where the leaves of CPUID contradict each other about APIC ids and counts, and where caches contradict nodes.
//!
//! The id of leaf 1 has eight bits and wraps from 256 CPUs on; firmware and hypervisors fill one leaf and forget another. What is
//! described then rests on one of them, and says so. Sources: see `levels`.

use std::collections::{BTreeMap, BTreeSet};

use machine::{CpuId, CpuSet, Disagreement, Topology};

use super::Leaves;
use super::levels::{
    INITIAL_MASK, Place, extended_levels, initial_apic, logical_count, package_count, topology_extensions,
};

/// What the eight bits of a count can tell: those of leaf 1 and Fn8000_0008 say nothing of packages with more CPUs.
const COUNTED_MAX: u32 = 255;

/// All contradictions of a machine, one line for each kind.
pub(super) fn contradictions(
    answering: &BTreeMap<CpuId, &Leaves>,
    places: &BTreeMap<CpuId, Place>,
) -> Vec<Disagreement> {
    let mut found = ids(answering, places);
    found.extend(shared_ids(places));
    found.extend(counts(answering, places));
    found
}

/// A leaf that tells the id of a CPU, and which of its bits.
fn ids_of(leaves: &Leaves) -> Vec<(String, u32, u32)> {
    let mut claims = vec![("CPUID leaf 1".to_owned(), initial_apic(leaves), INITIAL_MASK)];
    if let Some((leaf, levels)) = extended_levels(leaves) {
        claims.extend(levels.iter().map(|level| (format!("CPUID leaf {leaf:X}H"), level.apic, u32::MAX)));
    }
    claims.extend(
        topology_extensions(leaves).map(|claims| ("CPUID leaf 8000001EH".to_owned(), claims.apic, u32::MAX)),
    );
    claims
}

/// CPUs of which one leaf tells another id than the one that was used.
fn ids(answering: &BTreeMap<CpuId, &Leaves>, places: &BTreeMap<CpuId, Place>) -> Vec<Disagreement> {
    let mut unlike: BTreeMap<String, (CpuId, u32, u32, usize)> = BTreeMap::new();
    for (cpu, place) in places {
        let Some(leaves) = answering.get(cpu) else { continue };
        let mut seen: Vec<String> = Vec::new();
        for (leaf, id, mask) in ids_of(leaves) {
            if id & mask != place.apic & mask && !seen.contains(&leaf) {
                unlike.entry(leaf.clone()).or_insert((*cpu, place.apic & mask, id, 0)).3 += 1;
                seen.push(leaf);
            }
        }
    }
    let line = |(leaf, (cpu, used, id, count)): (String, (CpuId, u32, u32, usize))| {
        let others = if count > 1 { format!(", and {} more are unlike", count - 1) } else { String::new() };
        Disagreement::between(
            "APIC ids",
            [("the leaf that was used", format!("{used} for CPU {cpu}")), (&leaf, format!("{id}{others}"))],
        )
    };
    unlike.into_iter().map(line).collect()
}

/// CPUs with one id: what is below eight bits of a longer one, or a copy.
fn shared_ids(places: &BTreeMap<CpuId, Place>) -> Option<Disagreement> {
    let mut owners: BTreeMap<u32, CpuSet> = BTreeMap::new();
    for (cpu, place) in places {
        owners.entry(place.apic).or_default().insert(*cpu);
    }
    let (id, cpus) = owners.iter().find(|(_, cpus)| cpus.len() > 1)?;
    Some(Disagreement::between(
        "number of CPUs",
        [
            (
                "the dump",
                format!(
                    "{} (CPUs {cpus} all have APIC id {id}; packages and cores are doubtful)",
                    places.len()
                ),
            ),
            ("APIC ids", owners.len().to_string()),
        ],
    ))
}

/// A count of CPUs that a leaf tells.
struct Count {
    leaf: String,
    cpus: u32,
    /// Software sees at most so many, and may see fewer.
    is_bound: bool,
}

/// What the leaves of one CPU say of its package.
fn counts_of(leaves: &Leaves) -> Vec<Count> {
    let mut claims = Vec::new();
    let extended = extended_levels(leaves);
    let largest = extended.as_ref().and_then(|(leaf, levels)| Some((*leaf, levels.last()?.cpus)));
    if let Some((leaf, cpus)) = largest {
        claims.push(Count { leaf: format!("CPUID leaf {leaf:X}H"), cpus, is_bound: false });
    }
    if largest.is_none_or(|(_, cpus)| cpus <= COUNTED_MAX) {
        let known = |cpus: &u32| (1..=COUNTED_MAX).contains(cpus);
        let leaf = |leaf: &str, cpus| Count { leaf: leaf.to_owned(), cpus, is_bound: true };
        claims.extend(Some(logical_count(leaves)).filter(known).map(|cpus| leaf("CPUID leaf 1", cpus)));
        let amd = package_count(leaves).filter(known);
        claims.extend(amd.map(|cpus| Count { is_bound: false, ..leaf("CPUID leaf 80000008H", cpus) }));
    }
    claims
}

/// Packages with more CPUs than a leaf counts, and leaves that count differently. Of CPUs that are switched off nothing is in a
/// dump: fewer are no contradiction.
fn counts(answering: &BTreeMap<CpuId, &Leaves>, places: &BTreeMap<CpuId, Place>) -> Vec<Disagreement> {
    let mut packages: BTreeMap<u32, CpuSet> = BTreeMap::new();
    for (cpu, place) in places {
        packages.entry(place.package).or_default().insert(*cpu);
    }
    let mut found: Vec<Disagreement> = Vec::new();
    for (package, cpus) in &packages {
        let Some(leaves) = cpus.first().and_then(|cpu| answering.get(&cpu)) else { continue };
        let claims = counts_of(leaves);
        for count in claims.iter().filter(|count| cpus.len() > count.cpus as usize) {
            found.push(Disagreement::between(
                "CPUs of a package",
                [
                    ("the dump", format!("{} in package {package}", cpus.len())),
                    (&count.leaf, count.cpus.to_string()),
                ],
            ));
        }
        let exact: Vec<&Count> = claims.iter().filter(|count| !count.is_bound).collect();
        if let [first, second] = exact.as_slice()
            && first.cpus != second.cpus
        {
            found.push(Disagreement::between(
                "CPUs of a package",
                [
                    (&first.leaf, format!("{} in package {package}", first.cpus)),
                    (&second.leaf, second.cpus.to_string()),
                ],
            ));
        }
    }
    // One package stands for all that are wrong in the same way.
    let mut seen = Vec::new();
    found.retain(|one| {
        let is_new = !seen.contains(&one.sources);
        seen.push(one.sources.clone());
        is_new
    });
    found
}

/// Caches that hold parts of several nodes, none of them whole: sharers or nodes are wrong. Nodes are the first that goes wrong by a
/// wrong reading of APIC ids.
pub(crate) fn caches_cut_by_nodes(topology: &Topology) -> Vec<Disagreement> {
    let mut node_of: BTreeMap<CpuId, usize> = BTreeMap::new();
    for (index, node) in topology.nodes.iter().enumerate() {
        node_of.extend(node.cpus.iter().map(|cpu| (cpu, index)));
    }
    let mut found: BTreeMap<String, Disagreement> = BTreeMap::new();
    for cache in &topology.caches {
        let held: BTreeSet<usize> =
            cache.shared_by.iter().filter_map(|cpu| node_of.get(&cpu).copied()).collect();
        let cut = held.iter().map(|index| &topology.nodes[*index]);
        if held.len() > 1
            && let Some(node) = cut.into_iter().find(|node| !node.cpus.is_subset(&cache.shared_by))
        {
            let subject = format!("who shares the {}", cache.name());
            let says = [
                ("the cache", format!("CPUs {}", cache.shared_by)),
                ("its nodes", format!("CPUs {} in node {}, and others elsewhere", node.cpus, node.id)),
            ];
            found.entry(cache.name()).or_insert_with(|| Disagreement::between(&subject, says));
        }
    }
    found.into_values().collect()
}

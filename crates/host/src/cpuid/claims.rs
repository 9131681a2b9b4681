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
    let mut found = ids(answering);
    found.extend(shared_ids(places));
    found.extend(counts(answering, places));
    found
}

/// The leaves that tell the id of a CPU that is in use. Leaf 1 has the initial one: firmware may give others.
fn ids_in_use(leaves: &Leaves) -> Vec<(String, u32)> {
    let mut claims = Vec::new();
    if let Some((leaf, levels)) = extended_levels(leaves) {
        claims.extend(levels.iter().map(|level| (format!("CPUID leaf {leaf:02X}H"), level.apic)));
    }
    claims.extend(topology_extensions(leaves).map(|claims| ("CPUID leaf 8000001EH".to_owned(), claims.apic)));
    claims
}

/// CPUs of which two leaves tell different ids in use, and those of which an initial id does not stand for one in use.
fn ids(answering: &BTreeMap<CpuId, &Leaves>) -> Vec<Disagreement> {
    let mut unlike: BTreeMap<[String; 2], (CpuId, [u32; 2], usize)> = BTreeMap::new();
    let (mut of_initial, mut of_used) = (BTreeMap::new(), BTreeMap::new());
    for (cpu, leaves) in answering {
        let claims = ids_in_use(leaves);
        let Some((used_leaf, used)) = claims.first() else { continue };
        let mut differ = |first: &str, second: &str, ids| {
            unlike.entry([first, second].map(str::to_owned)).or_insert((*cpu, ids, 0)).2 += 1;
        };
        if let Some((leaf, id)) = claims.iter().find(|(_, id)| id != used) {
            differ(used_leaf, leaf, [*used, *id]);
        }
        // Of ids from 256 on leaf 1 has the lower bits.
        let (initial, short) = (initial_apic(leaves), used & INITIAL_MASK);
        if *of_initial.entry(initial).or_insert(short) != short
            || *of_used.entry(short).or_insert(initial) != initial
        {
            differ("CPUID leaf 1", used_leaf, [initial, *used]);
        }
    }
    let line = |([first, second], (cpu, [id, other], count)): ([String; 2], (CpuId, [u32; 2], usize))| {
        let others = if count > 1 { format!(", and {} more are unlike", count - 1) } else { String::new() };
        let says = [(first.as_str(), format!("{id} for CPU {cpu}")), (&second, format!("{other}{others}"))];
        Disagreement::between("APIC ids", says)
    };
    unlike.into_iter().map(line).collect()
}

/// Leaves without which something stays unknown, and what; those of Intel's cores are of no other vendor.
const NEEDED: [(u32, &str); 3] = [
    (1, "signature, flags, APIC ids and whether there is a hypervisor"),
    (4, "which CPUs are threads of a core, and caches"),
    (0x8000_0000, "name and flags of 64-bit CPUs"),
];

/// What a dump lacks: leaves that its first CPU has. What they would say is unknown, and no zero.
pub(super) fn without_leaves(leaves: &Leaves) -> Option<String> {
    let has = |leaf: u32| leaf >= 0x8000_0000 || leaf <= leaves.max_leaf();
    let is_lost = |leaf: u32| has(leaf) && !leaves.was_asked(leaf) && (leaf != 4 || !leaves.is_amd());
    let lost: Vec<String> = NEEDED
        .iter()
        .filter(|(leaf, _)| is_lost(*leaf))
        .map(|(leaf, what)| format!("leaf {leaf:X}H ({what})"))
        .collect();
    (!lost.is_empty())
        .then(|| format!("the dump leaves out what the CPU has, which is unknown: {}", lost.join(", ")))
}

/// What a dump lacks: CPUs of a package that a leaf counts exactly.
pub(super) fn without_the_rest(
    answering: &BTreeMap<CpuId, &Leaves>,
    places: &BTreeMap<CpuId, Place>,
) -> Option<String> {
    let leaves = answering.values().next().filter(|_| answering.len() == 1)?;
    let Leaves::Recorded(_) = leaves else { return None };
    let count = counts_of(leaves).into_iter().find(|count| !count.is_bound && count.cpus > 1)?;
    let cpu = places.keys().next()?;
    Some(format!("the dump has CPU {cpu} alone, {} counts {} in its package", count.leaf, count.cpus))
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
        claims.push(Count { leaf: format!("CPUID leaf {leaf:02X}H"), cpus, is_bound: false });
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

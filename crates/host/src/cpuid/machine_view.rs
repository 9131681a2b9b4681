//! A whole [`Machine`] from the CPUID answers of its CPUs.

use std::collections::BTreeMap;

use machine::{
    Bytes, Cache, CacheKind, Core, Cpu, CpuId, CpuSet, Environment, Identity, Machine, Node, NodeId,
    Topology, Vendor,
};
use raw_cpuid::CpuIdReader;

use super::caches::{ClaimedCache, Sharers};
use super::levels::Place;
use super::{Leaves, caches, claims, flags, levels, tlb};

/// Describes the machine; its CPU numbers are those of the dump.
pub(super) fn describe(cpus: &BTreeMap<CpuId, Leaves>) -> Machine {
    let answering: BTreeMap<CpuId, &Leaves> =
        cpus.iter().filter(|(_, leaves)| leaves.max_leaf() > 0).map(|(cpu, leaves)| (*cpu, leaves)).collect();
    let silent: CpuSet = cpus.keys().copied().filter(|cpu| !answering.contains_key(cpu)).collect();
    // Where none says where it is, all are shown.
    let is_placed = |leaves: &Leaves| leaves.was_asked(1);
    let unplaced: CpuSet =
        answering.iter().filter(|(_, leaves)| !is_placed(leaves)).map(|(cpu, _)| *cpu).collect();
    let is_any_placed = unplaced.len() < answering.len();
    let answering: BTreeMap<CpuId, &Leaves> =
        answering.into_iter().filter(|(cpu, _)| !is_any_placed || !unplaced.contains(*cpu)).collect();
    let (places, taken) = levels::places(&answering);
    let first = answering.values().next();
    let mut missing: Vec<String> = taken.into_iter().map(str::to_owned).collect();
    missing.extend(first.and_then(|leaves| claims::without_leaves(leaves)));
    if is_any_placed && !unplaced.is_empty() {
        missing.push(format!("CPUID dump: no answer to leaf 1 from CPUs {unplaced}, whose place is unknown"));
    }
    missing.extend(claims::without_the_rest(&answering, &places));
    if !silent.is_empty() {
        missing.push(format!("CPUID dump: no answer to leaf 0 from CPUs {silent}"));
    }
    let topology = topology(&answering, &places);
    let mut disagreements = claims::contradictions(&answering, &places);
    disagreements.extend(claims::caches_cut_by_nodes(&topology));
    Machine {
        identity: first.map(|leaves| identity(leaves)).unwrap_or_default(),
        topology,
        tlbs: first.map(|leaves| tlb::read(leaves)).unwrap_or_default(),
        environment: Environment::default(),
        disagreements,
        missing,
    }
}

fn identity(leaves: &Leaves) -> Identity {
    let signature = leaves.signature();
    let cpuid = raw_cpuid::CpuId::with_cpuid_reader(leaves.clone());
    // A part of it would be another name.
    let has_name = (0x8000_0002..=0x8000_0004).all(|leaf| leaves.was_asked(leaf));
    let name = cpuid.get_processor_brand_string().filter(|_| has_name);
    let name = name.map(|brand| brand.as_str().trim().to_owned());
    let hypervisor = cpuid.get_hypervisor_info().map(|_| {
        let letters = hypervisor_letters(leaves).unwrap_or_else(|| "unknown".to_owned());
        let known = LEAF_HYPERVISORS.iter().find(|(known, _)| *known == letters);
        known.map_or(letters, |(_, name)| (*name).to_owned())
    });
    let flags = flags::read(leaves);
    let is_64_bit = flags.iter().any(|flag| flag == "lm");
    Identity {
        vendor: Some(Vendor::from(leaves.vendor())),
        family: signature.map(|signature| signature.family),
        model: signature.map(|signature| signature.model),
        stepping: signature.map(|signature| signature.stepping),
        name: name.filter(|name| !name.is_empty()),
        hypervisor,
        // A dump without leaf 1 shows no flag either way.
        architecture: signature.map(|_| if is_64_bit { "x86_64" } else { "x86" }.to_owned()),
        flags,
        ..Identity::default()
    }
}

/// The letters of leaf 4000_0000h and who writes them. Linux, arch/x86/kernel/cpu/{vmware,mshyperv,acrn,jailhouse}.c,
/// arch/x86/include/asm/xen/cpuid.h, kvm_para.h; systemd, src/basic/virt.c, detect_vm_cpuid.
const LEAF_HYPERVISORS: [(&str, &str); 11] = [
    ("KVMKVMKVM", "KVM"),
    ("Linux KVM Hv", "KVM"),
    ("TCGTCGTCGTCG", "QEMU"),
    ("XenVMMXenVMM", "Xen"),
    ("VMwareVMware", "VMware"),
    ("Microsoft Hv", "Hyper-V"),
    ("VBoxVBoxVBox", "VirtualBox"),
    ("bhyve bhyve", "bhyve"),
    ("prl hyperv", "Parallels"),
    ("lrpepyh  vr", "Parallels"),
    ("ACRNACRNACRN", "ACRN"),
];

/// The twelve letters of leaf 4000_0000h, if they are letters.
fn hypervisor_letters(leaves: &Leaves) -> Option<String> {
    let answer = leaves.cpuid2(0x4000_0000, 0);
    let bytes = [answer.ebx, answer.ecx, answer.edx].map(u32::to_le_bytes).concat();
    let text = String::from_utf8_lossy(&bytes).trim_matches(['\0', ' ']).to_owned();
    (!text.is_empty() && text.chars().all(|letter| letter.is_ascii_graphic() || letter == ' '))
        .then_some(text)
}

fn topology(answering: &BTreeMap<CpuId, &Leaves>, places: &BTreeMap<CpuId, Place>) -> Topology {
    let mut by_core: BTreeMap<(u32, u32), CpuSet> = BTreeMap::new();
    for (cpu, place) in places {
        by_core.entry((place.package, place.core)).or_default().insert(*cpu);
    }
    let os_index: BTreeMap<(u32, u32), u32> =
        places.values().map(|place| ((place.package, place.core), place.core_in_package)).collect();
    let mut cores: Vec<Core> = by_core
        .into_iter()
        .map(|(key, cpus)| Core {
            os_index: os_index.get(&key).map(|index| i64::from(*index)),
            package: i64::from(key.0),
            cpus,
        })
        .collect();
    cores.sort_by_key(|core| (core.package, core.cpus.first()));
    let core_index: BTreeMap<CpuId, usize> = cores
        .iter()
        .enumerate()
        .flat_map(|(index, core)| core.cpus.iter().map(move |cpu| (cpu, index)))
        .collect();
    let nodes = nodes(places);
    let has_nodes = !nodes.is_empty();
    let cpus: Vec<Cpu> = places
        .iter()
        .map(|(id, place)| Cpu {
            id: *id,
            core_index: core_index.get(id).copied().unwrap_or_default(),
            package: i64::from(place.package),
            die: place.die.map(i64::from),
            module: place.module.map(i64::from),
            node: place.node.filter(|_| has_nodes).map(NodeId),
            core_kind: place.kind,
            capacity: None,
        })
        .collect();
    Topology {
        allowed: cpus.iter().map(|cpu| cpu.id).collect(),
        allowed_nodes: nodes.iter().map(|node| node.id).collect(),
        cpus,
        cores,
        caches: instances(answering, places),
        nodes,
        ..Topology::default()
    }
}

/// The nodes of AMD's Fn8000_001E; none unless every CPU names one.
fn nodes(places: &BTreeMap<CpuId, Place>) -> Vec<Node> {
    let mut cpus: BTreeMap<NodeId, CpuSet> = BTreeMap::new();
    for (cpu, place) in places {
        let Some(node) = place.node else { return Vec::new() };
        cpus.entry(NodeId(node)).or_default().insert(*cpu);
    }
    cpus.into_iter().map(|(id, cpus)| Node { id, cpus, ..Node::default() }).collect()
}

/// The cache instances of a dump, each CPU speaking for itself.
fn instances(answering: &BTreeMap<CpuId, &Leaves>, places: &BTreeMap<CpuId, Place>) -> Vec<Cache> {
    let mut package_cpus: BTreeMap<u32, u32> = BTreeMap::new();
    for place in places.values() {
        *package_cpus.entry(place.package).or_default() += 1;
    }
    let claims = answering.iter().filter_map(|(cpu, leaves)| {
        let place = places.get(cpu)?;
        let in_package = package_cpus.get(&place.package).copied().unwrap_or(1);
        Some((*cpu, place.apic, caches::read(leaves, place, in_package)))
    });
    join(claims)
}

/// The cache instances where one CPU's description stands for all.
pub(super) fn caches_by_apic(leaves: &Leaves, apics: &BTreeMap<CpuId, u32>) -> Vec<Cache> {
    let in_package = u32::try_from(apics.len()).unwrap_or(u32::MAX);
    let claims = caches::read(leaves, &Place::read(leaves), in_package);
    join(apics.iter().map(|(cpu, apic)| (*cpu, *apic, claims.clone())))
}

/// One instance per level, kind and group of CPUs whose APIC ids make them sharers.
fn join(claims: impl Iterator<Item = (CpuId, u32, Vec<ClaimedCache>)>) -> Vec<Cache> {
    let mut found: BTreeMap<(u8, CacheKind, Sharers, (u32, u32)), Cache> = BTreeMap::new();
    for (cpu, apic, caches) in claims {
        for cache in caches {
            let key = (cache.level, cache.kind, cache.shared, cache.shared.instance(apic));
            let instance = found.entry(key).or_insert_with(|| Cache {
                level: cache.level,
                kind: cache.kind,
                size_bytes: Some(Bytes(cache.size_bytes)),
                line_bytes: Some(Bytes(cache.line_bytes)).filter(|line| line.0 > 0),
                ways: cache.ways,
                shared_by: CpuSet::new(),
                sharers_unknown: false,
            });
            instance.shared_by.insert(cpu);
        }
    }
    let mut caches: Vec<Cache> = found.into_values().collect();
    caches.sort_by_key(|cache| (cache.level, cache.kind, cache.shared_by.first()));
    caches
}

//! Which cores of a hybrid machine are the fast ones.
//!
//! Sources, best first: the two performance-monitoring units of Intel hybrids; the scheduler's capacities,
//! grouped by ARM part number; the maximum frequency of cores whose first-level caches differ in size.

use std::collections::{BTreeMap, BTreeSet};

use machine::{CacheKind, CoreKind, Cpu, CpuId, CpuSet, Topology};

use super::cpuinfo::CpuInfo;
use super::source::{CPU_FOLDER, Source};

/// Marks the kind of each core where the machine mixes several.
pub(super) fn fill(source: &Source<'_>, info: &CpuInfo, topology: &mut Topology) {
    let kinds = from_monitoring_units(source)
        .or_else(|| from_capacity(info, &topology.cpus))
        .or_else(|| from_caches(source, topology))
        .unwrap_or_default();
    for cpu in &mut topology.cpus {
        cpu.core_kind = kinds.get(&cpu.id).copied().unwrap_or_default();
    }
}

/// Intel hybrids have one performance-monitoring device for each kind of core, with the CPUs it serves.
fn from_monitoring_units(source: &Source<'_>) -> Option<BTreeMap<CpuId, CoreKind>> {
    let cpus = |device: &str| source.cpu_list(&format!("/sys/devices/{device}/cpus")).unwrap_or_default();
    let performance = cpus("cpu_core");
    let efficiency: CpuSet = cpus("cpu_atom").union(&cpus("cpu_lowpower"));
    if performance.is_empty() || efficiency.is_empty() {
        return None;
    }
    let marked = |cpus: CpuSet, kind: CoreKind| cpus.iter().map(|cpu| (cpu, kind)).collect::<Vec<_>>();
    let mut kinds = marked(performance, CoreKind::Performance);
    kinds.extend(marked(efficiency, CoreKind::Efficiency));
    Some(kinds.into_iter().collect())
}

/// The part with the highest capacity is the fast kind. Cores of one part may differ a little, as bins do.
fn from_capacity(info: &CpuInfo, cpus: &[Cpu]) -> Option<BTreeMap<CpuId, CoreKind>> {
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    for cpu in cpus {
        let capacity = cpu.capacity?;
        let part = info.of(cpu.id, "CPU part").map_or_else(|| capacity.to_string(), str::to_owned);
        let group = groups.entry(part).or_default();
        group.speed = group.speed.max(u64::from(capacity));
        group.cpus.push(cpu.id);
    }
    split(groups.into_values().collect())
}

/// Cores with first-level caches of different sizes are of different designs; the one that clocks higher is faster.
fn from_caches(source: &Source<'_>, topology: &Topology) -> Option<BTreeMap<CpuId, CoreKind>> {
    let mut designs: BTreeMap<CpuId, Vec<(CacheKind, u64)>> =
        topology.cpus.iter().map(|cpu| (cpu.id, Vec::new())).collect();
    for cache in topology.caches.iter().filter(|cache| cache.level == 1) {
        for cpu in cache.shared_by.iter() {
            if let (Some(design), Some(size)) = (designs.get_mut(&cpu), cache.size_bytes) {
                design.push((cache.kind, size.0));
            }
        }
    }
    let mut groups: BTreeMap<Vec<(CacheKind, u64)>, Group> = BTreeMap::new();
    for (cpu, design) in designs {
        groups.entry(design).or_default().cpus.push(cpu);
    }
    if groups.len() < 2 {
        return None;
    }
    for group in groups.values_mut() {
        for cpu in &group.cpus {
            let kilohertz: u64 = source.number(&format!("{CPU_FOLDER}/cpu{cpu}/cpufreq/cpuinfo_max_freq"))?;
            group.speed = group.speed.max(kilohertz);
        }
    }
    split(groups.into_values().collect())
}

/// CPUs of one design and a number that is larger for faster designs.
#[derive(Debug, Default)]
struct Group {
    speed: u64,
    cpus: Vec<CpuId>,
}

/// The CPUs of the fastest design are fast, the others are not; nothing if all are alike.
fn split(groups: Vec<Group>) -> Option<BTreeMap<CpuId, CoreKind>> {
    let speeds: BTreeSet<u64> = groups.iter().map(|group| group.speed).collect();
    let highest = *speeds.last().filter(|_| speeds.len() > 1)?;
    let marked = |group: Group| {
        let kind = if group.speed == highest { CoreKind::Performance } else { CoreKind::Efficiency };
        group.cpus.into_iter().map(move |cpu| (cpu, kind))
    };
    Some(groups.into_iter().flat_map(marked).collect())
}

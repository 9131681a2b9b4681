//! Packages, dies, modules, cores and threads from `/sys/devices/system/cpu`, or from `/proc/cpuinfo` alone; which cores of a hybrid
//! machine are the fast ones.
//!
//! Sources of the kinds of cores, best first: the two performance-monitoring units of Intel hybrids; the scheduler's capacities,
//! grouped by ARM part number; the maximum frequency of cores whose first-level caches differ in size.

use std::collections::{BTreeMap, BTreeSet};

use machine::{CacheKind, Core, CoreKind, Cpu, CpuId, CpuSet, NodeId, Topology};

use super::source::{CPU_FOLDER, CpuInfo, Source};
use super::{caches, confinement, nodes};

/// The cluster number arm64 reports where firmware names none (drivers/base/arch_topology.c, as u16).
const CLUSTER_UNKNOWN: i64 = 65_535;

/// Reads the whole topology; CPUs that are offline are listed apart.
pub(super) fn read(source: &Source<'_>, info: &CpuInfo) -> Topology {
    let present = Present::read(source, info);
    let levels = Levels::read(source, info, &present.online);
    if levels.package.values().all(Option::is_none) && !present.online.is_empty() {
        source.note(format!(
            "neither {CPU_FOLDER} nor /proc/cpuinfo tells the packages: one is assumed, how many there are is unknown"
        ));
    }
    let mut topology = Topology { offline: present.offline, ..Topology::default() };
    topology.cores = cores(&levels, &present.online);
    let is_divided = info.first("vendor_id") != Some("IBM/S390");
    let packages = levels.package.iter().filter_map(|(cpu, package)| Some((*cpu, (*package)?)));
    let around = caches::Around {
        online: &present.online,
        cores: &topology.cores,
        packages: packages.filter(|_| is_divided).collect(),
    };
    topology.caches = caches::read(source, &around);
    let numa = nodes::read(source, &present.online);
    topology.distance_nodes = numa.distance_nodes;
    topology.nodes = numa.nodes;
    topology.isolated =
        source.cpu_list(&format!("{CPU_FOLDER}/isolated")).unwrap_or_default().intersection(&present.online);

    let core_index: BTreeMap<CpuId, usize> = topology
        .cores
        .iter()
        .enumerate()
        .flat_map(|(index, core)| core.cpus.iter().map(move |cpu| (cpu, index)))
        .collect();
    let nearest: BTreeMap<CpuId, NodeId> =
        topology.nodes.iter().flat_map(|node| node.cpus.iter().map(|cpu| (cpu, node.id))).collect();
    topology.cpus = present
        .online
        .iter()
        .map(|id| Cpu {
            id,
            core_index: core_index.get(&id).copied().unwrap_or_default(),
            package: levels.package.get(&id).copied().flatten().unwrap_or_default(),
            die: levels.die.get(&id).copied().flatten(),
            module: levels.module.get(&id).copied().flatten(),
            node: nearest.get(&id).copied(),
            core_kind: CoreKind::Uniform,
            capacity: source.number(&format!("{CPU_FOLDER}/cpu{id}/cpu_capacity")),
        })
        .collect();
    fill_core_kinds(source, info, &mut topology);
    confinement::fill(source, &mut topology);
    topology
}

/// Which CPUs there are.
struct Present {
    online: CpuSet,
    offline: CpuSet,
}

impl Present {
    /// The CPU folders, less those the kernel calls offline; the blocks of /proc/cpuinfo where there are none.
    fn read(source: &Source<'_>, info: &CpuInfo) -> Self {
        let folders: CpuSet = source.root().numbers(CPU_FOLDER, "cpu").into_iter().map(CpuId).collect();
        let listed = |name: &str| source.cpu_list(&format!("{CPU_FOLDER}/{name}"));
        let (online, present) = (listed("online"), listed("present"));
        let known = match (folders.is_empty(), &online) {
            (false, _) => folders,
            (true, Some(online)) => online.clone(),
            (true, None) => info.cpus.keys().copied().collect(),
        };
        let is_on = |cpu: CpuId| match &online {
            Some(online) => online.contains(cpu),
            None => source.text(&format!("{CPU_FOLDER}/cpu{cpu}/online")).as_deref() != Some("0"),
        };
        let online: CpuSet = known.iter().filter(|cpu| is_on(*cpu)).collect();
        let offline = known.union(&present.unwrap_or_default()).difference(&online);
        Self { online, offline }
    }
}

/// The group numbers of each CPU, level by level.
struct Levels {
    package: BTreeMap<CpuId, Option<i64>>,
    die: BTreeMap<CpuId, Option<i64>>,
    module: BTreeMap<CpuId, Option<i64>>,
    /// What the kernel tells of the core: its `core_id` and the threads in it.
    core: BTreeMap<CpuId, Membership>,
}

impl Levels {
    fn read(source: &Source<'_>, info: &CpuInfo, online: &CpuSet) -> Self {
        let level =
            |id_name: &str, members_names: [&str; 2], info_key: &str| -> BTreeMap<CpuId, Membership> {
                let read = |cpu: CpuId| {
                    let file = |name: &str| format!("{CPU_FOLDER}/cpu{cpu}/topology/{name}");
                    let id = source
                        .number(&file(id_name))
                        .or_else(|| info.of(cpu, info_key).and_then(|value| value.parse().ok()));
                    let members = members_names
                        .iter()
                        .find_map(|name| source.cpus(&file(name), &file(&format!("{name}_list"))));
                    Membership { id, members }
                };
                online.iter().map(|cpu| (cpu, read(cpu))).collect()
            };
        let package = level("physical_package_id", ["package_cpus", "core_siblings"], "physical id");
        let die = level("die_id", ["die_cpus", "die_cpus"], "");
        let module = level("cluster_id", ["cluster_cpus", "cluster_cpus"], "");
        let core = level("core_id", ["core_cpus", "thread_siblings"], "core id");
        let told_only = |mut told: BTreeMap<CpuId, Membership>| {
            for membership in told.values_mut() {
                membership.id = membership.id.filter(|id| *id >= 0 && *id != CLUSTER_UNKNOWN);
            }
            told
        };
        let module = told_only(module)
            .into_iter()
            .map(|(cpu, told)| {
                // A cluster of one core, or of the whole package, tells nothing that core and package do not.
                let same = |other: &BTreeMap<CpuId, Membership>| {
                    let other = other.get(&cpu).and_then(|other| other.members.as_ref());
                    told.members.is_some() && told.members.as_ref() == other
                };
                (cpu, told.id.filter(|_| !same(&core) && !same(&package)))
            })
            .collect();
        Self {
            die: told_only(die).into_iter().map(|(cpu, told)| (cpu, told.id)).collect(),
            module,
            package: group_numbers(&package),
            core,
        }
    }
}

/// The cores: threads that name each other and have one `core_id`, else those with one `core_id` in a package, else each CPU alone.
///
/// Some kernels list the two cores of a Bulldozer module as threads, with `core_id`s of their own.
fn cores(levels: &Levels, online: &CpuSet) -> Vec<Core> {
    let mut cores: Vec<Core> = Vec::new();
    let mut seen: CpuSet = CpuSet::new();
    let mut by_number: BTreeMap<(i64, Option<i64>, i64), CpuSet> = BTreeMap::new();
    let place = |cpu: CpuId| {
        let package = levels.package.get(&cpu).copied().flatten().unwrap_or_default();
        (package, levels.die.get(&cpu).copied().flatten())
    };
    for (cpu, told) in &levels.core {
        if let Some(id) = told.id {
            let (package, die) = place(*cpu);
            by_number.entry((package, die, id)).or_default().insert(*cpu);
        }
    }
    for cpu in online.iter() {
        if seen.contains(cpu) {
            continue;
        }
        let told = levels.core.get(&cpu).cloned().unwrap_or_default();
        let (package, die) = place(cpu);
        let alone = || [cpu].into_iter().collect::<CpuSet>();
        let cpus = match (told.members, told.id) {
            (Some(members), id) => {
                let is_same = |other: &CpuId| levels.core.get(other).is_some_and(|told| told.id == id);
                members.intersection(online).iter().filter(is_same).collect::<CpuSet>().union(&alone())
            }
            (None, Some(id)) => by_number.get(&(package, die, id)).cloned().unwrap_or_else(alone),
            (None, None) => alone(),
        };
        let cpus = cpus.difference(&seen);
        seen = seen.union(&cpus);
        cores.push(Core { os_index: told.id, package, cpus });
    }
    cores.sort_by_key(|core| (core.package, core.cpus.first()));
    cores
}

/// What the kernel tells of one CPU about one level: the group's number and its members.
#[derive(Debug, Clone, Default)]
struct Membership {
    /// The number of the group, if the kernel gives one; it need not be unique.
    id: Option<i64>,
    /// The members, if the kernel gives them.
    members: Option<CpuSet>,
}

/// Numbers for groups, one per CPU: the kernel's where each group has its own, else 0, 1, ... in order of first CPUs.
///
/// Members win over numbers: PowerPC gives one number to several packages, s390 none.
/// `None` for CPUs of which nothing is told.
fn group_numbers(told: &BTreeMap<CpuId, Membership>) -> BTreeMap<CpuId, Option<i64>> {
    let online: CpuSet = told.keys().copied().collect();
    let mut keys: BTreeMap<CpuId, Option<Key>> = BTreeMap::new();
    for (cpu, membership) in told {
        let members = membership.members.as_ref().map(|members| members.intersection(&online));
        let key = match (members.filter(|members| members.contains(*cpu)), membership.id) {
            (Some(members), _) => members.first().map(Key::First),
            (None, Some(id)) => Some(Key::Number(id)),
            (None, None) => None,
        };
        keys.insert(*cpu, key);
    }
    let mut id_of: BTreeMap<Key, Option<i64>> = BTreeMap::new();
    for (cpu, key) in &keys {
        if let Some(key) = key {
            id_of.entry(*key).or_insert_with(|| told.get(cpu).and_then(|membership| membership.id));
        }
    }
    let distinct: BTreeSet<i64> = id_of.values().filter_map(|id| id.filter(|id| *id >= 0)).collect();
    let order: BTreeMap<Key, i64> =
        keys.values().flatten().fold(BTreeMap::new(), |mut order: BTreeMap<Key, i64>, key| {
            let next = i64::try_from(order.len()).unwrap_or(i64::MAX);
            order.entry(*key).or_insert(next);
            order
        });
    let kernels = distinct.len() == id_of.len();
    keys.into_iter()
        .map(|(cpu, key)| {
            let number = key.and_then(|key| {
                if kernels { id_of.get(&key).copied().flatten() } else { order.get(&key).copied() }
            });
            (cpu, number)
        })
        .collect()
}

/// What makes a group: its first online member, or only its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    First(CpuId),
    Number(i64),
}

/// Marks the kind of each core where the machine mixes several.
fn fill_core_kinds(source: &Source<'_>, info: &CpuInfo, topology: &mut Topology) {
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
    let mut groups: BTreeMap<String, Design> = BTreeMap::new();
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
    let mut groups: BTreeMap<Vec<(CacheKind, u64)>, Design> = BTreeMap::new();
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
struct Design {
    speed: u64,
    cpus: Vec<CpuId>,
}

/// The CPUs of the fastest design are fast, the others are not; nothing if all are alike.
fn split(groups: Vec<Design>) -> Option<BTreeMap<CpuId, CoreKind>> {
    let speeds: BTreeSet<u64> = groups.iter().map(|group| group.speed).collect();
    let highest = *speeds.last().filter(|_| speeds.len() > 1)?;
    let marked = |group: Design| {
        let kind = if group.speed == highest { CoreKind::Performance } else { CoreKind::Efficiency };
        group.cpus.into_iter().map(move |cpu| (cpu, kind))
    };
    Some(groups.into_iter().flat_map(marked).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(told: &[(u32, Option<i64>, Option<&str>)]) -> Vec<Option<i64>> {
        let told = told
            .iter()
            .map(|(cpu, id, members)| {
                let members = members.map(|list| CpuSet::from_list(list).expect("a list"));
                (CpuId(*cpu), Membership { id: *id, members })
            })
            .collect();
        group_numbers(&told).into_values().collect()
    }

    #[test]
    fn groups_keep_the_kernels_numbers_unless_those_are_shared_or_missing() {
        let (a, b) = (Some("0-1"), Some("4-5"));
        assert_eq!(
            numbers(&[(0, Some(3), a), (1, Some(3), a), (4, Some(9), b)]),
            [Some(3), Some(3), Some(9)]
        );
        assert_eq!(
            numbers(&[(0, Some(0), a), (1, Some(0), a), (4, Some(0), b)]),
            [Some(0), Some(0), Some(1)]
        );
        assert_eq!(numbers(&[(0, Some(-1), a), (4, Some(-1), b)]), [Some(0), Some(1)]);
        assert_eq!(numbers(&[(0, Some(2), None), (4, Some(2), None)]), [Some(2), Some(2)]);
        assert_eq!(numbers(&[(0, None, None), (4, None, None)]), [None, None]);
    }
}

//! Packages, dies, modules, cores and threads from `/sys/devices/system/cpu`, or from `/proc/cpuinfo` alone; which cores of a hybrid
//! machine are the fast ones.
//!
//! Sources of the kinds of cores, best first: the two performance-monitoring units of Intel hybrids; the scheduler's capacities,
//! grouped by ARM part number; the maximum frequency of cores whose first-level caches differ in size.

use std::collections::BTreeMap;

use machine::{CacheKind, Core, CoreKind, Cpu, CpuId, CpuSet, NodeId, Topology};

use super::source::{CPU_FOLDER, CpuInfo, Source};
use super::{caches, confinement, nodes};

/// The cluster number arm64 reports where firmware names none (drivers/base/arch_topology.c, as u16).
const CLUSTER_UNKNOWN: i64 = 65_535;

/// Reads the whole topology; CPUs that are offline are listed apart.
pub(super) fn read(source: &Source<'_>, info: &CpuInfo) -> Topology {
    let present = Present::read(source, info);
    let places = places(source, info, &present.online);
    if places.iter().all(|place| place.package.is_none()) && !places.is_empty() {
        source.note(format!(
            "neither {CPU_FOLDER} nor /proc/cpuinfo names the packages: one is assumed, how many there are is unknown"
        ));
    }
    let mut topology = Topology { offline: present.offline, ..Topology::default() };
    topology.cores = cores(&places);
    let is_divided = info.first("vendor_id") != Some("IBM/S390");
    let packages = places.iter().filter_map(|place| Some((place.cpu, place.package?)));
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
    let cpu = |place: &Place| Cpu {
        id: place.cpu,
        core_index: core_index.get(&place.cpu).copied().unwrap_or_default(),
        package: place.package.unwrap_or_default(),
        die: place.die,
        module: place.module,
        node: nearest.get(&place.cpu).copied(),
        core_kind: CoreKind::Uniform,
        capacity: source.number(&format!("{CPU_FOLDER}/cpu{}/cpu_capacity", place.cpu)),
    };
    topology.cpus = places.iter().map(cpu).collect();
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

/// The group numbers of one CPU, level by level.
struct Place {
    cpu: CpuId,
    package: Option<i64>,
    die: Option<i64>,
    module: Option<i64>,
    /// What the kernel says of the core: its `core_id` and the threads in it.
    core: Membership,
}

/// The places of the CPUs that are online, by their numbers.
fn places(source: &Source<'_>, info: &CpuInfo, online: &CpuSet) -> Vec<Place> {
    let level = |cpu: CpuId, id_name: &str, members_names: &[&str], info_key: &str| {
        let file = |name: &str| format!("{CPU_FOLDER}/cpu{cpu}/topology/{name}");
        let of_info = || info.of(cpu, info_key).and_then(|value| value.parse().ok());
        let members =
            members_names.iter().find_map(|name| source.cpus(&file(name), &file(&format!("{name}_list"))));
        Membership { id: source.number(&file(id_name)).or_else(of_info), members }
    };
    let packages = ["package_cpus", "core_siblings"];
    let packages: Vec<Membership> =
        online.iter().map(|cpu| level(cpu, "physical_package_id", &packages, "physical id")).collect();
    let numbers = group_numbers(online, &packages);
    let known = |id: Option<i64>| id.filter(|id| *id >= 0 && *id != CLUSTER_UNKNOWN);
    let place = |((cpu, in_package), package): ((CpuId, &Membership), Option<i64>)| {
        let core = level(cpu, "core_id", &["core_cpus", "thread_siblings"], "core id");
        let module = level(cpu, "cluster_id", &["cluster_cpus"], "");
        // A cluster of one core, or of the whole package, says nothing that core and package do not.
        let same = |other: &Membership| module.members.is_some() && module.members == other.members;
        let number = known(module.id).filter(|_| !same(&core) && !same(in_package));
        Place { cpu, package, die: known(level(cpu, "die_id", &["die_cpus"], "").id), module: number, core }
    };
    online.iter().zip(&packages).zip(numbers).map(place).collect()
}

/// The cores: threads that name each other and have one `core_id`, else those with one `core_id` in a package, else each CPU alone.
///
/// Some kernels list the two cores of a Bulldozer module as threads, with `core_id`s of their own.
fn cores(places: &[Place]) -> Vec<Core> {
    let mut cores: Vec<Core> = Vec::new();
    let mut seen: CpuSet = CpuSet::new();
    let place_of =
        |cpu: CpuId| places.binary_search_by_key(&cpu, |place| place.cpu).ok().map(|at| &places[at]);
    for place in places {
        let Place { cpu, package, die, core, .. } = place;
        if seen.contains(*cpu) {
            continue;
        }
        let mut cpus: CpuSet = match (&core.members, core.id) {
            (Some(members), id) => {
                let is_same = |other: &CpuId| place_of(*other).is_some_and(|other| other.core.id == id);
                members.iter().filter(is_same).collect()
            }
            (None, Some(_)) => {
                let is_same =
                    |other: &&Place| (other.package, other.die, other.core.id) == (*package, *die, core.id);
                places.iter().filter(is_same).map(|other| other.cpu).collect()
            }
            (None, None) => CpuSet::new(),
        };
        cpus.insert(*cpu);
        let cpus = cpus.difference(&seen);
        seen = seen.union(&cpus);
        cores.push(Core { os_index: core.id, package: package.unwrap_or_default(), cpus });
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
/// `None` for CPUs of which nothing is known.
fn group_numbers(online: &CpuSet, memberships: &[Membership]) -> Vec<Option<i64>> {
    let key = |(cpu, one): (CpuId, &Membership)| {
        let members = one.members.as_ref().filter(|members| members.contains(cpu));
        members
            .map_or(one.id.map(Key::Number), |members| members.intersection(online).first().map(Key::First))
    };
    let keys: Vec<Option<Key>> = online.iter().zip(memberships).map(key).collect();
    // Each group with what the kernel calls it, in order of first CPUs.
    let mut groups: Vec<(Key, Option<i64>)> = Vec::new();
    for (key, one) in keys.iter().zip(memberships) {
        if let Some(key) = key.filter(|key| groups.iter().all(|(known, _)| known != key)) {
            groups.push((key, one.id));
        }
    }
    let mut ids: Vec<i64> = groups.iter().filter_map(|(_, id)| id.filter(|id| *id >= 0)).collect();
    ids.sort_unstable();
    ids.dedup();
    let is_kernels = ids.len() == groups.len();
    let number = |key: Key| {
        let at = groups.iter().position(|(known, _)| *known == key)?;
        if is_kernels { groups[at].1 } else { i64::try_from(at).ok() }
    };
    keys.into_iter().map(|key| key.and_then(number)).collect()
}

/// What makes a group: its first online member, or only its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    First(CpuId),
    Number(i64),
}

/// Marks the kind of each core where the machine mixes several.
fn fill_core_kinds(source: &Source<'_>, info: &CpuInfo, topology: &mut Topology) {
    let kinds = from_monitoring_units(source)
        .or_else(|| from_capacity(info, &topology.cpus))
        .or_else(|| from_caches(source, topology));
    let Some([fast, slow]) = kinds else { return };
    for cpu in &mut topology.cpus {
        cpu.core_kind = match (fast.contains(cpu.id), slow.contains(cpu.id)) {
            (_, true) => CoreKind::Efficiency,
            (true, false) => CoreKind::Performance,
            (false, false) => CoreKind::Uniform,
        };
    }
}

/// Intel hybrids have one performance-monitoring device for each kind of core, with the CPUs it serves.
fn from_monitoring_units(source: &Source<'_>) -> Option<[CpuSet; 2]> {
    let cpus = |device: &str| source.cpu_list(&format!("/sys/devices/{device}/cpus")).unwrap_or_default();
    let performance = cpus("cpu_core");
    let efficiency: CpuSet = cpus("cpu_atom").union(&cpus("cpu_lowpower"));
    (!performance.is_empty() && !efficiency.is_empty()).then_some([performance, efficiency])
}

/// The part with the highest capacity is the fast kind. Cores of one part may differ a little, as bins do.
fn from_capacity(info: &CpuInfo, cpus: &[Cpu]) -> Option<[CpuSet; 2]> {
    let mut groups: BTreeMap<String, Design> = BTreeMap::new();
    for cpu in cpus {
        let capacity = cpu.capacity?;
        let part = info.of(cpu.id, "CPU part").map_or_else(|| capacity.to_string(), str::to_owned);
        let group = groups.entry(part).or_default();
        group.speed = group.speed.max(u64::from(capacity));
        group.cpus.insert(cpu.id);
    }
    split(&groups.into_values().collect::<Vec<_>>())
}

/// Cores with first-level caches of different sizes are of different designs; the one that clocks higher is faster.
fn from_caches(source: &Source<'_>, topology: &Topology) -> Option<[CpuSet; 2]> {
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
        groups.entry(design).or_default().cpus.insert(cpu);
    }
    if groups.len() < 2 {
        return None;
    }
    for group in groups.values_mut() {
        for cpu in group.cpus.iter() {
            let kilohertz: u64 = source.number(&format!("{CPU_FOLDER}/cpu{cpu}/cpufreq/cpuinfo_max_freq"))?;
            group.speed = group.speed.max(kilohertz);
        }
    }
    split(&groups.into_values().collect::<Vec<_>>())
}

/// CPUs of one design and a number that is larger for faster designs.
#[derive(Debug, Default)]
struct Design {
    speed: u64,
    cpus: CpuSet,
}

/// The CPUs of the fastest design, and all others; nothing if all are alike.
fn split(groups: &[Design]) -> Option<[CpuSet; 2]> {
    let highest = groups.iter().map(|group| group.speed).max()?;
    let of = |is_fast: bool| {
        let alike = groups.iter().filter(|group| (group.speed == highest) == is_fast);
        alike.fold(CpuSet::new(), |all, group| all.union(&group.cpus))
    };
    let [fast, slow] = [true, false].map(of);
    (!slow.is_empty()).then_some([fast, slow])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(memberships: &[(u32, Option<i64>, Option<&str>)]) -> Vec<Option<i64>> {
        let online = memberships.iter().map(|(cpu, ..)| CpuId(*cpu)).collect();
        let membership = |(_, id, members): &(u32, Option<i64>, Option<&str>)| {
            let members = members.map(|list| CpuSet::from_list(list).expect("a list"));
            Membership { id: *id, members }
        };
        group_numbers(&online, &memberships.iter().map(membership).collect::<Vec<_>>())
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

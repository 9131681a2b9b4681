//! Packages, dies, modules, cores and threads from `/sys/devices/system/cpu`, or from `/proc/cpuinfo` alone.

use std::collections::BTreeMap;

use machine::{Core, CoreKind, Cpu, CpuId, CpuSet, NodeId, Topology};

use super::cpuinfo::CpuInfo;
use super::groups::{self, Membership};
use super::source::{CPU_FOLDER, Source};
use super::{caches, confinement, core_kinds, nodes};

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
    core_kinds::fill(source, info, &mut topology);
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
        let folders: CpuSet = source.numbered(CPU_FOLDER, "cpu").into_iter().map(CpuId).collect();
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
            package: groups::number(&package),
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

//! Packages, dies, modules, cores and threads from `/sys/devices/system/cpu`, or from `/proc/cpuinfo` alone; which cores of a hybrid
//! machine are the fast ones.
//!
//! Older arm64 kernels number clusters as packages where firmware has a device tree (Linux, drivers/base/arch_topology.c): those that
//! share a cache are one package. Clusters and dies that cut a cache are not believed.
//!
//! Sources of the kinds of cores, best first: the two performance-monitoring units of Intel hybrids; the scheduler's capacities,
//! grouped by ARM part number; the maximum frequency of cores whose first-level caches differ in size.

use std::collections::{BTreeMap, BTreeSet};

use machine::{Cache, CacheKind, Core, CoreKind, Cpu, CpuId, CpuSet, Disagreement, NodeId, Topology};

use super::source::{CPU_FOLDER, CpuInfo, Source};
use super::{caches, confinement, nodes};

/// The cluster number arm64 reports where firmware names none (drivers/base/arch_topology.c, as u16).
const CLUSTER_UNKNOWN: i64 = 65_535;

/// Reads the whole topology; CPUs that are offline are listed apart.
pub(super) fn read(source: &Source<'_>, info: &CpuInfo) -> Topology {
    let present = Present::read(source, info);
    let mut places = places(source, info, &present.online);
    if places.iter().all(|place| place.package.is_none()) && !places.is_empty() {
        source.note(format!(
            "neither {CPU_FOLDER} nor /proc/cpuinfo names the packages: one is assumed, how many there are is unknown"
        ));
    }
    let mut topology = Topology { offline: present.offline, ..Topology::default() };
    topology.cores = cores(&places);
    let numa = nodes::read(source, &present.online);
    // Machines of several packages have several nodes.
    let may_be_clusters = info.first("CPU implementer").is_some() && numa.nodes.len() < 2;
    let is_divided = !may_be_clusters && info.first("vendor_id") != Some("IBM/S390");
    let packages = places.iter().filter_map(|place| Some((place.cpu, place.package?)));
    let around = caches::Around {
        online: &present.online,
        cores: &topology.cores,
        packages: packages.filter(|_| is_divided).collect(),
    };
    topology.caches = caches::read(source, &around);
    if may_be_clusters {
        join_packages(source, &mut places, &mut topology);
    }
    drop_cut_groups(source, &mut places, &topology.caches);
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
    /// Who is in the die and in the module, by the file that says so.
    groups: [(&'static str, Option<CpuSet>); 2],
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
        let die = level(cpu, "die_id", &["die_cpus"], "");
        let on = |members: Option<CpuSet>| members.map(|cpus| cpus.intersection(online));
        let groups = [("die_cpus", on(die.members)), ("cluster_cpus", on(module.members))];
        Place { cpu, package, die: known(die.id), module: number, groups, core }
    };
    online.iter().zip(&packages).zip(numbers).map(place).collect()
}

/// Makes one package of those that share a cache: they are clusters.
fn join_packages(source: &Source<'_>, places: &mut [Place], topology: &mut Topology) {
    for cache in &topology.caches {
        let package_of = |cpu: CpuId| {
            places.binary_search_by_key(&cpu, |place| place.cpu).ok().and_then(|at| places[at].package)
        };
        let packages: BTreeSet<i64> = cache.shared_by.iter().filter_map(package_of).collect();
        let (Some(first), 2..) = (packages.first(), packages.len()) else { continue };
        source.note(format!(
            "physical_package_id numbers clusters, as older arm64 kernels do: CPUs {} share an {} and are taken for one package",
            cache.shared_by,
            cache.name()
        ));
        for place in
            places.iter_mut().filter(|place| place.package.is_some_and(|number| packages.contains(&number)))
        {
            place.module = place.module.or(place.package);
            place.package = Some(*first);
        }
        for core in topology.cores.iter_mut().filter(|core| packages.contains(&core.package)) {
            core.package = *first;
        }
    }
    topology.cores.sort_by_key(|core| (core.package, core.cpus.first()));
}

/// Forgets clusters and dies that hold a part of a cache's CPUs and others besides, and says so once for each.
fn drop_cut_groups(source: &Source<'_>, places: &mut [Place], caches: &[Cache]) {
    let mut found: BTreeMap<&str, (CpuId, [String; 2], CpuSet, usize)> = BTreeMap::new();
    let mut of_cpu: BTreeMap<CpuId, Vec<&Cache>> = BTreeMap::new();
    for cache in caches.iter().filter(|cache| !cache.sharers_unknown) {
        cache.shared_by.iter().for_each(|cpu| of_cpu.entry(cpu).or_default().push(cache));
    }
    for place in places.iter_mut() {
        for (index, (file, members)) in place.groups.iter().enumerate() {
            let Some(members) = members else { continue };
            let nests = |cpus: &CpuSet| cpus.is_subset(members) || members.is_subset(cpus);
            let own = of_cpu.get(&place.cpu).into_iter().flatten();
            let cut: Vec<&&Cache> = own.filter(|cache| !nests(&cache.shared_by)).collect();
            let Some(first) = cut.first() else { continue };
            let alike = cut.iter().filter(|cache| cache.shared_by == first.shared_by);
            let names = alike.map(|cache| cache.name()).collect::<Vec<_>>().join(" and ");
            let says = [format!("CPUs {members}"), names];
            found.entry(file).or_insert((place.cpu, says, first.shared_by.clone(), 0)).3 += 1;
            *[&mut place.die, &mut place.module][index] = None;
        }
    }
    for (file, (cpu, [members, names], cpus, count)) in found {
        let others = if count > 1 { format!(" and {} other CPUs", count - 1) } else { String::new() };
        let what = file.trim_end_matches("_cpus");
        let sharers = format!("shared_cpu_map of {names}");
        let says = [(file, members), (sharers.as_str(), format!("CPUs {cpus}, which are taken"))];
        source.disagree(Disagreement::between(&format!("the {what} of CPU {cpu}{others}"), says));
    }
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

/// Parts of high capacity are the fast kind. Cores of one part may differ a little, as bins do.
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

/// The CPUs above and below the widest gap of speed; nothing if all are alike.
fn split(groups: &[Design]) -> Option<[CpuSet; 2]> {
    let mut speeds: Vec<u64> = groups.iter().map(|group| group.speed).collect();
    speeds.sort_unstable();
    let ratio = |pair: &&[u64]| pair[1] as f64 / pair[0].max(1) as f64;
    let widest =
        speeds.windows(2).max_by(|a, b| ratio(a).total_cmp(&ratio(b))).filter(|pair| pair[0] < pair[1])?;
    let of = |is_fast: bool| {
        let alike = groups.iter().filter(|group| (group.speed >= widest[1]) == is_fast);
        alike.fold(CpuSet::new(), |all, group| all.union(&group.cpus))
    };
    Some([of(true), of(false)])
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

    /// A machine of CPUs, each with texts below its folder, and more files.
    fn machine(cpus: &[&[(&str, &str)]], files: &[(&str, &str)]) -> machine::Machine {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut all: Vec<(String, &str)> =
            files.iter().map(|(path, text)| ((*path).to_owned(), *text)).collect();
        for (cpu, texts) in cpus.iter().enumerate() {
            all.extend(
                texts.iter().map(|(path, text)| (format!("{}/cpu{cpu}/{path}", &CPU_FOLDER[1..]), *text)),
            );
        }
        for (path, text) in all {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().expect("below the folder")).expect("folders");
            std::fs::write(path, text).expect("a file");
        }
        crate::describe(&crate::Root::open(folder.path()).expect("a tree"), None)
    }

    /// The sets of the caches, and the contradictions in words.
    fn said(machine: &machine::Machine) -> (Vec<String>, Vec<String>) {
        let sets = machine.topology.caches.iter().map(|cache| cache.shared_by.to_string()).collect();
        (sets, machine.disagreements.iter().map(Disagreement::sentence).collect())
    }

    #[test]
    fn the_id_of_a_cache_is_held_against_its_lists_and_taken_where_those_are_cut() {
        let kept = "shared_cpu_map says CPUs 0-2, the cache's id says CPUs 0,2,4";
        for (lists, ids, expected, words) in [
            (
                ["0-2", "0-2", "0-2", "3-4", "3-4", "5"],
                ["0", "0", "0", "1", "1", "1"],
                vec!["0-2", "3-5"],
                "which are taken",
            ),
            (
                ["0-2", "0-2", "0-2", "3-5", "3-5", "3-5"],
                ["0", "1", "0", "1", "0", "1"],
                vec!["0-2", "3-5"],
                kept,
            ),
            // Numbers that are not unique, as of two kinds of cores, and those that only some have.
            (
                ["0-1", "0-1", "2", "3", "4", "5"],
                ["0", "0", "0", "1", "2", "3"],
                vec!["0-1", "2", "3", "4", "5"],
                "",
            ),
            (
                ["0-1", "0-1", "2", "3", "4", "5"],
                ["0", "1", "", "", "", ""],
                vec!["0-1", "2", "3", "4", "5"],
                "",
            ),
            // Numbers of which each CPU has its own, as of AMD CPUs without leaf 8000_001D.
            (
                ["0-2", "0-2", "0-2", "3-5", "3-5", "3-5"],
                ["0", "1", "2", "3", "4", "5"],
                vec!["0-2", "3-5"],
                "",
            ),
        ] {
            let texts: Vec<[(&str, &str); 4]> = lists
                .into_iter()
                .zip(ids)
                .map(|(list, id)| {
                    let index = [
                        "cache/index3/level",
                        "cache/index3/type",
                        "cache/index3/shared_cpu_list",
                        "cache/index3/id",
                    ];
                    [(index[0], "3"), (index[1], "Unified"), (index[2], list), (index[3], id)]
                })
                .collect();
            let cpus: Vec<&[(&str, &str)]> = texts.iter().map(<[_; 4]>::as_slice).collect();
            let (sets, sentences) = said(&machine(&cpus, &[]));
            assert_eq!(
                (sets, sentences.len()),
                (expected.into_iter().map(str::to_owned).collect(), usize::from(!words.is_empty())),
                "{lists:?} {ids:?} {sentences:?}"
            );
            assert!(sentences.join("").contains(words), "{sentences:?}");
        }
    }

    #[test]
    fn a_cluster_that_cuts_a_cache_is_a_contradiction_and_forgotten() {
        let cpu = |cluster, l2| {
            [
                ("topology/cluster_cpus_list", cluster),
                ("topology/cluster_id", "7"),
                ("topology/physical_package_id", "0"),
                ("cache/index2/level", "2"),
                ("cache/index2/type", "Unified"),
                ("cache/index2/shared_cpu_list", l2),
            ]
        };
        for (clusters, l2, contradictions) in [
            (["0,3", "1-2", "1-2", "0,3"], ["0-1", "0-1", "2-3", "2-3"], 1),
            (["0-1", "0-1", "2-3", "2-3"], ["0-1", "0-1", "2-3", "2-3"], 0),
            (["0-1", "0-1", "2-3", "2-3"], ["0", "1", "2", "3"], 0),
        ] {
            let texts: Vec<[(&str, &str); 6]> =
                clusters.into_iter().zip(l2).map(|(cluster, l2)| cpu(cluster, l2)).collect();
            let cpus: Vec<&[(&str, &str)]> = texts.iter().map(<[_; 6]>::as_slice).collect();
            let machine = machine(&cpus, &[]);
            let (_, sentences) = said(&machine);
            assert_eq!(sentences.len(), contradictions, "{sentences:?}");
            assert_eq!(machine.topology.cpus.iter().all(|cpu| cpu.module.is_none()), contradictions > 0);
        }
    }

    #[test]
    fn clusters_that_an_arm_kernel_numbers_as_packages_are_joined_by_their_cache() {
        let cpu = |package, capacity| {
            [
                ("topology/physical_package_id", package),
                ("topology/core_id", "0"),
                ("cpu_capacity", capacity),
                ("cache/index3/level", "3"),
                ("cache/index3/type", "Unified"),
                ("cache/index3/shared_cpu_list", "0-2"),
            ]
        };
        let texts = [cpu("0", "280"), cpu("1", "855"), cpu("2", "1024")];
        let cpus: Vec<&[(&str, &str)]> = texts.iter().map(<[_; 6]>::as_slice).collect();
        let machine = machine(&cpus, &[("proc/cpuinfo", "processor : 0\nCPU implementer : 0x41\n")]);
        let topology = &machine.topology;
        assert_eq!((topology.packages().len(), topology.cores.len(), topology.caches.len()), (1, 3, 1));
        let modules: Vec<Option<i64>> = topology.cpus.iter().map(|cpu| cpu.module).collect();
        assert_eq!(modules, [Some(0), Some(1), Some(2)]);
        // The widest gap is between 280 and 855.
        let kinds: Vec<CoreKind> = topology.cpus.iter().map(|cpu| cpu.core_kind).collect();
        assert_eq!(kinds, [CoreKind::Efficiency, CoreKind::Performance, CoreKind::Performance]);
        assert!(machine.disagreements.is_empty(), "{:?}", machine.disagreements);
        assert!(
            machine
                .missing
                .iter()
                .any(|line| line.contains("CPUs 0-2 share an L3 and are taken for one package"))
        );
    }

    #[test]
    fn memory_that_is_on_no_node_gets_a_line() {
        for (node_kib, expected) in [("8388608", true), ("25165824", false), ("24900000", false)] {
            let node = format!("Node 0 MemTotal: {node_kib} kB\n");
            let files = [
                ("proc/meminfo", "MemTotal: 25165824 kB\n"),
                ("sys/devices/system/node/node0/meminfo", node.as_str()),
                ("sys/devices/system/node/node0/cpulist", "0"),
            ];
            let machine = machine(&[&[("topology/core_id", "0")]], &files);
            let line = "memory: /proc/meminfo says 24 GiB, the meminfo of the nodes adds up to 8 GiB: where the rest is, is unknown";
            assert_eq!(machine.missing.iter().any(|note| note == line), expected, "{:?}", machine.missing);
        }
    }
}

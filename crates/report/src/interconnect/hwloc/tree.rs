//! The parts of a machine as hwloc hangs them into each other: each inside the smallest that holds all its CPUs.

use std::collections::{BTreeMap, BTreeSet};

use machine::{CacheKind, CpuId, CpuSet, Identity, Machine, Node};

use crate::escape::markup;

/// What a part is; of parts with the same CPUs the earlier holds the later, as hwloc orders them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Machine,
    Group,
    Package,
    Die,
    /// By level, the outermost first; of one level the one for data first.
    Cache(std::cmp::Reverse<u8>, bool),
    Core,
    Processor,
}

/// A package, a cache, a core and so on.
pub(super) struct Part {
    kind: Kind,
    pub(super) cpus: CpuSet,
    /// `type` and what else hwloc asks of such a part, as XML attributes.
    pub(super) attributes: String,
    /// Names and values that hwloc only shows.
    pub(super) infos: Vec<(&'static str, String)>,
    /// Parts directly inside, by their first CPU.
    pub(super) inside: Vec<usize>,
    /// Places of the nodes whose memory hangs here.
    pub(super) nodes: Vec<usize>,
}

/// The parts of a machine; the first is the machine.
pub(super) struct Tree {
    pub(super) parts: Vec<Part>,
}

impl Tree {
    /// Hangs all parts of a machine into each other.
    pub(super) fn of(machine: &Machine) -> Self {
        let mut left_out: BTreeMap<&str, usize> = BTreeMap::new();
        let mut parts = parts(machine);
        // Parts that cut each other cannot be drawn: the machine contradicts itself, and hwloc refuses it. Packages, dies and
        // nodes are believed before caches and cores.
        let is_frame = |part: &Part| matches!(part.kind, Kind::Group | Kind::Package | Kind::Die);
        let mut frame: Vec<CpuSet> =
            parts.iter().filter(|part| is_frame(part)).map(|part| part.cpus.clone()).collect();
        frame.sort_by_key(|cpus| std::cmp::Reverse(cpus.len()));
        let place = |(index, cpus): (usize, &CpuSet)| cpus.iter().map(|cpu| (cpu, index)).collect::<Vec<_>>();
        let smallest: BTreeMap<CpuId, usize> = frame.iter().enumerate().flat_map(place).collect();
        parts.retain(|part| {
            let held: BTreeSet<usize> =
                part.cpus.iter().filter_map(|cpu| smallest.get(&cpu).copied()).collect();
            let is_whole = held.len() < 2 || held.iter().all(|index| frame[*index].is_subset(&part.cpus));
            if !is_frame(part) && !is_whole {
                *left_out.entry(name(part.kind)).or_default() += 1;
            }
            is_frame(part) || is_whole
        });
        parts.sort_by_key(|part| (std::cmp::Reverse(part.cpus.len()), part.kind, part.cpus.first()));
        let whole = part(Kind::Machine, "Machine", Some(0), machine.topology.online());
        let mut tree = Self { parts: vec![whole] };
        let mut innermost: BTreeMap<CpuId, usize> = tree.parts[0].cpus.iter().map(|cpu| (cpu, 0)).collect();
        for part in parts {
            let holders: BTreeSet<Option<usize>> =
                part.cpus.iter().map(|cpu| innermost.get(&cpu).copied()).collect();
            let [Some(holder)] = holders.into_iter().collect::<Vec<_>>()[..] else {
                *left_out.entry(name(part.kind)).or_default() += 1;
                continue;
            };
            let index = tree.parts.len();
            innermost.extend(part.cpus.iter().map(|cpu| (cpu, index)));
            tree.parts[holder].inside.push(index);
            tree.parts.push(part);
        }
        tree.order();
        tree.hang_nodes(&machine.topology.nodes);
        let whole = &mut tree.parts[0].infos;
        whole.push(("Backend", "sidestep".to_owned()));
        whole.extend(machine.environment.kernel.iter().map(|kernel| ("OSRelease", kernel.clone())));
        whole.extend(machine.identity.architecture.iter().map(|name| ("Architecture", name.clone())));
        whole.extend(
            left_out
                .iter()
                .map(|(name, count)| ("SidestepLeftOut", format!("{count} {name}, cut by others"))),
        );
        tree
    }

    /// Children stand in the order of their first CPU.
    fn order(&mut self) {
        let firsts: Vec<Option<CpuId>> = self.parts.iter().map(|part| part.cpus.first()).collect();
        for part in &mut self.parts {
            part.inside.sort_by_key(|index| firsts[*index]);
        }
    }

    /// Memory hangs on the outermost part with just its CPUs; memory without CPUs, and what fits nowhere, on the machine.
    fn hang_nodes(&mut self, nodes: &[Node]) {
        let mut part_of: BTreeMap<CpuSet, usize> = BTreeMap::new();
        for (index, part) in self.parts.iter().enumerate() {
            let is_holder = matches!(part.kind, Kind::Group | Kind::Package | Kind::Die);
            if is_holder {
                part_of.entry(part.cpus.clone()).or_insert(index);
            }
        }
        for (place, node) in nodes.iter().enumerate() {
            let part = part_of.get(&node.cpus).copied().unwrap_or_default();
            self.parts[part].nodes.push(place);
        }
    }
}

fn parts(machine: &Machine) -> Vec<Part> {
    let topology = &machine.topology;
    let mut packages: BTreeMap<i64, CpuSet> = BTreeMap::new();
    let mut dies: BTreeMap<(i64, i64), CpuSet> = BTreeMap::new();
    for cpu in &topology.cpus {
        packages.entry(cpu.package).or_default().insert(cpu.id);
        if let Some(die) = cpu.die {
            dies.entry((cpu.package, die)).or_default().insert(cpu.id);
        }
    }
    dies.retain(|(package, _), cpus| packages.get(package) != Some(cpus));
    let holders: BTreeSet<CpuSet> = packages.values().chain(dies.values()).cloned().collect();
    let mut found: Vec<Part> = Vec::new();
    found.extend(packages.into_iter().map(|(package, cpus)| Part {
        infos: infos(&machine.identity),
        ..part(Kind::Package, "Package", Some(package), cpus)
    }));
    found.extend(dies.into_iter().map(|((_, die), cpus)| part(Kind::Die, "Die", Some(die), cpus)));
    // A node whose CPUs are no package and no die gets a group, once for all nodes with the same.
    let groups: BTreeSet<&CpuSet> = topology.nodes.iter().map(|node| &node.cpus).collect();
    let groups = groups.into_iter().filter(|cpus| !cpus.is_empty() && !holders.contains(cpus));
    found.extend(groups.map(|cpus| {
        let mut group = part(Kind::Group, "Group", None, cpus.clone());
        group.attributes += " kind=\"0\" subkind=\"0\" dont_merge=\"1\"";
        group
    }));
    found.extend(topology.caches.iter().map(cache));
    found
        .extend(topology.cores.iter().map(|core| part(Kind::Core, "Core", core.os_index, core.cpus.clone())));
    let alone = |cpu: CpuId| [cpu].into_iter().collect::<CpuSet>();
    found.extend(
        topology.cpus.iter().map(|cpu| part(Kind::Processor, "PU", Some(cpu.id.0.into()), alone(cpu.id))),
    );
    found.retain(|part| !part.cpus.is_empty());
    found
}

fn part(kind: Kind, name: &str, os_index: Option<i64>, cpus: CpuSet) -> Part {
    let number = os_index.filter(|index| *index >= 0).map(|index| format!(" os_index=\"{index}\""));
    let attributes = format!("type=\"{name}\"{}", number.unwrap_or_default());
    Part { kind, cpus, attributes, infos: Vec::new(), inside: Vec::new(), nodes: Vec::new() }
}

fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Machine => "machine",
        Kind::Group => "node",
        Kind::Package => "package",
        Kind::Die => "die",
        Kind::Cache(..) => "cache",
        Kind::Core => "core",
        Kind::Processor => "CPU",
    }
}

/// hwloc, include/hwloc.h: `cache_type` 0 is unified, 1 data, 2 instruction; -1 ways are full associativity, 0 unknown.
fn cache(cache: &machine::Cache) -> Part {
    let (suffix, kind) = match cache.kind {
        CacheKind::Unified => ("Cache", 0),
        CacheKind::Data => ("Cache", 1),
        CacheKind::Instruction => ("iCache", 2),
    };
    let order = Kind::Cache(std::cmp::Reverse(cache.level), cache.kind == CacheKind::Instruction);
    let mut found = part(order, &format!("L{}{suffix}", cache.level), None, cache.shared_by.clone());
    let ways = match cache.ways {
        Some(0) => -1,
        ways => i64::from(ways.unwrap_or(0)),
    };
    let attributes = [
        ("cache_size", cache.size_bytes.map_or(0, |size| size.0).to_string()),
        ("depth", cache.level.to_string()),
        ("cache_linesize", cache.line_bytes.map_or(0, |line| line.0).to_string()),
        ("cache_associativity", ways.to_string()),
        ("cache_type", kind.to_string()),
    ];
    for (name, value) in attributes {
        found.attributes.extend([" ", name, "=\"", &value, "\""]);
    }
    if cache.sharers_unknown {
        found.infos.push(("SidestepSharers", "unknown".to_owned()));
    }
    found
}

/// What hwloc calls who the CPU is.
fn infos(identity: &Identity) -> Vec<(&'static str, String)> {
    let number = |number: Option<u32>| number.map(|number| number.to_string());
    [
        ("CPUVendor", identity.vendor.as_ref().map(ToString::to_string)),
        ("CPUFamilyNumber", number(identity.family)),
        ("CPUModelNumber", number(identity.model)),
        ("CPUModel", identity.name.clone()),
        ("CPUStepping", number(identity.stepping)),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name, value?)))
    .collect()
}

impl Part {
    /// The lines of its names and values.
    pub(super) fn info_lines(&self, indent: &str) -> String {
        let line = |(name, value): &(&str, String)| {
            format!("{indent}<info name=\"{name}\" value=\"{}\"/>\n", markup(value))
        };
        self.infos.iter().map(line).collect()
    }
}

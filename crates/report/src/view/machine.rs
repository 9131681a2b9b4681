//! What a machine says it is: the claims, not the measurements.

use std::collections::BTreeMap;

use machine::{Bytes, Cache, CoreKind, CpuSet, Machine, Tlb};

use crate::escape::plain;
use crate::naming::word;
use crate::number::{UNKNOWN, count, joined};
use crate::page::{Cell, Page, Section, Statement, Table};

/// Distances of more nodes than this make a table that no terminal is wide enough for.
const DISTANCE_COLUMNS: usize = 16;

/// The description of a machine.
pub fn machine_page(machine: &Machine) -> Page {
    let without_caches = machine.topology.caches.is_empty().then(|| ("caches", UNKNOWN.to_owned()));
    let what = identity(machine).into_iter().chain(topology(machine)).chain(without_caches);
    let missing = machine.missing.iter().map(|line| Statement::faint(format!("missing: {line}")));
    // What the kernel says of flaws that concern this machine.
    let open = machine.environment.vulnerabilities.iter().filter(|(_, says)| *says != "Not affected");
    let open = open.map(|(name, says)| (name.clone(), says.clone()));
    let flaws = Section::new("vulnerabilities", "Vulnerabilities by the kernel").facts(open);
    let sections = [
        Some(Section::new("identity", "").facts(what)),
        caches(&machine.topology.caches).section(""),
        nodes(machine).section(""),
        Some(Section::new("environment", "").facts(environment(machine)).stating(missing)),
        tlbs(&machine.tlbs).section("TLBs").map(Section::detailed),
        flaws.filled().map(Section::detailed),
    ];
    Page {
        answer: Statement::plain(headline(machine)),
        because: machine.disagreements.iter().map(|one| Statement::look(one.sentence())).collect(),
        sections: sections.into_iter().flatten().collect(),
        ..Page::default()
    }
}

/// One line: name, CPUs, nodes, memory, hypervisor.
pub(crate) fn headline(machine: &Machine) -> String {
    let identity = &machine.identity;
    let name = identity.name.as_deref().or(identity.architecture.as_deref()).unwrap_or("unknown CPU");
    let mut parts = vec![plain(name.trim())];
    if !machine.topology.cpus.is_empty() {
        parts.push(count(machine.topology.cpus.len(), "CPU"));
    }
    if machine.topology.nodes.len() > 1 {
        parts.push(count(machine.topology.nodes.len(), "node"));
    }
    if let Some(bytes) = machine.environment.memory_bytes {
        parts.push(rounded(bytes));
    }
    if let Some(hypervisor) = &identity.hypervisor {
        parts.push(format!("{} guest", plain(hypervisor)));
    }
    parts.join(", ")
}

/// Memory without fractions of a GiB, as nobody counts what firmware keeps.
fn rounded(bytes: Bytes) -> String {
    let gib = bytes.0 as f64 / Bytes::GIB.0 as f64;
    if gib < 10.0 { bytes.to_string() } else { format!("{gib:.0} GiB") }
}

/// Names and what is so of each; empty where it is not known.
type Facts = Vec<(&'static str, String)>;

fn identity(machine: &Machine) -> Facts {
    let identity = &machine.identity;
    let numbers = [("family", identity.family), ("model", identity.model), ("stepping", identity.stepping)];
    let numbers = numbers.into_iter().filter_map(|(name, value)| Some((name, value?)));
    let signature = (identity.vendor.iter().map(ToString::to_string))
        .chain(numbers.map(|(name, value)| format!("{name} {value} (0x{value:x})")))
        .chain(identity.microcode.map(|microcode| format!("microcode 0x{microcode:x}")));
    let of_arm = identity.main_id_registers();
    let hypervisor = identity.hypervisor.clone().unwrap_or_else(|| "none detected".to_owned());
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    // CPUs of one kind are in the headline already.
    let kinds = identity.arm.iter().filter(|_| identity.arm.len() > 1);
    let kinds = kinds.map(|group| format!("{} on CPUs {}", group.signature, group.cpus));
    vec![
        ("CPU", of_arm.unwrap_or_else(|| joined(signature, ", "))),
        ("CPU kinds", joined(kinds, ", ")),
        ("chip", text(&identity.soc)),
        ("architecture", text(&identity.architecture)),
        ("board", text(&identity.board)),
        ("BIOS", text(&identity.bios)),
        ("hypervisor", hypervisor),
    ]
}

fn topology(machine: &Machine) -> Facts {
    let topology = &machine.topology;
    if topology.cpus.is_empty() {
        return vec![("topology", "unknown: no CPU could be read".to_owned())];
    }
    let parts = [
        count(topology.packages().len(), "package"),
        count(topology.cores.len(), "core"),
        count(topology.cpus.len(), "CPU"),
        match topology.nodes.len() {
            0 => "NUMA nodes unknown".to_owned(),
            nodes => count(nodes, "NUMA node"),
        },
    ];
    let online = topology.online();
    let widest = topology.cores.iter().filter(|core| core.cpus.len() > 1).count();
    let smt = (widest > 0).then(|| format!("{} run several threads", count(widest, "core")));
    let set = |set: &CpuSet| (!set.is_empty()).then(|| format!("CPUs {set}"));
    let allowed = set(&topology.allowed).filter(|_| topology.allowed != online);
    let of_kind = |kind: CoreKind, name: &str| {
        let cpus = topology.cpus.iter().filter(|cpu| cpu.core_kind == kind).count();
        (cpus > 0).then(|| format!("{} of kind {name}", count(cpus, "CPU")))
    };
    let mut kinds =
        vec![of_kind(CoreKind::Efficiency, "efficiency"), of_kind(CoreKind::Performance, "performance")];
    let mut capacities: BTreeMap<u32, usize> = BTreeMap::new();
    for capacity in topology.cpus.iter().filter_map(|cpu| cpu.capacity) {
        *capacities.entry(capacity).or_default() += 1;
    }
    if capacities.len() > 1 {
        let named = |(capacity, cpus)| Some(format!("{} of capacity {capacity}", count(cpus, "CPU")));
        kinds = capacities.into_iter().map(named).collect();
    }
    let facts = [
        ("topology", Some(format!("{}: CPUs {online}", parts.join(", ")))),
        ("SMT", smt),
        ("offline", set(&topology.offline)),
        ("isolated", set(&topology.isolated)),
        ("allowed", allowed.map(|cpus| format!("{cpus} for this process"))),
        ("core kinds", Some(joined(kinds.into_iter().flatten(), ", "))),
    ];
    facts.into_iter().filter_map(|(name, text)| Some((name, text?))).collect()
}

fn size(bytes: Option<Bytes>) -> Cell {
    bytes.map_or_else(|| UNKNOWN.into(), Into::into)
}

/// Ways of a cache or buffer, of which none means all.
fn ways(ways: Option<u32>) -> Cell {
    match ways {
        None => UNKNOWN.into(),
        Some(0) => "full".into(),
        Some(ways) => ways.into(),
    }
}

fn caches(caches: &[Cache]) -> Table {
    // Equal instances are one row: name, size, ways, line, sharers.
    let mut rows: BTreeMap<_, (&Cache, usize)> = BTreeMap::new();
    for cache in caches {
        let key = (cache.level, cache.name(), cache.size_bytes, cache.ways, cache.line_bytes);
        rows.entry((key, cache.shared_by.len())).or_insert((cache, 0)).1 += 1;
    }
    Table::of("caches", rows.into_values())
        .word("cache", |(cache, _)| cache.name())
        .number("size", |(cache, _)| size(cache.size_bytes))
        .number(("ways", 1), |(cache, _)| ways(cache.ways))
        .number(("line", 1), |(cache, _)| size(cache.line_bytes))
        .number("CPUs each", |(cache, _)| cache.shared_by.len())
        .number("instances", |(_, instances)| *instances)
        .table()
}

fn nodes(machine: &Machine) -> Table {
    let topology = &machine.topology;
    let with_distances = topology.nodes.len() > 1 && topology.distance_nodes.len() <= DISTANCE_COLUMNS;
    let others = if with_distances { topology.distance_nodes.as_slice() } else { &[] };
    let whole = |bytes: Option<Bytes>| match bytes {
        None => Cell::from(UNKNOWN),
        Some(bytes) => Cell::shown(rounded(bytes), bytes.0 as f64),
    };
    let rows = Table::of("nodes", &topology.nodes)
        .word("node", |node| node.id.to_string())
        .prose("CPUs", |node| if node.cpus.is_empty() { "none".to_owned() } else { node.cpus.to_string() })
        .number("memory", |node| whole(node.memory_bytes))
        .number(("free", 1), |node| whole(node.free_bytes));
    let columns = others.iter().enumerate().fold(rows, |rows, (place, other)| {
        rows.number((format!("to {other}"), 2), |node| node.distances.get(place).copied())
    });
    columns.table()
}

fn tlbs(tlbs: &[Tlb]) -> Table {
    Table::of("tlbs", tlbs)
        .word("TLB", |tlb| format!("L{} {}", tlb.level, word(&tlb.kind)))
        .number("entries", |tlb| tlb.entries)
        .number("ways", |tlb| ways(tlb.ways))
        .word("pages", |tlb| joined(&tlb.page_bytes, ", "))
        .table()
}

fn environment(machine: &Machine) -> Facts {
    let environment = &machine.environment;
    let pages = (environment.page_bytes.map(|bytes| format!("base {bytes}")).into_iter())
        .chain(
            environment
                .transparent_huge_pages
                .enabled
                .iter()
                .map(|on| format!("transparent huge pages {on}")),
        )
        .chain(
            environment
                .huge_page_pools
                .iter()
                .map(|pool| format!("{} of {} reserved, {} free", pool.total, pool.page_bytes, pool.free)),
        );
    let clocks = &environment.clock_sources;
    let clock = clocks.current.as_ref().map(|now| format!("{now} (of {})", clocks.available.join(", ")));
    let policies = environment.frequency_policies.iter();
    let policies = policies.map(|(policy, cpus)| format!("{policy} on {}", count(*cpus, "CPU")));
    let states = environment.idle_states.iter().map(|(state, exit_us)| format!("{state} {exit_us} µs"));
    let driver = environment.idle_driver.as_deref().map_or_else(String::new, |driver| format!("{driver}: "));
    let container = environment.container.as_ref();
    let limits = &environment.limits;
    let sizes = [
        (limits.available_memory_bytes, "available memory"),
        (limits.cgroup_memory_bytes, "cgroup memory"),
        (limits.address_space_bytes, "address space"),
    ];
    let limited = (sizes.into_iter())
        .filter_map(|(bytes, what)| Some(format!("{what} {}", rounded(bytes?))))
        .chain(limits.cgroup_millicpus.map(|cpus| format!("cgroup CPUs {}", cpus as f64 / 1e3)));
    let facts = [
        ("kernel", environment.kernel.clone()),
        ("command line", environment.command_line.clone()),
        ("pages", Some(joined(pages, "; "))),
        ("clock source", clock),
        ("frequency", Some(joined(policies, ", "))),
        ("idle states", Some((driver + &joined(states, ", ")).trim_end_matches(": ").to_owned())),
        ("container", container.map(|one| format!("{} (by {})", one.kind, one.evidence))),
        ("limits", Some(joined(limited, ", "))),
    ];
    facts.map(|(name, text)| (name, text.unwrap_or_default())).into()
}

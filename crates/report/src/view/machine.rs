//! What a machine says it is: the claims, not the measurements.

use std::collections::BTreeMap;

use machine::{Bytes, Cache, Machine, Tlb, TlbKind};

use crate::machine_text::{headline, rounded};
use crate::number::{UNKNOWN, count};
use crate::page::{Block, Cell, Column, Page, Section, Statement, Table, Tone};

/// Distances of more nodes than this make a table that no terminal is wide enough for.
const DISTANCE_COLUMNS: usize = 16;

/// The description of a machine.
pub fn machine_page(machine: &Machine) -> Page {
    let mut what = identity(machine).0;
    what.extend(topology(machine).0);
    if machine.topology.caches.is_empty() {
        what.push(("caches".to_owned(), UNKNOWN.to_owned()));
    }
    let mut sections = vec![Section::new("identity", "").with(Block::Facts(what))];
    for table in [caches(&machine.topology.caches), nodes(machine)] {
        let section = Section::new(table.id, "");
        sections.extend((!table.rows.is_empty()).then(|| section.with(Block::Table(table))));
    }
    let mut conditions = Section::new("environment", "").with(Block::Facts(environment(machine).0));
    for line in &machine.missing {
        conditions = conditions.saying(Tone::Faint, format!("missing: {line}"));
    }
    sections.push(conditions);
    if !machine.tlbs.is_empty() {
        sections.push(Section::detail("tlbs", "TLBs").with(Block::Table(tlbs(&machine.tlbs))));
    }
    let open = vulnerabilities(machine).0;
    if !open.is_empty() {
        sections.push(
            Section::detail("vulnerabilities", "Vulnerabilities by the kernel").with(Block::Facts(open)),
        );
    }
    let disagreements = machine.disagreements.iter();
    Page {
        answer: Statement::new(Tone::Plain, headline(machine)),
        because: disagreements.map(|one| Statement::new(Tone::Look, one.sentence())).collect(),
        sections,
        ..Page::default()
    }
}

/// Names and what is so of each.
#[derive(Debug, Default)]
struct Facts(Vec<(String, String)>);

impl Facts {
    fn add(&mut self, name: &str, text: &str) {
        self.0.push((name.to_owned(), text.to_owned()));
    }
}

fn identity(machine: &Machine) -> Facts {
    let mut facts = Facts::default();
    let identity = &machine.identity;
    let mut signature = Vec::new();
    if let Some(vendor) = &identity.vendor {
        signature.push(vendor.to_string());
    }
    for (name, value) in
        [("family", identity.family), ("model", identity.model), ("stepping", identity.stepping)]
    {
        if let Some(value) = value {
            signature.push(format!("{name} {value} (0x{value:x})"));
        }
    }
    if let Some(microcode) = identity.microcode {
        signature.push(format!("microcode 0x{microcode:x}"));
    }
    facts.add("CPU", &signature.join(", "));
    let texts =
        [("architecture", &identity.architecture), ("board", &identity.board), ("BIOS", &identity.bios)];
    for (name, text) in texts {
        facts.add(name, &text.clone().unwrap_or_default());
    }
    facts.add("hypervisor", &identity.hypervisor.clone().unwrap_or_else(|| "none detected".to_owned()));
    facts
}

fn topology(machine: &Machine) -> Facts {
    let mut facts = Facts::default();
    let topology = &machine.topology;
    if topology.cpus.is_empty() {
        facts.add("topology", "unknown: no CPU could be read");
        return facts;
    }
    let mut parts = vec![count(topology.packages().len(), "package"), count(topology.cores.len(), "core")];
    parts.push(count(topology.cpus.len(), "CPU"));
    parts.push(match topology.nodes.len() {
        0 => "NUMA nodes unknown".to_owned(),
        nodes => count(nodes, "NUMA node"),
    });
    facts.add("topology", &format!("{}: CPUs {}", parts.join(", "), topology.online()));
    let widest = topology.cores.iter().filter(|core| core.cpus.len() > 1).count();
    if widest > 0 {
        facts.add("SMT", &format!("{} run several threads", count(widest, "core")));
    }
    for (name, set) in [("offline", &topology.offline), ("isolated", &topology.isolated)] {
        if !set.is_empty() {
            facts.add(name, &format!("CPUs {set}"));
        }
    }
    if !topology.allowed.is_empty() && topology.allowed != topology.online() {
        facts.add("allowed", &format!("CPUs {} for this process", topology.allowed));
    }
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for cpu in &topology.cpus {
        match cpu.core_kind {
            machine::CoreKind::Uniform => {}
            machine::CoreKind::Performance => *kinds.entry("performance").or_default() += 1,
            machine::CoreKind::Efficiency => *kinds.entry("efficiency").or_default() += 1,
        }
    }
    let told: Vec<String> =
        kinds.iter().map(|(kind, cpus)| format!("{} of kind {kind}", count(*cpus, "CPU"))).collect();
    facts.add("core kinds", &told.join(", "));
    facts
}

fn size(bytes: Option<Bytes>) -> Cell {
    bytes.map_or_else(|| Cell::text(UNKNOWN), |bytes| Cell::shown(bytes.to_string(), bytes.0 as f64))
}

/// Ways of a cache or buffer, of which none means all.
fn ways(ways: Option<u32>) -> Cell {
    match ways {
        None => Cell::text(UNKNOWN),
        Some(0) => Cell::text("full"),
        Some(ways) => Cell::count(ways as usize),
    }
}

fn caches(caches: &[Cache]) -> Table {
    // Equal instances are one row: name, size, ways, line, sharers.
    let mut rows: BTreeMap<_, usize> = BTreeMap::new();
    for cache in caches {
        let key = (cache.level, cache.name(), cache.size_bytes, cache.ways, cache.line_bytes);
        *rows.entry((key, cache.shared_by.len())).or_default() += 1;
    }
    let columns = vec![
        Column::word("cache"),
        Column::number("size", ""),
        Column::number("ways", "").priority(1),
        Column::number("line", "").priority(1),
        Column::number("CPUs each", ""),
        Column::number("instances", ""),
    ];
    let mut table = Table::new("caches", columns);
    for (((_, name, size_bytes, ways_each, line_bytes), cpus), instances) in rows {
        table.row(vec![
            Cell::text(name),
            size(size_bytes),
            ways(ways_each),
            size(line_bytes),
            Cell::count(cpus),
            Cell::count(instances),
        ]);
    }
    table
}

fn nodes(machine: &Machine) -> Table {
    let topology = &machine.topology;
    let with_distances = topology.nodes.len() > 1 && topology.distance_nodes.len() <= DISTANCE_COLUMNS;
    let others = if with_distances { topology.distance_nodes.len() } else { 0 };
    let mut columns = vec![
        Column::word("node"),
        Column::prose("CPUs"),
        Column::number("memory", ""),
        Column::number("free", "").priority(1),
    ];
    let to = topology.distance_nodes.iter().take(others);
    columns.extend(to.map(|node| Column::number(format!("to {node}"), "").priority(2)));
    let mut table = Table::new("nodes", columns);
    for node in &topology.nodes {
        let whole = |bytes: Option<Bytes>| match bytes {
            None => Cell::text(UNKNOWN),
            Some(bytes) => Cell::shown(rounded(bytes), bytes.0 as f64),
        };
        let cpus = if node.cpus.is_empty() { "none".to_owned() } else { node.cpus.to_string() };
        let mut cells = vec![
            Cell::text(node.id.to_string()),
            Cell::text(cpus),
            whole(node.memory_bytes),
            whole(node.free_bytes),
        ];
        cells.extend(node.distances.iter().take(others).map(|distance| Cell::text(distance.to_string())));
        cells.resize(table.columns.len(), Cell::Empty);
        table.row(cells);
    }
    table
}

fn tlbs(tlbs: &[Tlb]) -> Table {
    let columns = vec![
        Column::word("TLB"),
        Column::number("entries", ""),
        Column::number("ways", ""),
        Column::word("pages"),
    ];
    let mut table = Table::new("tlbs", columns);
    for tlb in tlbs {
        let kind = match tlb.kind {
            TlbKind::Data => "data",
            TlbKind::Load => "load",
            TlbKind::Store => "store",
            TlbKind::Instruction => "instruction",
            TlbKind::Unified => "unified",
        };
        let pages: Vec<String> = tlb.page_bytes.iter().map(ToString::to_string).collect();
        table.row(vec![
            Cell::text(format!("L{} {kind}", tlb.level)),
            Cell::text(tlb.entries.to_string()),
            ways(tlb.ways),
            Cell::text(pages.join(", ")),
        ]);
    }
    table
}

fn environment(machine: &Machine) -> Facts {
    let mut facts = Facts::default();
    let environment = &machine.environment;
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    facts.add("kernel", &text(&environment.kernel));
    facts.add("command line", &text(&environment.command_line));
    let mut pages = Vec::new();
    if let Some(bytes) = environment.page_bytes {
        pages.push(format!("base {bytes}"));
    }
    if let Some(enabled) = &environment.transparent_huge_pages.enabled {
        pages.push(format!("transparent huge pages {enabled}"));
    }
    for pool in &environment.huge_page_pools {
        pages.push(format!("{} of {} reserved, {} free", pool.total, pool.page_bytes, pool.free));
    }
    facts.add("pages", &pages.join("; "));
    let clocks = &environment.clock_sources;
    if let Some(current) = &clocks.current {
        facts.add("clock source", &format!("{current} (of {})", clocks.available.join(", ")));
    }
    let policies: Vec<String> = environment
        .frequency_policies
        .iter()
        .map(|(policy, cpus)| format!("{policy} on {}", count(*cpus, "CPU")))
        .collect();
    facts.add("frequency", &policies.join(", "));
    let states: Vec<String> =
        environment.idle_states.iter().map(|(state, exit_us)| format!("{state} {exit_us} µs")).collect();
    let driver = environment.idle_driver.as_deref().map_or_else(String::new, |driver| format!("{driver}: "));
    facts.add("idle states", &format!("{driver}{}", states.join(", ")));
    if let Some(container) = &environment.container {
        facts.add("container", &format!("{} (by {})", container.kind, container.evidence));
    }
    let limits = &environment.limits;
    let mut told = Vec::new();
    for (bytes, what) in [
        (limits.available_memory_bytes, "available memory"),
        (limits.cgroup_memory_bytes, "cgroup memory"),
        (limits.address_space_bytes, "address space"),
    ] {
        told.extend(bytes.map(|bytes| format!("{what} {}", rounded(bytes))));
    }
    told.extend(limits.cgroup_millicpus.map(|cpus| format!("cgroup CPUs {}", cpus as f64 / 1e3)));
    facts.add("limits", &told.join(", "));
    facts
}

/// What the kernel says of flaws that concern this machine.
fn vulnerabilities(machine: &Machine) -> Facts {
    let all = machine.environment.vulnerabilities.iter();
    let open = all.filter(|(_, says)| says.as_str() != "Not affected");
    Facts(open.map(|(name, says)| (name.clone(), says.clone())).collect())
}

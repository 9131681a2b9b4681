//! What a machine is, as text for `sidestep machine`: the claims, not the measurements.

use std::collections::BTreeMap;

use machine::{Bytes, Cache, Machine, Tlb, TlbKind};

use crate::escape::plain;
use crate::number::count;
use crate::terminal::{Paper, Terminal, table_of};

/// Width of the names in front of the lines.
const NAME_COLUMNS: usize = 14;

/// Distances of more nodes than this make a table that no terminal is wide enough for.
const DISTANCE_COLUMNS: usize = 16;

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

/// The description of a machine.
pub fn machine_text(machine: &Machine, terminal: Terminal) -> String {
    let mut paper = Paper::new(terminal);
    paper.strong(&headline(machine));
    paper.blank();
    identity(&mut paper, machine);
    topology(&mut paper, machine);
    caches(&mut paper, &machine.topology.caches);
    nodes(&mut paper, machine);
    tlbs(&mut paper, &machine.tlbs);
    environment(&mut paper, machine);
    doubts(&mut paper, machine);
    paper.finish()
}

fn named(paper: &mut Paper, name: &str, text: &str) {
    if !text.is_empty() {
        paper.wrapped(&format!("{name:<NAME_COLUMNS$}"), text);
    }
}

fn identity(paper: &mut Paper, machine: &Machine) {
    let identity = &machine.identity;
    let mut signature = Vec::new();
    if let Some(vendor) = &identity.vendor {
        signature.push(plain(&vendor.to_string()));
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
    named(paper, "CPU", &signature.join(", "));
    let texts =
        [("architecture", &identity.architecture), ("board", &identity.board), ("BIOS", &identity.bios)];
    for (name, text) in texts {
        named(paper, name, &text.as_deref().map_or_else(String::new, plain));
    }
    named(paper, "hypervisor", &identity.hypervisor.as_deref().map_or_else(|| "none seen".to_owned(), plain));
}

fn topology(paper: &mut Paper, machine: &Machine) {
    let topology = &machine.topology;
    if topology.cpus.is_empty() {
        named(paper, "topology", "unknown: no CPU could be read");
        return;
    }
    let mut parts = vec![count(topology.packages().len(), "package"), count(topology.cores.len(), "core")];
    parts.push(count(topology.cpus.len(), "CPU"));
    parts.push(match topology.nodes.len() {
        0 => "NUMA nodes unknown".to_owned(),
        nodes => count(nodes, "NUMA node"),
    });
    named(paper, "topology", &format!("{}: CPUs {}", parts.join(", "), topology.online()));
    let widest = topology.cores.iter().filter(|core| core.cpus.len() > 1).count();
    if widest > 0 {
        named(paper, "SMT", &format!("{} run several threads", count(widest, "core")));
    }
    for (name, set) in [("offline", &topology.offline), ("isolated", &topology.isolated)] {
        if !set.is_empty() {
            named(paper, name, &format!("CPUs {set}"));
        }
    }
    if !topology.allowed.is_empty() && topology.allowed != topology.online() {
        named(paper, "allowed", &format!("CPUs {} for this process", topology.allowed));
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
    named(paper, "core kinds", &told.join(", "));
    paper.blank();
}

fn caches(paper: &mut Paper, caches: &[Cache]) {
    if caches.is_empty() {
        named(paper, "caches", "the machine does not tell");
        return;
    }
    // Equal instances are one row: name, size, ways, line, sharers.
    let mut rows: BTreeMap<(u8, String, [String; 4]), usize> = BTreeMap::new();
    for cache in caches {
        let size =
            |bytes: Option<Bytes>| bytes.map_or_else(|| "unknown".to_owned(), |bytes| bytes.to_string());
        let ways = match cache.ways {
            None => "unknown".to_owned(),
            Some(0) => "full".to_owned(),
            Some(ways) => ways.to_string(),
        };
        let columns =
            [size(cache.size_bytes), ways, size(cache.line_bytes), cache.shared_by.len().to_string()];
        *rows.entry((cache.level, cache.name(), columns)).or_default() += 1;
    }
    let headers = ["cache", "size", "ways", "line", "CPUs each", "instances"].map(str::to_owned);
    let mut table = table_of(&headers);
    for ((_, name, columns), instances) in rows {
        let mut row = vec![name];
        row.extend(columns);
        row.push(instances.to_string());
        table.add_row(row);
    }
    paper.table(table);
    paper.blank();
}

fn nodes(paper: &mut Paper, machine: &Machine) {
    let topology = &machine.topology;
    if topology.nodes.is_empty() {
        return;
    }
    let with_distances = topology.nodes.len() > 1 && topology.distance_nodes.len() <= DISTANCE_COLUMNS;
    let mut headers = vec!["node".to_owned(), "CPUs".to_owned(), "memory".to_owned(), "free".to_owned()];
    if with_distances {
        headers.extend(topology.distance_nodes.iter().map(|node| format!("to {node}")));
    }
    let mut table = table_of(&headers);
    for node in &topology.nodes {
        let size = |bytes: Option<Bytes>| bytes.map_or_else(|| "unknown".to_owned(), rounded);
        let cpus = if node.cpus.is_empty() { "none".to_owned() } else { node.cpus.to_string() };
        let mut row = vec![node.id.to_string(), cpus, size(node.memory_bytes), size(node.free_bytes)];
        if with_distances {
            let distances = node.distances.iter().take(topology.distance_nodes.len());
            row.extend(distances.map(ToString::to_string));
        }
        table.add_row(row);
    }
    paper.table(table);
    paper.blank();
}

fn tlbs(paper: &mut Paper, tlbs: &[Tlb]) {
    if tlbs.is_empty() {
        return;
    }
    let mut table = table_of(&["TLB", "entries", "ways", "pages"].map(str::to_owned));
    for tlb in tlbs {
        let kind = match tlb.kind {
            TlbKind::Data => "data",
            TlbKind::Load => "load",
            TlbKind::Store => "store",
            TlbKind::Instruction => "instruction",
            TlbKind::Unified => "unified",
        };
        let pages: Vec<String> = tlb.page_bytes.iter().map(ToString::to_string).collect();
        let ways = match tlb.ways {
            None => "unknown".to_owned(),
            Some(0) => "full".to_owned(),
            Some(ways) => ways.to_string(),
        };
        table.add_row(vec![
            format!("L{} {kind}", tlb.level),
            tlb.entries.to_string(),
            ways,
            pages.join(", "),
        ]);
    }
    paper.table(table);
    paper.blank();
}

fn environment(paper: &mut Paper, machine: &Machine) {
    let environment = &machine.environment;
    let text = |text: &Option<String>| text.as_deref().map_or_else(String::new, plain);
    named(paper, "kernel", &text(&environment.kernel));
    named(paper, "command line", &text(&environment.command_line));
    let mut pages = Vec::new();
    if let Some(bytes) = environment.page_bytes {
        pages.push(format!("base {bytes}"));
    }
    if let Some(enabled) = &environment.transparent_huge_pages.enabled {
        pages.push(format!("transparent huge pages {}", plain(enabled)));
    }
    for pool in &environment.huge_page_pools {
        pages.push(format!("{} of {} reserved, {} free", pool.total, pool.page_bytes, pool.free));
    }
    named(paper, "pages", &pages.join("; "));
    let clocks = &environment.clock_sources;
    if let Some(current) = &clocks.current {
        let available: Vec<String> = clocks.available.iter().map(|name| plain(name)).collect();
        named(paper, "clock source", &format!("{} (of {})", plain(current), available.join(", ")));
    }
    let policies: Vec<String> = environment
        .frequency_policies
        .iter()
        .map(|(policy, cpus)| format!("{} on {}", plain(policy), count(*cpus, "CPU")))
        .collect();
    named(paper, "frequency", &policies.join(", "));
    let states: Vec<String> = environment
        .idle_states
        .iter()
        .map(|(state, exit_us)| format!("{} {exit_us} µs", plain(state)))
        .collect();
    let driver =
        environment.idle_driver.as_deref().map_or_else(String::new, |driver| format!("{}: ", plain(driver)));
    named(paper, "idle states", &format!("{driver}{}", states.join(", ")));
    if let Some(container) = &environment.container {
        named(paper, "container", &format!("{} (by {})", plain(&container.kind), plain(&container.evidence)));
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
    named(paper, "limits", &told.join(", "));
    for (name, says) in environment.vulnerabilities.iter().filter(|(_, says)| says.as_str() != "Not affected")
    {
        named(paper, "vulnerability", &format!("{}: {}", plain(name), plain(says)));
    }
}

fn doubts(paper: &mut Paper, machine: &Machine) {
    for disagreement in &machine.disagreements {
        named(paper, "! disagree", &plain(&disagreement.sentence()));
    }
    for line in &machine.missing {
        named(paper, "missing", &plain(line));
    }
}

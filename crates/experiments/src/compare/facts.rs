//! What is known of platform and run, and what of it differs.

use machine::{Machine, View};
use record::{FactDifference, Record};

use super::{Configuration, Fact};

/// The name of the fact that tells one boot from another.
pub(super) const BOOT: &str = "boot";
/// So many digits of a boot's name tell it from another.
const BOOT_DIGITS: usize = 8;

/// The name of the fact that makes a guest of a machine.
pub(super) const HYPERVISOR: &str = "hypervisor";

/// Facts that make another machine of it when they differ.
const IDENTITY: [&str; 4] = ["CPU", "CPU signature", "board", "CPUs"];

/// What a machine says of itself and of what surrounds its CPUs.
pub(crate) fn of_machine(machine: &Machine) -> Vec<Fact> {
    let mut facts = Vec::new();
    let mut add = adder(&mut facts);
    identity(machine, &mut add);
    environment(machine, &mut add);
    drop(add);
    facts
}

/// Adds what is known.
fn adder(facts: &mut Vec<Fact>) -> impl FnMut(&str, Option<String>) {
    |name, value| {
        facts.extend(
            value.filter(|value| !value.is_empty()).map(|value| Fact { name: name.to_owned(), value }),
        );
    }
}

/// The facts of a record.
pub(super) fn of_record(record: &Record) -> Vec<Fact> {
    let mut facts = of_machine(&record.machine);
    let mut add = adder(&mut facts);
    let boot = record.provenance.boot_id.as_ref();
    add(BOOT, boot.map(|boot| boot.chars().take(BOOT_DIGITS).collect()));
    let cpus = &record.provenance.cpus;
    add("measured CPUs", (!cpus.is_empty()).then(|| cpus.to_string()));
    add("sidestep", Some(record.provenance.tool_version.clone()));
    add("root", Some(if record.provenance.root { "yes" } else { "no" }.to_owned()));
    drop(add);
    facts
}

fn identity(machine: &Machine, add: &mut dyn FnMut(&str, Option<String>)) {
    let identity = &machine.identity;
    add("CPU", identity.name.clone());
    add("CPU signature", identity.signature());
    add("chip", identity.soc.clone());
    add("board", identity.board.clone());
    add("BIOS", identity.bios.clone());
    add("microcode", identity.microcode.map(|revision| format!("{revision:#x}")));
    add(HYPERVISOR, identity.hypervisor.clone());
    let counts = View::of(machine).counts;
    add(
        "CPUs",
        (counts.pus > 0).then(|| {
            format!(
                "{} in {} cores, {} packages, {} nodes",
                counts.pus, counts.cores, counts.packages, counts.numa_nodes
            )
        }),
    );
}

fn environment(machine: &Machine, add: &mut dyn FnMut(&str, Option<String>)) {
    let environment = &machine.environment;
    add("kernel", environment.kernel.clone());
    add("command line", environment.command_line.clone());
    add("clock source", environment.clock_sources.current.clone());
    let policies = environment.frequency_policies.iter().map(|(policy, count)| format!("{policy} x{count}"));
    add("frequency policy", Some(policies.collect::<Vec<_>>().join(", ")));
    add("idle driver", environment.idle_driver.clone());
    let states = environment.idle_states.iter().map(|(name, us)| format!("{name} {us} us"));
    add("idle states", Some(states.collect::<Vec<_>>().join(", ")));
    add("SMT", environment.smt.clone());
    let topology = &machine.topology;
    add("offline CPUs", Some(topology.offline.to_string()));
    add("allowed CPUs", Some(topology.allowed.to_string()));
    add("isolated CPUs", Some(topology.isolated.to_string()));
    add("memory", environment.memory_bytes.map(|bytes| bytes.to_string()));
    // In a guest the kernel brings the memory of a node into use as the host grants it: 6 GiB of 23.5 at first, all within an hour.
    let is_guest = machine.identity.hypervisor.is_some();
    let nodes = machine.topology.nodes.iter().filter_map(|node| {
        let memory = node.memory_bytes?;
        let memory = if is_guest { "with memory".to_owned() } else { memory.to_string() };
        Some(format!("node {}: CPUs {}, {memory}", node.id, node.cpus))
    });
    add("memory layout", Some(nodes.collect::<Vec<_>>().join("; ")));
    add("huge pages", environment.transparent_huge_pages.enabled.clone());
    add("huge page defrag", environment.transparent_huge_pages.defrag.clone());
    let pools = environment.huge_page_pools.iter().filter(|pool| pool.total > 0);
    let pools: Vec<String> = pools.map(|pool| format!("{} of {}", pool.total, pool.page_bytes)).collect();
    add("reserved huge pages", Some(pools.join(", ")));
    add("NUMA balancing", environment.numa_balancing.map(|on| if on { "on" } else { "off" }.to_owned()));
    let limit = environment.limits.cgroup_millicpus.map(|limit| format!("{} CPUs", limit as f64 / 1e3));
    add("CPU limit", limit);
    add("memory limit", environment.limits.cgroup_memory_bytes.map(|bytes| bytes.to_string()));
    for (name, state) in &environment.vulnerabilities {
        add(&format!("mitigation {name}"), Some(state.clone()));
    }
}

/// Facts that not all configurations share. What a source of another kind cannot know is no difference: a fact counts
/// only if at least two configurations tell it, or the sources are all of one kind.
pub(super) fn differences(configurations: &[Configuration]) -> Vec<FactDifference> {
    let mut names: Vec<&str> = Vec::new();
    for fact in configurations.iter().flat_map(|one| &one.facts) {
        if !names.contains(&fact.name.as_str()) {
            names.push(&fact.name);
        }
    }
    let one_kind = configurations.windows(2).all(|pair| pair[0].kind == pair[1].kind);
    names
        .into_iter()
        .filter_map(|name| {
            let values: Vec<Option<String>> = configurations
                .iter()
                .map(|one| one.facts.iter().find(|fact| fact.name == name).map(|fact| fact.value.clone()))
                .collect();
            let described = values.iter().flatten().count();
            let differs = values.windows(2).any(|pair| pair[0] != pair[1]);
            (differs && (described > 1 || one_kind)).then(|| FactDifference { fact: name.to_owned(), values })
        })
        .collect()
}

/// True if what differs includes the identity of the machine.
pub(super) fn are_different_machines(differences: &[FactDifference]) -> bool {
    differences.iter().any(|difference| {
        let described: Vec<&String> = difference.values.iter().flatten().collect();
        IDENTITY.contains(&difference.fact.as_str()) && described.windows(2).any(|pair| pair[0] != pair[1])
    })
}

/// True unless a fact of identity that both tell differs.
pub(super) fn are_of_one_machine(one: &Configuration, other: &Configuration) -> bool {
    let of = |from: &Configuration, name: &str| {
        from.facts.iter().find(|fact| fact.name == name).map(|fact| fact.value.clone())
    };
    IDENTITY.iter().all(|name| of(one, name).zip(of(other, name)).is_none_or(|(a, b)| a == b))
}

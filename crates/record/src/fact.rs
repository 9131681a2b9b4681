//! What is known of a machine and of a run, as names with values: the one table of them.
//!
//! Comparisons, the history, guards, experiments across boots and rows of fleets all read it. Two of these write a fact under names of
//! their own: prose has `huge pages`, a column of SQL is called `thp`. Where the two also differ in form, such as the counts behind a
//! policy of frequency, each has a row of the table.

use std::collections::BTreeMap;

use machine::{View, keyed_hash};
use serde_json::Value;

use crate::Record;
use crate::provenance::BOOT_DIGITS;

/// The fact that distinguishes one boot from another.
pub const BOOT: &str = "boot";
/// The fact that makes a guest of a machine.
pub const HYPERVISOR: &str = "hypervisor";
/// Facts that make another machine of it when they differ.
pub const IDENTITY: [&str; 4] = ["CPU", "CPU signature", "board", "CPUs"];

/// A hash that only distinguishes texts needs no secret.
const NO_SECRET: [u64; 2] = [0, 0];
/// Between values of one node that differ where they should be alike.
const AND: &str = "+";

/// Something known of a machine or of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// What it is: `huge pages`.
    pub name: String,
    /// Its value, never empty.
    pub value: String,
}

/// A kind of fact.
#[derive(Debug, Clone, Copy)]
struct Kind {
    /// What it is called in prose; empty where rows of a fleet alone have it.
    name: &'static str,
    /// Its column in rows of nodes, and what the schema says of it; empty where it has none.
    column: (&'static str, &'static str),
    /// Its id among the settings of a fleet; empty where it is none.
    setting: &'static str,
    of: fn(&Record) -> Option<String>,
}

const fn fact(name: &'static str, of: fn(&Record) -> Option<String>) -> Kind {
    Kind { name, column: ("", ""), setting: "", of }
}

impl Kind {
    const fn column(self, name: &'static str, help: &'static str) -> Self {
        Self { column: (name, help), ..self }
    }

    const fn setting(self, id: &'static str) -> Self {
        Self { setting: id, ..self }
    }

    /// Its value, if it is known.
    fn value(&self, record: &Record) -> Option<String> {
        (self.of)(record).filter(|value| !value.is_empty())
    }
}

/// Columns that are numbers.
const NUMBERS: [&str; 3] = ["family", "model", "stepping"];

/// All of them, in the order in which comparisons show them.
const FACTS: &[Kind] = &[
    fact("CPU", |of| of.machine.identity.name.clone()).column("cpu_model", "Marketing name of the CPU."),
    fact("CPU signature", |of| of.machine.identity.signature()),
    fact("", |of| number(of.machine.identity.family)).column("family", "Displayed family."),
    fact("", |of| number(of.machine.identity.model)).column("model", "Displayed model."),
    fact("", |of| number(of.machine.identity.stepping)).column("stepping", "Stepping."),
    fact("chip", |of| of.machine.identity.soc.clone()),
    fact("board", |of| of.machine.identity.board.clone()).column("board", "Board and system."),
    fact("BIOS", |of| of.machine.identity.bios.clone()),
    fact("", |of| of.machine.identity.bios_vendor.clone()).column("bios_vendor", "Who made the BIOS."),
    fact("", bios_version)
        .column("bios_version", "Version of the BIOS; of old records with vendor and date."),
    fact("", |of| of.machine.identity.bios_date.clone())
        .column("bios_date", "Date of the BIOS, as it says it."),
    fact("", memory_parts).column("dimm_part", "Memory modules: `16 x M393A2K43CB2-CTD`, joined by `+`."),
    fact("microcode", microcode).column("microcode", "As in /proc/cpuinfo: `0xa0011d1`, joined by `+`."),
    fact(HYPERVISOR, |of| of.machine.identity.hypervisor.clone())
        .column("hypervisor", "Who virtualises the node; NULL on bare metal."),
    fact("CPUs", cpu_counts),
    fact("kernel", |of| of.machine.environment.kernel.clone()).column("kernel", "Release of the kernel."),
    fact("command line", |of| of.machine.environment.command_line.clone()),
    fact("", |of| of.machine.environment.command_line.as_deref().map(hash))
        .column("cmdline_hash", "Of the command line without values that name a disk, host or password."),
    fact("clock source", |of| of.machine.environment.clock_sources.current.clone()),
    fact("frequency policy", |of| {
        let policies = &of.machine.environment.frequency_policies;
        joined(policies.iter().map(|(policy, count)| format!("{policy} x{count}")), ", ")
    }),
    fact("", |of| joined(of.machine.environment.frequency_policies.keys().cloned(), AND))
        .column("governor", "Driver and governor: `amd-pstate/performance`, joined by `+`.")
        .setting("governor"),
    fact("idle driver", |of| of.machine.environment.idle_driver.clone()).setting("idle-driver"),
    fact("idle states", |of| {
        let states = &of.machine.environment.idle_states;
        joined(states.iter().map(|(name, us)| format!("{name} {us} us")), ", ")
    }),
    fact("", |of| joined(of.machine.environment.idle_states.iter().map(|(name, _)| name.clone()), AND))
        .setting("idle-states"),
    fact("SMT", |of| of.machine.environment.smt.clone())
        .column("smt", "SMT as the kernel has it: `on`, `off`, `forceoff`, `notsupported`.")
        .setting("smt"),
    fact("offline CPUs", |of| Some(of.machine.topology.offline.to_string())),
    fact("allowed CPUs", |of| Some(of.machine.topology.allowed.to_string())),
    fact("isolated CPUs", |of| Some(of.machine.topology.isolated.to_string())),
    fact("memory", |of| of.machine.environment.memory_bytes.map(|bytes| bytes.to_string())),
    fact("memory layout", memory_layout),
    fact("huge pages", |of| of.machine.environment.transparent_huge_pages.enabled.clone())
        .column("thp", "Transparent huge pages: `always`, `madvise`, `never`.")
        .setting("thp"),
    fact("huge page defrag", |of| of.machine.environment.transparent_huge_pages.defrag.clone())
        .setting("thp-defrag"),
    fact("reserved huge pages", |of| {
        let pools = of.machine.environment.huge_page_pools.iter().filter(|pool| pool.total > 0);
        joined(pools.map(|pool| format!("{} of {}", pool.total, pool.page_bytes)), ", ")
    }),
    fact("NUMA balancing", |of| {
        of.machine.environment.numa_balancing.map(|on| if on { "on" } else { "off" }.to_owned())
    })
    .setting("numa-balancing"),
    fact("CPU limit", |of| {
        let limit = of.machine.environment.limits.cgroup_millicpus;
        limit.map(|limit| format!("{} CPUs", limit as f64 / 1e3))
    }),
    fact("memory limit", |of| {
        of.machine.environment.limits.cgroup_memory_bytes.map(|bytes| bytes.to_string())
    }),
    fact(BOOT, |of| Some(of.provenance.boot_id.as_ref()?.chars().take(BOOT_DIGITS).collect())),
    fact("measured CPUs", |of| Some(of.provenance.cpus.to_string())),
    fact("sidestep", |of| Some(of.provenance.tool_version.clone())),
    fact("root", |of| Some(if of.provenance.root { "yes" } else { "no" }.to_owned())),
];

/// The facts of a record: those of the machine, then those of the run, then what the kernel says of flaws.
pub fn facts(record: &Record) -> Vec<Fact> {
    let fact = |kind: &Kind| Some(Fact { name: kind.name.to_owned(), value: kind.value(record)? });
    let named = FACTS.iter().filter(|kind| !kind.name.is_empty()).filter_map(fact);
    let states = record.machine.environment.vulnerabilities.iter().filter(|(_, state)| !state.is_empty());
    let mitigations =
        states.map(|(name, state)| Fact { name: format!("mitigation {name}"), value: state.clone() });
    named.chain(mitigations).collect()
}

/// The facts that are columns of rows of nodes.
pub fn fact_columns(record: &Record) -> BTreeMap<String, Value> {
    let column = |kind: &Kind| {
        let (name, value) = (kind.column.0, kind.value(record)?);
        let number = value.parse::<u64>().ok().filter(|_| NUMBERS.contains(&name));
        Some((name.to_owned(), number.map_or_else(|| value.into(), Value::from)))
    };
    FACTS.iter().filter(|kind| !kind.column.0.is_empty()).filter_map(column).collect()
}

/// The names of these columns.
pub fn fact_column_names() -> impl Iterator<Item = &'static str> {
    FACTS.iter().map(|kind| kind.column.0).filter(|name| !name.is_empty())
}

/// The facts that a fleet counts as settings, by their ids.
pub fn settings(record: &Record) -> impl Iterator<Item = (&'static str, String)> {
    let settings = FACTS.iter().filter(|kind| !kind.setting.is_empty());
    settings.filter_map(|kind| Some((kind.setting, kind.value(record)?)))
}

/// The schema of the columns.
#[cfg(feature = "schema")]
pub(crate) fn columns_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let columns = FACTS.iter().map(|kind| kind.column).filter(|(name, _)| !name.is_empty());
    let properties: serde_json::Map<String, Value> = columns
        .map(|(name, help)| {
            let kind = if NUMBERS.contains(&name) { "integer" } else { "string" };
            (name.to_owned(), serde_json::json!({ "description": help, "type": [kind, "null"] }))
        })
        .collect();
    schemars::json_schema!({ "type": "object", "properties": properties })
}

fn number(number: Option<u32>) -> Option<String> {
    number.map(|number| number.to_string())
}

fn joined(values: impl Iterator<Item = String>, separator: &str) -> Option<String> {
    Some(values.collect::<Vec<String>>().join(separator)).filter(|text| !text.is_empty())
}

fn hash(text: &str) -> String {
    format!("{:016x}", keyed_hash(NO_SECRET, text.as_bytes()))
}

/// The version alone; older records have vendor, version and date in one text.
fn bios_version(record: &Record) -> Option<String> {
    let identity = &record.machine.identity;
    let is_apart = identity.bios_vendor.is_some() || identity.bios_date.is_some();
    identity.bios_version.clone().or_else(|| identity.bios.clone().filter(|_| !is_apart))
}

/// `16 x M393A2K43CB2-CTD`, by part number.
fn memory_parts(record: &Record) -> Option<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for module in &record.machine.identity.memory_modules {
        let part = if module.part.is_empty() { "unknown" } else { &module.part };
        *counts.entry(part).or_default() += 1;
    }
    joined(counts.into_iter().map(|(part, count)| format!("{count} x {part}")), AND)
}

/// The revisions of all CPUs, as /proc/cpuinfo writes them.
fn microcode(record: &Record) -> Option<String> {
    let of_cpus = record.flaw_evidence.iter().flat_map(|evidence| &evidence.cpus);
    let mut revisions: Vec<u64> = of_cpus.filter_map(|cpu| cpu.microcode).collect();
    if revisions.is_empty() {
        revisions.extend(record.machine.identity.microcode);
    }
    revisions.sort_unstable();
    revisions.dedup();
    joined(revisions.into_iter().map(|revision| format!("{revision:#x}")), AND)
}

fn cpu_counts(record: &Record) -> Option<String> {
    let counts = View::of(&record.machine).counts;
    (counts.pus > 0).then(|| {
        format!(
            "{} in {} cores, {} packages, {} nodes",
            counts.pus, counts.cores, counts.packages, counts.numa_nodes
        )
    })
}

/// In a guest without sizes: the kernel brings the memory of a node into use as the host grants it, 6 GiB of 23.5 at first, all within
/// an hour.
fn memory_layout(record: &Record) -> Option<String> {
    let is_guest = record.machine.identity.hypervisor.is_some();
    let nodes = record.machine.topology.nodes.iter().filter_map(|node| {
        let memory = node.memory_bytes?;
        let memory = if is_guest { "with memory".to_owned() } else { memory.to_string() };
        Some(format!("node {}: CPUs {}, {memory}", node.id, node.cpus))
    });
    joined(nodes, "; ")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_name_column_and_setting_stands_once() {
        let all = || FACTS.iter();
        let of: [fn(&Kind) -> &'static str; 3] =
            [|kind| kind.name, |kind| kind.column.0, |kind| kind.setting];
        for name in of {
            let names: Vec<&str> = all().map(name).filter(|name| !name.is_empty()).collect();
            let distinct: BTreeSet<&&str> = names.iter().collect();
            assert_eq!(distinct.len(), names.len(), "{names:?}");
        }
        assert!(IDENTITY.iter().chain([&BOOT, &HYPERVISOR]).all(|name| all().any(|kind| kind.name == *name)));
    }

    #[test]
    fn what_is_unknown_is_no_fact() {
        let names = |record: &Record| facts(record).into_iter().map(|fact| fact.name).collect::<Vec<_>>();
        let mut record = Record::default();
        assert_eq!(names(&record), ["root"]);
        assert!(fact_columns(&record).is_empty() && settings(&record).count() == 0);
        record.machine.identity.family = Some(25);
        record.machine.environment.smt = Some("on".to_owned());
        assert_eq!(names(&record), ["SMT", "root"]);
        let columns = Value::from_iter(fact_columns(&record));
        assert_eq!(columns, serde_json::json!({ "family": 25, "smt": "on" }));
        assert_eq!(settings(&record).collect::<Vec<_>>(), [("smt", "on".to_owned())]);
    }
}

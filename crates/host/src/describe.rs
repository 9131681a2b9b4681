//! One plain [`Machine`] from the files of a root and, where there is one, CPUID.
//!
//! The kernel's files come first, as the kernel knows of offline CPUs and of workarounds; CPUID fills what they
//! leave out and is checked against them. What is not there stays empty; what is there and cannot be read or
//! believed gets a line in `Machine::missing`.

mod arm;
mod caches;
mod confinement;
pub(crate) mod crosscheck;
pub(crate) mod environment;
mod identity;
mod nodes;
pub(crate) mod source;
mod topology;

use machine::Machine;

use crate::cpuid::caches_cut_by_nodes;
use crate::{Cpuid, Root};
use environment::Vulnerabilities;
use source::{CpuInfo, Source};

/// A machine, with the texts of its kernel that evidence of flaws needs whole.
pub(crate) struct Described {
    pub(crate) machine: Machine,
    pub(crate) info: CpuInfo,
    pub(crate) vulnerabilities: Option<Vulnerabilities>,
}

/// The clock sources of a machine at this moment.
pub(crate) fn clock_sources(root: &Root) -> machine::ClockSources {
    environment::clock_sources(&Source::new(root))
}

/// Describes the machine of a root; `cpuid` is of the same machine, live or recorded.
pub fn describe(root: &Root, cpuid: Option<&Cpuid>) -> Machine {
    described(root, cpuid).machine
}

/// The kernel's command line with all values; what describes the machine holds those that name nobody.
pub fn full_command_line(root: &Root) -> Option<String> {
    root.read("/proc/cmdline").ok().filter(|line| !line.is_empty())
}

/// Memory that is on no node that says so: of a kernel that sets it up later, or behind a container's /proc/meminfo.
fn compare_memory(source: &Source<'_>, machine: &Machine) {
    /// What the two may differ by, as they are read one after the other.
    const SHARE: f64 = 0.05;
    let nodes: Option<u64> =
        machine.topology.nodes.iter().map(|node| node.memory_bytes.map(|bytes| bytes.0)).sum();
    let (Some(nodes @ 1..), Some(all)) = (nodes, machine.environment.memory_bytes) else { return };
    if all.0.abs_diff(nodes) as f64 > SHARE * all.0.max(nodes) as f64 {
        source.note(format!(
            "memory: /proc/meminfo says {all}, the meminfo of the nodes adds up to {}: where the rest is, is unknown",
            machine::Bytes(nodes)
        ));
    }
}

/// Reads the files of a root once.
pub(crate) fn described(root: &Root, cpuid: Option<&Cpuid>) -> Described {
    let source = Source::new(root);
    let info = CpuInfo::read(&source);
    let vulnerabilities = environment::vulnerabilities(&source);
    let mut machine = Machine {
        identity: identity::read(&source, &info),
        topology: topology::read(&source, &info),
        environment: environment::read(&source, &info, vulnerabilities.as_ref()),
        ..Machine::default()
    };
    arm::fill(&source, &info, &mut machine);
    compare_memory(&source, &machine);
    if machine.topology.cpus.is_empty() {
        source.note("no CPU is listed in /sys/devices/system/cpu or /proc/cpuinfo".to_owned());
    }
    if let Some(cpuid) = cpuid {
        let claimed = cpuid.describe();
        let compared = crosscheck::compare(&machine, &claimed, cpuid);
        machine.disagreements.extend(compared);
        crosscheck::fill(&mut machine, claimed, cpuid, &info);
    }
    let cut = caches_cut_by_nodes(&machine.topology);
    machine.disagreements.extend(cut);
    let (missing, disagreements) = source.into_notes();
    machine.missing.extend(missing);
    machine.disagreements.extend(disagreements);
    let mut seen = Vec::new();
    machine.disagreements.retain(|one| {
        let is_new = !seen.contains(one);
        seen.push(one.clone());
        is_new
    });
    Described { machine, info, vulnerabilities }
}

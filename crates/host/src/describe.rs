//! One plain [`Machine`] from the files of a root and, where there is one, CPUID.
//!
//! The kernel's files come first, as the kernel knows of offline CPUs and of workarounds; CPUID fills what they
//! leave out and is checked against them. What is not there stays empty; what is there and cannot be read or
//! believed gets a line in `Machine::missing`.

mod caches;
mod confinement;
mod container;
mod core_kinds;
pub(crate) mod cpuinfo;
mod crosscheck;
mod environment;
mod groups;
mod identity;
mod limits;
mod nodes;
pub(crate) mod source;
mod topology;
pub(crate) mod vulnerabilities;

use machine::Machine;

use crate::{Cpuid, Root};
use cpuinfo::CpuInfo;
use source::Source;
use vulnerabilities::Vulnerabilities;

/// A machine, with the texts of its kernel that witnesses of flaws need whole.
pub(crate) struct Told {
    pub(crate) machine: Machine,
    pub(crate) info: CpuInfo,
    pub(crate) vulnerabilities: Option<Vulnerabilities>,
}

/// Describes the machine of a root; `cpuid` is of the same machine, live or recorded.
pub fn describe(root: &Root, cpuid: Option<&Cpuid>) -> Machine {
    told(root, cpuid).machine
}

/// Reads the files of a root once.
pub(crate) fn told(root: &Root, cpuid: Option<&Cpuid>) -> Told {
    let source = Source::new(root);
    let info = CpuInfo::read(&source);
    let vulnerabilities = vulnerabilities::read(&source);
    let mut machine = Machine {
        identity: identity::read(&source, &info),
        topology: topology::read(&source, &info),
        environment: environment::read(&source, &info, vulnerabilities.as_ref()),
        ..Machine::default()
    };
    if machine.topology.cpus.is_empty() {
        source.note("no CPU is listed in /sys/devices/system/cpu or /proc/cpuinfo".to_owned());
    }
    if let Some(cpuid) = cpuid {
        let claimed = cpuid.describe();
        machine.disagreements = crosscheck::compare(&machine, &claimed, cpuid);
        crosscheck::fill(&mut machine, claimed, cpuid, &info);
    }
    machine.missing.extend(source.into_missing());
    Told { machine, info, vulnerabilities }
}

//! A machine in a line.

use machine::{Bytes, Machine};

use crate::escape::plain;
use crate::number::count;

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
pub(crate) fn rounded(bytes: Bytes) -> String {
    let gib = bytes.0 as f64 / Bytes::GIB.0 as f64;
    if gib < 10.0 { bytes.to_string() } else { format!("{gib:.0} GiB") }
}

//! `sidestep machine`: what this machine, or a recorded one, says it is.

use std::path::Path;

use host::{Cpuid, Root};
use machine::{Machine, View};
use serde_json::json;

use crate::arguments::{Global, MachineArguments};
use crate::outcome::Outcome;
use crate::output;

/// Version of the JSON document of this command.
const SCHEMA: u32 = 1;

/// Describes the live machine.
pub(crate) fn live_machine() -> Machine {
    host::describe(&Root::live(), Cpuid::live().as_ref())
}

/// Prints a machine as text or JSON.
pub(crate) fn machine(arguments: &MachineArguments, global: &Global) -> anyhow::Result<Outcome> {
    let machine = described(arguments.sysroot.as_deref(), arguments.cpuid.as_deref())?;
    let text = if global.json {
        json_text(&machine)?
    } else {
        report::machine_text(&machine, output::terminal(global))
    };
    if global.json || !global.quiet {
        output::print(&text)?;
    }
    Ok(if global.gate && !machine.disagreements.is_empty() { Outcome::Gated } else { Outcome::Done })
}

fn described(sysroot: Option<&Path>, cpuid: Option<&Path>) -> anyhow::Result<Machine> {
    let dump = cpuid.map(Cpuid::open).transpose()?;
    Ok(match (sysroot, dump) {
        (None, None) => live_machine(),
        (None, Some(dump)) => dump.describe(),
        (Some(path), dump) => host::describe(&Root::open(path)?, dump.as_ref()),
    })
}

fn json_text(machine: &Machine) -> anyhow::Result<String> {
    let mut document = json!({ "schema": SCHEMA, "view": View::of(machine) });
    if let (Some(document), serde_json::Value::Object(fields)) =
        (document.as_object_mut(), serde_json::to_value(machine)?)
    {
        document.extend(fields);
    }
    output::json_text(&document)
}

//! `sidestep machine`: what this machine, or a recorded one, says it is.

use host::{Cpuid, Root};
use machine::{Machine, View};
use serde_json::json;

use crate::arguments::{Global, MachineArguments};
use crate::capture::{self, CaptureArguments};
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
    if let Some(file) = &arguments.save {
        let recording = CaptureArguments {
            file: file.clone(),
            host_name: arguments.host_name,
            full_command_line: arguments.full_command_line,
        };
        return capture::capture(&recording, global);
    }
    arguments.forms.ensure_writable()?;
    let machine = described(arguments)?;
    let page = report::machine_page(&machine);
    output::print(&arguments.forms.text(&page, &document(&machine)?, global)?)?;
    Ok(Outcome::judged(global, !machine.disagreements.is_empty(), false))
}

fn described(arguments: &MachineArguments) -> anyhow::Result<Machine> {
    let dump = arguments.cpuid.as_deref().map(Cpuid::open).transpose()?;
    let (root, cpuid) = match (&arguments.sysroot, dump) {
        (None, None) => (Root::live(), Cpuid::live()),
        (None, Some(dump)) => return Ok(dump.describe()),
        (Some(path), dump) => {
            let root = Root::open(path)?;
            let dump = dump.or_else(|| Cpuid::beside(&root));
            (root, dump)
        }
    };
    let mut machine = host::describe(&root, cpuid.as_ref());
    if arguments.full_command_line {
        machine.environment.command_line = host::full_command_line(&root);
    }
    Ok(machine)
}

fn document(machine: &Machine) -> anyhow::Result<serde_json::Value> {
    let mut document = json!({ "schema": SCHEMA, "view": View::of(machine) });
    if let (Some(document), serde_json::Value::Object(fields)) =
        (document.as_object_mut(), serde_json::to_value(machine)?)
    {
        document.extend(fields);
    }
    Ok(document)
}

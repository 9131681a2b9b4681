//! `sidestep machine`: what this machine, or a recorded one, says it is; with --save, the recording of it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ::flaws::catalogue;
use clap::Args;
use host::{CaptureOptions, Cpuid, Root};
use machine::{Machine, View, shell_word};
use serde_json::json;

use crate::forms::Forms;
use crate::options::Global;
use crate::outcome::Outcome;
use crate::output;

/// Version of the JSON document of this command.
const SCHEMA: u32 = 1;
/// Version of the JSON document of `--save`.
const SAVED_SCHEMA: u32 = 1;

/// Options of `machine`.
#[derive(Debug, Clone, Args)]
pub(crate) struct MachineArguments {
    #[command(flatten)]
    source: SourceArguments,
    /// Show the whole command line of the kernel; values that may name a disk, host or password are left out otherwise
    #[arg(long)]
    pub(crate) full_command_line: bool,
    /// Record this machine as a tarball for a bug report or a test, to a new file; nothing in it names the host
    #[arg(long, value_name = "FILE", conflicts_with_all = ["sysroot", "cpuid"])]
    pub(crate) save: Option<PathBuf>,
    /// With --save: name the recording after this host; it is called "machine" otherwise
    #[arg(long, requires = "save")]
    pub(crate) host_name: bool,
    #[command(flatten)]
    pub(crate) forms: Forms,
}

/// Which machine is meant: this one, unless one is named.
#[derive(Debug, Clone, Args)]
pub(crate) struct SourceArguments {
    /// Read a recorded machine: a directory or tarball with proc/ and sys/, or a topology of hwloc (lstopo --of xml)
    #[arg(long, value_name = "DIR|TARBALL|XML")]
    sysroot: Option<PathBuf>,
    /// Read a CPUID dump: the text of cpuid -r, AIDA64 or InstLatx64, or a directory or tarball with pu0, pu1, ...
    #[arg(long, value_name = "TEXT|DIR|TARBALL")]
    cpuid: Option<PathBuf>,
}

impl SourceArguments {
    /// The same options for a command that is printed; empty for this machine.
    pub(crate) fn words(&self) -> String {
        let option = |name: &str, path: &Option<PathBuf>| {
            let word = |path: &PathBuf| format!(" {name} {}", shell_word(&path.to_string_lossy()));
            path.as_ref().map(word).unwrap_or_default()
        };
        option("--sysroot", &self.sysroot) + &option("--cpuid", &self.cpuid)
    }

    /// Its files, if there is more than a dump, and its CPUID.
    pub(crate) fn open(&self) -> anyhow::Result<(Option<Root>, Option<Cpuid>)> {
        // A topology of hwloc is a machine, whichever option names it.
        let is_topology = |path: &&Path| self.sysroot.is_none() && host::is_topology(path);
        let topology = self.cpuid.as_deref().filter(is_topology);
        let dump = self.cpuid.as_deref().filter(|_| topology.is_none()).map(Cpuid::open).transpose()?;
        Ok(match (self.sysroot.as_deref().or(topology), dump) {
            (None, None) => (Some(Root::live()), Cpuid::live()),
            (None, dump) => (None, dump),
            (Some(path), dump) => {
                let root = Root::open(path)?;
                let cpuid = dump.or_else(|| Cpuid::beside(&root));
                (Some(root), cpuid)
            }
        })
    }
}

/// Describes the live machine.
pub(crate) fn live_machine() -> Machine {
    host::describe(&Root::live(), Cpuid::live().as_ref())
}

/// Prints a machine as text or JSON.
pub(crate) fn machine(arguments: &MachineArguments, global: &Global) -> anyhow::Result<Outcome> {
    if let Some(file) = &arguments.save {
        return save(file, arguments, global);
    }
    let machine = described(arguments)?;
    let page = report::machine_page(&machine);
    arguments.forms.print(&page, &document(&machine)?, global)?;
    Ok(Outcome::judged(global, !machine.disagreements.is_empty(), false))
}

fn described(arguments: &MachineArguments) -> anyhow::Result<Machine> {
    let (root, cpuid) = arguments.source.open()?;
    let Some(root) = root else { return Ok(cpuid.map(|dump| dump.describe()).unwrap_or_default()) };
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

/// Records this machine as a tarball, for a bug report or a test.
fn save(file: &Path, arguments: &MachineArguments, global: &Global) -> anyhow::Result<Outcome> {
    let path = file.display();
    anyhow::ensure!(!file.exists(), "{path} is there already; name another file");
    let machine = live_machine();
    let name = if arguments.host_name { host::live::host_name() } else { None };
    let is_guest = machine.identity.hypervisor.is_some();
    let options = CaptureOptions {
        full_command_line: arguments.full_command_line,
        top: name.unwrap_or_else(|| "machine".to_owned()),
        // A hypervisor makes registers up: they would be taken for the machine's.
        msr: if is_guest { BTreeSet::new() } else { catalogue().registers().msr },
    };
    let capture = host::capture(&options)?;
    host::live::write_atomically(file, &capture.tarball)?;
    if global.json {
        let document = json!({
            "schema": SAVED_SCHEMA, "file": file, "bytes": capture.tarball.len(), "files": capture.files,
            "cpus": capture.cpus, "cpus_with_registers": capture.registers,
        });
        output::print_json(&document)?;
    } else if !global.quiet {
        let registers = match capture.registers {
            0 if is_guest => "no registers: those of a guest are made up".to_owned(),
            0 => "no registers: they need root and the msr module".to_owned(),
            count => format!("registers of {}", machine::counted(count, "CPU")),
        };
        let word = shell_word(&file.to_string_lossy());
        let kib = capture.tarball.len().div_ceil(1024);
        let (cpuid, dump) = if capture.cpus == 0 {
            ("this architecture has no CPUID".to_owned(), String::new())
        } else {
            let cpus = machine::counted(capture.cpus, "CPU");
            (format!("CPUID of {cpus}, {registers}"), format!(" --cpuid {word}"))
        };
        output::print_lines(&format!(
            "{path}: {}, {cpuid}; {kib} KiB\n\
             sidestep machine --sysroot {word}{dump}\nsidestep flaws --sysroot {word}{dump}\n",
            machine::counted(capture.files, "file")
        ))?;
    }
    Ok(Outcome::Done)
}

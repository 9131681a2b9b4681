//! `sidestep machine --save`, earlier `capture`: this machine as a recorded machine, for a bug report or a test.

use std::path::PathBuf;

use ::flaws::catalogue;
use clap::Args;
use host::{CaptureOptions, Cpuid, Root};
use serde_json::json;

use crate::arguments::Global;
use crate::outcome::Outcome;
use crate::output;

/// Version of the JSON document of this command.
const SCHEMA: u32 = 1;

/// Options of `capture`.
#[derive(Debug, Clone, Args)]
pub(crate) struct CaptureArguments {
    /// The tarball to write; it must not exist
    #[arg(default_value = "machine.tar.gz")]
    pub(crate) file: PathBuf,
    /// Name the recording after this host; it is called "machine" otherwise
    #[arg(long)]
    pub(crate) host_name: bool,
    /// Keep the whole command line of the kernel; values that may name a disk, host or password are left out otherwise
    #[arg(long)]
    pub(crate) full_command_line: bool,
}

/// Records this machine.
pub(crate) fn capture(arguments: &CaptureArguments, global: &Global) -> anyhow::Result<Outcome> {
    let path = arguments.file.display();
    anyhow::ensure!(!arguments.file.exists(), "{path} is there already; name another file");
    let machine = host::describe(&Root::live(), Cpuid::live().as_ref());
    let name = if arguments.host_name { host::live::host_name() } else { None };
    let is_guest = machine.identity.hypervisor.is_some();
    let options = CaptureOptions {
        full_command_line: arguments.full_command_line,
        top: name.unwrap_or_else(|| "machine".to_owned()),
        // A hypervisor makes registers up: they would be taken for the machine's.
        msr: if is_guest { std::collections::BTreeSet::new() } else { catalogue().registers().msr },
    };
    let capture = host::capture(&options)?;
    host::live::write_atomically(&arguments.file, &capture.tarball)?;
    if global.json {
        let document = json!({
            "schema": SCHEMA, "file": arguments.file, "bytes": capture.tarball.len(), "files": capture.files,
            "cpus": capture.cpus, "cpus_with_registers": capture.registers,
        });
        output::print(&output::json_printed(&document)?)?;
    } else if !global.quiet {
        let registers = match capture.registers {
            0 if is_guest => "no registers: those of a guest are made up".to_owned(),
            0 => "no registers: they need root and the msr module".to_owned(),
            count => format!("registers of {}", machine::counted(count, "CPU")),
        };
        let kib = capture.tarball.len().div_ceil(1024);
        let (cpuid, dump) = if capture.cpus == 0 {
            ("this architecture has no CPUID".to_owned(), String::new())
        } else {
            let cpus = machine::counted(capture.cpus, "CPU");
            (format!("CPUID of {cpus}, {registers}"), format!(" --cpuid {path}"))
        };
        output::print_lines(&format!(
            "{path}: {}, {cpuid}; {kib} KiB\n\
             sidestep machine --sysroot {path}{dump}\nsidestep flaws --sysroot {path}{dump}\n",
            machine::counted(capture.files, "file")
        ))?;
    }
    Ok(Outcome::Done)
}

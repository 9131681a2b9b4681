//! This machine as a recording: a tarball that `--sysroot` and `--cpuid` read.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::Root;
use crate::cpuid;
use crate::flaw_sources::messages;
use crate::live::{self, Pinned};
use crate::root::{Recorded, record_files};

/// Permissions of the files in a recording.
const MODE: u32 = 0o644;

/// What is taken beside the files.
#[derive(Debug, Clone, Default)]
pub struct CaptureOptions {
    /// Name of the top folder.
    pub top: String,
    /// Model-specific registers to record of every CPU, as root outside of guests.
    pub msr: BTreeSet<u32>,
    /// Keep every value of the kernel's command line.
    pub full_command_line: bool,
}

/// What a recording became.
#[derive(Debug)]
pub struct Capture {
    /// The tarball, gzipped.
    pub tarball: Vec<u8>,
    /// Files in it.
    pub files: usize,
    /// CPUs whose CPUID is in it.
    pub cpus: usize,
    /// CPUs whose registers are in it.
    pub registers: usize,
}

/// Records this machine.
///
/// # Errors
/// The tarball could not be packed in memory.
pub fn capture(options: &CaptureOptions) -> io::Result<Capture> {
    let root = Root::live();
    let mut files = record_files(Path::new("/"), options.full_command_line);
    let messages = messages::of_this_machine();
    if !messages.is_empty() {
        let bytes = (messages.join("\n") + "\n").into_bytes();
        files.push(Recorded { path: messages::RECORDED.to_owned(), bytes });
    }
    let mut cpus = 0;
    let mut registers = 0;
    for cpu in live::allowed_cpus().iter() {
        // A CPU that went away meanwhile is left out.
        let Ok(_pinned) = Pinned::to(cpu) else { continue };
        let text = cpuid::dump_live();
        if !text.is_empty() {
            files.push(Recorded { path: format!("cpuid/pu{}", cpu.0), bytes: text.into_bytes() });
            cpus += 1;
        }
        let lines: String = options
            .msr
            .iter()
            .filter_map(|&number| {
                let value = root.register(cpu.0, number).ok()?;
                Some(format!("{number:08x} = {value:x}\n"))
            })
            .collect();
        if !lines.is_empty() {
            files.push(Recorded { path: format!("msr/{}", cpu.0), bytes: lines.into_bytes() });
            registers += 1;
        }
    }
    let tarball = pack(&options.top, &files)?;
    Ok(Capture { tarball, files: files.len(), cpus, registers })
}

fn pack(top: &str, files: &[Recorded]) -> io::Result<Vec<u8>> {
    let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::best()));
    for file in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(file.bytes.len() as u64);
        header.set_mode(MODE);
        header.set_entry_type(tar::EntryType::Regular);
        builder.append_data(&mut header, format!("{top}/{}", file.path), file.bytes.as_slice())?;
    }
    builder.into_inner()?.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node_functions;

    #[test]
    fn clock_ramps_and_routes_of_nodes_survive_a_recording() {
        let machine =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/machines/synthetic-k8-two-sockets");
        let tarball = pack("recorded", &record_files(&machine, false)).expect("memory is enough");
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("recorded.tar.gz");
        std::fs::write(&path, tarball).expect("a file");
        let (before, after) =
            (Root::open(&machine).expect("a machine"), Root::open(&path).expect("a recording"));
        let words = |root: &Root, function: u32, offset: u32| -> Vec<Option<u32>> {
            let functions = node_functions(root, function).into_iter();
            functions.map(|found| root.configuration_word(&found.name(), offset)).collect()
        };
        for (function, offset, expected) in [
            (3, 0x84, [0x23, 0x0100_0023]),
            (0, 0x40, [0x0003_0101, 0x0001_0202]),
            (0, 0x44, [0x0001_0202, 0x0003_0101]),
            (0, 0x60, [0x10, 0x11]),
        ] {
            let expected = expected.map(Some);
            assert_eq!(words(&before, function, offset), expected, "F{function}x{offset:x} of the machine");
            assert_eq!(words(&after, function, offset), expected, "F{function}x{offset:x} of its recording");
        }
    }
}

//! This machine as a recording: a tarball that `--sysroot` and `--cpuid` read.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::cpuid;
use crate::door::register;
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
    let mut files = record_files(Path::new("/"));
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
                let value = register::read_msr(None, cpu.0, number).ok()?;
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

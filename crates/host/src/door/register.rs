//! Registers: eight bytes of `/dev/cpu/N/msr`, four bytes of PCI configuration space, or a recorded map of either.
//!
//! The device takes the register's number as the offset and answers eight bytes (msr(4)), so neighbouring registers
//! overlap in the file: a recording is a map of lines instead.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::{form, tree};

fn device(cpu: u32) -> PathBuf {
    PathBuf::from(format!("/dev/cpu/{cpu}/msr"))
}

fn recording(tree: &Path, cpu: u32) -> PathBuf {
    tree.join(format!("msr/{cpu}"))
}

/// Reads a whole register.
pub(crate) fn read_msr(tree: Option<&Path>, cpu: u32, register: u32) -> io::Result<u64> {
    if let Some(tree) = tree {
        let value = in_recording(&form::read_text(&recording(tree, cpu))?, register);
        return value.ok_or_else(|| io::ErrorKind::NotFound.into());
    }
    let mut bytes = [0; 8];
    File::open(device(cpu))?.read_exact_at(&mut bytes, register.into())?;
    Ok(u64::from_ne_bytes(bytes))
}

/// Writes a whole register.
pub(super) fn write_msr(tree: Option<&Path>, cpu: u32, register: u32, value: u64) -> io::Result<()> {
    let Some(tree) = tree else {
        let file = OpenOptions::new().write(true).open(device(cpu))?;
        return file.write_all_at(&value.to_ne_bytes(), register.into());
    };
    let path = recording(tree, cpu);
    let text = form::read_text(&path)?;
    let with_new = lines(&text).map(|(index, old)| (index, if index == register { value } else { old }));
    let lines: Vec<String> = with_new.map(|(index, value)| format!("{index:x} = {value:x}\n")).collect();
    tree::replace(&path, &lines.concat())
}

/// The value of a register in the text of a recording.
pub(crate) fn in_recording(text: &str, register: u32) -> Option<u64> {
    lines(text).find_map(|(index, value)| (index == register).then_some(value))
}

/// The registers of a recording.
fn lines(text: &str) -> impl Iterator<Item = (u32, u64)> + '_ {
    text.lines().filter_map(|line| {
        let (index, value) = line.split_once('=')?;
        let (index, value) = (index.trim().trim_start_matches("0x"), value.trim().trim_start_matches("0x"));
        Some((u32::from_str_radix(index, 16).ok()?, u64::from_str_radix(value, 16).ok()?))
    })
}

/// Reads an aligned word of configuration space, which is little-endian on every machine.
pub(super) fn read_pci(file: &Path, offset: u32) -> io::Result<u32> {
    let mut bytes = [0; 4];
    File::open(file)?.read_exact_at(&mut bytes, offset.into())?;
    Ok(u32::from_le_bytes(bytes))
}

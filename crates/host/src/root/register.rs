//! Registers of a machine: eight bytes of `/dev/cpu/N/msr`, four bytes of PCI configuration space, or lines of a recording.
//!
//! The device takes the register's number as the offset and answers eight bytes (msr(4)), so neighbouring registers
//! overlap in the file: a recording is a map of lines instead.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// Model-specific registers of the CPUs of a machine that runs, by the numbers of CPU and register.
///
/// On the live machine that is the kernel's device. A test puts a virtual machine here: its CPUs execute RDMSR and
/// WRMSR, and readers and writers above cannot tell.
pub trait Registers: fmt::Debug + Send + Sync {
    /// The whole register; the error of a register that the CPU does not have is `EIO`, as of the device.
    ///
    /// # Errors
    /// What the device said.
    fn read(&self, cpu: u32, register: u32) -> io::Result<u64>;

    /// Writes the whole register.
    ///
    /// # Errors
    /// What the device said; `EIO` where the CPU refuses the value.
    fn write(&self, cpu: u32, register: u32, value: u64) -> io::Result<()>;
}

/// The device of the msr module.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MsrDevice;

impl Registers for MsrDevice {
    fn read(&self, cpu: u32, register: u32) -> io::Result<u64> {
        let mut bytes = [0; 8];
        File::open(device(cpu))?.read_exact_at(&mut bytes, register.into())?;
        Ok(u64::from_ne_bytes(bytes))
    }

    fn write(&self, cpu: u32, register: u32, value: u64) -> io::Result<()> {
        let file = OpenOptions::new().write(true).open(device(cpu))?;
        file.write_all_at(&value.to_ne_bytes(), register.into())
    }
}

fn device(cpu: u32) -> PathBuf {
    PathBuf::from(format!("/dev/cpu/{cpu}/msr"))
}

/// The value of a register in the text of a recording.
pub(crate) fn in_recording(text: &str, register: u32) -> Option<u64> {
    recorded(text).find_map(|(index, value)| (index == register).then_some(value))
}

/// The registers of a recording.
pub(crate) fn recorded(text: &str) -> impl Iterator<Item = (u32, u64)> + '_ {
    text.lines().filter_map(|line| {
        let (index, value) = line.split_once('=')?;
        Some((super::hexadecimal(index)?.try_into().ok()?, super::hexadecimal(value)?))
    })
}

/// What a function that is not there answers at every offset. PCI Local Bus Specification 3.0, section 6.1.
pub(crate) const NOBODY: u32 = u32::MAX;

/// A word in the bytes of a configuration space; `None` beyond their end.
pub(crate) fn word(config: &[u8], offset: u32) -> Option<u32> {
    let bytes = config.get(offset as usize..)?.first_chunk()?;
    Some(u32::from_le_bytes(*bytes))
}

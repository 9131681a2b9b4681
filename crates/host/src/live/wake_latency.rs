//! The longest wake-up of any CPU that its holder accepts: an open `/dev/cpu_dma_latency`.
//!
//! The kernel honours the request for as long as the file is open (Documentation/power/pm_qos_interface.rst), so a
//! crash takes it back.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};

use crate::answer::number;

const DEVICE: &str = "/dev/cpu_dma_latency";
/// The same as C text, for the child between fork and exec.
const DEVICE_C: &std::ffi::CStr = c"/dev/cpu_dma_latency";

/// A request that holds until it is dropped.
#[derive(Debug)]
pub struct WakeLatency {
    _held: File,
}

impl WakeLatency {
    /// Asks for wake-ups of at most this many microseconds; 0 keeps CPUs out of all idle states.
    ///
    /// # Errors
    /// What the kernel said: the device is root's.
    pub fn hold(latency_us: u32) -> io::Result<Self> {
        let mut file = OpenOptions::new().write(true).open(DEVICE)?;
        file.write_all(&latency_us.to_ne_bytes())?;
        Ok(Self { _held: file })
    }
}

/// The limit that holds now for all, in microseconds.
///
/// # Errors
/// What the kernel said: the device is root's.
pub fn wake_latency_us() -> io::Result<u32> {
    let mut bytes = [0; 4];
    File::open(DEVICE)?.read_exact(&mut bytes)?;
    Ok(u32::from_ne_bytes(bytes))
}

/// Opens the device and leaves it open over exec, so that the program holds the request while it lives.
///
/// Only system calls: this runs between fork and exec.
pub(super) fn hold_in_child(latency_us: u32) -> io::Result<()> {
    // SAFETY: the path ends with a NUL, and the flags ask for no memory of ours.
    let descriptor = unsafe { libc::open(DEVICE_C.as_ptr(), libc::O_WRONLY) };
    number(descriptor)?;
    let bytes = latency_us.to_ne_bytes();
    // SAFETY: the buffer is valid for its length, and it is only read.
    let written = unsafe { libc::write(descriptor, bytes.as_ptr().cast(), bytes.len()) };
    if usize::try_from(written) == Ok(bytes.len()) { Ok(()) } else { Err(io::Error::last_os_error()) }
}

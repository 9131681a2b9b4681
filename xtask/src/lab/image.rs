//! The ELF image inside of a Linux bzImage: QEMU boots it by PVH, which saves seconds of emulated decompression.
//!
//! Where the compressed kernel lies, the boot protocol says: Linux, Documentation/arch/x86/boot.rst, fields setup_sects,
//! payload_offset and payload_length. What is no bzImage, or is packed in another way, is booted as it is.

use std::io::{Read, Write};
use std::process::{Command, Stdio};

use anyhow::Context;

use crate::cargo;

/// "HdrS": the header of the boot protocol, at 0x202.
const HEADER: &[u8] = b"HdrS";
/// Sectors of the setup code where the field is 0, as before protocol 2.00.
const SETUP_SECTORS: usize = 4;
const SECTOR_BYTES: usize = 512;
/// Formats that a program unpacks: first bytes, program. Kernels have LZ4's old frame: lz4 doc/lz4_Frame_format.md, "Legacy frame".
const PROGRAMS: &[(&[u8], &str)] = &[
    (&[0x28, 0xb5, 0x2f, 0xfd], "zstd"),
    (&[0xfd, b'7', b'z', b'X', b'Z'], "xz"),
    (&[0x1f, 0x8b], "gzip"),
    (&[0x02, 0x21, 0x4c, 0x18], "lz4"),
];

/// The ELF image in `file`, if it can be had.
///
/// # Errors
/// The compressed kernel is damaged.
pub fn unpacked(file: &[u8]) -> anyhow::Result<Option<Vec<u8>>> {
    let Some(payload) = payload(file) else { return Ok(None) };
    let program = PROGRAMS.iter().find(|(first, _)| payload.starts_with(first)).map(|(_, program)| *program);
    let elf =
        program.filter(|program| cargo::find(program).is_some()).map(|program| decompress(program, payload));
    elf.transpose()
}

/// What `program` unpacks from `bytes`.
///
/// # Errors
/// It is absent or fails.
pub fn decompress(program: &str, bytes: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut child = Command::new(program)
        .arg("-dc")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot unpack the kernel: {program} does not start; install it"))?;
    let mut input = child.stdin.take().expect("standard input was asked to be a pipe");
    let bytes = bytes.to_owned();
    let writer = std::thread::spawn(move || input.write_all(&bytes));
    let mut unpacked = Vec::new();
    child.stdout.take().expect("standard output was asked to be a pipe").read_to_end(&mut unpacked)?;
    let is_written = writer.join().expect("writing does not panic").is_ok();
    let is_done = child.wait().context("cannot wait for it")?.success();
    anyhow::ensure!(is_written && is_done, "cannot unpack the kernel: {program} failed");
    Ok(unpacked)
}

/// The compressed kernel, without the size that follows it.
fn payload(file: &[u8]) -> Option<&[u8]> {
    let number = |at: usize| Some(u32::from_le_bytes(file.get(at..at + 4)?.try_into().ok()?) as usize);
    file.get(0x202..0x206).filter(|magic| *magic == HEADER)?;
    let sectors = match file.get(0x1f1)? {
        0 => SETUP_SECTORS,
        count => usize::from(*count),
    };
    let start = ((sectors + 1) * SECTOR_BYTES).checked_add(number(0x248)?)?;
    file.get(start..start.checked_add(number(0x24c)?.checked_sub(4)?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bzImage with one sector of setup and this payload.
    fn bz_image(payload: &[u8]) -> Vec<u8> {
        let mut file = vec![0; 2 * SECTOR_BYTES];
        file[0x1f1] = 1;
        file[0x202..0x206].copy_from_slice(HEADER);
        file[0x248..0x24c].copy_from_slice(&16_u32.to_le_bytes());
        file[0x24c..0x250].copy_from_slice(&(payload.len() as u32 + 4).to_le_bytes());
        file.resize(2 * SECTOR_BYTES + 16, 0);
        file.extend(payload);
        file.extend([0; 4]);
        file
    }

    #[test]
    fn a_packed_kernel_is_unpacked_and_a_damaged_one_is_an_error() {
        let mut gzip = Command::new("gzip");
        let mut child = gzip.arg("-c").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("gzip");
        child.stdin.take().expect("a pipe").write_all(b"a kernel").expect("it reads");
        let packed = child.wait_with_output().expect("it ends").stdout;
        assert_eq!(unpacked(&bz_image(&packed)).expect("it is whole").as_deref(), Some(&b"a kernel"[..]));
        assert!(unpacked(&bz_image(&packed[..packed.len() / 2])).is_err());
    }

    #[test]
    fn what_is_no_bz_image_is_booted_as_it_is() {
        for file in [&b""[..], &[0; 600], &bz_image(b"unknown")] {
            assert!(unpacked(file).expect("no error").is_none());
        }
    }
}

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
/// A frame of LZ4's old form. lz4 doc/lz4_Frame_format.md, "Legacy frame".
const LZ4: &[u8] = &[0x02, 0x21, 0x4c, 0x18];
/// Formats that a program unpacks: first bytes, program.
const PROGRAMS: &[(&[u8], &str)] =
    &[(&[0x28, 0xb5, 0x2f, 0xfd], "zstd"), (&[0xfd, b'7', b'z', b'X', b'Z'], "xz"), (&[0x1f, 0x8b], "gzip")];

/// The ELF image in `file`, if it can be had.
///
/// # Errors
/// The compressed kernel is damaged.
pub fn unpacked(file: &[u8]) -> anyhow::Result<Option<Vec<u8>>> {
    let Some(payload) = payload(file) else { return Ok(None) };
    if let Some(blocks) = payload.strip_prefix(LZ4) {
        return lz4(blocks).map(Some).context("the kernel's LZ4 data is damaged");
    }
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

/// Blocks of LZ4's old frame: the size of each, then its bytes.
fn lz4(mut blocks: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut unpacked = Vec::new();
    while let Some((size, rest)) = blocks.split_first_chunk::<4>() {
        let size = u32::from_le_bytes(*size) as usize;
        let block = rest.get(..size).context("a block ends early")?;
        lz4_block(block, &mut unpacked).context("a sequence reaches outside of its block")?;
        blocks = &rest[size..];
    }
    Ok(unpacked)
}

/// One block: sequences of literals and of matches that repeat what was unpacked. lz4 doc/lz4_Block_format.md.
fn lz4_block(mut block: &[u8], unpacked: &mut Vec<u8>) -> Option<()> {
    /// A match is never shorter.
    const MATCH_BYTES_MIN: usize = 4;
    let begin = unpacked.len();
    while let Some((token, rest)) = block.split_first() {
        block = rest;
        let literals = length(usize::from(token >> 4), &mut block)?;
        unpacked.extend(block.get(..literals)?);
        block = &block[literals..];
        let Some((distance, rest)) = block.split_first_chunk::<2>() else { break };
        block = rest;
        let distance = usize::from(u16::from_le_bytes(*distance));
        let bytes = length(usize::from(token & 15), &mut block)? + MATCH_BYTES_MIN;
        let from = unpacked.len().checked_sub(distance).filter(|from| *from >= begin && distance > 0)?;
        // A match may reach into itself: it then repeats its first bytes.
        for at in from..from + bytes {
            unpacked.push(unpacked[at]);
        }
    }
    Some(())
}

/// A length that begins with four bits and goes on in bytes as long as they are full.
fn length(first: usize, block: &mut &[u8]) -> Option<usize> {
    let mut length = first;
    let mut goes_on = first == 15;
    while goes_on {
        let (byte, rest) = block.split_first()?;
        length += usize::from(*byte);
        goes_on = *byte == u8::MAX;
        *block = rest;
    }
    Some(length)
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
    fn an_lz4_kernel_is_unpacked_and_a_damaged_one_is_an_error() {
        // "abcd", then a match of 4 + 15 + 1 bytes at distance 4, then "end".
        let block = [0x4f, b'a', b'b', b'c', b'd', 4, 0, 1, 0x30, b'e', b'n', b'd'];
        let payload = [LZ4, &(block.len() as u32).to_le_bytes(), &block].concat();
        let unpacked_bytes = unpacked(&bz_image(&payload)).expect("it is whole").expect("it is known");
        assert_eq!(String::from_utf8_lossy(&unpacked_bytes), "abcd".repeat(6) + "end");
        for cut in 1..block.len() {
            let _ = unpacked(&bz_image(&payload[..payload.len() - cut]));
        }
        let far = [LZ4, &8_u32.to_le_bytes(), &[0x40, b'a', b'b', b'c', b'd', 9, 0, 0]].concat();
        assert!(unpacked(&bz_image(&far)).is_err());
    }

    #[test]
    fn what_is_no_bz_image_is_booted_as_it_is() {
        for file in [&b""[..], &[0; 600], &bz_image(b"unknown")] {
            assert!(unpacked(file).expect("no error").is_none());
        }
    }
}

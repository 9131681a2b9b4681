//! Writes cpio archives of the form `newc`, which Linux unpacks as its first file system.
//!
//! Linux, Documentation/driver-api/early-userspace/buffer-format.rst: several archives one after another are one file system, so that
//! a base serves all machines and each adds its own files.

use std::collections::BTreeSet;

/// Type and permissions of an entry: inode(7).
const FOLDER: u32 = 0o040_755;
const FILE: u32 = 0o100_644;
const PROGRAM: u32 = 0o100_755;
const LINK: u32 = 0o120_777;
const CHARACTER_DEVICE: u32 = 0o020_600;
/// An archive ends with an entry of this name.
const TRAILER: &str = "TRAILER!!!";
/// Header and data are padded to that, bytes.
const ALIGNMENT: usize = 4;

/// An archive that grows.
#[derive(Debug, Clone, Default)]
pub struct Archive {
    bytes: Vec<u8>,
    folders: BTreeSet<String>,
    entries: u32,
}

impl Archive {
    /// A file that is read.
    pub fn file(&mut self, path: &str, data: &[u8]) {
        self.put(path, FILE, data, (0, 0));
    }

    /// A file that is run.
    pub fn program(&mut self, path: &str, data: &[u8]) {
        self.put(path, PROGRAM, data, (0, 0));
    }

    /// A symbolic link to `target`.
    pub fn link(&mut self, path: &str, target: &str) {
        self.put(path, LINK, target.as_bytes(), (0, 0));
    }

    /// A device of characters by its two numbers; needs no privilege, as the kernel makes it.
    pub fn device(&mut self, path: &str, major: u32, minor: u32) {
        self.put(path, CHARACTER_DEVICE, &[], (major, minor));
    }

    /// The whole archive.
    pub fn finish(mut self) -> Vec<u8> {
        self.entry(TRAILER, 0, &[], (0, 0));
        self.bytes
    }

    /// An entry, and before it the folders above that are not there yet.
    fn put(&mut self, path: &str, mode: u32, data: &[u8], device: (u32, u32)) {
        let path = path.trim_start_matches('/');
        let ends = path.match_indices('/').map(|(end, _)| end);
        for folder in ends.map(|end| path[..end].to_owned()) {
            if self.folders.insert(folder.clone()) {
                self.entry(&folder, FOLDER, &[], (0, 0));
            }
        }
        self.entry(path, mode, data, device);
    }

    fn entry(&mut self, path: &str, mode: u32, data: &[u8], device: (u32, u32)) {
        self.entries += 1;
        let size = u32::try_from(data.len()).expect("a file of the guest is below 4 GiB");
        let name_size = path.len() as u32 + 1;
        // Inode, mode, user, group, links, time, size, device of the file, device that it is, name, checksum.
        let fields = [self.entries, mode, 0, 0, 1, 0, size, 0, 0, device.0, device.1, name_size, 0]
            .map(|field| format!("{field:08x}"));
        self.bytes.extend(b"070701");
        self.bytes.extend(fields.concat().as_bytes());
        self.bytes.extend(path.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend(data);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(ALIGNMENT), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_aligned_and_folders_come_first_and_once() {
        let mut archive = Archive::default();
        archive.program("/bin/a", b"abcde");
        archive.link("/bin/sh", "a");
        archive.device("dev/console", 5, 1);
        let bytes = archive.finish();
        let mut names = Vec::new();
        let mut at = 0;
        while at < bytes.len() {
            assert_eq!((&bytes[at..at + 6], at % ALIGNMENT), (&b"070701"[..], 0));
            let field = |index: usize| {
                let digits = &bytes[at + 6 + 8 * index..at + 14 + 8 * index];
                usize::from_str_radix(std::str::from_utf8(digits).expect("digits"), 16).expect("hexadecimal")
            };
            let (mode, size, name_size) = (field(1), field(6), field(11));
            let name = String::from_utf8_lossy(&bytes[at + 110..at + 110 + name_size - 1]).into_owned();
            let data = (at + 110 + name_size).next_multiple_of(ALIGNMENT);
            if name == "bin/a" {
                assert_eq!((&bytes[data..data + size], mode), (&b"abcde"[..], 0o100_755));
            }
            if name == "dev/console" {
                assert_eq!((field(9), field(10)), (5, 1));
            }
            names.push(name);
            at = (data + size).next_multiple_of(ALIGNMENT);
        }
        assert_eq!(names, ["bin", "bin/a", "bin/sh", "dev", "dev/console", TRAILER]);
    }
}

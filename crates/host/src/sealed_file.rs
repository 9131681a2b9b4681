//! A document in a state folder: replaced whole and never half, and sealed by its length and a checksum.
//!
//! The file is a first line with kind, checksum and length, then text that a person can read. What is cut, mixed up or
//! edited does not pass for the document.

use std::io;

use crate::state_folder::Disk;

/// More damaged documents than this in one folder are another problem.
const ASIDE_TRIES: u32 = 1000;

/// A kind of document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SealedFile {
    /// Its name in the folder.
    pub name: &'static str,
    /// What the first line begins with.
    pub magic: &'static str,
    /// Whether a power cut may lose it. Of what ends with the boot, such as pins of threads, it may: then nothing is waited for,
    /// and it can be written while a program is timed.
    pub may_be_lost_by_power_cut: bool,
}

/// Why bytes are no such document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the journal is damaged ({reason})")]
pub struct Damaged {
    /// What is wrong.
    pub reason: String,
}

impl Damaged {
    /// With what is wrong.
    pub fn new(reason: &str) -> Self {
        Self { reason: reason.to_owned() }
    }
}

impl SealedFile {
    /// The bytes of a document.
    pub fn seal(&self, body: &str) -> Vec<u8> {
        format!("{} {:016x} {}\n{body}\n", self.magic, checksum(body.as_bytes()), body.len()).into_bytes()
    }

    /// The text of a document.
    ///
    /// # Errors
    /// `Damaged`, with what is wrong.
    pub fn unseal<'a>(&self, bytes: &'a [u8]) -> Result<&'a str, Damaged> {
        let text = std::str::from_utf8(bytes).map_err(|_| Damaged::new("it is not text"))?;
        let (first, body) = text.split_once('\n').ok_or_else(|| Damaged::new("it has no second line"))?;
        let rest = first
            .strip_prefix(self.magic)
            .ok_or_else(|| Damaged::new("the first line is not a journal's"))?;
        let mut words = rest.split_whitespace();
        let sum = words.next().and_then(|word| u64::from_str_radix(word, 16).ok());
        let length = words.next().and_then(|word| word.parse::<usize>().ok());
        let (Some(sum), Some(length)) = (sum, length) else {
            return Err(Damaged::new("the first line is cut"));
        };
        let body = body.strip_suffix('\n').unwrap_or(body);
        if body.len() != length {
            return Err(Damaged::new("it is cut or longer than it was"));
        }
        if checksum(body.as_bytes()) != sum {
            return Err(Damaged::new("its checksum does not fit"));
        }
        Ok(body)
    }

    /// Writes the document so that no crash, and unless it says otherwise no power cut, loses it once this returns; until then the
    /// one before holds.
    ///
    /// # Errors
    /// What the disk said.
    pub fn store(&self, disk: &mut impl Disk, body: &str) -> io::Result<()> {
        let new_name = self.unfinished();
        disk.write(&new_name, &self.seal(body))?;
        if !self.may_be_lost_by_power_cut {
            disk.sync(&new_name)?;
        }
        disk.rename(&new_name, self.name)?;
        self.sync_names(disk)
    }

    /// What the document is called until it is whole.
    fn unfinished(&self) -> String {
        format!("{}.new", self.name)
    }

    /// Takes away what a kill left of a document that was being written. Nobody else may be writing one.
    ///
    /// # Errors
    /// What the disk said.
    pub fn clear_unfinished(&self, disk: &mut impl Disk) -> io::Result<()> {
        match disk.remove(&self.unfinished()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// The bytes of the document, if there is one.
    ///
    /// # Errors
    /// What the disk said.
    pub fn load(&self, disk: &mut impl Disk) -> io::Result<Option<Vec<u8>>> {
        disk.read(self.name)
    }

    /// Takes the document away.
    ///
    /// # Errors
    /// What the disk said.
    pub fn clear(&self, disk: &mut impl Disk) -> io::Result<()> {
        disk.remove(self.name)?;
        self.sync_names(disk)
    }

    fn sync_names(&self, disk: &mut impl Disk) -> io::Result<()> {
        if self.may_be_lost_by_power_cut { Ok(()) } else { disk.sync_names() }
    }

    /// Gives the document the first free name of `NAME.word-1`, `NAME.word-2` and so on, and tells which.
    ///
    /// # Errors
    /// What the disk said.
    pub fn set_aside(&self, disk: &mut impl Disk, word: &str) -> io::Result<String> {
        for number in 1..ASIDE_TRIES {
            let name = format!("{}.{word}-{number}", self.name);
            if disk.read(&name)?.is_none() {
                disk.rename(self.name, &name)?;
                disk.sync_names()?;
                return Ok(name);
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }
}

/// FNV-1a, 64 bits (draft-eastlake-fnv): against accidents, not against people.
fn checksum(bytes: &[u8]) -> u64 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    bytes.iter().fold(OFFSET, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StateFolder;

    const KIND: SealedFile =
        SealedFile { name: "list", magic: "sidestep list 1", may_be_lost_by_power_cut: false };

    #[test]
    fn a_document_is_read_back_as_it_was_and_another_kind_is_damaged() {
        let sealed = KIND.seal("a\nb");
        assert_eq!(KIND.unseal(&sealed), Ok("a\nb"));
        let other = SealedFile { magic: "sidestep plan 1", ..KIND };
        assert_eq!(other.unseal(&sealed), Err(Damaged::new("the first line is not a journal's")));
        for end in 0..sealed.len() - 1 {
            assert!(KIND.unseal(&sealed[..end]).is_err(), "cut after {end} bytes");
        }
    }

    #[test]
    fn a_document_set_aside_keeps_its_bytes_under_the_first_free_name() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut disk = StateFolder::new(folder.path());
        for expected in ["list.old-1", "list.old-2"] {
            KIND.store(&mut disk, expected).expect("writable");
            assert_eq!(KIND.set_aside(&mut disk, "old").expect("renamed"), expected);
            assert_eq!(KIND.load(&mut disk).expect("readable"), None);
            assert_eq!(disk.read(expected).expect("readable"), Some(KIND.seal(expected)));
        }
        assert!(KIND.clear(&mut disk).is_err(), "there is none");
        disk.write("list.new", b"half").expect("writable");
        for _ in 0..2 {
            KIND.clear_unfinished(&mut disk).expect("removed, or not there");
            assert_eq!(disk.read("list.new").expect("readable"), None);
        }
    }
}

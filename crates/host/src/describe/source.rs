//! Reading single values of a root, with a note for what is there and cannot be read; `/proc/cpuinfo`, which has one block of
//! `key : value` lines per CPU on most architectures, a common block on some.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::str::FromStr;

use machine::{Bytes, CPU_NUMBER_LIMIT, CpuId, CpuSet, CpuSetError, Disagreement, NodeId};

use crate::{ReadError, Root};

/// Where the kernel describes CPUs.
pub(super) const CPU_FOLDER: &str = "/sys/devices/system/cpu";

/// The most notes kept: a hostile tree can have a million unreadable files.
const NOTES_MAX: usize = 50;

/// A root and the notes taken while reading it.
pub(crate) struct Source<'a> {
    root: &'a Root,
    missing: RefCell<Vec<String>>,
    disagreements: RefCell<Vec<Disagreement>>,
    /// Masks that were read: thousands of CPUs repeat those of their package.
    masks: RefCell<HashMap<String, CpuSet>>,
}

impl<'a> Source<'a> {
    pub(crate) fn new(root: &'a Root) -> Self {
        Self {
            root,
            missing: RefCell::default(),
            disagreements: RefCell::default(),
            masks: RefCell::default(),
        }
    }

    /// The files behind it.
    pub(crate) fn root(&self) -> &'a Root {
        self.root
    }

    /// Takes a note, once.
    pub(crate) fn note(&self, line: String) {
        let mut missing = self.missing.borrow_mut();
        if missing.len() < NOTES_MAX && !missing.contains(&line) {
            missing.push(line);
        }
    }

    /// Keeps a contradiction.
    pub(crate) fn disagree(&self, disagreement: Disagreement) {
        let mut disagreements = self.disagreements.borrow_mut();
        if disagreements.len() < NOTES_MAX {
            disagreements.push(disagreement);
        }
    }

    /// The notes taken, and the contradictions.
    pub(crate) fn into_notes(self) -> (Vec<String>, Vec<Disagreement>) {
        (self.missing.into_inner(), self.disagreements.into_inner())
    }

    /// The trimmed text of a file; a note if it is there and unreadable.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        match self.root.read(path) {
            Ok(text) => Some(text),
            Err(ReadError::Absent(_)) => None,
            Err(error) => {
                self.note(error.to_string());
                None
            }
        }
    }

    /// The text of a file if it says anything.
    pub(crate) fn word(&self, path: &str) -> Option<String> {
        self.text(path).filter(|text| !text.is_empty())
    }

    /// A number; a note if the file holds something else.
    pub(crate) fn number<T: FromStr>(&self, path: &str) -> Option<T> {
        let text = self.word(path)?;
        let number = text.parse().ok();
        if number.is_none() {
            self.note(format!("{path} holds {:?}, not a number", shortened(&text)));
        }
        number
    }

    /// A CPU mask (`ff`) or, if that is absent, a list (`0-3,8`); a note if it cannot be understood.
    ///
    /// Masks come first as they are older and always complete; trees edited by hand often have stale lists.
    pub(crate) fn cpus(&self, mask_path: &str, list_path: &str) -> Option<CpuSet> {
        match self.word(mask_path) {
            Some(text) => self.mask(mask_path, text),
            None => self.cpu_list(list_path),
        }
    }

    /// A CPU mask (`ff`); a note if it cannot be understood.
    pub(crate) fn cpu_mask(&self, path: &str) -> Option<CpuSet> {
        self.mask(path, self.word(path)?)
    }

    fn mask(&self, path: &str, text: String) -> Option<CpuSet> {
        if let Some(known) = self.masks.borrow().get(&text) {
            return Some(known.clone());
        }
        let cpus = self.understood(path, CpuSet::from_mask(&text))?;
        self.masks.borrow_mut().insert(text, cpus.clone());
        Some(cpus)
    }

    /// A CPU list (`0-3,8`); a note if it cannot be understood.
    pub(crate) fn cpu_list(&self, path: &str) -> Option<CpuSet> {
        let text = self.text(path)?;
        self.understood(path, CpuSet::from_list(&text))
    }

    fn understood(&self, path: &str, cpus: Result<CpuSet, CpuSetError>) -> Option<CpuSet> {
        cpus.map_err(|error| self.note(format!("{path}: {error}"))).ok()
    }
}

/// The start of a text, for a message.
fn shortened(text: &str) -> String {
    text.chars().take(40).collect()
}

/// An amount from the kernel's `meminfo`, of the machine (`MemFree:  1234 kB`) or of a node (`Node 0 MemFree:  1234 kB`); `1234 B`
/// where it was made of another file.
pub(crate) fn meminfo_bytes(meminfo: &str, name: &str) -> Option<Bytes> {
    let of_line = |line: &str| {
        let mut words = line.split_whitespace().skip_while(|word| word.strip_suffix(':') != Some(name));
        let amount = words.nth(1)?.parse::<u64>().ok()?;
        amount.checked_mul(if words.next() == Some("B") { 1 } else { 1024 })
    };
    meminfo.lines().find_map(of_line).map(Bytes)
}

/// A size as the kernel writes it for caches and pages: `32K`, `8M`, `1048576`.
pub(crate) fn size_bytes(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|last: char| last.is_ascii_alphabetic());
    let unit: u64 = match text.get(digits.len()..)?.to_ascii_uppercase().as_str() {
        "" => 1,
        "K" | "KB" => 1 << 10,
        "M" | "MB" => 1 << 20,
        "G" | "GB" => 1 << 30,
        _ => return None,
    };
    digits.trim().parse::<u64>().ok()?.checked_mul(unit)
}

/// The numbers of a kernel list such as `0-3,8`, as node numbers; they have the same form as CPU numbers.
pub(super) fn node_list(text: &str) -> Option<BTreeSet<NodeId>> {
    CpuSet::from_list(text).ok().map(|numbers| numbers.iter().map(|number| NodeId(number.0)).collect())
}

/// The lines of `/proc/cpuinfo`, by CPU.
#[derive(Debug, Default)]
pub(crate) struct CpuInfo {
    /// Lines outside any CPU's block: s390 and PowerPC put the machine there.
    pub(crate) common: BTreeMap<String, String>,
    /// The block of each CPU, by the number after `processor`.
    pub(crate) cpus: BTreeMap<CpuId, BTreeMap<String, String>>,
}

impl CpuInfo {
    /// Reads the file; empty where there is none.
    pub(crate) fn read(source: &Source<'_>) -> Self {
        source.text("/proc/cpuinfo").map(|text| Self::parse(&text)).unwrap_or_default()
    }

    fn parse(text: &str) -> Self {
        let mut info = Self::default();
        let mut cpu = None;
        for line in text.lines() {
            let Some((key, value)) = line.split_once(':') else {
                if line.trim().is_empty() {
                    cpu = None;
                }
                continue;
            };
            let (key, value) = (key.trim(), value.trim());
            // s390 writes "processor 3: version = FF, ..." on one line per CPU.
            let number = match key.strip_prefix("processor") {
                Some("") => value.parse().ok(),
                Some(rest) => rest.trim().parse().ok(),
                None => None,
            };
            if let Some(number) = number.filter(|number| *number < CPU_NUMBER_LIMIT) {
                cpu = Some(CpuId(number));
                info.cpus.entry(CpuId(number)).or_default();
                continue;
            }
            let block = cpu.and_then(|cpu| info.cpus.get_mut(&cpu)).unwrap_or(&mut info.common);
            block.entry(key.to_owned()).or_insert_with(|| value.to_owned());
        }
        info
    }

    /// The value of a key in the first block that has it, the common block last.
    pub(crate) fn first(&self, key: &str) -> Option<&str> {
        self.cpus
            .values()
            .find_map(|block| block.get(key))
            .or_else(|| self.common.get(key))
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }

    /// The value of a key for one CPU.
    pub(crate) fn of(&self, cpu: CpuId, key: &str) -> Option<&str> {
        self.cpus.get(&cpu)?.get(key).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_in_the_units_the_kernel_writes() {
        for (text, expected) in [
            ("32K", Some(32 << 10)),
            ("8M", Some(8 << 20)),
            ("512", Some(512)),
            ("", None),
            ("K", None),
            ("99999999999999999999K", None),
            ("18446744073709551615K", None),
            ("4 chips", None),
        ] {
            assert_eq!(size_bytes(text), expected, "{text}");
        }
    }

    #[test]
    fn blocks_belong_to_their_cpus_and_the_rest_is_common() {
        let text = "vendor_id : IBM/S390\n\nprocessor\t: 4\nmodel name\t: A: B\n\nprocessor : 7\nflags\t:\n\nHardware : X\n";
        let info = CpuInfo::parse(text);
        assert_eq!(info.cpus.keys().map(|cpu| cpu.0).collect::<Vec<_>>(), [4, 7]);
        assert_eq!(info.of(CpuId(4), "model name"), Some("A: B"));
        assert_eq!(info.first("vendor_id"), Some("IBM/S390"));
        assert_eq!(info.first("Hardware"), Some("X"));
        assert_eq!(info.first("flags"), None);
    }
}

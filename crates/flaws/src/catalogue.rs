//! The catalogue: every file of `flaws/`, checked as a whole.

use std::collections::BTreeSet;

use record::{TomlError, read_toml};

use crate::{Architecture, CpuRange, Flaw, Switch};

/// The files as they were built in: name and text.
const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/catalogue_files.rs"));

/// All flaws, by id.
#[derive(Debug, Clone, PartialEq)]
pub struct Catalogue {
    /// The entries, sorted by id.
    pub flaws: Vec<Flaw>,
}

/// Why a file is no entry of the catalogue.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CatalogueError {
    /// It is not TOML, or has a key or value that does not belong.
    #[error("{file}:{line}: {reason}; CONTRIBUTING.md shows what an entry holds")]
    Form {
        /// Name of the file.
        file: String,
        /// Line, from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
    /// It reads well and says something impossible.
    #[error("{file}: {reason}; CONTRIBUTING.md shows what an entry holds")]
    Sense {
        /// Name of the file.
        file: String,
        /// What is wrong.
        reason: String,
    },
}

/// The catalogue that was built in.
pub fn catalogue() -> Catalogue {
    Catalogue::parse(FILES).expect("a test reads every built-in entry")
}

impl Catalogue {
    /// Reads entries from files given by name and text.
    ///
    /// # Errors
    /// The first file that is no entry.
    pub fn parse(files: &[(&str, &str)]) -> Result<Self, CatalogueError> {
        let mut flaws = files.iter().map(|(file, text)| entry(file, text)).collect::<Result<Vec<_>, _>>()?;
        flaws.sort_by(|a, b| a.id.cmp(&b.id));
        if let Some(pair) = flaws.windows(2).find(|pair| pair[0].id == pair[1].id) {
            let file = format!("{}.toml", pair[0].id);
            return Err(CatalogueError::Sense { file, reason: "this id is there twice".into() });
        }
        Ok(Self { flaws })
    }

    /// The entry of a name: its id, a CVE or an alias, upper and lower case alike.
    pub fn find(&self, name: &str) -> Option<&Flaw> {
        let is = |word: &String| word.eq_ignore_ascii_case(name);
        self.flaws
            .iter()
            .find(|flaw| is(&flaw.id))
            .or_else(|| self.flaws.iter().find(|flaw| flaw.aliases.iter().any(is)))
    }

    /// Entries in whose id, title or aliases every word occurs.
    pub fn search(&self, words: &[String]) -> Vec<&Flaw> {
        let holds = |flaw: &&Flaw| {
            let text = format!("{} {} {}", flaw.id, flaw.title, flaw.aliases.join(" ")).to_lowercase();
            words.iter().all(|word| text.contains(&word.to_lowercase()))
        };
        self.flaws.iter().filter(holds).collect()
    }
}

fn entry(file: &str, text: &str) -> Result<Flaw, CatalogueError> {
    let flaw: Flaw = read_toml(text).map_err(|TomlError { line, reason, .. }| CatalogueError::Form {
        file: file.to_owned(),
        line,
        reason,
    })?;
    match complaint(&flaw, file) {
        Some(reason) => Err(CatalogueError::Sense { file: file.to_owned(), reason }),
        None => Ok(flaw),
    }
}

/// What an entry says that cannot be, if anything.
fn complaint(flaw: &Flaw, file: &str) -> Option<String> {
    if format!("{}.toml", flaw.id) != file {
        return Some(format!("the id {} is not the file's name", flaw.id));
    }
    let blank = |text: &str| text.trim().is_empty();
    if [&flaw.title, &flaw.effect, &flaw.suffers].iter().any(|text| blank(text)) {
        return Some(
            "title, effect and suffers must say something; write \"unknown\" where that is so".into(),
        );
    }
    if flaw.sources.is_empty() || flaw.sources.iter().any(|source| blank(source)) {
        return Some("it names no source".into());
    }
    let ranges = || flaw.affected.iter().chain(&flaw.fixed).chain(&flaw.spared);
    if let Some(range) = ranges().find_map(CpuRange::reversed) {
        return Some(format!("the range {range} ends before it begins"));
    }
    let of = |range: &CpuRange| match range {
        CpuRange::X86(_) => Architecture::X86,
        CpuRange::Arm(_) => Architecture::Arm64,
    };
    if let Some(other) = ranges().chain(&flaw.unsure).map(of).find(|one| !flaw.architectures.contains(one)) {
        return Some(format!("it lists CPUs of {other}; name that in `architectures`"));
    }
    if let Some(bits) = flaw.msr.iter().find(|bits| bits.mask == 0 || bits.on & !bits.mask != 0) {
        return Some(format!("the bits of register {:x} lie outside their mask", bits.number));
    }
    if let Some(bits) =
        flaw.pci.iter().find(|bits| bits.mask == 0 || bits.on & !bits.mask != 0 || bits.offset % 4 != 0)
    {
        return Some(format!("the bits of PCI word {:x} lie outside their mask or word", bits.offset));
    }
    if flaw.bug_state.is_some() && flaw.bug.is_none() {
        return Some("bug_state is the state where the kernel names the bug; name it in `bug`".into());
    }
    let registers = ["eax", "ebx", "ecx", "edx"];
    if let Some(bit) =
        flaw.cpuid.iter().find(|bit| !registers.contains(&bit.register.as_str()) || bit.bit > 31)
    {
        return Some(format!("CPUID has no bit {} of {}", bit.bit, bit.register));
    }
    if flaw.workaround.iter().any(|workaround| workaround.switch == Switch::default()) {
        return Some(
            "a workaround does not say how it is switched; `never` gives the reason if it is not".into(),
        );
    }
    // `spectre_v2_user=` is no command: whoever copies it gets the kernel's complaint.
    let ways = flaw.workaround.iter().flat_map(|workaround| [&workaround.switch.boot, &workaround.fix]);
    let is_open = |text: &&String| text.split([' ', ',', ';']).any(|word| word.ends_with('='));
    if let Some(text) = ways.flatten().find(is_open) {
        return Some(format!("{text:?} lacks a value behind its ="));
    }
    let baselines = flaw.signature.iter().flat_map(|signature| &signature.baseline);
    if let Some(wrong) = baselines.into_iter().find(|baseline| baseline.off_at_most > baseline.on_at_least) {
        return Some(format!(
            "off_at_most {} lies above on_at_least {}",
            wrong.off_at_most, wrong.on_at_least
        ));
    }
    (flaw.has_detector() == flaw.no_detector.is_some())
        .then(|| "it needs either a detector or no_detector with the reason, and not both".into())
}

impl Flaw {
    /// True if some evidence can show whether the workaround is on.
    pub fn has_detector(&self) -> bool {
        let kernel = self.vulnerability_file.is_some()
            || !self.kernel_flag.is_empty()
            || !self.task_status.is_empty()
            || !self.boot_word.is_empty()
            || !self.kernel_message.is_empty()
            || self.bug_state.is_some();
        let registers = !self.msr.is_empty()
            || !self.pci.is_empty()
            || self.osvw.is_some()
            || !self.cpuid.is_empty()
            || !self.hidden_flag.is_empty()
            || !self.microcode.is_empty();
        kernel || registers || self.signature.is_some()
    }

    /// Every word by which it can be found.
    pub fn names(&self) -> BTreeSet<&str> {
        self.aliases.iter().map(String::as_str).chain([self.id.as_str()]).collect()
    }
}

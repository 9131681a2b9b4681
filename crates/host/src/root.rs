//! The one way to the files of a machine: the live one, a folder, or a tarball of one.
//!
//! Paths are those of the machine (`/sys/devices/system/cpu/online`), with or without the leading slash.
//! Links inside a recording are resolved inside it, so that it can never answer with a file of the machine
//! that reads it. A file that is absent is a value, not an error.

mod archive;
mod hwloc;
pub(crate) mod register;
pub(crate) mod store;
mod texts;

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

pub use hwloc::{is_nested_deeper, is_topology};
use store::Store;
pub use texts::each_text;
pub(crate) use texts::start_of;

use register::{MsrDevice, Registers};

/// The most bytes read of one file. `/proc/cpuinfo` of 4096 CPUs has about 6 MiB; nothing else comes near.
const FILE_BYTES_MAX: u64 = 8 << 20;

/// The most links followed for one path, as the kernel's `MAXSYMLINKS` (include/linux/namei.h).
const LINKS_MAX: usize = 40;

/// The machine whose files are read.
#[derive(Debug)]
pub struct Root {
    store: Store,
    /// Where `/` of the machine is in the store: empty or ending in a slash.
    top: String,
    /// Folders that were found, by their path and where they lie: a machine of thousands of CPUs has a million files in them.
    folders: Mutex<HashMap<String, String>>,
    /// What answers for registers; `None` where they are recorded as lines.
    registers: Option<Arc<dyn Registers>>,
}

/// Why a path is no recorded machine.
#[derive(Debug, thiserror::Error)]
pub enum RootError {
    /// Nothing is there, or it may not be read.
    #[error("cannot open {path}: {source}; give a directory or tarball of a recorded machine")]
    Unreadable {
        /// What was asked for.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// Texts that are not there, or may not be read.
    #[error("cannot open {path}: {source}; give a file, a folder or a tarball of texts")]
    NoText {
        /// What was asked for.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// A file of some other kind.
    #[error(
        "{path} is neither a directory, a tarball (.tar, .tar.gz, .tar.bz2, .tar.zst) nor a topology of hwloc (XML); give one of those"
    )]
    NotAnArchive {
        /// What was asked for.
        path: PathBuf,
    },
    /// An archive that breaks off or is damaged.
    #[error("{path} is damaged: {reason}; copy or record it again")]
    Damaged {
        /// What was asked for.
        path: PathBuf,
        /// What the decoder said.
        reason: String,
    },
    /// An archive that would fill memory.
    #[error(
        "{path} holds more than {limit}; a recorded machine is smaller, leave out all but proc/ and sys/"
    )]
    TooLarge {
        /// What was asked for.
        path: PathBuf,
        /// The limit that was passed, with its unit.
        limit: &'static str,
    },
    /// A folder or archive without the files of a machine.
    #[error("{path} holds neither proc/ nor sys/; give a directory or tarball made by hwloc-gather-topology")]
    NoMachine {
        /// What was asked for.
        path: PathBuf,
    },
    /// A folder or archive without a CPUID dump.
    #[error(
        "{path} holds no CPUID dump (files pu0, pu1, ...); give a directory or tarball made by hwloc-gather-cpuid"
    )]
    NoDump {
        /// What was asked for.
        path: PathBuf,
    },
    /// A file that is no text of CPUID.
    #[error(
        "{path} {reason}; give the text of cpuid -r, AIDA64 or InstLatx64, or a directory or tarball of hwloc-gather-cpuid"
    )]
    NoReport {
        /// What was asked for.
        path: PathBuf,
        /// What it is, or what is wrong with it.
        reason: String,
    },
}

impl RootError {
    /// Of a path that the operating system refuses.
    pub(crate) fn unreadable(path: &Path) -> impl Fn(io::Error) -> Self {
        |source| Self::Unreadable { path: path.to_owned(), source }
    }

    /// Of a path whose archive breaks off.
    fn damaged(path: &Path, error: &io::Error) -> Self {
        Self::Damaged { path: path.to_owned(), reason: error.to_string().replace('\n', " ") }
    }
}

/// Why a file of a machine gave nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// There is no such file: normal, kernels and machines differ.
    #[error("/{0} is absent")]
    Absent(String),
    /// It is there and cannot be read.
    #[error("/{0} cannot be read: {1}")]
    Unreadable(String, String),
}

/// What a name is, links not followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Look {
    Missing,
    File,
    Directory,
    Link(String),
}

impl Root {
    /// The machine this process runs on.
    pub fn live() -> Self {
        Self { registers: Some(Arc::new(MsrDevice)), ..Self::of(Store::Live, String::new()) }
    }

    fn of(store: Store, top: String) -> Self {
        Self { store, top, folders: Mutex::default(), registers: None }
    }

    /// A machine without a single file.
    pub fn empty() -> Self {
        Self::of(Store::empty(), String::new())
    }

    /// A recorded machine: a folder, or a tarball whose single top folder stands for `/`.
    ///
    /// The folder with `proc` or `sys` may also lie one level down, or in `fsroot` below that.
    pub fn open(path: &Path) -> Result<Self, RootError> {
        let store = Store::open(path)?;
        let is_machine = |top: &str| {
            ["proc", "sys"]
                .iter()
                .any(|name| matches!(store.look(&format!("{top}{name}")), Look::Directory | Look::Link(_)))
        };
        let top = tops(&store, "fsroot").into_iter().find(|top| is_machine(top));
        match top {
            Some(top) => Ok(Self::of(store, top)),
            None => Err(RootError::NoMachine { path: path.to_owned() }),
        }
    }

    /// The CPUID dump in a folder or tarball: `pu0`, `pu1`, ... at the top, one level down, or in `cpuid` there.
    pub(crate) fn open_dump(path: &Path) -> Result<Self, RootError> {
        let store = Store::open(path)?;
        let is_dump =
            |top: &str| store.list(top.trim_end_matches('/')).iter().any(|name| dump_cpu(name).is_some());
        let top = tops(&store, "cpuid").into_iter().find(|top| is_dump(top));
        match top {
            Some(top) => Ok(Self::of(store, top)),
            None => Err(RootError::NoDump { path: path.to_owned() }),
        }
    }

    /// True for the machine this process runs on.
    pub fn is_live(&self) -> bool {
        matches!(self.store, Store::Live)
    }

    /// The bytes of a file, at most 8 MiB of them.
    pub fn bytes(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        let path = path.trim_matches('/');
        match self.resolve(path) {
            Some(inside) => self.store.read(&inside).map_err(|error| match error.kind() {
                std::io::ErrorKind::NotFound => ReadError::Absent(path.to_owned()),
                _ => ReadError::Unreadable(path.to_owned(), error.to_string()),
            }),
            None => Err(ReadError::Absent(path.to_owned())),
        }
    }

    /// The text of a file without the blanks, newlines and NUL bytes around it; broken UTF-8 is replaced.
    pub fn read(&self, path: &str) -> Result<String, ReadError> {
        let bytes = self.bytes(path)?;
        Ok(String::from_utf8_lossy(&bytes).trim_matches(['\0', '\n', '\r', ' ', '\t']).to_owned())
    }

    /// The names in a folder, sorted; none if it is absent or unreadable.
    pub fn list(&self, path: &str) -> Vec<String> {
        self.resolve(path.trim_matches('/')).map(|inside| self.store.list(&inside)).unwrap_or_default()
    }

    /// The numbers of the names `prefixN` in a folder, ascending.
    pub(crate) fn numbers(&self, folder: &str, prefix: &str) -> Vec<u32> {
        let names = self.list(folder).into_iter();
        let mut numbers: Vec<u32> =
            names.filter_map(|name| name.strip_prefix(prefix)?.parse().ok()).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// True if there is a file or folder of that name.
    pub fn exists(&self, path: &str) -> bool {
        self.resolve(path.trim_matches('/'))
            .is_some_and(|inside| matches!(self.store.look(&inside), Look::File | Look::Directory))
    }

    /// The same machine with registers that are read elsewhere.
    #[must_use]
    pub fn with_registers(self, registers: Arc<dyn Registers>) -> Self {
        Self { registers: Some(registers), ..self }
    }

    /// False if registers are lines of a recording.
    pub(crate) fn has_running_cpus(&self) -> bool {
        self.registers.is_some()
    }

    /// A model-specific register of a CPU: of the running machine, or as recorded in `msr/N`.
    ///
    /// # Errors
    /// What the device said, or `NotFound` for what was not recorded.
    pub fn register(&self, cpu: u32, number: u32) -> io::Result<u64> {
        if let Some(registers) = &self.registers {
            return registers.read(cpu, number);
        }
        let text = self.read(&format!("msr/{cpu}")).unwrap_or_default();
        register::in_recording(&text, number).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// A word in the configuration space of a PCI function, such as `0000:00:18.3`; `None` where it cannot be read or
    /// nobody answers.
    pub fn configuration_word(&self, function: &str, offset: u32) -> Option<u32> {
        let config = self.bytes(&format!("sys/bus/pci/devices/{function}/config")).ok()?;
        register::word(&config, offset).filter(|word| *word != register::NOBODY)
    }

    /// Where a path leads in the store after all links; `None` if nowhere.
    fn resolve(&self, path: &str) -> Option<String> {
        let direct = format!("{}{path}", self.top).trim_end_matches('/').to_owned();
        if self.store.is_direct(&direct) {
            return Some(direct);
        }
        let (folder, name) = path.rsplit_once('/').unwrap_or_default();
        if folder.is_empty() || matches!(name, "" | "." | "..") {
            return self.follow(path);
        }
        let folder = self.folder(folder)?;
        // With a slash at its begin a path would leave the recording.
        let inside = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
        match self.store.look(&inside) {
            Look::Missing => None,
            Look::File | Look::Directory => Some(inside),
            Look::Link(_) => self.follow(path),
        }
    }

    /// Where a folder lies, links followed.
    fn folder(&self, path: &str) -> Option<String> {
        // Whoever panicked with the lock held left a folder out at worst.
        let mut folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(inside) = folders.get(path) {
            return Some(inside.clone());
        }
        let inside = self.follow(path)?;
        folders.insert(path.to_owned(), inside.clone());
        Some(inside)
    }

    /// Goes along a path name by name, and along each link.
    fn follow(&self, path: &str) -> Option<String> {
        let mut waiting: Vec<String> = path.split('/').rev().map(str::to_owned).collect();
        let mut inside: Vec<String> = Vec::new();
        let mut links = 0;
        while let Some(name) = waiting.pop() {
            match name.as_str() {
                "" | "." => continue,
                ".." => {
                    inside.pop();
                    continue;
                }
                _ => inside.push(name),
            }
            match self.store.look(&format!("{}{}", self.top, inside.join("/"))) {
                Look::Missing => return None,
                Look::File | Look::Directory => {}
                Look::Link(target) => {
                    links += 1;
                    if links > LINKS_MAX {
                        return None;
                    }
                    inside.pop();
                    if target.starts_with('/') {
                        inside.clear();
                    }
                    waiting.extend(target.split('/').rev().map(str::to_owned));
                }
            }
        }
        Some(format!("{}{}", self.top, inside.join("/")).trim_end_matches('/').to_owned())
    }
}

/// What stands behind `KEY:` in a text of lines, without blanks around it.
pub(crate) fn value_of<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    lines.find(|(have, _)| have.trim() == key).map(|(_, value)| value.trim())
}

/// A number in hexadecimal, with or without `0x`.
pub(crate) fn hexadecimal(text: &str) -> Option<u64> {
    let text = text.trim();
    u64::from_str_radix(text.strip_prefix("0x").unwrap_or(text), 16).ok()
}

/// The CPU a file of a CPUID dump stands for: `pu12` is 12.
pub(crate) fn dump_cpu(name: &str) -> Option<u32> {
    name.strip_prefix("pu")?.parse().ok()
}

/// Where the `/` of a recording may lie: its top, `nested` there, each folder, and `nested` in each folder.
fn tops(store: &Store, nested: &str) -> Vec<String> {
    let mut tops = vec![String::new(), format!("{nested}/")];
    for name in store.list("") {
        tops.push(format!("{name}/"));
        tops.push(format!("{name}/{nested}/"));
    }
    tops
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_that_leaves_the_recording_is_resolved_inside_it() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let base = folder.path();
        std::fs::create_dir_all(base.join("sys/real")).expect("folders");
        std::fs::create_dir_all(base.join("etc")).expect("folders");
        std::fs::write(base.join("sys/real/value"), "inside\n").expect("a file");
        std::fs::write(base.join("etc/hostname"), "recorded\n").expect("a file");
        let link = |target: &str, name: &str| {
            std::os::unix::fs::symlink(target, base.join(name)).expect("a link");
        };
        link("../../../../../etc/hostname", "sys/climbs");
        link("/etc/hostname", "sys/absolute");
        link("/etc/passwd", "sys/escapes");
        link("loop", "sys/loop");
        link("real", "sys/folder");
        let root = Root::open(base).expect("a recording");
        assert_eq!(root.read("/sys/climbs"), Ok("recorded".to_owned()));
        assert_eq!(root.read("/sys/absolute"), Ok("recorded".to_owned()));
        assert_eq!(root.read("sys/folder/value"), Ok("inside".to_owned()));
        for absent in ["sys/escapes", "sys/loop", "sys/none", "sys/real/value/below"] {
            assert_eq!(root.read(absent), Err(ReadError::Absent(absent.to_owned())), "{absent}");
        }
    }

    #[test]
    fn what_is_no_machine_is_refused_in_one_clear_line() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let empty = folder.path().join("empty");
        std::fs::create_dir(&empty).expect("a folder");
        let plain = folder.path().join("plain.txt");
        std::fs::write(&plain, "hello").expect("a file");
        let cut = folder.path().join("cut.tar.gz");
        std::fs::write(&cut, [0x1f, 0x8b, 8, 0, 0, 0]).expect("a file");
        for (path, expected) in [
            (&empty, "holds neither proc/ nor sys/"),
            (&plain, "is neither a directory, a tarball"),
            (&cut, "is damaged"),
            (&folder.path().join("nowhere"), "cannot open"),
        ] {
            let message = Root::open(path).expect_err("not a machine").to_string();
            assert!(message.contains(expected), "{message}");
            assert!(!message.contains('\n') && !message.ends_with('.'), "{message}");
        }
    }
}

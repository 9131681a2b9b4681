//! What can be written on a machine: one file, one word or line of a file, bits of a model-specific register, bits of
//! a PCI register, the affinity of a thread.
//!
//! A [`SystemWriter`] reads and writes [`Target`]s in canonical text, so that what is compared and restored never depends on
//! brackets, blanks or padding. The machine itself and a recorded tree (a folder) are writers alike; a test puts a writer
//! before them that fails or dies at a chosen step.

mod binding;
mod text;

use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::Root;
use crate::live::process_tree::{Followed, ProcessId, affinity_of, followed_threads};
use crate::root::register::{MsrDevice, Registers};
pub use binding::{Bindings, Bound};

/// What is written. Paths have no leading slash and lie below `sys/` or `proc/sys/`, or are affinities in `proc/irq/`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Target {
    /// A file whose text, or whose word in brackets, is the value.
    File {
        /// The file.
        path: String,
    },
    /// One word of a list: it is there, or there with `NO_` before it (`sched/features` of debugfs).
    Word {
        /// The file.
        path: String,
        /// The word without `NO_`.
        word: String,
    },
    /// One line of a file: `KEY:value` (`schemata` of resctrl).
    Line {
        /// The file.
        path: String,
        /// What stands before the colon.
        key: String,
    },
    /// Bits of a model-specific register of one CPU; the value is hexadecimal, masked.
    Msr {
        cpu: u32,
        register: u32,
        /// The bits that are read and written; all others keep what they have.
        mask: u64,
    },
    /// Bits of an aligned 32-bit word in the configuration space of a PCI function; hexadecimal, masked.
    Pci {
        /// The function, such as `0000:00:18.3`.
        function: String,
        /// Offset of the word in bytes.
        offset: u32,
        /// The bits that are read and written.
        mask: u32,
    },
    /// The CPUs a thread may use, as a list. A thread that ended is not found, whoever has its number now.
    Task {
        process: u32,
        thread: u32,
        /// When the thread started, in clock ticks since boot.
        start_ticks: u64,
    },
}

impl Target {
    /// The canonical value in the text of a file; `None` where it is not there, or is no text.
    pub fn canonical(&self, text: &str) -> Option<String> {
        match self {
            Self::File { .. } => Some(text::chosen(text)),
            Self::Word { word, .. } => text::word(text, word).ok(),
            Self::Line { key, .. } => text::line(text, key).ok(),
            Self::Msr { .. } | Self::Pci { .. } | Self::Task { .. } => None,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path } => write!(f, "/{path}"),
            Self::Word { path, word } => write!(f, "/{path} [{word}]"),
            Self::Line { path, key } => write!(f, "/{path} [{key}]"),
            Self::Msr { cpu, register, mask } => {
                write!(f, "CPU {cpu} MSR {register:#010x} mask {mask:#x}")
            }
            Self::Pci { function, offset, mask } => {
                write!(f, "PCI {function} register {offset:#05x} mask {mask:#010x}")
            }
            Self::Task { process, thread, .. } => {
                write!(f, "affinity of thread {thread} of process {process}")
            }
        }
    }
}

/// Why a target could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum SystemWriterError {
    /// It cannot be read.
    #[error("cannot read {target}: {source}")]
    Read {
        /// What was to be read.
        target: Target,
        /// What the kernel said.
        source: io::Error,
    },
    /// It cannot be written.
    #[error("cannot write {value} to {target}: {source}")]
    Write {
        /// What was to be written.
        target: Target,
        value: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// What is bound to CPUs cannot be remembered.
    #[error("cannot remember what is bound to CPUs: {source}; nothing was changed")]
    Bindings {
        /// What went wrong.
        source: io::Error,
    },
    /// No experiment writes there.
    #[error(
        "{target} is outside /sys, /proc/sys and the affinities of /proc/irq; nothing else is ever written"
    )]
    Outside {
        /// What was asked for.
        target: Target,
    },
}

/// Reads and writes targets.
pub trait SystemWriter {
    /// The value now, in canonical text.
    ///
    /// # Errors
    /// `Read`, or `Outside` for a path that is never written.
    fn read(&mut self, target: &Target) -> Result<String, SystemWriterError>;

    /// Writes a canonical value.
    ///
    /// # Errors
    /// `Write`, or `Outside` for a path that is never written.
    fn write(&mut self, target: &Target, value: &str) -> Result<(), SystemWriterError>;

    /// What is bound to CPUs now, other than this process.
    ///
    /// # Errors
    /// `Bindings`, if it is unknown which CPUs are there, or too much is bound to be remembered.
    fn bindings(&mut self) -> Result<Bindings, SystemWriterError>;

    /// The threads of those of these processes that still run, and of all that descends from them. A process that ended
    /// has none, which is no error.
    ///
    /// # Errors
    /// `Bindings`, where a writer is made to fail.
    fn threads(&mut self, processes: &[ProcessId]) -> Result<Vec<Followed>, SystemWriterError>;
}

/// The writer of this machine, or of a recorded tree below a folder.
#[derive(Debug, Clone)]
pub struct MachineWriter {
    /// `None` is this machine.
    tree: Option<PathBuf>,
    registers: Arc<dyn Registers>,
}

impl MachineWriter {
    /// This machine.
    pub fn live() -> Self {
        Self { tree: None, registers: Arc::new(MsrDevice) }
    }

    /// A folder that stands for `/`: files behave as the kernel's do as far as [`Target`]s see. Registers of CPU n
    /// are lines `INDEX = VALUE`, both hexadecimal, in `msr/n`.
    pub fn tree(folder: &Path) -> Self {
        Self { tree: Some(folder.to_owned()), registers: Arc::new(text::RecordedMap(folder.to_owned())) }
    }

    /// The same, with registers that are read and written elsewhere.
    #[must_use]
    pub fn with_registers(self, registers: Arc<dyn Registers>) -> Self {
        Self { registers, ..self }
    }

    /// The folder, unless this is the live machine.
    pub fn folder(&self) -> Option<&Path> {
        self.tree.as_deref()
    }

    /// The files that are read.
    fn root(&self) -> io::Result<Root> {
        self.tree
            .as_deref()
            .map_or_else(|| Ok(Root::live()), |tree| Root::open(tree).map_err(io::Error::other))
    }

    fn place(&self, path: &str) -> PathBuf {
        self.tree.as_deref().unwrap_or(Path::new("/")).join(path)
    }

    fn get(&self, target: &Target) -> io::Result<String> {
        match target {
            Target::File { path } => text::read_text(&self.place(path)).map(|text| text::chosen(&text)),
            Target::Word { path, word } => text::word(&text::read_text(&self.place(path))?, word),
            Target::Line { path, key } => text::line(&text::read_text(&self.place(path))?, key),
            Target::Msr { cpu, register, mask } => {
                Ok(hexadecimal(self.registers.read(*cpu, *register)? & mask))
            }
            Target::Task { process, thread, start_ticks } => {
                affinity_of(&self.root()?, *process, *thread, *start_ticks)
            }
            Target::Pci { function, offset, mask } => {
                let word = text::read_pci(&self.place(&pci_file(function)), *offset)?;
                Ok(hexadecimal(u64::from(word & mask)))
            }
        }
    }

    fn put(&self, target: &Target, value: &str) -> io::Result<()> {
        match target {
            Target::File { path } | Target::Word { path, .. } => self.put_text(path, value),
            Target::Line { path, key } => self.put_text(path, &format!("{key}:{value}\n")),
            Target::Msr { cpu, register, mask } => {
                let old = self.registers.read(*cpu, *register)?;
                let new = (old & !mask) | (parse_hexadecimal(value)? & mask);
                self.registers.write(*cpu, *register, new)
            }
            Target::Task { process, thread, start_ticks } => {
                let thread = (*process, *thread, *start_ticks);
                binding::write_task(self.tree.as_deref(), &self.root()?, thread, value)
            }
            Target::Pci { function, offset, mask } => {
                let file = self.place(&pci_file(function));
                let bits = parse_hexadecimal(value)? as u32 & mask;
                let new = (text::read_pci(&file, *offset)? & !mask) | bits;
                OpenOptions::new().write(true).open(file)?.write_all_at(&new.to_le_bytes(), (*offset).into())
            }
        }
    }

    /// One write of the whole value, as the kernel takes it; in a tree, what the kernel would make of it.
    fn put_text(&self, path: &str, value: &str) -> io::Result<()> {
        let place = self.place(path);
        if self.tree.is_some() {
            return text::write_as_kernel(&place, value);
        }
        let written = OpenOptions::new().write(true).open(place)?.write(value.as_bytes())?;
        if written == value.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
    }
}

impl SystemWriter for MachineWriter {
    fn read(&mut self, target: &Target) -> Result<String, SystemWriterError> {
        check(target)?;
        self.get(target).map_err(|source| SystemWriterError::Read { target: target.clone(), source })
    }

    fn write(&mut self, target: &Target, value: &str) -> Result<(), SystemWriterError> {
        check(target)?;
        self.put(target, value).map_err(|source| SystemWriterError::Write {
            target: target.clone(),
            value: value.to_owned(),
            source,
        })
    }

    fn bindings(&mut self) -> Result<Bindings, SystemWriterError> {
        let own_process = self.tree.is_none().then(std::process::id);
        let read = self.root().and_then(|root| binding::read(&root, own_process));
        read.map_err(|source| SystemWriterError::Bindings { source })
    }

    fn threads(&mut self, processes: &[ProcessId]) -> Result<Vec<Followed>, SystemWriterError> {
        let root = self.root().map_err(|source| SystemWriterError::Bindings { source })?;
        Ok(followed_threads(&root, processes))
    }
}

fn pci_file(function: &str) -> String {
    format!("sys/bus/pci/devices/{function}/config")
}

/// A journal is a file that somebody may have changed: it must not become a way to write anywhere.
fn check(target: &Target) -> Result<(), SystemWriterError> {
    let inside = match target {
        Target::File { path } | Target::Word { path, .. } | Target::Line { path, .. } => {
            let plain = path.split('/').all(|part| !matches!(part, "" | "." | ".."));
            plain
                && (path.starts_with("sys/") || path.starts_with("proc/sys/") || is_interrupt_affinity(path))
        }
        Target::Pci { function, offset, .. } => {
            function.chars().all(|letter| letter.is_ascii_hexdigit() || ".:".contains(letter))
                && !function.starts_with('.')
                && offset % 4 == 0
        }
        Target::Msr { .. } | Target::Task { .. } => true,
    };
    if inside { Ok(()) } else { Err(SystemWriterError::Outside { target: target.clone() }) }
}

/// True for `proc/irq/N/smp_affinity_list` and the default of new interrupts.
fn is_interrupt_affinity(path: &str) -> bool {
    let Some(rest) = path.strip_prefix("proc/irq/") else { return false };
    let number = rest.strip_suffix("/smp_affinity_list");
    rest == "default_smp_affinity"
        || number.is_some_and(|irq| irq.bytes().all(|digit| digit.is_ascii_digit()))
}

/// The canonical text of register bits.
pub fn hexadecimal(value: u64) -> String {
    format!("{value:#x}")
}

fn parse_hexadecimal(text: &str) -> io::Result<u64> {
    crate::root::hexadecimal(text).ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> (tempfile::TempDir, MachineWriter) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (path, text) in files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().expect("below the folder")).expect("folders");
            std::fs::write(path, text).expect("a file");
        }
        let writer = MachineWriter::tree(folder.path());
        (folder, writer)
    }

    #[test]
    fn every_kind_of_target_reads_back_what_was_written_and_leaves_the_rest_alone() {
        let mut config = vec![0_u8; 256];
        config[0x84..0x88].copy_from_slice(&0x1234_5678_u32.to_le_bytes());
        let (folder, mut writer) = tree(&[
            ("sys/a", "always [madvise] never\n"),
            ("proc/sys/b", "1\n"),
            ("sys/features", "GENTLE NO_NEXT_BUDDY START\n"),
            ("sys/schemata", "    MB:0=100;1=100\n    L3:0=fff;1=fff\n"),
            ("msr/0", "c0010015 = 1000018\nc0011023 = 22\n"),
        ]);
        let function = folder.path().join("sys/bus/pci/devices/0000:00:18.3");
        std::fs::create_dir_all(&function).expect("folders");
        std::fs::write(function.join("config"), config).expect("a file");
        let file = |path: &str| Target::File { path: path.to_owned() };
        let word = |word: &str| Target::Word { path: "sys/features".to_owned(), word: word.to_owned() };
        let msr = Target::Msr { cpu: 0, register: 0xc001_0015, mask: 0x8 };
        let pci = Target::Pci { function: "0000:00:18.3".to_owned(), offset: 0x84, mask: 0x0300_0000 };
        let l3 = Target::Line { path: "sys/schemata".to_owned(), key: "L3".to_owned() };
        for (target, old, new) in [
            (file("sys/a"), "madvise", "never"),
            (file("proc/sys/b"), "1", "0"),
            (word("NEXT_BUDDY"), "NO_NEXT_BUDDY", "NEXT_BUDDY"),
            (word("GENTLE"), "GENTLE", "NO_GENTLE"),
            (l3, "0=fff;1=fff", "0=00f;1=fff"),
            (msr, "0x8", "0x0"),
            (pci, "0x2000000", "0x0"),
        ] {
            assert_eq!(writer.read(&target).expect("readable"), old, "{target}");
            writer.write(&target, new).expect("writable");
            assert_eq!(writer.read(&target).expect("readable"), new, "{target}");
            writer.write(&target, old).expect("writable");
            assert_eq!(writer.read(&target).expect("readable"), old, "{target}");
        }
        let text = |path: &str| std::fs::read_to_string(folder.path().join(path)).expect("a file");
        assert_eq!(text("sys/a"), "always [madvise] never\n");
        assert_eq!(text("sys/features"), "GENTLE NO_NEXT_BUDDY START\n");
        assert_eq!(text("sys/schemata"), "    MB:0=100;1=100\n    L3:0=fff;1=fff\n");
        assert_eq!(text("msr/0"), "c0010015 = 1000018\nc0011023 = 22\n");
    }

    #[test]
    fn nothing_outside_sys_and_proc_sys_is_reached() {
        let (_folder, mut writer) = tree(&[("etc/passwd", "x")]);
        for path in ["etc/passwd", "/etc/passwd", "sys/../etc/passwd", "proc/self/mem", "sys/./a", ""] {
            let error = writer.write(&Target::File { path: path.to_owned() }, "y").expect_err(path);
            assert!(error.to_string().contains("nothing else is ever written"), "{error}");
        }
        let pci = Target::Pci { function: "../../../etc".to_owned(), offset: 0, mask: 1 };
        assert!(matches!(writer.read(&pci), Err(SystemWriterError::Outside { .. })));
    }

    #[test]
    fn a_choice_that_the_file_does_not_offer_is_refused() {
        let (_folder, mut writer) = tree(&[("sys/a", "always [madvise] never\n")]);
        assert!(writer.write(&Target::File { path: "sys/a".to_owned() }, "sometimes").is_err());
        assert!(writer.write(&Target::File { path: "sys/none".to_owned() }, "1").is_err());
    }
}

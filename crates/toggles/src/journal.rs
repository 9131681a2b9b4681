//! What an experiment is about to change, written before it changes anything: enough for anybody to put it back.
//!
//! The file is sealed (see [`SealedFile`]): one that is cut, mixed up or edited does not pass for a journal.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use host::{Damaged, Disk, Followed, ProcessId, SealedFile, Target};
use machine::CpuSet;
use serde::{Deserialize, Serialize};

/// Its name in the state folder.
pub const JOURNAL_NAME: &str = "journal.json";
/// What it is sealed as. The number rises when a sidestep that knows the older one could not put back everything.
const SEALED: SealedFile =
    SealedFile { name: JOURNAL_NAME, magic: "sidestep journal 1", may_be_lost_by_power_cut: false };
const OF_THIS_BOOT: SealedFile = SealedFile { may_be_lost_by_power_cut: true, ..SEALED };

/// Who runs the experiment: enough to know whether he still does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Owner {
    /// The boot in which it runs (`/proc/sys/kernel/random/boot_id`).
    pub boot_id: String,
    /// The process.
    pub pid: u32,
    /// When the process started, in clock ticks since boot.
    pub start_ticks: u64,
}

/// One thing that is changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Where.
    pub target: Target,
    /// The canonical value before.
    pub old: String,
    /// Every value that the experiment may write; any other is somebody else's.
    pub ours: Vec<String>,
}

/// A file and the CPUs it names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileAffinity {
    /// The file of a cpuset or an interrupt.
    pub path: String,
    /// Its text before.
    pub cpus: String,
}

/// The threads that may use the same CPUs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskGroup {
    pub cpus: String,
    /// The threads, as `PROCESS/THREAD@START`, with blanks between; START is in clock ticks since boot.
    pub threads: String,
}

impl TaskGroup {
    /// Threads with their CPUs, grouped by these.
    pub(crate) fn of(threads: impl IntoIterator<Item = (ThreadId, String)>) -> Vec<Self> {
        let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (ThreadId { process, thread, start_ticks }, cpus) in threads {
            groups.entry(cpus).or_default().push(format!("{process}/{thread}@{start_ticks}"));
        }
        groups.into_iter().map(|(cpus, threads)| Self { cpus, threads: threads.join(" ") }).collect()
    }

    pub(crate) fn thread_ids(&self) -> impl Iterator<Item = ThreadId> {
        self.threads.split_whitespace().filter_map(parse_thread)
    }
}

fn parse_thread(text: &str) -> Option<ThreadId> {
    let (process, rest) = text.split_once('/')?;
    let (thread, start) = rest.split_once('@')?;
    let (process, thread) = (process.parse().ok()?, thread.parse().ok()?);
    Some(ThreadId { process, thread, start_ticks: start.parse().ok()? })
}

/// What was bound to CPUs before any went away.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Affinities {
    /// The CPUs that were there.
    pub online: CpuSet,
    /// Those that the experiment may take away.
    pub leaving: CpuSet,
    /// The sets of CPUs that cpusets let their tasks use.
    pub confines: Vec<CpuSet>,
    /// Cpusets, parents first, then interrupts: in the order of putting back.
    pub files: Vec<FileAffinity>,
    /// Threads of programs.
    pub tasks: Vec<TaskGroup>,
    /// Threads of the kernel.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kernel_tasks: Vec<TaskGroup>,
}

/// A thread, by its numbers and when it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadId {
    pub process: u32,
    /// Its number.
    pub thread: u32,
    /// When it started, in clock ticks since boot.
    pub start_ticks: u64,
}

impl ThreadId {
    /// Of a thread that is followed.
    pub fn of(thread: &Followed) -> Self {
        Self { process: thread.process.process, thread: thread.thread, start_ticks: thread.start_ticks }
    }

    /// What is written to bind it.
    pub fn target(self) -> Target {
        let Self { process, thread, start_ticks } = self;
        Target::Task { process, thread, start_ticks }
    }
}

/// What the journal knows of a process tree that is pinned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pins {
    /// The processes, as `PROCESS@START`, with blanks between; START is in clock ticks since boot.
    pub processes: String,
    /// The CPUs that their threads could use before.
    pub cpus: String,
    /// Every list of CPUs that may be written, other than that.
    pub ours: Vec<String>,
    /// Threads that had or chose CPUs of their own: they are left alone.
    pub apart: Vec<TaskGroup>,
}

impl Pins {
    pub(crate) fn new(
        processes: &BTreeSet<ProcessId>,
        cpus: &str,
        ours: &[String],
        apart: &BTreeMap<ThreadId, String>,
    ) -> Self {
        let name = |process: &ProcessId| format!("{}@{}", process.process, process.start_ticks);
        Self {
            processes: processes.iter().map(name).collect::<Vec<_>>().join(" "),
            cpus: cpus.to_owned(),
            ours: ours.to_vec(),
            apart: TaskGroup::of(apart.iter().map(|(thread, cpus)| (*thread, cpus.clone()))),
        }
    }

    /// The processes.
    pub fn process_ids(&self) -> Vec<ProcessId> {
        let parse = |word: &str| {
            let (process, start) = word.split_once('@')?;
            Some(ProcessId { process: process.parse().ok()?, start_ticks: start.parse().ok()? })
        };
        self.processes.split_whitespace().filter_map(parse).collect()
    }

    pub(crate) fn threads_apart(&self) -> BTreeSet<ThreadId> {
        self.apart.iter().flat_map(TaskGroup::thread_ids).collect()
    }
}

/// The whole journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Journal {
    /// Who runs it.
    pub owner: Owner,
    /// What is switched, in the user's words.
    pub label: String,
    /// UTC time of the first write.
    pub since: String,
    /// True if the user asked for the change to stay until it is reverted: then the owner need not live.
    pub kept: bool,
    /// What is changed, in the order of writing.
    pub entries: Vec<Entry>,
    /// What was bound to CPUs, if any of them can go away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub affinities: Option<Affinities>,
    /// The process tree that is pinned, if one is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pins: Option<Pins>,
}

/// The bytes of a journal.
pub fn encode(journal: &Journal) -> Vec<u8> {
    SEALED.seal(&text(journal))
}

fn text(journal: &Journal) -> String {
    serde_json::to_string_pretty(journal).expect("plain strings and numbers always encode")
}

/// Why bytes are no journal that can be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// Cut, mixed up or edited: nobody can read it.
    #[error(transparent)]
    Damaged(#[from] Damaged),
    /// Whole, but of another sidestep, which can read it: it stays where it is.
    #[error(
        "the journal is of {0}, which this sidestep does not know; sidestep toggles revert of the version that wrote it \
         puts everything back; so does a reboot, after which {JOURNAL_NAME} has to be removed by hand"
    )]
    OtherFormat(String),
}

/// The journal in some bytes.
///
/// # Errors
/// `Damaged`, with what is wrong; `OtherFormat` for a journal with another number, or a whole one with contents that are
/// not known.
pub fn decode(bytes: &[u8]) -> Result<Journal, Unreadable> {
    if let Some(number) = other_number(bytes) {
        return Err(Unreadable::OtherFormat(format!("format {number}")));
    }
    serde_json::from_str(SEALED.unseal(bytes)?)
        .map_err(|error| Unreadable::OtherFormat(format!("a format with other contents ({error})")))
}

/// The number of the format, if it is not ours.
fn other_number(bytes: &[u8]) -> Option<u32> {
    let (kind, ours) = SEALED.magic.rsplit_once(' ')?;
    let text = std::str::from_utf8(bytes).ok()?;
    let number = text.strip_prefix(kind)?.strip_prefix(' ')?.split_whitespace().next()?;
    number.parse().ok().filter(|_| number != ours)
}

/// Writes the journal so that no crash and no power cut loses it once this returns.
///
/// # Errors
/// What the disk said.
pub fn store(disk: &mut impl Disk, journal: &Journal) -> io::Result<()> {
    SEALED.store(disk, &text(journal))
}

/// The same for what ends with the boot: once this returns a crash does not lose it, a power cut may.
///
/// # Errors
/// What the disk said.
pub(crate) fn store_for_this_boot(disk: &mut impl Disk, journal: &Journal) -> io::Result<()> {
    OF_THIS_BOOT.store(disk, &text(journal))
}

/// Takes the journal of [`store_for_this_boot`] away: everything is put back.
///
/// # Errors
/// What the disk said.
pub(crate) fn clear_for_this_boot(disk: &mut impl Disk) -> io::Result<()> {
    OF_THIS_BOOT.clear(disk)
}

/// The journal, if there is one.
///
/// # Errors
/// What the disk said.
pub fn load(disk: &mut impl Disk) -> io::Result<Option<Result<Journal, Unreadable>>> {
    Ok(SEALED.load(disk)?.map(|bytes| decode(&bytes)))
}

/// Takes away what a kill left of a journal that was being written; the caller holds the lock.
///
/// # Errors
/// What the disk said.
pub(crate) fn clear_unfinished(disk: &mut impl Disk) -> io::Result<()> {
    SEALED.clear_unfinished(disk)
}

/// Takes the journal away: everything is put back.
///
/// # Errors
/// What the disk said.
pub fn clear(disk: &mut impl Disk) -> io::Result<()> {
    SEALED.clear(disk)
}

/// Keeps a damaged journal under another name, and tells that name.
///
/// # Errors
/// What the disk said.
pub fn set_aside(disk: &mut impl Disk) -> io::Result<String> {
    SEALED.set_aside(disk, "damaged")
}

#[cfg(test)]
pub(crate) fn example() -> Journal {
    let entry = |path: &str, old: &str, ours: &[&str]| Entry {
        target: Target::File { path: path.to_owned() },
        old: old.to_owned(),
        ours: ours.iter().map(|&value| value.to_owned()).collect(),
    };
    Journal {
        owner: Owner { boot_id: "boot".to_owned(), pid: 7, start_ticks: 9 },
        label: "thp-system=never".to_owned(),
        since: "2026-01-01T00:00:00Z".to_owned(),
        kept: false,
        entries: vec![entry("sys/a", "madvise", &["never", "always"]), entry("proc/sys/b", "1", &["0"])],
        affinities: None,
        pins: None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_journal_is_read_back_as_it_was() {
        assert_eq!(decode(&encode(&example())), Ok(example()));
    }

    proptest! {
        #[test]
        fn mutated_bytes_never_panic_and_never_pass_for_another_journal(
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            cut in any::<prop::sample::Index>(),
            is_cut in any::<bool>(),
        ) {
            let mut bytes = encode(&example());
            for (place, byte) in changes {
                let index = place.index(bytes.len());
                bytes[index] = byte;
            }
            if is_cut {
                bytes.truncate(cut.index(bytes.len()));
            }
            if let Ok(journal) = decode(&bytes) {
                prop_assert_eq!(journal, example());
            }
        }

        #[test]
        fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(decode(&bytes).is_err());
        }
    }
}

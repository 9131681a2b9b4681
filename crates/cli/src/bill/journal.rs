//! What a bill keeps of itself: its command line and every run, on disk before the next run begins.
//!
//! One file of lines: what the bill is, then each run in a line of its own. A line that a kill or a power cut left half written has no
//! end, counts for nothing and is cut off, so that a run is in it once or not at all. A lock keeps a second bill away.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use anyhow::Context;
use host::live::{effective_root, utc_now};
use host::{Lock, LockError, StateFolder, TrustedFolder, ensure_trusted};
use record::BillTurn;
use serde::{Deserialize, Serialize};

use super::BillArguments;
use super::settings::Chosen;
use super::tasks::Task;
use crate::gate_flags::parsed_alone;
use crate::options::Global;
use crate::outcome::cannot;
use crate::output;
use crate::store::KeptFolder;

/// Version of the journal.
const SCHEMA: u32 = 3;
/// Its name in the folder of the bill.
const FILE: &str = "bill.ndjson";
/// The ones before it, which were interrupted and are gone on with when this one is done: a number follows.
const OLD_FILE: &str = "bill.ndjson.old-";
/// More bills than this that were begun and never ended are another problem.
const OLD_MAX: u32 = 1000;

/// The first line.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Begun {
    schema: u32,
    /// The command line, argument by argument, as bytes.
    words: Vec<Vec<u8>>,
    /// The folder it was given in: programs and files may be named from there.
    folder: Vec<u8>,
    /// The settings that take part, with both values.
    settings: Vec<[String; 3]>,
    /// What is priced, and what else its runs depend on.
    programs: Vec<String>,
    system_state: [String; 3],
    pub(super) seed: u64,
    pub(super) started_utc: String,
}

/// Every other line: a program begins, cannot be priced, or has run.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Entry {
    /// Place of the program.
    program: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    budget_s: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    run: Option<BillTurn>,
}

/// The journal of a bill under way.
pub(super) struct Journal {
    pub(super) begun: Begun,
    entries: Vec<Entry>,
    /// Whether it holds what would be lost with it.
    pub(super) has_run: bool,
    file: File,
    folder: TrustedFolder,
    path: PathBuf,
    _lock: Lock,
}

impl Journal {
    /// Begins one anew, in place of any that lies there.
    pub(super) fn begin(chosen: &Chosen, tasks: &[Task], seed: u64) -> anyhow::Result<Self> {
        let begun = Begun {
            schema: SCHEMA,
            words: std::env::args_os().map(|word| word.as_bytes().to_vec()).collect(),
            folder: std::env::current_dir()?.into_os_string().into_vec(),
            settings: settings(chosen),
            programs: tasks.iter().map(Task::identity).collect(),
            system_state: system_state(chosen),
            seed,
            started_utc: utc_now(),
        };
        let state = state();
        let folder = state.made()?;
        let lock = locked(state.path())?;
        let failed = |why| cannot("write", &state.path().join(FILE), why);
        // Another one that was interrupted is set aside until this one is done, unless nothing was run for it.
        if let Some(bytes) = folder.read(FILE).map_err(failed)?.filter(|bytes| !is_unused(bytes)) {
            let aside = old_files(&folder)?.last().map_or(1, |(number, _)| number + 1);
            anyhow::ensure!(
                aside < OLD_MAX,
                "{OLD_MAX} bills were interrupted; sidestep bill --resume ends the last"
            );
            folder.rename(FILE, &format!("{OLD_FILE}{aside}")).map_err(failed)?;
            if let Some((other, _)) = parsed(&bytes) {
                output::say(&format!(
                    "the bill of {} that was interrupted is kept; once this one is done, sidestep bill --resume goes on with it",
                    other.started_utc
                ));
            }
        }
        let first = line(&begun)?;
        folder.replace(FILE, &first).map_err(failed)?;
        Self::with((begun, Vec::new()), first.len(), folder, lock)
    }

    /// The one that was left.
    pub(super) fn open() -> anyhow::Result<Self> {
        let nothing =
            || anyhow::anyhow!("no bill was interrupted; begin one with sidestep bill -- ./program");
        let state = state();
        let folder = state.begun()?.ok_or_else(nothing)?;
        let lock = locked(state.path())?;
        // The one that was to come in place of another was cut off before its first line.
        if folder.read(FILE)?.is_none() {
            restore_last(&folder)?;
        }
        let bytes = folder.read(FILE)?.ok_or_else(nothing)?;
        let held = parsed(&bytes).with_context(|| {
            format!("{} is no journal of this version; remove it", state.path().join(FILE).display())
        })?;
        Self::with(held, whole_lines(&bytes).len(), folder, lock)
    }

    /// Goes on behind the whole lines of the file.
    fn with(
        (begun, entries): (Begun, Vec<Entry>),
        whole_bytes: usize,
        folder: TrustedFolder,
        lock: Lock,
    ) -> anyhow::Result<Self> {
        let path = state().path().to_owned();
        let failed = |why| cannot("open", &path.join(FILE), why);
        let mut file = folder.open_file(FILE).map_err(failed)?;
        file.set_len(whole_bytes as u64).and_then(|()| file.seek(SeekFrom::End(0))).map_err(failed)?;
        let has_run = entries.iter().any(|entry| entry.run.is_some());
        Ok(Self { begun, entries, has_run, file, folder, path, _lock: lock })
    }

    /// The options that the bill began with, and how its result was to be given.
    pub(super) fn arguments(&self) -> anyhow::Result<(BillArguments, Global)> {
        let words = self.begun.words.iter().map(|word| OsString::from_vec(word.clone()));
        parsed_alone("bill", words).map_err(|_| {
            anyhow::anyhow!("the journal holds no command line of this version; begin anew without --resume")
        })
    }

    /// The same, if the settings still are what they were.
    pub(super) fn continued(self, chosen: &Chosen, tasks: &[Task]) -> anyhow::Result<Self> {
        let same_programs = tasks.iter().map(Task::identity).eq(self.begun.programs.iter().cloned());
        anyhow::ensure!(
            same_programs && self.begun.system_state == system_state(chosen),
            "another program, kernel, boot command line or version of sidestep than when the bill began: its runs no longer show the present state; begin anew without --resume"
        );
        let now = settings(chosen);
        let changed = self.begun.settings.iter().zip(&now).find(|(then, now)| then != now);
        if let Some(([name, then, _], [other, value, _])) = changed {
            anyhow::bail!(
                "{name}={then} when the bill began, and {other}={value} now: its runs no longer show the present state; begin anew without --resume"
            );
        }
        anyhow::ensure!(
            now.len() == self.begun.settings.len(),
            "other settings can be switched than when the bill began; begin anew without --resume"
        );
        Ok(self)
    }

    /// Goes to the folder in which the bill began.
    pub(super) fn enter_its_folder(&self) -> anyhow::Result<()> {
        let folder = PathBuf::from(OsString::from_vec(self.begun.folder.clone()));
        if effective_root() {
            // What is named from there will run as root.
            ensure_trusted(&folder)
                .with_context(|| format!("cannot resume the bill in {}", folder.display()))?;
        }
        std::env::set_current_dir(&folder)
            .with_context(|| format!("cannot enter {}, where the bill began", folder.display()))
    }

    /// The runs of a program.
    pub(super) fn runs_of(&self, program: usize) -> Vec<BillTurn> {
        self.of(program).filter_map(|entry| entry.run.clone()).collect()
    }

    fn of(&self, program: usize) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(move |entry| entry.program == program)
    }

    /// Why a program could not be priced before the interruption, if it could not.
    pub(super) fn refusal(&self, program: usize) -> Option<String> {
        self.of(program).find_map(|entry| entry.refused.clone())
    }

    /// The time of a program: what it had before the interruption, or this.
    pub(super) fn budget_s(&mut self, program: usize, budget_s: f64) -> anyhow::Result<f64> {
        if let Some(before_s) = self.of(program).find_map(|entry| entry.budget_s) {
            return Ok(before_s);
        }
        self.write(&Entry { program, budget_s: Some(budget_s), ..Entry::default() })?;
        Ok(budget_s)
    }

    /// Keeps why a program could not be priced.
    pub(super) fn refuse(&mut self, program: usize, why: String) -> anyhow::Result<()> {
        self.write(&Entry { program, refused: Some(why), ..Entry::default() })
    }

    /// Keeps a run of a program.
    pub(super) fn keep(&mut self, program: usize, run: &BillTurn) -> anyhow::Result<()> {
        self.has_run = true;
        self.write(&Entry { program, run: Some(run.clone()), ..Entry::default() })
    }

    fn write(&mut self, entry: &Entry) -> anyhow::Result<()> {
        let bytes = line(entry)?;
        let written = self.file.write_all(&bytes).and_then(|()| self.file.sync_data());
        written.map_err(|why| cannot("write", &self.path.join(FILE), why))
    }

    /// Takes the journal away: the bill is done. One that was set aside for it is the one to go on with again.
    pub(super) fn finish(self) -> anyhow::Result<()> {
        let failed = || format!("cannot remove {}", self.path.join(FILE).display());
        self.folder.remove(FILE).with_context(failed)?;
        restore_last(&self.folder)
    }
}

/// Makes the last bill that was set aside, if there is one, the one to go on with.
fn restore_last(folder: &TrustedFolder) -> anyhow::Result<()> {
    for (_, name) in old_files(folder)?.iter().rev() {
        if folder.read(name)?.is_some_and(|bytes| parsed(&bytes).is_some()) {
            return folder.rename(name, FILE).with_context(|| format!("cannot go on with {name}"));
        }
    }
    Ok(())
}

/// Bills that were set aside, the last one at the end.
fn old_files(folder: &TrustedFolder) -> anyhow::Result<Vec<(u32, String)>> {
    let numbered = |(name, _): (String, u64)| Some((name.strip_prefix(OLD_FILE)?.parse().ok()?, name));
    let mut found: Vec<(u32, String)> = folder.files()?.into_iter().filter_map(numbered).collect();
    found.sort_unstable();
    Ok(found)
}

/// True of a bill of this version that was ended before its first run.
fn is_unused(bytes: &[u8]) -> bool {
    parsed(bytes).is_some_and(|(_, entries)| entries.iter().all(|entry| entry.run.is_none()))
}

/// A value and the end of its line.
fn line(value: &impl Serialize) -> anyhow::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec(value)?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// What was written to its end.
fn whole_lines(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    &bytes[..end]
}

/// What stands in a journal; `None` if it is none of this version.
fn parsed(bytes: &[u8]) -> Option<(Begun, Vec<Entry>)> {
    let mut lines = whole_lines(bytes).split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let begun: Begun = serde_json::from_slice(lines.next()?).ok()?;
    let runs = lines.map(|line| serde_json::from_slice(line).ok()).collect::<Option<Vec<Entry>>>()?;
    (begun.schema == SCHEMA).then_some((begun, runs))
}

fn locked(path: &Path) -> anyhow::Result<Lock> {
    StateFolder::new(path).try_lock().map_err(|error| match error {
        LockError::Held(_) => anyhow::anyhow!("another bill is running; wait for it, or end it with Ctrl-C"),
        LockError::Unusable { path, source } => cannot("use", &path, source),
    })
}

/// Version of sidestep, kernel, and its command line.
fn system_state(chosen: &Chosen) -> [String; 3] {
    [env!("CARGO_PKG_VERSION").to_owned(), chosen.kernel.clone(), chosen.boot_words.clone()]
}

fn state() -> KeptFolder {
    KeptFolder::below("bill", None)
}

fn settings(chosen: &Chosen) -> Vec<[String; 3]> {
    let of =
        |setting: &record::BillSetting| [setting.name.clone(), setting.now.clone(), setting.other.clone()];
    chosen.settings.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use record::BillPhase;

    use super::*;

    fn bytes(runs: usize) -> Vec<u8> {
        let begun = Begun {
            schema: SCHEMA,
            words: vec![b"sidestep".to_vec(), b"bill".to_vec()],
            folder: b"/".to_vec(),
            settings: Vec::new(),
            programs: Vec::new(),
            system_state: Default::default(),
            seed: 7,
            started_utc: "2026-01-01T00:00:00Z".to_owned(),
        };
        let mut bytes = line(&begun).expect("plain values");
        for block in 0..runs {
            let run = BillTurn {
                phase: BillPhase::Screening,
                block,
                switched: vec![1],
                value: Some(0.1),
                failure: None,
                ended_s: block as f64,
            };
            bytes.extend(line(&Entry { run: Some(run), ..Entry::default() }).expect("plain values"));
        }
        bytes
    }

    #[test]
    fn a_journal_cut_anywhere_holds_the_runs_that_were_whole() {
        let whole = bytes(5);
        let first = whole_lines(&bytes(0)).len();
        for length in 0..=whole.len() {
            let cut = &whole[..length];
            let lines = cut.split(|byte| *byte == b'\n').count() - 1;
            match parsed(cut) {
                Some((_, runs)) => assert_eq!(runs.len() + 1, lines, "{length}"),
                None => assert!(length < first, "{length}"),
            }
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(cut in 0usize..900, other in proptest::collection::vec(any::<u8>(), 0..40)) {
            let mut text = bytes(5);
            text.truncate(cut);
            text.extend(other);
            let _ = parsed(&text);
        }
    }
}

//! What a bill keeps of itself: its command line and every run, whole on disk before the next run begins.
//!
//! One file, replaced as a whole and synced, so that a run is in it once or not at all. A lock keeps a second bill away.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use anyhow::Context;
use host::live::{effective_root, utc_now};
use host::state_folder::advice;
use host::{Lock, StateFolder, TrustedFolder};
use record::BillTurn;
use serde::{Deserialize, Serialize};
use toggles::Place;

use super::arguments::BillArguments;
use super::settings::Chosen;
use crate::arguments::{Arguments, Command};

/// Version of the journal.
const SCHEMA: u32 = 1;
/// Its name in the folder of the bill.
const FILE: &str = "bill.json";

/// What stands in the file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Kept {
    schema: u32,
    /// The command line, argument by argument, as bytes.
    words: Vec<Vec<u8>>,
    /// The settings that take part, with both values.
    settings: Vec<[String; 3]>,
    pub(super) seed: u64,
    pub(super) started_utc: String,
    /// Runs by program.
    programs: Vec<Vec<BillTurn>>,
}

/// The journal of a bill under way.
pub(super) struct Journal {
    pub(super) kept: Kept,
    folder: TrustedFolder,
    path: PathBuf,
    _lock: Lock,
}

impl Journal {
    /// Begins one anew, in place of any that lies there.
    pub(super) fn begin(chosen: &Chosen, seed: u64) -> anyhow::Result<Self> {
        let words = std::env::args_os().map(|word| word.as_bytes().to_vec()).collect();
        let kept = Kept {
            schema: SCHEMA,
            words,
            settings: settings(chosen),
            seed,
            started_utc: utc_now(),
            programs: Vec::new(),
        };
        let journal = Self::with(kept)?;
        journal.write()?;
        Ok(journal)
    }

    /// The one that was left.
    pub(super) fn open() -> anyhow::Result<Self> {
        let nothing =
            || anyhow::anyhow!("no bill was interrupted; begin one with sidestep bill -- ./program");
        let path = path();
        let folder = match TrustedFolder::open(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(nothing()),
            opened => opened.with_context(|| format!("cannot use {}", path.display()))?,
        };
        let bytes = folder.read(FILE)?.ok_or_else(nothing)?;
        let kept: Kept =
            serde_json::from_slice(&bytes).ok().filter(|kept: &Kept| kept.schema == SCHEMA).with_context(
                || format!("{} is no journal of this version; remove it", path.join(FILE).display()),
            )?;
        Self::with(kept)
    }

    fn with(kept: Kept) -> anyhow::Result<Self> {
        let path = path();
        let unusable = |why: std::io::Error| {
            format!("cannot use {}: {why}; {}", path.display(), advice(&why, effective_root()))
        };
        let folder = TrustedFolder::open_or_make(&path).map_err(|why| anyhow::anyhow!(unusable(why)))?;
        let lock = StateFolder::new(&path).try_lock().context("another bill is running")?;
        Ok(Self { kept, folder, path, _lock: lock })
    }

    /// The options that the bill began with.
    pub(super) fn arguments(&self) -> anyhow::Result<BillArguments> {
        let words = self.kept.words.iter().map(|word| OsString::from_vec(word.clone()));
        match Arguments::parsed(words) {
            Ok((Command::Bill(arguments), _)) => Ok(*arguments),
            _ => anyhow::bail!(
                "the journal holds no command line of this version; begin anew without --resume"
            ),
        }
    }

    /// The same, if the settings still are what they were.
    pub(super) fn continued(self, chosen: &Chosen) -> anyhow::Result<Self> {
        let now = settings(chosen);
        let changed = self.kept.settings.iter().zip(&now).find(|(then, now)| then != now);
        if let Some(([name, then, _], [other, value, _])) = changed {
            anyhow::bail!(
                "{name}={then} when the bill began, and {other}={value} now: its runs no longer show the present state; begin anew without --resume"
            );
        }
        anyhow::ensure!(
            now.len() == self.kept.settings.len(),
            "other settings can be switched than when the bill began; begin anew without --resume"
        );
        Ok(self)
    }

    /// The runs of a program.
    pub(super) fn turns(&self, place: usize) -> Vec<BillTurn> {
        self.kept.programs.get(place).cloned().unwrap_or_default()
    }

    /// Keeps the runs of a program, in place of those before.
    pub(super) fn keep(&mut self, place: usize, turns: &[BillTurn]) -> anyhow::Result<()> {
        if self.kept.programs.len() <= place {
            self.kept.programs.resize(place + 1, Vec::new());
        }
        self.kept.programs[place] = turns.to_vec();
        self.write()
    }

    fn write(&self) -> anyhow::Result<()> {
        let bytes = serde_json::to_vec(&self.kept)?;
        self.folder.replace(FILE, &bytes).map_err(|why| {
            let line =
                format!("cannot write {}: {why}; {}", self.path.display(), advice(&why, effective_root()));
            anyhow::Error::new(why).context(line)
        })
    }

    /// Takes the journal away: the bill is done.
    pub(super) fn finish(self) -> anyhow::Result<()> {
        self.folder.remove(FILE).with_context(|| format!("cannot remove {}", self.path.join(FILE).display()))
    }
}

fn path() -> PathBuf {
    Place::of_user().state.join("bill")
}

fn settings(chosen: &Chosen) -> Vec<[String; 3]> {
    let of = |setting: &experiments::bill::Setting| {
        [setting.name.clone(), setting.now.clone(), setting.other.clone()]
    };
    chosen.settings.iter().map(of).collect()
}

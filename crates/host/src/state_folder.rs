//! The folder where an experiment keeps its lock and its journal, with every step of a safe write apart.
//!
//! The steps are apart so that a test can cut the power between any two: what was not synced may then be lost, and
//! what the journal promises has to hold all the same. Who may own the folder and its files is said in
//! [`crate::trusted_folder`].

use std::env;
use std::fmt;
use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::live::effective_root;
use crate::live::process::unix_seconds;
use crate::trusted_folder::{Distrust, TrustedFolder, is_distrust};

/// The file that is locked; it stays, as removing a lock that someone waits for would make two of it.
const LOCK_NAME: &str = "lock";
/// Mending takes milliseconds, on a loaded machine some tens of them.
const LOCK_PATIENCE: Duration = Duration::from_millis(500);
/// How often the lock is tried meanwhile.
const LOCK_POLL: Duration = Duration::from_millis(2);

/// Where the live machine keeps its lock and journal: one place for all, as there is one machine.
pub const LIVE_STATE: &str = "/var/lib/sidestep";

/// This user's own folder by the XDG Base Directory Specification: in that of the variable, which counts only as an absolute path, else
/// in one at home; `None` without a home.
pub fn user_folder(variable: &str, at_home: &str) -> Option<PathBuf> {
    let set = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let of_kind = set(variable).or_else(|| Some(set("HOME")?.join(at_home)));
    of_kind.map(|folder| folder.join("sidestep"))
}

/// Where this user keeps what has to last: one place, whichever command asks; `None` without a home.
pub fn user_state() -> Option<PathBuf> {
    user_folder("XDG_STATE_HOME", ".local/state")
}

/// Steps on the files of one folder.
pub trait Disk {
    /// The bytes of a file; `None` if there is none.
    ///
    /// # Errors
    /// What the operating system said.
    fn read(&mut self, name: &str) -> io::Result<Option<Vec<u8>>>;

    /// Writes a file anew. It may be lost, or found half, until `sync`.
    ///
    /// # Errors
    /// What the operating system said.
    fn write(&mut self, name: &str, bytes: &[u8]) -> io::Result<()>;

    /// From now on the bytes of a file survive a power cut.
    ///
    /// # Errors
    /// What the operating system said.
    fn sync(&mut self, name: &str) -> io::Result<()>;

    /// Gives a file another name, in place of one that has it.
    ///
    /// # Errors
    /// What the operating system said.
    fn rename(&mut self, from: &str, to: &str) -> io::Result<()>;

    /// Takes a file away.
    ///
    /// # Errors
    /// What the operating system said.
    fn remove(&mut self, name: &str) -> io::Result<()>;

    /// From now on the names survive a power cut.
    ///
    /// # Errors
    /// What the operating system said.
    fn sync_names(&mut self) -> io::Result<()>;
}

/// A folder of the file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateFolder {
    path: PathBuf,
}

/// Why the lock was not given.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another experiment holds it.
    #[error("another experiment is running on this machine{0}; wait for it, see sidestep toggles status")]
    Held(Holder),
    /// The folder or the lock cannot be made.
    #[error("cannot use {path}: {source}; {}", advice(.source, effective_root()))]
    Unusable {
        /// The folder.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
}

/// What to do about a folder that cannot be used.
pub fn advice(source: &io::Error, is_root: bool) -> &'static str {
    match source.kind() {
        _ if leads_elsewhere(source) => "move it away, or use another folder",
        _ if is_distrust(source) => {
            "make it yours or root's alone with chown and chmod go-w, or use another folder"
        }
        io::ErrorKind::ReadOnlyFilesystem => {
            "remount its file system writable, or mount a writable one there"
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "make room there",
        io::ErrorKind::PermissionDenied if !is_root => {
            "run as root, or set HOME or XDG_STATE_HOME to a folder of yours"
        }
        _ => "see that it is a folder that can be written",
    }
}

/// True of a link, a pipe, a device: no owner or mode makes those a folder or file to trust.
fn leads_elsewhere(source: &io::Error) -> bool {
    let why = source.get_ref().and_then(|why| why.downcast_ref::<Distrust>());
    matches!(why, Some(Distrust::Link(_) | Distrust::Kind(..)))
}

/// Who holds the lock, as far as is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// A process, and the seconds after which its watchdog ends it at the latest.
    Process {
        /// Its number.
        process: u32,
        /// From now on.
        left_s: u64,
    },
    /// One that works for a moment, or did not say.
    Unknown,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Process { process, left_s } => {
                write!(f, ": process {process}, for {left_s} s more at most")
            }
            Self::Unknown => Ok(()),
        }
    }
}

impl Holder {
    /// Reads what [`Lock::tell`] wrote.
    fn read(text: &str) -> Self {
        let words: Vec<&str> = text.split_whitespace().collect();
        let [process, until_s] = words[..] else { return Self::Unknown };
        let Some((process, until_s)) = process.parse().ok().zip(until_s.parse::<u64>().ok()) else {
            return Self::Unknown;
        };
        Self::Process { process, left_s: until_s.saturating_sub(unix_seconds()) }
    }
}

/// One experiment at a time: the lock ends with this value, and with the process however it ends.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

impl Lock {
    /// Nothing is known of this holder yet.
    fn of(file: File) -> Self {
        // What the last one left is only words: a disk that refuses makes them wrong, and the lock no weaker.
        let _ = file.set_len(0);
        Self { file }
    }

    /// Leaves word for who comes meanwhile: this process, and the longest time that it needs the lock.
    pub fn tell(&self, longest: Duration) {
        let until_s = unix_seconds().saturating_add(longest.as_secs());
        let _ = (&self.file).write_all(format!("{} {until_s}\n", std::process::id()).as_bytes());
    }
}

impl StateFolder {
    /// A folder that need not exist yet.
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes the lock. A watchdog that mends holds it for some milliseconds, which are waited for; an experiment
    /// is not.
    ///
    /// # Errors
    /// `Held`, or `Unusable`.
    pub fn try_lock(&self) -> Result<Lock, LockError> {
        let file = self.lock_file().map_err(|source| self.unusable(source))?;
        let started = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Lock::of(file)),
                Err(TryLockError::WouldBlock) if started.elapsed() < LOCK_PATIENCE => {
                    thread::sleep(LOCK_POLL);
                }
                Err(TryLockError::WouldBlock) => return Err(LockError::Held(self.holder())),
                Err(TryLockError::Error(source)) => return Err(self.unusable(source)),
            }
        }
    }

    /// Waits for the lock.
    ///
    /// # Errors
    /// `Unusable`.
    pub fn lock(&self) -> Result<Lock, LockError> {
        let file = self.lock_file().map_err(|source| self.unusable(source))?;
        file.lock().map_err(|source| self.unusable(source))?;
        Ok(Lock::of(file))
    }

    fn holder(&self) -> Holder {
        let text = TrustedFolder::open(&self.path).and_then(|folder| folder.read(LOCK_NAME));
        text.ok().flatten().map_or(Holder::Unknown, |text| Holder::read(&String::from_utf8_lossy(&text)))
    }

    fn unusable(&self, source: io::Error) -> LockError {
        LockError::Unusable { path: self.path.clone(), source }
    }

    fn lock_file(&self) -> io::Result<File> {
        TrustedFolder::open_or_make(&self.path)?.open_file(LOCK_NAME)
    }

    fn opened(&self) -> io::Result<TrustedFolder> {
        TrustedFolder::open(&self.path)
    }
}

impl Disk for StateFolder {
    fn read(&mut self, name: &str) -> io::Result<Option<Vec<u8>>> {
        match self.opened() {
            Ok(folder) => folder.read(name),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn write(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.opened()?.write(name, bytes)
    }

    fn sync(&mut self, name: &str) -> io::Result<()> {
        self.opened()?.sync(name)
    }

    fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        self.opened()?.rename(from, to)
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        self.opened()?.remove(name)
    }

    fn sync_names(&mut self) -> io::Result<()> {
        self.opened()?.sync_names()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_is_given_once_and_again_when_it_ends() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let state = StateFolder::new(&folder.path().join("new/state"));
        let lock = state.try_lock().expect("nobody has it");
        assert!(matches!(state.try_lock(), Err(LockError::Held(Holder::Unknown))));
        lock.tell(Duration::from_secs(3600));
        let text = state.try_lock().expect_err("it is held").to_string();
        let own = format!("running on this machine: process {}, for 3", std::process::id());
        assert!(text.contains(&own) && text.contains(" s more at most; wait for it"), "{text}");
        drop(lock);
        let _anew = state.try_lock().expect("it ended");
        assert!(matches!(state.try_lock(), Err(LockError::Held(Holder::Unknown))), "who ended is not named");
    }

    #[test]
    fn who_cannot_use_the_folder_is_reported_what_would_help_him() {
        let error = |kind| io::Error::from(kind);
        for (source, is_root, expected) in [
            (error(io::ErrorKind::ReadOnlyFilesystem), true, "remount"),
            (error(io::ErrorKind::PermissionDenied), false, "run as root"),
            (error(io::ErrorKind::PermissionDenied), true, "see that it is a folder"),
            (error(io::ErrorKind::StorageFull), true, "make room"),
            (Distrust::Writable(PathBuf::from("a")).into(), true, "chmod go-w"),
            (Distrust::Link(PathBuf::from("a")).into(), true, "move it away"),
            (Distrust::Kind(PathBuf::from("a"), "regular file").into(), true, "move it away"),
        ] {
            let text = advice(&source, is_root);
            assert!(text.contains(expected), "{expected}: {text}");
            assert!(!text.contains("--state") && (!is_root || !text.contains("run as root")), "{text}");
        }
    }

    #[test]
    fn what_nobody_stated_is_not_read() {
        for text in ["", "12", "12 x", "-1 5", "1 2 3", "99999999999 5"] {
            assert_eq!(Holder::read(text), Holder::Unknown, "{text}");
        }
        assert_eq!(Holder::read("12 5\n"), Holder::Process { process: 12, left_s: 0 });
    }

    #[test]
    fn steps_of_the_disk_do_what_they_say() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut state = StateFolder::new(folder.path());
        assert_eq!(state.read("a").expect("absent is a value"), None);
        state.write("a", b"one").expect("writable");
        state.sync("a").expect("synced");
        state.rename("a", "b").expect("renamed");
        state.sync_names().expect("synced");
        assert_eq!(state.read("b").expect("readable"), Some(b"one".to_vec()));
        state.remove("b").expect("removed");
        assert_eq!(state.read("b").expect("absent is a value"), None);
    }
}

//! Where an experiment across reboots keeps its journal, and whether that place survives a boot.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::Context;
use experiments::ab::across_reboot::journal::{Journal, SEALED};
use experiments::ab::across_reboot::visit::{StoredState, find};
use host::state_folder::LIVE_STATE;
use host::{Lock, LockError, Root, StateFolder, live};

/// File systems that a boot empties. Source: Linux, Documentation/filesystems/tmpfs.rst, ramfs-rootfs-initramfs.rst.
const VOLATILE: [&str; 3] = ["tmpfs", "ramfs", "rootfs"];

/// The folder of lock and journal.
#[derive(Debug, Clone)]
pub(super) struct JournalFolder {
    /// That folder.
    pub(super) folder: StateFolder,
}

impl JournalFolder {
    /// The folder asked for, or that of this user.
    pub(super) fn of(wanted: Option<&Path>) -> anyhow::Result<Self> {
        let path = match wanted {
            Some(path) => {
                std::path::absolute(path).with_context(|| format!("cannot use {}", path.display()))?
            }
            None if live::effective_root() => PathBuf::from(LIVE_STATE),
            None => of_user().context("no home folder is known; name a folder with --state DIR")?,
        };
        Ok(Self { folder: StateFolder::new(&path) })
    }

    /// Where the journal is.
    pub(super) fn journal_path(&self) -> PathBuf {
        self.folder.path().join(SEALED.name)
    }

    /// One command at a time, the toggles of root included.
    pub(super) fn lock(&self) -> anyhow::Result<Lock> {
        self.folder.try_lock().map_err(|error| match error {
            LockError::Held(_) => error.into(),
            LockError::Unusable { path, source } => anyhow::anyhow!(
                "cannot use {}: {source}; choose another folder with --state DIR",
                path.display()
            ),
        })
    }

    /// What lies there.
    pub(super) fn find(&self) -> anyhow::Result<StoredState> {
        find(&mut self.folder.clone()).with_context(|| {
            format!("cannot read {}; choose another folder with --state DIR", self.journal_path().display())
        })
    }

    /// The experiment that is set up.
    pub(super) fn journal(&self) -> anyhow::Result<Box<Journal>> {
        match self.find()? {
            StoredState::Journal(journal) => Ok(journal),
            StoredState::Nothing => anyhow::bail!(
                "no experiment across reboots is set up in {}; begin one with sidestep ab --across-reboot, or name its \
                 folder with --state DIR",
                self.folder.path().display()
            ),
            StoredState::Damaged(damaged) => anyhow::bail!(
                "{}: {damaged}; sidestep ab --abandon sets it aside and keeps it",
                self.journal_path().display()
            ),
        }
    }

    /// A folder that a boot empties cannot hold a journal.
    pub(super) fn ensure_lasting(&self) -> anyhow::Result<()> {
        let mounts = Root::live().read("/proc/self/mountinfo").unwrap_or_default();
        let real = existing(self.folder.path());
        if let Some(kind) = file_system(&mounts, &real).filter(|kind| VOLATILE.contains(&kind.as_str())) {
            anyhow::bail!(
                "{} lies on {kind}, which a boot empties; choose another folder with --state DIR",
                self.folder.path().display()
            );
        }
        Ok(())
    }
}

/// `$XDG_STATE_HOME/sidestep`. Source: XDG Base Directory Specification.
fn of_user() -> Option<PathBuf> {
    let set = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = set("XDG_STATE_HOME").or_else(|| Some(set("HOME")?.join(".local/state")))?;
    Some(state.join("sidestep"))
}

/// The nearest folder above that is there, with links resolved.
fn existing(path: &Path) -> PathBuf {
    path.ancestors().find_map(|above| above.canonicalize().ok()).unwrap_or_else(|| PathBuf::from("/"))
}

/// The kind of file system that holds a path; the last mount of the longest mount point wins. Source: proc_pid_mountinfo(5).
fn file_system(mounts: &str, path: &Path) -> Option<String> {
    let mount = |line: &str| -> Option<(usize, String)> {
        let (before, after) = line.split_once(" - ")?;
        let point = before.split(' ').nth(4)?.replace("\\040", " ");
        let kind = after.split(' ').next()?;
        path.starts_with(&point).then(|| (point.len(), kind.to_owned()))
    };
    mounts.lines().filter_map(mount).max_by_key(|(length, _)| *length).map(|(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mount_that_holds_a_path_is_the_longest_and_the_last() {
        let mounts = "\
22 1 254:0 / / rw - ext4 /dev/root rw
23 22 0:5 / /run rw shared:2 - tmpfs tmpfs rw
24 22 0:6 / /home/a\\040b rw - xfs /dev/sdb rw
25 22 0:7 / /run rw - ramfs none rw
";
        for (path, expected) in
            [("/var/lib", "ext4"), ("/run/x", "ramfs"), ("/home/a b/c", "xfs"), ("/running", "ext4")]
        {
            assert_eq!(file_system(mounts, Path::new(path)).as_deref(), Some(expected), "{path}");
        }
        assert_eq!(file_system("", Path::new("/")), None);
    }

    #[test]
    fn a_folder_that_does_not_exist_yet_is_judged_by_what_is_above_it() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let above = folder.path().canonicalize().expect("it exists");
        assert_eq!(existing(&folder.path().join("a/b/c")), above);
    }
}

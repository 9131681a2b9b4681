//! The files of an experiment across reboots: the folder of its journal, which has to survive a boot, and the unit that resumes it,
//! installed only when asked for, removed only if it is ours.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use anyhow::Context;
use experiments::ab::across_reboot::journal::{Journal, SEALED};
use experiments::ab::across_reboot::visit::{StoredState, find};
use experiments::systemd_units::{REBOOT_UNIT, UNIT_FOLDER, WANTS_FOLDER, unit_text};
use host::live::{effective_root, make_folders, write_atomically};
use host::state_folder::{LIVE_STATE, user_state};
use host::{Lock, LockError, Root, StateFolder, ensure_trusted, live, read_plain_text};

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
    pub(super) fn of(asked: Option<&Path>) -> anyhow::Result<Self> {
        let path = match asked {
            Some(path) => {
                std::path::absolute(path).with_context(|| format!("cannot use {}", path.display()))?
            }
            None if live::effective_root() => PathBuf::from(LIVE_STATE),
            None => user_state().context("no home folder is known; name a folder with --state DIR")?,
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

/// How every unit of ours begins, whichever version wrote it.
const OURS: &str = "[Unit]\nDescription=sidestep: measure this boot for an experiment across reboots\n";

/// Ours has some hundred bytes, and the unit of somebody else is not read further.
const UNIT_BYTES_MAX: u64 = 1 << 20;

/// The unit and the link that starts it.
#[derive(Debug, Clone)]
pub(super) struct UnitFile {
    file: PathBuf,
    link: PathBuf,
    /// True in systemd's own folder, where it runs as root.
    is_live: bool,
}

impl UnitFile {
    /// In systemd's folder, or one for tests.
    pub(super) fn of(folder: Option<&Path>) -> Self {
        let is_live = folder.is_none();
        let folder = folder.unwrap_or(Path::new(UNIT_FOLDER));
        Self { file: folder.join(REBOOT_UNIT), link: folder.join(WANTS_FOLDER).join(REBOOT_UNIT), is_live }
    }

    /// Its text for this program and this place.
    pub(super) fn text(place: &JournalFolder) -> anyhow::Result<String> {
        let program = env::current_exe().context("cannot find this program's own file")?;
        Ok(unit_text(&program, place.folder.path())?)
    }

    /// True if ours lies there.
    pub(super) fn is_installed(&self) -> bool {
        self.link.symlink_metadata().is_ok()
            && read_plain_text(&self.file, UNIT_BYTES_MAX).is_ok_and(|text| text.starts_with(OURS))
    }

    /// Writes it and its link. Root would run what the program and the journal say, so only root may be able to change
    /// either.
    pub(super) fn install(&self, text: &str, place: &JournalFolder) -> anyhow::Result<()> {
        if self.is_live {
            anyhow::ensure!(
                effective_root(),
                "only root installs a unit; run this as root, or resume by hand after each boot"
            );
            let program = env::current_exe().context("cannot find this program's own file")?;
            for path in [program.as_path(), place.folder.path()] {
                ensure_trusted(path).map_err(|why| {
                    anyhow::anyhow!(
                        "cannot install the unit: root would run what {} says, and {why}; put program and journal where \
                         only root writes, or resume by hand",
                        path.display()
                    )
                })?;
            }
        }
        if fs::symlink_metadata(&self.file).is_ok() {
            let there = read_plain_text(&self.file, UNIT_BYTES_MAX);
            anyhow::ensure!(
                there.is_ok_and(|text| text.starts_with(OURS)),
                "{} is not of sidestep; move it away",
                self.file.display()
            );
        }
        let folder = self.link.parent().context("the link lies in a folder")?;
        make_folders(folder)?;
        write_atomically(&self.file, text.as_bytes())?;
        match symlink(&self.file, &self.link) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(error).with_context(|| format!("cannot link {}", self.link.display()))
            }
            _ => Ok(()),
        }
    }

    /// Removes it if it is ours; true if there was one.
    pub(super) fn remove(&self) -> anyhow::Result<bool> {
        let there = match read_plain_text(&self.file, UNIT_BYTES_MAX) {
            Ok(there) => there,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error).with_context(|| format!("cannot read {}", self.file.display())),
        };
        anyhow::ensure!(
            there.starts_with(OURS),
            "{} is not of sidestep; it is left alone",
            self.file.display()
        );
        for path in [&self.link, &self.file] {
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(error)
                        .with_context(|| format!("cannot remove {}; run this as root", path.display()));
                }
                _ => {}
            }
        }
        Ok(true)
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.file
    }
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

    #[test]
    fn a_unit_is_installed_with_its_link_and_removed_whole_and_a_foreign_one_is_left_alone() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let place = JournalFolder::of(Some(folder.path())).expect("an absolute path");
        let unit = UnitFile::of(Some(folder.path()));
        let text = UnitFile::text(&place).expect("plain paths");
        assert!(text.starts_with(OURS));
        assert!(!unit.remove().expect("there is none") && !unit.is_installed());
        unit.install(&text, &place).expect("writable");
        unit.install(&text, &place).expect("a second time changes nothing");
        assert!(unit.is_installed());
        let through_link = fs::read_to_string(folder.path().join(WANTS_FOLDER).join(REBOOT_UNIT));
        assert_eq!(through_link.expect("the link leads to it"), text);
        assert!(unit.remove().expect("ours") && !unit.is_installed());
        assert!(!folder.path().join(WANTS_FOLDER).join(REBOOT_UNIT).exists());
        fs::write(unit.path(), "[Unit]\nDescription=another\n").expect("writable");
        assert!(unit.install(&text, &place).is_err() && unit.remove().is_err());
        assert!(unit.path().exists());
    }
}

//! The unit on disk: installed only when asked for, removed only if it is ours.

use std::env;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::Context;
use experiments::systemd_units::{REBOOT_UNIT, UNIT_FOLDER, WANTS_FOLDER, unit_text};
use host::ensure_trusted;
use host::live::{effective_root, write_atomically};

use super::journal_folder::JournalFolder;

/// How every unit of ours begins, whichever version wrote it.
const OURS: &str = "[Unit]\nDescription=sidestep: measure this boot for an experiment across reboots\n";

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
            && fs::read_to_string(&self.file).is_ok_and(|text| text.starts_with(OURS))
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
        if let Ok(there) = fs::read_to_string(&self.file) {
            anyhow::ensure!(
                there.starts_with(OURS),
                "{} is not of sidestep; move it away",
                self.file.display()
            );
        }
        let folder = self.link.parent().context("the link lies in a folder")?;
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot create {}; run this as root", folder.display()))?;
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
        let there = match fs::read_to_string(&self.file) {
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

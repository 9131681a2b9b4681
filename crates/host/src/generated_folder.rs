//! Folders that programs fill: whole or absent, filled once however many processes ask for them; and empty ones that go away again.

use std::env;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::live::atomic_file::{deserted, is_kept};
use crate::live::effective_user;
use crate::plain_file::open_plain;
use crate::state_folder::user_folder;
use crate::trusted_folder::TrustedFolder;

/// Only so much of a file of results is read.
const RESULT_BYTES_MAX: u64 = 16 << 20;
/// Memory that has names; elsewhere a disk adds its noise.
const MEMORY: &str = "/dev/shm";
/// How the names of empty folders begin, before the number of their process.
const SCRATCH: &str = "sidestep-scratch-";
/// For this user alone.
const SCRATCH_MODE: u32 = 0o700;
/// More folders than this of one process are another problem.
const SCRATCH_MAX: u32 = 1000;

/// Why a folder was not made.
#[derive(Debug, thiserror::Error)]
pub enum FolderError<E> {
    /// The place cannot be used.
    #[error("cannot use {path}: {source}; set XDG_CACHE_HOME to a folder of yours with room")]
    Unusable {
        /// The folder.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// What was to fill it failed; nothing is left of it.
    #[error("{0}")]
    Fill(E),
}

/// Where this user keeps what can be made again: `$XDG_CACHE_HOME/sidestep`, and without a home `sidestep-USER` among temporary files.
/// Source: XDG Base Directory Specification.
pub fn cache_folder() -> PathBuf {
    let of_user = user_folder("XDG_CACHE_HOME", ".cache");
    of_user.unwrap_or_else(|| env::temp_dir().join(format!("sidestep-{}", effective_user())))
}

/// The folder at `place`; `fill` makes what is in it if it is not there yet. Of several processes that ask at once, one fills it and
/// the others wait. What is in it may be run: so it is judged like all that is trusted.
///
/// # Errors
/// `FolderError`; there is then no folder.
pub fn filled_once<E>(place: &Path, fill: impl FnOnce(&Path) -> Result<(), E>) -> Result<(), FolderError<E>> {
    let unusable = |source| FolderError::Unusable { path: place.to_owned(), source };
    let name = place.file_name().and_then(OsStr::to_str);
    let name = name.ok_or_else(|| unusable(io::ErrorKind::InvalidInput.into()))?;
    let is_there = || match TrustedFolder::open(place) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        opened => opened.map(|_| true).map_err(unusable),
    };
    if is_there()? {
        return Ok(());
    }
    let above = place.parent().unwrap_or(Path::new("."));
    let folder = TrustedFolder::open_or_make(above).map_err(unusable)?;
    let lock = folder.open_file(&format!("{name}.lock")).map_err(unusable)?;
    lock.lock().map_err(unusable)?;
    if is_there()? {
        return Ok(());
    }
    // Whoever died here left this behind; the lock says that nobody is at work in it.
    let unfinished = format!("{name}.tmp");
    folder.remove_folder(&unfinished).and_then(|()| folder.make_folder(&unfinished)).map_err(unusable)?;
    let filled = fill(&above.join(&unfinished)).map_err(FolderError::Fill);
    let kept = filled.and_then(|()| folder.rename(&unfinished, name).map_err(unusable));
    if kept.is_err() {
        // What stays is taken away by the next who comes.
        let _ = folder.remove_folder(&unfinished);
    }
    kept
}

/// An empty folder for what a program writes; it goes away with this value, and after a kill with the next that this user makes there:
/// its lock says that nobody is at work in it.
#[derive(Debug)]
pub struct ScratchFolder {
    path: PathBuf,
    _lock: File,
}

impl ScratchFolder {
    /// Makes one in memory where that has names, else among temporary files.
    ///
    /// # Errors
    /// What the operating system said.
    pub fn new() -> io::Result<Self> {
        Self::below(Path::new(MEMORY)).or_else(|_| Self::below(&env::temp_dir()))
    }

    /// Makes one in another folder.
    ///
    /// # Errors
    /// What the operating system said.
    pub fn below(above: &Path) -> io::Result<Self> {
        remove_deserted(above);
        for number in 0..SCRATCH_MAX {
            // In another container another process may have this number.
            let path = above.join(format!("{SCRATCH}{}-{number}", std::process::id()));
            match DirBuilder::new().mode(SCRATCH_MODE).create(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                made => made?,
            }
            if let Some(lock) = File::open(&path).ok().filter(|folder| is_kept(folder, &path)) {
                return Ok(Self { path, _lock: lock });
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes it empty again.
    ///
    /// # Errors
    /// What the operating system said.
    pub fn clear(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                fs::remove_dir_all(entry.path())?;
            } else {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }

    /// The bytes of a file in it, as far as 16 MiB; `None` if there is none.
    pub fn read(&self, name: &str) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        open_plain(&self.path.join(name)).ok()?.take(RESULT_BYTES_MAX).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        // What cannot be taken away is in a folder for such things, and nobody is left to report it to.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Takes away what this user's processes left that were killed.
fn remove_deserted(above: &Path) {
    for entry in fs::read_dir(above).into_iter().flatten().flatten() {
        if entry.file_name().as_bytes().starts_with(SCRATCH.as_bytes())
            && let Some(_held) = deserted(&entry.path())
        {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn a_folder_is_filled_once_and_whole_or_not_at_all() {
        let above = tempfile::tempdir().expect("a temporary folder");
        let place = above.path().join("deep/input-1");
        let failed = filled_once(&place, |folder| {
            fs::write(folder.join("half"), "x").expect("writable");
            Err("no")
        });
        assert_eq!(failed.expect_err("it failed").to_string(), "no");
        assert!(!place.exists());
        let count = AtomicU32::new(0);
        let fill = |folder: &Path| {
            assert!(!folder.join("half").exists());
            (0..1000).for_each(|_| thread::yield_now());
            count.fetch_add(1, Ordering::Relaxed);
            fs::write(folder.join("whole"), "x")
        };
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| filled_once(&place, fill).expect("writable"));
            }
        });
        assert_eq!(count.into_inner(), 1);
        let names: Vec<_> =
            fs::read_dir(&place).expect("there").map(|it| it.expect("listable").file_name()).collect();
        assert_eq!(names, ["whole"]);
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let above = tempfile::tempdir().expect("a temporary folder");
        fs::write(above.path().join("file"), "").expect("writable");
        let place = above.path().join("file/input");
        let error = filled_once(&place, |_| Ok::<(), io::Error>(())).expect_err("a file is in the way");
        assert!(error.to_string().contains("file/input: ") && error.to_string().contains("XDG_CACHE_HOME"));
    }

    #[test]
    fn what_others_could_fill_is_not_taken_for_filled() {
        let above = tempfile::tempdir().expect("a temporary folder");
        for (prepared, mode) in [("theirs", 0o777), ("theirs/input", 0o755)] {
            let path = above.path().join(prepared);
            fs::create_dir_all(&path).expect("writable");
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("ours");
        }
        let fill = |_: &Path| -> Result<(), io::Error> { panic!("not where others write") };
        let error = filled_once(&above.path().join("theirs/input"), fill).expect_err("others may write");
        assert!(error.to_string().contains("other users may write to"), "{error}");
        std::os::unix::fs::symlink("nowhere", above.path().join("own.lock")).expect("a link");
        let error = filled_once(&above.path().join("own"), fill).expect_err("a link is in the way");
        assert!(error.to_string().contains("is a symbolic link"), "{error}");
        assert!(!above.path().join("nowhere").exists());
    }

    #[test]
    fn a_scratch_folder_of_a_process_that_is_gone_goes_and_one_at_work_stays() {
        let above = tempfile::tempdir().expect("a temporary folder");
        let place = |name: String| above.path().join(name);
        let [same, dead] = [std::process::id(), u32::MAX].map(|id| place(format!("{SCRATCH}{id}-0")));
        for path in [&same, &dead] {
            fs::create_dir(path).expect("writable");
            fs::write(path.join("big"), "x").expect("writable");
        }
        let held = File::open(&same).expect("there");
        held.lock().expect("of a process in another container");
        let scratch = ScratchFolder::below(above.path()).expect("writable");
        assert!(same.join("big").exists() && !dead.exists() && scratch.path() != same);
        drop(held);
        let other = ScratchFolder::below(above.path()).expect("writable");
        assert!(!same.join("big").exists() && scratch.path().exists() && other.path() == same);
    }

    #[test]
    fn a_scratch_folder_is_emptied_and_goes_away() {
        let scratch = ScratchFolder::new().expect("a temporary folder");
        let path = scratch.path().to_owned();
        fs::create_dir_all(path.join("a/b")).expect("writable");
        fs::write(path.join("log"), "t 5").expect("writable");
        assert_eq!(scratch.read("log").as_deref(), Some(&b"t 5"[..]));
        assert_eq!((scratch.read("a"), scratch.read("none")), (None, None));
        scratch.clear().expect("writable");
        assert_eq!(fs::read_dir(&path).expect("there").count(), 0);
        drop(scratch);
        assert!(!path.exists());
    }
}

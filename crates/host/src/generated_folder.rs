//! Folders that programs fill: whole or absent, filled once however many processes ask for them; and empty ones that go away again.

use std::env;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Only so much of a file of results is read.
const RESULT_BYTES_MAX: u64 = 16 << 20;
/// Memory that has names; elsewhere a disk adds its noise.
const MEMORY: &str = "/dev/shm";

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

/// Where this user keeps what can be made again: `$XDG_CACHE_HOME/sidestep`. Source: XDG Base Directory Specification.
pub fn cache_folder() -> PathBuf {
    let set = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")));
    cache.unwrap_or_else(env::temp_dir).join("sidestep")
}

/// The folder at `place`; `fill` makes what is in it if it is not there yet. Of several processes that ask at once, one fills it and
/// the others wait.
///
/// # Errors
/// `FolderError`; there is then no folder.
pub fn filled_once<E>(place: &Path, fill: impl FnOnce(&Path) -> Result<(), E>) -> Result<(), FolderError<E>> {
    let beside = |ending: &str| {
        let mut name = place.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    };
    let unusable = |source| FolderError::Unusable { path: place.to_owned(), source };
    if place.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(place.parent().unwrap_or(Path::new("."))).map_err(unusable)?;
    let lock = File::options().create(true).append(true).open(beside(".lock")).map_err(unusable)?;
    lock.lock().map_err(unusable)?;
    if place.is_dir() {
        return Ok(());
    }
    // Whoever died here left this behind; the lock says that nobody is at work in it.
    let unfinished = beside(".tmp");
    match fs::remove_dir_all(&unfinished) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => return Err(unusable(source)),
        _ => {}
    }
    fs::create_dir(&unfinished).map_err(unusable)?;
    let filled = fill(&unfinished).map_err(FolderError::Fill);
    let kept = filled.and_then(|()| fs::rename(&unfinished, place).map_err(unusable));
    if kept.is_err() {
        // What stays is taken away by the next who comes.
        let _ = fs::remove_dir_all(&unfinished);
    }
    kept
}

/// An empty folder for what a program writes, in memory where that has names; it goes away with this value.
#[derive(Debug)]
pub struct ScratchFolder(PathBuf);

impl ScratchFolder {
    /// Makes it.
    ///
    /// # Errors
    /// What the operating system said.
    pub fn new() -> io::Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("sidestep-scratch-{}-{count}", std::process::id());
        let path = Path::new(MEMORY).join(&name);
        let made = fs::create_dir(&path).map(|()| path);
        made.or_else(|_| {
            let path = env::temp_dir().join(&name);
            fs::create_dir(&path).map(|()| path)
        })
        .map(Self)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Makes it empty again.
    ///
    /// # Errors
    /// What the operating system said.
    pub fn clear(&self) -> io::Result<()> {
        fs::remove_dir_all(&self.0)?;
        fs::create_dir(&self.0)
    }

    /// The bytes of a file in it, as far as 16 MiB; `None` if there is none.
    pub fn read(&self, name: &str) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        let path = self.0.join(name);
        // A pipe would wait for who writes to it.
        let file = fs::metadata(&path).ok()?.is_file().then(|| File::open(path).ok()).flatten()?;
        file.take(RESULT_BYTES_MAX).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        // What cannot be taken away is in a folder for such things, and nobody is left to report it to.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
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

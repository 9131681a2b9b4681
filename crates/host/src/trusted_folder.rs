//! The rule for every file that sidestep trusts: whose it is, who may write it, and how it is reached.
//!
//! A journal says what is written to the machine, and which program runs after a boot: whoever can change it acts with the
//! rights of whoever reads it, and a checksum is no signature. So a folder and its files are used only if
//! - they belong to the effective user or to root, and nobody else may write to them;
//! - the same holds for every folder above, except that a sticky one such as `/tmp` may be everybody's: there nobody can
//!   replace what is not his;
//! - the folder and its files are no links. A link above the folder is followed if it belongs to the effective user or
//!   to root.
//!
//! The folder is opened part by part, each part in the one before, and its files are opened in it: what was judged is
//! what is used. The group of a user that has his number (a private group, as most distributions make) counts as he
//! himself; root's does not. In a user namespace the folders above may also belong to a user whom it does not know, as
//! nobody inside can act as that user.

use std::ffi::{CString, OsStr, OsString};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

use crate::Root;
use crate::answer::{done, number, owned};
use crate::live::{
    atomic_file::{deserted, is_kept},
    effective_user,
};

/// Only its owner may read or change what will be written to the machine.
const FOLDER_MODE: libc::mode_t = 0o700;
/// The same for a file.
const FILE_MODE: libc::mode_t = 0o600;
/// Stands in the name of a file whose writer has not finished, before the writer's process number.
pub const UNFINISHED: &str = ".new-";
/// Links followed for one path, as the kernel's `MAXSYMLINKS` (include/linux/namei.h).
const LINKS_MAX: usize = 40;
const ROOT: u32 = 0;

/// Why a file or folder is not trusted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Distrust {
    /// It is somebody else's.
    #[error("{path} belongs to user {owner}, not to you or root", path = path.display())]
    Owner {
        /// The file or folder.
        path: PathBuf,
        /// Whose it is.
        owner: u32,
    },
    /// Somebody else may write to it.
    #[error("other users may write to {}", .0.display())]
    Writable(PathBuf),
    /// It leads elsewhere.
    #[error("{} is a symbolic link, which is not followed", .0.display())]
    Link(PathBuf),
    /// It is a device, a pipe, a socket, or a file where a folder is needed, or the other way round.
    #[error("{} is not a {}", .0.display(), .1)]
    Kind(PathBuf, &'static str),
}

impl From<Distrust> for io::Error {
    fn from(why: Distrust) -> Self {
        Self::new(io::ErrorKind::PermissionDenied, why)
    }
}

/// True if the rule was broken, and not the operating system that refused.
pub(crate) fn is_distrust(error: &io::Error) -> bool {
    error.get_ref().is_some_and(<dyn std::error::Error + Send + Sync>::is::<Distrust>)
}

/// What is judged: the thing itself, or a folder above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Itself,
    Above,
}

/// Who judges.
#[derive(Debug, Clone, Copy)]
struct Judge {
    user: u32,
    /// The number under which this user namespace shows users that it does not know; `None` outside of one.
    unknown_user: Option<u32>,
}

impl Judge {
    fn of_process() -> Self {
        let root = Root::live();
        let map = root.read("/proc/self/uid_map").unwrap_or_default();
        let overflow = || root.read("/proc/sys/kernel/overflowuid").ok()?.parse().ok();
        Self { user: effective_user(), unknown_user: if knows_all_users(&map) { None } else { overflow() } }
    }

    fn trusts_owner(self, owner: u32, part: Part) -> bool {
        [ROOT, self.user].contains(&owner) || (part == Part::Above && Some(owner) == self.unknown_user)
    }

    fn judge(self, path: &Path, about: &Metadata, part: Part) -> Result<(), Distrust> {
        if !self.trusts_owner(about.uid(), part) {
            return Err(Distrust::Owner { path: path.to_owned(), owner: about.uid() });
        }
        let is_sticky = about.mode() & libc::S_ISVTX != 0;
        let is_private_group = self.user != ROOT && about.gid() == self.user;
        let others = libc::S_IWOTH | if is_private_group { 0 } else { libc::S_IWGRP };
        if about.mode() & others != 0 && !(part == Part::Above && is_sticky) {
            return Err(Distrust::Writable(path.to_owned()));
        }
        Ok(())
    }
}

/// True of the map that names every user by his own number (user_namespaces(7)), or where there is none.
fn knows_all_users(map: &str) -> bool {
    let words: Vec<&str> = map.split_whitespace().collect();
    words.is_empty() || words == ["0", "0", "4294967295"]
}

/// Whether what lies at a path, such as a program that root will run, obeys the rule. A last part that is a link is
/// followed like one above: whoever runs a program follows it, and most shells are one.
///
/// # Errors
/// A [`Distrust`], or what the operating system said.
pub fn ensure_trusted(path: &Path) -> io::Result<()> {
    walk(path, false, true).map(drop)
}

/// A folder that obeys the rule, held open.
#[derive(Debug)]
pub struct TrustedFolder {
    handle: File,
    path: PathBuf,
    judge: Judge,
}

impl TrustedFolder {
    /// One that is there; `NotFound` if there is none.
    ///
    /// # Errors
    /// A [`Distrust`], or what the operating system said.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::at(path, false)
    }

    /// The same, made with all above it if it is not there: for this user alone.
    ///
    /// # Errors
    /// A [`Distrust`], or what the operating system said.
    pub fn open_or_make(path: &Path) -> io::Result<Self> {
        Self::at(path, true)
    }

    fn at(path: &Path, makes: bool) -> io::Result<Self> {
        let (handle, judge) = walk(path, makes, false)?;
        if !handle.metadata()?.is_dir() {
            return Err(Distrust::Kind(path.to_owned(), "folder").into());
        }
        Ok(Self { handle, path: path.to_owned(), judge })
    }

    fn opened(&self, name: &str, flags: libc::c_int) -> io::Result<File> {
        let path = || self.path.join(name);
        // Whatever else than a file lies there must not make this wait.
        let file = match open_in(&self.handle, OsStr::new(name), flags | libc::O_NONBLOCK, FILE_MODE) {
            Err(error) if error.raw_os_error() == Some(libc::ELOOP) => {
                return Err(Distrust::Link(path()).into());
            }
            opened => opened?,
        };
        let about = file.metadata()?;
        if !about.is_file() {
            return Err(Distrust::Kind(path(), "regular file").into());
        }
        self.judge.judge(&path(), &about, Part::Itself)?;
        Ok(file)
    }

    /// The bytes of a file; `None` if there is none.
    ///
    /// # Errors
    /// A [`Distrust`], or what the operating system said.
    pub fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        self.read_tail(name, usize::MAX)
    }

    /// The last bytes of a file, at most so many, and its whole length; `None` if there is none.
    ///
    /// # Errors
    /// A [`Distrust`], or what the operating system said.
    pub fn read_tail(&self, name: &str, bytes_max: usize) -> io::Result<Option<Vec<u8>>> {
        let mut file = match self.opened(name, libc::O_RDONLY) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(bytes_max as u64)))?;
        let mut bytes = Vec::new();
        // A file that grows meanwhile has no end.
        file.take(bytes_max as u64).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }

    /// Names and sizes of the regular files in it, sorted. Nothing of them is judged until one is opened.
    ///
    /// # Errors
    /// What the operating system said.
    pub fn files(&self) -> io::Result<Vec<(String, u64)>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            // Whoever was removed meanwhile is no file, nor is what has no name that we would give.
            let Ok(about) = entry.metadata() else { continue };
            let Ok(name) = entry.file_name().into_string() else { continue };
            if about.is_file() {
                files.push((name, about.len()));
            }
        }
        files.sort();
        Ok(files)
    }

    /// Writes a file whole or not at all, in place of one that has its name, and so that it survives a power cut.
    ///
    /// # Errors
    /// A [`Distrust`], or what the operating system said; what was begun is taken away.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.remove_deserted();
        let unfinished = format!("{name}{UNFINISHED}{}", std::process::id());
        let mut file = self.created(&unfinished)?;
        while !is_kept(&file, &self.path.join(&unfinished)) {
            file = self.created(&unfinished)?;
        }
        let written = file.write_all(bytes).and_then(|()| file.sync_all());
        let written = written.and_then(|()| self.rename(&unfinished, name));
        written.and_then(|()| self.sync_names()).inspect_err(|_| {
            // Renamed, or never made: nothing to remove then.
            let _ = self.remove(&unfinished);
        })
    }

    /// A file to read and write, made if it is not there; what it holds stays.
    ///
    /// # Errors
    /// A [`Distrust`], or what the operating system said.
    pub fn open_file(&self, name: &str) -> io::Result<File> {
        self.opened(name, libc::O_RDWR | libc::O_CREAT)
    }

    /// Writes a file anew, in place of whatever has its name; one that could not be written whole is taken away.
    ///
    /// # Errors
    /// What the operating system said.
    pub fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.created(name)?.write_all(bytes).inspect_err(|_| {
            // That there was no room is the error to tell; a half that cannot be removed is written over next time.
            let _ = self.remove(name);
        })
    }

    fn created(&self, name: &str) -> io::Result<File> {
        match self.remove(name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => self.opened(name, libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL),
        }
    }

    /// From now on the bytes of a file survive a power cut.
    ///
    /// # Errors
    /// What the operating system said.
    pub fn sync(&self, name: &str) -> io::Result<()> {
        self.opened(name, libc::O_RDONLY)?.sync_all()
    }

    /// Gives a file another name, in place of one that has it.
    ///
    /// # Errors
    /// What the operating system said.
    pub fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        rename_in(&self.handle, OsStr::new(from), OsStr::new(to))
    }

    /// Makes a folder in it, for this user alone.
    ///
    /// # Errors
    /// What the operating system said; there is one already.
    pub fn make_folder(&self, name: &str) -> io::Result<()> {
        make_folder_in(&self.handle, OsStr::new(name), FOLDER_MODE)
    }

    /// Takes a folder in it away with all that it holds, if there is one.
    ///
    /// # Errors
    /// What the operating system said.
    pub fn remove_folder(&self, name: &str) -> io::Result<()> {
        match fs::remove_dir_all(self.path.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Takes away what processes left unfinished that are gone.
    pub fn remove_deserted(&self) {
        for (name, _) in self.files().unwrap_or_default() {
            if name.contains(UNFINISHED)
                && let Some(_held) = deserted(&self.path.join(&name))
            {
                // Another who came at the same time may have been faster.
                let _ = self.remove(&name);
            }
        }
    }

    /// Takes a file away.
    ///
    /// # Errors
    /// What the operating system said.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        remove_in(&self.handle, OsStr::new(name))
    }

    /// From now on the names survive a power cut.
    ///
    /// # Errors
    /// What the operating system said.
    pub fn sync_names(&self) -> io::Result<()> {
        // The handle was opened for its place only, and cannot be synced itself.
        open_in(&self.handle, OsStr::new("."), libc::O_RDONLY | libc::O_DIRECTORY, 0)?.sync_all()
    }
}

fn top() -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_PATH | libc::O_DIRECTORY).open("/")
}

fn parts(path: &Path) -> impl Iterator<Item = OsString> + '_ {
    path.components()
        .rev()
        .filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir))
        .map(|part| part.as_os_str().to_owned())
}

/// Opens a path part by part and judges each; makes folders that are missing if `makes`, and follows a link in the last
/// place if `follows_last`.
fn walk(path: &Path, makes: bool, follows_last: bool) -> io::Result<(File, Judge)> {
    let judge = Judge::of_process();
    let path = std::path::absolute(path)?;
    let mut waiting: Vec<OsString> = parts(&path).collect();
    let (mut here, mut shown, mut links) = (top()?, PathBuf::from("/"), 0);
    let of_top = if waiting.is_empty() { Part::Itself } else { Part::Above };
    judge.judge(&shown, &here.metadata()?, of_top)?;
    while let Some(name) = waiting.pop() {
        let there = match open_in(&here, &name, libc::O_PATH, 0) {
            Err(error) if makes && error.kind() == io::ErrorKind::NotFound => made(&here, &name)?,
            opened => opened?,
        };
        let (about, part) = (there.metadata()?, if waiting.is_empty() { Part::Itself } else { Part::Above });
        let place = shown.join(&name);
        if about.is_symlink() {
            links += 1;
            if (part == Part::Itself && !follows_last) || links > LINKS_MAX {
                return Err(Distrust::Link(place).into());
            }
            if !judge.trusts_owner(about.uid(), part) {
                return Err(Distrust::Owner { path: place, owner: about.uid() }.into());
            }
            let target = PathBuf::from(link_target(&there)?);
            if target.is_absolute() {
                (here, shown) = (top()?, PathBuf::from("/"));
            }
            waiting.extend(parts(&target));
            continue;
        }
        if part == Part::Above && !about.is_dir() {
            return Err(Distrust::Kind(place, "folder").into());
        }
        judge.judge(&place, &about, part)?;
        (here, shown) = (there, place);
    }
    Ok((here, judge))
}

/// A folder that was missing, by us or by somebody who was faster: it is judged like any other.
fn made(above: &File, name: &OsStr) -> io::Result<File> {
    match make_folder_in(above, name, FOLDER_MODE) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => open_in(above, name, libc::O_PATH, 0),
    }
}

/// The longest target of a link, `PATH_MAX` of include/uapi/linux/limits.h.
const LINK_BYTES_MAX: usize = 4096;

fn c_text(name: &OsStr) -> io::Result<CString> {
    CString::new(name.as_bytes()).map_err(|_| io::ErrorKind::InvalidInput.into())
}

/// Opens a name in a folder that is held open, as all below: no path is resolved, so nobody can put another folder in its place. A link
/// is never followed.
fn open_in(folder: &File, name: &OsStr, flags: libc::c_int, mode: libc::mode_t) -> io::Result<File> {
    let name = c_text(name)?;
    let flags = flags | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    // SAFETY: the name ends with a NUL and is only read; the folder is open as long as this borrows it.
    let opened = unsafe { libc::openat(folder.as_raw_fd(), name.as_ptr(), flags, libc::c_uint::from(mode)) };
    owned(opened).map(File::from)
}

/// Makes a folder.
fn make_folder_in(folder: &File, name: &OsStr, mode: libc::mode_t) -> io::Result<()> {
    let name = c_text(name)?;
    // SAFETY: as in `open_in`.
    done(unsafe { libc::mkdirat(folder.as_raw_fd(), name.as_ptr(), mode) })
}

/// Takes a file away.
fn remove_in(folder: &File, name: &OsStr) -> io::Result<()> {
    let name = c_text(name)?;
    // SAFETY: as in `open_in`.
    done(unsafe { libc::unlinkat(folder.as_raw_fd(), name.as_ptr(), 0) })
}

/// Gives a file another name in the same folder, in place of one that has it.
fn rename_in(folder: &File, from: &OsStr, to: &OsStr) -> io::Result<()> {
    let (from, to) = (c_text(from)?, c_text(to)?);
    let folder = folder.as_raw_fd();
    // SAFETY: as in `open_in`, for both names.
    done(unsafe { libc::renameat(folder, from.as_ptr(), folder, to.as_ptr()) })
}

/// Where a link leads that is itself held open.
fn link_target(link: &File) -> io::Result<OsString> {
    let mut target = vec![0_u8; LINK_BYTES_MAX];
    // SAFETY: an empty name means the link itself (readlinkat(2)); the kernel fills at most the length given.
    let length = unsafe {
        libc::readlinkat(link.as_raw_fd(), c"".as_ptr(), target.as_mut_ptr().cast(), LINK_BYTES_MAX)
    };
    target.truncate(number(length)?);
    Ok(OsString::from_vec(target))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn distrust<T>(result: io::Result<T>) -> String {
        match result {
            Ok(_) => "trusted".to_owned(),
            Err(error) if is_distrust(&error) => error.to_string(),
            Err(error) => panic!("{error}"),
        }
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).expect("it is ours");
    }

    #[test]
    fn what_others_may_write_is_not_trusted_unless_it_is_sticky_and_above() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (above, state) = (folder.path().join("above"), folder.path().join("above/state"));
        fs::create_dir_all(&state).expect("folders");
        for (mode_above, mode, expected) in [
            (0o755, 0o755, "trusted"),
            (0o1777, 0o700, "trusted"),
            (0o777, 0o700, "may write to"),
            (0o755, 0o757, "may write to"),
            (0o755, 0o1777, "may write to"),
        ] {
            set_mode(&above, mode_above);
            set_mode(&state, mode);
            let found = distrust(TrustedFolder::open(&state));
            assert!(found.contains(expected), "{mode_above:o} {mode:o}: {found}");
        }
    }

    #[test]
    fn links_are_followed_above_the_folder_and_nowhere_else() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let base = folder.path();
        fs::create_dir_all(base.join("real/state")).expect("folders");
        symlink("real", base.join("link")).expect("a link");
        symlink("../real/state", base.join("real/other")).expect("a link");
        symlink("circle", base.join("circle")).expect("a link");
        assert_eq!(distrust(TrustedFolder::open(&base.join("link/state"))), "trusted");
        assert_eq!(distrust(TrustedFolder::open(&base.join("link/../real/state"))), "trusted");
        for link in ["real/other", "link", "circle/state"] {
            assert!(distrust(TrustedFolder::open(&base.join(link))).contains("is a symbolic link"), "{link}");
        }
        let state = TrustedFolder::open_or_make(&base.join("link/new/state")).expect("made");
        fs::write(base.join("victim"), "kept").expect("a file");
        symlink(base.join("victim"), base.join("real/new/state/lock")).expect("a link");
        assert!(distrust(state.open_file("lock")).contains("is a symbolic link"));
        assert!(distrust(state.read("lock")).contains("is a symbolic link"));
        state.write("lock", b"ours").expect("in place of the link");
        assert_eq!(fs::read(base.join("victim")).expect("still there"), b"kept");
        assert_eq!(state.read("lock").expect("readable"), Some(b"ours".to_vec()));
    }

    #[test]
    fn what_is_no_file_is_not_opened_and_others_may_not_have_written_one() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let state = TrustedFolder::open(folder.path()).expect("ours");
        fs::create_dir(folder.path().join("a")).expect("a folder");
        assert!(distrust(state.read("a")).contains("is not a regular file"));
        fs::write(folder.path().join("b"), "x").expect("a file");
        set_mode(&folder.path().join("b"), 0o646);
        assert!(distrust(state.read("b")).contains("other users may write to"));
        assert!(distrust(TrustedFolder::open(&folder.path().join("b"))).contains("may write to"));
        set_mode(&folder.path().join("b"), 0o644);
        assert!(distrust(TrustedFolder::open(&folder.path().join("b"))).contains("is not a folder"));
        assert!(distrust(TrustedFolder::open(&folder.path().join("b/c"))).contains("is not a folder"));
        assert_eq!(state.read("c").expect("absent is a value"), None);
    }

    #[test]
    fn a_private_group_is_its_user_and_roots_group_is_not_root() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        set_mode(folder.path(), 0o770);
        let about = fs::metadata(folder.path()).expect("it is there");
        let judged = |user: u32| {
            let judge = Judge { user, unknown_user: None };
            judge.judge(folder.path(), &about, Part::Itself).map_err(|why| why.to_string())
        };
        if about.uid() == ROOT {
            assert!(judged(ROOT).is_err(), "others may be in root's group");
        }
        if about.gid() == about.uid() && about.uid() != ROOT {
            assert_eq!(judged(about.uid()), Ok(()));
        }
    }

    #[test]
    fn users_that_a_namespace_does_not_know_may_own_what_is_above_only() {
        for (map, expected) in [
            ("", true),
            ("         0          0 4294967295", true),
            ("         0       1000          1", false),
            ("0 1000 1\n1 100000 65536", false),
        ] {
            assert_eq!(knows_all_users(map), expected, "{map}");
        }
        let judge = Judge { user: 1000, unknown_user: Some(65_534) };
        assert!(judge.trusts_owner(65_534, Part::Above) && !judge.trusts_owner(65_534, Part::Itself));
    }
}

//! A tarball of a machine, decoded into memory within limits.
//!
//! Only what describes a machine is kept (`proc`, `sys`, `dev`, `cgroup`, `run`, CPUID dumps), and every amount
//! an archive decides about is bounded: bytes of one file, bytes kept, bytes decoded, number and depth of names.

use std::collections::{BTreeSet, HashMap};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use super::{FILE_BYTES_MAX, Look, RootError, dump_cpu, hwloc};
use crate::plain_file::open_plain;

/// The most bytes kept in memory of all files of an archive.
const KEPT_BYTES_MAX: u64 = 64 << 20;
const KEPT_LIMIT: &str = "64 MiB in files of a machine";
/// What [`FILE_BYTES_MAX`] is called of a topology.
const XML_LIMIT: &str = "8 MiB of XML";

/// The most bytes decoded: a tree of 256 CPUs with its device tree decodes to 15 MiB.
const DECODED_BYTES_MAX: u64 = 256 << 20;
const DECODED_LIMIT: &str = "256 MiB when unpacked";

/// The most names kept; a tree of 256 CPUs has 16,000.
const NAMES_MAX: usize = 500_000;
const NAMES_LIMIT: &str = "500,000 files";

/// The longest path kept, as the kernel's `PATH_MAX` (include/uapi/linux/limits.h).
const PATH_BYTES_MAX: usize = 4096;

/// The folders that describe a machine, `cpuid` for dumps beside them, `msr` for registers and the file `dmesg`.
const KEPT_FOLDERS: [&str; 8] = ["proc", "sys", "dev", "cgroup", "run", "cpuid", "msr", "dmesg"];

/// How far below the top the kept folders may lie: `<top>/fsroot/sys`.
const KEPT_DEPTH_MAX: usize = 3;

/// The offset of `ustar` in the first header of a tarball. POSIX.1-1988, pax: ustar Interchange Format.
const USTAR_OFFSET_BYTES: usize = 257;

#[derive(Debug)]
enum Entry {
    File(Vec<u8>),
    Directory(BTreeSet<String>),
    Link(String),
}

/// The kept files of one archive by their path in it; folders know the names they hold.
#[derive(Debug, Default)]
pub(super) struct Archive {
    entries: HashMap<String, Entry>,
    kept_bytes: u64,
}

/// The bytes of the tarball at `path`; its first bytes show how it is compressed.
pub(super) fn decoded(path: &Path) -> Result<Box<dyn Read + Send>, RootError> {
    let unreadable = RootError::unreadable(path);
    let mut file = open_plain(path).map_err(&unreadable)?;
    let mut start = Vec::new();
    (&mut file).take(512).read_to_end(&mut start).map_err(&unreadable)?;
    file.seek(SeekFrom::Start(0)).map_err(&unreadable)?;
    let file = BufReader::new(file);
    let decoded: Box<dyn Read + Send> = match start.as_slice() {
        [0x1f, 0x8b, ..] => Box::new(flate2::read::MultiGzDecoder::new(file)),
        [b'B', b'Z', b'h', ..] => Box::new(bzip2::read::MultiBzDecoder::new(file)),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Box::new(
            ruzstd::decoding::StreamingDecoder::new(file)
                .map_err(|error| RootError::damaged(path, &io::Error::other(error.to_string())))?,
        ),
        plain if plain.get(USTAR_OFFSET_BYTES..).is_some_and(|rest| rest.starts_with(b"ustar")) => {
            Box::new(file)
        }
        _ => return Err(RootError::NotAnArchive { path: path.to_owned() }),
    };
    Ok(decoded)
}

/// Decodes the tarball at `path` and keeps what describes a machine; an hwloc topology in XML becomes the files that say the same.
pub(super) fn open(path: &Path) -> Result<Archive, RootError> {
    let mut archive = Archive::empty();
    let filled = match decoded(path) {
        Err(RootError::NotAnArchive { .. }) if hwloc::is_topology(path) => archive.fill_from_xml(path),
        decoded => {
            let bounded = Bounded { inner: decoded?, left: DECODED_BYTES_MAX };
            archive.fill(Prefetch::start(bounded).map_err(RootError::unreadable(path))?)
        }
    };
    filled.map_err(|stop| match stop {
        Stop::Limit(limit) => RootError::TooLarge { path: path.to_owned(), limit },
        Stop::Damaged(error) => RootError::damaged(path, &error),
    })?;
    Ok(archive)
}

/// Why decoding ended early.
enum Stop {
    Limit(&'static str),
    Damaged(io::Error),
}

impl From<String> for Stop {
    fn from(reason: String) -> Self {
        Self::Damaged(io::Error::other(reason))
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::FileTooLarge => Self::Limit(DECODED_LIMIT),
            _ => Self::Damaged(error),
        }
    }
}

impl Archive {
    fn empty() -> Self {
        let top = (String::new(), Entry::Directory(BTreeSet::new()));
        Self { entries: HashMap::from([top]), kept_bytes: 0 }
    }

    /// Keeps what describes a machine of a decoded tar stream.
    fn fill(&mut self, decoded: impl Read) -> Result<(), Stop> {
        let mut tarball = tar::Archive::new(decoded);
        for entry in tarball.entries()? {
            let mut entry = entry?;
            let Some(path) = kept_path(&entry.path_bytes()) else { continue };
            let kind = entry.header().entry_type();
            let content = if kind.is_dir() {
                Entry::Directory(BTreeSet::new())
            } else if kind.is_symlink() || kind.is_hard_link() {
                let target = entry.link_name_bytes().unwrap_or_default();
                let target = String::from_utf8_lossy(&target);
                // A hard link is another name of an earlier file of the archive: read like a link from the top.
                let climb = if kind.is_hard_link() { path.matches('/').count() } else { 0 };
                Entry::Link(format!("{}{target}", "../".repeat(climb)))
            } else if kind.is_file() {
                let mut bytes = Vec::new();
                (&mut entry).take(FILE_BYTES_MAX).read_to_end(&mut bytes)?;
                Entry::File(bytes)
            } else {
                continue;
            };
            self.keep(path, content)?;
        }
        Ok(())
    }

    /// Keeps what a topology in XML describes.
    fn fill_from_xml(&mut self, path: &Path) -> Result<(), Stop> {
        let mut bytes = Vec::new();
        open_plain(path)?.take(FILE_BYTES_MAX).read_to_end(&mut bytes)?;
        if bytes.len() as u64 >= FILE_BYTES_MAX {
            return Err(Stop::Limit(XML_LIMIT));
        }
        hwloc::files(&String::from_utf8_lossy(&bytes), &mut |path, text| {
            self.keep(path, Entry::File(text.into_bytes()))
        })
    }

    /// Adds one name within limits.
    fn keep(&mut self, path: String, content: Entry) -> Result<(), Stop> {
        if let Entry::File(bytes) = &content {
            self.kept_bytes += bytes.len() as u64;
        }
        if self.kept_bytes > KEPT_BYTES_MAX {
            return Err(Stop::Limit(KEPT_LIMIT));
        }
        self.insert(path, content);
        if self.entries.len() > NAMES_MAX { Err(Stop::Limit(NAMES_LIMIT)) } else { Ok(()) }
    }

    /// Adds one name and the folders above it; one that lies below a file or a link is dropped.
    fn insert(&mut self, path: String, content: Entry) {
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", &path));
        let mut missing = Vec::new();
        let (mut folder, mut child) = (parent, name);
        loop {
            match self.entries.get_mut(folder) {
                Some(Entry::Directory(names)) => {
                    names.insert(child.to_owned());
                    break;
                }
                Some(_) => return,
                None => missing.push((folder, child)),
            }
            (folder, child) = folder.rsplit_once('/').unwrap_or(("", folder));
        }
        for (folder, child) in missing {
            self.entries.insert(folder.to_owned(), Entry::Directory(BTreeSet::from([child.to_owned()])));
        }
        let is_folder = matches!(self.entries.get(&path), Some(Entry::Directory(_)));
        if !is_folder {
            self.entries.insert(path, content);
        }
    }

    /// True if the path is a kept file or folder, reached without a link.
    pub(super) fn is_direct(&self, path: &str) -> bool {
        matches!(self.entries.get(path), Some(Entry::File(_) | Entry::Directory(_)))
    }

    /// What the name is.
    pub(super) fn look(&self, path: &str) -> Look {
        match self.entries.get(path) {
            None => Look::Missing,
            Some(Entry::File(_)) => Look::File,
            Some(Entry::Directory(_)) => Look::Directory,
            Some(Entry::Link(target)) => Look::Link(target.clone()),
        }
    }

    /// The bytes of a kept file.
    pub(super) fn read(&self, path: &str) -> Option<&[u8]> {
        match self.entries.get(path) {
            Some(Entry::File(bytes)) => Some(bytes),
            _ => None,
        }
    }

    /// The names in a folder, sorted.
    pub(super) fn list(&self, path: &str) -> Vec<String> {
        match self.entries.get(path) {
            Some(Entry::Directory(names)) => names.iter().cloned().collect(),
            _ => Vec::new(),
        }
    }
}

/// The path under which an entry is kept: without `.` and leading slashes; `None` if it is of no use here.
fn kept_path(raw: &[u8]) -> Option<String> {
    if raw.len() > PATH_BYTES_MAX {
        return None;
    }
    let text = String::from_utf8_lossy(raw);
    let names: Vec<&str> = text.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
    let is_dump = names.last().is_some_and(|name| dump_cpu(name).is_some());
    let is_kept = names.iter().take(KEPT_DEPTH_MAX).any(|name| KEPT_FOLDERS.contains(name));
    let is_top = names.len() == 1;
    (!names.contains(&"..") && !names.is_empty() && (is_kept || is_dump || is_top)).then(|| names.join("/"))
}

/// A reader that fails after so many bytes: a small archive can decode to petabytes.
struct Bounded<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let count = self.inner.read(&mut buffer[..most])?;
        self.left -= count as u64;
        Ok(count)
    }
}

/// How much is decoded at a time.
const CHUNK_BYTES: usize = 256 << 10;

/// How many chunks may wait to be read.
const CHUNKS_AHEAD: usize = 4;

/// What another thread has read so far. Dropping it ends that thread.
pub(super) struct Prefetch {
    chunks: Receiver<io::Result<Vec<u8>>>,
    chunk: Vec<u8>,
    position_bytes: usize,
}

impl Prefetch {
    /// Starts reading `inner`; fails where no thread can be had.
    pub(super) fn start(inner: impl Read + Send + 'static) -> io::Result<Self> {
        let (sender, chunks) = sync_channel(CHUNKS_AHEAD);
        std::thread::Builder::new().name("decode".to_owned()).spawn(move || fill(inner, &sender))?;
        Ok(Self { chunks, chunk: Vec::new(), position_bytes: 0 })
    }
}

/// Sends chunk after chunk until the end, an error, or nobody listens.
fn fill(mut inner: impl Read, sender: &SyncSender<io::Result<Vec<u8>>>) {
    loop {
        let mut chunk = Vec::with_capacity(CHUNK_BYTES);
        let outcome = (&mut inner).take(CHUNK_BYTES as u64).read_to_end(&mut chunk);
        let is_over = outcome.is_err() || chunk.is_empty();
        // What was decoded before an error is of use: the archive may have ended there.
        if !chunk.is_empty() && sender.send(Ok(chunk)).is_err() {
            return;
        }
        if let Err(error) = outcome
            && sender.send(Err(error)).is_err()
        {
            return;
        }
        if is_over {
            return;
        }
    }
}

impl Read for Prefetch {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.position_bytes == self.chunk.len() {
            match self.chunks.recv() {
                Ok(chunk) => self.chunk = chunk?,
                // The sender is gone: the stream has ended.
                Err(_) => return Ok(0),
            }
            self.position_bytes = 0;
        }
        let count = (&self.chunk[self.position_bytes..]).read(buffer)?;
        self.position_bytes += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Broken;

    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::ErrorKind::FileTooLarge.into())
        }
    }

    #[test]
    fn what_is_read_ahead_is_what_was_there_and_errors_come_in_their_place() {
        let bytes: Vec<u8> = (0..CHUNK_BYTES * 3 + 17).map(|index| (index % 251) as u8).collect();
        let mut read = Vec::new();
        Prefetch::start(io::Cursor::new(bytes.clone()))
            .expect("a thread")
            .read_to_end(&mut read)
            .expect("bytes");
        assert!(read == bytes);

        let mut read = Vec::new();
        let error = Prefetch::start(io::Cursor::new(vec![7; 10]).chain(Broken))
            .expect("a thread")
            .read_to_end(&mut read)
            .expect_err("an error");
        assert_eq!((read.len(), error.kind()), (10, io::ErrorKind::FileTooLarge));
    }
}

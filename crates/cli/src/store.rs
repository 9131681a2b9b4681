//! Records on disk: a new folder per run, written whole, and read back with one clear line when that fails.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use host::live::{
    create_atomically, create_directory_anew, make_folders, make_folders_below, utc_now, write_atomically,
};
use host::{NotPlain, TrustedFolder, read_plain};
use record::{Encoding, Record, decode, encode};
use toggles::Place;

use crate::outcome::cannot;

/// Names of the record in a folder, in the order they are looked for.
const RECORD_NAMES: [&str; 2] = ["record.json", "record.json.zst"];

/// The name of the report beside it.
const REPORT_NAME: &str = "report.html";

/// More runs of one node than this within one second are not runs.
const RUNS_OF_ONE_SECOND: u32 = 1000;
/// What the user's mask leaves of it: whoever judges a fleet may be another user than whoever measured.
const RECORD_MODE: u32 = 0o666;

/// Where one run is written.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    record: PathBuf,
    encoding: Encoding,
}

impl Folder {
    /// Makes the folder before anything is measured: a run that cannot be kept should not start. A folder that the
    /// user named may exist as long as it holds no run; nothing is ever overwritten.
    pub(crate) fn create(asked: Option<&Path>, zstd: bool) -> anyhow::Result<Self> {
        let encoding = if zstd { Encoding::Zstd } else { Encoding::Json };
        let Some(asked) = asked else {
            return Ok(Self::of_run(new_folder()?, encoding));
        };
        prepare(asked, &[RECORD_NAMES[0], RECORD_NAMES[1], REPORT_NAME])?;
        Ok(Self::of_run(asked.to_owned(), encoding))
    }

    /// The same for one document that is no record.
    pub(crate) fn of_document(asked: &Path, name: &str) -> anyhow::Result<Self> {
        prepare(asked, &[name])?;
        Ok(Self { path: asked.to_owned(), record: asked.join(name), encoding: Encoding::Json })
    }

    fn of_run(path: PathBuf, encoding: Encoding) -> Self {
        let name = match encoding {
            Encoding::Json => RECORD_NAMES[0],
            Encoding::Zstd => RECORD_NAMES[1],
        };
        Self { record: path.join(name), path, encoding }
    }

    /// The folder of a node below a drop directory, with a file for this run that nobody else has: the record as it was begun is in
    /// it, so that a node which dies at once leaves that.
    ///
    /// # Errors
    /// A folder that cannot be made or written.
    pub(crate) fn in_drop(drop: &Path, node: &str, name: &str, begun: &Record) -> anyhow::Result<Self> {
        let path = make_folders_below(drop, node)?;
        let bytes = encode(begun, Encoding::Zstd)?;
        for number in 1..RUNS_OF_ONE_SECOND {
            // Two runs of one node within a second: both are kept.
            let numbered = if number == 1 { name.to_owned() } else { format!("{name}-{number}") };
            let record = path.join(numbered + fleet::node::ENDING);
            if create_atomically(&record, &bytes, RECORD_MODE)? {
                return Ok(Self { path, record, encoding: Encoding::Zstd });
            }
        }
        anyhow::bail!("{} holds too many runs of this second; start fewer at once", path.display())
    }

    /// Where the record goes.
    pub(crate) fn record_path(&self) -> PathBuf {
        self.record.clone()
    }

    /// Where the report goes.
    pub(crate) fn report_path(&self) -> PathBuf {
        self.path.join(REPORT_NAME)
    }

    /// Writes the record, replacing the one of an earlier step of this run. When there is no room for it, the raw
    /// windows are left out and the record says so; the error is still returned. A record that could not be read again
    /// is not written.
    pub(crate) fn write_record(&self, record: &Record) -> anyhow::Result<()> {
        let write = |bytes: &[u8]| -> anyhow::Result<()> { Ok(write_atomically(&self.record, bytes)?) };
        let Err(error) = write(&encode(record, self.encoding)?) else { return Ok(()) };
        let partial = Some(format!("the raw windows are left out: {error}"));
        let smaller = Record { partial, ..record.clone().without_raw() };
        match write(&encode(&smaller, self.encoding)?) {
            Ok(()) => Err(error.context("the record was written without its raw windows")),
            Err(_) => Err(error),
        }
    }

    /// Writes a document that is no record.
    pub(crate) fn write_document(&self, text: &str) -> anyhow::Result<()> {
        Ok(write_atomically(&self.record, text.as_bytes()).inspect_err(|_| self.remove_if_empty())?)
    }

    /// Writes the report.
    pub(crate) fn write_report(&self, html: &str) -> anyhow::Result<()> {
        Ok(write_atomically(&self.report_path(), html.as_bytes())?)
    }

    /// Removes the folder if nothing was written to it.
    pub(crate) fn remove_if_empty(&self) {
        // Not empty is the normal case, and then it stays.
        let _ = fs::remove_dir(&self.path);
    }
}

/// A folder of what is kept from one command to the next, below the state of this user unless another is named. Its files are judged
/// like all that is trusted.
#[derive(Debug)]
pub(crate) struct KeptFolder {
    path: PathBuf,
}

impl KeptFolder {
    /// That of this name, or the one that was named.
    pub(crate) fn below(name: &str, named: Option<&Path>) -> Self {
        Self { path: named.map_or_else(|| Place::of_user().state.join(name), Path::to_owned) }
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The folder, made if it is not there.
    ///
    /// # Errors
    /// It cannot be made, or another user could write to it.
    pub(crate) fn made(&self) -> anyhow::Result<TrustedFolder> {
        TrustedFolder::open_or_make(&self.path).map_err(|why| self.unusable(why))
    }

    /// The folder; `None` where nobody has begun it.
    ///
    /// # Errors
    /// As for `made`.
    pub(crate) fn begun(&self) -> anyhow::Result<Option<TrustedFolder>> {
        match TrustedFolder::open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            opened => opened.map(Some).map_err(|why| self.unusable(why)),
        }
    }

    /// That it cannot be used.
    pub(crate) fn unusable(&self, why: io::Error) -> anyhow::Error {
        cannot("use", &self.path, why)
    }
}

/// Makes a folder that is called by the present time.
pub(crate) fn new_folder() -> anyhow::Result<PathBuf> {
    let time: String = utc_now().chars().filter(|character| !matches!(character, '-' | ':')).collect();
    Ok(create_directory_anew(Path::new(&format!("sidestep-{time}")))?)
}

/// Makes the folder of --record, in which none of these files is: nothing is ever overwritten.
fn prepare(folder: &Path, names: &[&str]) -> anyhow::Result<()> {
    make_folders(folder)?;
    match names.iter().find(|name| folder.join(name).symlink_metadata().is_ok()) {
        Some(name) => {
            anyhow::bail!("{} already holds {name}; choose another place with --record DIR", folder.display())
        }
        None => Ok(()),
    }
}

/// Reads a record, or the one in a folder.
pub(crate) fn load(path: &Path) -> anyhow::Result<Record> {
    let (file, bytes) = read(path)?;
    decode(&bytes).with_context(|| format!("cannot use {}", file.display()))
}

/// The record in a folder, if there is one.
fn record_in(folder: &Path) -> Option<PathBuf> {
    RECORD_NAMES.iter().map(|name| folder.join(name)).find(|candidate| candidate.exists())
}

/// Whether a path is the folder of a run, or called like a record.
pub(crate) fn is_record(path: &Path) -> bool {
    let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    record_in(path).is_some() || [".json", ".json.zst"].iter().any(|ending| name.ends_with(ending))
}

/// The bytes of a file, or of the record in a folder, with the path of that file.
pub(crate) fn read(path: &Path) -> anyhow::Result<(PathBuf, Vec<u8>)> {
    let file = if path.is_dir() {
        record_in(path).with_context(|| {
            format!("{} holds no record.json; name a record or the folder of a run", path.display())
        })?
    } else {
        path.to_owned()
    };
    let bytes = read_bounded(&file, RECORD_BYTES_MAX, "record")?;
    Ok((file, bytes))
}

/// A full run of a 256-CPU machine stays under 100 MiB.
const RECORD_BYTES_MAX: u64 = 512 << 20;

/// Reads a regular file of at most `bytes_max` that should hold a `what`: a device or a pipe may have no end, and a file may grow while it is read
/// or be larger than it says.
pub(crate) fn read_bounded(file: &Path, bytes_max: u64, what: &str) -> anyhow::Result<Vec<u8>> {
    read_plain(file, bytes_max).map_err(|why| {
        let name = file.display();
        match why.get_ref().and_then(|why| why.downcast_ref()) {
            Some(NotPlain::Kind) => anyhow::anyhow!("{name} is not a regular file; name a {what}"),
            Some(NotPlain::Large(most)) => {
                anyhow::anyhow!("{name} is larger than any {what}, {most}; name a {what}")
            }
            None => anyhow::Error::new(why).context(format!("cannot read {name}, which should be a {what}")),
        }
    })
}

/// The same of text.
pub(crate) fn read_text(file: &Path, bytes_max: u64, what: &str) -> anyhow::Result<String> {
    let bytes = read_bounded(file, bytes_max, what)?;
    String::from_utf8(bytes).with_context(|| format!("{} is not UTF-8 text; name a {what}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_regular_file_is_not_read() {
        let error = read_bounded(&std::env::temp_dir(), 1, "record").expect_err("a folder is no record");
        assert!(error.to_string().contains("not a regular file"), "{error}");
    }

    #[test]
    fn a_file_is_read_up_to_a_limit_whatever_size_it_claims() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let file = directory.path().join("record.json");
        fs::write(&file, vec![b'x'; 4097]).expect("writable");
        assert_eq!(read_bounded(&file, 4097, "record").expect("as large as allowed").len(), 4097);
        let error = read_bounded(&file, 4096, "record").expect_err("one byte too many");
        assert!(error.to_string().contains("larger than any record, 4 KiB"), "{error}");
    }

    #[test]
    fn a_document_that_cannot_be_written_leaves_no_folder() {
        let above = tempfile::tempdir().expect("a temporary folder");
        let path = above.path().join("kept");
        // No file system takes a name of more than 255 bytes: Linux, include/uapi/linux/limits.h.
        let folder = Folder::of_document(&path, &"n".repeat(300)).expect("a folder");
        assert!(path.is_dir() && folder.write_document("1").is_err());
        assert!(above.path().exists() && !path.exists());
    }
}

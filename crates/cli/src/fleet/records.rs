//! Every record below a drop directory, read on all CPUs and handed on in the order of the files.
//!
//! Others may write to the directory meanwhile: what is half written, no record, or a second copy of one is named and left out.

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::thread;

use fleet::rows::{Flattened, Names, Origin, flatten};
use host::live::start_thread;
use record::{FLEET_ROWS_SCHEMA, FleetRows, UnreadFile, decode};

use crate::store;

/// Records that one thread reads before what it made is taken: some megabytes.
const RECORDS_AT_A_TIME: usize = 32;
/// More threads wait for the disk.
const THREADS_MAX: usize = 16;
/// A record without its raw windows has under a megabyte; with them, of many CPUs, a hundred times that.
const RECORD_BYTES_MAX: u64 = 512 << 20;
/// `DROP/3f/n1/FILE` is two deep; whoever collects several drops adds a few.
const DEPTH_MAX: usize = 8;
/// What records are called.
const ENDINGS: [&str; 2] = [".json", ".json.zst"];
/// What a record is called before it is whole.
const UNFINISHED: &str = ".tmp";

/// Lays every record flat, on all CPUs, and hands the rows on in the order of the files.
///
/// # Errors
/// The directory cannot be listed, holds no record, or what `take` says.
pub(super) fn each(
    drop: &Path,
    mut take: impl FnMut(Flattened) -> anyhow::Result<()>,
) -> anyhow::Result<FleetRows> {
    let (files, mut unread) = found_below(drop)?;
    let mut rows = FleetRows { schema: FLEET_ROWS_SCHEMA, ..FleetRows::default() };
    let (mut names, mut runs) = (Names::default(), BTreeMap::new());
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(THREADS_MAX);
    for some in files.chunks(RECORDS_AT_A_TIME * threads) {
        for (file, read) in some.iter().zip(all_read(some)) {
            let name = file.name.clone();
            let read = read.and_then(|flat| {
                let run = (flat.node.node.clone(), flat.node.run_id.clone());
                if let Some(first) = runs.get(&run) {
                    return Err(format!("the same run as {first}"));
                }
                runs.insert(run, name.clone());
                Ok(flat)
            });
            match read {
                Err(reason) => unread.push(UnreadFile { file: name, reason }),
                Ok(flat) => {
                    names.add(&flat.node);
                    rows.records += 1;
                    rows.partial += u64::from(flat.node.partial.is_some());
                    rows.metrics += flat.node.metrics;
                    rows.states += flat.states.len() as u64;
                    take(flat)?;
                }
            }
        }
    }
    unread.sort_by(|a, b| a.file.cmp(&b.file));
    let first = unread.first().map_or_else(String::new, |one| format!("; {}: {}", one.file, one.reason));
    anyhow::ensure!(
        rows.records > 0,
        "{} holds no record that can be read{first}; name the directory of sidestep run --drop",
        drop.display()
    );
    rows.nodes = names.count() as u64;
    rows.ambiguous = names.ambiguous();
    Ok(FleetRows { unread, ..rows })
}

/// Reads files on all CPUs; results stand in the order of the files.
fn all_read(files: &[RecordFile]) -> Vec<Result<Flattened, String>> {
    let part = |files: &[RecordFile]| files.iter().map(read).collect::<Vec<_>>();
    let mut parts = files.chunks(RECORDS_AT_A_TIME);
    let Some(own) = parts.next() else { return Vec::new() };
    thread::scope(|scope| {
        let started: Vec<_> = parts
            .map(|files| (files, start_thread(scope, "a reader of records", move || part(files))))
            .collect();
        let mut read = part(own);
        for (files, thread) in started {
            // Where no thread may be started, this one does its work.
            let others = thread.ok().map(|thread| thread.join().expect("a reader does not panic"));
            read.extend(others.unwrap_or_else(|| part(files)));
        }
        read
    })
}

/// The rows of one file, or why it gives none.
fn read(file: &RecordFile) -> Result<Flattened, String> {
    let bytes = store::read_bounded(&file.path, RECORD_BYTES_MAX, "record")
        .map_err(|why| why.root_cause().to_string())?;
    let mut record = decode(&bytes).map_err(|why| why.to_string())?;
    // A run that was killed has no levels yet; they name the families of metrics.
    diagnosis::name_levels(&mut record);
    flatten(&record, Origin { file: &file.name, node: &file.node }).map_err(|why| why.to_string())
}

/// A file that is called like a record.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct RecordFile {
    /// Its path below the drop directory, as text.
    name: String,
    /// Where it is.
    path: PathBuf,
    /// The name of the folder that holds it: the node, if the record does not say.
    node: String,
}

/// The files that are called like records, by name, and those that are known to be none.
///
/// # Errors
/// The directory cannot be listed. A folder below it that cannot is a file that gives no rows.
fn found_below(drop: &Path) -> anyhow::Result<(Vec<RecordFile>, Vec<UnreadFile>)> {
    let mut walk = Walk { drop, found: Vec::new(), unread: Vec::new() };
    if let Err(why) = fs::read_dir(drop) {
        let line = format!("cannot list {}: {why}; name a drop directory", drop.display());
        return Err(anyhow::Error::new(why).context(line));
    }
    walk.enter(drop, 0);
    walk.found.sort();
    Ok((walk.found, walk.unread))
}

struct Walk<'d> {
    drop: &'d Path,
    found: Vec<RecordFile>,
    unread: Vec<UnreadFile>,
}

impl Walk<'_> {
    fn enter(&mut self, folder: &Path, depth: usize) {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) => return self.refuse(folder, format!("cannot be listed: {error}")),
        };
        // An entry that goes away while it is listed was never there.
        for entry in entries.filter_map(Result::ok) {
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            if name.starts_with('.') {
                continue;
            }
            let Ok(kind) = entry.file_type() else { continue };
            // Links are not followed: they may lead in circles, or out.
            if kind.is_dir() {
                if depth < DEPTH_MAX {
                    self.enter(&path, depth + 1);
                } else {
                    self.refuse(&path, format!("lies more than {DEPTH_MAX} folders deep"));
                }
            } else if ENDINGS.iter().any(|ending| name.ends_with(ending)) {
                if kind.is_file() {
                    self.take(folder, path);
                } else {
                    self.refuse(&path, "is no regular file".to_owned());
                }
            } else if name.ends_with(UNFINISHED) && name.contains(".json") {
                self.refuse(
                    &path,
                    "is half written: by a run that goes on, or was killed meanwhile".to_owned(),
                );
            }
        }
    }

    fn take(&mut self, folder: &Path, path: PathBuf) {
        let held_by = if folder == self.drop { path.file_stem() } else { folder.file_name() };
        let node = held_by.unwrap_or_default().to_string_lossy().into_owned();
        self.found.push(RecordFile { name: self.name(&path), path, node });
    }

    fn refuse(&mut self, path: &Path, reason: String) {
        self.unread.push(UnreadFile { file: self.name(path), reason });
    }

    fn name(&self, path: &Path) -> String {
        path.strip_prefix(self.drop).unwrap_or(path).to_string_lossy().into_owned()
    }
}

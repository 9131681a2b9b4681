//! The records below a drop directory, found by their names.

use std::fs;
use std::path::{Path, PathBuf};

use record::UnreadFile;

/// `DROP/3f/n1/FILE` is two deep; whoever collects several drops adds a few.
const DEPTH_MAX: usize = 8;
/// What records are called.
const ENDINGS: [&str; 2] = [".json", ".json.zst"];
/// What a record is called before it is whole.
const UNFINISHED: &str = ".tmp";

/// A file that is called like a record.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Found {
    /// Its path below the drop directory, as text.
    pub(super) name: String,
    /// Where it is.
    pub(super) path: PathBuf,
    /// The name of the folder that holds it: the node, if the record does not say.
    pub(super) node: String,
}

/// The files that are called like records, by name, and those that are known to be none.
///
/// # Errors
/// The directory cannot be listed. A folder below it that cannot is a file that gives no rows.
pub(super) fn found_below(drop: &Path) -> anyhow::Result<(Vec<Found>, Vec<UnreadFile>)> {
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
    found: Vec<Found>,
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
        self.found.push(Found { name: self.name(&path), path, node });
    }

    fn refuse(&mut self, path: &Path, reason: String) {
        self.unread.push(UnreadFile { file: self.name(path), reason });
    }

    fn name(&self, path: &Path) -> String {
        path.strip_prefix(self.drop).unwrap_or(path).to_string_lossy().into_owned()
    }
}

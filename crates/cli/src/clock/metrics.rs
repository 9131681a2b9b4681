//! Where metrics go: a file for the textfile collector of node_exporter, which is replaced as a whole.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use host::live;

use crate::output;

/// A file is written this often at most: replacing one safely waits for the disk, and scrapers come every 15 s or less often.
const FILE_PERIOD: Duration = Duration::from_secs(15);

/// A file that is kept up to date.
pub(super) struct MetricsFile {
    path: PathBuf,
    /// When it was last due and tried.
    tried: Option<Instant>,
    /// It could not be written when it was last tried, which has been said.
    fails: bool,
}

impl MetricsFile {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, tried: None, fails: false }
    }

    /// Writes the file if it is due, or for the last time. What fails in between, as on a disk that is full for a while, is
    /// said once and tried again: a watch does not end for it.
    ///
    /// # Errors
    /// A file that cannot be written the first or the last time.
    pub(super) fn write(&mut self, last: bool, text: impl FnOnce() -> String) -> anyhow::Result<()> {
        if !last && self.tried.is_some_and(|tried| tried.elapsed() < FILE_PERIOD) {
            return Ok(());
        }
        let is_first = self.tried.replace(Instant::now()).is_none();
        let written = live::write_atomically(&self.path, text().as_bytes());
        if is_first || last {
            return Ok(written?);
        }
        if written.is_err() != self.fails {
            self.fails = written.is_err();
            output::complain(&match written {
                Err(error) => format!("{error}; tried again every {} s", FILE_PERIOD.as_secs()),
                Ok(()) => format!("{} is written again", self.path.display()),
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_that_cannot_be_written_for_a_while_does_not_end_the_watch() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("there/sidestep.prom");
        let there = folder.path().join("there");
        let mut file = MetricsFile { path: path.clone(), tried: None, fails: false };
        let mut write = |last| {
            file.tried = file.tried.and_then(|tried| tried.checked_sub(FILE_PERIOD));
            let written = file.write(last, || "text".to_owned());
            (written.is_ok(), file.fails)
        };
        // The first time nobody knows yet whether the path is right.
        assert_eq!(write(false), (false, false));
        for is_there in [true, false, false, true] {
            let done = if is_there { fs::create_dir_all(&there) } else { fs::remove_dir_all(&there) };
            assert!(done.is_ok() || !is_there);
            assert_eq!(write(false), (true, !is_there));
            assert_eq!(path.exists(), is_there);
        }
        fs::remove_dir_all(&there).expect("a folder");
        assert!(!write(true).0);
    }
}

//! The files that a placement is written to: tried before minutes of runs, written when the result is printed.

use std::fmt::Display;
use std::path::Path;

use anyhow::Context;
use host::live::write_atomically;

use record::PlaceOutcome;

use crate::outcome::CouldNotMeasure;
use crate::output;

/// Matrices over more threads have no line per number: a cell takes 50 bytes, and three times as many with line breaks and blanks, which
/// would be 12 MB for 256 threads.
const THREADS_INDENTED: usize = 64;

/// The document, on one line if its matrices are large.
///
/// # Errors
/// As for `output::json_text`.
pub(super) fn json_text(found: &PlaceOutcome) -> anyhow::Result<String> {
    let threads = found.sharing.as_ref().map_or(0, |sharing| sharing.threads.len());
    if threads > THREADS_INDENTED { output::json_line(found) } else { output::json_text(found) }
}

/// Creates a file of a few bytes and removes it again.
///
/// # Errors
/// What the kernel says, with the file and the option.
pub(super) fn ensure_writable(path: &Path) -> anyhow::Result<()> {
    write_atomically(path, b"tried\n")?;
    std::fs::remove_file(path).with_context(|| format!("cannot remove {}", path.display()))
}

/// Writes a result that was printed already.
///
/// # Errors
/// As for `unlucky`.
pub(super) fn written(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    write_atomically(path, bytes).map_err(unlucky)
}

/// Bad luck, not bad input: the file could be written at the start.
pub(super) fn unlucky(error: impl Display) -> anyhow::Error {
    CouldNotMeasure::because(format!("the result is printed, but {error}"))
}

#[cfg(test)]
mod tests {
    use experiments::place::arms::Arms;
    use experiments::place::outcome::{Setting, nothing_tried};
    use record::{Sharing, SharingThread};

    use super::*;

    #[test]
    fn large_matrices_are_on_one_line_and_the_document_is_the_same() {
        let arms = Arms { plans: Vec::new(), decision: None, predicted_by: Err(String::new()) };
        for (threads, is_one_line) in [(64, false), (65, true)] {
            let threads = vec![SharingThread::default(); threads];
            let sharing = Some(Sharing { threads, ..Sharing::default() });
            let found = PlaceOutcome { sharing, ..nothing_tried(&Setting::default(), &arms, "") };
            let text = json_text(&found).expect("it can be written");
            assert_eq!(text.lines().count() == 1, is_one_line);
            assert_eq!(serde_json::from_str::<PlaceOutcome>(&text).expect("it can be read"), found);
        }
    }
}

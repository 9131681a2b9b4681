//! The files that a placement is written to: tried before minutes of runs, written when the result is printed.

use std::path::Path;

use anyhow::Context;
use host::live::write_atomically;

use crate::outcome::CouldNotMeasure;

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
/// Bad luck, not bad input: the file could be written at the start.
pub(super) fn written(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    write_atomically(path, bytes).map_err(|error| {
        anyhow::Error::new(CouldNotMeasure).context(format!("the result is printed, but {error}"))
    })
}

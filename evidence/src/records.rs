//! Saved records.

use std::fs;
use std::path::Path;

use anyhow::Context;
use record::Record;

/// The record in a file, or in the folder of a run.
///
/// # Errors
/// It cannot be read, or is none; either names it.
pub(crate) fn read(path: &Path) -> anyhow::Result<Record> {
    let file = if path.is_dir() { path.join("record.json") } else { path.to_owned() };
    let bytes = fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
    record::decode(&bytes).with_context(|| format!("cannot use {}", file.display()))
}

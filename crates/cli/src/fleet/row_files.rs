//! The files of rows: written beside their places, and put there when all are whole.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process;

use anyhow::Context;
use fleet::rows::RowForm;
use host::live::WriteError;
use record::FleetTable;

use super::rows::Taker;

/// Bytes that are written at a time.
const BUFFER_BYTES: usize = 1 << 20;

/// Files in the making.
pub(super) struct RowFiles {
    folder: PathBuf,
    form: RowForm,
    files: Vec<(FleetTable, Temporary, BufWriter<File>)>,
}

/// A file that goes when it is dropped.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        // Renamed by then, if all went well.
        let _ = fs::remove_file(&self.0);
    }
}

impl RowFiles {
    /// Makes the folder and begins every file.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn begin(folder: &Path, form: RowForm) -> anyhow::Result<Self> {
        let failed = |path: &Path, source| WriteError::File { path: path.to_owned(), source };
        fs::create_dir_all(folder)
            .map_err(|source| WriteError::Directory { path: folder.to_owned(), source })?;
        let begin = |table: FleetTable| -> anyhow::Result<_> {
            let path = folder.join(format!("{table}.{}.{}.tmp", form.ending(), process::id()));
            let file = File::create(&path).map_err(|source| failed(&path, source))?;
            let (temporary, mut file) = (Temporary(path), BufWriter::with_capacity(BUFFER_BYTES, file));
            let written = file.write_all(form.head(table).as_bytes());
            written.map_err(|source| failed(&temporary.0, source))?;
            Ok((table, temporary, file))
        };
        let files: anyhow::Result<Vec<_>> = FleetTable::ALL.into_iter().map(begin).collect();
        Ok(Self { folder: folder.to_owned(), form, files: files? })
    }

    /// Puts every file in its place.
    ///
    /// # Errors
    /// What could not be written; the files that were there stay.
    pub(super) fn finish(mut self) -> anyhow::Result<Vec<String>> {
        let failed = |path: &Path, source| WriteError::File { path: path.to_owned(), source };
        for (_, temporary, file) in &mut self.files {
            file.flush()
                .and_then(|()| file.get_ref().sync_all())
                .map_err(|source| failed(&temporary.0, source))?;
        }
        let mut names = Vec::new();
        for (table, temporary, _) in &self.files {
            let name = format!("{table}.{}", self.form.ending());
            let path = self.folder.join(&name);
            fs::rename(&temporary.0, &path).map_err(|source| failed(&path, source))?;
            names.push(name);
        }
        Ok(names)
    }
}

impl Taker for RowFiles {
    fn takes(&self, _: FleetTable) -> bool {
        true
    }

    fn take(&mut self, table: FleetTable, lines: &[u8]) -> anyhow::Result<()> {
        let of_table = self.files.iter_mut().find(|(other, ..)| *other == table);
        let (_, temporary, file) = of_table.expect("every table has a file");
        file.write_all(lines)
            .map_err(|source| WriteError::File { path: temporary.0.clone(), source })
            .context("the rows are not written")
    }
}

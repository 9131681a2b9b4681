//! The rows that a command reads: a folder of them, or a drop directory that is laid flat for the while.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use fleet::sql::RowForm;
use host::live::create_directory_anew;

use super::{check, rows};
use crate::output;

/// Where rows lie until they are read no more.
#[derive(Debug)]
pub(super) struct LaidFlat {
    /// The folder of rows.
    pub(super) folder: PathBuf,
    /// As what they are there.
    pub(super) form: RowForm,
    /// Whether the folder goes with this.
    is_temporary: bool,
}

impl LaidFlat {
    /// The rows in a folder; of a drop directory they are written to a folder for temporary files (`TMPDIR`) first.
    ///
    /// # Errors
    /// Neither rows nor records there, or no room for rows.
    pub(super) fn of(path: &Path) -> anyhow::Result<Self> {
        let missing = match check::form(path) {
            Ok(form) => return Ok(Self { folder: path.to_owned(), form, is_temporary: false }),
            Err(missing) if !path.is_dir() => return Err(missing),
            Err(missing) => missing,
        };
        let folder =
            create_directory_anew(&env::temp_dir().join(format!("sidestep-rows-{}", std::process::id())))?;
        let laid = Self { folder, form: RowForm::Ndjson, is_temporary: true };
        let found = rows::write_rows(path, &laid.folder, false)
            .map_err(|error| error.context(format!("{missing}, nor records")))?;
        if !found.unread.is_empty() {
            let count = machine::counted(found.unread.len(), "file");
            output::complain(&format!(
                "{count} gave no rows; sidestep fleet rows {} names them",
                path.display()
            ));
        }
        Ok(laid)
    }
}

impl Drop for LaidFlat {
    fn drop(&mut self) {
        if self.is_temporary {
            // What cannot be removed lies among temporary files.
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

//! `sidestep fleet rows`: every record below a drop directory as rows, in the order of their files.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process;

use anyhow::Context;
use clap::Args;
use fleet::rows::{Flattened, RowForm};
use host::live::WriteError;
use record::{FleetRows, FleetTable};

use super::records;
use crate::forms::Forms;
use crate::options::{Global, Names, one_of};
use crate::outcome::Outcome;
use crate::output;

/// Bytes that are written at a time.
const BUFFER_BYTES: usize = 1 << 20;

const AFTER_HELP: &str = "\
Files that give no rows are listed, in the table unread too: half written, no record, the same run twice. The columns of each table are \
in docs/fleet-rows.md and docs/fleet-*.schema.json.";

/// Options of `fleet rows`.
#[derive(Debug, Clone, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct RowsArguments {
    /// The directory that nodes drop their records to, or any folder with records below it
    drop: PathBuf,
    /// Write the tables metrics, nodes, states and unread to files of this folder, in place of those that are there
    #[arg(long, short, value_name = "DIR", required_unless_present = "table")]
    output: Option<PathBuf>,
    /// Print one table on standard output instead
    #[arg(long, value_name = "TABLE", conflicts_with_all = ["output", "html", "csv", "markdown"], value_parser = one_of(TABLES))]
    table: Option<FleetTable>,
    /// As what rows are written
    #[arg(long, value_name = "FORMAT", default_value = "ndjson", value_parser = one_of(FORMATS))]
    format: RowForm,
    #[command(flatten)]
    forms: Forms,
}

/// Tables of rows.
const TABLES: Names<FleetTable> = &[
    (FleetTable::Metrics, "metrics", "One row a number"),
    (FleetTable::Nodes, "nodes", "One row a run"),
    (FleetTable::States, "states", "One row a flaw, clock pair or setting"),
    (FleetTable::Unread, "unread", "One row a file that gave none"),
];

/// As what rows are written.
const FORMATS: Names<RowForm> = &[
    (RowForm::Ndjson, "ndjson", "One JSON object a line, which fleet check reads as well"),
    (RowForm::Csv, "csv", "A line of names, then a line for each row"),
];

/// Does what was asked for.
pub(super) fn rows(arguments: &RowsArguments, global: &Global) -> anyhow::Result<Outcome> {
    let form = arguments.format;
    if let Some(table) = arguments.table {
        output::print(&form.head(table))?;
        let found = lay_flat(&arguments.drop, form, &[table], &mut |_, lines| {
            output::print(&String::from_utf8_lossy(lines))
        })?;
        return Ok(Outcome::judged(global, false, !found.unread.is_empty()));
    }
    let folder = arguments.output.as_deref().context("name a folder with --output DIR")?;
    let mut files = RowFiles::begin(folder, form)?;
    let found =
        lay_flat(&arguments.drop, form, &FleetTable::ALL, &mut |table, lines| files.take(table, lines))?;
    let found = FleetRows { folder: folder.display().to_string(), files: files.finish()?, ..found };
    let page = report::fleet_rows_page(&found);
    arguments.forms.print(&page, &found, global)?;
    Ok(Outcome::judged(global, false, !found.unread.is_empty()))
}

/// Files in the making.
struct RowFiles {
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
    fn begin(folder: &Path, form: RowForm) -> anyhow::Result<Self> {
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

    /// Writes lines of a table.
    fn take(&mut self, table: FleetTable, lines: &[u8]) -> anyhow::Result<()> {
        let of_table = self.files.iter_mut().find(|(other, ..)| *other == table);
        let (_, temporary, file) = of_table.expect("every table has a file");
        file.write_all(lines)
            .map_err(|source| WriteError::File { path: temporary.0.clone(), source })
            .context("the rows are not written")
    }

    /// Puts every file in its place.
    ///
    /// # Errors
    /// What could not be written; the files that were there stay.
    fn finish(mut self) -> anyhow::Result<Vec<String>> {
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

/// Reads every record and hands the rows of these tables on as lines, in the order of the files.
fn lay_flat(
    drop: &Path,
    form: RowForm,
    tables: &[FleetTable],
    take: &mut dyn FnMut(FleetTable, &[u8]) -> anyhow::Result<()>,
) -> anyhow::Result<FleetRows> {
    let lines = |rows: Flattened| -> anyhow::Result<Vec<(FleetTable, Vec<u8>)>> {
        tables.iter().map(|table| Ok((*table, lines_of_table(&rows, form, *table)?))).collect()
    };
    let found = records::each(drop, lines, |of_tables| {
        of_tables.iter().try_for_each(|(table, lines)| take(*table, lines))
    })?;
    if tables.contains(&FleetTable::Unread) {
        take(FleetTable::Unread, &form.lines(FleetTable::Unread, &found.unread)?)?;
    }
    Ok(found)
}

fn lines_of_table(rows: &Flattened, form: RowForm, table: FleetTable) -> anyhow::Result<Vec<u8>> {
    Ok(match table {
        FleetTable::Nodes => form.lines(table, [&rows.node])?,
        FleetTable::States => form.lines(table, &rows.states)?,
        FleetTable::Metrics => form.lines(table, rows.metrics())?,
        FleetTable::Unread => Vec::new(),
    })
}

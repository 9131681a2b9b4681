//! `sidestep fleet rows`: every record below a drop directory as rows, in the order of their files.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use host::live::{NewFile, WriteError, install_handlers, make_folders, pending_signal};
use record::{FleetRows, FleetTable};
use serde::Serialize;

use super::records;
use crate::forms::Forms;
use crate::options::{Global, Names, one_of};
use crate::outcome::{EndedBySignal, Outcome};
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

/// Does what was asked for.
pub(super) fn rows(arguments: &RowsArguments, global: &Global) -> anyhow::Result<Outcome> {
    if let Some(table) = arguments.table {
        let found = lay_flat(&arguments.drop, &[table], &mut |_, lines| output::print(lines))?;
        return Ok(Outcome::judged(global, false, !found.unread.is_empty()));
    }
    let folder = arguments.output.as_deref().context("name a folder with --output DIR")?;
    install_handlers()?;
    let mut files = RowFiles::begin(folder)?;
    let found = lay_flat(&arguments.drop, &FleetTable::ALL, &mut |table, lines| files.take(table, lines))?;
    let found = FleetRows { folder: folder.display().to_string(), files: files.finish()?, ..found };
    let page = report::fleet_rows_page(&found);
    arguments.forms.print(&page, &found, global)?;
    Ok(Outcome::judged(global, false, !found.unread.is_empty()))
}

/// Files in the making; those that are not finished go with it.
struct RowFiles {
    folder: PathBuf,
    files: Vec<(FleetTable, PathBuf, BufWriter<NewFile>)>,
}

impl RowFiles {
    /// Makes the folder and begins every file.
    ///
    /// # Errors
    /// It cannot be written.
    fn begin(folder: &Path) -> anyhow::Result<Self> {
        make_folders(folder)?;
        let begin = |table: FleetTable| -> anyhow::Result<_> {
            let path = folder.join(table.file());
            let file = BufWriter::with_capacity(BUFFER_BYTES, NewFile::begin(&path)?);
            Ok((table, path, file))
        };
        let files: anyhow::Result<Vec<_>> = FleetTable::ALL.into_iter().map(begin).collect();
        Ok(Self { folder: folder.to_owned(), files: files? })
    }

    /// Writes lines of a table.
    fn take(&mut self, table: FleetTable, lines: &str) -> anyhow::Result<()> {
        if let Some(signal) = pending_signal() {
            return Err(anyhow::Error::new(EndedBySignal(signal))
                .context(format!("ended by the user; no file in {} is replaced", self.folder.display())));
        }
        let of_table = self.files.iter_mut().find(|(other, ..)| *other == table);
        let (_, path, file) = of_table.expect("every table has a file");
        file.write_all(lines.as_bytes())
            .map_err(|source| failed(path, source))
            .context("the rows are not written")
    }

    /// Puts every file in its place.
    ///
    /// # Errors
    /// What could not be written; the files that were there stay.
    fn finish(mut self) -> anyhow::Result<Vec<String>> {
        for (_, path, file) in &mut self.files {
            file.flush().map_err(|source| failed(path, source))?;
        }
        let mut names = Vec::new();
        for (table, path, file) in self.files {
            file.into_inner().map_err(|why| failed(&path, why.into_error()))?.finish()?;
            names.push(table.file().to_owned());
        }
        Ok(names)
    }
}

fn failed(path: &Path, source: io::Error) -> WriteError {
    WriteError::File { path: path.to_owned(), source }
}

/// Reads every record and hands the rows of these tables on as lines of JSON, in the order of the files.
fn lay_flat(
    drop: &Path,
    tables: &[FleetTable],
    take: &mut dyn FnMut(FleetTable, &str) -> anyhow::Result<()>,
) -> anyhow::Result<FleetRows> {
    let found = records::each(drop, |rows| {
        tables.iter().try_for_each(|table| {
            let lines = match table {
                FleetTable::Nodes => lines([&rows.node])?,
                FleetTable::States => lines(&rows.states)?,
                FleetTable::Metrics => lines(rows.metrics_of_run())?,
                FleetTable::Unread => return Ok(()),
            };
            take(*table, &lines)
        })
    })?;
    if tables.contains(&FleetTable::Unread) {
        take(FleetTable::Unread, &lines(&found.unread)?)?;
    }
    Ok(found)
}

fn lines(rows: impl IntoIterator<Item = impl Serialize>) -> serde_json::Result<String> {
    rows.into_iter().map(|row| Ok(serde_json::to_string(&row)? + "\n")).collect()
}

//! `sidestep fleet rows`: every record below a drop directory as rows, in the order of their files.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use fleet::rows::Flattened;
use host::live::{NewFile, WriteError, install_handlers, make_folders, pending_signal};
use record::{FleetRows, FleetTable};
use report::Page;
use serde::Serialize;

use super::records;
use crate::forms::{Forms, tables};
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

/// As what rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RowForm {
    /// One JSON object a line; a column that is unknown is left out.
    Ndjson,
    /// RFC 4180; a column that is unknown is empty.
    Csv,
}

impl RowForm {
    /// The ending of its files.
    const fn ending(self) -> &'static str {
        match self {
            Self::Ndjson => "ndjson",
            Self::Csv => "csv",
        }
    }

    /// What stands above the rows of a table.
    fn head(self, table: FleetTable) -> String {
        match self {
            Self::Ndjson => String::new(),
            Self::Csv => csv(table, [(); 0]),
        }
    }

    /// A line for each row.
    fn lines(
        self,
        table: FleetTable,
        rows: impl IntoIterator<Item = impl Serialize>,
    ) -> anyhow::Result<Vec<u8>> {
        if self == Self::Csv {
            return Ok(csv(table, rows).split_once('\n').map(|(_, lines)| lines.into()).unwrap_or_default());
        }
        let mut lines = Vec::new();
        for row in rows {
            serde_json::to_writer(&mut lines, &row)?;
            lines.push(b'\n');
        }
        Ok(lines)
    }
}

/// Rows as CSV, a line of names first.
pub(crate) fn csv(table: FleetTable, rows: impl IntoIterator<Item = impl Serialize>) -> String {
    tables(&Page::of_rows(table.name(), &table.columns().collect::<Vec<_>>(), rows))
}

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
    install_handlers()?;
    let mut files = RowFiles::begin(folder, form)?;
    let found =
        lay_flat(&arguments.drop, form, &FleetTable::ALL, &mut |table, lines| files.take(table, lines))?;
    let found = FleetRows { folder: folder.display().to_string(), files: files.finish()?, ..found };
    let page = report::fleet_rows_page(&found);
    arguments.forms.print(&page, &found, global)?;
    Ok(Outcome::judged(global, false, !found.unread.is_empty()))
}

/// Files in the making; those that are not finished go with it.
struct RowFiles {
    folder: PathBuf,
    form: RowForm,
    files: Vec<(FleetTable, PathBuf, BufWriter<NewFile>)>,
}

impl RowFiles {
    /// Makes the folder and begins every file.
    ///
    /// # Errors
    /// It cannot be written.
    fn begin(folder: &Path, form: RowForm) -> anyhow::Result<Self> {
        make_folders(folder)?;
        let begin = |table: FleetTable| -> anyhow::Result<_> {
            let path = folder.join(format!("{table}.{}", form.ending()));
            let mut file = BufWriter::with_capacity(BUFFER_BYTES, NewFile::begin(&path)?);
            file.write_all(form.head(table).as_bytes()).map_err(|source| failed(&path, source))?;
            Ok((table, path, file))
        };
        let files: anyhow::Result<Vec<_>> = FleetTable::ALL.into_iter().map(begin).collect();
        Ok(Self { folder: folder.to_owned(), form, files: files? })
    }

    /// Writes lines of a table.
    fn take(&mut self, table: FleetTable, lines: &[u8]) -> anyhow::Result<()> {
        if let Some(signal) = pending_signal() {
            return Err(anyhow::Error::new(EndedBySignal(signal))
                .context(format!("ended by the user; no file in {} is replaced", self.folder.display())));
        }
        let of_table = self.files.iter_mut().find(|(other, ..)| *other == table);
        let (_, path, file) = of_table.expect("every table has a file");
        file.write_all(lines).map_err(|source| failed(path, source)).context("the rows are not written")
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
            names.push(format!("{table}.{}", self.form.ending()));
        }
        Ok(names)
    }
}

fn failed(path: &Path, source: io::Error) -> WriteError {
    WriteError::File { path: path.to_owned(), source }
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
        FleetTable::Metrics => form.lines(table, rows.metrics_of_run())?,
        FleetTable::Unread => Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use record::UnreadFile;

    use super::*;

    #[test]
    fn a_row_of_csv_has_a_field_for_each_column_and_hostile_text_stays_in_its_field() {
        let unread = |file: &str, reason: &str| {
            let row = UnreadFile { file: file.to_owned(), reason: reason.to_owned() };
            String::from_utf8(RowForm::Csv.lines(FleetTable::Unread, [row]).expect("JSON")).expect("UTF-8")
        };
        assert_eq!(RowForm::Csv.head(FleetTable::Unread), "file,reason\n");
        assert_eq!(unread("a", "x, y"), "a,\"x, y\"\n");
        assert_eq!(
            unread("=1+1", "@a, b\u{1b}[31m\n"),
            "'=1+1,\"'@a, b [31m \"\n",
            "no formula, no line, no colour"
        );
    }
}

//! `sidestep fleet rows`: every record below a drop directory as rows, in the order of their files.
//!
//! Others may write to the directory meanwhile: what is half written, no record, or a second copy of one is named and left out.

mod drop_directory;
mod row_files;

use std::collections::BTreeMap;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::thread;

use anyhow::Context;
use clap::{Args, ValueEnum};
use fleet::rows::{Flattened, Names, Origin, flatten};
use host::live::start_thread;
use record::{FLEET_ROWS_SCHEMA, FleetRows, FleetTable, NodeRow, UnreadFile, decode_without_raw};
use serde::Serialize;

use super::duckdb;
use crate::arguments::Global;
use crate::forms::Forms;
use crate::outcome::Outcome;
use crate::{output, store};
use drop_directory::{Found, found_below};
use row_files::RowFiles;

/// Records that one thread reads before what it made is written: some tens of megabytes.
const RECORDS_AT_A_TIME: usize = 32;
/// More threads wait for the disk.
const THREADS_MAX: usize = 16;
/// A record without its raw windows has under a megabyte; with them, of many CPUs, a hundred times that.
const RECORD_BYTES_MAX: u64 = 512 << 20;

const AFTER_HELP: &str = "\
Files that give no rows are listed, in unread.ndjson too: half written, no record, the same run twice. The columns of each table are \
in docs/fleet-rows.md and docs/fleet-*.schema.json.

Exit codes: 0 done, unread files or not; 2 bad use, or no record at all; 3 could not write, or with --strict a file gave no rows.";

/// Options of `fleet rows`.
#[derive(Debug, Clone, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct RowsArguments {
    /// The directory that nodes drop their records to, or any folder with records below it
    drop: PathBuf,
    /// Write metrics.ndjson, nodes.ndjson, states.ndjson and unread.ndjson to this folder, in place of those that are there
    #[arg(long, short, value_name = "DIR", required_unless_present = "table")]
    output: Option<PathBuf>,
    /// Also write metrics.parquet, nodes.parquet and states.parquet, by DuckDB, which must be in PATH
    #[arg(long, requires = "output")]
    parquet: bool,
    /// Print one table as NDJSON on standard output instead
    #[arg(long, value_name = "TABLE", conflicts_with_all = ["output", "html", "csv", "markdown"])]
    table: Option<Table>,
    #[command(flatten)]
    forms: Forms,
}

/// A table of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Table {
    /// One row a number
    Metrics,
    /// One row a run
    Nodes,
    /// One row a flaw, clock pair or setting
    States,
    /// One row a file that gave none
    Unread,
}

impl From<Table> for FleetTable {
    fn from(table: Table) -> Self {
        match table {
            Table::Metrics => Self::Metrics,
            Table::Nodes => Self::Nodes,
            Table::States => Self::States,
            Table::Unread => Self::Unread,
        }
    }
}

/// Does what was asked for.
pub(super) fn rows(arguments: &RowsArguments, global: &Global) -> anyhow::Result<Outcome> {
    arguments.forms.ensure_writable()?;
    if let Some(table) = arguments.table {
        let mut printed = Printed(table.into());
        let found = lay_flat(&arguments.drop, &mut printed)?;
        return Ok(Outcome::judged(global, false, !found.unread.is_empty()));
    }
    let folder = arguments.output.as_deref().context("name a folder with --output DIR")?;
    // Before minutes of reading: a DuckDB that is absent is said at once.
    if arguments.parquet {
        duckdb::ensure_version()?;
    }
    let found = write_rows(&arguments.drop, folder, arguments.parquet)?;
    let page = report::fleet_rows_page(&found);
    output::print(&arguments.forms.text(&page, &found, global)?)?;
    Ok(Outcome::judged(global, false, !found.unread.is_empty()))
}

/// Writes the rows of a drop directory to the files of a folder, and as Parquet if that is asked for.
///
/// # Errors
/// No record, a folder that cannot be written, or what DuckDB said.
pub(super) fn write_rows(drop: &Path, folder: &Path, as_parquet: bool) -> anyhow::Result<FleetRows> {
    let mut files = RowFiles::begin(folder)?;
    let found = lay_flat(drop, &mut files)?;
    let mut names = files.finish()?;
    if as_parquet {
        names.extend(row_files::write_parquet(folder)?);
    }
    Ok(FleetRows { folder: folder.display().to_string(), files: names, ..found })
}

/// Whoever takes rows.
trait Taker {
    /// Whether it takes rows of a table.
    fn takes(&self, table: FleetTable) -> bool;
    /// Takes lines of JSON.
    fn take(&mut self, table: FleetTable, lines: &[u8]) -> anyhow::Result<()>;
}

/// Prints one table.
struct Printed(FleetTable);

impl Taker for Printed {
    fn takes(&self, table: FleetTable) -> bool {
        table == self.0
    }

    fn take(&mut self, _: FleetTable, lines: &[u8]) -> anyhow::Result<()> {
        output::print(&String::from_utf8_lossy(lines))
    }
}

/// The rows of one record as lines, by table.
struct Lines {
    node: NodeRow,
    states: u64,
    of_tables: Vec<(FleetTable, Vec<u8>)>,
}

/// Reads every record and hands its rows on, in the order of the files.
fn lay_flat(drop: &Path, taker: &mut impl Taker) -> anyhow::Result<FleetRows> {
    let (files, mut unread) = found_below(drop)?;
    let mut rows = FleetRows { schema: FLEET_ROWS_SCHEMA, ..FleetRows::default() };
    let (mut names, mut runs) = (Names::default(), BTreeMap::new());
    let tables: Vec<FleetTable> = FleetTable::ALL.into_iter().filter(|table| taker.takes(*table)).collect();
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(THREADS_MAX);
    for some in files.chunks(RECORDS_AT_A_TIME * threads) {
        for (file, read) in some.iter().zip(all_read(some, &tables)) {
            let name = file.name.clone();
            let lines = match read {
                Ok(lines) => lines,
                Err(reason) => {
                    unread.push(UnreadFile { file: name, reason });
                    continue;
                }
            };
            let run = (lines.node.node.clone(), lines.node.run_id.clone());
            if let Some(first) = runs.get(&run) {
                unread.push(UnreadFile { file: name, reason: format!("the same run as {first}") });
                continue;
            }
            runs.insert(run, name);
            names.add(&lines.node);
            rows.records += 1;
            rows.partial += u64::from(lines.node.partial.is_some());
            rows.metrics += lines.node.metrics;
            rows.states += lines.states;
            for (table, lines) in &lines.of_tables {
                taker.take(*table, lines)?;
            }
        }
    }
    unread.sort_by(|a, b| a.file.cmp(&b.file));
    if taker.takes(FleetTable::Unread) {
        taker.take(FleetTable::Unread, &lines_of(&unread)?)?;
    }
    let first = unread.first().map_or_else(String::new, |one| format!("; {}: {}", one.file, one.reason));
    anyhow::ensure!(
        rows.records > 0,
        "{} holds no record that can be read{first}; name the directory of sidestep run --drop",
        drop.display()
    );
    rows.nodes = names.count() as u64;
    rows.ambiguous = names.ambiguous();
    Ok(FleetRows { unread, ..rows })
}

/// Reads files on all CPUs; results stand in the order of the files.
fn all_read(files: &[Found], tables: &[FleetTable]) -> Vec<Result<Lines, String>> {
    let part = |files: &[Found]| files.iter().map(|file| read(file, tables)).collect::<Vec<_>>();
    let mut parts = files.chunks(RECORDS_AT_A_TIME);
    let Some(own) = parts.next() else { return Vec::new() };
    thread::scope(|scope| {
        let started: Vec<_> = parts
            .map(|files| (files, start_thread(scope, "a reader of records", move || part(files))))
            .collect();
        let mut read = part(own);
        for (files, thread) in started {
            // Where no thread may be started, this one does its work.
            let others = thread.ok().map(|thread| thread.join().expect("a reader does not panic"));
            read.extend(others.unwrap_or_else(|| part(files)));
        }
        read
    })
}

/// The rows of one file, or why there are none.
fn read(file: &Found, tables: &[FleetTable]) -> Result<Lines, String> {
    let bytes = store::read_bounded(&file.path, RECORD_BYTES_MAX, "record")
        .map_err(|why| why.root_cause().to_string())?;
    let mut record = decode_without_raw(&bytes).map_err(|why| why.to_string())?;
    // A run that was killed has no levels yet; they name the families of metrics.
    diagnosis::name_levels(&mut record);
    let rows =
        flatten(&record, Origin { file: &file.name, node: &file.node }).map_err(|why| why.to_string())?;
    let of_table = |table| lines_of_table(&rows, table).map(|lines| (table, lines));
    let of_tables: anyhow::Result<Vec<_>> = tables.iter().map(|table| of_table(*table)).collect();
    let states = rows.states.len() as u64;
    Ok(Lines { of_tables: of_tables.map_err(|why| why.to_string())?, states, node: rows.node })
}

fn lines_of_table(rows: &Flattened, table: FleetTable) -> anyhow::Result<Vec<u8>> {
    match table {
        FleetTable::Nodes => lines_of(std::slice::from_ref(&rows.node)),
        FleetTable::States => lines_of(&rows.states),
        FleetTable::Metrics => lines_of(&rows.metrics),
        FleetTable::Unread => Ok(Vec::new()),
    }
}

fn lines_of(rows: &[impl Serialize]) -> anyhow::Result<Vec<u8>> {
    let mut lines = Vec::new();
    for row in rows {
        serde_json::to_writer(&mut lines, row)?;
        lines.push(b'\n');
    }
    Ok(lines)
}

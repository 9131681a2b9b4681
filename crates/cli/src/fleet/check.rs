//! `sidestep fleet check`: rows of many nodes in, a ranked answer out.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use clap::Args;
use fleet::check::{Tables, is_rare, judge};
use fleet::sql::{self, Place, RowForm};
use record::{FleetCheck, FleetStatus, FleetVerdict};
use regex::Regex;

use super::duckdb;
use super::laid_flat::LaidFlat;
use crate::arguments::Global;
use crate::forms::Forms;
use crate::outcome::Outcome;
use crate::output;

/// The first line of an inventory is not longer than this.
const HEADER_BYTES_MAX: u64 = 1 << 20;

/// What may stand between its columns.
const DELIMITERS: [char; 4] = [',', ';', '\t', '|'];

/// Options of `fleet check`.
#[derive(Debug, Clone, Args)]
pub(crate) struct CheckArguments {
    /// The folder of rows that `sidestep fleet rows` wrote, or a drop directory
    #[arg(value_name = "ROWS|DROP")]
    rows: PathBuf,
    #[command(flatten)]
    place: PlaceArguments,
    /// Also draw a map of each metric whose name matches, six at most
    #[arg(long, value_name = "REGEX")]
    map: Option<Regex>,
    /// Print the SQL that would run, and stop
    #[arg(long, conflicts_with_all = ["map", "html", "csv", "json", "markdown"])]
    sql: bool,
    #[command(flatten)]
    forms: Forms,
}

/// Where it stands in which rack and slot a node is.
#[derive(Debug, Clone, Args)]
pub(super) struct PlaceArguments {
    /// A CSV file with a column node and any others, such as rack, chassis, slot, dimm_lot: each is a factor
    #[arg(long, value_name = "FILE", conflicts_with = "name_pattern")]
    inventory: Option<PathBuf>,
    /// The same from the names of nodes, by named groups: r(?<rack>\d+)c(?<chassis>\d+)s(?<slot>\d+)
    #[arg(long, value_name = "REGEX")]
    name_pattern: Option<Regex>,
}

impl PlaceArguments {
    /// # Errors
    /// An inventory that cannot be read or has no column node; a pattern without groups.
    pub(super) fn place(&self) -> anyhow::Result<Place<'_>> {
        if let Some(file) = &self.inventory {
            return Ok(Place::Inventory(file, delimiter(file)?));
        }
        let Some(pattern) = &self.name_pattern else { return Ok(Place::Unknown) };
        ensure!(
            pattern.captures_len() > 1,
            "--name-pattern {pattern} has no group; name one, such as (?<rack>[0-9]+)"
        );
        Ok(Place::Names(pattern))
    }
}

/// What stands between the columns of an inventory.
///
/// # Errors
/// The file cannot be read, or its first line is no header with node and another column.
fn delimiter(file: &Path) -> anyhow::Result<char> {
    let name = file.display();
    let advice = || format!("cannot read {name}; name a CSV file with --inventory");
    let mut header = String::new();
    let opened = File::open(file).with_context(advice)?;
    BufReader::new(opened.take(HEADER_BYTES_MAX)).read_line(&mut header).with_context(advice)?;
    let header = header.trim_start_matches('\u{feff}').trim_end();
    let names_node = |delimiter: &char| {
        let mut columns = header.split(*delimiter).map(|column| column.trim().trim_matches('"'));
        columns.clone().count() > 1 && columns.any(|column| column.eq_ignore_ascii_case("node"))
    };
    DELIMITERS.into_iter().find(names_node).with_context(|| {
        format!("the first line of {name} names no column node and another one; write such as node,rack,slot")
    })
}

/// The form of the rows in a folder: of both the newer one.
///
/// # Errors
/// There are none.
pub(super) fn form(folder: &Path) -> anyhow::Result<RowForm> {
    let written = |form: &RowForm| {
        let file = folder.join(format!("metrics.{}", form.ending()));
        file.metadata().and_then(|about| about.modified()).ok()
    };
    let forms = [RowForm::Ndjson, RowForm::Parquet].into_iter();
    let newest = forms.filter_map(|form| Some((written(&form)?, form))).max_by_key(|(written, _)| *written);
    newest.map(|(_, form)| form).with_context(|| {
        let name = folder.display();
        format!(
            "no rows in {name}: neither metrics.parquet nor metrics.ndjson; sidestep fleet rows DROP -o {name} writes them"
        )
    })
}

/// Checks.
pub(super) fn check(arguments: &CheckArguments, global: &Global) -> anyhow::Result<Outcome> {
    arguments.forms.ensure_writable()?;
    let place = arguments.place.place()?;
    if arguments.sql {
        output::print(&sql::check(&arguments.rows, form(&arguments.rows)?, &place))?;
        return Ok(Outcome::Done);
    }
    let rows = LaidFlat::of(&arguments.rows)?;
    let script = sql::check(&rows.folder, rows.form, &place);
    let tables = duckdb::run(&script, |printed| Ok(Tables::read(printed)?))?;
    let found = judge(tables, arguments.map.as_ref());
    let page = report::fleet_check_page(&found);
    output::print(&arguments.forms.text(&page, &found, global)?)?;
    Ok(Outcome::judged(global, stands_out(&found), found.verdict == FleetVerdict::CannotTell))
}

/// Whether anything stands out that repeats did not clear.
fn stands_out(found: &FleetCheck) -> bool {
    let stays = |status: FleetStatus| status != FleetStatus::NotSeenAgain;
    found.suspects.iter().any(|one| stays(one.status))
        || found.levels.iter().any(|one| stays(one.status))
        || found.minorities.iter().any(is_rare)
}

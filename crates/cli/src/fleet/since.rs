//! `sidestep fleet since`: what a change cost.

use std::path::PathBuf;

use clap::Args;
use fleet::since::{Change, Study, judge};
use fleet::sql;
use regex::Regex;

use super::check::{PlaceArguments, form};
use super::duckdb;
use super::laid_flat::LaidFlat;
use crate::arguments::Global;
use crate::forms::Forms;
use crate::outcome::Outcome;
use crate::output;

/// Options of `fleet since`.
#[derive(Debug, Clone, Args)]
pub(crate) struct SinceArguments {
    /// The folder of rows that `sidestep fleet rows` wrote, or a drop directory, with several runs of each node
    #[arg(value_name = "ROWS|DROP")]
    rows: PathBuf,
    /// What changed: a column of nodes or "setting ID", with its values before and after
    #[arg(long, value_name = "FACTOR=OLD:NEW")]
    change: Change,
    /// List the metrics whose names match, instead of those that changed most
    #[arg(long, value_name = "REGEX")]
    metric: Option<Regex>,
    #[command(flatten)]
    place: PlaceArguments,
    /// Print the SQL that would run, and stop
    #[arg(long, conflicts_with_all = ["metric", "html", "csv", "json", "markdown"])]
    sql: bool,
    #[command(flatten)]
    forms: Forms,
}

/// Judges.
pub(super) fn since(arguments: &SinceArguments, global: &Global) -> anyhow::Result<Outcome> {
    arguments.forms.ensure_writable()?;
    let place = arguments.place.place()?;
    if arguments.sql {
        output::print(&sql::since(&arguments.rows, form(&arguments.rows)?, &place, &arguments.change))?;
        return Ok(Outcome::Done);
    }
    let rows = LaidFlat::of(&arguments.rows)?;
    let script = sql::since(&rows.folder, rows.form, &place, &arguments.change);
    let study = duckdb::run(&script, |printed| Ok(Study::read(printed)?))?;
    let found = judge(&study, &arguments.change, arguments.metric.as_ref());
    let page = report::fleet_since_page(&found);
    output::print(&arguments.forms.text(&page, &found, global)?)?;
    Ok(Outcome::judged(global, false, found.undetermined.is_some()))
}

//! `sidestep fleet check`: records of many nodes in, a ranked answer out.

use std::io::BufReader;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use fleet::check::{Gathered, Place, is_rare, judge};
use host::open_plain;
use machine::counted;
use record::{FleetCheck, FleetStatus, FleetTable, FleetVerdict};
use regex::Regex;

use super::{plan, records};
use crate::forms::Forms;
use crate::options::Global;
use crate::outcome::Outcome;
use crate::output;

/// Bytes of rows that are read at once.
const BUFFER_BYTES: usize = 1 << 20;

/// Options of `fleet check`.
#[derive(Debug, Clone, Args)]
pub(crate) struct CheckArguments {
    /// The directory that nodes drop their records to, or a folder of rows that `sidestep fleet rows` wrote
    #[arg(value_name = "DROP|ROWS")]
    records: PathBuf,
    /// A CSV file with a column node and any others, such as rack, chassis, slot, dimm_lot: each is a factor
    #[arg(long, value_name = "FILE", conflicts_with = "name_pattern")]
    inventory: Option<PathBuf>,
    /// The same from the names of nodes, by named groups: r(?<rack>\d+)c(?<chassis>\d+)s(?<slot>\d+)
    #[arg(long, value_name = "REGEX")]
    name_pattern: Option<Regex>,
    #[command(flatten)]
    forms: Forms,
}

impl CheckArguments {
    /// In which rack and slot a node is.
    ///
    /// # Errors
    /// An inventory that cannot be read or has no column node; a pattern without groups.
    fn place(&self) -> anyhow::Result<Place> {
        if let Some(file) = &self.inventory {
            return Ok(Place::Inventory(plan::inventory(file)?));
        }
        let Some(pattern) = &self.name_pattern else { return Ok(Place::Unknown) };
        let no_group = || format!("--name-pattern {pattern} has no group; name one, such as (?<rack>[0-9]+)");
        Place::of_names(pattern).with_context(no_group)
    }
}

/// The runs in a drop directory, or in a folder of rows.
fn gathered(folder: &Path) -> anyhow::Result<Gathered> {
    let mut gathered = Gathered::default();
    let file = |table: FleetTable| folder.join(table.file());
    if file(FleetTable::Metrics).is_file() {
        let open = |table: FleetTable| {
            let unread = || format!("cannot read {}; sidestep fleet rows writes it", file(table).display());
            open_plain(&file(table))
                .map(|opened| BufReader::with_capacity(BUFFER_BYTES, opened))
                .with_context(unread)
        };
        let [nodes, states, metrics] =
            [open(FleetTable::Nodes)?, open(FleetTable::States)?, open(FleetTable::Metrics)?];
        gathered.add_rows(nodes, states, metrics)?;
        return Ok(gathered);
    }
    let found = records::each(folder, |rows| {
        gathered.add(rows);
        Ok(())
    })?;
    if !found.unread.is_empty() {
        let count = counted(found.unread.len(), "file");
        output::complain(&format!(
            "{count} gave no rows; sidestep fleet rows {} names them",
            machine::shell_word(&folder.to_string_lossy())
        ));
    }
    Ok(gathered)
}

/// Checks.
pub(super) fn check(arguments: &CheckArguments, global: &Global) -> anyhow::Result<Outcome> {
    let place = arguments.place()?;
    let found = judge(&gathered(&arguments.records)?, &place);
    let page = report::fleet_check_page(&found);
    arguments.forms.print(&page, &found, global)?;
    Ok(Outcome::judged(global, stands_out(&found), found.verdict == FleetVerdict::CannotTell))
}

/// Whether anything stands out that repeats did not clear.
fn stands_out(found: &FleetCheck) -> bool {
    let stays = |status: FleetStatus| status != FleetStatus::NotSeenAgain;
    found.suspects.iter().any(|one| stays(one.status))
        || found.levels.iter().any(|one| stays(one.status))
        || found.minorities.iter().any(is_rare)
}

//! `sidestep history`: earlier check-ups of this machine, and what each row did since.

mod store;

use std::path::PathBuf;

use clap::Args;
use experiments::history::{fingerprint, is_same_machine, trends};
use experiments::neighbours;
use host::{Cpuid, Root};
use machine::did_you_mean;
use record::{HISTORY_SCHEMA, HistoryEntry, HistoryLine, HistoryListing, Neighbours, Record};

use crate::forms::Forms;
use crate::global::Global;
use crate::outcome::Outcome;
use crate::output;
use store::Entries;
pub(crate) use store::Store;

/// Options of `history`.
#[derive(Debug, Clone, Args)]
pub(crate) struct HistoryArguments {
    /// Show the trend of this row, such as rdtsc, and where it changed
    #[arg(long, value_name = "NAME")]
    row: Option<String>,
    /// Show the trends of all rows, those that changed first
    #[arg(long, conflicts_with = "row")]
    trend: bool,
    /// List so many entries, the newest
    #[arg(long, value_name = "N", default_value_t = 20)]
    last: usize,
    /// Read the history in this folder instead of the user's own
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    #[command(flatten)]
    forms: Forms,
}

/// Keeps a record without its raw windows, unless something was planted in it: such a record says nothing of its machine. A history
/// that cannot be written is one line: the run has its record.
pub(crate) fn append(record: &Record) {
    if !record.provenance.planted.is_empty() {
        return;
    }
    if let Err(why) = Store::of_user().append(record) {
        output::complain(&format!("the history has no entry of this run: {why:#}"));
    }
}

/// Whether others were at work beside a check-up, by its epochs and, if it is asked, by the history, which is as none where it cannot
/// be read; `None` where something was planted: that is no neighbour.
pub(crate) fn neighbours(record: &Record, asks_history: bool) -> Option<Neighbours> {
    if !record.provenance.planted.is_empty() {
        return None;
    }
    let here = fingerprint(&record.machine);
    let found = if asks_history { Store::of_user().read().unwrap_or_default() } else { Entries::default() };
    let own = found.entries.iter().map(|(_, entry)| entry);
    let own: Vec<&HistoryEntry> = own.filter(|entry| is_same_machine(&here, &entry.fingerprint)).collect();
    neighbours::neighbours(record, &own)
}

/// Lists.
pub(crate) fn history(arguments: &HistoryArguments, global: &Global) -> anyhow::Result<Outcome> {
    arguments.forms.ensure_writable()?;
    let store = arguments.state.as_deref().map_or_else(Store::of_user, Store::at);
    let found = store.read()?;
    let here = fingerprint(&host::describe(&Root::live(), Cpuid::live().as_ref()));
    let mut listing =
        HistoryListing { schema: HISTORY_SCHEMA, machines: vec![here], ..HistoryListing::default() };
    listing.skipped.clone_from(&found.skipped);
    let mut own: Vec<&HistoryEntry> = Vec::new();
    for (file, entry) in &found.entries {
        let known = listing.machines.iter().position(|one| is_same_machine(one, &entry.fingerprint));
        let machine = known.unwrap_or_else(|| {
            listing.machines.push(entry.fingerprint.clone());
            listing.machines.len() - 1
        });
        if machine == 0 {
            own.push(entry);
        }
        listing.entries.push(line(file, entry, machine));
    }
    if arguments.trend || arguments.row.is_some() {
        listing.trends = trends(&own, arguments.row.as_deref());
        if let Some(row) = arguments.row.as_ref().filter(|_| listing.trends.is_empty()) {
            let names = own.last().map(|entry| entry.rows.keys().map(String::as_str)).into_iter().flatten();
            anyhow::bail!(
                "no check-up of this machine has the row {row}; {}sidestep history --trend lists them",
                did_you_mean(row, names)
            );
        }
        listing.trends.sort_by_key(|trend| trend.changes.is_empty());
    }
    let hidden = listing.entries.len().saturating_sub(arguments.last);
    if !global.json {
        for line in &listing.skipped {
            output::say(&format!("skipped {line}"));
        }
    }
    let page = report::history_page(&listing, hidden, &store.path().display().to_string());
    output::print(&arguments.forms.text(&page, &listing, global)?)?;
    Ok(Outcome::Done)
}

fn line(file: &str, entry: &HistoryEntry, machine: usize) -> HistoryLine {
    let fact = |name: &str| entry.facts.get(name).cloned();
    HistoryLine {
        file: file.to_owned(),
        started_utc: entry.started_utc.clone(),
        machine,
        boot: fact("boot"),
        kernel: fact("kernel"),
        microcode: fact("microcode"),
        warnings: entry.warnings,
        inconclusive: entry.inconclusive,
        doubts: entry.doubts.clone(),
        partial: entry.partial.clone(),
    }
}

//! `sidestep toggles`: what can be switched here, switching it, and always putting it back.

mod arguments;
mod list;
mod set;
mod state;
mod watch;

use std::path::{Path, PathBuf};

use host::{Cpuid, Root};
use machine::Machine;
use serde_json::json;
use toggles::{Surroundings, find};

use crate::arguments::Global;
use crate::outcome::Outcome;
use crate::output;
use arguments::ToggleCommand;
pub(crate) use arguments::{ConsentArguments, ToggleArguments};
pub(crate) use state::{after_error, left_changed, mention_what_was_left, offer_to_mend};

/// Version of the JSON documents of this command.
const SCHEMA: u32 = 1;

/// Does what was asked for.
pub(crate) fn toggles(arguments: &ToggleArguments, global: &Global) -> anyhow::Result<Outcome> {
    let above = arguments.sysroot.as_ref();
    match &arguments.command {
        None => list(above, global),
        Some(ToggleCommand::List { sysroot }) => list(sysroot.as_ref().or(above), global),
        Some(ToggleCommand::Show { name, sysroot }) => show(name, sysroot.as_ref().or(above), global),
        Some(ToggleCommand::Set(arguments)) => set::set(arguments, global),
        Some(ToggleCommand::Revert(arguments)) => state::revert(arguments, global),
        Some(ToggleCommand::Status { place }) => state::status(place, global),
        Some(ToggleCommand::Watch(arguments)) => watch::watch(arguments),
        Some(ToggleCommand::Rehearse(arguments)) => watch::rehearse(arguments),
    }
}

/// A machine and its files.
pub(crate) struct Described {
    /// The files.
    pub(crate) root: Root,
    /// What they say.
    pub(crate) machine: Machine,
}

impl Described {
    /// The live machine, or a recorded one.
    pub(crate) fn open(sysroot: Option<&Path>) -> anyhow::Result<Self> {
        let root = sysroot.map_or_else(|| Ok(Root::live()), Root::open)?;
        let cpuid = if root.is_live() { Cpuid::live() } else { None };
        let machine = host::describe(&root, cpuid.as_ref());
        Ok(Self { root, machine })
    }

    /// What toggles are judged against.
    pub(crate) fn around(&self) -> Surroundings<'_> {
        Surroundings::of(&self.root, &self.machine)
    }
}

fn list(sysroot: Option<&PathBuf>, global: &Global) -> anyhow::Result<Outcome> {
    let described = Described::open(sysroot.map(PathBuf::as_path))?;
    if global.json {
        let rows = list::rows_json(&described.around());
        print_json(&json!({ "schema": SCHEMA, "toggles": rows }))?;
    } else if !global.quiet {
        output::print_lines(&list::table(&described.around(), output::terminal(global).width_columns))?;
    }
    Ok(Outcome::Done)
}

fn show(name: &str, sysroot: Option<&PathBuf>, global: &Global) -> anyhow::Result<Outcome> {
    let toggle = find(name)?;
    let described = Described::open(sysroot.map(PathBuf::as_path))?;
    if global.json {
        let row = list::row_json(toggle, &described.around());
        print_json(&json!({ "schema": SCHEMA, "toggle": row }))?;
    } else if !global.quiet {
        output::print_lines(&list::page(
            toggle,
            &described.around(),
            output::terminal(global).width_columns,
        ))?;
    }
    Ok(Outcome::Done)
}

fn print_json(document: &serde_json::Value) -> anyhow::Result<()> {
    output::print(&output::json_text(document)?)
}

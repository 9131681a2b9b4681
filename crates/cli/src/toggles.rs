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
use toggles::{SystemState, find};

use crate::forms::Forms;
use crate::global::Global;
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
        None => list(above, &arguments.forms, global),
        Some(ToggleCommand::List { sysroot, forms }) => list(sysroot.as_ref().or(above), forms, global),
        Some(ToggleCommand::Show { name, sysroot, forms }) => {
            show(name, sysroot.as_ref().or(above), forms, global)
        }
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
    pub(crate) fn system_state(&self) -> SystemState<'_> {
        SystemState::of(&self.root, &self.machine)
    }
}

fn list(sysroot: Option<&PathBuf>, forms: &Forms, global: &Global) -> anyhow::Result<Outcome> {
    forms.ensure_writable()?;
    let described = Described::open(sysroot.map(PathBuf::as_path))?;
    let states = list::states(&described.system_state());
    let document = json!({ "schema": SCHEMA, "toggles": states });
    output::print(&forms.text(&report::toggles_page(&states), &document, global)?)?;
    Ok(Outcome::Done)
}

fn show(name: &str, sysroot: Option<&PathBuf>, forms: &Forms, global: &Global) -> anyhow::Result<Outcome> {
    forms.ensure_writable()?;
    let toggle = find(name)?;
    let described = Described::open(sysroot.map(PathBuf::as_path))?;
    let state = list::state(toggle, &described.system_state());
    let document = json!({ "schema": SCHEMA, "toggle": state });
    output::print(&forms.text(&report::toggle_page(&state), &document, global)?)?;
    Ok(Outcome::Done)
}

fn print_json(document: &serde_json::Value) -> anyhow::Result<()> {
    output::print(&output::json_printed(document)?)
}

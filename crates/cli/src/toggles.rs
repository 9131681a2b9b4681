//! `sidestep toggles`: what can be switched here, switching it, and always putting it back.

mod arguments;
mod set;
mod state;
mod watch;

use std::path::{Path, PathBuf};

use host::{Cpuid, Root};
use machine::Machine;
use report::{ToggleState, ToggleValue};
use serde_json::json;
use toggles::{About, Availability, Lifetime, Risk, SystemState, Toggle, catalogue, find};

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
    let described = Described::open(sysroot.map(PathBuf::as_path))?;
    let states = states(&described.system_state());
    let document = json!({ "schema": SCHEMA, "toggles": states });
    forms.print(&report::toggles_page(&states), &document, global)?;
    Ok(Outcome::Done)
}

fn show(name: &str, sysroot: Option<&PathBuf>, forms: &Forms, global: &Global) -> anyhow::Result<Outcome> {
    let toggle = find(name)?;
    let described = Described::open(sysroot.map(PathBuf::as_path))?;
    let state = toggle_state(toggle, &described.system_state());
    let document = json!({ "schema": SCHEMA, "toggle": state });
    forms.print(&report::toggle_page(&state), &document, global)?;
    Ok(Outcome::Done)
}

fn print_json(document: &serde_json::Value) -> anyhow::Result<()> {
    output::print(&output::json_printed(document)?)
}

/// All toggles in the order of the catalogue.
fn states(system: &SystemState) -> Vec<ToggleState> {
    catalogue().iter().map(|toggle| toggle_state(*toggle, system)).collect()
}

/// One toggle.
fn toggle_state(toggle: &dyn Toggle, system: &SystemState) -> ToggleState {
    let About { name, title, does, needs, risk, opens, lifetime, settle, source, x86_only: _ } =
        *toggle.about();
    let (availability, reason, remedy) = match toggle.availability(system) {
        Availability::Available => ("available", None, None),
        Availability::Missing { reason, remedy } => ("missing", Some(reason), Some(remedy)),
        Availability::Unknown { reason } => ("unknown", Some(reason), None),
    };
    let values = toggle.values(system).into_iter();
    let values =
        values.map(|value| ToggleValue { name: value.name, means: value.means, class: value.risk.class() });
    ToggleState {
        name,
        title,
        does,
        needs,
        class: risk.class(),
        class_means: risk.meaning(),
        opens,
        lifetime: lifetime.name(),
        settle_s: settle.as_secs_f64(),
        source,
        now: toggle.now(system),
        settable: is_settable(toggle),
        availability,
        reason,
        remedy,
        values: values.collect(),
    }
}

/// True if `toggles set` can switch it: what ends with a process is switched for programs and probes only, what cannot be
/// taken back never.
fn is_settable(toggle: &dyn Toggle) -> bool {
    let About { lifetime, risk, .. } = toggle.about();
    *lifetime != Lifetime::Process && *risk != Risk::OneWay
}

#[cfg(test)]
mod tests {
    use report::{Terminal, toggle_page, toggles_page};

    use super::*;

    #[test]
    fn every_toggle_of_the_catalogue_has_a_row_of_at_most_80_columns_and_a_page() {
        let machine = machine::Machine::default();
        let root = host::Root::live();
        let system = SystemState { root: &root, machine: &machine, user: toggles::User::Unprivileged };
        let states = states(&system);
        let table = toggles_page(&states).terminal(Terminal::default(), true);
        for toggle in catalogue() {
            assert!(table.contains(&format!("{} ", toggle.about().name)), "{}", toggle.about().name);
            let page = toggle_page(&toggle_state(*toggle, &system)).terminal(Terminal::default(), true);
            assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
        }
        assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    }
}

//! Toggles as they stand in the documents: what is the same on every machine, and how it is on this one.

use report::{ToggleState, ToggleValue};
use toggles::{About, Availability, Lifetime, Risk, SystemState, Toggle, catalogue};

/// All toggles in the order of the catalogue.
pub(super) fn states(system: &SystemState) -> Vec<ToggleState> {
    catalogue().iter().map(|toggle| state(*toggle, system)).collect()
}

/// One toggle.
pub(super) fn state(toggle: &dyn Toggle, system: &SystemState) -> ToggleState {
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
            let page = toggle_page(&state(*toggle, &system)).terminal(Terminal::default(), true);
            assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
        }
        assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    }
}

//! All toggles: tables of those that are files, settings of a process, register bits, and those that have no way back.

mod files;
mod latches;
mod processes;
mod registers;

use std::sync::LazyLock;

use machine::did_you_mean;

use crate::Toggle;

/// No toggle of that name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no toggle is called {name}; {hint}sidestep toggles shows all")]
pub struct UnknownToggle {
    /// What was asked for.
    pub name: String,
    /// The nearest name, as a question; or empty.
    pub hint: String,
}

/// Every toggle that sidestep knows, by rising risk.
pub fn catalogue() -> &'static [&'static dyn Toggle] {
    static BY_RISK: LazyLock<Vec<&'static dyn Toggle>> = LazyLock::new(|| {
        let mut all: Vec<&dyn Toggle> = Vec::new();
        all.extend(processes::PROCESSES.iter().map(|toggle| toggle as &dyn Toggle));
        all.extend(files::FILES.iter().map(|toggle| toggle as &dyn Toggle));
        all.extend(registers::REGISTERS.iter().map(|toggle| toggle as &dyn Toggle));
        all.extend(latches::LATCHES.iter().map(|toggle| toggle as &dyn Toggle));
        all.sort_by_key(|toggle| toggle.about().risk);
        all
    });
    &BY_RISK
}

/// Words of the field for what is called otherwise here.
const MEANT: [(&str, &str); 6] = [
    ("hugepages", "thp"),
    ("huge-pages", "thp"),
    ("transparent-hugepages", "thp-system"),
    ("transparent_hugepage", "thp-system"),
    ("hyperthreading", "smt"),
    ("turbo", "boost"),
];

/// The toggle of that name.
///
/// # Errors
/// `UnknownToggle`, with the nearest name.
pub fn find(name: &str) -> Result<&'static dyn Toggle, UnknownToggle> {
    if let Some(toggle) = catalogue().iter().find(|toggle| toggle.about().name == name) {
        return Ok(*toggle);
    }
    let is_of_boot = name == "mitigations";
    if is_of_boot {
        let hint = "it is a word of the boot command line: sidestep ab --across-reboot --a mitigations=auto --b mitigations=off -- ./program; ";
        return Err(UnknownToggle { name: name.to_owned(), hint: hint.to_owned() });
    }
    let meant =
        MEANT.iter().find(|(word, _)| *word == name).map(|(_, toggle)| format!("did you mean {toggle}? "));
    let near = || did_you_mean(name, catalogue().iter().map(|toggle| toggle.about().name));
    let hint = meant.unwrap_or_else(near);
    Err(UnknownToggle { name: name.to_owned(), hint })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_typed_easily_and_every_toggle_is_explained() {
        let mut seen = std::collections::BTreeSet::new();
        for about in catalogue().iter().map(|toggle| toggle.about()) {
            assert!(seen.insert(about.name), "{} twice", about.name);
            assert!(about.name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'));
            assert!(about.title.len() <= 40, "{}: {}", about.name, about.title.len());
            assert!(about.does.ends_with('.') && !about.source.is_empty(), "{}", about.name);
            assert_eq!(about.opens.is_empty(), about.risk < crate::Risk::Disruptive, "{}", about.name);
        }
    }

    #[test]
    fn a_name_typed_almost_right_is_suggested() {
        let hint = |name: &str| find(name).err().map(|error| error.hint);
        assert_eq!(hint("ssbd"), None);
        assert_eq!(hint("clocksorce").as_deref(), Some("did you mean clocksource? "));
        assert_eq!(hint("entirely-different").as_deref(), Some(""));
    }
}

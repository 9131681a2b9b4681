//! Two pairs at once: whether all combinations of their states can be made, so that none undoes the other.

use host::Target;
use host::live::ProcessSetting;

use crate::{Change, Pair, Switch};

/// Why toggles cannot be combined.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CombinationError {
    /// Named twice.
    #[error("{toggle} is named twice; each toggle takes part once, with two values")]
    Twice {
        /// The toggle.
        toggle: &'static str,
    },
    /// Both write the same.
    #[error("{first} and {second} cannot be combined: both write {target}")]
    SameTarget {
        /// One toggle.
        first: &'static str,
        /// The other.
        second: &'static str,
        /// What both write.
        target: Target,
    },
    /// Both set the same of a thread or program.
    #[error("{first} and {second} cannot be combined: both decide about one setting ({what})")]
    SameSetting {
        /// One toggle.
        first: &'static str,
        /// The other.
        second: &'static str,
        /// The setting.
        what: &'static str,
    },
    /// Both say which pages a probe asks for.
    #[error("{first} and {second} cannot be combined: both say which pages a probe asks for")]
    SamePages {
        /// One toggle.
        first: &'static str,
        /// The other.
        second: &'static str,
    },
}

/// Whether both pairs can be switched whatever the state of the other.
///
/// # Errors
/// One named twice, or two that decide about the same.
pub fn combinable(first: &Pair, second: &Pair) -> Result<(), CombinationError> {
    let [first_name, second_name] = [first, second].map(|pair| pair.toggle.about().name);
    if first_name == second_name {
        return Err(CombinationError::Twice { toggle: first_name });
    }
    let names = (first_name, second_name);
    let mut of_both = first.switches.iter().flat_map(|a| second.switches.iter().map(move |b| (a, b)));
    of_both.find_map(|(a, b)| same(a, b, names)).map_or(Ok(()), Err)
}

fn same(a: &Switch, b: &Switch, (first, second): (&'static str, &'static str)) -> Option<CombinationError> {
    match (a, b) {
        (Switch::System(a), Switch::System(b)) => {
            let is_written = |change: &&Change| b.iter().any(|other| other.target == change.target);
            let target = a.iter().find(is_written)?.target.clone();
            Some(CombinationError::SameTarget { first, second, target })
        }
        (Switch::Process(a), Switch::Process(b)) => {
            let is_made = |setting: &&ProcessSetting| b.iter().any(|other| other.overrules(setting));
            let what = a.iter().find(is_made)?.what();
            Some(CombinationError::SameSetting { first, second, what })
        }
        (Switch::Buffers(_), Switch::Buffers(_)) => Some(CombinationError::SamePages { first, second }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use host::live::PageRequest;

    use super::*;
    use crate::{Risk, Toggle, Value, find};

    fn pair(name: &str, to_a: Switch, to_b: Switch) -> Pair {
        let toggle: &'static dyn Toggle = find(name).expect("it is in the catalogue");
        let value = |name: &str| Value { name: name.to_owned(), means: String::new(), risk: Risk::Process };
        Pair { toggle, values: ["a", "b"].map(value), switches: [to_a, to_b] }
    }

    fn writes(name: &str, path: &str) -> Pair {
        let change = |value: &str| {
            let target = Target::File { path: path.to_owned() };
            Switch::System(vec![Change { target, value: value.to_owned() }])
        };
        pair(name, change("0"), change("1"))
    }

    fn sets(name: &str, settings: [ProcessSetting; 2]) -> Pair {
        let [a, b] = settings.map(|setting| Switch::Process(vec![setting]));
        pair(name, a, b)
    }

    fn slack(name: &str) -> Pair {
        sets(name, [ProcessSetting::TimerSlackNs(1), ProcessSetting::TimerSlackNs(2)])
    }

    fn tunable(name: &str, tunable: &'static str) -> Pair {
        sets(name, ["0", "1"].map(|value| ProcessSetting::GlibcTunable(tunable, value)))
    }

    #[test]
    fn two_that_decide_about_the_same_are_refused_by_name() {
        let pages = |name| pair(name, Switch::Buffers(PageRequest::Base), Switch::Buffers(PageRequest::Huge));
        for (first, second, expected) in [
            (slack("thp"), slack("thp"), "thp is named twice"),
            (
                slack("thp"),
                slack("ssbd"),
                "thp and ssbd cannot be combined: both decide about one setting (set the timer slack)",
            ),
            (
                tunable("thp", "x"),
                tunable("ssbd", "x"),
                "thp and ssbd cannot be combined: both decide about one setting (a glibc tunable)",
            ),
            (
                writes("boost", "sys/x"),
                writes("turbo", "sys/x"),
                "boost and turbo cannot be combined: both write /sys/x",
            ),
            (pages("thp"), pages("ssbd"), "both say which pages"),
        ] {
            let error = combinable(&first, &second).expect_err(expected).to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn what_differs_in_kind_or_place_goes_together() {
        for (first, second) in [
            (writes("boost", "sys/x"), writes("turbo", "sys/y")),
            (writes("boost", "sys/x"), slack("thp")),
            (slack("thp"), tunable("ssbd", "x")),
            (tunable("thp", "x"), tunable("ssbd", "y")),
        ] {
            assert_eq!(combinable(&first, &second), Ok(()));
        }
    }
}

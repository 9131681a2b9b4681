//! The two states of an experiment: one toggle, value A and value B, how to switch to each, and which pairs go together.

use host::live::ProcessSetting;
use stats::Arm;

use crate::{Change, Consent, Refusal, Switch, SwitchError, SystemState, Toggle, UnknownToggle, Value, find};

/// A toggle with two of its values.
#[derive(Clone)]
pub struct Pair {
    pub toggle: &'static dyn Toggle,
    /// The baseline, and what it is compared with.
    pub values: [Value; 2],
    /// How to switch to each of them.
    pub switches: [Switch; 2],
}

impl std::fmt::Debug for Pair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [a, b] = &self.values;
        write!(f, "{} {}:{}", self.toggle.about().name, a.name, b.name)
    }
}

/// Why there is no such pair.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PairError {
    /// No such toggle.
    #[error(transparent)]
    Unknown(#[from] UnknownToggle),
    /// No such value, or not available here.
    #[error(transparent)]
    Switch(#[from] SwitchError),
    /// Both values are the same.
    #[error("{toggle} is {value} in both states; name another value: {toggle}={choices}")]
    Same {
        toggle: &'static str,
        value: String,
        /// What else there is.
        choices: String,
    },
}

impl Pair {
    /// Reads `NAME` (the toggle's own pair), `NAME=B` (from what holds now to B) or `NAME=A:B`.
    ///
    /// # Errors
    /// An unknown name or value, a toggle that is not available here, or two equal values.
    pub fn parse(text: &str, system: &SystemState) -> Result<Self, PairError> {
        let (name, values) = match text.split_once('=') {
            Some((name, values)) => (name, Some(values)),
            None => (text, None),
        };
        let toggle = find(name)?;
        let (a, b) = match values.map(|values| values.split_once(':').ok_or(values)) {
            Some(Ok((a, b))) => (a.to_owned(), b.to_owned()),
            Some(Err(b)) => {
                let now = toggle.now(system).or_else(|| toggle.default_values(system).map(|(a, _)| a));
                (now.unwrap_or_default(), b.to_owned())
            }
            None => toggle.default_values(system).unwrap_or_default(),
        };
        // The second value first: what the user named is what an error should be about.
        let b = toggle.value(system, &b)?;
        let a = toggle.value(system, &a)?;
        if a.name == b.name {
            let others = toggle.values(system).into_iter().map(|value| value.name);
            let choices: Vec<String> = others.filter(|name| *name != b.name).collect();
            let toggle = toggle.about().name;
            return Err(PairError::Same { toggle, value: b.name, choices: choices.join("|") });
        }
        let switches = [toggle.switch(system, &a.name)?, toggle.switch(system, &b.name)?];
        Ok(Self { toggle, values: [a, b], switches })
    }

    /// The value of a state.
    pub fn value(&self, arm: Arm) -> &Value {
        &self.values[arm as usize]
    }

    /// How to switch to a state.
    pub fn switch(&self, arm: Arm) -> &Switch {
        &self.switches[arm as usize]
    }

    /// What a state is called: `ssbd=on`.
    pub fn state_name(&self, arm: Arm) -> String {
        format!("{}={}", self.toggle.about().name, self.value(arm).name)
    }

    /// The writes of a state; none if it is no state of the machine.
    pub fn changes(&self, arm: Arm) -> &[Change] {
        match self.switch(arm) {
            Switch::System(changes) => changes,
            Switch::Process(_) | Switch::Buffers(_) => &[],
        }
    }

    /// The writes of each state of the machine.
    pub fn written(&self) -> impl Iterator<Item = &[Change]> {
        [Arm::A, Arm::B].into_iter().map(|arm| self.changes(arm)).filter(|changes| !changes.is_empty())
    }

    /// Whether the user has agreed to both states; the one that holds now needs no consent.
    ///
    /// # Errors
    /// The refusal, with the flag that lifts it.
    pub fn allowed_by(&self, consent: &Consent, system: &SystemState) -> Result<(), Refusal> {
        let about = self.toggle.about();
        let now = self.toggle.now(system);
        let mut values = self.values.iter().filter(|value| now.as_ref() != Some(&value.name));
        values.try_for_each(|value| consent.allows(about.name, value.risk, about.opens))
    }
}

/// Whether both pairs can be switched whatever the state of the other, so that none undoes the other; why not, if so.
pub fn combinable(first: &Pair, second: &Pair) -> Result<(), String> {
    let [first_name, second_name] = [first, second].map(|pair| pair.toggle.about().name);
    if first_name == second_name {
        return Err(format!("{first_name} is named twice; each toggle takes part once, with two values"));
    }
    let mut of_both = first.switches.iter().flat_map(|a| second.switches.iter().map(move |b| (a, b)));
    let refusal = |why: String| format!("{first_name} and {second_name} cannot be combined: both {why}");
    of_both.find_map(|(a, b)| what_both_decide(a, b)).map_or(Ok(()), |why| Err(refusal(why)))
}

fn what_both_decide(a: &Switch, b: &Switch) -> Option<String> {
    match (a, b) {
        (Switch::System(a), Switch::System(b)) => {
            let is_written = |change: &&Change| b.iter().any(|other| other.target == change.target);
            Some(format!("write {}", a.iter().find(is_written)?.target))
        }
        (Switch::Process(a), Switch::Process(b)) => {
            let is_made = |setting: &&ProcessSetting| b.iter().any(|other| other.overrules(setting));
            Some(format!("decide about one setting ({})", a.iter().find(is_made)?.what()))
        }
        (Switch::Buffers(_), Switch::Buffers(_)) => Some("say which pages a probe asks for".to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use host::Target;
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
            let error = combinable(&first, &second).expect_err(expected);
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

//! Which probes each toggle can move, and which it cannot: one row per toggle, add yours here.

use probes::short::ShortKind::{
    self, CacheChase, ClockSystemCall, DenormalDivide, FloatDivide, L1Chase, MultiplyChain, PipeRoundTrip,
    PlainForwarding, RandomChase, StoreBypass, SystemCall, VdsoClock,
};

/// What to measure when a toggle is flipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effects {
    /// The toggle.
    pub toggle: &'static str,
    /// What it can move, the most sensitive first.
    pub moves: &'static [ShortKind],
    /// What it cannot move: if that moves, the experiment is not to be believed.
    pub controls: &'static [ShortKind],
    /// True if it decides about pages when they are touched: each state then has buffers of its own.
    pub buffers_per_state: bool,
}

const fn row(
    toggle: &'static str,
    moves: &'static [ShortKind],
    controls: &'static [ShortKind],
    buffers_per_state: bool,
) -> Effects {
    Effects { toggle, moves, controls, buffers_per_state }
}

/// All toggles that a probe of sidestep can see. Sources: the toggles' own, and measurements with these probes.
const EFFECTS: &[Effects] = &[
    // AMD's switch also stops predictive store forwarding, so plain forwarding is no control.
    row("ssbd", &[StoreBypass, PlainForwarding], &[MultiplyChain], false),
    row("indirect-branch", &[PipeRoundTrip], &[MultiplyChain, SystemCall], false),
    // What the bit changes is not public: division of normal numbers may move as well, and is no control.
    row("fp-dss", &[DenormalDivide, FloatDivide], &[MultiplyChain, L1Chase], false),
    pages_of_process("thp"),
    pages_of_process("buffer-pages"),
    pages_of_process("thp-system"),
    row("memory-policy", &[RandomChase], &[MultiplyChain], true),
    row("clocksource", &[VdsoClock, ClockSystemCall], &[MultiplyChain], false),
    frequency("governor"),
    frequency("frequency-ceiling"),
    frequency("frequency-floor"),
    frequency("boost"),
    frequency("turbo"),
    frequency("energy-preference"),
    frequency("energy-bias"),
    row("uncore-frequency", &[RandomChase, CacheChase], &[MultiplyChain, L1Chase], false),
    row("l3-subcaches", &[CacheChase], &[MultiplyChain, L1Chase], false),
    row("cache-ways", &[CacheChase], &[MultiplyChain, L1Chase], false),
];

const fn pages_of_process(toggle: &'static str) -> Effects {
    row(toggle, &[RandomChase, CacheChase], &[MultiplyChain, L1Chase], true)
}

/// Everything in a core follows its frequency: nothing is left that could not move.
const fn frequency(toggle: &'static str) -> Effects {
    row(toggle, &[MultiplyChain, L1Chase, SystemCall], &[], false)
}

/// What an option of the boot may move: nothing is known of it before, so whatever is cheap to ask stands here.
pub const OF_A_BOOT: Effects = row(
    "",
    &[SystemCall, PipeRoundTrip, StoreBypass, VdsoClock, ClockSystemCall, RandomChase, CacheChase],
    // Options of frequency move them, which is then said.
    &[MultiplyChain, L1Chase],
    false,
);

/// What a toggle does to the probes; `None` if none of them sees it.
pub fn effects(toggle: &str) -> Option<&'static Effects> {
    EFFECTS.iter().find(|effects| effects.toggle == toggle)
}

impl Effects {
    /// The probes of an experiment, what matters most first, then controls.
    pub fn measured(&self) -> impl Iterator<Item = ShortKind> {
        self.moves.iter().chain(self.controls).copied()
    }
}

/// The toggles that a probe sees.
pub fn seen_toggles() -> Vec<&'static str> {
    EFFECTS.iter().map(|effects| effects.toggle).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_names_a_toggle_of_the_catalogue_once_and_no_probe_twice() {
        let mut seen = std::collections::BTreeSet::new();
        for effects in EFFECTS {
            assert!(toggles::find(effects.toggle).is_ok(), "{}", effects.toggle);
            assert!(seen.insert(effects.toggle), "{} twice", effects.toggle);
            let mut probes = std::collections::BTreeSet::new();
            let mut all = effects.moves.iter().chain(effects.controls);
            assert!(all.all(|probe| probes.insert(probe.name())), "{}", effects.toggle);
            assert!(!effects.moves.is_empty(), "{}", effects.toggle);
        }
    }
}

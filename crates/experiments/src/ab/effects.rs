//! Which probes each toggle can move, and which it cannot: one row per toggle, add yours here.

use probes::short::ShortKind;

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

/// All toggles that a probe of sidestep can see. Sources: the toggles' own, and measurements with these probes.
const EFFECTS: &[Effects] = &[
    Effects {
        toggle: "ssbd",
        // AMD's switch also stops predictive store forwarding, so plain forwarding is no control.
        moves: &[ShortKind::StoreBypass, ShortKind::PlainForwarding],
        controls: &[ShortKind::MultiplyChain],
        buffers_per_state: false,
    },
    Effects {
        toggle: "indirect-branch",
        moves: &[ShortKind::PipeRoundTrip],
        controls: &[ShortKind::MultiplyChain, ShortKind::SystemCall],
        buffers_per_state: false,
    },
    Effects {
        toggle: "fp-dss",
        // What the bit changes is not public: division of normal numbers may move as well, and is no control.
        moves: &[ShortKind::DenormalDivide, ShortKind::FloatDivide],
        controls: &[ShortKind::MultiplyChain, ShortKind::L1Chase],
        buffers_per_state: false,
    },
    PAGES_OF_PROCESS,
    Effects { toggle: "buffer-pages", ..PAGES_OF_PROCESS },
    Effects { toggle: "thp-system", ..PAGES_OF_PROCESS },
    Effects {
        toggle: "memory-policy",
        moves: &[ShortKind::RandomChase],
        controls: &[ShortKind::MultiplyChain],
        buffers_per_state: true,
    },
    Effects {
        toggle: "clocksource",
        moves: &[ShortKind::VdsoClock, ShortKind::ClockSystemCall],
        controls: &[ShortKind::MultiplyChain],
        buffers_per_state: false,
    },
    FREQUENCY,
    Effects { toggle: "frequency-ceiling", ..FREQUENCY },
    Effects { toggle: "frequency-floor", ..FREQUENCY },
    Effects { toggle: "boost", ..FREQUENCY },
    Effects { toggle: "turbo", ..FREQUENCY },
    Effects { toggle: "energy-preference", ..FREQUENCY },
    Effects { toggle: "energy-bias", ..FREQUENCY },
    Effects {
        toggle: "uncore-frequency",
        moves: &[ShortKind::RandomChase, ShortKind::CacheChase],
        controls: &[ShortKind::MultiplyChain, ShortKind::L1Chase],
        buffers_per_state: false,
    },
    CACHE_PARTS,
    Effects { toggle: "cache-ways", ..CACHE_PARTS },
];

const PAGES_OF_PROCESS: Effects = Effects {
    toggle: "thp",
    moves: &[ShortKind::RandomChase, ShortKind::CacheChase],
    controls: &[ShortKind::MultiplyChain, ShortKind::L1Chase],
    buffers_per_state: true,
};

const FREQUENCY: Effects = Effects {
    toggle: "governor",
    moves: &[ShortKind::MultiplyChain, ShortKind::L1Chase, ShortKind::SystemCall],
    // Everything in a core follows its frequency: nothing is left that could not move.
    controls: &[],
    buffers_per_state: false,
};

const CACHE_PARTS: Effects = Effects {
    toggle: "l3-subcaches",
    moves: &[ShortKind::CacheChase],
    controls: &[ShortKind::MultiplyChain, ShortKind::L1Chase],
    buffers_per_state: false,
};

/// What an option of the boot may move: nothing is known of it before, so whatever is cheap to ask stands here.
pub const OF_A_BOOT: Effects = Effects {
    toggle: "",
    moves: &[
        ShortKind::SystemCall,
        ShortKind::PipeRoundTrip,
        ShortKind::StoreBypass,
        ShortKind::VdsoClock,
        ShortKind::ClockSystemCall,
        ShortKind::RandomChase,
        ShortKind::CacheChase,
    ],
    // Options of frequency move them, which is then said.
    controls: &[ShortKind::MultiplyChain, ShortKind::L1Chase],
    buffers_per_state: false,
};

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

//! What can be done against counters that drift.

use serde::Serialize;

/// A workaround of the articles, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Remedy {
    /// The counter as it is.
    None,
    /// No change of frequency: the governor `performance`.
    FixedFrequency,
    /// The clock of halted cores is not ramped down: PMM7 bits 1:0 of each node cleared.
    RampingOff,
    /// All sockets change frequency together.
    SynchronisedTransitions,
    /// `powernow-k8.tscsync=1`: transitions together, and ramping off. Both are in RHEL 4, powernow-k8.c.
    TscSync,
    /// Time from the HPET.
    Hpet,
    /// Time from the ACPI power-management timer.
    AcpiPm,
}

impl Remedy {
    /// All of them, the bare counter first.
    pub const ALL: [Self; 7] = [
        Self::None,
        Self::FixedFrequency,
        Self::RampingOff,
        Self::SynchronisedTransitions,
        Self::TscSync,
        Self::Hpet,
        Self::AcpiPm,
    ];

    /// How it is called in tables and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::FixedFrequency => "fixed-frequency",
            Self::RampingOff => "ramping-off",
            Self::SynchronisedTransitions => "synchronised",
            Self::TscSync => "tscsync",
            Self::Hpet => "hpet",
            Self::AcpiPm => "acpi_pm",
        }
    }

    /// How it is switched.
    pub fn how(self) -> &'static str {
        match self {
            Self::None => "nohpet nopmtimer: time by the counter",
            Self::FixedFrequency => "cpufreq governor performance",
            Self::RampingOff => "sidestep toggles set k8-c1-ramping=off",
            Self::SynchronisedTransitions => "all sockets in one cpufreq policy",
            Self::TscSync => "powernow-k8.tscsync=1, which also turns ramping off",
            Self::Hpet => "clocksource=hpet; RHEL 4 chooses it by itself",
            Self::AcpiPm => "clocksource=acpi_pm; RHEL 4 without an HPET",
        }
    }

    /// The entry of the machine's list of reads that tells the price; the counter's unless a timer is read.
    pub(super) fn read(self) -> &'static str {
        match self {
            Self::Hpet | Self::AcpiPm => self.name(),
            _ => "tsc",
        }
    }

    pub(super) fn ramps(self) -> bool {
        !matches!(self, Self::RampingOff | Self::TscSync)
    }

    pub(super) fn synchronises(self) -> bool {
        matches!(self, Self::SynchronisedTransitions | Self::TscSync)
    }

    pub(super) fn fixes_frequency(self) -> bool {
        self == Self::FixedFrequency
    }
}

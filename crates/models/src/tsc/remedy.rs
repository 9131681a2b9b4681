//! What can be done against counters that drift.

use serde::Serialize;

machine::named! {
    /// A workaround of the articles, or none.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "kebab-case")]
    pub enum Remedy {
        /// The counter as it is.
        None = "none",
        /// No change of frequency: the governor `performance`.
        FixedFrequency = "fixed-frequency",
        /// The clock of halted cores is not ramped down: PMM7 bits 1:0 of each node cleared.
        RampingOff = "ramping-off",
        /// All sockets change frequency together.
        SynchronisedTransitions = "synchronised",
        /// `powernow-k8.tscsync=1`: transitions together, and ramping off. Both are in RHEL 4, powernow-k8.c.
        TscSync = "tscsync",
        /// Time from the HPET.
        Hpet = "hpet",
        /// Time from the ACPI power-management timer.
        AcpiPm = "acpi_pm",
    }
}

impl Remedy {
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

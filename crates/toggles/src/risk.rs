//! What a switch can cost, and what the user has to say before it is made.

use std::fmt;

/// The risk of a switch in one direction: taking a workaround away is not the same as putting it back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Risk {
    /// S0: it concerns one process and ends with it.
    Process,
    /// S1: it concerns the machine and is put back whole.
    Reversible,
    /// S1D: it concerns the machine and is put back in part, such as affinities of tasks after a CPU was away.
    Disruptive,
    /// S2: it takes away protection against a known attack.
    LowersSecurity,
    /// S3: results of the machine may become wrong.
    RisksData,
    /// S4: it cannot be taken back before the next boot, so it is never made.
    OneWay,
}

impl Risk {
    /// The short name: `S0` to `S4`.
    pub fn class(self) -> &'static str {
        match self {
            Self::Process => "S0",
            Self::Reversible => "S1",
            Self::Disruptive => "S1D",
            Self::LowersSecurity => "S2",
            Self::RisksData => "S3",
            Self::OneWay => "S4",
        }
    }

    /// What the class means, in a few words.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Process => "one process, ends with it",
            Self::Reversible => "the machine, put back whole",
            Self::Disruptive => "the machine, put back in part",
            Self::LowersSecurity => "lowers security while it lasts",
            Self::RisksData => "results may become wrong while it lasts",
            Self::OneWay => "cannot be taken back, so never made",
        }
    }
}

impl fmt::Display for Risk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.class())
    }
}

/// What the user has agreed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Consent {
    /// `--disruptive`: affinities of tasks and interrupts may change.
    pub disruptive: bool,
    /// `--lower-security`: a vulnerability may be open while the switch lasts.
    pub lower_security: bool,
    /// `--accept-data-corruption`: results may be wrong while the switch lasts, and what is written then stays wrong.
    pub data_corruption: bool,
}

/// A switch that the user has not agreed to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A flag is missing.
    #[error("{toggle} ({class}) {reason}; add {flag} if that is acceptable")]
    Consent {
        toggle: &'static str,
        /// Its risk class.
        class: &'static str,
        /// What would happen.
        reason: String,
        /// The flag that agrees.
        flag: &'static str,
    },
    /// It is never made.
    #[error("{toggle} (S4) is never switched: {reason}")]
    Never {
        toggle: &'static str,
        /// Why.
        reason: String,
    },
}

impl Consent {
    /// Whether a switch of this risk may be made; `opens` says which vulnerability or fault it uncovers.
    ///
    /// # Errors
    /// The refusal, with the flag that lifts it.
    pub fn allows(&self, toggle: &'static str, risk: Risk, opens: &str) -> Result<(), Refusal> {
        let missing = |reason: String, flag| Refusal::Consent { toggle, class: risk.class(), reason, flag };
        match risk {
            Risk::Process | Risk::Reversible => Ok(()),
            Risk::Disruptive if self.disruptive => Ok(()),
            Risk::LowersSecurity if self.lower_security => Ok(()),
            Risk::RisksData if self.data_corruption => Ok(()),
            Risk::Disruptive => Err(missing(format!("is put back only in part: {opens}"), "--disruptive")),
            Risk::LowersSecurity => Err(missing(format!("opens {opens}"), "--lower-security")),
            Risk::RisksData => Err(missing(format!("uncovers {opens}"), "--accept-data-corruption")),
            Risk::OneWay => Err(Refusal::Never { toggle, reason: opens.to_owned() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_risk_needs_its_own_flag_and_a_latch_has_none() {
        let all = Consent { disruptive: true, lower_security: true, data_corruption: true };
        for (risk, flag) in [
            (Risk::Disruptive, "--disruptive"),
            (Risk::LowersSecurity, "--lower-security"),
            (Risk::RisksData, "--accept-data-corruption"),
        ] {
            let refusal = Consent::default().allows("x", risk, "CVE-0").expect_err("no flag was given");
            assert!(refusal.to_string().contains(flag), "{refusal}");
            assert_eq!(all.allows("x", risk, "CVE-0"), Ok(()));
        }
        assert_eq!(Consent::default().allows("x", Risk::Reversible, ""), Ok(()));
        assert!(all.allows("x", Risk::OneWay, "it latches").is_err());
    }
}

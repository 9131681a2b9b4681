//! What a file of /sys/devices/system/cpu/vulnerabilities says, in the wording of any kernel since 4.15.
//!
//! Source of the wordings: arch/x86/kernel/cpu/bugs.c of Linux 4.15 to 6.18, and 2,000 `lscpu` reports, which write
//! `Mitigation;` where the kernel writes `Mitigation:`.

use record::{Answer, WorkaroundState};

use crate::Wording;

/// What a text says of a flaw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spoken {
    /// Whether the CPU is affected.
    pub affected: Answer,
    /// Whether the workaround is on.
    pub workaround: WorkaroundState,
    /// Whether the machine is safe.
    pub protected: Answer,
}

impl Spoken {
    /// A text that nobody has seen before.
    pub(crate) const NOTHING: Self =
        Self { affected: Answer::Unknown, workaround: WorkaroundState::Unknown, protected: Answer::Unknown };

    fn affected(workaround: WorkaroundState, protected: Answer) -> Self {
        Self { affected: Answer::Yes, workaround, protected }
    }
}

/// Reads a text; the entry's own wordings go before the general rule.
pub fn spoken(text: &str, wordings: &[Wording]) -> Spoken {
    let text = text.trim().to_lowercase();
    if let Some(wording) = wordings.iter().find(|wording| text.contains(&wording.contains.to_lowercase())) {
        return Spoken::affected(wording.state, wording.protected.unwrap_or(protection(wording.state)));
    }
    // The page-size flaw is told from the hypervisor's side.
    let text = text.strip_prefix("kvm: ").unwrap_or(&text);
    if text.starts_with("not affected") {
        return Spoken { affected: Answer::No, workaround: WorkaroundState::Unknown, protected: Answer::Yes };
    }
    if text.starts_with("mitigation") {
        return mitigated(text);
    }
    if text.starts_with("vulnerable") || text.starts_with("processor vulnerable") {
        return vulnerable(text);
    }
    if text.starts_with("unknown: no mitigations") {
        return Spoken { workaround: WorkaroundState::Off, ..Spoken::NOTHING };
    }
    Spoken::NOTHING
}

fn mitigated(text: &str) -> Spoken {
    if text.contains("smt vulnerable") || text.contains("vmx vulnerable") || text.contains("vmx: vulnerable")
    {
        return Spoken::affected(WorkaroundState::Partial, Answer::No);
    }
    let is_host_unknown = text.contains("host state unknown");
    Spoken::affected(WorkaroundState::On, if is_host_unknown { Answer::Unknown } else { Answer::Yes })
}

fn vulnerable(text: &str) -> Spoken {
    // "Vulnerable: No microcode" does nothing; "Vulnerable: X attempted, no microcode" does X for nothing.
    if text.contains("attempted") || text.contains(", no microcode") {
        return Spoken::affected(WorkaroundState::Attempted, Answer::No);
    }
    let measures = text.split_once(':').map_or("", |(_, rest)| rest.trim());
    let does_something = !measures.is_empty()
        && !["no microcode", "disabled", "smt"].iter().any(|nothing| measures.starts_with(nothing))
        && text.starts_with("vulnerable:");
    let state = if does_something { WorkaroundState::Partial } else { WorkaroundState::Off };
    Spoken::affected(state, Answer::No)
}

/// What a state alone says of safety.
pub(crate) fn protection(state: WorkaroundState) -> Answer {
    match state {
        WorkaroundState::On => Answer::Yes,
        WorkaroundState::Off | WorkaroundState::Partial | WorkaroundState::Attempted => Answer::No,
        WorkaroundState::Unknown => Answer::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use record::WorkaroundState::{Attempted, Off, On, Partial, Unknown};

    #[test]
    fn every_wording_of_the_kernel_is_read() {
        let cases = [
            ("Not affected", Answer::No, Unknown, Answer::Yes),
            ("Mitigation: PTI", Answer::Yes, On, Answer::Yes),
            ("Mitigation; PTI", Answer::Yes, On, Answer::Yes),
            ("Mitigation: Clear CPU buffers; SMT vulnerable", Answer::Yes, Partial, Answer::No),
            ("Mitigation: Clear CPU buffers; SMT disabled", Answer::Yes, On, Answer::Yes),
            ("Mitigation: Clear CPU buffers; SMT Host state unknown", Answer::Yes, On, Answer::Unknown),
            (
                "Mitigation; PTE Inversion; VMX conditional cache flushes, SMT vulnerable",
                Answer::Yes,
                Partial,
                Answer::No,
            ),
            ("Mitigation: PTE Inversion; VMX: vulnerable", Answer::Yes, Partial, Answer::No),
            (
                "Vulnerable: Clear CPU buffers attempted, no microcode; SMT vulnerable",
                Answer::Yes,
                Attempted,
                Answer::No,
            ),
            ("Vulnerable: Safe RET, no microcode", Answer::Yes, Attempted, Answer::No),
            ("Vulnerable: No microcode", Answer::Yes, Off, Answer::No),
            ("Vulnerable", Answer::Yes, Off, Answer::No),
            ("Vulnerable; SMT vulnerable", Answer::Yes, Off, Answer::No),
            ("Vulnerable, IBPB: disabled, STIBP: disabled", Answer::Yes, Off, Answer::No),
            ("Vulnerable: Retpoline without IBPB", Answer::Yes, Partial, Answer::No),
            ("KVM: Mitigation: Split huge pages", Answer::Yes, On, Answer::Yes),
            ("KVM: Vulnerable", Answer::Yes, Off, Answer::No),
            ("Processor vulnerable", Answer::Yes, Off, Answer::No),
            ("Unknown: No mitigations", Answer::Unknown, Off, Answer::Unknown),
            ("Unknown: Dependent on hypervisor status", Answer::Unknown, Unknown, Answer::Unknown),
            ("Something nobody has written yet", Answer::Unknown, Unknown, Answer::Unknown),
        ];
        for (text, affected, workaround, protected) in cases {
            assert_eq!(spoken(text, &[]), Spoken { affected, workaround, protected }, "{text}");
        }
    }

    #[test]
    fn the_wording_of_an_entry_goes_first() {
        let by_request = [Wording { contains: "via prctl".into(), state: Partial, protected: None }];
        let text = "Mitigation: Speculative Store Bypass disabled via prctl";
        assert_eq!(spoken(text, &by_request).workaround, Partial);
        assert_eq!(spoken("Mitigation: Speculative Store Bypass disabled", &by_request).workaround, On);
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(text in "\\PC{0,80}") {
            let _ = spoken(&text, &[]);
        }
    }
}

//! What a file of /sys/devices/system/cpu/vulnerabilities says, in the wording of any kernel since 4.15.
//!
//! Source of the wordings: arch/x86/kernel/cpu/bugs.c of Linux 4.15 to 6.18, and 2,000 `lscpu` reports, which write
//! `Mitigation;` where the kernel writes `Mitigation:`.

use record::{Answer, Protection, WorkaroundState};

use crate::Wording;

/// What a text says of a flaw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SysfsStatus {
    /// Whether the CPU is affected.
    pub affected: Answer,
    /// Whether the workaround is on.
    pub workaround: WorkaroundState,
    /// Whether the machine is safe.
    pub protected: Protection,
    /// The kernel says that it does not know, which is more than silence.
    pub is_unsure: bool,
}

impl SysfsStatus {
    /// A text that nobody has seen before.
    pub(crate) const NOTHING: Self = Self {
        affected: Answer::Unknown,
        workaround: WorkaroundState::Unknown,
        protected: Protection::Unknown,
        is_unsure: false,
    };

    fn affected(workaround: WorkaroundState, protected: Protection) -> Self {
        Self { affected: Answer::Yes, workaround, protected, is_unsure: false }
    }
}

/// Reads a text; the entry's own wordings go before the general rule.
pub fn sysfs_status(text: &str, wordings: &[Wording]) -> SysfsStatus {
    let text = text.trim().to_lowercase();
    if let Some(wording) = wordings.iter().find(|wording| text.contains(&wording.contains.to_lowercase())) {
        // What the kernel calls vulnerable is not protected, however much is done about it.
        let by_state =
            if text.starts_with("vulnerable") { Protection::NotProtected } else { protection(wording.state) };
        return SysfsStatus::affected(wording.state, wording.protected.unwrap_or(by_state));
    }
    // The page-size flaw is worded from the hypervisor's side.
    let text = text.strip_prefix("kvm: ").unwrap_or(&text);
    // arm64 cannot say "Not affected" of a CPU that keeps predictions apart but has Spectre-BHB: Linux,
    // arch/arm64/kernel/proton-pack.c, cpu_show_spectre_v2. lscpu writes a semicolon.
    let is_csv2 = ["mitigation: csv2", "mitigation; csv2"].iter().any(|start| text.starts_with(start));
    if text.starts_with("not affected") || is_csv2 {
        return SysfsStatus {
            affected: Answer::No,
            protected: Protection::NotAffected,
            ..SysfsStatus::NOTHING
        };
    }
    if text.starts_with("mitigation") {
        return mitigated(text);
    }
    if text.starts_with("vulnerable") || text.starts_with("processor vulnerable") {
        return vulnerable(text);
    }
    if text.starts_with("unknown") {
        let is_off = text.starts_with("unknown: no mitigations");
        let workaround = if is_off { WorkaroundState::Off } else { WorkaroundState::Unknown };
        return SysfsStatus { workaround, is_unsure: true, ..SysfsStatus::NOTHING };
    }
    SysfsStatus::NOTHING
}

fn mitigated(text: &str) -> SysfsStatus {
    // Linux before 6.6 put "no microcode" behind "Mitigation: safe RET", which later versions call vulnerable.
    if text.contains(", no microcode") {
        return SysfsStatus::affected(WorkaroundState::Attempted, Protection::NotProtected);
    }
    if text.contains("smt vulnerable") || text.contains("vmx vulnerable") || text.contains("vmx: vulnerable")
    {
        return SysfsStatus::affected(WorkaroundState::Partial, Protection::Partly);
    }
    let is_host_unknown = text.contains("host state unknown");
    let protected = if is_host_unknown { Protection::Unknown } else { Protection::Protected };
    SysfsStatus::affected(WorkaroundState::On, protected)
}

fn vulnerable(text: &str) -> SysfsStatus {
    let measures = text.split_once(':').map_or("", |(_, rest)| rest.trim());
    let does_something = !measures.is_empty()
        && !["no microcode", "disabled", "smt"].iter().any(|nothing| measures.starts_with(nothing))
        && text.starts_with("vulnerable:");
    // "Vulnerable: X attempted, no microcode" does X for nothing; "Vulnerable: No microcode" and "Vulnerable, no microcode"
    // do nothing.
    let is_vain = text.contains("attempted") || text.contains(", no microcode");
    let state = match (does_something, is_vain) {
        (true, true) => WorkaroundState::Attempted,
        (true, false) => WorkaroundState::Partial,
        (false, _) => WorkaroundState::Off,
    };
    SysfsStatus::affected(state, Protection::NotProtected)
}

/// What a state alone says of safety.
pub(crate) fn protection(state: WorkaroundState) -> Protection {
    match state {
        WorkaroundState::On => Protection::Protected,
        WorkaroundState::Partial => Protection::Partly,
        WorkaroundState::Off | WorkaroundState::Attempted => Protection::NotProtected,
        WorkaroundState::Unknown => Protection::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use record::Protection::{NotAffected, NotProtected, OnRequest, Partly, Protected};
    use record::WorkaroundState::{Attempted, Off, On, Partial, Unknown};

    const OPEN: Protection = Protection::Unknown;

    #[test]
    fn every_wording_of_the_kernel_is_read() {
        let cases = [
            ("Not affected", Answer::No, Unknown, NotAffected),
            ("Mitigation: CSV2, BHB", Answer::No, Unknown, NotAffected),
            ("Mitigation: PTI", Answer::Yes, On, Protected),
            ("Mitigation; PTI", Answer::Yes, On, Protected),
            ("Mitigation: Clear CPU buffers; SMT vulnerable", Answer::Yes, Partial, Partly),
            ("Mitigation: Clear CPU buffers; SMT disabled", Answer::Yes, On, Protected),
            ("Mitigation: Clear CPU buffers; SMT Host state unknown", Answer::Yes, On, OPEN),
            (
                "Mitigation; PTE Inversion; VMX conditional cache flushes, SMT vulnerable",
                Answer::Yes,
                Partial,
                Partly,
            ),
            ("Mitigation: PTE Inversion; VMX: vulnerable", Answer::Yes, Partial, Partly),
            (
                "Vulnerable: Clear CPU buffers attempted, no microcode; SMT vulnerable",
                Answer::Yes,
                Attempted,
                NotProtected,
            ),
            ("Vulnerable: Safe RET, no microcode", Answer::Yes, Attempted, NotProtected),
            ("Vulnerable, no microcode", Answer::Yes, Off, NotProtected),
            ("Mitigation: safe RET, no microcode", Answer::Yes, Attempted, NotProtected),
            ("Unknown (XEN PV detected, hypervisor mitigation required)", Answer::Unknown, Unknown, OPEN),
            ("Vulnerable: No microcode", Answer::Yes, Off, NotProtected),
            ("Vulnerable", Answer::Yes, Off, NotProtected),
            ("Vulnerable; SMT vulnerable", Answer::Yes, Off, NotProtected),
            ("Vulnerable, IBPB: disabled, STIBP: disabled", Answer::Yes, Off, NotProtected),
            ("Vulnerable: Retpoline without IBPB", Answer::Yes, Partial, NotProtected),
            ("KVM: Mitigation: Split huge pages", Answer::Yes, On, Protected),
            ("KVM: Vulnerable", Answer::Yes, Off, NotProtected),
            ("Processor vulnerable", Answer::Yes, Off, NotProtected),
            ("Unknown: No mitigations", Answer::Unknown, Off, OPEN),
            ("Unknown: Dependent on hypervisor status", Answer::Unknown, Unknown, OPEN),
            ("Something nobody has written yet", Answer::Unknown, Unknown, OPEN),
        ];
        for (text, affected, workaround, protected) in cases {
            let is_unsure = text.starts_with("Unknown");
            assert_eq!(
                sysfs_status(text, &[]),
                SysfsStatus { affected, workaround, protected, is_unsure },
                "{text}"
            );
        }
    }

    #[test]
    fn the_wording_of_an_entry_goes_first() {
        let wording = |contains: &str, protected| Wording {
            contains: contains.into(),
            state: Partial,
            protected,
            fix: None,
        };
        let by_request = [wording("via prctl", Some(OnRequest)), wording("no safe ret", None)];
        let text = "Mitigation: Speculative Store Bypass disabled via prctl";
        assert_eq!(sysfs_status(text, &by_request).workaround, Partial);
        assert_eq!(sysfs_status(text, &by_request).protected, OnRequest);
        assert_eq!(sysfs_status("Vulnerable: Microcode, no safe RET", &by_request).protected, NotProtected);
        assert_eq!(sysfs_status("Mitigation: Speculative Store Bypass disabled", &by_request).workaround, On);
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(text in "\\PC{0,80}") {
            let _ = sysfs_status(&text, &[]);
        }
    }
}

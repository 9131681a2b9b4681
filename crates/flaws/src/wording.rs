//! What a file of /sys/devices/system/cpu/vulnerabilities says, in the wording of any kernel since 4.15.
//!
//! A text counts only if it is made of wordings of `wordings.txt` from its first letter to its last: half understood is not
//! understood. Sources: Linux 4.15 to 7.3, as the table names them, and 2,000 reports of `lscpu`.

use std::cmp::Reverse;
use std::sync::LazyLock;

use record::{Answer, Protection, WorkaroundState};

use crate::Wording;

/// A longer text is no wording: the longest that Linux 7.0 can print has 240 bytes.
const TEXT_BYTES_MAX: usize = 1024;

/// What a text says of a flaw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SysfsStatus {
    /// Whether the CPU is affected.
    pub affected: Answer,
    /// Whether the workaround is on.
    pub workaround: WorkaroundState,
    /// Whether the machine is safe.
    pub protected: Protection,
    /// The kernel says that it does not know, or what it says is not known in full: more than silence.
    pub is_unsure: bool,
}

impl SysfsStatus {
    /// No text.
    pub(crate) const NOTHING: Self = Self {
        affected: Answer::Unknown,
        workaround: WorkaroundState::Unknown,
        protected: Protection::Unknown,
        is_unsure: false,
    };

    /// Of a text that nobody has seen before: whatever it says, it is no "not affected".
    pub(crate) fn not_understood(text: &str) -> Self {
        Self { is_unsure: !text.trim().is_empty(), ..Self::NOTHING }
    }

    fn affected(workaround: WorkaroundState, protected: Protection) -> Self {
        Self { affected: Answer::Yes, workaround, protected, is_unsure: false }
    }
}

/// A text, taken apart once.
pub(crate) struct Words<'t> {
    text: &'t str,
    clauses: Option<Vec<Clause>>,
}

impl<'t> Words<'t> {
    pub(crate) fn of(text: &'t str) -> Self {
        Self { text, clauses: clauses(text) }
    }

    /// What it says; the entry's own wordings go before the general rule. A text that is not known in full says nothing.
    pub(crate) fn status(&self, wordings: &[Wording]) -> SysfsStatus {
        let Some(clauses) = &self.clauses else {
            // Whatever follows that word, the kernel knows a way in.
            return if squeezed(self.text).starts_with("vulnerable") {
                SysfsStatus::affected(WorkaroundState::Unknown, Protection::NotProtected)
            } else {
                SysfsStatus::not_understood(self.text)
            };
        };
        let said: String = clauses.iter().flat_map(|(separator, row)| [*separator, &row.said]).collect();
        by_entry(&said, wordings).unwrap_or_else(|| by_rule(clauses))
    }

    /// What the clause says that begins with `part`, or follows it where it is a separator; a clause that is not there says nothing.
    pub(crate) fn part(&self, part: &str, wordings: &[Wording]) -> SysfsStatus {
        let Some(clauses) = &self.clauses else { return SysfsStatus::not_understood(self.text) };
        let part = squeezed(part);
        let rest = clauses.iter().find_map(|(separator, row)| {
            row.said.strip_prefix(&part).or((*separator == part).then_some(&row.said))
        });
        let Some(rest) = rest else { return SysfsStatus::NOTHING };
        let general = || self::clauses(rest).map_or(SysfsStatus::NOTHING, |clauses| by_rule(&clauses));
        by_entry(rest, wordings).unwrap_or_else(general)
    }

    /// The kernel's own spelling of a text that is known in full, whoever dropped colons or broke its lines.
    pub(crate) fn form(&self) -> Option<String> {
        let spelled = |(separator, row): &Clause| match *separator {
            "" => row.text.to_owned(),
            "-" => format!(" - {}", row.text),
            separator => format!("{separator} {}", row.text),
        };
        Some(self.clauses.as_ref()?.iter().map(spelled).collect())
    }
}

/// Reads a text as [`Words::status`] does.
pub fn sysfs_status(text: &str, wordings: &[Wording]) -> SysfsStatus {
    Words::of(text).status(wordings)
}

/// [`Words::form`] of a text.
pub(crate) fn sysfs_form(text: &str) -> Option<String> {
    Words::of(text).form()
}

/// A wording of the table.
#[derive(Debug)]
struct Row {
    /// What it stands behind: `,` stands for a semicolon too; nothing is behind what begins a text.
    behind: &'static str,
    /// `none`, `same` or a state.
    state: &'static str,
    /// As the kernel spells it.
    text: &'static str,
    /// The same, squeezed.
    squeezed: String,
    /// What it is read as, squeezed.
    said: String,
}

/// A wording in a text, and the separator before it.
type Clause = (&'static str, &'static Row);

/// The table, the longest wordings first: one may begin with another.
static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let mut rows: Vec<Row> = include_str!("wordings.txt").lines().filter_map(row).collect();
    rows.sort_by_key(|row| Reverse(row.squeezed.len()));
    rows
});

fn row(line: &'static str) -> Option<Row> {
    let (state, text) = line.split_once(' ').filter(|(state, _)| *state != "#")?;
    let (text, said) = text.split_once(" = ").unwrap_or((text, text));
    let (behind, state) = state.split_at(usize::from(state.starts_with([',', '-'])));
    Some(Row { behind, state, text: text.trim(), squeezed: squeezed(text), said: squeezed(said) })
}

/// The one form of all spellings: small letters without blanks, which a broken line adds and loses, and without colons. Of a text
/// that begins with `Mitigation`, lscpu writes the first colon as a semicolon and drops the others: util-linux,
/// sys-utils/lscpu-cputype.c, lscpu_read_vulnerabilities.
fn squeezed(text: &str) -> String {
    let letters = text.chars().filter(|letter| !letter.is_whitespace() && *letter != ':');
    letters.flat_map(char::to_lowercase).collect::<String>().replace("mitigation;", "mitigation")
}

/// The wordings that a text is made of, first to last; `None` if one of them is not known.
fn clauses(text: &str) -> Option<Vec<Clause>> {
    let text = squeezed((text.len() <= TEXT_BYTES_MAX).then_some(text)?);
    let (mut rest, mut found) = (text.as_str(), Vec::new());
    while !rest.is_empty() || found.is_empty() {
        let separator = [",", ";", "-"].into_iter().find(|separator| rest.starts_with(separator));
        let separator = if found.is_empty() { "" } else { separator? };
        let behind = if separator == ";" { "," } else { separator };
        rest = &rest[separator.len()..];
        let after = |row: &'static Row| {
            let after = rest.strip_prefix(&row.squeezed).filter(|_| row.behind == behind)?;
            (after.is_empty() || after.starts_with([',', ';', '-'])).then_some((row, after))
        };
        let (row, after) = ROWS.iter().find_map(after)?;
        // Nothing follows a plain "Not affected".
        if row.squeezed == "notaffected" && !after.is_empty() {
            return None;
        }
        found.push((separator, row));
        rest = after;
    }
    Some(found)
}

/// What an entry makes of a text, or a part of one.
fn by_entry(said: &str, wordings: &[Wording]) -> Option<SysfsStatus> {
    let wording = wordings.iter().find(|wording| said.contains(&squeezed(&wording.contains)))?;
    // What the kernel calls vulnerable is not protected, however much is done about it.
    let by_state =
        if said.starts_with("vulnerable") { Protection::NotProtected } else { protection(wording.state) };
    Some(SysfsStatus::affected(wording.state, wording.protected.unwrap_or(by_state)))
}

/// What the table makes of a text.
fn by_rule(clauses: &[Clause]) -> SysfsStatus {
    let Some(((_, first), later)) = clauses.split_first() else { return SysfsStatus::NOTHING };
    let workaround = match first.state {
        "none" => {
            // arm64 cannot say "Not affected" of a CPU that keeps predictions apart but has Spectre-BHB: Linux,
            // arch/arm64/kernel/proton-pack.c, cpu_show_spectre_v2.
            let protected = Protection::NotAffected;
            return SysfsStatus { affected: Answer::No, protected, ..SysfsStatus::NOTHING };
        }
        "on" => WorkaroundState::On,
        "off" => WorkaroundState::Off,
        "partial" => WorkaroundState::Partial,
        "attempted" => WorkaroundState::Attempted,
        _ => WorkaroundState::Unknown,
    };
    if first.said.starts_with("unknown") {
        return SysfsStatus { workaround, is_unsure: true, ..SysfsStatus::NOTHING };
    }
    // The page-size flaw is worded from the hypervisor's side.
    if !first.said.trim_start_matches("kvm").starts_with("mitigation") {
        return SysfsStatus::affected(workaround, Protection::NotProtected);
    }
    let is = |state| workaround == WorkaroundState::On && later.iter().any(|(_, row)| row.state == state);
    if is("partial") {
        return SysfsStatus::affected(WorkaroundState::Partial, Protection::Partly);
    }
    let protected = if is("unknown") { Protection::Unknown } else { protection(workaround) };
    SysfsStatus::affected(workaround, protected)
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

/// Texts that the table knows: each first wording, and each later one behind three of them.
#[cfg(test)]
pub(crate) fn known_texts() -> Vec<String> {
    let of = |behind| ROWS.iter().filter(move |row| row.behind == behind).map(|row| row.text);
    let mut texts: Vec<String> = of("").map(str::to_owned).collect();
    for first in ["Mitigation: Retpolines", "Mitigation: PTE Inversion", "Vulnerable"] {
        texts.extend(of(",").map(|later| format!("{first}; {later}")));
        texts.extend(of(",").map(|later| format!("{first}, {later}, RSB filling")));
        texts.extend(of("-").map(|later| format!("{first}; RSB filling - {later}")));
    }
    texts
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
            let is_unsure = affected == Answer::Unknown;
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
            by_model: false,
            fix: None,
        };
        let by_request = [wording("via prctl", Some(OnRequest)), wording("no safe ret", None)];
        let text = "Mitigation: Speculative Store Bypass disabled via prctl";
        assert_eq!(sysfs_status(text, &by_request).workaround, Partial);
        assert_eq!(sysfs_status(text, &by_request).protected, OnRequest);
        assert_eq!(sysfs_status("Vulnerable: Microcode, no safe RET", &by_request).protected, NotProtected);
        assert_eq!(sysfs_status("Mitigation: Speculative Store Bypass disabled", &by_request).workaround, On);
    }

    #[test]
    fn a_text_counts_only_in_full() {
        for text in [
            "Mitigation: Retpolines; IBPB: conditional; STIBP: cond",
            "Mitigation: Retpolines; IBPB: conditional; NEW: disabled",
            "Mitigation: Clear CPU buffers; SMT vulnerable; and more",
            "Mitigation: Clear CPU buffers SMT vulnerable",
            "Mitigation",
            "Not affected, they say",
            "Not affected; SMT vulnerable",
            "; SMT vulnerable",
        ] {
            let expected = SysfsStatus { is_unsure: true, ..SysfsStatus::NOTHING };
            assert_eq!(sysfs_status(text, &[]), expected, "{text}");
            assert_eq!(Words::of(text).part("IBPB", &[]), expected, "{text}");
            assert_eq!(sysfs_form(text), None, "{text}");
        }
        assert_eq!(sysfs_status("", &[]), SysfsStatus::NOTHING);
        let open = SysfsStatus::affected(Unknown, NotProtected);
        for text in ["Vulnerable: Something new", "Vulnerable; something", "Vulnerable: Clear CPU"] {
            assert_eq!((sysfs_status(text, &[]), sysfs_form(text)), (open, None), "{text}");
            assert!(Words::of(text).part("BHI", &[]).is_unsure, "{text}");
        }
        // A part that a known text lacks is silence.
        assert_eq!(Words::of("Mitigation: Retpolines; RSB filling").part("BHI", &[]), SysfsStatus::NOTHING);
    }

    #[test]
    fn hardening_of_system_calls_is_no_mitigation_of_branch_history() {
        let flaws = crate::catalogue().flaws;
        let wordings = &flaws.iter().find(|flaw| flaw.id == "spectre-bhi").expect("in the catalogue").wording;
        let part = |bhi| Words::of(&format!("Mitigation: IBRS; BHI: {bhi}")).part("BHI", wordings);
        for (old, new) in [
            ("Syscall hardening", "Vulnerable"),
            ("Syscall hardening, KVM: SW loop", "Vulnerable, KVM: SW loop"),
        ] {
            assert_eq!(part(old), part(new));
            assert_eq!(part(old).protected, NotProtected);
        }
    }

    #[test]
    fn every_wording_of_an_entry_occurs_in_the_table() {
        for flaw in crate::catalogue().flaws {
            for wording in flaw.wording {
                let is = |row: &Row| row.said.contains(&squeezed(&wording.contains));
                assert!(ROWS.iter().any(is), "{}: {}", flaw.id, wording.contains);
            }
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(text in "\\PC{0,80}") {
            let _ = sysfs_status(&text, &[]);
        }
    }
}

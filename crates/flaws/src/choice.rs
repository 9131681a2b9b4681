//! What the words of `mitigations=` choose.
//!
//! Source: Linux 6.17, kernel/cpu.c, `mitigations_parse_cmdline`. Older kernels refuse words for attack vectors.

use std::collections::BTreeSet;

use machine::boot_words;
use record::{AttackVector, FlawEvidence};

use crate::{Architecture, Flaw};

/// The first release that takes vectors apart.
const VECTORS_SINCE: [u32; 2] = [6, 17];
/// The global part of `mitigations=`, longest first, as `mitigations_parse_global_opt` tries them.
const GLOBAL: [&str; 3] = ["auto,nosmt", "auto", "off"];

/// How the kernel logs the vectors that are on. Linux 6.17 and 7.3.4, arch/x86/kernel/cpu/bugs.c, cpu_print_attack_vectors.
const LOGGED: &str = "Enabled attack vectors: ";

/// What the words of a command line choose.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Choice {
    /// `mitigations=off`.
    pub is_off: bool,
    /// `mitigations=auto,nosmt`: SMT goes where it must.
    pub without_smt: bool,
    /// Vectors that words exclude.
    pub excluded: BTreeSet<AttackVector>,
    /// Parts that this kernel refuses: the whole word then counts as far as it was read.
    pub refused: Vec<String>,
    /// The kernel is known to know vectors; otherwise words for them are believed where the release is not known.
    pub is_known_release: bool,
    /// Of the excluded ones those that no word excludes: the kernel's log does not name them.
    pub by_log: BTreeSet<AttackVector>,
    /// The kernel is known to have been built without KVM, which leaves guests out.
    pub without_kvm: bool,
}

impl Choice {
    /// The choice of a machine.
    pub fn of(evidence: &FlawEvidence) -> Self {
        let release = evidence.kernel_release.as_deref().and_then(release_numbers);
        let is_x86 = Architecture::of(evidence) != Some(Architecture::Arm64);
        let mut lines = evidence.messages.iter().filter_map(|line| line.split_once(LOGGED));
        let logged = lines.next().map(|(_, list)| list);
        let is_new = release.is_none_or(|release| release >= VECTORS_SINCE);
        let has_vectors = is_x86 && (is_new || logged.is_some());
        let mut choice = Self::parse(evidence.command_line.as_deref().unwrap_or_default(), has_vectors);
        choice.is_known_release = has_vectors && (release.is_some() || logged.is_some());
        choice.without_kvm = has_vectors && evidence.kernel_options.get("CONFIG_KVM") == Some(&false);
        if let Some(list) = logged.filter(|_| has_vectors) {
            choice.heed(list, evidence.command_line.is_some());
        }
        choice
    }

    /// Takes in the vectors that the kernel's log names as on: where all words are known, guests are missing for want of KVM.
    fn heed(&mut self, list: &str, has_words: bool) {
        let (vectors, smt) = list.split_once("SMT mitigations:").unwrap_or((list, ""));
        let named: BTreeSet<&str> = vectors.split(',').map(str::trim).collect();
        self.without_smt |= smt.trim() == "on";
        let is_off = |vector: &AttackVector| {
            *vector != AttackVector::CrossThread
                && !named.contains(vector.name())
                && !self.excluded.contains(vector)
        };
        let off: BTreeSet<_> =
            AttackVector::ALL.into_iter().filter(|vector| !self.is_off && is_off(vector)).collect();
        self.without_kvm = has_words && off.iter().any(|vector| vector.requires_kvm());
        self.by_log = off.into_iter().filter(|vector| !(self.without_kvm && vector.requires_kvm())).collect();
        self.excluded.extend(&self.by_log);
    }

    /// Reads every `mitigations=` in its order: before vectors the last holds, with them what is off stays off.
    pub fn parse(line: &str, has_vectors: bool) -> Self {
        let mut choice = Self::default();
        for word in boot_words(line).filter(|word| word.is_named("mitigations")) {
            let value = word.value.unwrap_or_default();
            let known =
                |global: &&&str| if has_vectors { value.starts_with(**global) } else { value == **global };
            let global = GLOBAL.iter().find(known).copied().unwrap_or_default();
            if !global.is_empty() {
                // Since vectors, nothing sets again what `off` cleared: kernel/cpu.c, mitigations_parse_global_opt.
                choice.is_off = global == "off" || (has_vectors && choice.is_off);
                choice.without_smt = global == GLOBAL[0];
            }
            let rest = &value[global.len()..];
            match rest.strip_prefix(',') {
                _ if rest.is_empty() => {}
                Some(vectors) if has_vectors => {
                    for part in vectors.split(',') {
                        match AttackVector::ALL.into_iter().find(|vector| vector.word() == part) {
                            Some(vector) => drop(choice.excluded.insert(vector)),
                            None => choice.refused.push(part.to_owned()),
                        }
                    }
                }
                _ => choice.refused.push(rest.to_owned()),
            }
        }
        choice
    }

    /// True if the kernel mitigates for this vector.
    pub fn is_on(&self, vector: AttackVector) -> bool {
        !(self.is_off || self.excluded.contains(&vector) || (vector.requires_kvm() && self.without_kvm))
    }

    /// True if the kernel's code leaves a flaw off by this choice.
    pub(crate) fn leaves_off(&self, flaw: &Flaw) -> bool {
        let by = flaw.causes.deciding();
        !by.is_empty() && !by.iter().any(|vector| self.is_on(*vector))
    }
}

impl Flaw {
    /// The attack vectors that it has, by the kernel's table or else by its code.
    pub fn attack_vectors(&self) -> &[AttackVector] {
        if self.causes.vectors.is_empty() { self.causes.deciding() } else { &self.causes.vectors }
    }
}

/// Vectors by name, for a sentence.
pub(crate) fn names(vectors: &[AttackVector]) -> String {
    vectors.iter().map(|vector| vector.name()).collect::<Vec<_>>().join(" and ")
}

/// The first two numbers of a release: `6.12.50-amd64`.
pub(crate) fn release_numbers(release: &str) -> Option<[u32; 2]> {
    let mut parts = release.split(|letter: char| !letter.is_ascii_digit());
    Some([parts.next()?.parse().ok()?, parts.next()?.parse().ok()?])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use record::AttackVector::{CrossThread, GuestGuest, GuestHost, UserKernel, UserUser};

    use super::*;

    #[test]
    fn words_of_mitigations_are_read_as_the_kernel_reads_them() {
        let none: &[AttackVector] = &[];
        for (line, is_off, without_smt, excluded, refused) in [
            ("quiet", false, false, none, ""),
            ("mitigations=off", true, false, none, ""),
            ("mitigations=auto,nosmt", false, true, none, ""),
            ("mitigations=auto,no_guest_host,no_guest_guest", false, false, &[GuestHost, GuestGuest], ""),
            ("mitigations=auto,nosmt,no_user_user", false, true, &[UserUser], ""),
            ("mitigations=,no_cross_thread", false, false, &[CrossThread], ""),
            // Without the comma, or with the spelling that was never released, nothing is excluded.
            ("mitigations=no_user_user", false, false, none, "no_user_user"),
            ("mitigations=auto;no_user_user", false, false, none, ";no_user_user"),
            ("mitigations=auto,no_user,no_user_kernel", false, false, &[UserKernel], "no_user"),
            // What was excluded stays so, and `off` excludes all.
            ("mitigations=off mitigations=auto", true, false, none, ""),
            ("mitigations=auto,no_user_user mitigations=auto", false, false, &[UserUser], ""),
            ("mitigations", false, false, none, ""),
            ("quiet -- mitigations=off", false, false, none, ""),
        ] {
            let choice = Choice::parse(line, true);
            let found: Vec<AttackVector> = choice.excluded.iter().copied().collect();
            let found = (choice.is_off, choice.without_smt, found.as_slice(), choice.refused.join(" "));
            assert_eq!(found, (is_off, without_smt, excluded, refused.to_owned()), "{line}");
        }
        let older = Choice::parse("mitigations=auto,no_user_user", false);
        assert!(older.excluded.is_empty() && older.refused == ["auto,no_user_user"]);
        assert!(!Choice::parse("mitigations=off mitigations=auto", false).is_off);
    }

    #[test]
    fn the_log_shows_what_is_on_whatever_was_not_read() {
        let machine = |line: Option<&str>, list: &str| FlawEvidence {
            command_line: line.map(str::to_owned),
            messages: vec![format!("mitigations: Enabled attack vectors: {list}SMT mitigations: auto")],
            ..FlawEvidence::default()
        };
        for (line, list, excluded, by_log, without_kvm) in [
            (Some("quiet"), "user_kernel, user_user, ", &[][..], &[][..], true),
            (None, "user_kernel, user_user, ", &[GuestHost, GuestGuest], &[GuestHost, GuestGuest], false),
            (
                Some("mitigations=auto,no_guest_host"),
                "user_kernel, user_user, guest_guest, ",
                &[GuestHost],
                &[],
                false,
            ),
            (Some("quiet"), "user_kernel, guest_host, guest_guest, ", &[UserUser], &[UserUser], false),
            (Some("mitigations=off"), "", &[], &[], false),
        ] {
            let choice = Choice::of(&machine(line, list));
            let found = [&choice.excluded, &choice.by_log].map(|set| set.iter().copied().collect::<Vec<_>>());
            assert_eq!(
                (found, choice.without_kvm),
                ([excluded.to_vec(), by_log.to_vec()], without_kvm),
                "{line:?} {list}"
            );
            assert!(choice.is_known_release);
        }
    }

    proptest! {
        #[test]
        fn any_words_are_read_without_panic(line in "(mitigations=)?(auto|off|,|nosmt|no_user_user|\\PC){0,6}") {
            for has_vectors in [false, true] {
                let choice = Choice::parse(&line, has_vectors);
                prop_assert!(has_vectors || choice.excluded.is_empty());
            }
        }
    }
}

//! Why a flaw is not mitigated for every program. The fix derives from it, and so is never a guess.
//!
//! Each cause rests on evidence: a word that is there, an option that the kernel's configuration names, a flag that the CPU
//! does not offer, a text of the kernel. Where nothing shows it, it is unknown, and what would show it is said.

use machine::{BootWord, boot_words, last_word};
use record::{AttackVector, Cause, CauseKind, FlawEvidence, Protection, Reading, pair_key};

use crate::choice::{Choice, names};
use crate::dependence::{ANY_MITIGATION, BUILT_IN_ALONE, CausesOf, LeafBit, Software};
use crate::{AppliedBy, Flaw, Wording};

/// The files of the first kernel that has any. Linux 4.15, drivers/base/cpu.c. A recording without them is not complete.
const FIRST_FILES: [&str; 3] = ["meltdown", "spectre_v1", "spectre_v2"];

/// A flaw that does not have every program protected, on one machine.
pub(crate) struct Case<'a> {
    pub(crate) flaw: &'a Flaw,
    pub(crate) evidence: &'a FlawEvidence,
    pub(crate) protected: Protection,
    pub(crate) kernel_says: &'a str,
    pub(crate) choice: &'a Choice,
    /// The flaw is known to be here.
    pub(crate) is_here: bool,
}

impl<'a> Case<'a> {
    /// True if the kernel's words hold this text, upper and lower case alike.
    pub(crate) fn says(&self, text: &str) -> bool {
        self.kernel_says.to_lowercase().contains(&text.to_lowercase())
    }

    /// The wording of the entry that the kernel uses.
    pub(crate) fn wording(&self) -> Option<&'a Wording> {
        self.flaw.wording.iter().find(|wording| self.says(&wording.contains))
    }

    /// True if it is open between sibling threads, on cores that have some.
    pub(crate) fn is_open_to_siblings(&self) -> bool {
        self.protected == Protection::Partly
            && self.says("smt vulnerable")
            && self.evidence.shape.threads_per_core != 1
    }

    /// True if what the kernel says leaves this vector open.
    pub(crate) fn leaves_open(&self, vector: AttackVector) -> bool {
        if self.protected == Protection::Partly && self.says("smt vulnerable") {
            return vector == AttackVector::CrossThread;
        }
        let open = self.flaw.causes.open.iter().find(|(text, _)| self.says(text));
        let is_safe = self.of_this().any(|of| of.safe.contains(&vector));
        !is_safe && open.is_none_or(|(_, vectors)| vectors.contains(&vector))
    }

    /// What the entry says of CPUs like this one.
    fn of_this(&self) -> impl Iterator<Item = &'a CausesOf> {
        let evidence = self.evidence;
        let lacks = |flag: &String| !evidence.flags.is_empty() && !evidence.may_have_flag(flag);
        let is_set = |of: &LeafBit| {
            evidence.cpuid.get(&pair_key(of.leaf, 0)).is_some_and(|[eax, ..]| eax >> of.bit & 1 == 1)
        };
        self.flaw.causes.of.iter().filter(move |of| {
            (of.vendors.is_empty() || self.is_of(&of.vendors))
                && of.without_flag.as_ref().is_none_or(lacks)
                && of.eax_bit.as_ref().is_none_or(is_set)
        })
    }

    /// Options without which the kernel has no code for it here.
    pub(crate) fn kernel_code(&self) -> &'a [String] {
        let special = self.of_this().map(|of| &of.kernel_code).find(|options| !options.is_empty());
        special.unwrap_or(&self.flaw.causes.kernel_code)
    }

    /// Flags of which the CPU offers none, if it must offer one.
    pub(crate) fn missing_flags(&self) -> Vec<String> {
        let mut applied = self.flaw.workaround.iter().filter(|one| one.is_applied_on(self.evidence));
        let own = applied.find(|one| !one.fix_flags.is_empty()).into_iter().flat_map(|one| &one.fix_flags);
        let by_default = self.of_this().flat_map(|of| &of.default_flags);
        let asked: Vec<String> = own.chain(by_default).cloned().collect();
        let may_have = |flag: &String| self.evidence.may_have_flag(flag);
        // A guest's kernel that has no flags to show knows them all the same, and says that it could do nothing.
        let is_shown = !self.evidence.flags.is_empty() || self.evidence.hypervisor.is_some();
        if is_shown && !asked.iter().any(may_have) { asked } else { Vec::new() }
    }

    /// True if a CPU is of one of these vendors.
    fn is_of(&self, vendors: &[String]) -> bool {
        let is_one = |vendor: &String| vendors.contains(vendor);
        self.evidence.cpus.iter().any(|cpu| cpu.vendor.as_ref().is_some_and(is_one))
    }

    /// Whether a word is part of the kernel, and not of what the boot loader gives.
    pub(crate) fn is_built_in(&self, text: &str) -> bool {
        let count = |line: &Option<String>| {
            boot_words(line.as_deref().unwrap_or_default()).filter(|word| word.text == text).count()
        };
        let built_in = count(&self.evidence.built_in_words);
        built_in > 0 && (self.is_built_in_alone() || built_in == count(&self.evidence.command_line))
    }

    /// Whether the kernel heeds no words but those that are part of it.
    pub(crate) fn is_built_in_alone(&self) -> bool {
        BUILT_IN_ALONE.iter().any(|option| self.evidence.kernel_options.get(*option) == Some(&true))
    }

    /// The configuration's answer on an option: known and off.
    fn is_configured_off(&self, option: &str) -> bool {
        self.evidence.kernel_options.get(option) == Some(&false)
    }
}

/// Why it is so; nothing where every program is protected, or the state is unknown.
pub(crate) fn cause(case: &Case) -> Option<Cause> {
    match case.protected {
        Protection::NotAffected | Protection::Protected => None,
        Protection::Unknown => old_kernel(case),
        Protection::OnRequest | Protection::Partly | Protection::NotProtected => Some(why(case)),
    }
}

fn new(kind: CauseKind, names: &[&str], says: impl Into<String>) -> Cause {
    Cause { kind, names: names.iter().map(|name| (*name).to_owned()).collect(), says: says.into() }
}

fn why(case: &Case) -> Cause {
    let booted = |kind, word: &str| {
        let whose =
            if case.is_built_in(word) { ", which is built into the kernel (CONFIG_CMDLINE)" } else { "" };
        new(kind, &[word], format!("booted with {word}{whose}"))
    };
    let is_by_kernel = case.flaw.vulnerability_file.is_some();
    if let Some(word) = own_word(case) {
        return booted(CauseKind::OwnWord, word.text);
    }
    let is_partly_off = case.protected == Protection::Partly && !case.is_open_to_siblings();
    if case.choice.is_off && is_by_kernel && (case.protected == Protection::NotProtected || is_partly_off) {
        let line = case.evidence.command_line.as_deref().unwrap_or_default();
        let is_off = |word: &BootWord| {
            word.is_named("mitigations") && word.value.is_some_and(|value| value.starts_with("off"))
        };
        let word = boot_words(line).filter(is_off).last();
        return booted(CauseKind::MitigationsOff, word.map_or("mitigations=off", |word| word.text));
    }
    let by_design = if case.is_open_to_siblings() {
        Some("the kernel leaves SMT on by default, and sibling threads share buffers")
    } else if case.protected == Protection::OnRequest {
        Some("the kernel's default protects programs that ask (prctl, seccomp)")
    } else {
        None
    };
    if let Some(says) = by_design {
        return new(CauseKind::ByDesign, &[], says);
    }
    if case.says("no microcode") {
        let says = match case.evidence.hypervisor {
            Some(_) => "the hypervisor does not show the microcode's feature, or the host lacks it",
            None => "the microcode lacks what the mitigation requires",
        };
        return new(CauseKind::OldMicrocode, &[], says);
    }
    if !is_by_kernel {
        return applier(case);
    }
    let names_gap =
        || case.wording()?.fix.as_ref().map(|_| new(CauseKind::ByDesign, &[], "the kernel names the gap"));
    let known = featureless(case).or_else(|| configured(case)).or_else(|| excluded(case)).or_else(names_gap);
    known.unwrap_or_else(|| unknown(case))
}

/// The word for this mitigation that leaves it off; the last word of an option holds.
fn own_word<'a>(case: &Case<'a>) -> Option<BootWord<'a>> {
    let line = case.evidence.command_line.as_deref().unwrap_or_default();
    let is_off = |word: &BootWord| {
        let words = case.flaw.causes.off_words.iter().chain(case.of_this().flat_map(|of| &of.off_words));
        words.map(|text| BootWord::of(text)).any(|off| {
            let is_part = match (off.value, word.value) {
                (Some(off), Some(value)) => off == value || value.split(',').any(|part| part == off),
                (off, value) => off == value,
            };
            is_part && word.is_named(off.name)
        })
    };
    // A switch without a value holds wherever it stands.
    let holds = |word: &BootWord| word.value.is_none() || last_word(line, word.name) == Some(*word);
    boot_words(line).find(|word| is_off(word) && holds(word))
}

/// The kernel's configuration leaves it out, or off by default.
fn configured(case: &Case) -> Option<Cause> {
    let mut asked = ANY_MITIGATION.into_iter().chain(case.kernel_code().iter().map(String::as_str));
    let code = asked.find(|option| case.is_configured_off(option));
    let default = case.flaw.causes.kernel_default.as_deref().filter(|option| case.is_configured_off(option));
    let option = code.or(default)?;
    Some(new(CauseKind::KernelConfiguration, &[option], format!("the kernel was built without {option}")))
}

/// The CPU, or what the hypervisor shows of it, lacks what the mitigation requires.
fn featureless(case: &Case) -> Option<Cause> {
    let missing = case.missing_flags();
    if missing.is_empty() || case.protected != Protection::NotProtected {
        return None;
    }
    let who = match case.evidence.hypervisor.as_deref() {
        None => "the CPU",
        Some("unknown") => "the hypervisor",
        Some(name) => name,
    };
    let says =
        format!("{who} does not offer {}, by which the kernel would mitigate it", missing.join(" or "));
    Some(Cause { kind: CauseKind::MissingFeature, names: missing, says })
}

/// Words, or a kernel without KVM, exclude the vectors for which the kernel would mitigate it.
fn excluded(case: &Case) -> Option<Cause> {
    let (choice, deciding) = (case.choice, case.flaw.causes.deciding());
    let open = || deciding.iter().filter(|vector| case.leaves_open(**vector));
    let is_explained = choice.leaves_off(case.flaw) || open().count() < deciding.len();
    for is_logged in [false, true] {
        let is_meant = |vector: &&AttackVector| {
            choice.excluded.contains(vector) && choice.by_log.contains(vector) == is_logged
        };
        let words: Vec<&str> = open().filter(is_meant).map(|vector| vector.word()).collect();
        let says = if is_logged {
            "the kernel's log does not name the vectors among the enabled ones".to_owned()
        } else {
            format!("booted with {} in mitigations=", words.join(","))
        };
        if !words.is_empty() && is_explained {
            return Some(new(CauseKind::AttackVector, &words, says));
        }
    }
    if choice.without_kvm && choice.leaves_off(case.flaw) {
        let says = "the kernel was built without CONFIG_KVM and so leaves guests out by default";
        return Some(new(CauseKind::KernelConfiguration, &["CONFIG_KVM"], says));
    }
    let is_unread = !case.evidence.kernel_options.contains_key("CONFIG_KVM");
    let is_default = choice.is_known_release && is_unread && case.protected == Protection::NotProtected;
    (is_default && !deciding.is_empty() && deciding.iter().all(|vector| vector.requires_kvm())).then(|| {
        let vectors = names(deciding);
        let says = format!("the kernel mitigates it only for {vectors}, which one without KVM leaves out");
        new(CauseKind::ByDesign, &[], says)
    })
}

/// Of what the kernel does not report: who would have to apply it.
fn applier(case: &Case) -> Cause {
    if !case.flaw.microcode.is_empty() {
        return new(CauseKind::OldMicrocode, &[], "the microcode is older than the repair");
    }
    let mut applied = case.flaw.workaround.iter().filter(|one| one.is_applied_on(case.evidence));
    let by = applied.next().and_then(|workaround| workaround.by.first());
    let Some(by) = by.filter(|by| **by != AppliedBy::Kernel) else { return unknown(case) };
    let has =
        if case.protected == Protection::Partly { "has applied it in part" } else { "has not applied it" };
    new(CauseKind::NotApplied, &[], format!("{} {has}", by.name()))
}

/// A kernel that has the files of its first years and not this one is older than the flaw.
fn old_kernel(case: &Case) -> Option<Cause> {
    let files = case.evidence.vulnerabilities.as_ref()?;
    let file = case.flaw.vulnerability_file.as_ref()?;
    let has = |name: &str| matches!(files.get(name), Some(Reading::Is(_)));
    let is_old = case.is_here && !files.contains_key(file) && FIRST_FILES.into_iter().all(has);
    let says = format!("this kernel does not know the flaw: it has no file {file}");
    is_old.then(|| new(CauseKind::OldKernel, &[], says))
}

fn unknown(case: &Case) -> Cause {
    let unread = [
        (case.evidence.command_line.is_none(), "the command line (/proc/cmdline)"),
        (case.evidence.kernel_options.is_empty(), "the kernel's configuration (/proc/config.gz)"),
    ];
    let unread: Vec<&str> =
        unread.into_iter().filter(|(is_unread, _)| *is_unread).map(|(_, name)| name).collect();
    let says = if unread.is_empty() {
        "undetermined: neither the command line nor the kernel's configuration switches it off".to_owned()
    } else {
        format!("undetermined: not read: {}", unread.join(", "))
    };
    new(CauseKind::Unknown, &[], says)
}

/// The mitigation by software alone that can be used here, if there is one.
pub(crate) fn software<'a>(case: &Case<'a>) -> Option<&'a str> {
    let fits = |software: &&Software| {
        let [file, text] = &software.with;
        let said = case.evidence.vulnerabilities.as_ref().and_then(|files| files.get(file)?.value());
        case.is_of(&software.vendors)
            && said.is_some_and(|said| said.contains(text))
            && !software.kernel_options.iter().any(|option| case.is_configured_off(option))
    };
    case.flaw.causes.software.iter().find(fits).map(|software| software.word.as_str())
}

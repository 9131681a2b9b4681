//! What would protect a machine: one boot option, command or update that can be followed on it.

use machine::BootWord;
use record::{Cause, CauseKind, FlawEvidence, Protection};

use crate::cause::{Case, software};
use crate::{AppliedBy, Architecture, Flaw, Workaround};

/// What to do about a flaw, if there is something: it follows from the cause, and nothing is advised that this machine cannot
/// follow.
pub(crate) fn fix(case: &Case, cause: &Cause) -> Option<String> {
    let (flaw, evidence) = (case.flaw, case.evidence);
    let names = || cause.names.join(" ");
    match cause.kind {
        CauseKind::OwnWord | CauseKind::MitigationsOff if case.is_built_in(&cause.names[0]) => {
            return Some(against_built_in(case, &cause.names[0]));
        }
        CauseKind::OwnWord | CauseKind::MitigationsOff => return Some(format!("boot without {}", names())),
        CauseKind::OldMicrocode if flaw.vulnerability_file.is_some() => return Some(missing(case, &[])),
        CauseKind::OldKernel => return Some("update the kernel".to_owned()),
        // A guest cannot choose who runs beside it.
        _ if case.is_open_to_siblings() && evidence.hypervisor.is_some() => {
            return Some("have the host give whole cores, or switch SMT off there".to_owned());
        }
        _ if case.is_open_to_siblings() => return Some("nosmt".to_owned()),
        _ => {}
    }
    if evidence.other_architecture.is_some() && Architecture::of(evidence).is_none() {
        // The options and updates of the catalogue are those of x86 and arm64.
        return None;
    }
    if let Some(fix) = case.wording().and_then(|wording| wording.fix.clone()) {
        return Some(fix);
    }
    let mut applied = flaw.workaround.iter().filter(|workaround| workaround.is_applied_on(evidence));
    // The option of one mitigation goes before vectors and before what the kernel was built to do by default.
    let own = || own_option(flaw, evidence);
    match cause.kind {
        CauseKind::AttackVector => own().filter(|fix| !is_left_to_vectors(fix)).or_else(|| {
            evidence.command_line.as_ref().map(|_| format!("boot without {}", cause.names.join(",")))
        }),
        CauseKind::KernelConfiguration => {
            let is_code = case.kernel_code().contains(&cause.names[0]);
            let has_own = !is_code
                && (flaw.causes.kernel_default.as_ref() == Some(&cause.names[0]) || case.choice.without_kvm);
            let software = || software(case).filter(|_| is_code).map(str::to_owned);
            let rebuild = || Some(format!("use a kernel built with {}", names()));
            own().filter(|_| has_own).or_else(software).or_else(rebuild)
        }
        CauseKind::MissingFeature => {
            software(case).map(str::to_owned).or_else(|| Some(missing(case, &cause.names)))
        }
        // The kernel's code leaves it off by default, whatever its table says.
        CauseKind::ByDesign if case.protected == Protection::NotProtected => own(),
        // What the kernel reports and could not do is no matter of an update that nothing asks for.
        CauseKind::Unknown | CauseKind::ByDesign if flaw.vulnerability_file.is_some() => {
            applied.find_map(|workaround| option(workaround, evidence))
        }
        _ => applied.find_map(|workaround| by(workaround, evidence)),
    }
}

/// `auto` leaves it to the vectors.
fn is_left_to_vectors(fix: &str) -> bool {
    fix.ends_with("=auto")
}

/// Words that no later word takes back. Linux 7.3.4, arch/x86/kernel/cpu/bugs.c: spectre_v2_parse_cmdline, ssb_parse_cmdline.
const LASTING: [&str; 2] = ["nospectre_v2", "nospec_store_bypass_disable"];

/// A word for the boot loader against one that is part of the kernel: it stands behind that, and the last one holds.
fn against_built_in(case: &Case, word: &str) -> String {
    let name = BootWord::of(word).name;
    let positive = name.strip_prefix("no").filter(|_| !word.contains('='));
    let of_name = || {
        let all = crate::catalogue().flaws.into_iter().flat_map(|flaw| flaw.workaround);
        let is_meant = |one: &Workaround| {
            one.fix.as_ref().is_some_and(|fix| BootWord::of(fix).is_named(positive.unwrap_or(name)))
        };
        all.filter(is_meant).min_by_key(|one| !one.fix_is_default)?.fix
    };
    let found = match name {
        _ if case.is_built_in_alone() || LASTING.contains(&word) => None,
        // Since vectors nothing takes `off` back, and one mitigation has a word of its own.
        "mitigations" if case.choice.is_known_release => {
            own_option(case.flaw, case.evidence).filter(|fix| !is_left_to_vectors(fix))
        }
        "mitigations" => Some("mitigations=auto".to_owned()),
        _ => of_name(),
    };
    found.unwrap_or_else(|| format!("use a kernel built without {word} in CONFIG_CMDLINE"))
}

/// What switches one mitigation on whatever the vectors and the kernel's defaults are.
pub(crate) fn own_option(flaw: &Flaw, evidence: &FlawEvidence) -> Option<String> {
    flaw.workaround.iter().filter(|one| one.is_applied_on(evidence)).find_map(|one| one.fix.clone())
}

impl Workaround {
    /// False of one that belongs to another architecture than the machine's.
    pub(crate) fn is_applied_on(&self, evidence: &FlawEvidence) -> bool {
        let here = Architecture::of(evidence);
        self.architecture.is_none() || here.is_none() || here == self.architecture
    }
}

/// The option or command that makes one workaround protect, if this machine can follow it and does not do it by itself.
fn option(workaround: &Workaround, evidence: &FlawEvidence) -> Option<String> {
    let fix = workaround.fix.as_ref().filter(|_| !workaround.fix_is_default)?;
    let may_have = |flag: &String| evidence.may_have_flag(flag);
    let offers = workaround.fix_flags.is_empty()
        || evidence.flags.is_empty()
        || workaround.fix_flags.iter().any(may_have);
    let toggle = fix.strip_prefix("sidestep toggles set ").and_then(|rest| rest.split('=').next());
    let is_missing = toggle.is_some_and(|toggle| evidence.toggles_missing.contains_key(toggle));
    (offers && !is_missing).then(|| fix.clone())
}

/// What makes one workaround protect, if it can be done here.
fn by(workaround: &Workaround, evidence: &FlawEvidence) -> Option<String> {
    if let Some(fix) = option(workaround, evidence) {
        return Some(fix);
    }
    let switch = &workaround.switch;
    if let Some(option) = &switch.recompile {
        return Some(format!("recompile with {option}"));
    }
    let is_update = |by: &&AppliedBy| matches!(by, AppliedBy::Microcode | AppliedBy::Bios);
    match workaround.by.iter().find(is_update) {
        Some(by) => Some(update(*by, evidence)),
        None => switch.arrange.clone(),
    }
}

/// Who has to bring what the CPU does not offer. A hypervisor's model of the CPU may hide what the host has, and the host's
/// microcode may lack it.
fn missing(case: &Case, flags: &[String]) -> String {
    if case.evidence.hypervisor.is_none() {
        return update(AppliedBy::Microcode, case.evidence);
    }
    let what = if flags.is_empty() { "the mitigation's CPU feature".to_owned() } else { flags.join(" or ") };
    format!("have the hypervisor expose {what}, with the host's {} updated", code_of_maker(case.evidence))
}

/// What the CPU's maker brings out for it: arm64 has it in firmware.
fn code_of_maker(evidence: &FlawEvidence) -> &'static str {
    if Architecture::of(evidence) == Some(Architecture::Arm64) { "firmware" } else { "microcode" }
}

/// Who has to bring something newer.
fn update(by: AppliedBy, evidence: &FlawEvidence) -> String {
    let code = code_of_maker(evidence);
    match (by, evidence.hypervisor.is_some()) {
        (AppliedBy::Bios, false) => "update the firmware".to_owned(),
        (AppliedBy::Microcode, false) => format!("update the {code}"),
        _ => format!("update the host's {code}"),
    }
}

//! What would protect a machine: one boot option, command or update that can be followed on it.

use record::{FlawEvidence, Protection};

use crate::{AppliedBy, Architecture, Flaw, Workaround};

/// Words that switch one mitigation off without a value. Linux, Documentation/admin-guide/kernel-parameters.txt.
const OFF_WORDS: [&str; 5] =
    ["nopti", "nospectre_v1", "nospectre_v2", "nospectre_bhb", "nospec_store_bypass_disable"];

/// What to do about a flaw, if there is something; nothing is advised that this machine cannot follow.
pub(crate) fn fix(
    flaw: &Flaw,
    evidence: &FlawEvidence,
    protected: Protection,
    kernel_says: &str,
) -> Option<String> {
    let says = kernel_says.to_lowercase();
    match protected {
        Protection::NotAffected | Protection::Protected | Protection::Unknown => return None,
        Protection::NotProtected => {
            if let Some(word) = switched_off_by(flaw, evidence) {
                return Some(format!("boot without {word}"));
            }
            if says.contains("no microcode") {
                let in_guest = evidence.hypervisor.is_some();
                return Some(if in_guest {
                    expose(flaw, evidence)
                } else {
                    update(AppliedBy::Microcode, evidence)
                });
            }
        }
        // Nobody's threads share a core where cores have one thread.
        Protection::Partly if says.contains("smt vulnerable") && evidence.shape.threads_per_core != 1 => {
            return Some("nosmt".to_owned());
        }
        Protection::Partly | Protection::OnRequest => {}
    }
    let here = Architecture::of(evidence);
    if evidence.other_architecture.is_some() && here.is_none() {
        // The options and updates of the catalogue are those of x86 and arm64.
        return None;
    }
    let is_reported = |contains: &str| says.contains(&contains.to_lowercase());
    let described = flaw.wording.iter().find(|wording| is_reported(&wording.contains));
    if let Some(fix) = described.and_then(|wording| wording.fix.clone()) {
        return Some(fix);
    }
    let is_asked_of_host = protected == Protection::NotProtected && evidence.hypervisor.is_some();
    if is_asked_of_host && flaw.vulnerability_file.is_some() {
        // The kernel mitigates by itself what it can: what is missing is what the hypervisor does not offer.
        return Some(expose(flaw, evidence));
    }
    let mut applied = flaw.workaround.iter().filter(|workaround| workaround.is_applied_on(evidence));
    applied.find_map(|workaround| by(workaround, evidence))
}

/// The word of the command line that switched the kernel's mitigation off.
fn switched_off_by<'e>(flaw: &Flaw, evidence: &'e FlawEvidence) -> Option<&'e str> {
    let line = evidence.command_line.as_deref().unwrap_or("");
    let boots: Vec<&str> =
        flaw.workaround.iter().filter_map(|workaround| workaround.switch.boot.as_deref()).collect();
    let names = |name: &str| {
        boots
            .iter()
            .any(|boot| boot.split([' ', ',', '|', ';']).any(|word| word.split('=').next() == Some(name)))
    };
    let is_guilty = |word: &&str| match word.split_once('=') {
        Some(("mitigations", value)) => value == "off" && flaw.vulnerability_file.is_some(),
        // The last two on arm64: kpti=0, ssbd=force-off.
        Some((name, "off" | "0" | "force-off")) => names(name),
        Some(_) => false,
        None => OFF_WORDS.contains(word) && names(word),
    };
    line.split_whitespace().find(is_guilty)
}

impl Workaround {
    /// False of one that belongs to another architecture than the machine's.
    pub(crate) fn is_applied_on(&self, evidence: &FlawEvidence) -> bool {
        let here = Architecture::of(evidence);
        self.architecture.is_none() || here.is_none() || here == self.architecture
    }
}

/// What makes one workaround protect, if it can be done here.
fn by(workaround: &Workaround, evidence: &FlawEvidence) -> Option<String> {
    if let Some(fix) = &workaround.fix {
        let has = |flag: &String| evidence.flags.contains(flag) || evidence.flags_unreported.contains(flag);
        let offers = workaround.fix_flags.is_empty()
            || evidence.flags.is_empty()
            || workaround.fix_flags.iter().any(has);
        let toggle = fix.strip_prefix("sidestep toggles set ").and_then(|rest| rest.split('=').next());
        let is_missing = toggle.is_some_and(|toggle| evidence.toggles_missing.contains_key(toggle));
        if offers && !is_missing {
            return Some(fix.clone());
        }
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

/// What a hypervisor has to do: its model of the CPU may hide what the host has, and the host's microcode may lack it.
fn expose(flaw: &Flaw, evidence: &FlawEvidence) -> String {
    let applied = flaw.workaround.iter().filter(|workaround| workaround.is_applied_on(evidence));
    let flags: Vec<&str> = applied.flat_map(|workaround| &workaround.fix_flags).map(String::as_str).collect();
    let what = if flags.is_empty() { "the mitigation's CPU feature".to_owned() } else { flags.join(" or ") };
    format!("have the hypervisor expose {what}, with the host's {} updated", code_of_maker(evidence))
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

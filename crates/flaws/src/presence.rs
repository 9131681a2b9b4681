//! Whether a machine has a flaw: who the CPUs are, what else must hold, and what kernel and registers say of it.

use record::{Answer, CpuSignature, FlawEvidence, MachineShape, Statement, WorkaroundState};

use crate::cpu_range::{Membership, among};
use crate::{Architecture, Flaw, Need};

/// Vendors of x86 CPUs, by the string of CPUID: those that Linux' lists and the vendors' own documents are about.
const MAKERS: [(&str, &str); 6] = [
    ("GenuineIntel", "Intel"),
    ("AuthenticAMD", "AMD"),
    ("HygonGenuine", "Hygon"),
    ("CentaurHauls", "Centaur"),
    ("  Shanghai  ", "Zhaoxin"),
    ("Shanghai", "Zhaoxin"),
];

/// Whether a machine has a flaw, and why it is thought so.
pub(crate) struct Presence {
    /// Yes, no, or not known.
    pub(crate) affected: Answer,
    /// One sentence.
    pub(crate) because: String,
    /// Contradictions, one sentence each.
    pub(crate) disagreements: Vec<String>,
}

/// The statements that bear on presence.
pub(crate) struct Said<'a> {
    /// The kernel's.
    pub(crate) kernel: &'a Statement,
    /// The registers'.
    pub(crate) registers: &'a Statement,
    /// Time's.
    pub(crate) time: &'a Statement,
    /// The CPU itself says that it does not have the flaw.
    pub(crate) immune: bool,
    /// The kernel says that it does not know, or what it says is not understood.
    pub(crate) is_unsure: bool,
}

/// Weighs the catalogue's list against what the sources say.
pub(crate) fn presence(flaw: &Flaw, evidence: &FlawEvidence, said: &Said) -> Presence {
    let kernel = said.kernel.affected;
    if let Some(because) = foreign(flaw, evidence).filter(|_| kernel != Answer::Yes) {
        return simple(Answer::No, because);
    }
    let (need, need_says) = needs(&flaw.need, evidence);
    if need == Answer::No && kernel != Answer::Yes {
        return simple(Answer::No, need_says);
    }
    let (listed, list_says) = listing(flaw, evidence);
    let in_guest = evidence.hypervisor.is_some();
    let by_time = said.time.workaround == WorkaroundState::On;
    if kernel == Answer::Yes && in_guest && !by_time && (never(flaw, evidence) || unlisted(listed, evidence))
    {
        let because = format!("{list_says}; the kernel goes by what the hypervisor shows");
        return simple(Answer::No, because);
    }
    let disagreements = disagreements((need, &need_says), (listed, &list_says), said);
    let is_repaired = said.registers.affected == Answer::No;
    let (affected, because) = if said.time.workaround == WorkaroundState::On && listed != Answer::No {
        (Answer::Yes, format!("time shows its workaround; {list_says}"))
    } else if said.registers.affected == Answer::Yes
        || (is_repaired && (said.immune || listed != Answer::Yes))
    {
        (said.registers.affected, format!("registers say so; {list_says}"))
    } else if kernel == Answer::Yes {
        (Answer::Yes, format!("the kernel says so; {list_says}"))
    } else if kernel == Answer::No && listed == Answer::Yes && in_guest {
        // A hypervisor hides flaws that the host's microcode works around: KVM sets GDS_NO then.
        (Answer::Yes, format!("{list_says}; a guest's kernel repeats what the hypervisor tells it"))
    } else if kernel == Answer::No {
        (Answer::No, "the kernel says so".to_owned())
    } else if said.is_unsure && listed == Answer::No && !cannot_have(flaw, evidence) {
        (Answer::Unknown, format!("what the kernel says leaves it open; {list_says}"))
    } else if need == Answer::Yes
        && !flaw.need.is_empty()
        && flaw.affected.is_empty()
        && flaw.unsure.is_empty()
    {
        (Answer::Yes, need_says)
    } else {
        (listed, list_says)
    };
    // What must hold and was not told leaves a yes open, unless it is the kernel's, which knows.
    let is_open = need == Answer::Unknown && !flaw.need.is_empty() && kernel != Answer::Yes;
    let affected = if affected == Answer::Yes && is_open { Answer::Unknown } else { affected };
    Presence { affected, because, disagreements }
}

/// The pairs of need, list, kernel and registers that contradict each other.
fn disagreements(
    (need, need_says): (Answer, &str),
    (listed, list_says): (Answer, &str),
    said: &Said,
) -> Vec<String> {
    let kernel = said.kernel.affected;
    let mut disagreements = Vec::new();
    if need == Answer::No {
        // The kernel looks at the CPU itself; flags may be hidden from programs.
        disagreements
            .push(format!("the catalogue says {need_says}, the kernel says \"{}\"", said.kernel.says));
    }
    if let (Answer::Yes, Answer::No) | (Answer::No, Answer::Yes) = (listed, kernel) {
        disagreements
            .push(format!("the catalogue says {list_says}, the kernel says \"{}\"", said.kernel.says));
    }
    if let (Answer::Yes, Answer::No) | (Answer::No, Answer::Yes) = (said.registers.affected, kernel) {
        let (registers, kernel) = (&said.registers.says, &said.kernel.says);
        disagreements.push(format!("registers say \"{registers}\", the kernel says \"{kernel}\""));
    }
    let is_repaired = said.registers.affected == Answer::No;
    if listed == Answer::Yes && is_repaired && !said.immune {
        disagreements
            .push(format!("the catalogue says {list_says}, registers say \"{}\"", said.registers.says));
    }
    disagreements
}

/// Why a machine cannot have a flaw by its architecture alone, if so.
pub(crate) fn foreign(flaw: &Flaw, evidence: &FlawEvidence) -> Option<String> {
    let Some(here) = Architecture::of(evidence) else {
        // What the kernel judges on other architectures too has a file; all else in the catalogue was found in x86 and Arm CPUs.
        let is_general = flaw.vulnerability_file.is_some() && flaw.architectures.contains(&Architecture::X86);
        let other = evidence.other_architecture.as_ref().filter(|_| !is_general)?;
        return Some(format!("an {} flaw; this is {other}", names(flaw)));
    };
    (!flaw.architectures.contains(&here)).then(|| format!("an {} flaw; this is {here}", names(flaw)))
}

/// The architectures of an entry, for a sentence.
fn names(flaw: &Flaw) -> String {
    let names: Vec<String> = flaw.architectures.iter().map(ToString::to_string).collect();
    names.join(" and ")
}

fn simple(affected: Answer, because: String) -> Presence {
    Presence { affected, because, disagreements: Vec::new() }
}

/// True where no CPU of this vendor or architecture can have the flaw, or where a feature proves that it is of a kind that never had
/// it: a hypervisor can show a newer model than it runs on, but no AMX that is not there.
fn never(flaw: &Flaw, evidence: &FlawEvidence) -> bool {
    let is_proven = evidence.flags.iter().any(|flag| flag == "amx_tile");
    cannot_have(flaw, evidence) || (is_proven && spared(flaw, evidence))
}

/// True where the kernel looked up a model that is made up, and no model that it can be is on the list.
fn unlisted(listed: Answer, evidence: &FlawEvidence) -> bool {
    listed == Answer::No && evidence.cpus.iter().any(|cpu| !cpu.one_of.is_empty())
}

/// True where the entry names all these CPUs as such that never had the flaw.
fn spared(flaw: &Flaw, evidence: &FlawEvidence) -> bool {
    let is_spared = |cpu| among(&flaw.spared, cpu) == Membership::Inside;
    !evidence.cpus.is_empty() && evidence.cpus.iter().all(is_spared)
}

/// What the entry's list of CPUs says of this machine.
fn listing(flaw: &Flaw, evidence: &FlawEvidence) -> (Answer, String) {
    if cannot_have(flaw, evidence) {
        let because = flaw.possible.as_ref().map_or("", |possible| possible.because.as_str());
        return (Answer::No, format!("it is no flaw of {}: {because}", makers(evidence)));
    }
    if spared(flaw, evidence) {
        return (Answer::No, "CPUs of this kind never had it".into());
    }
    let has_list = !flaw.affected.is_empty() || !flaw.unsure.is_empty();
    if has_list
        && !flaw.incomplete
        && let (None, Some(architecture)) = (Architecture::of(evidence), &evidence.other_architecture)
    {
        return (Answer::No, format!("its list names {} CPUs, this is {architecture}", names(flaw)));
    }
    if !has_list {
        return (Answer::Unknown, "the catalogue has no list of CPUs for it".into());
    }
    if evidence.cpus.is_empty() {
        return (Answer::Unknown, "the CPU does not say who it is".into());
    }
    let memberships: Vec<Membership> = evidence.cpus.iter().map(|cpu| among(&flaw.affected, cpu)).collect();
    let inside = memberships.iter().filter(|membership| **membership == Membership::Inside).count();
    if inside == memberships.len() {
        return (Answer::Yes, "this CPU is on its list".into());
    }
    if inside > 0 {
        let rest = if flaw.affects_whole_board { ", which makes the whole board affected" } else { "" };
        let text = format!("{inside} of {} CPUs are on its list{rest}", memberships.len());
        return (Answer::Yes, text);
    }
    if memberships.contains(&Membership::Unknown) {
        return (Answer::Unknown, "the CPU does not tell its model and stepping".into());
    }
    if evidence.cpus.iter().any(|cpu| among(&flaw.unsure, cpu) != Membership::Outside) {
        return (Answer::Unknown, "the list alone cannot tell whether this CPU has it".into());
    }
    let is_fixed = |cpu| among(&flaw.fixed, cpu) == Membership::Inside;
    if evidence.cpus.iter().all(is_fixed) {
        return (Answer::No, "it is repaired in this stepping".into());
    }
    if flaw.incomplete {
        return (Answer::Unknown, "its list of CPUs is not complete".into());
    }
    let of_its_makers = |cpu: &CpuSignature| {
        let mut ranges = flaw.affected.iter().chain(&flaw.unsure).chain(&flaw.fixed);
        ranges.any(|range| range.is_of_its_maker(cpu))
    };
    if !evidence.cpus.iter().any(of_its_makers) {
        if evidence.cpus.iter().any(is_of_unknown_maker) {
            return (Answer::Unknown, format!("the catalogue knows no CPU of {}", makers(evidence)));
        }
        return (Answer::No, format!("no CPU of {} is on its list", makers(evidence)));
    }
    (Answer::No, "this CPU is not on its list".into())
}

/// True where no CPU of this vendor or architecture can have the flaw.
fn cannot_have(flaw: &Flaw, evidence: &FlawEvidence) -> bool {
    let Some(possible) = &flaw.possible else { return false };
    if Architecture::of(evidence) == Some(Architecture::Arm64) {
        return false;
    }
    if evidence.other_architecture.is_some() {
        return !possible.other_architectures;
    }
    !evidence.cpus.is_empty() && !evidence.cpus.iter().any(|cpu| flaw.lets(cpu) || is_of_unknown_maker(cpu))
}

/// True of a CPU of x86 whose vendor nobody wrote lists of.
fn is_of_unknown_maker(cpu: &CpuSignature) -> bool {
    let is_known = |vendor: &String| MAKERS.iter().any(|(known, _)| known == vendor);
    cpu.arm.is_none() && cpu.vendor.as_ref().is_some_and(|vendor| !is_known(vendor))
}

/// Who made the CPUs, for a sentence.
fn makers(evidence: &FlawEvidence) -> String {
    let is_arm = evidence.cpus.iter().any(|cpu| cpu.arm.is_some());
    if let Some(architecture) = evidence.other_architecture.as_ref().filter(|_| !is_arm) {
        return architecture.clone();
    }
    let vendor = evidence.cpus.first().and_then(|cpu| cpu.vendor.as_deref()).unwrap_or("this vendor");
    MAKERS.iter().find(|(known, _)| vendor == *known).map_or(vendor, |(_, name)| name).trim().to_owned()
}

impl Flaw {
    /// True if the CPU is on the entry's lists of those that have the flaw or may have it, or if there are none.
    pub fn may_affect(&self, cpu: &CpuSignature) -> bool {
        let of = if cpu.arm.is_some() { Architecture::Arm64 } else { Architecture::X86 };
        if !self.architectures.contains(&of) {
            return false;
        }
        let is_on = |list| among(list, cpu) == Membership::Inside;
        let has_list = !self.affected.is_empty() || !self.unsure.is_empty();
        !has_list || self.incomplete && self.lets(cpu) || is_on(&self.affected) || is_on(&self.unsure)
    }

    /// False of a CPU whose vendor cannot have the flaw.
    fn lets(&self, cpu: &CpuSignature) -> bool {
        let is_possible =
            |vendor| self.possible.as_ref().is_none_or(|possible| possible.vendors.contains(vendor));
        cpu.vendor.as_ref().is_none_or(is_possible)
    }

    /// What the entry's lists alone say of a CPU: it has the flaw, has it not, or may have it.
    pub fn listed(&self, cpu: &CpuSignature) -> Answer {
        let is_on = |list| among(list, cpu) == Membership::Inside;
        if is_on(&self.spared) || !self.may_affect(cpu) {
            Answer::No
        } else if is_on(&self.affected) {
            Answer::Yes
        } else {
            Answer::Unknown
        }
    }

    /// True if the entry is about this CPU: it has the flaw, may have it or is repaired.
    pub(crate) fn concerns(&self, cpu: &CpuSignature) -> bool {
        self.may_affect(cpu) || among(&self.fixed, cpu) == Membership::Inside
    }
}

/// Whether everything the flaw needs holds; a missing condition is named.
fn needs(needs: &[Need], evidence: &FlawEvidence) -> (Answer, String) {
    let mut all = Answer::Yes;
    let mut holding = Vec::new();
    for need in needs {
        let (answer, text) = one_need(need, evidence);
        match answer {
            Answer::No => return (Answer::No, format!("it needs {text}")),
            Answer::Unknown => all = Answer::Unknown,
            Answer::Yes => holding.push(text),
        }
    }
    (all, format!("this machine has {}", holding.join(", ")))
}

fn one_need(need: &Need, evidence: &FlawEvidence) -> (Answer, String) {
    let MachineShape { cpus, packages, threads_per_core, core_kinds, .. } = evidence.shape;
    let MachineShape { second_level_shared_by, last_level_caches, distances, .. } = evidence.shape;
    let counts = [
        (need.cpus_min, cpus, "CPUs"),
        (need.packages_min, packages, "packages"),
        (need.threads_per_core_min, threads_per_core, "threads per core"),
        (need.second_level_shared_by_min, second_level_shared_by, "CPUs at one second-level cache"),
        (need.core_kinds_min, core_kinds, "kinds of cores"),
        (need.last_level_caches_min, last_level_caches, "last-level caches"),
        (need.distances_min, distances, "different distances between nodes"),
    ];
    let mut answers = Vec::new();
    let mut texts = Vec::new();
    for (min, count, name) in counts {
        let Some(min) = min else { continue };
        texts.push(format!("at least {min} {name}"));
        answers.push(match count {
            0 => Answer::Unknown,
            count if count >= min => Answer::Yes,
            _ => Answer::No,
        });
    }
    for (flag, required) in [(&need.flag, true), (&need.without_flag, false)] {
        let Some(flag) = flag else { continue };
        texts.push(match (flag.as_str(), required) {
            ("hypervisor", false) => "a machine that is no guest".to_owned(),
            (_, true) => format!("the flag {flag}"),
            (_, false) => format!("a CPU without the flag {flag}"),
        });
        answers.push(
            match (
                evidence.flags.is_empty() || evidence.flags_unreported.contains(flag),
                evidence.flags.contains(flag) == required,
            ) {
                (true, _) => Answer::Unknown,
                (false, true) => Answer::Yes,
                (false, false) => Answer::No,
            },
        );
    }
    if need.x86 {
        texts.push("an x86 CPU".to_owned());
        answers.push(match (&evidence.other_architecture, evidence.cpus.is_empty()) {
            (Some(_), _) => Answer::No,
            (None, true) => Answer::Unknown,
            (None, false) => Answer::Yes,
        });
    }
    let answer = if answers.contains(&Answer::No) {
        Answer::No
    } else if answers.contains(&Answer::Unknown) {
        Answer::Unknown
    } else {
        Answer::Yes
    };
    (answer, texts.join(" and "))
}

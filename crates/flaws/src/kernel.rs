//! The kernel as evidence: its vulnerability files, its list of bugs, flags, the process's state, the command line.

use machine::{BootWord, last_word};
use record::{Answer, FlawEvidence, Protection, Reading, Statement, WorkaroundState};

use crate::choice::release_numbers;
use crate::cpu_range::{Membership, among};
use crate::presence::foreign;
use crate::wording::{SysfsStatus, Words};
use crate::{Architecture, Flaw};

/// What the kernel says, and whether it says that it does not know.
pub(crate) struct KernelWord {
    /// The statement.
    pub(crate) statement: Statement,
    /// It says that it does not know whether the CPU is affected.
    pub(crate) is_unsure: bool,
}

/// Files whose text, where buffers are cleared, always ends with the state of the sibling threads: Linux,
/// arch/x86/kernel/cpu/bugs.c, mds_show_state and the two like it. Without it the text is cut.
const WITH_SIBLINGS: [&str; 3] = ["mds", "mmio_stale_data", "tsx_async_abort"];

/// Asks the kernel about one flaw.
pub(crate) fn kernel(flaw: &Flaw, evidence: &FlawEvidence) -> KernelWord {
    let mut says = Vec::new();
    let mut sysfs_status = SysfsStatus::NOTHING;
    if let Some(file) = &flaw.vulnerability_file {
        match evidence.vulnerabilities.as_ref().and_then(|files| files.get(file)) {
            Some(Reading::Is(text)) => {
                let words = Words::of(text);
                let form = words.form();
                let is_bare = form.as_deref() == Some("Mitigation: Clear CPU buffers");
                let is_cut = is_bare && WITH_SIBLINGS.contains(&file.as_str());
                sysfs_status =
                    if is_cut { SysfsStatus::not_understood(text) } else { read(&words, flaw, evidence) };
                let doubt = if form.is_some() && !is_cut { "" } else { " (no known wording of a kernel)" };
                says.push(format!("{file}: {}{doubt}", text.trim()));
                if sysfs_status.affected == Answer::No && !has_looked(flaw, evidence) {
                    sysfs_status = SysfsStatus::NOTHING;
                    says.push("it has not looked at this CPU".into());
                }
            }
            Some(Reading::Missing(reason)) => says.push(format!("{file}: {reason}")),
            None if evidence.vulnerabilities.is_some() => {
                says.push(format!("no file {file} here"));
            }
            None => {}
        }
    }
    if let Some(bug) = &flaw.bug
        && names(evidence, bug)
    {
        says.push(format!("bugs: {bug}"));
        if sysfs_status.affected == Answer::Unknown {
            sysfs_status.affected = Answer::Yes;
        }
        if let (Some(state), WorkaroundState::Unknown) = (flaw.bug_state, sysfs_status.workaround) {
            sysfs_status.workaround = state;
            sysfs_status.protected = crate::wording::protection(state);
        }
    }
    for sub_state in flaw.sub_state.iter().filter(|sub_state| names(evidence, &sub_state.bug)) {
        says.push(format!("bugs: {}, {}", sub_state.bug, sub_state.means));
    }
    for hint in hints(flaw, evidence) {
        says.push(hint.text);
        if hint.is_of_affected && sysfs_status.affected == Answer::Unknown {
            sysfs_status.affected = Answer::Yes;
        }
        // A file that was understood knows more than a hint, but not which processes ask for a workaround.
        let is_open = match sysfs_status.workaround {
            WorkaroundState::Unknown => true,
            WorkaroundState::Partial => hint.is_of_this_process,
            _ => false,
        };
        if is_open {
            sysfs_status.workaround = hint.state;
            // What this process asked for protects no other.
            if !matches!(sysfs_status.protected, Protection::OnRequest | Protection::NotProtected) {
                sysfs_status.protected = crate::wording::protection(hint.state);
            }
        }
    }
    let says = if says.is_empty() { silence(flaw, evidence) } else { says.join("; ") };
    let SysfsStatus { affected, workaround, protected, is_unsure } = sysfs_status;
    KernelWord { statement: Statement { says, affected, workaround, protected }, is_unsure }
}

/// False where the kernel says "Not affected" of whom it does not know: CPUs that it has no list for, and guests.
fn has_looked(flaw: &Flaw, evidence: &FlawEvidence) -> bool {
    let looks_at = |cpu| among(&flaw.kernel_looks_at, cpu) == Membership::Inside;
    let release = evidence.kernel_release.as_deref().and_then(release_numbers);
    let is_early = flaw.kernel_late.as_ref().is_some_and(|late| {
        let is_meant = |cpu| among(&late.cpus, cpu) == Membership::Inside;
        release.is_none_or(|release| release < late.since.at_least) && evidence.cpus.iter().any(is_meant)
    });
    let is_free = flaw.kernel_looks_at.is_empty();
    !is_early && (is_free || (evidence.hypervisor.is_none() && evidence.cpus.iter().all(looks_at)))
}

/// Reads the file, or the part of it that is meant; a part that is not there says nothing.
fn read(words: &Words, flaw: &Flaw, evidence: &FlawEvidence) -> SysfsStatus {
    let is_made_up = evidence.cpus.iter().any(|cpu| !cpu.one_of.is_empty());
    let mut wordings = flaw.wording.clone();
    for wording in wordings.iter_mut().filter(|wording| wording.by_model && is_made_up) {
        (wording.state, wording.protected) = (WorkaroundState::Unknown, None);
    }
    let Some(part) = &flaw.vulnerability_part else { return words.status(&wordings) };
    // On arm64 the one text covers Spectre v2 and BHB: Linux, arch/arm64/kernel/proton-pack.c, cpu_show_spectre_v2.
    let is_arm = Architecture::of(evidence) == Some(Architecture::Arm64);
    if is_arm && words.form().as_deref() == Some("Not affected") {
        return words.status(&[]);
    }
    words.part(part, &wordings)
}

/// What tells of the workaround beside the file.
struct Hint {
    text: String,
    state: WorkaroundState,
    is_of_this_process: bool,
    /// It is said of affected CPUs only.
    is_of_affected: bool,
}

/// Flags, states of the process and boot words that tell of the workaround, each with its text.
fn hints(flaw: &Flaw, evidence: &FlawEvidence) -> Vec<Hint> {
    let mut found = Vec::new();
    if foreign(flaw, evidence).is_some() {
        // What works around a flaw of one architecture says nothing of another.
        return found;
    }
    let hint = |text: String, state| Hint { text, state, is_of_this_process: false, is_of_affected: false };
    for flag in &flaw.kernel_flag {
        if evidence.flags.contains(&flag.name) {
            found.push(hint(format!("flag {}", flag.name), flag.state));
        }
    }
    for status in &flaw.task_status {
        if let Some(text) = evidence.task_status.get(&status.field)
            && text.to_lowercase().contains(&status.contains.to_lowercase())
        {
            let text = format!("this process: {text}");
            found.push(Hint { is_of_this_process: true, ..hint(text, status.state) });
            break;
        }
    }
    let line = evidence.command_line.as_deref().unwrap_or("");
    for boot in &flaw.boot_word {
        let known = BootWord::of(&boot.word);
        let begins = |value: &str| {
            known.value.is_some_and(|known| {
                value == known || ((known.is_empty() || known.ends_with(':')) && value.starts_with(known))
            })
        };
        let is = |word: &BootWord| word.value.map_or(known.value.is_none(), begins);
        if let Some(word) = last_word(line, known.name).filter(is) {
            found.push(hint(format!("booted with {}", word.text), boot.state));
        }
    }
    if let (Some(first), Some(release)) = (&flaw.kernel_release, &evidence.kernel_release)
        && release_numbers(release).is_some_and(|numbers| numbers >= first.at_least)
    {
        found.push(hint(format!("Linux {release} always works around it"), WorkaroundState::On));
    }
    found.extend(messages_seen(flaw, evidence).map(|seen| Hint {
        is_of_affected: seen.affected,
        ..hint(format!("message: {}", seen.text), seen.state)
    }));
    found
}

/// A message of the kernel's log that an entry knows.
pub(crate) struct SeenMessage<'e> {
    pub(crate) text: &'e str,
    /// What it says of the workaround, at the time it was said.
    pub(crate) state: WorkaroundState,
    /// It is said of affected CPUs only.
    pub(crate) affected: bool,
}

/// The messages that an entry knows and the log holds. On arm64 one message stands for the errata of several CPUs: there it counts
/// only where the entry is about one of the machine's.
pub(crate) fn messages_seen<'e>(
    flaw: &'e Flaw,
    evidence: &'e FlawEvidence,
) -> impl Iterator<Item = SeenMessage<'e>> {
    let is_about = evidence.cpus.iter().all(|cpu| cpu.arm.is_none())
        || evidence.cpus.iter().any(|cpu| flaw.concerns(cpu));
    flaw.kernel_message.iter().filter(move |_| is_about).filter_map(|message| {
        let required = message.contains.to_lowercase();
        let text = evidence.messages.iter().find(|text| text.to_lowercase().contains(&required))?;
        Some(SeenMessage { text, state: message.state, affected: message.affected })
    })
}

/// Whether the kernel lists a bug by this word.
fn names(evidence: &FlawEvidence, bug: &String) -> bool {
    evidence.bugs.as_ref().is_some_and(|bugs| bugs.contains(bug))
}

/// Why the kernel says nothing.
fn silence(flaw: &Flaw, evidence: &FlawEvidence) -> String {
    if flaw.vulnerability_file.is_some() && evidence.vulnerabilities.is_none() {
        return "no vulnerability files here".into();
    }
    let has_no_place = flaw.vulnerability_file.is_none()
        && flaw.bug.is_none()
        && flaw.sub_state.is_empty()
        && flaw.kernel_flag.is_empty()
        && flaw.task_status.is_empty()
        && flaw.boot_word.is_empty()
        && flaw.kernel_release.is_none()
        && flaw.kernel_message.is_empty();
    if has_no_place { "Linux has no indicator for it".into() } else { "nothing".into() }
}

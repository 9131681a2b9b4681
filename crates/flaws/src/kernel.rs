//! The kernel as a witness: its vulnerability files, its list of bugs, flags, the process's state, the command line.

use record::{Answer, FlawEvidence, Reading, Statement, WorkaroundState};

use crate::Flaw;
use crate::wording::{Spoken, spoken};

/// What the kernel says, with what it says of safety.
pub(crate) struct KernelWord {
    /// The statement.
    pub(crate) statement: Statement,
    /// Whether it thinks the machine safe.
    pub(crate) protected: Answer,
}

/// Asks the kernel about one flaw.
pub(crate) fn kernel(flaw: &Flaw, evidence: &FlawEvidence) -> KernelWord {
    let mut says = Vec::new();
    let mut heard = Spoken {
        affected: Answer::Unknown,
        workaround: WorkaroundState::Unknown,
        protected: Answer::Unknown,
    };
    if let Some(file) = &flaw.vulnerability_file {
        match evidence.vulnerabilities.as_ref().and_then(|files| files.get(file)) {
            Some(Reading::Is(text)) => {
                heard = spoken(text, &flaw.wording);
                says.push(format!("{file}: {}", text.trim()));
            }
            Some(Reading::Missing(reason)) => says.push(format!("{file}: {reason}")),
            None if evidence.vulnerabilities.is_some() => {
                says.push(format!("this kernel has no file {file}"));
            }
            None => {}
        }
    }
    if let Some(bug) = &flaw.bug
        && evidence.bugs.as_ref().is_some_and(|bugs| bugs.contains(bug))
    {
        says.push(format!("bugs: {bug}"));
        if heard.affected == Answer::Unknown {
            heard.affected = Answer::Yes;
        }
    }
    for (text, state) in hints(flaw, evidence) {
        says.push(text);
        // A file that was understood knows more than a hint.
        if heard.workaround == WorkaroundState::Unknown {
            heard.workaround = state;
            heard.protected = crate::wording::protection(state);
        }
    }
    let says = if says.is_empty() { silence(flaw, evidence) } else { says.join("; ") };
    let statement = Statement { says, affected: heard.affected, workaround: heard.workaround };
    KernelWord { statement, protected: heard.protected }
}

/// Flags, states of the process and boot words that tell of the workaround, each with its text.
fn hints(flaw: &Flaw, evidence: &FlawEvidence) -> Vec<(String, WorkaroundState)> {
    let mut found = Vec::new();
    for flag in &flaw.kernel_flag {
        if evidence.flags.contains(&flag.name) {
            found.push((format!("flag {}", flag.name), flag.state));
        }
    }
    for status in &flaw.task_status {
        if let Some(text) = evidence.task_status.get(&status.field)
            && text.to_lowercase().contains(&status.contains.to_lowercase())
        {
            found.push((format!("this process: {text}"), status.state));
        }
    }
    let line = evidence.command_line.as_deref().unwrap_or("");
    for boot in &flaw.boot_word {
        let is =
            |word: &&str| *word == boot.word || (boot.word.ends_with('=') && word.starts_with(&boot.word));
        if let Some(word) = line.split_whitespace().find(is) {
            found.push((format!("booted with {word}"), boot.state));
        }
    }
    found
}

/// Why the kernel says nothing.
fn silence(flaw: &Flaw, evidence: &FlawEvidence) -> String {
    if flaw.vulnerability_file.is_some() && evidence.vulnerabilities.is_none() {
        return "no vulnerability files here".into();
    }
    let has_no_place = flaw.vulnerability_file.is_none()
        && flaw.bug.is_none()
        && flaw.kernel_flag.is_empty()
        && flaw.task_status.is_empty()
        && flaw.boot_word.is_empty();
    if has_no_place { "Linux has no indicator for it".into() } else { "nothing".into() }
}

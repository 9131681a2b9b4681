//! Attack vectors: what is open of a flaw, and where the kernel contradicts its own table.
//!
//! Source: Linux 6.17, Documentation/admin-guide/hw-vuln/attack_vector_controls.rst and arch/x86/kernel/cpu/bugs.c
//! (`should_mitigate_vuln`).

use std::collections::BTreeMap;

use record::{AttackVector, CauseKind, Protection, VectorState};

use crate::cause::Case;
use crate::choice::names;

/// How the sentence begins that shows the kernel against its table.
pub const BY_ITS_TABLE: &str = "by the kernel's own table";

/// What stands against each vector of a flaw.
pub(crate) fn states(case: &Case, cause: Option<CauseKind>) -> BTreeMap<AttackVector, VectorState> {
    let is_chosen = matches!(cause, Some(CauseKind::OwnWord | CauseKind::MitigationsOff));
    let one_thread = case.evidence.shape.threads_per_core == 1 && case.evidence.hypervisor.is_none();
    let open = |vector: AttackVector| {
        if is_chosen || case.choice.excluded.contains(&vector) {
            VectorState::OffByChoice
        } else {
            VectorState::Open
        }
    };
    let state = |vector: AttackVector| match case.protected {
        Protection::Protected => VectorState::Closed,
        Protection::OnRequest => VectorState::OnRequest,
        Protection::Unknown | Protection::NotAffected => VectorState::Unknown,
        _ if vector == AttackVector::CrossThread && one_thread => VectorState::Closed,
        _ if case.leaves_open(vector) => open(vector),
        _ => VectorState::Closed,
    };
    if case.protected == Protection::NotAffected {
        return BTreeMap::new();
    }
    case.flaw.attack_vectors().iter().map(|&vector| (vector, state(vector))).collect()
}

/// That the kernel says otherwise than its own table by the words of the command line, where it does.
pub(crate) fn difference(case: &Case, cause: Option<CauseKind>) -> Option<String> {
    let is_unexplained =
        matches!(cause, Some(CauseKind::AttackVector | CauseKind::ByDesign | CauseKind::Unknown));
    let required = case.flaw.causes.vectors.iter();
    let is_meant = |vector: AttackVector| {
        vector != AttackVector::CrossThread && case.choice.is_on(vector) && case.leaves_open(vector)
    };
    let on = required.filter(|vector| is_meant(**vector));
    let on: Vec<&str> = on.map(|vector| vector.name()).collect();
    let is_open = case.protected == Protection::NotProtected && case.choice.is_known_release;
    if !is_open || !is_unexplained || on.is_empty() {
        return None;
    }
    let code = case.flaw.causes.vector_code.as_ref();
    let code = code.map_or(String::new(), |code| {
        format!("; its code decides by {} alone ({})", names(&code.any_of), code.source)
    });
    let (on, says) = (on.join(", "), case.kernel_says);
    Some(format!("{BY_ITS_TABLE} it is mitigated for {on}, the kernel says \"{says}\"{code}"))
}

//! The words of `mitigations=` for what a machine is used for, with what each excluded vector exposes on it.

use std::collections::BTreeMap;

use record::AttackVector::{self, CrossThread, GuestGuest, GuestHost, UserKernel, UserUser};
use record::{Answer, FlawEvidence, FlawVerdict, Protection, VectorState};
use serde::Serialize;

use crate::fix::own_option;
use crate::{Architecture, Catalogue, Choice, Flaw};

/// The flaws that have attack vectors, on one machine, with the words that it was booted with.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VectorTable {
    /// Vectors that words or a kernel without KVM exclude.
    pub excluded: Vec<AttackVector>,
    /// Parts of `mitigations=` that this kernel refuses.
    pub refused: Vec<String>,
    /// Why the kernel refuses words for vectors, if it does.
    pub unsupported: Option<String>,
    /// The flaws that are or may be here, the open ones first.
    pub flaws: Vec<FlawVerdict>,
}

impl VectorTable {
    /// Of the verdicts on one machine.
    pub fn of(catalogue: &Catalogue, evidence: &FlawEvidence, verdicts: &[FlawVerdict]) -> Self {
        let choice = Choice::of(evidence);
        let mut flaws: Vec<FlawVerdict> =
            here(catalogue, verdicts).map(|(_, verdict)| verdict.clone()).collect();
        let worst = |row: &FlawVerdict| {
            let of = |state| usize::from(!row.vectors.values().any(|other| *other == state));
            [VectorState::Open, VectorState::OffByChoice, VectorState::OnRequest, VectorState::Unknown]
                .map(of)
        };
        flaws.sort_by_key(worst);
        let is_excluded = |vector: &AttackVector| !choice.is_on(*vector);
        Self {
            excluded: AttackVector::ALL.into_iter().filter(is_excluded).collect(),
            unsupported: unsupported(evidence, &choice),
            refused: choice.refused,
            flaws,
        }
    }
}

/// Why a kernel has no words for vectors, where that is known.
fn unsupported(evidence: &FlawEvidence, choice: &Choice) -> Option<String> {
    if evidence.other_architecture.is_some() || Architecture::of(evidence) == Some(Architecture::Arm64) {
        return Some("Linux has attack vectors on x86 alone and refuses words for them elsewhere".to_owned());
    }
    let release = evidence.kernel_release.as_ref().filter(|_| !choice.is_known_release)?;
    Some(format!(
        "Linux {release} is older than 6.17, the first with attack vectors, and refuses words for them"
    ))
}

/// The flaws with attack vectors that are or may be here, with their verdicts.
fn here<'a>(
    catalogue: &'a Catalogue,
    verdicts: &'a [FlawVerdict],
) -> impl Iterator<Item = (&'a Flaw, &'a FlawVerdict)> {
    let pairs = catalogue.flaws.iter().zip(verdicts);
    pairs.filter(|(_, verdict)| !verdict.vectors.is_empty() && verdict.affected != Answer::No)
}

machine::named! {
    /// What a machine is used for.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "kebab-case")]
    pub enum Purpose {
        /// Programs of several people, no guests.
        SharedHost = "shared-host",
        /// Programs that are all trusted, no guests.
        OwnPrograms = "own-programs",
        /// Guests of others; programs of the host are trusted.
        VmHost = "vm-host",
    }
}

impl Purpose {
    /// The vectors that nobody can use there.
    fn excluded(self) -> &'static [AttackVector] {
        match self {
            Self::SharedHost => &[GuestHost, GuestGuest],
            Self::OwnPrograms => &[UserKernel, UserUser, GuestHost, GuestGuest, CrossThread],
            Self::VmHost => &[UserKernel, UserUser],
        }
    }
}

/// The words for a use, and what they leave open.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Advice {
    /// The use.
    pub purpose: Purpose,
    /// The words of the command line, complete.
    pub words: String,
    /// Why the kernel refuses words for vectors, if it does.
    pub unsupported: Option<String>,
    /// What each excluded vector costs in safety.
    pub excluded: Vec<ExcludedVector>,
    /// Flaws that stay open on the vectors that remain, with what would close each.
    pub still_open: BTreeMap<String, Option<String>>,
    /// Flaws for which `auto,nosmt` would switch SMT off.
    pub smt_off_for: Vec<String>,
}

/// A vector that is left out.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExcludedVector {
    /// Which.
    pub vector: AttackVector,
    /// What lies open then.
    pub exposes: String,
    /// Flaws of this machine that are then open by it; others stay mitigated for another vector.
    pub flaws: Vec<String>,
}

impl Advice {
    /// The words for a use of this machine.
    pub fn of(
        catalogue: &Catalogue,
        evidence: &FlawEvidence,
        verdicts: &[FlawVerdict],
        purpose: Purpose,
    ) -> Self {
        let now = Choice::of(evidence);
        // The document of the kernel: off is the same as all vectors off.
        let is_all = purpose.excluded().len() == AttackVector::ALL.len();
        let unsupported = unsupported(evidence, &now).filter(|_| !is_all);
        let left_out = if unsupported.is_some() { &[] } else { purpose.excluded() };
        let then = Choice { excluded: left_out.iter().copied().collect(), ..Choice::default() };
        let vectors = left_out.iter().map(|vector| vector.word());
        let all = ["mitigations=auto"].into_iter().chain(vectors).collect::<Vec<_>>().join(",");
        let mut words = vec![if is_all { "mitigations=off".to_owned() } else { all }];
        let mut still_open = BTreeMap::new();
        let mut by_vector: BTreeMap<AttackVector, Vec<String>> = BTreeMap::new();
        for (flaw, verdict) in here(catalogue, verdicts) {
            let is_required = flaw.attack_vectors().iter().any(|vector| then.is_on(*vector));
            let is_left_off = then.leaves_off(flaw);
            // Protected though the kernel leaves it off: by what it depends on.
            let is_otherwise = verdict.protected == Protection::Protected && now.leaves_off(flaw);
            if is_required && is_left_off && !is_otherwise {
                // The kernel's code contradicts its table: the word of the flaw goes before the vectors.
                words.extend(own_option(flaw, evidence));
            } else if is_required && verdict.protected == Protection::NotProtected && !now.leaves_off(flaw) {
                still_open.insert(verdict.id.clone(), verdict.fix.clone());
            }
            let excluded = flaw.attack_vectors().iter().filter(|vector| !then.is_on(**vector));
            let goes = !is_required || (flaw.causes.taken_apart && !is_otherwise);
            for vector in excluded.filter(|_| goes) {
                by_vector.entry(*vector).or_default().push(verdict.id.clone());
            }
        }
        let exposed = |vector: &AttackVector| ExcludedVector {
            vector: *vector,
            exposes: vector.exposes().to_owned(),
            flaws: by_vector.remove(vector).unwrap_or_default(),
        };
        Self {
            purpose,
            words: words.join(" "),
            unsupported,
            excluded: left_out.iter().map(exposed).collect(),
            still_open,
            smt_off_for: if is_all { Vec::new() } else { smt_off_for(catalogue, evidence, verdicts) },
        }
    }
}

/// Flaws for which `auto,nosmt` would switch SMT off here.
fn smt_off_for(catalogue: &Catalogue, evidence: &FlawEvidence, verdicts: &[FlawVerdict]) -> Vec<String> {
    if evidence.shape.threads_per_core < 2 {
        return Vec::new();
    }
    let offers = |flag: &String| evidence.flags.contains(flag);
    let goes =
        |flaw: &Flaw| flaw.causes.smt_off_unless.as_ref().is_some_and(|flags| !flags.iter().any(offers));
    let known = here(catalogue, verdicts).filter(|(_, verdict)| verdict.affected == Answer::Yes);
    known.filter(|(flaw, _)| goes(flaw)).map(|(flaw, _)| flaw.id.clone()).collect()
}

//! Which verdicts fail a health check: by themselves, or against the verdicts of a good machine.
//!
//! A stock kernel passes: what protects on request or in part is its default, and no reason to condemn a machine.

use std::collections::BTreeMap;

use record::{Answer, FlawVerdict, Protection, Statement};
use serde::{Deserialize, Serialize};

/// Why a flaw fails the gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GateReason {
    /// The flaw.
    pub id: String,
    /// Why, in one sentence.
    pub why: String,
}

/// Why a verdict fails by itself: the kernel calls the machine vulnerable, or sources disagree of which one says so.
pub fn unmet(verdict: &FlawVerdict) -> Option<GateReason> {
    if verdict.affected == Answer::No {
        return None;
    }
    let fails = |why: String| Some(GateReason { id: verdict.id.clone(), why });
    let evidence = &verdict.evidence;
    if evidence.kernel.affected == Answer::Yes && is_open(&evidence.kernel) {
        return fails(format!("not protected, says the kernel: {}", evidence.kernel.says));
    }
    // In part, of registers, is a CPU without the workaround; of the kernel it is its default.
    let accuses = is_open(&evidence.kernel)
        || is_open(&evidence.time)
        || is_open(&evidence.registers)
        || evidence.registers.protected == Protection::Partly;
    verdict.disagreements.first().filter(|_| accuses).and_then(|sentence| fails(sentence.clone()))
}

fn is_open(statement: &Statement) -> bool {
    statement.protected == Protection::NotProtected
}

/// How well each flaw is met on a good machine.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GateBaseline {
    states: BTreeMap<String, Protection>,
}

/// Why a text is no baseline.
#[derive(Debug, thiserror::Error)]
pub enum GateBaselineError {
    /// It is not JSON, or not of that form.
    #[error("it is neither a record nor a document of sidestep flaws --json: {0}")]
    Form(#[from] serde_json::Error),
    /// It has no verdict.
    #[error("it holds no verdict on a flaw")]
    Empty,
}

/// What a record and the document of `flaws --json` have in common.
#[derive(Deserialize)]
struct Document {
    flaws: Vec<Row>,
}

/// What counts of a verdict.
#[derive(Deserialize)]
struct Row {
    id: String,
    protected: Protection,
}

impl GateBaseline {
    /// Reads the verdicts of `flaws --json` or of a record in JSON.
    ///
    /// # Errors
    /// Another document, or one without verdicts.
    pub fn parse(text: &[u8]) -> Result<Self, GateBaselineError> {
        let document: Document = serde_json::from_slice(text)?;
        Self::of(document.flaws.into_iter().map(|row| (row.id, row.protected)))
    }

    /// The baseline of a record's verdicts.
    ///
    /// # Errors
    /// There is none.
    pub fn of_verdicts(verdicts: &[FlawVerdict]) -> Result<Self, GateBaselineError> {
        Self::of(verdicts.iter().map(|verdict| (verdict.id.clone(), verdict.protected)))
    }

    fn of(rows: impl Iterator<Item = (String, Protection)>) -> Result<Self, GateBaselineError> {
        let states: BTreeMap<_, _> = rows.collect();
        if states.is_empty() { Err(GateBaselineError::Empty) } else { Ok(Self { states }) }
    }

    /// Why a verdict fails against the baseline: it got worse. A flaw that the baseline does not know is judged by itself; an
    /// unknown on either side is no change.
    pub fn worse(&self, verdict: &FlawVerdict) -> Option<GateReason> {
        let Some(&baseline) = self.states.get(&verdict.id) else { return unmet(verdict) };
        let (before, now) = (rank(baseline)?, rank(verdict.protected)?);
        (now > before).then(|| GateReason {
            id: verdict.id.clone(),
            why: format!("{}, and in the baseline {}", verdict.protected.name(), baseline.name()),
        })
    }

    /// True if the baseline knows the flaw to be as the verdict says.
    pub fn holds(&self, verdict: &FlawVerdict) -> bool {
        self.states.get(&verdict.id) == Some(&verdict.protected)
    }
}

/// How bad a state is; nothing where it is not known.
fn rank(state: Protection) -> Option<u8> {
    match state {
        Protection::NotAffected | Protection::Protected => Some(0),
        Protection::OnRequest => Some(1),
        Protection::Partly => Some(2),
        Protection::NotProtected => Some(3),
        Protection::Unknown => None,
    }
}

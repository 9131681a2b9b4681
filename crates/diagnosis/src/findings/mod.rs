//! Findings: what a record says about its machine, most important first.

mod answers;
mod claims;
mod clocks;
mod disturbance;
mod flaws;
mod inequality;
mod neighbours;
mod pages;
mod sharing;
mod sizes;
mod sockets;
mod surroundings;

pub(crate) use disturbance::surface_is_doubtful;
pub(crate) use sharing::BUSY_PORTS_BELOW;
pub(crate) use sizes::{knee_is_unstable, unstable_blocks};

use record::{Area, Finding, Record, Severity};

/// Where the methods are explained.
pub(crate) const METHODOLOGY: &str = "METHODOLOGY.md";

/// All findings of a record whose levels have been found, by severity; within one severity in the order of this table.
pub fn findings(record: &Record) -> Vec<Finding> {
    let judges: [fn(&Record, &mut Vec<Finding>); 12] = [
        answers::judge,
        disturbance::judge,
        neighbours::judge,
        flaws::judge,
        sizes::judge,
        sharing::judge,
        claims::judge,
        inequality::judge,
        sockets::judge,
        pages::judge,
        clocks::judge,
        surroundings::judge,
    ];
    let mut found = Vec::new();
    for judge in judges {
        judge(record, &mut found);
    }
    found.sort_by_key(|finding| finding.severity);
    found
}

/// A finding of one sentence, still without evidence.
fn finding(area: Area, id: &str, severity: Severity, text: impl Into<String>) -> Finding {
    Finding {
        id: id.to_owned(),
        area: Some(area),
        severity,
        text: text.into(),
        evidence: Vec::new(),
        mechanism: None,
        prediction: None,
        remedy: None,
        steps: Vec::new(),
        source: Some(METHODOLOGY.to_owned()),
    }
}

/// What a finding says besides its sentence.
trait Details: Sized {
    /// The same with more evidence, a line each.
    fn showing(self, evidence: impl IntoIterator<Item = String>) -> Self;
    /// The same with what explains it.
    fn caused_by(self, mechanism: impl Into<String>) -> Self;
    /// The same with what was to be expected.
    fn expecting(self, prediction: impl Into<String>) -> Self;
    /// The same with what to do about it.
    fn fixed_by(self, remedy: impl Into<String>) -> Self;
}

impl Details for Finding {
    fn showing(mut self, evidence: impl IntoIterator<Item = String>) -> Self {
        self.evidence.extend(evidence);
        self
    }

    fn caused_by(self, mechanism: impl Into<String>) -> Self {
        Self { mechanism: Some(mechanism.into()), ..self }
    }

    fn expecting(self, prediction: impl Into<String>) -> Self {
        Self { prediction: Some(prediction.into()), ..self }
    }

    fn fixed_by(self, remedy: impl Into<String>) -> Self {
        Self { remedy: Some(remedy.into()), ..self }
    }
}

//! Findings: what a record says about its machine beside its answers, most important first. What a question says is said there alone; a
//! finding of the same thing is what the question rests on, and what explains it.

mod answers;
mod claims;
mod clocks;
mod conditions;
mod disturbance;
mod flaws;
mod pages;
mod sharing;
mod sockets;

pub(crate) use sharing::BUSY_PORTS_BELOW;

use record::{Area, Finding, Record, Severity, Step};
use stats::Order;

/// Where the methods are explained.
pub(crate) const METHODOLOGY: &str = "METHODOLOGY.md";

/// All findings of a record whose levels have been found, by severity; within one severity in the order of this table.
pub fn findings(record: &Record) -> Vec<Finding> {
    let judges: [fn(&Record, &mut Vec<Finding>); 9] = [
        answers::judge,
        disturbance::judge,
        flaws::judge,
        sharing::judge,
        claims::judge,
        sockets::judge,
        pages::judge,
        clocks::judge,
        conditions::judge,
    ];
    let mut found = Vec::new();
    for judge in judges {
        judge(record, &mut found);
    }
    found.order_by_key(|finding| finding.severity);
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

/// Names what to do about every finding of a record: the command that settles it, uses it or reports it. They follow from what a
/// finding says in the end, so they are named after the judge has taken back what cannot hold.
pub(crate) fn name_steps(record: &mut Record) {
    for finding in &mut record.findings {
        finding.steps = steps(finding);
    }
}

fn steps(finding: &Finding) -> Vec<Step> {
    let step =
        |purpose: &str, command: &str| Step { purpose: purpose.to_owned(), command: command.to_owned() };
    let longer = |what: &str, command: &str| step(&format!("Measure {what} for longer"), command);
    let is_open = finding.severity == Severity::Inconclusive;
    let named = match finding.id.as_str() {
        // A CPU that computes wrong is to be seen again, taken out of use, and reported.
        "wrong-results" => {
            let again = step("See whether it errs again", "sidestep run --only cores,memory");
            let remedy = finding.remedy.as_deref().and_then(|remedy| remedy.split_once(": "));
            let report = step("Report operands and machine to its vendor", "sidestep show --json RECORD");
            let without = remedy.map(|(purpose, command)| step(purpose, command));
            return [Some(again), without, Some(report)].into_iter().flatten().collect();
        }
        "thp-off-cost" => step("Measure huge pages on a program", "sidestep ab --toggle thp -- ./program"),
        "busy-machine" | "busy-sibling" | "steal-high" => {
            step("Repeat when the machine is quiet", "sidestep run --repeat 5")
        }
        "hidden-siblings" if !is_open => {
            step("Place threads by what CPUs share", "sidestep place -- ./program")
        }
        "hidden-siblings" | "claimed-core-apart" => longer("cores", "sidestep run --only cores --full"),
        "sockets-unequal" if is_open => longer("sockets", "sidestep sockets --budget 1m"),
        "sockets-unequal" => step("Explain the sockets", "sidestep sockets explain RECORD"),
        "clock-counters" => step("See counters, faults and fixes", "sidestep clock check"),
        "clock-slow" => step("Compare clock sources, as root", "sidestep ab --toggle clocksource"),
        "tlb-reach" => longer("memory", "sidestep run --only memory --full"),
        _ => return Vec::new(),
    };
    vec![named]
}

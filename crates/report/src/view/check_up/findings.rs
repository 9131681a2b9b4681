//! The findings in full, and what they make worth doing.

use record::{Finding, Protection, Record, Severity};

use crate::naming;
use crate::page::{Block, Card, Section, Statement, Tone};

/// Things to do that are named.
const TO_DO_MAX: usize = 3;

/// The source of what needs no other.
pub(super) const METHOD: &str = "METHODOLOGY.md";

/// Every finding in full; `None` without any.
pub(super) fn section(record: &Record) -> Option<Section> {
    let mut section = Section::new("findings", "Findings");
    for finding in ordered(record) {
        let statement = Statement::new(tone(finding.severity), &finding.text);
        section = section.with(Block::Card(Card { statement, facts: facts(finding) }));
    }
    section.filled()
}

/// The most important first.
fn ordered(record: &Record) -> Vec<&Finding> {
    let mut ordered: Vec<&Finding> = record.findings.iter().collect();
    ordered.sort_by_key(|finding| finding.severity);
    ordered
}

/// What a finding rests on, what explains it, what to do; the name of the evidence stands before its first line.
fn facts(finding: &Finding) -> Vec<(String, String)> {
    let names = ["evidence"].into_iter().chain(std::iter::repeat(""));
    let evidence = names.zip(&finding.evidence);
    let source = finding.source.as_ref().filter(|source| *source != METHOD);
    let parts = [
        ("cause", finding.mechanism.as_ref()),
        ("expected", finding.prediction.as_ref()),
        ("fix", finding.remedy.as_ref()),
        ("source", source),
    ];
    let parts = parts.into_iter().filter_map(|(name, text)| Some((name, text?)));
    evidence.chain(parts).map(|(name, text)| (name.to_owned(), text.clone())).collect()
}

pub(super) fn tone(severity: Severity) -> Tone {
    match severity {
        Severity::Warning => Tone::Look,
        Severity::Inconclusive => Tone::Doubt,
        Severity::Notice => Tone::Plain,
        Severity::Good => Tone::Good,
    }
}

/// At most three things to do, those of warnings first, each a purpose and a command.
pub(super) fn next(record: &Record, path: &str) -> Vec<String> {
    let judged = ordered(record).into_iter().filter(|one| one.severity <= Severity::Inconclusive);
    let of_findings = judged.filter_map(|finding| to_do(finding, path));
    let first = wrong_result(record, path).into_iter().chain(flaw_to_explain(record));
    let mut next = naming::distinct(first.chain(of_findings));
    next.truncate(TO_DO_MAX);
    next
}

/// A CPU that computes wrong is to be seen again, taken out of use, and reported, before anything else is done with it.
fn wrong_result(record: &Record, path: &str) -> Vec<String> {
    let Some(found) = record.findings.iter().find(|one| one.id == "wrong-results") else { return Vec::new() };
    let again = "See whether it errs again: sidestep run --only cores,memory".to_owned();
    let report = format!("Report operands and machine to its vendor: sidestep show --json {path}");
    [again].into_iter().chain(found.remedy.clone()).chain([report]).collect()
}

/// The flaw that asks most for an explanation.
fn flaw_to_explain(record: &Record) -> Option<String> {
    let is_open = |state: Protection| matches!(state, Protection::NotProtected | Protection::Partly);
    let special = record.flaws.iter().find(|verdict| verdict.special.is_some());
    let open = || record.flaws.iter().find(|verdict| is_open(verdict.protected));
    special.or_else(open).map(|flaw| format!("Explain {0} and its fix: sidestep flaws show {0}", flaw.id))
}

/// What to do about a finding; `None` where no command helps.
fn to_do(finding: &Finding, path: &str) -> Option<String> {
    let is_open = finding.severity == Severity::Inconclusive;
    let text = match finding.id.as_str() {
        "thp-off-cost" | "huge-page-gain" => {
            "Measure huge pages on a program: sidestep ab --toggle thp -- ./program"
        }
        "busy-machine" | "busy-sibling" | "steal-high" | "give-back" | "doubtful-conditions" => {
            "Repeat when the machine is quiet: sidestep run --repeat 5"
        }
        "cpus-unequal" if is_open => "Measure CPUs for longer: sidestep run --only memory --budget 5m",
        "cpus-unequal" => "Find the best CPUs for a program: sidestep place -- ./program",
        "hidden-siblings" if !is_open => "Place threads by what CPUs share: sidestep place -- ./program",
        "hidden-siblings" | "claimed-core-apart" => {
            "Measure cores for longer: sidestep run --only cores --full"
        }
        "sockets-unequal" if is_open => "Measure sockets for longer: sidestep sockets --budget 1m",
        "sockets-unequal" => return Some(format!("Explain the sockets: sidestep sockets explain {path}")),
        "clock-counters" => "See counters, faults and fixes: sidestep clock check",
        "clock-slow" => "Compare clock sources, as root: sidestep clock cost --clocksources all",
        "unconverged-cells" | "cache-sizes" | "tlb-reach" => MEASURE_MEMORY,
        id if id.starts_with("effective-") && is_open => MEASURE_MEMORY,
        _ => return None,
    };
    Some(text.to_owned())
}

/// What settles most doubts about caches.
const MEASURE_MEMORY: &str = "Measure memory for longer: sidestep run --only memory --full";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_that_computes_wrong_comes_before_everything_else() {
        let finding = |id: &str, severity, remedy: Option<&str>| {
            let document = serde_json::json!({ "id": id, "severity": severity, "text": "", "evidence": [] });
            let finding: Finding = serde_json::from_value(document).expect("a finding");
            Finding { remedy: remedy.map(str::to_owned), ..finding }
        };
        let findings = vec![
            finding("clock-counters", Severity::Warning, None),
            finding("wrong-results", Severity::Warning, Some("Take it out: echo 0")),
        ];
        let mut record = Record { findings, ..Record::default() };
        let found = next(&record, "r.json");
        assert!(found[0].ends_with("sidestep run --only cores,memory") && found[1] == "Take it out: echo 0");
        assert_eq!((found.len(), found[2].ends_with("show --json r.json")), (TO_DO_MAX, true));
        record.findings.pop();
        assert_eq!(next(&record, "r.json"), ["See counters, faults and fixes: sidestep clock check"]);
    }
}

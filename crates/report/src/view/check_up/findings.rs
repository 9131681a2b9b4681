//! The findings in full, and what they make worth doing.

use record::{Area, Finding, Record, Severity, Step};
use stats::Order;

use crate::naming;
use crate::page::{Block, Card, Section, Statement, Tone};

/// Steps that are named.
const STEPS_MAX: usize = 3;

/// The source of what needs no other.
pub(super) const METHOD: &str = "METHODOLOGY.md";

/// Every finding in full, those of one cause below the most important of them; `None` without any.
pub(super) fn section(record: &Record) -> Option<Section> {
    let mut section = Section::new("findings", "Findings");
    for card in cards(record) {
        let mut lines = Vec::new();
        for (index, finding) in card.iter().enumerate() {
            lines.extend((index > 0).then(|| ("also".to_owned(), finding.text.clone())));
            lines.extend(facts(finding));
        }
        let head = card.first().map(|finding| Statement::new(tone(finding.severity), &finding.text));
        section = section.with(Block::Card(Card { statement: head.unwrap_or_default(), facts: lines }));
    }
    section.filled()
}

/// Findings that share a cause, the most important first: what is about noise, memory, clocks or flaws each; others stand alone.
fn cards(record: &Record) -> Vec<Vec<&Finding>> {
    let mut cards: Vec<Vec<&Finding>> = Vec::new();
    for finding in ordered(record) {
        let shares_cause = !matches!(finding.area, None | Some(Area::Run | Area::Cores));
        let same = cards.iter_mut().find(|card| shares_cause && card[0].area == finding.area);
        match same {
            Some(card) => card.push(finding),
            None => cards.push(vec![finding]),
        }
    }
    cards
}

/// The most important first.
fn ordered(record: &Record) -> Vec<&Finding> {
    let mut ordered: Vec<&Finding> = record.findings.iter().collect();
    ordered.order_by_key(|finding| finding.severity);
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

/// At most three things to do, each a purpose and a command: about a CPU that computes wrong before anything else is done with it,
/// then about a flaw, then what warnings and open questions ask for.
pub(super) fn next(record: &Record, path: &str) -> Vec<String> {
    let judged = ordered(record).into_iter().filter(|one| one.severity <= Severity::Inconclusive);
    let (wrong, others): (Vec<_>, Vec<_>) = judged.partition(|one| one.id == "wrong-results");
    let steps =
        |found: Vec<&Finding>| found.iter().flat_map(|one| &one.steps).map(|step| said(step, path)).collect();
    let (wrong, others): (Vec<_>, Vec<_>) = (steps(wrong), steps(others));
    let mut next = naming::distinct(wrong.into_iter().chain(flaw_to_explain(record)).chain(others));
    next.truncate(STEPS_MAX);
    next
}

fn said(step: &Step, path: &str) -> String {
    format!("{}: {}", step.purpose, step.command.replace("RECORD", path))
}

/// The flaw that asks most for an explanation.
fn flaw_to_explain(record: &Record) -> Option<String> {
    let special = record.flaws.iter().find(|verdict| verdict.special.is_some());
    let open = || record.flaws.iter().find(|verdict| verdict.protected.is_open());
    let explain =
        |id: &str| format!("Explain {id} and its fix: sidestep flaws show {}", crate::escape::shell_word(id));
    special.or_else(open).map(|flaw| explain(&flaw.id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_that_computes_wrong_comes_before_everything_else() {
        let finding = |id: &str, steps: &[(&str, &str)]| {
            let steps: Vec<_> = steps
                .iter()
                .map(|(purpose, command)| serde_json::json!({ "purpose": purpose, "command": command }))
                .collect();
            let document = serde_json::json!({
                "id": id, "severity": Severity::Warning, "text": "", "evidence": [], "steps": steps,
            });
            serde_json::from_value::<Finding>(document).expect("a finding")
        };
        let again = ("See whether it errs again", "sidestep run --only cores,memory");
        let report = ("Report it", "sidestep show --json RECORD");
        let findings = vec![
            finding("clock-counters", &[("See counters, faults and fixes", "sidestep clock check")]),
            finding("wrong-results", &[again, ("Take it out", "echo 0"), report]),
        ];
        let mut record = Record { findings, ..Record::default() };
        let found = next(&record, "r.json");
        assert!(found[0].ends_with("sidestep run --only cores,memory") && found[1] == "Take it out: echo 0");
        assert_eq!((found.len(), found[2].ends_with("show --json r.json")), (STEPS_MAX, true));
        record.findings.pop();
        assert_eq!(next(&record, "r.json"), ["See counters, faults and fixes: sidestep clock check"]);
    }
}

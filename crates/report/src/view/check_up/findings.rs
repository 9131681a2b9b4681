//! The findings that no question says, in full, and what all of them make worth doing.

use record::{AnswerVerdict, Area, Finding, Record, Severity, Step};
use stats::Order;

use super::questions::{explains, facts, said_by};
use crate::naming;
use crate::page::{Block, Card, Section, Statement, Tone};

/// Steps that are named.
const STEPS_MAX: usize = 3;

/// Every finding that no answer says, in full, those of one cause below the most important of them; `None` without any.
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
    // The chapter on sockets has its verdict.
    let is_new = |finding: &&Finding| finding.id != "sockets-unequal" && said_by(record, finding).is_none();
    for finding in ordered(record).into_iter().filter(is_new) {
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

fn tone(severity: Severity) -> Tone {
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
    // What a finding leaves open is open only if its question is.
    let is_open = |one: &&Finding| said_by(record, one).is_none_or(|answer| explains(one, answer));
    let judged = ordered(record).into_iter().filter(|one| one.severity <= Severity::Inconclusive);
    let judged = judged.filter(is_open);
    let (wrong, others): (Vec<_>, Vec<_>) = judged.partition(|one| one.id == "wrong-results");
    let steps =
        |found: Vec<&Finding>| found.iter().flat_map(|one| &one.steps).map(|step| said(step, path)).collect();
    let (wrong, others): (Vec<_>, Vec<_>) = (steps(wrong), steps(others));
    let is_noisy = record.answers.iter().any(|answer| answer.verdict == AnswerVerdict::Noisy);
    let quiet = is_noisy.then(|| "Repeat when the machine is quiet: sidestep run --repeat 5".to_owned());
    let all = wrong.into_iter().chain(flaw_to_explain(record)).chain(others).chain(quiet);
    let mut next = naming::distinct(all);
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

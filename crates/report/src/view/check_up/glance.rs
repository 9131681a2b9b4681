//! The first screen of a check-up: its questions, a line each, and the flaws.

use record::{AnswerVerdict, Area, Finding, QuestionAnswer, Record, Severity};

use crate::page::{Status, Tone};
use crate::view::flaws;

/// Warnings that a question says already, where it has a verdict.
const SAID_BY: [(&str, &str); 12] = [
    ("thp-off-cost", "huge pages"),
    ("hidden-siblings", "siblings"),
    ("wake-slow", "wake-up"),
    ("clock-counters", "clocks"),
    ("clock-slow", "clock read"),
    ("effective-l1", "L1"),
    ("effective-l2", "L2"),
    ("effective-l3", "L3"),
    ("busy-machine", "noise"),
    ("busy-sibling", "noise"),
    ("steal-high", "noise"),
    ("neighbours", "noise"),
];
/// Warnings beside the questions on a first screen.
const WARNINGS_MAX: usize = 4;

/// A line for each question that arises, noise first, then what else deserves a look, and the flaws; of a run that stopped early that
/// stands above them.
pub(super) fn questions(record: &Record) -> Vec<Status> {
    let partial = record.partial.as_ref().map(|why| Status {
        tone: Tone::Look,
        word: "WARN",
        area: "run".to_owned(),
        text: format!("partial: {why}; what was done until then follows"),
    });
    let arises = |answer: &&QuestionAnswer| answer.verdict != AnswerVerdict::NotApplicable;
    let answers = record.answers.iter().filter(arises).map(status);
    partial.into_iter().chain(answers).chain(warnings(record)).chain(flaws_here(record)).collect()
}

/// Warnings that no question says.
fn warnings(record: &Record) -> impl Iterator<Item = Status> {
    let is_said = |finding: &&Finding| {
        let question = SAID_BY.iter().find(|(id, _)| *id == finding.id).map(|(_, question)| *question);
        record.answers.iter().any(|answer| Some(answer.question.as_str()) == question)
    };
    let others = record.findings.iter().filter(|finding| finding.severity == Severity::Warning);
    let others = others.filter(move |finding| finding.area != Some(Area::Flaws) && !is_said(finding));
    others.take(WARNINGS_MAX).map(|finding| Status {
        tone: Tone::Look,
        word: "WARN",
        area: finding.area.map_or("run", Area::name).to_owned(),
        text: finding.text.clone(),
    })
}

fn status(answer: &QuestionAnswer) -> Status {
    let (tone, word) = match answer.verdict {
        AnswerVerdict::Warn | AnswerVerdict::Noisy => (Tone::Look, answer.verdict.name()),
        AnswerVerdict::Ok => (Tone::Good, answer.verdict.name()),
        // Its sentence begins with it.
        AnswerVerdict::Undetermined | AnswerVerdict::NotApplicable => (Tone::Doubt, "?"),
    };
    Status { tone, word, area: answer.question.clone(), text: answer.sentence.clone() }
}

fn flaws_here(record: &Record) -> Option<Status> {
    if record.flaws.is_empty() {
        return None;
    }
    let sum = flaws::sum(&record.flaws, |here| format!("{here} here"));
    let uneven = record.findings.iter().filter(|finding| finding.area == Some(Area::Flaws));
    let uneven = uneven.filter(|finding| finding.id == "flaws-uneven");
    let clauses: Vec<String> = uneven.map(|one| one.text.clone()).chain([sum.text]).collect();
    let tone = if clauses.len() > 1 { Tone::Look } else { sum.tone };
    let word = match tone {
        Tone::Look => "WARN",
        Tone::Doubt => "?",
        _ => "OK",
    };
    Some(Status { tone, word, area: "flaws".to_owned(), text: clauses.join("; ") })
}

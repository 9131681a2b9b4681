//! The first screen of a check-up: its questions, a line each, and the flaws.

use record::{AnswerVerdict, Area, QuestionAnswer, Record, Severity};

use super::questions::{said_by, tone};
use crate::page::{Status, Tone};
use crate::view::flaws;

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
    let others = record.findings.iter().filter(|finding| finding.severity == Severity::Warning);
    let others =
        others.filter(|finding| finding.area != Some(Area::Flaws) && said_by(record, finding).is_none());
    others.take(WARNINGS_MAX).map(|finding| Status {
        tone: Tone::Look,
        word: "WARN",
        area: finding.area.map_or("run", Area::name).to_owned(),
        text: finding.text.clone(),
    })
}

fn status(answer: &QuestionAnswer) -> Status {
    let (tone, word) = tone(answer);
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

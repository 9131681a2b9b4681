//! The first screen of a check-up: its questions, a line each, and the flaws.

use record::{AnswerVerdict, Area, QuestionAnswer, Record};

use crate::page::{Status, Tone};
use crate::view::flaws;

/// A line for each question that arises, noise first, and one for the flaws; of a run that stopped early that stands above them.
pub(super) fn questions(record: &Record) -> Vec<Status> {
    let partial = record.partial.as_ref().map(|why| Status {
        tone: Tone::Look,
        word: "WARN",
        area: "run".to_owned(),
        text: format!("partial: {why}; what was done until then follows"),
    });
    let arises = |answer: &&QuestionAnswer| answer.verdict != AnswerVerdict::NotApplicable;
    let answers = record.answers.iter().filter(arises).map(status);
    partial.into_iter().chain(answers).chain(flaws_here(record)).collect()
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

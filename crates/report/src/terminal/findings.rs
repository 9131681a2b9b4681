//! Findings in the shape of `design.md`, told as fully as the screen allows.

use record::{Finding, Severity};

use super::{
    Terminal,
    paint::{Ink, Paper},
};
use crate::escape::plain;

/// How much of a finding is told.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd)]
enum Detail {
    Sentence,
    Remedy,
    Evidence,
    All,
}

/// How much of warnings and of the other findings is told, from the fullest to the briefest.
const STEPS: [(Detail, Detail); 6] = [
    (Detail::All, Detail::All),
    (Detail::All, Detail::Remedy),
    (Detail::Evidence, Detail::Remedy),
    (Detail::Evidence, Detail::Sentence),
    (Detail::Remedy, Detail::Sentence),
    (Detail::Sentence, Detail::Sentence),
];

/// The mark in front of a finding.
fn mark(severity: Severity) -> (&'static str, Ink) {
    match severity {
        Severity::Warning => ("! ", Ink::Warning),
        Severity::Inconclusive => ("? ", Ink::Doubt),
        Severity::Notice => ("- ", Ink::Strong),
        Severity::Good => ("ok ", Ink::Good),
    }
}

/// Writes the findings in the fullest detail that fits into `lines_left`, never less than their sentences.
pub(super) fn write(paper: &mut Paper, findings: &[Finding], lines_left: usize) {
    let mut ordered: Vec<&Finding> = findings.iter().collect();
    ordered.sort_by_key(|finding| finding.severity);
    if ordered.is_empty() {
        paper.wrapped("", "No findings: nothing was judged, or nothing stood out.");
        paper.blank();
        return;
    }
    for (of_warnings, of_others) in STEPS {
        let mut told = Paper::new(Terminal { width_columns: paper.layout_columns(), colour: false });
        for finding in &ordered {
            one(
                &mut told,
                finding,
                if finding.severity == Severity::Warning { of_warnings } else { of_others },
            );
        }
        told.blank();
        if told.line_count() <= lines_left || of_warnings == Detail::Sentence {
            paper.append(told);
            return;
        }
    }
}

fn one(paper: &mut Paper, finding: &Finding, detail: Detail) {
    let (mark, ink) = mark(finding.severity);
    paper.wrapped_inked(ink, mark, &plain(&finding.text));
    // What is as expected needs no proof on the first screen; the report has it.
    if finding.severity == Severity::Good {
        return;
    }
    if detail >= Detail::Evidence {
        for (index, line) in finding.evidence.iter().enumerate() {
            paper.wrapped(if index == 0 { "    evidence   " } else { "               " }, &plain(line));
        }
    }
    let mut part = |least: Detail, name: &str, text: &Option<String>| {
        if let Some(text) = text
            && detail >= least
        {
            paper.wrapped(name, &plain(text));
        }
    };
    part(Detail::All, "    mechanism  ", &finding.mechanism);
    part(Detail::All, "    expected   ", &finding.prediction);
    part(Detail::Remedy, "    remedy     ", &finding.remedy);
}

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
    let mut details = vec![Detail::Sentence; ordered.len()];
    let told = |details: &[Detail], paper: &Paper| {
        let mut told = Paper::new(Terminal { width_columns: paper.layout_columns(), colour: false });
        for (finding, detail) in ordered.iter().zip(details) {
            one(&mut told, finding, *detail);
        }
        told.blank();
        told
    };
    for wished in [Detail::Remedy, Detail::Evidence, Detail::All] {
        for index in 0..details.len() {
            let before = std::mem::replace(&mut details[index], wished);
            if told(&details, paper).line_count() > lines_left {
                details[index] = before;
            }
        }
    }
    let told = told(&details, paper);
    paper.append(told);
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

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

/// More notices than this would push warnings off the screen.
const MOST_NOTICES: usize = 3;

/// The mark in front of a finding.
fn mark(severity: Severity) -> (&'static str, Ink) {
    match severity {
        Severity::Warning => ("! ", Ink::Warning),
        Severity::Inconclusive => ("? ", Ink::Doubt),
        Severity::Notice => ("- ", Ink::Strong),
        Severity::Good => ("ok ", Ink::Good),
    }
}

/// Writes the findings: warnings and doubts never less than their sentences, and as much more as `lines_left`
/// allows, remedies first. What is as expected is one paragraph; the report has the proof.
pub(super) fn write(paper: &mut Paper, findings: &[Finding], lines_left: usize) {
    let mut ordered: Vec<&Finding> = findings.iter().collect();
    ordered.sort_by_key(|finding| finding.severity);
    if ordered.is_empty() {
        paper.wrapped("", "No findings: nothing was judged, or nothing stood out.");
        paper.blank();
        return;
    }
    let good: Vec<String> =
        ordered.iter().filter(|f| f.severity == Severity::Good).map(|f| plain(&f.text)).collect();
    ordered.retain(|finding| finding.severity != Severity::Good);
    let told = |details: &[Detail], paper: &Paper| {
        let mut told = Paper::new(Terminal { width_columns: paper.layout_columns(), colour: false });
        for (finding, detail) in ordered.iter().zip(details) {
            one(&mut told, finding, *detail);
        }
        let unsaid = ordered.len().saturating_sub(details.len());
        if unsaid > 0 {
            told.wrapped("- ", &format!("{unsaid} more in the report"));
        }
        if !good.is_empty() {
            told.wrapped_inked(Ink::Good, "ok ", &good.join("; "));
        }
        told.blank();
        told
    };
    let notices = ordered.iter().filter(|finding| finding.severity == Severity::Notice).count();
    let most = (0..=MOST_NOTICES.min(notices)).rev();
    let shown = most.map(|most| vec![Detail::Sentence; ordered.len() - notices + most]);
    let mut details =
        shown.min_by_key(|details| told(details, paper).line_count().max(lines_left)).unwrap_or_default();
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
    if detail >= Detail::Evidence {
        let most = if detail == Detail::All { finding.evidence.len() } else { 1 };
        for (index, line) in finding.evidence.iter().take(most).enumerate() {
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

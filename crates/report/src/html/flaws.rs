//! The flaws that concern the machine: a line of answers for each, and below it what each witness says.

use std::fmt::Write;

use record::{Answer, FlawVerdict, Protection, Record, WorkaroundState};

use super::markup::terms;
use crate::escape::markup;
use crate::flaws::{answer, counts, ranked, state};

/// How a cell is coloured; its word says the same.
#[derive(Clone, Copy)]
enum Tone {
    Plain,
    Fine,
    Bad,
    Doubt,
}

impl Tone {
    fn class(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Fine => "fine",
            Self::Bad => "bad",
            Self::Doubt => "doubt",
        }
    }
}

/// The section; empty if a record has no verdicts.
pub(super) fn section(record: &Record) -> String {
    let shown = ranked(&record.flaws, false);
    if record.flaws.is_empty() {
        return String::new();
    }
    let mut html = format!(
        "<section id=\"flaws\"><h2>Flaws</h2>\n<div class=\"block\"><h3>What is wrong with this machine</h3>\
         <p class=\"note\">{}. <code>sidestep flaws show ID</code> says what one is and what can be done.</p>",
        markup(&counts(&record.flaws))
    );
    for line in &record.flaws_uneven {
        let _ = write!(html, "<p class=\"untold\">! {}</p>", markup(line));
    }
    if !shown.is_empty() {
        html += "<div class=\"scroll\"><table><thead><tr><th>flaw</th><th>here</th><th>workaround</th><th>state</th>\
                 <th>paid for</th><th>fix</th></tr></thead>";
        let (special, others): (Vec<&FlawVerdict>, Vec<&FlawVerdict>) =
            shown.into_iter().partition(|verdict| verdict.special.is_some());
        special.into_iter().chain(others).for_each(|verdict| html += &one(verdict));
        html += "</table></div>";
    }
    html + "</div></section>\n"
}

fn one(verdict: &FlawVerdict) -> String {
    let here = if verdict.affected == Answer::Unknown { Tone::Doubt } else { Tone::Plain };
    let workaround = match verdict.workaround {
        WorkaroundState::On => Tone::Fine,
        WorkaroundState::Off | WorkaroundState::Partial | WorkaroundState::Attempted => Tone::Bad,
        WorkaroundState::Unknown => Tone::Doubt,
    };
    let safe = match verdict.protected {
        Protection::NotAffected | Protection::Protected => Tone::Fine,
        Protection::OnRequest => Tone::Plain,
        Protection::Partly | Protection::NotProtected => Tone::Bad,
        Protection::Unknown => Tone::Doubt,
    };
    let paid = match (verdict.paid, verdict.special) {
        (_, Some(_)) => Tone::Bad,
        (Answer::Unknown, None) => Tone::Doubt,
        _ => Tone::Plain,
    };
    let cell = |tone: Tone, word: &str| format!("<td class=\"{}\">{word}</td>", tone.class());
    let cells = [
        cell(here, answer(verdict.affected)),
        cell(workaround, state(verdict.workaround)),
        cell(safe, verdict.protected.name()),
        cell(paid, answer(verdict.paid)),
        cell(Tone::Plain, &markup(verdict.fix.as_deref().unwrap_or(""))),
    ];
    let untold = verdict
        .special_says()
        .map_or_else(String::new, |says| format!("<p class=\"untold\">! {}</p>", markup(&says)));
    let witnesses = &verdict.witnesses;
    let mut says = vec![
        ("kernel", witnesses.kernel.says.clone()),
        ("registers", witnesses.registers.says.clone()),
        ("time", witnesses.time.says.clone()),
    ];
    says.extend(verdict.disagreements.iter().map(|sentence| ("differ", sentence.clone())));
    if verdict.special.is_some() {
        says.extend(verdict.remedies.iter().map(|remedy| ("switch", remedy.clone())));
    }
    format!(
        "<tbody><tr><td><b>{}</b> {}</td>{}</tr><tr class=\"said\"><td colspan=\"6\">{untold}{}</td></tr></tbody>",
        markup(&verdict.id),
        markup(&verdict.title),
        cells.concat(),
        terms(&says)
    )
}

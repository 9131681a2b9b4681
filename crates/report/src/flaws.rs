//! Flaws of a machine as text: what deserves a line of its own first, then a table, then how many do not concern it.

use flaws::{AppliedBy, Flaw, Kind, Population};
use machine::Machine;
use record::{Answer, FlawVerdict, Special, WorkaroundState};

use crate::escape::plain;
use crate::machine_text::headline;
use crate::terminal::{Ink, Paper, Terminal, table_of};

/// Width of the names in front of the lines of a page.
const NAME_COLUMNS: usize = 12;

/// What is shown of a machine's verdicts.
#[derive(Debug, Clone, Copy)]
pub struct FlawList<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// Verdicts of all flaws.
    pub verdicts: &'a [FlawVerdict],
    /// How its CPUs differ where they should be alike.
    pub uneven: &'a [String],
    /// Show those that do not concern it too.
    pub all: bool,
}

/// The verdicts on one machine.
pub fn flaws_terminal(list: &FlawList, terminal: Terminal) -> String {
    let mut paper = Paper::new(terminal);
    paper.strong(&headline(list.machine));
    paper.wrapped_inked(Ink::Faint, "", &counts(list.verdicts));
    paper.blank();
    for verdict in list.verdicts.iter().filter(|verdict| verdict.special.is_some()) {
        special(&mut paper, verdict);
    }
    for line in list.uneven {
        paper.wrapped_inked(Ink::Warning, "! ", &plain(line));
    }
    if !list.uneven.is_empty() {
        paper.blank();
    }
    let shown = ranked(list.verdicts, list.all);
    if !shown.is_empty() {
        table(&mut paper, &shown);
    }
    for verdict in list.verdicts.iter().filter(|verdict| verdict.special.is_none()) {
        for sentence in &verdict.disagreements {
            let prefix = format!("? {}: ", verdict.id);
            paper.wrapped_inked(Ink::Doubt, &prefix, &plain(sentence));
        }
    }
    let hidden = list.verdicts.len() - shown.len();
    paper.blank();
    if hidden > 0 {
        let text = format!("{hidden} more do not concern this machine: --all lists them.");
        paper.wrapped_inked(Ink::Faint, "", &text);
    }
    paper.wrapped_inked(
        Ink::Faint,
        "",
        "sidestep flaws show ID says what one is, who says so, and what can be done.",
    );
    paper.finish()
}

pub(crate) fn counts(verdicts: &[FlawVerdict]) -> String {
    let count = |wanted: Answer| verdicts.iter().filter(|verdict| verdict.affected == wanted).count();
    let open = verdicts
        .iter()
        .filter(|verdict| verdict.affected == Answer::Yes && verdict.protected == Answer::No)
        .count();
    format!(
        "{} flaws known: {} here ({open} not worked around, or only in part), {} not here, {} nobody can tell",
        verdicts.len(),
        count(Answer::Yes),
        count(Answer::No),
        count(Answer::Unknown)
    )
}

/// Affected ones first, the unprotected before the others; those that do not concern the machine only on demand.
pub(crate) fn ranked(verdicts: &[FlawVerdict], all: bool) -> Vec<&FlawVerdict> {
    let mut shown: Vec<&FlawVerdict> =
        verdicts.iter().filter(|verdict| all || verdict.affected != Answer::No).collect();
    let rank = |verdict: &FlawVerdict| {
        let affected = match verdict.affected {
            Answer::Yes => 0,
            Answer::Unknown => 1,
            Answer::No => 2,
        };
        let protected = match verdict.protected {
            Answer::No => 0,
            Answer::Unknown => 1,
            Answer::Yes => 2,
        };
        (affected, protected)
    };
    shown.sort_by_key(|verdict| rank(verdict));
    shown
}

pub(crate) fn special_says(special: Special) -> &'static str {
    match special {
        Special::PayingUntold => "its workaround is being paid for, and the kernel does not tell",
        Special::PayingUnprotected => "its workaround is being paid for, and does not protect",
    }
}

fn special(paper: &mut Paper, verdict: &FlawVerdict) {
    let says = verdict.special.map_or("", special_says);
    paper.wrapped_inked(Ink::Warning, "! ", &format!("{}: {says}", verdict.id));
    paper.wrapped("    ", &verdict.title);
    witnesses(paper, verdict, "    ");
    for sentence in &verdict.disagreements {
        paper.wrapped(&format!("    {:<NAME_COLUMNS$}", "differ"), &plain(sentence));
    }
    for remedy in &verdict.remedies {
        paper.wrapped(&format!("    {:<NAME_COLUMNS$}", "to do"), &plain(remedy));
    }
    paper.blank();
}

fn witnesses(paper: &mut Paper, verdict: &FlawVerdict, indent: &str) {
    let each = [
        ("kernel", &verdict.witnesses.kernel),
        ("registers", &verdict.witnesses.registers),
        ("time", &verdict.witnesses.time),
    ];
    for (name, statement) in each {
        paper.wrapped(&format!("{indent}{name:<NAME_COLUMNS$}"), &plain(&statement.says));
    }
}

fn table(paper: &mut Paper, verdicts: &[&FlawVerdict]) {
    let titles = ["flaw", "here", "workaround", "safe", "paid", "what it is"];
    let mut table = table_of(&titles.map(str::to_owned));
    for column in table.column_iter_mut() {
        column.set_cell_alignment(comfy_table::CellAlignment::Left);
    }
    for verdict in verdicts {
        table.add_row(vec![
            verdict.id.clone(),
            answer(verdict.affected).to_owned(),
            state(verdict.workaround).to_owned(),
            answer(verdict.protected).to_owned(),
            answer(verdict.paid).to_owned(),
            plain(&verdict.title),
        ]);
    }
    paper.table(table);
}

pub(crate) fn answer(answer: Answer) -> &'static str {
    match answer {
        Answer::Yes => "yes",
        Answer::No => "no",
        Answer::Unknown => "?",
    }
}

pub(crate) fn state(state: WorkaroundState) -> &'static str {
    match state {
        WorkaroundState::On => "on",
        WorkaroundState::Off => "off",
        WorkaroundState::Partial => "in part",
        WorkaroundState::Attempted => "attempted",
        WorkaroundState::Unknown => "?",
    }
}

/// One flaw, explained, with the verdict on this machine.
pub fn flaw_page(flaw: &Flaw, verdict: &FlawVerdict, terminal: Terminal) -> String {
    let mut paper = Paper::new(terminal);
    paper.strong(&format!("{}: {}", flaw.id, flaw.title));
    if !flaw.aliases.is_empty() {
        paper.wrapped_inked(Ink::Faint, "", &flaw.aliases.join(", "));
    }
    paper.blank();
    paper.wrapped("", &flaw.effect);
    paper.blank();
    let mut fact = |name: &str, text: &str| {
        if !text.is_empty() {
            paper.wrapped(&format!("{name:<NAME_COLUMNS$}"), &plain(text));
        }
    };
    fact("kind", kind(flaw.kind));
    fact("suffers", &flaw.suffers);
    fact("here", &format!("{}: {}", answer(verdict.affected), verdict.because));
    fact(
        "workaround",
        &format!(
            "{}; safe: {}; paid for: {}",
            state(verdict.workaround),
            answer(verdict.protected),
            answer(verdict.paid)
        ),
    );
    fact("  kernel", &verdict.witnesses.kernel.says);
    fact("  registers", &verdict.witnesses.registers.says);
    fact("  time", &verdict.witnesses.time.says);
    verdict.disagreements.iter().for_each(|sentence| fact("differ", sentence));
    for (workaround, remedy) in flaw.workaround.iter().zip(&verdict.remedies) {
        let by: Vec<&str> = workaround.by.iter().map(|by| applied_by(*by)).collect();
        fact("switch", &format!("{remedy} (applied by {})", by.join(", ")));
    }
    verdict.costs.iter().for_each(|cost| fact("cost", cost));
    if let Some(none) = &flaw.no_detector {
        fact("no detector", &none.reason);
    }
    flaw.sources.iter().for_each(|source| fact("source", source));
    paper.finish()
}

/// The catalogue, or what a search left of it.
pub fn flaw_index(flaws: &[&Flaw], terminal: Terminal) -> String {
    let mut paper = Paper::new(terminal);
    let mut table = table_of(&["flaw", "kind", "what it is", "also"].map(str::to_owned));
    for column in table.column_iter_mut() {
        column.set_cell_alignment(comfy_table::CellAlignment::Left);
    }
    for flaw in flaws {
        let also = flaw.aliases.first().cloned().unwrap_or_default();
        table.add_row(vec![flaw.id.clone(), kind(flaw.kind).to_owned(), flaw.title.clone(), also]);
    }
    paper.table(table);
    paper.finish()
}

/// Counts over many machines; rows without a machine only on demand.
pub fn population_terminal(counts: &Population, all: bool, terminal: Terminal) -> String {
    /// Signatures that are named.
    const SIGNATURES: usize = 8;
    let mut paper = Paper::new(terminal);
    let (reports, one) = (counts.reports, counts.reports == 1);
    paper.strong(&format!("{reports} {} of lscpu", if one { "report" } else { "reports" }));
    let mut common: Vec<(&String, &usize)> = counts.by_signature.iter().collect();
    common.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    let named: Vec<String> =
        common.iter().take(SIGNATURES).map(|(signature, count)| format!("{signature}: {count}")).collect();
    let kinds = if common.len() == 1 { "family-model-stepping" } else { "family-model-steppings" };
    let text = format!("{} {kinds}, most often {}", common.len(), named.join(", "));
    paper.wrapped_inked(Ink::Faint, "", &text);
    if counts.unreadable_count > 0 {
        let are = if counts.unreadable_count == 1 { "text is" } else { "texts are" };
        paper.wrapped_inked(Ink::Doubt, "? ", &format!("{} {are} no report", counts.unreadable_count));
    }
    paper.blank();
    let titles = ["flaw", "have it", "safe", "pay unprotected", "cannot tell"];
    let mut table = table_of(&titles.map(str::to_owned));
    for row in counts.population.iter().filter(|row| all || row.affected > 0) {
        let counts = [row.affected, row.protected, row.paying_without_protection, row.unknown];
        table.add_row([row.id.clone()].into_iter().chain(counts.map(|count| count.to_string())));
    }
    paper.table(table);
    paper.finish()
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Erratum => "erratum",
        Kind::Vulnerability => "vulnerability",
        Kind::Design => "design",
    }
}

fn applied_by(by: AppliedBy) -> &'static str {
    match by {
        AppliedBy::Bios => "firmware",
        AppliedBy::Microcode => "microcode",
        AppliedBy::Kernel => "the kernel",
        AppliedBy::Hypervisor => "the hypervisor",
        AppliedBy::Compiler => "the compiler",
        AppliedBy::Operator => "whoever runs the machine",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::FlawEvidence;

    #[test]
    fn list_index_and_every_page_keep_to_80_columns() {
        let catalogue = flaws::catalogue();
        let verdicts = flaws::judge(&catalogue, &FlawEvidence::default());
        let machine = Machine::default();
        let uneven = ["MSR c0010015 & 8 differs between CPUs: 0 on 1, 8 on 7".to_owned()];
        let list = FlawList { machine: &machine, verdicts: &verdicts, uneven: &uneven, all: true };
        let mut texts = vec![flaws_terminal(&list, Terminal::default())];
        let all: Vec<&Flaw> = catalogue.flaws.iter().collect();
        texts.push(flaw_index(&all, Terminal::default()));
        for (flaw, verdict) in catalogue.flaws.iter().zip(&verdicts) {
            texts.push(flaw_page(flaw, verdict, Terminal::default()));
        }
        for text in texts {
            assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        }
    }
}

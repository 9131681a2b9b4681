//! Flaws of a machine as text: what deserves a line of its own first, then a table, then how many do not concern it.

use flaws::{AppliedBy, Flaw, Kind, Population};
use machine::Machine;
use record::{Answer, FlawVerdict, Protection, WorkaroundState};

use crate::escape::plain;
use crate::machine_text::headline;
use crate::terminal::{Ink, Paper, Terminal, table_of, wrap};

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
    let count = |wanted: Protection| verdicts.iter().filter(|verdict| verdict.protected == wanted).count();
    let with_some = [Protection::NotProtected, Protection::Partly, Protection::OnRequest]
        .map(|state| (count(state), state.name()))
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, name)| format!("{count} {name}"));
    let always = [Protection::Protected, Protection::NotAffected, Protection::Unknown]
        .map(|state| format!("{} {}", count(state), state.name()));
    let each: Vec<String> = with_some.chain(always).collect();
    format!("{} flaws known: {}", verdicts.len(), each.join(", "))
}

/// The least protected first; those that do not concern the machine only on demand.
pub(crate) fn ranked(verdicts: &[FlawVerdict], all: bool) -> Vec<&FlawVerdict> {
    let mut shown: Vec<&FlawVerdict> =
        verdicts.iter().filter(|verdict| all || verdict.affected != Answer::No).collect();
    shown.sort_by_key(|verdict| match verdict.protected {
        Protection::NotProtected => 0,
        Protection::Partly => 1,
        Protection::OnRequest => 2,
        // Of a flaw that is here more should be known than of one that may be.
        Protection::Unknown if verdict.affected == Answer::Yes => 3,
        Protection::Unknown => 4,
        Protection::Protected => 5,
        Protection::NotAffected => 6,
    });
    shown
}

fn special(paper: &mut Paper, verdict: &FlawVerdict) {
    let says = verdict.special_says().unwrap_or_default();
    paper.wrapped_inked(Ink::Warning, "! ", &format!("{}: {says}", verdict.id));
    paper.wrapped("    ", &verdict.title);
    witnesses(paper, verdict, "    ");
    for sentence in &verdict.disagreements {
        paper.wrapped(&format!("    {:<NAME_COLUMNS$}", "differ"), &plain(sentence));
    }
    for remedy in &verdict.remedies {
        paper.wrapped(&format!("    {:<NAME_COLUMNS$}", "switch"), &plain(remedy));
    }
    if let Some(fix) = &verdict.fix {
        paper.wrapped(&format!("    {:<NAME_COLUMNS$}", "fix"), &plain(fix));
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

/// Columns of the longest state: "not protected".
const STATE_COLUMNS: usize = 13;
/// Columns of the answer to whether it is paid for.
const PAID_COLUMNS: usize = 4;

/// A row for each flaw, and what it is below: a command in a column of its own can be copied.
fn table(paper: &mut Paper, verdicts: &[&FlawVerdict]) {
    let id_columns = verdicts.iter().map(|verdict| verdict.id.len()).max().unwrap_or(0);
    let row = |id: &str, state: &str, paid: &str| {
        format!("{id:<id_columns$}  {state:<STATE_COLUMNS$}  {paid:<PAID_COLUMNS$}  ")
    };
    paper.strong(&(row("flaw", "state", "paid") + "fix"));
    for verdict in verdicts {
        let start = row(&verdict.id, verdict.protected.name(), answer(verdict.paid));
        let fix = plain(verdict.fix.as_deref().unwrap_or(""));
        let room = paper.layout_columns().saturating_sub(start.len());
        for (index, part) in wrap(&fix, room.max(1)).into_iter().enumerate() {
            let start = if index == 0 { start.clone() } else { " ".repeat(start.len()) };
            paper.inked(Ink::Plain, &(start + &part));
        }
        paper.wrapped_inked(Ink::Faint, "  ", &plain(&verdict.title));
    }
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
            "{}; state: {}; paid for: {}",
            state(verdict.workaround),
            verdict.protected.name(),
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
    fact("fix", verdict.fix.as_deref().unwrap_or(""));
    verdict.costs.iter().for_each(|cost| fact("cost", cost));
    if let Some(none) = &flaw.no_detector {
        fact("no detector", &none.reason);
    }
    for sub_state in &flaw.sub_state {
        let text = format!("\"{}\" among the kernel's bugs: {}", sub_state.bug, sub_state.means);
        fact("variant", &text);
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
    let titles = [
        "flaw",
        "affected",
        "protected",
        "on request",
        "partly",
        "not protected",
        "unknown",
        "may be affected",
    ];
    let mut table = table_of(&titles.map(str::to_owned));
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 1));
        if index == 0 {
            column.set_constraint(comfy_table::ColumnConstraint::ContentWidth);
        }
    }
    for row in counts.population.iter().filter(|row| all || row.affected > 0) {
        let counts = [
            row.affected,
            row.protected,
            row.on_request,
            row.partly,
            row.not_protected,
            row.protection_unknown,
            row.unknown,
        ];
        table.add_row([row.id.clone()].into_iter().chain(counts.map(|count| count.to_string())));
    }
    paper.table(table);
    let in_vain: usize = counts.population.iter().map(|row| row.paying_without_protection).sum();
    if in_vain > 0 {
        let text =
            format!("{in_vain} times a mitigation is active but ineffective, as it lacks its microcode.");
        paper.wrapped_inked(Ink::Doubt, "? ", &text);
    }
    paper.finish()
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Erratum => "erratum",
        Kind::Vulnerability => "vulnerability",
        Kind::Design => "design",
        Kind::Clock => "clock",
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

//! Flaws: the verdicts on one machine, one flaw explained, the catalogue, and counts over many machines.

use flaws::{AppliedBy, Flaw, Kind as FlawKind, Population, PopulationRow};
use machine::{Machine, counted};
use record::{Answer, FlawVerdict, Protection, WorkaroundState};

use crate::machine_text::headline;
use crate::page::{Block, Cell, Column, Page, Row, Section, Statement, Table, Tone};

/// Flaws on a first screen.
const FLAWS_FIRST: usize = 7;
/// Flaws that the answer names.
const NAMED: usize = 3;
/// CPU signatures that are named of many machines.
const SIGNATURES: usize = 8;

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
pub fn flaws_page(list: &FlawList) -> Page {
    Page {
        subject: headline(list.machine),
        answer: answer_of(list.verdicts),
        because: list.uneven.iter().map(|line| Statement::new(Tone::Look, line)).collect(),
        sections: sections(list.verdicts, list.all),
        next: vec!["Explain one flaw: sidestep flaws show ID".to_owned()],
        about: vec![counts(list.verdicts)],
        ..Page::default()
    }
}

/// The worst first: what is not protected, else what only programs that ask get, else what is unknown.
pub(crate) fn answer_of(verdicts: &[FlawVerdict]) -> Statement {
    sum(verdicts, |here| format!("{} known to be in this machine", counted(here, "flaw")))
}

/// The same after other words on how many are known to be here.
pub(crate) fn sum(verdicts: &[FlawVerdict], concern: impl Fn(usize) -> String) -> Statement {
    let of = |states: &[Protection]| -> Vec<&FlawVerdict> {
        verdicts.iter().filter(|one| one.affected != Answer::No && states.contains(&one.protected)).collect()
    };
    let open = of(&[Protection::NotProtected, Protection::Partly]);
    let on_request = of(&[Protection::OnRequest]);
    let unknown = of(&[Protection::Unknown]).len();
    let concern = concern(verdicts.iter().filter(|one| one.affected == Answer::Yes).count());
    if open.is_empty() && on_request.is_empty() {
        return match unknown {
            0 => Statement::new(Tone::Good, format!("{concern}: all mitigated")),
            // Some of them may not be here.
            _ => Statement::new(Tone::Doubt, format!("{concern}; state of {unknown} unknown")),
        };
    }
    let mut clauses = Vec::new();
    if !open.is_empty() {
        clauses.push(format!("{} not fully protected ({})", open.len(), named(&open)));
    }
    if !on_request.is_empty() {
        clauses.push(requested(&on_request));
    }
    if unknown > 0 {
        clauses.push(format!("{unknown} unknown"));
    }
    Statement::new(Tone::Look, format!("{concern}: {}", clauses.join("; ")))
}

fn requested(verdicts: &[&FlawVerdict]) -> String {
    let protect = if verdicts.len() == 1 { "protects" } else { "protect" };
    format!("{} {protect} only programs that ask ({})", verdicts.len(), named(verdicts))
}

fn named(verdicts: &[&FlawVerdict]) -> String {
    let names: Vec<&str> = verdicts.iter().take(NAMED).map(|one| one.id.as_str()).collect();
    let more = verdicts.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    names.join(", ") + &more
}

/// The table of flaws, and what each witness says of those that deserve it.
pub(crate) fn sections(verdicts: &[FlawVerdict], all: bool) -> Vec<Section> {
    let shown = ranked(verdicts, all);
    if shown.is_empty() {
        return Vec::new();
    }
    let columns = vec![
        Column::word("flaw"),
        Column::word("state"),
        Column::word("costs now").priority(1),
        Column::prose("fix"),
    ];
    let mut table = Table::new("flaws", columns);
    table.first_rows = Some(FLAWS_FIRST);
    for one in &shown {
        let cells = vec![
            Cell::text(&one.id),
            Cell::State(tone(one.protected), one.protected.name().to_owned()),
            Cell::text(answer(one.paid)),
            Cell::text(one.fix.as_deref().unwrap_or("")),
        ];
        let special = one.special_says().map(|says| format!("{says}. ")).unwrap_or_default();
        table.rows.push(Row { cells, detail: Some(format!("{special}{}", one.title)) });
    }
    let mut section = Section::new("flaws", "").with(Block::Table(table));
    let hidden = verdicts.len() - shown.len();
    if hidden > 0 {
        section = section
            .saying(Tone::Faint, format!("{hidden} more do not concern this machine; --all lists them."));
    }
    let mut sections = vec![section];
    let mut details = Section::detail("flaw-evidence", "Evidence");
    for one in shown.iter().filter(|one| one.special.is_some() || !one.disagreements.is_empty()) {
        details =
            details.saying(Tone::Look, format!("{}: {}", one.id, one.special_says().unwrap_or_default()));
        details = details.with(Block::Facts(evidence(one)));
    }
    if !details.blocks.is_empty() {
        sections.push(details);
    }
    sections
}

/// What each witness says, how they disagree, how to switch it.
fn evidence(verdict: &FlawVerdict) -> Vec<(String, String)> {
    let witnesses = &verdict.witnesses;
    let mut facts = vec![
        ("kernel", &witnesses.kernel.says),
        ("registers", &witnesses.registers.says),
        ("time", &witnesses.time.says),
    ];
    facts.extend(verdict.disagreements.iter().map(|sentence| ("disagreement", sentence)));
    facts.extend(verdict.remedies.iter().map(|remedy| ("switch", remedy)));
    facts.into_iter().map(|(name, text)| (name.to_owned(), text.clone())).collect()
}

fn tone(state: Protection) -> Tone {
    match state {
        Protection::NotAffected | Protection::Protected => Tone::Good,
        Protection::OnRequest => Tone::Plain,
        Protection::Partly | Protection::NotProtected => Tone::Look,
        Protection::Unknown => Tone::Doubt,
    }
}

fn counts(verdicts: &[FlawVerdict]) -> String {
    let count = |wanted: Protection| verdicts.iter().filter(|verdict| verdict.protected == wanted).count();
    let with_some = [Protection::NotProtected, Protection::Partly, Protection::OnRequest]
        .map(|state| (count(state), state.name()))
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, name)| format!("{count} {name}"));
    let always = [Protection::Protected, Protection::NotAffected, Protection::Unknown]
        .map(|state| format!("{} {}", count(state), state.name()));
    let each: Vec<String> = with_some.chain(always).collect();
    format!("{} flaws in the catalogue: {}", verdicts.len(), each.join(", "))
}

/// The least protected first; those that do not concern the machine only on demand.
fn ranked(verdicts: &[FlawVerdict], all: bool) -> Vec<&FlawVerdict> {
    let mut shown: Vec<&FlawVerdict> =
        verdicts.iter().filter(|verdict| all || verdict.affected != Answer::No).collect();
    shown.sort_by_key(|verdict| match verdict.protected {
        _ if verdict.special.is_some() => 0,
        Protection::NotProtected => 1,
        Protection::Partly => 2,
        Protection::OnRequest => 3,
        // Of a flaw that is here more should be known than of one that may be.
        Protection::Unknown if verdict.affected == Answer::Yes => 4,
        Protection::Unknown => 5,
        Protection::Protected => 6,
        Protection::NotAffected => 7,
    });
    shown
}

pub(crate) fn answer(answer: Answer) -> &'static str {
    match answer {
        Answer::Yes => "yes",
        Answer::No => "no",
        Answer::Unknown => "unknown",
    }
}

fn state(state: WorkaroundState) -> &'static str {
    match state {
        WorkaroundState::On => "on",
        WorkaroundState::Off => "off",
        WorkaroundState::Partial => "in part",
        WorkaroundState::Attempted => "attempted",
        WorkaroundState::Unknown => "unknown",
    }
}

/// One flaw, explained, with the verdict on this machine.
pub fn flaw_page(flaw: &Flaw, verdict: &FlawVerdict) -> Page {
    let here = match verdict.affected {
        Answer::Yes => "This machine has it",
        Answer::No => "This machine does not have it",
        Answer::Unknown => "Unknown whether this machine has it",
    };
    let protected = match verdict.affected {
        Answer::No => String::new(),
        _ if verdict.protected == Protection::Partly => "; partly protected".to_owned(),
        _ => format!("; {}", verdict.protected.name()),
    };
    let mut facts: Vec<(String, String)> = Vec::new();
    let mut fact = |name: &str, text: &str| facts.push((name.to_owned(), text.to_owned()));
    fact("effect", &flaw.effect);
    fact("kind", kind(flaw.kind));
    fact("also called", &flaw.aliases.join(", "));
    fact("slows", &flaw.suffers);
    fact("mitigation", &format!("{}; costs now: {}", state(verdict.workaround), answer(verdict.paid)));
    for (name, text) in evidence(verdict).iter().filter(|(name, _)| name != "switch") {
        fact(name, text);
    }
    for (workaround, remedy) in flaw.workaround.iter().zip(&verdict.remedies) {
        let by: Vec<&str> = workaround.by.iter().map(|by| applied_by(*by)).collect();
        fact("switch", &format!("{remedy} (applied by {})", by.join(", ")));
    }
    fact("fix", verdict.fix.as_deref().unwrap_or(""));
    verdict.costs.iter().for_each(|cost| fact("published cost", cost));
    if let Some(none) = &flaw.no_detector {
        fact("no detector", &none.reason);
    }
    for sub_state in &flaw.sub_state {
        let text = format!("\"{}\" among the kernel's bugs: {}", sub_state.bug, sub_state.means);
        fact("variant", &text);
    }
    flaw.sources.iter().for_each(|source| fact("source", source));
    Page {
        subject: format!("{}: {}", flaw.id, flaw.title),
        answer: Statement::new(
            if verdict.affected == Answer::No { Tone::Good } else { tone(verdict.protected) },
            format!("{here}{protected}: {}", verdict.because),
        ),
        sections: vec![Section::new("flaw", "").with(Block::Facts(facts))],
        ..Page::default()
    }
}

/// The catalogue, or what a search left of it.
pub fn flaw_index_page(flaws: &[&Flaw]) -> Page {
    let columns = vec![
        Column::word("flaw"),
        Column::word("kind").priority(1),
        Column::prose("what it is"),
        Column::prose("also called").priority(2),
    ];
    let mut table = Table::new("catalogue", columns);
    for flaw in flaws {
        let also = flaw.aliases.first().cloned().unwrap_or_default();
        table.row(vec![
            Cell::text(&flaw.id),
            Cell::text(kind(flaw.kind)),
            Cell::text(&flaw.title),
            Cell::text(also),
        ]);
    }
    Page {
        subject: counted(flaws.len(), "flaw"),
        sections: vec![Section::new("catalogue", "").with(Block::Table(table))],
        ..Page::default()
    }
}

/// Counts over many machines; rows without a machine only on demand.
pub fn population_page(counts: &Population, all: bool) -> Page {
    let mut common: Vec<(&String, &usize)> = counts.by_signature.iter().collect();
    common.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    let most: Vec<String> =
        common.iter().take(SIGNATURES).map(|(signature, count)| format!("{signature}: {count}")).collect();
    let kinds = counted(common.len(), "CPU signature");
    let mut because = vec![Statement::new(
        Tone::Faint,
        format!("{kinds} (family-model-stepping), most often {}", most.join(", ")),
    )];
    if counts.unreadable_count > 0 {
        let text = format!("{} not readable as a report of lscpu", counted(counts.unreadable_count, "text"));
        because.push(Statement::new(Tone::Doubt, text));
    }
    let ineffective: usize = counts.population.iter().map(|row| row.paying_without_protection).sum();
    if ineffective > 0 {
        let text = format!("{} active but ineffective: no microcode", counted(ineffective, "mitigation"));
        because.push(Statement::new(Tone::Doubt, text));
    }
    Page {
        subject: format!("{} of lscpu", counted(counts.reports, "report")),
        because,
        sections: vec![Section::new("population", "").with(Block::Table(population(counts, all)))],
        ..Page::default()
    }
}

fn population(counts: &Population, all: bool) -> Table {
    type Of = fn(&PopulationRow) -> usize;
    let columns: [(&'static str, u8, Of); 7] = [
        ("affected", 0, |row| row.affected),
        ("protected", 2, |row| row.protected),
        ("on request", 1, |row| row.on_request),
        ("partly", 1, |row| row.partly),
        ("not protected", 0, |row| row.not_protected),
        ("unknown", 3, |row| row.protection_unknown),
        ("may be affected", 4, |row| row.unknown),
    ];
    let mut header = vec![Column::word("flaw")];
    header.extend(columns.map(|(title, priority, _)| Column::number(title, "").priority(priority)));
    let mut table = Table::new("population", header);
    for row in counts.population.iter().filter(|row| all || row.affected > 0) {
        let numbers = columns.iter().map(|(_, _, of)| Cell::count(of(row)));
        table.row([Cell::text(&row.id)].into_iter().chain(numbers).collect());
    }
    table
}

fn kind(kind: FlawKind) -> &'static str {
    match kind {
        FlawKind::Erratum => "erratum",
        FlawKind::Vulnerability => "vulnerability",
        FlawKind::Design => "design",
        FlawKind::Clock => "clock",
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

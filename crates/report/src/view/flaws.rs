//! Flaws: the verdicts on one machine, one flaw explained, the catalogue, and counts over many machines.

use flaws::{Flaw, GateReason, Population, SubState};
use machine::{Machine, counted};
use record::{Answer, AttackVector, FlawVerdict, Protection, VectorState, WorkaroundState};
use stats::Order;

use super::machine::headline;
use crate::naming::{grouped, word, words};
use crate::number::{first_few, joined};
use crate::page::{Page, Section, Statement, Table, Tone};

/// Flaws on a first screen.
const FLAWS_FIRST: usize = 7;
/// Flaws that the answer names.
pub(crate) const NAMED: usize = 3;
/// Reports on a first screen.
const REPORTS_FIRST: usize = 7;
/// CPU signatures that are named of many machines.
const SIGNATURES: usize = 8;

/// The verdicts of all flaws on one machine, with remarks on its CPUs: that their model is made up, how they differ where they should
/// be alike; `all` shows those too that do not concern it.
pub fn flaws_page(machine: &Machine, verdicts: &[FlawVerdict], remarks: &[String], all: bool) -> Page {
    Page {
        subject: headline(machine),
        answer: answer_of(verdicts),
        because: remarks.iter().map(Statement::look).collect(),
        sections: sections(verdicts, all),
        next: vec!["Explain one flaw: sidestep flaws show ID".to_owned()],
        about: vec![counts(verdicts)],
        ..Page::default()
    }
}

/// The page with what got worse than in a baseline, whose name is `baseline`.
pub fn against_baseline(mut page: Page, worse: &[GateReason], baseline: &str) -> Page {
    let ids: Vec<&str> = worse.iter().map(|reason| reason.id.as_str()).collect();
    let are = if ids.len() == 1 { "is" } else { "are" };
    let worse = format!("{} {are} worse than in {baseline}", counted(ids.len(), "flaw"));
    page.because.insert(
        0,
        match ids.as_slice() {
            [] => Statement::good(format!("no flaw is worse than in {baseline}")),
            ids => Statement::look(format!("{worse}: {}", first_few(ids, NAMED))),
        },
    );
    page
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
    let (here, perhaps): (Vec<&FlawVerdict>, Vec<&FlawVerdict>) =
        of(&[Protection::Unknown]).into_iter().partition(|one| one.affected == Answer::Yes);
    let of_unknown = (!here.is_empty()).then(|| format!("{} of unknown state", here.len()));
    let may_be_here = (!perhaps.is_empty()).then(|| format!("{} more may be in it", perhaps.len()));
    let doubts: Vec<String> = of_unknown.into_iter().chain(may_be_here).collect();
    let concern = concern(verdicts.iter().filter(|one| one.affected == Answer::Yes).count());
    if open.is_empty() && on_request.is_empty() {
        return match doubts.as_slice() {
            [] => Statement::good(format!("{concern}: all mitigated")),
            doubts => Statement::doubt(format!("{concern}: {}", doubts.join("; "))),
        };
    }
    let mut clauses = Vec::new();
    if !open.is_empty() {
        clauses.push(format!("{} not fully protected ({})", open.len(), named(&open)));
    }
    if !on_request.is_empty() {
        let protect = if on_request.len() == 1 { "protects" } else { "protect" };
        clauses.push(format!(
            "{} {protect} only programs that ask ({})",
            on_request.len(),
            named(&on_request)
        ));
    }
    clauses.extend(doubts);
    Statement::look(format!("{concern}: {}", clauses.join("; ")))
}

fn named(verdicts: &[&FlawVerdict]) -> String {
    first_few(&verdicts.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(), NAMED)
}

/// The table of flaws, and what each source says of those that deserve it.
pub(crate) fn sections(verdicts: &[FlawVerdict], all: bool) -> Vec<Section> {
    let shown = ranked(verdicts, all);
    if shown.is_empty() {
        return Vec::new();
    }
    let hidden = verdicts.len() - shown.len();
    let acted = shown.iter().filter(|one| needs_action(one)).count().min(FLAWS_FIRST);
    let table = Table::of("flaws", shown.iter().copied())
        .word("flaw", |one| &one.id)
        .word("state", |one| (tone(one.protected), one.protected.name()))
        .word(("overhead", 1), |one| overhead(one))
        .prose("fix", |one| one.fix.as_ref())
        .detail(|one| {
            let special = one.special_says().map(|says| format!("{says}. ")).unwrap_or_default();
            Some(special + &one.title)
        })
        .first(acted)
        .table();
    let rest = format!("{hidden} more do not concern this machine; --all lists them.");
    let lines = [unknown(&shown), protected(&shown), (hidden > 0).then(|| Statement::faint(rest))];
    let section = Section::new("flaws", "").table(table).stating(lines.into_iter().flatten());
    let mut details = Section::new("flaw-evidence", "Evidence").detailed();
    for one in shown.iter().filter(|one| one.special.is_some() || !one.disagreements.is_empty()) {
        let said = format!("{}: {}", one.id, one.special_says().unwrap_or_default());
        details = details.saying(Tone::Look, said).facts(evidence(one));
    }
    [section].into_iter().chain(details.filled()).collect()
}

/// Whether something can be done or chosen: such flaws stand on the first screen, the others in a line each.
fn needs_action(verdict: &FlawVerdict) -> bool {
    let state = verdict.protected;
    verdict.special.is_some() || state.is_open() || state == Protection::OnRequest
}

/// Those of unknown state, in a line, with what would tell.
fn unknown(shown: &[&FlawVerdict]) -> Option<Statement> {
    let unknown = shown.iter().filter(|one| !needs_action(one) && one.protected == Protection::Unknown);
    let mut by_means = grouped(unknown.map(|one| (flaws::would_tell(one), one.id.as_str())));
    by_means.order_by_key(|(_, ids)| std::cmp::Reverse(ids.len()));
    let shares = by_means.iter().map(|(means, ids)| format!("{means} ({})", first_few(ids, NAMED)));
    (!by_means.is_empty())
        .then(|| Statement::faint(format!("Unknown; what would tell: {}.", joined(shares, ", "))))
}

/// Those that nothing needs to be done about, in a line.
fn protected(shown: &[&FlawVerdict]) -> Option<Statement> {
    let done = shown.iter().filter(|one| !needs_action(one) && one.protected == Protection::Protected);
    let ids: Vec<&str> = done.map(|one| one.id.as_str()).collect();
    (!ids.is_empty()).then(|| Statement::faint(format!("Protected: {}.", ids.join(", "))))
}

/// What the workaround takes now.
fn overhead(verdict: &FlawVerdict) -> &'static str {
    match verdict.paid {
        Answer::Yes => "yes",
        Answer::No => "none",
        Answer::Unknown => "unknown",
    }
}

/// What each source says, how they disagree, how to switch it.
fn evidence(verdict: &FlawVerdict) -> Vec<(&'static str, String)> {
    let evidence = &verdict.evidence;
    let says = [
        ("kernel", &evidence.kernel.says),
        ("registers", &evidence.registers.says),
        ("time", &evidence.time.says),
    ];
    let disagreements = verdict.disagreements.iter().map(|sentence| ("disagreement", sentence));
    let says = says.into_iter().chain(disagreements).map(|(name, text)| (name, text.clone()));
    says.chain(verdict.switches.iter().map(|switch| ("switch", switch.to_string()))).collect()
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
    let count = |state: Protection| verdicts.iter().filter(|verdict| verdict.protected == state).count();
    let with_some = [Protection::NotProtected, Protection::Partly, Protection::OnRequest]
        .map(|state| (count(state), state.name()))
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, name)| format!("{count} {name}"));
    let always = [Protection::Protected, Protection::NotAffected, Protection::Unknown]
        .map(|state| format!("{} {}", count(state), state.name()));
    format!("{} flaws in the catalogue: {}", verdicts.len(), joined(with_some.chain(always), ", "))
}

/// The least protected first; those that do not concern the machine only on demand, unless their workaround costs all the same.
fn ranked(verdicts: &[FlawVerdict], all: bool) -> Vec<&FlawVerdict> {
    let mut shown: Vec<&FlawVerdict> = verdicts
        .iter()
        .filter(|verdict| all || verdict.affected != Answer::No || verdict.paid == Answer::Yes)
        .collect();
    shown.order_by_key(|verdict| match verdict.protected {
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
    let mitigation = match (verdict.affected, verdict.paid) {
        (Answer::No, Answer::No) => "none needed".to_owned(),
        (Answer::No, Answer::Yes) => format!("{}, without need; overhead: yes", state(verdict.workaround)),
        _ => format!("{}; overhead: {}", state(verdict.workaround), overhead(verdict)),
    };
    let mut facts = vec![
        ("effect", flaw.effect.clone()),
        ("kind", word(&flaw.kind)),
        ("also called", flaw.aliases.join(", ")),
        ("slows", flaw.suffers.clone()),
        ("mitigation", mitigation),
    ];
    facts.extend(evidence(verdict).into_iter().filter(|(name, _)| *name != "switch"));
    facts.extend(verdict.cause.iter().map(|cause| ("cause", cause.says.clone())));
    let vector =
        |(vector, state): (&AttackVector, &VectorState)| format!("{} {}", vector.name(), words(&word(state)));
    facts.push(("vectors", verdict.vectors.iter().map(vector).collect::<Vec<_>>().join(", ")));
    facts.extend(
        verdict
            .switches
            .iter()
            .map(|switch| ("switch", format!("{switch} (applied by {})", switch.applied_by.join(", ")))),
    );
    facts.push(("fix", verdict.fix.clone().unwrap_or_default()));
    facts.extend(verdict.costs.iter().map(|cost| ("published cost", cost.clone())));
    facts.extend(flaw.no_detector.iter().map(|none| ("no detector", none.reason.clone())));
    let variant = |one: &SubState| format!("\"{}\" among the kernel's bugs: {}", one.bug, one.means);
    facts.extend(flaw.sub_state.iter().map(|one| ("variant", variant(one))));
    facts.extend(flaw.sources.iter().map(|source| ("source", source.clone())));
    let tone = if verdict.affected == Answer::No { Tone::Good } else { tone(verdict.protected) };
    Page {
        subject: format!("{}: {}", flaw.id, flaw.title),
        answer: Statement::new(tone, format!("{here}{protected}: {}", verdict.because)),
        sections: vec![Section::new("flaw", "").facts(facts)],
        ..Page::default()
    }
}

/// The catalogue, or what a search left of it.
pub fn flaw_index_page(flaws: &[&Flaw]) -> Page {
    let table = Table::of("catalogue", flaws.iter().copied())
        .word("flaw", |flaw| &flaw.id)
        .word(("kind", 1), |flaw| word(&flaw.kind))
        .prose("what it is", |flaw| &flaw.title)
        .prose(("also called", 2), |flaw| flaw.aliases.first())
        .table();
    Page {
        subject: counted(flaws.len(), "flaw"),
        sections: vec![Section::new("catalogue", "").table(table)],
        ..Page::default()
    }
}

/// Counts over many machines; rows without a machine only on demand.
pub fn population_page(counts: &Population, all: bool) -> Page {
    let mut common: Vec<(&String, &usize)> = counts.by_signature.iter().collect();
    common.order_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    let most = common.iter().take(SIGNATURES).map(|(signature, count)| format!("{signature}: {count}"));
    let kinds = counted(common.len(), "CPU signature");
    let signatures = format!("{kinds} (family-model-stepping), most often {}", joined(most, ", "));
    let unreadable = counts.unreadable_count;
    let ineffective: usize = counts.population.iter().map(|row| row.paying_without_protection).sum();
    let doubts = [
        (unreadable, format!("{} not readable as a report of a machine", counted(unreadable, "text"))),
        (ineffective, format!("{} active but ineffective: no microcode", counted(ineffective, "mitigation"))),
    ];
    let doubts = doubts.into_iter().filter(|(count, _)| *count > 0).map(|(_, text)| Statement::doubt(text));
    let reports = Table::of("reports", &counts.named)
        .word("report", |report| &report.name)
        .word("CPU", |report| &report.signature)
        .prose("not fully protected", |report| Some(joined(report.open.iter().cloned(), ", ")))
        .number(("unknown", 1), |report| report.unknown)
        .first(REPORTS_FIRST);
    Page {
        subject: format!("{} of machines", counted(counts.reports, "report")),
        because: [Statement::faint(signatures)].into_iter().chain(doubts).collect(),
        sections: vec![
            Section::new("population", "").table(population(counts, all)),
            Section::new("reports", "Reports").table(reports.table()),
        ],
        ..Page::default()
    }
}

fn population(counts: &Population, all: bool) -> Table {
    Table::of("population", counts.population.iter().filter(|row| all || row.affected > 0))
        .word("flaw", |row| &row.id)
        .number("affected", |row| row.affected)
        .number(("protected", 2), |row| row.protected)
        .number(("on request", 1), |row| row.on_request)
        .number(("partly", 1), |row| row.partly)
        .number("not protected", |row| row.not_protected)
        .number(("unknown", 3), |row| row.protection_unknown)
        .number(("may be affected", 4), |row| row.unknown)
        .table()
}

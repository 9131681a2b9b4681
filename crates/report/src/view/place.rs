//! A placement: what is recommended, what each placement gained against what was predicted, which threads share data, and where they go.

mod figures;
mod sharing;
mod sweep;

use record::{
    AaTwin, Better, ParkingTax, PlaceArm, PlaceOutcome, PlacedThread, SharingOffer, WriterPair, WriterVerdict,
};
use stats::Verdict;

use crate::number::{UNKNOWN, count, percent, short};
use crate::page::{Block, Cell, Column, Page, Section, Statement, Table, Tone};
use crate::view::experiment::dropped;
use sharing::{names, strongest_pairs};

pub use sweep::place_sweep_page;

/// The arms that leave the choice of CPUs to the kernel.
const KERNEL: [&str; 2] = ["os", "os again"];
/// Threads on a first screen.
const THREADS_FIRST: usize = 4;
/// Doubtful pairs listed; --json has all.
const PAIRS_SHOWN: usize = 4;
/// A name is cut beyond this: the kernel keeps 15 bytes of it.
const NAME_CHARACTERS: usize = 15;

/// The placement as a page.
pub fn place_page(found: &PlaceOutcome) -> Page {
    let mut sections = Vec::new();
    if !found.arms.is_empty() {
        sections.push(Section::new("placements", "").with(Block::Table(arms(found))));
    }
    let pairs: Vec<String> = strongest_pairs(found).into_iter().chain(confirmed(found)).collect();
    if !pairs.is_empty() {
        sections.push(Section::new("sharing", "Threads that share data").with(Block::List(pairs)));
    }
    if !found.threads.is_empty() {
        sections.push(Section::new("threads", "").with(Block::Table(threads(found))));
    }
    if !found.notes.is_empty() {
        sections.push(Section::new("notes", "Notes").with(Block::List(found.notes.clone())));
    }
    sections.extend(figures::gains(found));
    sections.extend(found.sharing.iter().filter_map(|sharing| figures::heat_maps(found, sharing)));
    let regions = found.sharing.as_ref().map(|sharing| sharing::regions(found, sharing));
    if let Some(regions) = regions.filter(|regions| !regions.rows.is_empty()) {
        sections.push(Section::detail("memory", "Shared memory").with(Block::Table(regions)));
    }
    let meaning = |arm: &PlaceArm| (arm_name(arm), format!("{}; {}", arm.what, count(arm.runs, "run")));
    let meanings = found.arms.iter().map(meaning).collect();
    sections.push(Section::detail("meanings", "The placements").with(Block::Facts(meanings)));
    sections.push(Section::detail("facts", "How it was found").with(Block::Facts(facts(found))));
    let tone = if found.recommended.is_some() { Tone::Good } else { Tone::Plain };
    Page {
        subject: format!("Placement of {}", found.subject),
        answer: Statement::new(tone, &found.sentence),
        because: not_placed(found).into_iter().chain(failures(found)).collect(),
        sections,
        about: vec![format!("begun {}, seed {}", found.started_utc, found.seed)],
        ..Page::default()
    }
}

/// Runs that failed, with an example.
fn failures(found: &PlaceOutcome) -> Vec<Statement> {
    let said = found.failures.iter().map(|failure| {
        let of = count(failure.of, "run");
        Statement::new(Tone::Doubt, format!("{} of {of} failed: {}", failure.failed, failure.example))
    });
    said.collect()
}

fn arms(found: &PlaceOutcome) -> Table {
    let unit = if found.unit.is_empty() { String::new() } else { format!(", {}", found.unit) };
    let columns = vec![
        Column::word("placement"),
        Column::word("verdict"),
        Column::number("measured", "%"),
        Column::number("predicted", "%").priority(2),
        Column::number(format!("{}{unit}", found.metric), "").priority(1),
        Column::number("q", "").priority(3),
    ];
    let mut table = Table::new("placements", columns);
    for arm in &found.arms {
        table.row(vec![
            Cell::text(arm_name(arm)),
            verdict(arm.change_percent, arm.verdict),
            change(arm),
            predicted(arm),
            Cell::known(arm.value),
            q(arm.q),
        ]);
    }
    let better = match found.better {
        Better::Lower => "lower",
        Better::Higher => "higher",
    };
    table.legend = Some(format!(
        "predicted, measured: change of {} against the kernel's own placement (os), {better} is better; q: share of false alarms among such findings",
        found.metric
    ));
    table
}

/// The arm, and the other name of the same placement.
fn arm_name(arm: &PlaceArm) -> String {
    arm.same_as.as_ref().map_or_else(|| arm.name.clone(), |other| format!("{} = {other}", arm.name))
}

/// What an arm should bring, with its interval where one is known.
fn predicted(arm: &PlaceArm) -> Cell {
    let Some(change) = arm.predicted_percent else { return Cell::Empty };
    arm.predicted_interval.map_or_else(
        || Cell::shown(format!("{change:+.1}"), change),
        |ends| Cell::within(format!("{change:+.0} [{:+.0}, {:+.0}]", ends.low, ends.high), change, ends),
    )
}

fn change(arm: &PlaceArm) -> Cell {
    let Some(change) = arm.change_percent else { return Cell::Empty };
    arm.change_interval.map_or_else(
        || Cell::shown(format!("{change:+.1}"), change),
        |ends| Cell::within(format!("{change:+.1} [{:+.1}, {:+.1}]", ends.low, ends.high), change, ends),
    )
}

/// The share of false alarms among findings as sure as this one.
fn q(q: Option<f64>) -> Cell {
    let Some(q) = q else { return Cell::Empty };
    let text = match q {
        small if small < 0.001 => "<.001".to_owned(),
        small if small < 1.0 => format!("{small:.3}").trim_start_matches('0').to_owned(),
        _ => "1".to_owned(),
    };
    Cell::shown(text, q)
}

fn verdict(change_percent: Option<f64>, verdict: Verdict) -> Cell {
    let (tone, word) = match (change_percent, verdict) {
        (None, _) => return Cell::Empty,
        (_, Verdict::Faster) => (Tone::Good, "better"),
        (_, Verdict::Slower) => (Tone::Look, "worse"),
        (_, Verdict::Equivalent) => (Tone::Plain, "equivalent"),
        (_, Verdict::Inconclusive) => (Tone::Doubt, "undetermined"),
    };
    Cell::State(tone, word.to_owned())
}

/// Where each thread goes, by the recommended placement first.
fn threads(found: &PlaceOutcome) -> Table {
    let shown = found.recommended.clone().or_else(|| found.arms.get(1).map(|arm| arm.name.clone()));
    let is_choice = |arm: &&PlaceArm| !arm.cpus.is_empty() && !KERNEL.contains(&arm.name.as_str());
    let mut arms: Vec<&PlaceArm> = found.arms.iter().filter(is_choice).collect();
    arms.sort_by_key(|arm| Some(&arm.name) != shown.as_ref());
    let mut columns = vec![Column::word("thread"), Column::number("busy", "%")];
    columns.extend(arms.iter().enumerate().map(|(place, arm)| {
        Column::word(format!("CPUs by {}", arm.name)).priority(u8::try_from(place).unwrap_or(u8::MAX))
    }));
    let mut table = Table { first_rows: Some(THREADS_FIRST), ..Table::new("threads", columns) };
    for (index, thread) in found.threads.iter().enumerate() {
        let busy = 100.0 * thread.cpu_share;
        let mut cells = vec![Cell::text(thread_name(thread)), Cell::shown(format!("{busy:.0}"), busy)];
        cells.extend(arms.iter().map(|arm| Cell::text(arm.cpus.get(index).cloned().unwrap_or_default())));
        table.row(cells);
    }
    table
}

/// `1/worker#2`: the process, unless it is the first, the name, and which of that name.
fn thread_name(thread: &PlacedThread) -> String {
    let name: String = thread.name.chars().take(NAME_CHARACTERS).collect();
    let process = if thread.process == 0 { String::new() } else { format!("{}/", thread.process) };
    format!("{process}{name}#{}", thread.nth)
}

/// What the threads were watched by and what not.
fn data_sources(found: &PlaceOutcome) -> Vec<(String, String)> {
    let offers = || found.sharing.iter().flat_map(|sharing| &sharing.offers);
    let used = offers().filter(|offer| offer.refused.is_none());
    let missing =
        offers().filter_map(|SharingOffer { name, refused }| Some(format!("{name}: {}", refused.as_ref()?)));
    let used = used.map(|offer| ("data source".to_owned(), offer.name.clone()));
    used.chain(missing.map(|text| ("not available".to_owned(), text))).collect()
}

/// Who writes to shared pages, and each pair of which that is doubtful.
fn confirmed(found: &PlaceOutcome) -> Vec<String> {
    let Some(sharing) = &found.sharing else { return Vec::new() };
    let Some(writers) = &sharing.writers else { return Vec::new() };
    let names = names(found, sharing);
    let name = |thread: usize| names.get(thread).map_or(UNKNOWN, String::as_str);
    let is_doubtful = |pair: &&WriterPair| pair.is_called && pair.verdict == WriterVerdict::OwnPages;
    let doubt = |pair: &WriterPair| {
        let [first, second] = pair.threads.map(name);
        let (turns, changes) = (pair.turns, pair.changes);
        format!("doubtful: {first} with {second}: {changes} changes of writer in {turns} writes to a page")
    };
    let doubts = writers.pairs.iter().filter(is_doubtful).take(PAIRS_SHOWN).map(doubt);
    std::iter::once(format!("confirmed by page faults: {}", writers.sentence)).chain(doubts).collect()
}

fn facts(found: &PlaceOutcome) -> Vec<(String, String)> {
    let mut facts = data_sources(found);
    let mut fact = |name: &str, text: String| facts.push((name.to_owned(), text));
    if let Some(decision) = &found.decision {
        let gap = decision.gap_percent.map_or_else(|| UNKNOWN.to_owned(), |gap| format!("{gap:.2} %"));
        fact("decided by", decision.learnt_by.clone());
        fact(
            "value",
            format!(
                "{} thread speeds; at random {}; upper bound {} ({}), gap {gap}",
                short(decision.value),
                short(decision.chance_value),
                short(decision.bound),
                decision.proof
            ),
        );
        decision.terms.iter().for_each(|term| fact("counted", term.clone()));
        for level in &decision.levels {
            let (units, saved) = (level.units, percent(level.benefit));
            fact("level", format!("{units} x {}: saves {saved} ({})", level.name, level.source));
        }
    }
    let predicted = found.unpredicted.as_ref().map(|why| format!("nothing: {why}"));
    let predicted = found.predicted_by.clone().into_iter().chain(predicted);
    predicted.for_each(|by| fact("predicted by", by));
    if found.ended.is_some() && !found.arms.is_empty() {
        let (taken, kept) = (count(found.pair_counts.taken, "run"), found.pair_counts.kept);
        let order = "of each placement, interleaved in random order";
        fact("runs", format!("{taken} {order}, {kept} kept{}", dropped(&found.pair_counts)));
        fact("A/A", alarms(&found.aa));
        fact("margin", format!("{} of {}", percent(found.margin_percent / 100.0), found.metric));
    }
    if let Some(parking) = &found.parking {
        fact("sleeping CPUs", parking_words(parking));
    }
    fact("CPUs", found.cpus.clone());
    facts
}

/// What the kernel against itself showed, and how much of that chance explains.
fn alarms(aa: &AaTwin) -> String {
    let widening = short(aa.widening.max(1.0));
    let alarms = count(aa.alarms, "false alarm");
    format!("{alarms}, up to {} expected by chance; intervals widened by {widening}", aa.alarms_by_chance)
}

/// Which threads are left to the kernel or to the program.
fn not_placed(found: &PlaceOutcome) -> Option<Statement> {
    // Where nothing was tried the others are as free.
    let idle = if found.ended.is_some() { found.idle_threads } else { 0 };
    let some = |number: usize, noun: &str| (number > 0).then(|| count(number, noun));
    let pinned =
        some(found.apart_threads, "thread").map(|all| format!("{all} pinned by the program, left alone"));
    let told: Vec<String> = some(idle, "idle thread").into_iter().chain(pinned).collect();
    (!told.is_empty()).then(|| Statement::new(Tone::Faint, format!("Not placed: {}.", told.join("; "))))
}

/// What sleeping CPUs cost, in words.
fn parking_words(parking: &ParkingTax) -> String {
    let waits = "of the time waits for CPUs to wake";
    let share = match (parking.percent, parking.interval) {
        (Some(share), Some(ends)) => format!("{share:.2} % [{:.2}, {:.2}] {waits}", ends.low, ends.high),
        (Some(share), None) => format!("{share:.2} % {waits}"),
        (None, _) => UNKNOWN.to_owned(),
    };
    let unsupported = if parking.unsupported {
        "; not measured: the kernel names no idle states here, the hypervisor decides"
    } else {
        ""
    };
    let steal = parking.steal_percent.filter(|steal| *steal > 0.1);
    let steal = steal.map_or_else(String::new, |steal| {
        format!("; {steal:.1} % steal time meanwhile, which looks like slow waking")
    });
    format!("{share}{unsupported}{steal}; {}", parking.advice)
}

#[cfg(test)]
mod tests;

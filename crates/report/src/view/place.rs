//! A placement: what is recommended, what each placement gained against what was predicted, which threads share data, and where they go.

mod sharing;

use record::{AaControl, Failures, PlaceArm, PlaceDecision, PlaceLevel, PlaceOutcome, PlacedThread};
use stats::{Order, Verdict};

use crate::naming::word;
use crate::number::{count, percent, short};
use crate::page::{Block, Cell, Page, Section, Statement, Table, Tone};
use crate::view::experiment::dropped;
use crate::view::judged;
use sharing::strongest_pairs;

/// The arms that leave the choice of CPUs to the kernel.
const KERNEL: [&str; 2] = ["os", "os again"];
/// Threads on a first screen.
const THREADS_FIRST: usize = 4;
/// A name is cut beyond this: the kernel keeps 15 bytes of it.
const NAME_CHARACTERS: usize = 15;

/// The placement as a page.
pub fn place_page(found: &PlaceOutcome) -> Page {
    let pairs = strongest_pairs(found);
    let regions = found
        .sharing
        .as_ref()
        .and_then(|sharing| sharing::regions(found, sharing).section("Shared memory").map(Section::detailed));
    let meaning = |arm: &PlaceArm| (arm_name(arm), format!("{}; {}", arm.what, count(arm.runs, "run")));
    let meanings = Section::new("meanings", "The placements")
        .with(Block::Facts(found.arms.iter().map(meaning).collect()))
        .detailed();
    let sections = [
        arms(found).section(""),
        Section::new("sharing", "Threads that share data").list(pairs).filled(),
        threads(found).section(""),
        Section::new("notes", "Notes").list(found.head.notes.clone()).filled(),
        found.sharing.as_ref().and_then(|sharing| sharing::heat_maps(found, sharing)),
        regions,
        Some(meanings),
        Some(Section::new("facts", "How it was found").facts(facts(found)).detailed()),
    ];
    let tone = if found.recommended.is_some() { Tone::Good } else { Tone::Plain };
    Page {
        subject: format!("Placement of {}", found.subject),
        answer: Statement::new(tone, &found.head.sentence),
        because: not_placed(found).into_iter().chain(found.failures.iter().map(failure)).collect(),
        sections: sections.into_iter().flatten().collect(),
        about: vec![format!("begun {}, seed {}", found.head.started_utc, found.head.seed)],
        ..Page::default()
    }
}

/// Runs that failed, with an example.
fn failure(failure: &Failures) -> Statement {
    let of = count(failure.of, "run");
    Statement::doubt(format!("{} of {of} failed: {}", failure.failed, failure.example))
}

fn arms(found: &PlaceOutcome) -> Table {
    let unit = if found.unit.is_empty() { String::new() } else { format!(", {}", found.unit) };
    Table::of("placements", &found.arms)
        .word("placement", |arm| arm_name(arm))
        .word("verdict", |arm| verdict(arm.change_percent, arm.verdict))
        .number(("measured", "%"), |arm| change(arm))
        .number(("predicted", "%", 2), |arm| predicted(arm))
        .number((format!("{}{unit}", found.metric), 1), |arm| Cell::known(arm.value))
        .number(("q", 3), |arm| Cell::q(arm.q))
        .legend(format!(
            "predicted, measured: change of {} against the kernel's own placement (os), {} is better; q: share of false alarms among such findings",
            found.metric,
            word(&found.better)
        ))
}

/// The arm, and the other name of the same placement.
fn arm_name(arm: &PlaceArm) -> String {
    arm.same_as.as_ref().map_or_else(|| arm.name.clone(), |other| format!("{} = {other}", arm.name))
}

/// What an arm should bring, with its interval where one is known.
fn predicted(arm: &PlaceArm) -> Option<Cell> {
    let change = arm.predicted_percent?;
    let text = match arm.predicted_interval {
        Some(ends) => format!("{change:+.0} [{:+.0}, {:+.0}]", ends.low, ends.high),
        None => format!("{change:+.1}"),
    };
    Some(Cell::within(text, change, arm.predicted_interval))
}

fn change(arm: &PlaceArm) -> Option<Cell> {
    let change = arm.change_percent?;
    let ends = arm.change_interval.map(|ends| format!(" [{:+.1}, {:+.1}]", ends.low, ends.high));
    Some(Cell::within(format!("{change:+.1}{}", ends.unwrap_or_default()), change, arm.change_interval))
}

fn verdict(change_percent: Option<f64>, verdict: Verdict) -> Option<(Tone, &'static str)> {
    let (tone, word) = judged::verdict(verdict);
    let word = match verdict {
        Verdict::Faster => "better",
        Verdict::Slower => "worse",
        Verdict::Equivalent | Verdict::Inconclusive => word,
    };
    change_percent.map(|_| (tone, word))
}

/// Where each thread goes, by the recommended placement first.
fn threads(found: &PlaceOutcome) -> Table {
    let shown = found.recommended.clone().or_else(|| found.arms.get(1).map(|arm| arm.name.clone()));
    let is_choice = |arm: &&PlaceArm| !arm.cpus.is_empty() && !KERNEL.contains(&arm.name.as_str());
    let mut arms: Vec<&PlaceArm> = found.arms.iter().filter(is_choice).collect();
    arms.order_by_key(|arm| Some(&arm.name) != shown.as_ref());
    let rows = Table::of("threads", found.threads.iter().enumerate())
        .word("thread", |(_, thread)| thread_name(thread))
        .number(("busy", "%"), |(_, thread)| Cell::whole(Some(100.0 * thread.cpu_share)));
    let columns = arms.iter().enumerate().fold(rows, |rows, (place, arm)| {
        let priority = u8::try_from(place).unwrap_or(u8::MAX);
        rows.word((format!("CPUs by {}", arm.name), priority), |(index, _)| arm.cpus.get(*index))
    });
    columns.first(THREADS_FIRST).table()
}

/// `1/worker#2`: the process, unless it is the first, the name, and which of that name.
fn thread_name(thread: &PlacedThread) -> String {
    let name: String = thread.name.chars().take(NAME_CHARACTERS).collect();
    let process = if thread.process == 0 { String::new() } else { format!("{}/", thread.process) };
    format!("{process}{name}#{}", thread.nth)
}

/// What the threads were watched by and what not.
fn data_sources(found: &PlaceOutcome) -> Vec<(&'static str, String)> {
    let Some(sharing) = &found.sharing else { return Vec::new() };
    let (all, with_address) = (sharing.samples, sharing.memory_samples);
    let samples = format!("the kernel's clock: {all} samples, {with_address} with an address");
    let wakes = match &sharing.wakes_refused {
        Some(why) => Some(("not available", format!("who wakes whom: {why}"))),
        None => sharing.wakes.as_ref().map(|_| ("data source", "who wakes whom, by sched_waking".to_owned())),
    };
    [("data source", samples)].into_iter().chain(wakes).collect()
}

fn facts(found: &PlaceOutcome) -> Vec<(&'static str, String)> {
    let mut facts = data_sources(found);
    facts.extend(found.decision.iter().flat_map(decided));
    let predicted = found.unpredicted.as_ref().map(|why| format!("nothing: {why}"));
    let predicted = found.predicted_by.clone().into_iter().chain(predicted);
    facts.extend(predicted.map(|by| ("predicted by", by)));
    if found.ended.is_some() && !found.arms.is_empty() {
        let (taken, kept) = (count(found.pair_counts.taken, "run"), found.pair_counts.kept);
        let order = "of each placement, interleaved in random order";
        facts.extend([
            ("runs", format!("{taken} {order}, {kept} kept{}", dropped(&found.pair_counts))),
            ("A/A", alarms(&found.aa)),
            ("margin", format!("{} of {}", percent(found.head.margin_percent / 100.0), found.metric)),
        ]);
    }
    facts.push(("CPUs", found.cpus.clone()));
    facts
}

/// How the best placement was computed.
fn decided(decision: &PlaceDecision) -> Vec<(&'static str, String)> {
    let [value, chance] = [decision.value, decision.chance_value].map(short);
    let of = match (decision.tried, decision.all_tried) {
        // An older document.
        (0, _) => String::new(),
        (tried, true) => format!(": the best there is, all {tried} were tried"),
        (tried, false) => format!(": best of {tried} tried"),
    };
    let value = format!("{value} thread speeds{of}; at random {chance}");
    let level = |level: &PlaceLevel| {
        let (units, saved) = (level.units, percent(level.benefit));
        ("level", format!("{units} x {}: saves {saved} ({})", level.name, level.source))
    };
    [("decided by", decision.learnt_by.clone()), ("value", value)]
        .into_iter()
        .chain(decision.terms.iter().map(|term| ("counted", term.clone())))
        .chain(decision.levels.iter().map(level))
        .collect()
}

/// What the kernel against itself showed, and how much of that chance explains.
fn alarms(aa: &AaControl) -> String {
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
    let reasons: Vec<String> = some(idle, "idle thread").into_iter().chain(pinned).collect();
    (!reasons.is_empty()).then(|| Statement::faint(format!("Not placed: {}.", reasons.join("; "))))
}

#[cfg(test)]
mod tests;

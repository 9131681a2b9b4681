//! A placement: what is recommended, what each placement gained against what was predicted, which threads share data, and where they go.

mod sharing;

use record::{AaControl, Failures, PlaceArm, PlaceDecision, PlaceLevel, PlaceOutcome, PlacedThread};
use stats::{Order, Verdict};

use crate::naming::word;
use crate::number::{count, joined, percent, short};
use crate::page::{Block, Cell, Page, Section, Statement, Table, Tone};
use crate::view::cells;
use crate::view::experiment::dropped;
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
    let (tone, word) = cells::verdict(verdict);
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
    let reasons = joined(some(idle, "idle thread").into_iter().chain(pinned), "; ");
    (!reasons.is_empty()).then(|| Statement::faint(format!("Not placed: {reasons}.")))
}

#[cfg(test)]
mod tests {
    use record::{
        Better, DocumentHead, Ended, PLACE_SCHEMA, PairCounts, PlaceDecision, Sharing, SharingThread,
    };
    use stats::Interval;

    use super::*;
    use crate::Terminal;

    pub(super) fn html(found: &PlaceOutcome) -> String {
        place_page(found).html()
    }

    fn arm(name: &str, change: Option<f64>) -> PlaceArm {
        PlaceArm {
            same_as: (name == "best").then(|| "spread".to_owned()),
            cpus: vec!["0".to_owned(); 3],
            predicted_percent: change,
            predicted_interval: change.map(|change| Interval::between(change - 10.0, change + 10.0)),
            value: Some(1.234),
            change_percent: change,
            change_interval: change.map(|change| Interval::between(change - 10.0, change + 10.0)),
            p: change.map(|_| 0.001),
            q: change.map(|_| 0.0004),
            verdict: change.map_or(Verdict::Inconclusive, |_| Verdict::Faster),
            runs: 18,
            ..PlaceArm::untried(name, "neighbours in the order of creation apart")
        }
    }

    /// Two threads that were watched, by somebody who may not see wakes.
    fn watched() -> Sharing {
        let threads = ["one\u{1b}[31m", "other"]
            .map(|name| SharingThread { name: name.to_owned(), tid: 7, ..SharingThread::default() })
            .to_vec();
        let wakes_refused = Some("it is for root".to_owned());
        Sharing { threads, samples: 2700, memory_samples: 900, wakes_refused, ..Sharing::default() }
    }

    pub(super) fn example(threads: usize) -> PlaceOutcome {
        let thread = |nth: usize| PlacedThread {
            process: nth % 2,
            name: "worker\u{1b}[31m of a very long name".to_owned(),
            nth,
            tid: None,
            order: nth,
            cpu_share: 0.97,
            cpus: "0".to_owned(),
        };
        PlaceOutcome {
            head: DocumentHead {
                schema: PLACE_SCHEMA,
                sentence: "best gives 57.9 % less wall time [56.5, 58.8] than the kernel's own placement; predicted 57 % less".to_owned(),
                margin_percent: 2.0,
                notes: vec!["a note that is long enough to be wrapped, as it goes on and on until the line is full".to_owned()],
                tool_version: "0".to_owned(),
                started_utc: "now".to_owned(),
                seed: 1,
                elapsed_s: Some(1.0),
            },
            subject: "./prog".to_owned(),
            cpus: "0-1".to_owned(),
            recommended: Some("best".to_owned()),
            unseen: None,
            threads: (0..threads).map(thread).collect(),
            idle_threads: 1,
            apart_threads: 2,
            decision: Some(PlaceDecision {
                learnt_by: "memory, wake-ups and CPU time".to_owned(),
                levels: Vec::new(),
                value: 1.2,
                tried: 764,
                all_tried: true,
                chance_value: 0.4,
                busy: 2.0,
                terms: vec!["a wake on the waker's own CPU saves 4.8 us: a default from another machine, as it says".to_owned()],
            }),
            predicted_by: Some("arithmetic".to_owned()),
            unpredicted: None,
            metric: "wall time".to_owned(),
            unit: "s".to_owned(),
            better: Better::Lower,
            arms: vec![arm("os", None), arm("best", Some(-57.9)), arm("pack", Some(12.0)), arm("os again", Some(0.1))],
            aa: AaControl { alarms: 1, alarms_by_chance: 7, ..AaControl::default() },
            pair_counts: PairCounts::default(),
            failures: Vec::new(),
            ended: Some(Ended::Precise),
            sharing: Some(watched()),
            raw: Vec::new(),
        }
    }

    #[test]
    fn the_page_answers_first_and_fits_a_screen_of_80_columns() {
        for threads in [0, 3, 200] {
            let page = place_page(&example(threads));
            let first = page.terminal(Terminal::default(), false);
            assert!(first.starts_with("Placement of ./prog\nbest gives 57.9 % less wall time"), "{first}");
            let text = page.terminal(Terminal::default(), true);
            assert!(
                text.lines().all(|line| line.chars().count() <= 80) && !text.contains('\u{1b}'),
                "{text}"
            );
            let said = text.split_whitespace().collect::<Vec<_>>().join(" ");
            for part in [
                "data source the kernel's clock: 2700 samples, 900 with an address",
                "not available who wakes whom: it is for root",
                "1.2 thread speeds: the best there is, all 764 were tried; at random 0.4",
                "counted a wake on the waker's own CPU saves 4.8 us",
                "Not placed: 1 idle thread; 2 threads pinned by the program, left alone.",
                "1 false alarm, up to 7 expected by chance",
            ] {
                assert!(said.contains(part), "{part}: {text}");
            }
        }
    }

    #[test]
    fn the_first_screen_fits_24_lines() {
        let mut found = example(200);
        found.head.notes.clear();
        found.sharing = None;
        let first = place_page(&found).terminal(Terminal::default(), false);
        assert!(first.lines().count() <= 24, "{first}");
    }

    #[test]
    fn a_search_says_how_many_placements_it_tried_and_an_older_document_says_nothing() {
        let mut found = example(3);
        let mut value = |tried| {
            let decision = found.decision.as_mut().expect("it was decided");
            (decision.tried, decision.all_tried) = (tried, false);
            place_page(&found)
                .terminal(Terminal::default(), true)
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert!(value(5_000_123).contains("1.2 thread speeds: best of 5000123 tried; at random 0.4"));
        assert!(value(0).contains("1.2 thread speeds; at random 0.4"));
    }

    #[test]
    fn the_page_for_the_browser_holds_placements_and_no_foreign_markup() {
        let mut found = example(3);
        found.threads[0].name = "<script>alert(1)</script>".to_owned();
        let page = html(&found);
        for part in ["best = spread", "order of creation apart", "-58 [-68, -48]"] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert!(!page.contains("<script>alert"));
    }
}

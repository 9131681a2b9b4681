//! Pages of placements: what comes first, what fits, and nothing foreign in them.

use record::{Better, DocumentHead, Ended, PLACE_SCHEMA, PairCounts, PlaceDecision, Sharing, SharingThread};
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
        assert!(text.lines().all(|line| line.chars().count() <= 80) && !text.contains('\u{1b}'), "{text}");
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

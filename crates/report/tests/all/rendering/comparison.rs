//! Comparisons in all forms: well-formed, escaped, within their widths and sizes, whatever the numbers are.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use record::{
    Better, ComparisonAverage, ComparisonRow, ComparisonTable, ConfigurationSummary, Drift, FactDifference,
    Record, UnmatchedTest,
};
use report::{Page, Terminal, comparison_page};
use stats::{Interval, Verdict};
use unicode_width::UnicodeWidthStr;

use super::markup::check_html;
use super::sample::sample_record;

/// The page stays below this.
const LIMIT_BYTES: usize = 300_000;

const HOSTILE: &str = "<script>alert(1)</script>|\"'><img src=x onerror=alert(1)>\u{1b}[2J\u{202e}&</style>";

fn row(name: &str, candidate: &str, change: f64, verdict: Verdict) -> ComparisonRow {
    let has_interval = verdict != Verdict::Inconclusive || change != 0.0;
    let around = |value: f64| Interval { low: value - 2.0, high: value + 3.0 };
    ComparisonRow {
        name: name.to_owned(),
        group: "memory".to_owned(),
        unit: "ns".to_owned(),
        better: Better::Lower,
        candidate: candidate.to_owned(),
        a: 100.0,
        b: 100.0 + change,
        a_interval: has_interval.then(|| around(100.0)),
        b_interval: has_interval.then(|| around(100.0 + change)),
        change_percent: change,
        interval: has_interval.then(|| around(change)),
        symmetric_percent: change.abs(),
        verdict,
        margin_percent: 1.0,
        p: has_interval.then_some(0.01),
        q: has_interval.then_some(0.02),
        further_runs: (verdict == Verdict::Inconclusive).then_some(37),
        samples: [5, 5],
        paired: false,
        control: false,
        knowledge: stats::Knowledge::None,
    }
}

/// A table of `candidates` configurations beside the baseline; every text ends in `tail`.
fn table(candidates: usize, tail: &str) -> ComparisonTable {
    let named = |index: usize| format!("configuration {index}{tail}");
    let configuration = |index: usize| ConfigurationSummary {
        name: named(index),
        kind: "record".to_owned(),
        runs: 1,
        started_utc: Some(format!("2026-01-01T00:00:00Z{tail}")),
    };
    let mut table = ComparisonTable {
        schema: 1,
        configurations: (0..=candidates).map(configuration).collect(),
        differences: vec![FactDifference {
            fact: format!("kernel{tail}"),
            values: (0..=candidates).map(|index| Some(format!("6.{index}{tail}"))).collect(),
        }],
        cautions: vec![format!("one after the other{tail}")],
        drift: Drift { controls: vec![format!("loop{tail}")], ..Drift::default() },
        unmatched: vec![UnmatchedTest {
            name: format!("walks{tail}"),
            group: "memory".to_owned(),
            present_in: vec![named(0)],
        }],
        ..ComparisonTable::default()
    };
    for candidate in 1..=candidates {
        for (index, (change, verdict)) in [
            (12.0, Verdict::Slower),
            (-30.0, Verdict::Faster),
            (0.1, Verdict::Equivalent),
            (5.0, Verdict::Inconclusive),
            (0.0, Verdict::Inconclusive),
        ]
        .into_iter()
        .enumerate()
        {
            let name = format!("clock_gettime(CLOCK_MONOTONIC_COARSE) number {index}{tail}");
            table.rows.push(row(&name, &named(candidate), change, verdict));
        }
        table.averages.push(ComparisonAverage {
            group: format!("without:memory{tail}"),
            candidate: named(candidate),
            rows: 5,
            symmetric_percent: 9.4,
            floor_percent: Some(0.4),
            geometric_percent: -3.0,
            geometric_interval: Some(Interval { low: -5.0, high: 1.0 }),
        });
    }
    table
}

fn page(table: &ComparisonTable) -> Page {
    let records: Vec<Record> = (0..table.configurations.len()).map(|_| sample_record(2)).collect();
    let records: Vec<Option<&Record>> = records.iter().map(Some).collect();
    comparison_page(table, &records, &["compare".to_owned(), HOSTILE.to_owned()])
}

fn html(table: &ComparisonTable) -> String {
    page(table).html()
}

/// All of it in 80 columns.
fn terminal(table: &ComparisonTable) -> String {
    page(table).terminal(Terminal::default(), true)
}

fn csv(table: &ComparisonTable) -> String {
    let tables = page(table).csv();
    tables.into_iter().find(|(name, _)| *name == "tests").expect("a table with everything").1
}

#[test]
fn the_page_is_well_formed_small_and_loads_nothing() {
    let page = html(&table(1, ""));
    check_html(&page);
    assert!(page.len() < LIMIT_BYTES, "{} bytes", page.len());
    assert!(page.contains("id=\"figure-bandwidth\""), "the curves are missing");
    assert!(!page.contains("<img") && !page.contains("<link") && !page.contains("<script"));
}

#[test]
fn foreign_text_cannot_leave_its_place_in_any_form() {
    let table = table(2, HOSTILE);
    let html = html(&table);
    check_html(&html);
    assert!(!html.contains("<img") && !html.contains("<script"));
    let terminal = terminal(&table);
    let markdown = page(&table).markdown(true);
    assert!(!terminal.contains('\u{1b}') && !markdown.contains("<script") && !markdown.contains("<img"));
    assert!(!markdown.contains(" |\"'"), "a cell can be left");
    assert!(!csv(&table).contains('\u{1b}'));
}

#[test]
fn no_line_of_the_terminal_is_wider_than_asked_for() {
    for candidates in 1..=4 {
        for width_columns in [40, 80, 100] {
            let page = page(&table(candidates, " 日本語"));
            let text = page.terminal(Terminal { width_columns, colour: false }, true);
            for line in text.lines() {
                assert!(line.width() <= width_columns, "{width_columns}: {line}");
            }
        }
    }
}

#[test]
fn csv_has_as_many_fields_in_every_line() {
    let text = csv(&table(2, ""));
    let counts: Vec<usize> = text.lines().map(|line| line.split(',').count()).collect();
    assert!(counts.len() == 6 && counts.iter().all(|count| *count == counts[0]), "{counts:?}");
}

#[test]
fn single_runs_are_said_to_carry_no_interval() {
    let mut table = table(1, "");
    for row in &mut table.rows {
        (row.interval, row.a_interval, row.b_interval, row.q) = (None, None, None, None);
        row.verdict = Verdict::Inconclusive;
    }
    table.averages[0].floor_percent = None;
    let text = terminal(&table);
    let words: Vec<&str> = text.split_whitespace().collect();
    assert!(words.join(" ").contains("single runs, which allow no verdict") && !text.contains("verdict,"));
    assert!(page(&table).markdown(true).contains("no interval"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, rng_seed: RngSeed::Fixed(3), ..ProptestConfig::default() })]

    #[test]
    fn no_number_makes_a_rendering_panic_or_widens_it(
        numbers in proptest::collection::vec(prop_oneof![any::<f64>(), -300.0..1e4_f64], 40),
        candidates in 1_usize..4,
    ) {
        let mut table = table(candidates, "");
        let mut next = numbers.into_iter().cycle();
        let mut number = || next.next().unwrap_or(f64::NAN);
        for row in &mut table.rows {
            row.a = number();
            row.b = number();
            row.change_percent = number();
            row.interval = Some(Interval { low: number(), high: number() });
            row.symmetric_percent = number();
            row.margin_percent = number();
            row.q = Some(number());
        }
        for average in &mut table.averages {
            average.symmetric_percent = number();
            average.geometric_percent = number();
            average.floor_percent = Some(number());
        }
        prop_assert!(terminal(&table).lines().all(|line| line.width() <= 80));
        page(&table).markdown(true);
        csv(&table);
        check_html(&html(&table));
    }
}

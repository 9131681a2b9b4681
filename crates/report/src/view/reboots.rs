//! An experiment across reboots: the answer, row by row, every boot, and what to beware of.

use record::{BootRow, RebootOutcome};
use stats::Verdict;
use stats::text::points;

use super::experiment::{about, answer_tone, judged_rows, subject};
use crate::page::{Cell, Page, Section, Statement, Table, Tone};

/// Boots and facts on a first screen.
const BOOTS_FIRST: usize = 8;
const FACTS_FIRST: usize = 3;
/// A time to the minute: `2026-01-01T00:00`.
const MINUTE_CHARACTERS: usize = 16;

/// What is known. An experiment under way has no rows and no values: nobody should stop for what it shows.
pub fn reboots_page(found: &RebootOutcome) -> Page {
    let is_running = found.phase == "running";
    let verdicts: Vec<Verdict> = found.rows.iter().map(|row| row.row.verdict).collect();
    let tone = if is_running { Tone::Plain } else { answer_tone(&verdicts, false) };
    let notes = found.cautions.iter().chain(&found.head.notes).map(Statement::plain);
    let sections = [
        rows(found).section("").filter(|_| !is_running),
        boots(found, !is_running).section(""),
        facts(found).section("What else comes with B"),
        Section::new("notes", "").stating(notes).filled(),
    ];
    Page {
        subject: subject(&found.a, &found.b),
        answer: Statement::new(tone, &found.head.sentence),
        because: vec![Statement::faint(counts(found))],
        sections: sections.into_iter().flatten().collect(),
        about: about(found.head.seed, &found.head.tool_version, &found.head.started_utc),
        ..Page::default()
    }
}

fn counts(found: &RebootOutcome) -> String {
    let [a, b] = found.boots_counted;
    let (planned, trials) = (found.boots_planned, found.trials_per_boot);
    format!(
        "A {} ({a} of {planned} boots), B {} ({b} of {planned}); {trials} trials in each; margin {} %",
        found.a,
        found.b,
        points(found.head.margin_percent)
    )
}

fn rows(found: &RebootOutcome) -> Table {
    let spread = |percent: f64| Cell::shown(points(percent), percent);
    let rows = [found.rows.as_slice(), &found.controls];
    judged_rows([&found.a, &found.b], rows, "boots", |one: &BootRow| (&one.row, one.ratio))
        .number(("between boots", "%", 2), |(row, _)| row.between_percent.map(spread))
        .number(("within a boot", "%", 2), |(row, _)| row.within_percent.map(spread))
        .legend(
            "medians of boots; change ± distance to the end of its 95 % interval; between and within: standard deviation of \
             boots, and of trials in one",
        )
}

/// Every boot; a remark stands below the boot that it is about. Values are of the first row.
fn boots(found: &RebootOutcome, with_values: bool) -> Table {
    let first = found.rows.first().filter(|_| with_values).map(|row| &row.row);
    let value = first.map_or_else(String::new, |row| match row.unit.as_str() {
        "" => row.name.clone(),
        unit => format!("{}, {unit}", row.name),
    });
    Table::of("boots", &found.boots)
        .number("boot", |boot| boot.place)
        .word("arm", |boot| boot.arm.to_uppercase())
        .word("state", |boot| &boot.fate)
        .number("trials", |boot| boot.trials)
        .number(("dropped", 1), |boot| Some(boot.trials_dropped).filter(|dropped| *dropped > 0))
        .number((value, 1), |boot| boot.value.filter(|_| with_values))
        .word(("seen, UTC", 2), |boot| boot.seen_utc.chars().take(MINUTE_CHARACTERS).collect::<String>())
        .detail(|boot| Some(boot.remark.clone()).filter(|remark| !remark.is_empty()))
        .first(BOOTS_FIRST)
        .table()
}

fn facts(found: &RebootOutcome) -> Table {
    Table::of("facts", &found.differs_with_arm)
        .word("fact", |fact| &fact.fact)
        .prose("A", |fact| &fact.a)
        .prose("B", |fact| &fact.b)
        .first(FACTS_FIRST)
        .table()
}

#[cfg(test)]
mod tests {
    use record::{ArmFact, Better, BootSummary, ComparisonRow, DocumentHead};
    use stats::Interval;
    use unicode_width::UnicodeWidthStr;

    use super::*;
    use crate::Terminal;

    fn row(name: &str, verdict: Verdict, interval: Option<Interval>) -> BootRow {
        let row = ComparisonRow {
            name: name.to_owned(),
            group: "probe".to_owned(),
            unit: "ns".to_owned(),
            better: Better::Lower,
            candidate: "mitigations=off".to_owned(),
            a: 312.0,
            b: 104.0,
            a_interval: None,
            b_interval: None,
            change_percent: -66.7,
            interval,
            symmetric_percent: 100.0,
            verdict,
            margin_percent: 1.0,
            p: interval.map(|_| 0.008),
            q: interval.map(|_| 0.016),
            further_runs: Some(12),
            samples: [5, 5],
            paired: false,
            control: false,
            knowledge: stats::Knowledge::None,
        };
        BootRow {
            row,
            ratio: 0.333,
            ratio_interval: interval.map(|interval| interval.map(|percent| 1.0 + percent / 100.0)),
            within_percent: Some(2.1),
            between_percent: Some(0.8),
        }
    }

    fn boot(place: usize, fate: &str, remark: &str) -> BootSummary {
        BootSummary {
            place,
            arm: if place.is_multiple_of(2) { "a" } else { "b" }.to_owned(),
            seen_utc: "2026-01-01T00:00:00Z".to_owned(),
            fate: fate.to_owned(),
            remark: remark.to_owned(),
            trials: 20,
            trials_dropped: 1,
            uptime_s: Some(71.0),
            value: Some(104.3),
        }
    }

    fn outcome() -> RebootOutcome {
        let ends = Interval { low: -68.0, high: -65.0 };
        RebootOutcome {
            head: DocumentHead {
                schema: 1,
                sentence: "mitigations=off makes system-call take 66.7 % less time".to_owned(),
                notes: vec!["peak memory: left out, as it is nothing in some boots".to_owned()],
                margin_percent: 1.0,
                tool_version: "1".to_owned(),
                started_utc: "2026-01-01T00:00:00Z".to_owned(),
                seed: 42,
                elapsed_s: None,
            },
            phase: "finished".to_owned(),
            a: "mitigations=auto".to_owned(),
            b: "mitigations=off\u{1b}[31m".to_owned(),
            subject: "probes".to_owned(),
            rows: vec![
                row("system-call", Verdict::Faster, Some(ends)),
                row("a-probe-with-a-long-name", Verdict::Inconclusive, Some(ends)),
                row("pipe-round-trip", Verdict::Inconclusive, None),
            ],
            controls: vec![row("multiply-chain", Verdict::Equivalent, Some(ends))],
            boots_counted: [5, 4],
            boots_planned: 5,
            trials_per_boot: 20,
            boots: vec![
                boot(1, "counted", ""),
                boot(
                    2,
                    "not of the arm",
                    "its command line has nosmt, and so many words that this has to be wrapped",
                ),
            ],
            differs_with_arm: vec![ArmFact {
                fact: "mitigation spectre_v2".to_owned(),
                a: "Mitigation: Retpolines".to_owned(),
                b: "Vulnerable".to_owned(),
            }],
            cautions: vec![
                "1 boots with nosmt ended before their last trial and were measured anew".to_owned(),
            ],
        }
    }

    #[test]
    fn everything_stands_within_80_columns_and_nothing_steers_the_terminal() {
        let text = reboots_page(&outcome()).terminal(Terminal::default(), true);
        assert!(text.lines().all(|line| line.width() <= 80), "{text}");
        for part in [
            "auto",
            "faster",
            "undetermined",
            "no interval",
            "multiply-chain (control)",
            "not of the arm",
            "its command line has nosmt",
            "mitigation spectre_v2",
            "ended before their last trial",
            "104",
        ] {
            assert!(text.contains(part), "{part}:\n{text}");
        }
        assert!(!text.contains('\u{1b}'), "{text}");
    }

    #[test]
    fn an_experiment_under_way_shows_its_boots_and_none_of_their_values() {
        let mut running = RebootOutcome { phase: "running".to_owned(), ..outcome() };
        running.head.sentence.clear();
        let page = reboots_page(&running);
        let csv: String = page.csv().into_iter().map(|(_, csv)| csv).collect();
        for text in [page.terminal(Terminal::default(), true), page.markdown(true), csv] {
            assert!(text.contains("counted") && !text.contains("104") && !text.contains("66.7"), "{text}");
        }
    }
}

//! An experiment across reboots in the terminal: the sentence, the table, every boot, and what to beware of.

use record::{BootRow, BootSummary, RebootOutcome};

use super::experiment::{readable_unit, short, state_names};
use super::wording;
use crate::escape::plain;
use crate::number;
use crate::terminal::{Ink, Paper, Terminal, table_of};

/// Facts that come with the arm, beyond which only their number is told.
const FACTS_TOLD: usize = 6;
/// A time to the minute: `2026-01-01T00:00`.
const MINUTE_CHARACTERS: usize = 16;
/// The column of the table of boots that says what became of one.
const FATE_COLUMN: usize = 2;
/// The column that holds a value.
const VALUE_COLUMN: usize = 4;

/// Text after a prefix, wrapped to the terminal.
pub fn paragraph(prefix: &str, text: &str, terminal: Terminal) -> String {
    let mut paper = Paper::new(terminal);
    paper.wrapped(prefix, &plain(text));
    paper.finish()
}

/// All that is known.
pub fn reboots_terminal(found: &RebootOutcome, terminal: Terminal) -> String {
    let mut paper = Paper::new(terminal);
    paper.wrapped_inked(Ink::Strong, "", &plain(&found.sentence));
    paper.blank();
    if !found.rows.is_empty() || !found.controls.is_empty() {
        rows(&mut paper, found);
        paper.blank();
    }
    boots(&mut paper, found, true);
    paper.finish()
}

/// The boots and what to beware of, without any value: for an experiment under way, whose numbers nobody should act on.
pub fn reboots_brief(found: &RebootOutcome, terminal: Terminal) -> String {
    let mut paper = Paper::new(terminal);
    boots(&mut paper, found, false);
    paper.finish()
}

fn rows(paper: &mut Paper, found: &RebootOutcome) {
    let [a, b] = state_names(&found.a, &found.b).map(|name| short(&name));
    let headers = ["", &a, &b, "", "change %", "q", "verdict", "apart %"].map(str::to_owned);
    let mut table = table_of(&headers);
    for row in &found.rows {
        table.add_row(cells(row, ""));
    }
    for row in &found.controls {
        table.add_row(cells(row, " *"));
    }
    if let Some(column) = table.column_mut(3) {
        column.set_cell_alignment(comfy_table::CellAlignment::Left);
    }
    paper.table(table);
    paper.wrapped_inked(
        Ink::Faint,
        "",
        "medians of boots; change ± distance to the end of its 95 % interval; q: p over all rows; apart: standard \
         deviation of boots, and of trials within one; * control, which the arms should not touch",
    );
}

fn cells(row: &BootRow, mark: &str) -> Vec<String> {
    let one = &row.row;
    let times = match row.ratio_interval {
        Some(interval) if row.ratio >= 2.0 => format!("{:.2}x ±{:.2}", row.ratio, interval.half_width()),
        _ => wording::change(one),
    };
    let (factor, unit) = readable_unit(one);
    let spread = |percent: Option<f64>| percent.map_or_else(|| "?".to_owned(), wording::percent);
    vec![
        format!("{}{mark}", plain(&one.name)),
        number::column(one.a * factor),
        number::column(one.b * factor),
        unit,
        times,
        wording::q_value(one.q),
        wording::verdict_short(one).replace(" runs", " boots"),
        format!("{}, {}", spread(row.between_percent), spread(row.within_percent)),
    ]
}

fn boots(paper: &mut Paper, found: &RebootOutcome, with_values: bool) {
    let [a, b] = found.boots_counted;
    let planned = found.boots_planned;
    paper.wrapped_inked(
        Ink::Faint,
        "",
        &plain(&format!(
            "A {} ({a} of {planned} boots), B {} ({b} of {planned}); {} trials in each; margin {} %; seed {}",
            found.a,
            found.b,
            found.trials_per_boot,
            wording::percent(found.margin_percent),
            found.seed
        )),
    );
    if !found.boots.is_empty() {
        let first = found.rows.first().filter(|_| with_values);
        let unit = |row: &BootRow| {
            if row.row.unit.is_empty() { String::new() } else { format!(", {}", plain(&row.row.unit)) }
        };
        let first = first.map_or_else(String::new, |row| format!("{}{}", plain(&row.row.name), unit(row)));
        let mut table = table_of(&["boot", "arm", "", "trials", &first, "seen, UTC"].map(str::to_owned));
        for boot in &found.boots {
            let mut cells = boot_cells(boot);
            if !with_values {
                cells[VALUE_COLUMN].clear();
            }
            table.add_row(cells);
        }
        if let Some(column) = table.column_mut(FATE_COLUMN) {
            column.set_cell_alignment(comfy_table::CellAlignment::Left);
        }
        paper.table(table);
    }
    for (remark, places) in remarks(&found.boots) {
        let word = if places.len() == 1 { "boot" } else { "boots" };
        paper.wrapped("        ", &plain(&format!("{word} {}: {remark}", places.join(", "))));
    }
    for fact in found.differs_with_arm.iter().take(FACTS_TOLD) {
        paper.wrapped("with B  ", &plain(&format!("{}: {} instead of {}", fact.fact, fact.b, fact.a)));
    }
    let more = found.differs_with_arm.len().saturating_sub(FACTS_TOLD);
    if more > 0 {
        paper.faint(&format!("        {more} more facts came with B, in --json"));
    }
    for caution in found.cautions.iter().chain(&found.notes) {
        paper.wrapped("note    ", &plain(caution));
    }
}

/// Each remark once, with the boots that it is about.
fn remarks(boots: &[BootSummary]) -> Vec<(&str, Vec<String>)> {
    let mut found: Vec<(&str, Vec<String>)> = Vec::new();
    for boot in boots.iter().filter(|boot| !boot.remark.is_empty()) {
        match found.iter_mut().find(|(remark, _)| *remark == boot.remark) {
            Some((_, places)) => places.push(boot.place.to_string()),
            None => found.push((&boot.remark, vec![boot.place.to_string()])),
        }
    }
    found
}

fn boot_cells(boot: &BootSummary) -> Vec<String> {
    let dropped =
        if boot.trials_dropped > 0 { format!(" ({} dropped)", boot.trials_dropped) } else { String::new() };
    vec![
        boot.place.to_string(),
        boot.arm.to_uppercase(),
        boot.fate.clone(),
        format!("{}{dropped}", boot.trials),
        boot.value.map_or_else(String::new, number::column),
        plain(&boot.seen_utc.chars().take(MINUTE_CHARACTERS).collect::<String>()),
    ]
}

#[cfg(test)]
mod tests {
    use record::{ArmFact, Better, ComparisonRow};
    use stats::{Interval, Verdict};
    use unicode_width::UnicodeWidthStr;

    use super::*;

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
            schema: 1,
            phase: "finished".to_owned(),
            sentence: "mitigations=off makes system-call take 66.7 % less time".to_owned(),
            a: "mitigations=auto".to_owned(),
            b: "mitigations=off\u{1b}[31m".to_owned(),
            subject: "probes".to_owned(),
            arms_are_told: false,
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
            notes: vec!["peak memory: left out, as it is nothing in some boots".to_owned()],
            cautions: vec!["what each boot was is your word: sidestep cannot see it".to_owned()],
            margin_percent: 1.0,
            tool_version: "1".to_owned(),
            started_utc: "2026-01-01T00:00:00Z".to_owned(),
            seed: 42,
        }
    }

    #[test]
    fn everything_is_told_within_80_columns_and_nothing_steers_the_terminal() {
        let text = reboots_terminal(&outcome(), Terminal::default());
        assert!(text.lines().all(|line| line.width() <= 80), "{text}");
        for part in [
            "auto",
            "faster",
            "? 12 boots",
            "no interval",
            "multiply-chain *",
            "not of the arm",
            "20 (1 dropped)",
            "with B  mitigation spectre_v2: Vulnerable instead of",
            "note    what each boot was",
            "104",
        ] {
            assert!(text.contains(part), "{part}:\n{text}");
        }
        assert!(!text.contains('\u{1b}'), "{text}");
    }

    #[test]
    fn an_experiment_under_way_shows_its_boots_and_none_of_their_values() {
        let text = reboots_brief(&outcome(), Terminal::default());
        assert!(text.contains("counted") && !text.contains("104") && !text.contains("66.7"), "{text}");
    }
}

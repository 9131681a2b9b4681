//! An experiment across reboots in the terminal: the sentence, the table, every boot, and what to beware of.

use record::{BootRow, BootSummary, RebootOutcome};

use super::experiment::{readable_unit, short, state_names};
use super::wording;
use crate::escape::plain;
use crate::number;
use crate::terminal::{Ink, Paper, Terminal, table_of};

/// Facts that come with the arm, beyond which only their number is told.
const FACTS_TOLD: usize = 6;
/// The column of the table of boots that holds a value.
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
    let headers = ["", &a, &b, "", "change %", "q", "verdict", "boots %", "trials %"].map(str::to_owned);
    let mut table = table_of(&headers);
    for row in &found.rows {
        table.add_row(cells(row, ""));
    }
    for row in &found.controls {
        table.add_row(cells(row, " (control)"));
    }
    if let Some(column) = table.column_mut(3) {
        column.set_cell_alignment(comfy_table::CellAlignment::Left);
    }
    paper.table(table);
    paper.wrapped_inked(
        Ink::Faint,
        "",
        "medians of boots; change ± distance to the end of its 95 % interval; q: p over all rows; boots and trials: \
         standard deviation of boots, and of trials within one",
    );
}

fn cells(row: &BootRow, mark: &str) -> Vec<String> {
    let one = &row.row;
    let times = match row.ratio_interval {
        Some(interval) if row.ratio >= 2.0 => format!("{:.2}x ±{:.2}", row.ratio, interval.half_width()),
        _ => wording::change(one),
    };
    let (factor, unit) = readable_unit(one);
    let spread = |percent: Option<f64>| percent.map_or_else(String::new, wording::percent);
    vec![
        format!("{}{mark}", plain(&one.name)),
        number::column(one.a * factor),
        number::column(one.b * factor),
        unit,
        times,
        wording::q_value(one.q),
        wording::verdict_short(one).replace(" runs", " boots"),
        spread(row.between_percent),
        spread(row.within_percent),
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
        let first = first.map_or_else(String::new, |row| plain(&row.row.name));
        let mut table = table_of(&["boot", "arm", "", "trials", &first, "seen"].map(str::to_owned));
        for boot in &found.boots {
            let mut cells = boot_cells(boot);
            if !with_values {
                cells[VALUE_COLUMN].clear();
            }
            table.add_row(cells);
        }
        paper.table(table);
    }
    for boot in found.boots.iter().filter(|boot| !boot.remark.is_empty()) {
        paper.wrapped(&format!("boot {}  ", boot.place), &plain(&format!("{}: {}", boot.fate, boot.remark)));
    }
    for fact in found.differs_with_arm.iter().take(FACTS_TOLD) {
        paper.wrapped("with B  ", &plain(&format!("{}: {} instead of {}", fact.fact, fact.b, fact.a)));
    }
    let more = found.differs_with_arm.len().saturating_sub(FACTS_TOLD);
    if more > 0 {
        paper.faint(&format!("        {more} more facts came with B, in --json"));
    }
    for caution in &found.cautions {
        paper.wrapped("note    ", &plain(caution));
    }
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
        plain(&boot.seen_utc),
    ]
}

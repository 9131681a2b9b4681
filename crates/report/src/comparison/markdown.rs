//! A comparison as Markdown, for tickets and pull requests.

use std::fmt::Write;

use record::{ComparisonRow, ComparisonTable};

use super::wording;
use crate::escape::plain;

/// The document: sentences, what differs, cautions, one table per candidate, averages, what could not be compared.
pub fn comparison_markdown(table: &ComparisonTable) -> String {
    let mut text = String::new();
    for sentence in wording::sentences(table) {
        let _ = writeln!(text, "**{}.**\n", cell(&sentence));
    }
    let listed = |text: &mut String, title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            let _ = writeln!(text, "{title}\n");
            for line in &lines {
                let _ = writeln!(text, "- {}", cell(line));
            }
            text.push('\n');
        }
    };
    listed(&mut text, "What else differs:", table.differences.iter().map(wording::fact).collect());
    let mut notes: Vec<String> = table.cautions.clone();
    notes.extend(wording::drift(table).filter(|_| !table.drift.doubtful));
    notes.extend(wording::spread_from(table).map(|spread| format!("spread {spread}")));
    listed(&mut text, "Before the numbers:", notes);
    for (index, candidate) in table.configurations.iter().enumerate() {
        if index != table.baseline {
            rows(&mut text, table, &candidate.name);
        }
    }
    averages(&mut text, table);
    listed(&mut text, "Not compared, never imputed:", wording::unmatched(table));
    format!("{}\n", text.trim_end())
}

/// Text that cannot leave its cell or line, nor become markup of HTML.
fn cell(text: &str) -> String {
    let mut escaped = String::new();
    for character in plain(text).chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '|' | '*' | '_' | '`' | '[' | '\\' => escaped.extend(['\\', character]),
            other => escaped.push(other),
        }
    }
    escaped
}

fn line(text: &mut String, cells: &[String]) {
    let _ = writeln!(text, "| {} |", cells.join(" | "));
}

fn rows(text: &mut String, table: &ComparisonTable, candidate: &str) {
    let baseline = table.configurations.get(table.baseline).map_or("", |one| one.name.as_str());
    let headers = [
        "test",
        "unit, better",
        baseline,
        candidate,
        "change",
        "95 % interval",
        "difference",
        "q",
        "verdict",
    ];
    line(text, &headers.map(cell));
    text.push_str("|---|---|--:|--:|--:|--:|--:|--:|---|\n");
    let mut group = "";
    for row in table.rows.iter().filter(|row| row.candidate == candidate) {
        if row.group != group {
            group = &row.group;
            let mut heading = vec![String::new(); headers.len()];
            heading[0] = format!("**{}**", cell(group));
            line(text, &heading);
        }
        line(text, &of_row(row));
    }
    text.push('\n');
}

fn of_row(row: &ComparisonRow) -> [String; 9] {
    [
        cell(&row.name),
        cell(&format!("{}, {}", row.unit, wording::better(row.better))),
        wording::value(row.a, row.a_interval),
        wording::value(row.b, row.b_interval),
        format!("{} %", wording::signed(row.change_percent)),
        row.interval.map_or_else(String::new, |interval| cell(&wording::interval(interval))),
        format!("{} %", wording::percent(row.symmetric_percent)),
        cell(&wording::q_value(row.q)),
        wording::verdict(row),
    ]
}

fn averages(text: &mut String, table: &ComparisonTable) {
    line(text, &["average", "of", "difference", "A/A floor", "geometric mean"].map(str::to_owned));
    text.push_str("|---|---|--:|--:|--:|\n");
    for average in &table.averages {
        line(
            text,
            &[
                cell(&wording::average_of(average)),
                cell(&average.candidate),
                format!("{} %", wording::percent(average.symmetric_percent)),
                wording::floor(average),
                cell(&wording::geometric(average)),
            ],
        );
    }
    text.push('\n');
}

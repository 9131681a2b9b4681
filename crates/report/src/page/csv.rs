//! The tables of a page as CSV, a text each: numbers with all their digits, intervals in two columns more.

use super::{Cell, Kind, Page, Table};
use crate::escape::csv_text;

impl Page {
    /// Each table's name and its CSV, in the order of the page.
    pub fn csv(&self) -> Vec<(&'static str, String)> {
        self.tables().map(|table| (table.id, of_table(table))).collect()
    }
}

fn of_table(table: &Table) -> String {
    let has_interval: Vec<bool> = (0..table.columns.len())
        .map(|index| {
            let is_wide = |cell: Option<&Cell>| matches!(cell, Some(Cell::Number { interval: Some(_), .. }));
            table.rows.iter().any(|row| is_wide(row.cells.get(index)))
        })
        .collect();
    let columns = || {
        table
            .columns
            .iter()
            .zip(&has_interval)
            .enumerate()
            .filter(|(_, (column, _))| column.kind != Kind::Bar)
    };
    let has_detail = table.rows.iter().any(|row| row.detail.is_some());
    let mut head: Vec<String> = Vec::new();
    for (_, (column, is_wide)) in columns() {
        let name = column.header().replace(", ", "_").replace(' ', "_");
        head.push(csv_text(&name));
        if *is_wide {
            head.extend(["low", "high"].map(|end| csv_text(&format!("{name}_{end}"))));
        }
    }
    head.extend(has_detail.then(|| "detail".to_owned()));
    let mut text = head.join(",") + "\n";
    for row in &table.rows {
        let mut fields: Vec<String> = Vec::new();
        for (index, (_, is_wide)) in columns() {
            let cell = &row.cells[index];
            let (field, ends) = match cell {
                Cell::Number { value, interval, .. } => (
                    digits(*value),
                    interval.map_or_else(Default::default, |interval| {
                        [digits(interval.low), digits(interval.high)]
                    }),
                ),
                cell => (csv_text(cell.words()), Default::default()),
            };
            fields.push(field);
            if *is_wide {
                fields.extend(ends);
            }
        }
        fields.extend(has_detail.then(|| csv_text(row.detail.as_deref().unwrap_or_default())));
        text += &(fields.join(",") + "\n");
    }
    text
}

/// All digits; nothing for what is no number.
fn digits(value: f64) -> String {
    if value.is_finite() { value.to_string() } else { String::new() }
}

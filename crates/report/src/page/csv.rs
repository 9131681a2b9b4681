//! The tables of a page as CSV, a text each: numbers with all their digits, intervals in two columns more.

use serde::Serialize;
use serde_json::Value;

use super::{Block, Cell, Column, Kind, Page, Row, Section, Table};
use crate::escape::csv_text;

impl Page {
    /// Each table's name and its CSV, in the order of the page.
    pub fn csv(&self) -> Vec<(&'static str, String)> {
        self.tables().map(|table| (table.id, of_table(table))).collect()
    }

    /// A page of rows alone, for programs: a field of each row for every column, empty where it has none.
    pub fn of_rows(
        id: &'static str,
        columns: &[&'static str],
        rows: impl IntoIterator<Item = impl Serialize>,
    ) -> Self {
        let cell = |value: Option<&Value>| match value {
            None | Some(Value::Null) => Cell::Empty,
            Some(Value::String(text)) => text.into(),
            Some(value) => {
                value.as_f64().map_or_else(|| value.to_string().into(), |number| Cell::shown("", number))
            }
        };
        let row = |row| {
            let row = serde_json::to_value(row).unwrap_or_default();
            Row { cells: columns.iter().map(|column| cell(row.get(column))).collect(), detail: None }
        };
        let table = Table {
            id,
            columns: columns
                .iter()
                .map(|title| Column { title: (*title).into(), ..Column::default() })
                .collect(),
            rows: rows.into_iter().map(row).collect(),
            is_data: true,
            ..Table::default()
        };
        Self { sections: vec![Section::new(id, "").with(Block::Table(table))], ..Self::default() }
    }
}

fn of_table(table: &Table) -> String {
    let has_ends = |index: usize| {
        let is_wide =
            |row: &Row| matches!(row.cells.get(index), Some(Cell::Number { interval: Some(_), .. }));
        table.rows.iter().any(is_wide)
    };
    let columns = table.columns.iter().enumerate().filter(|(_, column)| column.kind != Kind::Bar);
    let columns: Vec<(usize, bool, String)> = columns
        .map(|(index, column)| (index, has_ends(index), column.header().replace(", ", "_").replace(' ', "_")))
        .collect();
    let has_detail = table.rows.iter().any(|row| row.detail.is_some());
    let mut head: Vec<String> = Vec::new();
    for (_, is_wide, name) in &columns {
        head.push(csv_text(name));
        head.extend(
            ["low", "high"].iter().filter(|_| *is_wide).map(|end| csv_text(&format!("{name}_{end}"))),
        );
    }
    head.extend(has_detail.then(|| "detail".to_owned()));
    let mut text = head.join(",") + "\n";
    for row in &table.rows {
        let mut fields: Vec<String> = Vec::new();
        for (index, is_wide, _) in &columns {
            let (field, ends) = match &row.cells[*index] {
                Cell::Number { value, interval, .. } => {
                    (digits(*value), interval.map(|ends| [ends.low, ends.high].map(digits)))
                }
                cell => (csv_text(cell.words()), None),
            };
            fields.push(field);
            fields.extend(is_wide.then(|| ends.unwrap_or_default()).into_iter().flatten());
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

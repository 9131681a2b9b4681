//! Rows as text: NDJSON, or CSV with a line of names.

use machine::table_field;
use record::FleetTable;
use serde::Serialize;
use serde_json::Value;

/// In which form rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowForm {
    /// One JSON object a line; a column that is unknown is left out.
    Ndjson,
    /// RFC 4180; a column that is unknown is empty.
    Csv,
}

impl RowForm {
    /// The ending of its files.
    pub const fn ending(self) -> &'static str {
        match self {
            Self::Ndjson => "ndjson",
            Self::Csv => "csv",
        }
    }

    /// What stands above the rows of a table.
    pub fn head(self, table: FleetTable) -> String {
        match self {
            Self::Ndjson => String::new(),
            Self::Csv => table.columns().collect::<Vec<_>>().join(",") + "\n",
        }
    }

    /// A line for each row.
    ///
    /// # Errors
    /// A row that is no JSON.
    pub fn lines(
        self,
        table: FleetTable,
        rows: impl IntoIterator<Item = impl Serialize>,
    ) -> serde_json::Result<Vec<u8>> {
        let mut lines = Vec::new();
        for row in rows {
            match self {
                Self::Ndjson => serde_json::to_writer(&mut lines, &row)?,
                Self::Csv => {
                    let row = serde_json::to_value(row)?;
                    let fields = table.columns().map(|column| field(row.get(column)));
                    lines.extend(fields.collect::<Vec<String>>().join(",").into_bytes());
                }
            }
            lines.push(b'\n');
        }
        Ok(lines)
    }
}

fn field(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) if text.is_empty() => "\"\"".to_owned(),
        Some(Value::String(text)) => table_field(text),
        Some(other) => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use record::{MetricRow, UnreadFile};

    use super::*;

    #[test]
    fn columns_are_those_of_the_schemas() {
        for table in FleetTable::ALL {
            let file = format!("{}/../../docs/fleet-{table}.schema.json", env!("CARGO_MANIFEST_DIR"));
            let schema: Value =
                serde_json::from_slice(&std::fs::read(file).expect("a schema")).expect("JSON");
            let properties = schema["properties"].as_object().expect("columns");
            let mut columns = table.columns().collect::<Vec<_>>();
            columns.sort_unstable();
            assert!(properties.keys().eq(columns), "{table}");
        }
    }

    #[test]
    fn a_row_of_csv_has_a_field_for_each_column_and_hostile_text_stays_in_its_field() {
        let row = MetricRow { node: "a,\"b\"\n".to_owned(), estimate: 1.5, ..MetricRow::default() };
        let lines = RowForm::Csv.lines(FleetTable::Metrics, [&row]).expect("JSON");
        let text = RowForm::Csv.head(FleetTable::Metrics) + &String::from_utf8(lines).expect("UTF-8");
        let read = crate::inventory::Inventory::parse(&text).expect("it has nodes");
        assert_eq!(read.columns.len() + 1, FleetTable::Metrics.columns().count());
        let of = |column: &str| read.nodes[0].1[read.column(column).expect("a column")].as_deref();
        assert_eq!((read.nodes.len(), of("estimate"), of("ci_lo")), (1, Some("1.5"), None));
        let unread = UnreadFile { file: "a".to_owned(), reason: "x, y".to_owned() };
        let lines = RowForm::Csv.lines(FleetTable::Unread, [unread]).expect("JSON");
        assert_eq!(lines, b"a,\"x, y\"\n");
        let unread = UnreadFile { file: "=1+1".to_owned(), reason: "@a, b".to_owned() };
        let lines = RowForm::Csv.lines(FleetTable::Unread, [unread]).expect("JSON");
        assert_eq!(lines, b"'=1+1,\"'@a, b\"\n", "no formula");
    }
}

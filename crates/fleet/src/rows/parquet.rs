//! The SQL that makes Parquet of rows: a file of `sql/` with the paths of one folder in it as literals.

use std::path::Path;

use record::FleetTable;

use crate::sql;

const SCRIPT: &str = include_str!("../../sql/rows-to-parquet.sql");
/// Tables that are worth it.
pub const AS_PARQUET: [FleetTable; 3] = [FleetTable::Metrics, FleetTable::Nodes, FleetTable::States];

/// The script for the rows in a folder; each file gets `ending` behind its name, for whoever renames them when all are whole.
pub fn to_parquet(folder: &Path, ending: &str) -> String {
    let values = AS_PARQUET.into_iter().flat_map(|table| {
        let rows = folder.join(format!("{table}.ndjson"));
        let parquet = folder.join(format!("{table}.parquet{ending}"));
        [
            (table.to_string(), sql::path(&rows)),
            (format!("{table}_parquet"), sql::text(&parquet.to_string_lossy())),
        ]
    });
    let values: Vec<(String, String)> = values.collect();
    let named: Vec<(&str, String)> =
        values.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
    sql::filled(SCRIPT, &named)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn every_column_of_every_schema_has_its_type_and_there_are_no_others() {
        let script = to_parquet(Path::new("rows"), "");
        for table in AS_PARQUET {
            let file = format!("{}/../../docs/fleet-{table}.schema.json", env!("CARGO_MANIFEST_DIR"));
            let schema: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
            let columns = schema["properties"].as_object().expect("columns");
            let part = script.split("copy (").find(|part| part.contains(&format!("'rows/{table}.ndjson'")));
            let part = part.expect("each table is copied");
            for (column, about) in columns {
                let kind = match &about["type"] {
                    Value::Array(kinds) => kinds[0].as_str(),
                    kind => kind.as_str(),
                };
                let expected = match kind {
                    Some("integer") => "BIGINT",
                    Some("number") => "DOUBLE",
                    Some("boolean") => "BOOLEAN",
                    // Words of an enum stand behind a reference.
                    Some("string") | None => "VARCHAR",
                    other => panic!("{column}: {other:?}"),
                };
                assert!(part.contains(&format!("{column}: '{expected}'")), "{table}.{column}: {expected}");
            }
            assert_eq!(part.matches(": '").count(), columns.len(), "{part}");
        }
    }

    #[test]
    fn a_folder_s_name_cannot_leave_its_literal_nor_match_other_folders() {
        let script = to_parquet(Path::new("a'; drop table x; --/*"), ".tmp");
        assert!(script.contains("read_json('a''; drop table x; --/[*]/metrics.ndjson'"), "{script}");
        assert!(script.contains("to 'a''; drop table x; --/*/states.parquet.tmp'"), "{script}");
        assert!(!script.contains("{metrics}") && !script.contains("_parquet}"), "{script}");
    }
}

//! Every document that sidestep prints is known by its fields, and no record is taken for another document.

use std::path::Path;

use record::own_document;
use serde_json::Value;

/// Rows of NDJSON, the record itself, and a part of the document of `place`: none is printed alone.
const OTHERS: [&str; 6] =
    ["sharing", "record", "fleet-metrics", "fleet-nodes", "fleet-states", "fleet-unread"];

#[test]
fn every_document_with_a_schema_is_known_by_its_fields() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).expect("documents") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        let Some(kind) = name.strip_suffix(".schema.json") else { continue };
        let schema: Value = serde_json::from_slice(&std::fs::read(&path).expect("readable")).expect("JSON");
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        let fields: Vec<String> = if required.len() > 1 {
            required.iter().filter_map(|field| field.as_str().map(str::to_owned)).collect()
        } else {
            schema["properties"].as_object().expect("fields").keys().cloned().collect()
        };
        let command = own_document(&fields);
        assert_eq!(command.is_none(), OTHERS.contains(&kind), "{kind}: {command:?} of {fields:?}");
        let first = kind.split('-').next().unwrap_or_default();
        let first = match first {
            "capture" => "machine",
            "comparison" => "compare",
            "experiment" | "reboots" => "ab",
            other => other,
        };
        let is_of_that = command.is_none_or(|command| command.starts_with(first));
        assert!(is_of_that, "{kind} is taken for {command:?}");
        seen += 1;
    }
    assert!(seen > 40, "{seen}");
}

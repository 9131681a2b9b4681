//! The committed JSON Schemas of docs are those that the types define; `UPDATE_EXPECT=1` writes them anew (`cargo xtask schema`).
//!
//! Types have schemas only with the feature `schema` of their crates, which this test asks for and the program is built without.
//! `cargo xtask test` holds a fresh document of each against them.

mod documents;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The folder of the committed schemas.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

#[test]
fn the_committed_schemas_are_up_to_date() {
    const ENDING: &str = ".schema.json";
    let all = documents::all();
    for (name, schema) in &all {
        let path = folder().join(format!("{name}{ENDING}"));
        let text = serde_json::to_string_pretty(schema).unwrap() + "\n";
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(committed == text, "{name}: run cargo xtask schema, and read the difference");
    }
    let names: BTreeSet<String> = all.iter().map(|(name, _)| format!("{name}{ENDING}")).collect();
    let files = std::fs::read_dir(folder()).unwrap();
    let files = files.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let files: BTreeSet<String> = files.filter(|name| name.ends_with(ENDING)).collect();
    assert_eq!(files, names, "files in docs, and documents");
}

#[test]
fn every_schema_has_a_name_of_its_own_and_is_described() {
    let all = documents::all();
    let ids: BTreeSet<&str> = all.iter().filter_map(|(_, schema)| schema["$id"].as_str()).collect();
    assert!(ids.iter().all(|id| id.starts_with("urn:sidestep:schema:")), "{ids:?}");
    assert_eq!(ids.len(), all.len());
    for (name, schema) in &all {
        assert!(schema["title"].is_string() && schema["description"].is_string(), "{name}");
    }
}

//! The committed JSON Schemas are those the types define, and what sidestep writes obeys them.

use serde_json::json;
use xtask::cargo::root;
use xtask::schema::{all, breaches, check_text, committed, generated};

#[test]
fn the_committed_schemas_are_up_to_date() {
    for (name, schema) in all() {
        let committed = committed(name).expect("the schema is committed");
        assert!(committed == schema, "{name}: run cargo xtask schema, and read the difference");
    }
}

#[test]
fn an_empty_record_obeys_the_schema_and_a_broken_one_does_not() {
    let schema = generated("record").expect("records have a schema");
    let mut document = serde_json::to_value(record::Record::default()).expect("a record is JSON");
    assert_eq!(breaches(&schema, &document), [""; 0]);
    document["elapsed_s"] = json!("soon");
    assert_eq!(breaches(&schema, &document).len(), 1);
}

#[test]
fn the_comparison_in_the_transcript_obeys_its_schema() {
    let transcript = std::fs::read_to_string(root().join("tests/cli/compare-phenom-json.txt"))
        .expect("the transcript is committed");
    let (from, to) = (transcript.find('{').expect("JSON"), transcript.rfind('}').expect("JSON"));
    let totals = check_text("comparison", &transcript.as_bytes()[from..=to]).expect("JSON");
    assert_eq!((totals.passed, totals.failed), (1, 0), "{}", totals.closing());
}

#[test]
fn every_schema_has_a_name_of_its_own_and_is_described() {
    let ids: Vec<String> = all().iter().map(|(_, schema)| schema["$id"].to_string()).collect();
    assert!(ids.iter().all(|id| id.starts_with("\"urn:sidestep:schema:")), "{ids:?}");
    assert_eq!(ids.iter().collect::<std::collections::BTreeSet<_>>().len(), ids.len());
    for (name, schema) in all() {
        assert!(schema["title"].is_string() && schema["description"].is_string(), "{name}");
    }
}

#[test]
fn a_member_that_no_schema_names_is_a_breach() {
    let schema = generated("capture").expect("it has a schema");
    let mut document = json!({
        "schema": 1, "file": "x", "bytes": 1, "files": 1, "cpus": 1, "cpus_with_registers": 0,
    });
    assert_eq!(breaches(&schema, &document), [""; 0]);
    document["more"] = json!(1);
    assert_eq!(breaches(&schema, &document).len(), 1);
    let schema = generated("comparison").expect("it has a schema");
    assert_eq!(
        breaches(&schema, &json!({ "novel": 1 })).iter().filter(|one| one.contains("novel")).count(),
        1
    );
}

#[test]
fn a_document_without_schema_is_an_error_that_names_those_with_one() {
    let error = generated("novel").expect_err("there is none").to_string();
    assert!(error.contains("novel") && error.contains("comparison"), "{error}");
}

//! The committed JSON Schema is the one the types define, and what sidestep writes obeys it.

use serde_json::json;
use xtask::schema::{breaches, committed, generated};

#[test]
fn the_committed_schema_is_up_to_date() {
    let committed = committed().expect("the schema is committed");
    assert!(committed == generated(), "run cargo xtask schema, and read the difference");
}

#[test]
fn an_empty_record_obeys_the_schema_and_a_broken_one_does_not() {
    let schema = generated();
    let mut document = serde_json::to_value(record::Record::default()).expect("a record is JSON");
    assert_eq!(breaches(&schema, &document), [""; 0]);
    document["elapsed_s"] = json!("soon");
    assert_eq!(breaches(&schema, &document).len(), 1);
}

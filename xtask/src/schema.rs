//! `cargo xtask schema`: the JSON Schema of each document that sidestep writes, made from the types that define it, and
//! held against real documents.

mod documents;
mod fresh;

use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::{Map, Value};

use crate::cargo;
use crate::totals::Totals;

pub use fresh::check as check_fresh;

/// Rewrite the committed JSON Schemas, or hold documents against them
///
/// Writes docs/NAME.schema.json anew from the types, for every document that --json prints, and says which changed. Read the difference
/// before committing it: a field that changes its meaning raises the number of its document.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Instead, hold fresh documents of the release binary against the committed schemas
    #[arg(long, conflicts_with = "check")]
    fresh: bool,
    /// Instead, hold a document (JSON) against a committed schema
    #[arg(long, value_name = "FILE")]
    check: Option<PathBuf>,
    /// Which schema that is
    #[arg(long = "as", value_name = "NAME", default_value = "record")]
    name: String,
}

/// The folder of the committed schemas, from the repository's root.
const COMMITTED: &str = "docs";
/// Breaches shown of one document; the first few say what is wrong.
const BREACHES_SHOWN: usize = 20;

/// `cargo xtask schema`.
pub fn run(arguments: &Arguments) -> anyhow::Result<Totals> {
    if arguments.fresh {
        return check_fresh();
    }
    if let Some(document) = &arguments.check {
        return check_file(&arguments.name, document);
    }
    let mut totals = Totals::default();
    for (name, schema) in all() {
        let changed = committed(name).ok().as_ref() != Some(&schema);
        let mut text = serde_json::to_string_pretty(&schema).context("cannot write the schema as text")?;
        text.push('\n');
        let path = path(name);
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        println!("{name}: {}", if changed { "changed, read the difference" } else { "was up to date" });
        totals.add(Totals::one_passed());
    }
    Ok(totals)
}

/// Every document that `--json` prints, by name, with its schema as the types are now.
pub fn all() -> Vec<(&'static str, Value)> {
    documents::all()
}

/// The schema of the document of this name as the types are now.
///
/// # Errors
/// There is no such document.
pub fn generated(name: &str) -> anyhow::Result<Value> {
    let (mut schemas, names): (Vec<_>, Vec<_>) = (all(), all().iter().map(|(name, _)| *name).collect());
    let place = schemas.iter().position(|(other, _)| *other == name);
    place
        .map(|place| schemas.swap_remove(place).1)
        .with_context(|| format!("no document is called {name}; there are {}", names.join(", ")))
}

/// The schema of the document of this name as it is committed.
///
/// # Errors
/// It is not there, or is not JSON.
pub fn committed(name: &str) -> anyhow::Result<Value> {
    let path = path(name);
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{} is not JSON", path.display()))
}

/// Holds the JSON document in `file` against the committed schema of this name.
///
/// # Errors
/// One of them cannot be read.
pub fn check_file(name: &str, file: &Path) -> anyhow::Result<Totals> {
    let text = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    check_text(name, &text).with_context(|| format!("of {}", file.display()))
}

/// Holds the JSON document in `text` against the committed schema of this name.
///
/// # Errors
/// The text is not JSON, or there is no such schema.
pub fn check_text(name: &str, text: &[u8]) -> anyhow::Result<Totals> {
    let document = serde_json::from_slice(text).context("the document is not JSON")?;
    let breaches = breaches(&committed(name)?, &document);
    let mut totals = Totals::default();
    for breach in breaches.iter().take(BREACHES_SHOWN) {
        totals.add(Totals::one_failed(format!("schema of the {name}: {breach}")));
    }
    Ok(if breaches.is_empty() { Totals::one_passed() } else { totals })
}

/// What in `document` is not as `schema` says, by place. A member that the schema does not name is a breach as well, unless the schema
/// says that any may stand there.
///
/// # Panics
/// Where the schema is none: it is made from types.
pub fn breaches(schema: &Value, document: &Value) -> Vec<String> {
    let mut strict = schema.clone();
    close(&mut strict, schema);
    let validator = jsonschema::validator_for(&strict).expect("a schema that was made from types is one");
    validator.iter_errors(document).map(|breach| format!("${}: {breach}", breach.instance_path())).collect()
}

/// Forbids members that are not named, wherever a value of its own stands. Parts of one value, such as the forms of `oneOf` and what
/// `$ref` leads to, name its members together, so these stay open.
fn close(schema: &mut Value, root: &Value) {
    let names = names_members(schema, root);
    let Some(rules) = schema.as_object_mut() else { return };
    if names {
        rules.insert("unevaluatedProperties".to_owned(), false.into());
    }
    close_within(rules, root);
}

/// The same for what stands in a value.
fn close_within(rules: &mut Map<String, Value>, root: &Value) {
    for (keyword, rule) in rules {
        match keyword.as_str() {
            "properties" => {
                rule.as_object_mut().into_iter().flatten().for_each(|(_, rule)| close(rule, root));
            }
            "prefixItems" => rule.as_array_mut().into_iter().flatten().for_each(|rule| close(rule, root)),
            "items" | "additionalProperties" => close(rule, root),
            "$defs" => {
                let parts = rule.as_object_mut().into_iter().flatten().map(|(_, part)| part);
                parts.filter_map(Value::as_object_mut).for_each(|part| close_within(part, root));
            }
            "allOf" | "anyOf" | "oneOf" => {
                let parts = rule.as_array_mut().into_iter().flatten();
                parts.filter_map(Value::as_object_mut).for_each(|part| close_within(part, root));
            }
            _ => {}
        }
    }
}

/// Whether a schema, or a part of it, names members.
fn names_members(schema: &Value, root: &Value) -> bool {
    let parts = ["allOf", "anyOf", "oneOf"].into_iter().filter_map(|keyword| schema[keyword].as_array());
    let reference = schema["$ref"].as_str().and_then(|to| root.pointer(to.trim_start_matches('#')));
    schema["properties"].as_object().is_some_and(|members| !members.is_empty())
        || parts.flatten().chain(reference).any(|part| names_members(part, root))
}

fn path(name: &str) -> PathBuf {
    cargo::root().join(COMMITTED).join(format!("{name}.schema.json"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_keyword_accepts_the_good_and_names_the_bad() {
        let rows = [
            (json!({"type": "integer"}), json!(3), json!(3.5)),
            (json!({"type": ["string", "null"]}), json!(null), json!(1)),
            (json!({"enum": ["a", "b"]}), json!("b"), json!("c")),
            (json!({"anyOf": [{"type": "null"}, {"minimum": 1}]}), json!(2), json!(0)),
            (json!({"properties": {"a": {"type": "string"}}}), json!({"a": "x"}), json!({"a": 1})),
            (json!({"required": ["a"]}), json!({"a": 1}), json!({})),
            (
                json!({"properties": {"a": true}, "additionalProperties": false}),
                json!({"a": 1}),
                json!({"b": 1}),
            ),
            (json!({"items": {"type": "number"}}), json!([1, 2]), json!([1, "x"])),
            (json!({"$ref": "#/$defs/N", "$defs": {"N": {"type": "number"}}}), json!(1), json!("x")),
        ];
        for (schema, good, bad) in rows {
            assert_eq!(breaches(&schema, &good), [""; 0], "{schema}");
            assert!(!breaches(&schema, &bad).is_empty(), "{schema}");
        }
    }

    #[test]
    fn a_member_is_named_by_any_part_of_its_schema_and_no_other_may_stand() {
        let schema = json!({
            "properties": {"a": true},
            "oneOf": [{"$ref": "#/$defs/B", "properties": {"kind": {"const": "b"}}}, {"required": ["c"]}],
            "$defs": {"B": {"properties": {"b": {"properties": {"x": true}}}, "required": ["b"]}},
        });
        let breaches = |document| breaches(&schema, &document);
        assert_eq!(breaches(json!({"a": 1, "b": {"x": 1}, "kind": "b"})), [""; 0]);
        let strange = breaches(json!({"b": {}, "kind": "b", "z": 1}));
        assert!(strange.len() == 1 && strange[0].contains("'z'"), "{strange:?}");
        let within = breaches(json!({"b": {"y": 1}, "kind": "b"}));
        assert!(!within.is_empty());
        let free = json!({"properties": {"a": {"type": "object"}}});
        assert_eq!(super::breaches(&free, &json!({"a": {"any": 1}})), [""; 0]);
    }

    #[test]
    fn a_breach_says_where() {
        let schema = json!({"properties": {"a": {"items": {"type": "string"}}}});
        let found = breaches(&schema, &json!({"a": ["x", 1]}));
        assert!(found.iter().any(|line| line.starts_with("$/a/1: ")), "{found:?}");
    }
}

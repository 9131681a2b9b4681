//! JSON documents held against the committed JSON Schemas in docs, by the keywords that these use.
//!
//! The schemas are made from the types by a test of the crate cli (`crates/cli/tests/all/schemas`), as only product crates have these types;
//! `cargo xtask schema` has it write them. A keyword that is not known here is a breach: none goes unchecked.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Context;
use serde_json::Value;

use crate::cargo;
use crate::totals::Totals;

/// Breaches shown of one document; the first few say what is wrong.
const BREACHES_SHOWN: usize = 20;

/// The test that makes them.
const TEST: &str = "the_committed_schemas_are_up_to_date";

/// `cargo xtask schema`.
///
/// # Errors
/// cargo cannot be started.
pub fn rewrite() -> anyhow::Result<Totals> {
    let mut test = cargo::cargo(&format!("test --quiet --package cli --test all {TEST}"));
    let passed = cargo::succeeds(test.env("UPDATE_EXPECT", "1"))?;
    Ok(Totals::one(passed, "schema: the schemas cannot be written; see above"))
}

/// Names of the documents that have a committed schema.
///
/// # Errors
/// The folder cannot be read.
pub fn names() -> anyhow::Result<BTreeSet<String>> {
    let entries = std::fs::read_dir(cargo::root().join("docs")).context("cannot list docs")?;
    let names = entries.filter_map(Result::ok).map(|entry| entry.file_name().to_string_lossy().into_owned());
    Ok(names.filter_map(|name| Some(name.strip_suffix(".schema.json")?.to_owned())).collect())
}

/// Holds the JSON document in `file` against the committed schema of this name.
///
/// # Errors
/// One of them cannot be read.
pub fn check_file(name: &str, file: &Path) -> anyhow::Result<Totals> {
    let text = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let document =
        serde_json::from_slice(&text).with_context(|| format!("{} is not JSON", file.display()))?;
    check(name, &document)
}

/// Holds a document against the committed schema of this name.
///
/// # Errors
/// There is no such schema.
pub fn check(name: &str, document: &Value) -> anyhow::Result<Totals> {
    let path = cargo::root().join(format!("docs/{name}.schema.json"));
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let schema = serde_json::from_str(&text).with_context(|| format!("{} is not JSON", path.display()))?;
    let mut totals = Totals::default();
    for breach in breaches(&schema, document).iter().take(BREACHES_SHOWN) {
        totals.add(Totals::one_failed(format!("schema of the {name}: {breach}")));
    }
    Ok(if totals.failed == 0 { Totals::one_passed() } else { totals })
}

/// What in `document` is not as `schema` says, by place. A member that no part of the schema names is a breach as well, unless the schema
/// says that any may stand there.
pub fn breaches(schema: &Value, document: &Value) -> Vec<String> {
    Root(schema).value(schema, document, "$")
}

/// The schema to which references lead.
struct Root<'a>(&'a Value);

impl<'a> Root<'a> {
    /// A value of its own: by all rules, and without members that none of them names.
    fn value(&self, schema: &Value, value: &Value, place: &str) -> Vec<String> {
        let mut found = self.part(schema, value, place);
        let (mut named, mut is_open) = (BTreeSet::new(), false);
        self.members(schema, &mut named, &mut is_open);
        if !is_open && !named.is_empty() {
            let strange =
                value.as_object().into_iter().flatten().filter(|(name, _)| !named.contains(name.as_str()));
            found.extend(strange.map(|(name, _)| format!("{place}: '{name}' is not named by the schema")));
        }
        found
    }

    /// All parts of a schema that are about one value: itself, what it refers to, and its alternatives.
    fn members<'s>(&'s self, schema: &'s Value, named: &mut BTreeSet<&'s str>, is_open: &mut bool) {
        named.extend(schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name.as_str()));
        *is_open |= schema.get("additionalProperties").is_some_and(|rule| *rule != Value::Bool(false));
        let parts = ["allOf", "anyOf", "oneOf"].iter().filter_map(|keyword| schema[*keyword].as_array());
        for part in parts.flatten().chain(self.target(&schema["$ref"])) {
            self.members(part, named, is_open);
        }
    }

    fn target(&self, reference: &Value) -> Option<&'a Value> {
        self.0.pointer(reference.as_str()?.strip_prefix('#')?)
    }

    /// One part of the rules for a value.
    fn part(&self, schema: &Value, value: &Value, place: &str) -> Vec<String> {
        let rules = schema.as_object().into_iter().flatten();
        let found = rules.flat_map(|(keyword, rule)| self.keyword(schema, (keyword, rule), value, place));
        found
            .chain((*schema == Value::Bool(false)).then(|| format!("{place}: nothing may stand here")))
            .collect()
    }

    fn keyword(
        &self,
        schema: &Value,
        (keyword, rule): (&str, &Value),
        value: &Value,
        place: &str,
    ) -> Vec<String> {
        let parts = || rule.as_array().into_iter().flatten();
        let members = || value.as_object().into_iter().flatten();
        let items = || value.as_array().into_iter().flatten().enumerate();
        let first = schema["prefixItems"].as_array().map_or(0, Vec::len);
        let at = |name: &dyn std::fmt::Display| format!("{place}/{name}");
        match keyword {
            "$schema" | "$id" | "$defs" | "title" | "description" | "format" | "default" | "examples" => {
                vec![]
            }
            "required" => {
                let is_there = |name: &Value| value.get(name.as_str().unwrap_or("")).is_some();
                let missing = parts().filter(|name| value.is_object() && !is_there(name));
                missing.map(|name| format!("{place}: {name} is required")).collect()
            }
            "properties" => {
                let present = members().filter_map(|(name, member)| Some((name, member, rule.get(name)?)));
                present.flat_map(|(name, member, rule)| self.value(rule, member, &at(name))).collect()
            }
            "additionalProperties" => {
                let others = members().filter(|(name, _)| schema["properties"].get(name.as_str()).is_none());
                others.flat_map(|(name, member)| self.value(rule, member, &at(name))).collect()
            }
            "prefixItems" => items()
                .take(first)
                .flat_map(|(index, item)| self.value(&rule[index], item, &at(&index)))
                .collect(),
            "items" => {
                items().skip(first).flat_map(|(index, item)| self.value(rule, item, &at(&index))).collect()
            }
            "$ref" => self.target(rule).map_or_else(
                || vec![format!("{place}: the schema refers to {rule}, which it does not have")],
                |target| self.part(target, value, place),
            ),
            "allOf" => parts().flat_map(|part| self.part(part, value, place)).collect(),
            "anyOf" | "oneOf" => {
                let tries = parts().map(|part| self.part(part, value, place));
                tries.min_by_key(Vec::len).unwrap_or_default()
            }
            _ => match holds(keyword, rule, value) {
                None => vec![format!("{place}: the schema has the keyword {keyword}, which is not checked")],
                Some(true) => vec![],
                Some(false) => vec![format!("{place}: not {keyword} {rule}")],
            },
        }
    }
}

/// Whether a value obeys a keyword that is about itself alone; `None` of another keyword.
fn holds(keyword: &str, rule: &Value, value: &Value) -> Option<bool> {
    let words = || rule.as_array().into_iter().flatten();
    let items = value.as_array();
    let number = |is_within: fn(&f64, &f64) -> bool| {
        value.as_f64().zip(rule.as_f64()).is_none_or(|(value, limit)| is_within(&value, &limit))
    };
    let count = |is_within: fn(&u64, &u64) -> bool| {
        items.zip(rule.as_u64()).is_none_or(|(items, limit)| is_within(&(items.len() as u64), &limit))
    };
    Some(match keyword {
        "type" => words().chain([rule]).any(|one| is_of(value, one.as_str().unwrap_or(""))),
        "enum" => words().any(|one| one == value),
        "const" => rule == value,
        "minimum" => number(f64::ge),
        "maximum" => number(f64::le),
        "minItems" => count(u64::ge),
        "maxItems" => count(u64::le),
        "uniqueItems" => items.is_none_or(|items| {
            items.len() == items.iter().map(Value::to_string).collect::<BTreeSet<_>>().len()
        }),
        _ => return None,
    })
}

/// Whether a value is of a type as JSON Schema names it.
fn is_of(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    }
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
    fn a_keyword_that_is_not_known_is_a_breach() {
        assert_eq!(breaches(&json!({"not": {}}), &json!(1)).len(), 1);
    }

    #[test]
    fn the_comparison_in_the_transcript_obeys_its_schema() {
        let file = cargo::root().join("tests/cli/compare-phenom-json.txt");
        let transcript = std::fs::read_to_string(file).expect("the transcript is committed");
        let (from, to) = (transcript.find('{').expect("JSON"), transcript.rfind('}').expect("JSON"));
        let document = serde_json::from_str(&transcript[from..=to]).expect("JSON");
        let totals = check("comparison", &document).expect("there is a schema");
        assert_eq!((totals.passed, totals.failed), (1, 0), "{}", totals.closing());
    }

    #[test]
    fn a_breach_says_where() {
        let schema = json!({"properties": {"a": {"items": {"type": "string"}}}});
        let found = breaches(&schema, &json!({"a": ["x", 1]}));
        assert!(found.iter().any(|line| line.starts_with("$/a/1: ")), "{found:?}");
    }
}

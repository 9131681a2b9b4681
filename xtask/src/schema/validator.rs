//! A validator for the part of JSON Schema (draft 2020-12) that `schemars` writes for the record.
//!
//! A keyword it does not know is a breach of its own, so that a schema that grows is not silently half-checked.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// Keywords that describe and do not constrain.
const DESCRIBING: &[&str] =
    &["$schema", "$id", "$defs", "title", "description", "default", "format", "deprecated"];

/// Validates documents against one schema.
pub(super) struct Validator<'s> {
    root: &'s Value,
}

impl<'s> Validator<'s> {
    /// A validator for the schema whose references start at `root`.
    pub(super) fn new(root: &'s Value) -> Self {
        Self { root }
    }

    /// What is wrong in `document`, each with its place.
    pub(super) fn breaches(&self, document: &Value) -> Vec<String> {
        let mut found = Vec::new();
        self.check(self.root, document, "$", &mut found);
        found
    }

    /// Holds a value against all that a schema says, and every member of an object against what it names.
    fn check(&self, schema: &'s Value, value: &Value, place: &str, found: &mut Vec<String>) {
        self.check_rules(schema, value, place, found);
        let Some(members) = value.as_object() else { return };
        let Some(named) = self.named(schema).filter(|named| !named.is_empty()) else { return };
        for name in members.keys().filter(|name| !named.contains(name.as_str())) {
            found.push(format!("{place}.{name}: the schema does not name it"));
        }
    }

    /// The members that a schema names, itself or by the schemas that it is put together of; none if others may stand there.
    fn named(&self, schema: &'s Value) -> Option<BTreeSet<&'s str>> {
        let Some(schema) = schema.as_object() else { return Some(BTreeSet::new()) };
        if schema.contains_key("additionalProperties") {
            return None;
        }
        let own = schema.get("properties").and_then(Value::as_object);
        let mut names: BTreeSet<&str> = own.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
        let reference = schema.get("$ref").and_then(|reference| self.resolve(reference));
        let forms = ["allOf", "anyOf", "oneOf"].into_iter().filter_map(|keyword| schema.get(keyword));
        for part in reference.into_iter().chain(forms.flat_map(list)) {
            names.extend(self.named(part)?);
        }
        Some(names)
    }

    fn check_rules(&self, schema: &'s Value, value: &Value, place: &str, found: &mut Vec<String>) {
        let Value::Object(schema) = schema else {
            if *schema == Value::Bool(false) {
                found.push(format!("{place}: nothing may stand here"));
            }
            return;
        };
        for (keyword, rule) in schema {
            self.check_keyword(schema, keyword, rule, value, place, found);
        }
    }

    fn check_keyword(
        &self,
        schema: &'s Map<String, Value>,
        keyword: &str,
        rule: &'s Value,
        value: &Value,
        place: &str,
        found: &mut Vec<String>,
    ) {
        match keyword {
            "$ref" => match self.resolve(rule) {
                Some(target) => self.check_rules(target, value, place, found),
                None => found.push(format!("{place}: the schema refers to {rule}, which is not there")),
            },
            "type" if !has_type(rule, value) => {
                found.push(format!("{place}: is {}, must be {rule}", shown(value)));
            }
            "const" if rule != value => found.push(format!("{place}: is {}, must be {rule}", shown(value))),
            "enum" if !list(rule).contains(value) => {
                found.push(format!("{place}: is {}, must be one of {rule}", shown(value)));
            }
            "anyOf" => self.some_of(rule, value, place, 1..=usize::MAX, found),
            "oneOf" => self.some_of(rule, value, place, 1..=1, found),
            "allOf" => list(rule).iter().for_each(|part| self.check_rules(part, value, place, found)),
            "properties" => self.properties(rule, value, place, found),
            "required" => required(rule, value, place, found),
            "additionalProperties" => self.additional(schema, rule, value, place, found),
            "items" => self.items(schema, rule, value, place, found),
            "prefixItems" => {
                for (index, (part, item)) in list(rule).iter().zip(list(value)).enumerate() {
                    self.check(part, item, &format!("{place}[{index}]"), found);
                }
            }
            "minimum" | "maximum" => bound(keyword, rule, value, place, found),
            "minItems" | "maxItems" => length(keyword, rule, value, place, found),
            "uniqueItems" if has_twins(value) => found.push(format!("{place}: an item stands twice")),
            "type" | "const" | "enum" | "uniqueItems" => {}
            _ if DESCRIBING.contains(&keyword) => {}
            _ => found.push(format!("{place}: the validator does not know {keyword}")),
        }
    }

    fn resolve(&self, reference: &Value) -> Option<&'s Value> {
        self.root.pointer(reference.as_str()?.strip_prefix('#')?)
    }

    fn holds(&self, schema: &'s Value, value: &Value) -> bool {
        let mut found = Vec::new();
        self.check_rules(schema, value, "", &mut found);
        found.is_empty()
    }

    fn some_of(
        &self,
        rule: &'s Value,
        value: &Value,
        place: &str,
        wanted: std::ops::RangeInclusive<usize>,
        found: &mut Vec<String>,
    ) {
        let count = list(rule).iter().filter(|part| self.holds(part, value)).count();
        if !wanted.contains(&count) {
            found.push(format!("{place}: {} fits {count} of {} forms", shown(value), list(rule).len()));
        }
    }

    fn properties(&self, rule: &'s Value, value: &Value, place: &str, found: &mut Vec<String>) {
        let (Some(rules), Some(members)) = (rule.as_object(), value.as_object()) else { return };
        for (name, rule) in rules {
            if let Some(member) = members.get(name) {
                self.check(rule, member, &format!("{place}.{name}"), found);
            }
        }
    }

    fn additional(
        &self,
        schema: &'s Map<String, Value>,
        rule: &'s Value,
        value: &Value,
        place: &str,
        found: &mut Vec<String>,
    ) {
        let named = schema.get("properties").and_then(Value::as_object);
        for (name, member) in value.as_object().into_iter().flatten() {
            if !named.is_some_and(|named| named.contains_key(name)) {
                self.check(rule, member, &format!("{place}.{name}"), found);
            }
        }
    }

    fn items(
        &self,
        schema: &'s Map<String, Value>,
        rule: &'s Value,
        value: &Value,
        place: &str,
        found: &mut Vec<String>,
    ) {
        let before = schema.get("prefixItems").map_or(0, |prefix| list(prefix).len());
        for (index, item) in list(value).iter().enumerate().skip(before) {
            self.check(rule, item, &format!("{place}[{index}]"), found);
        }
    }
}

fn required(rule: &Value, value: &Value, place: &str, found: &mut Vec<String>) {
    let Some(members) = value.as_object() else { return };
    for name in list(rule).iter().filter_map(Value::as_str) {
        if !members.contains_key(name) {
            found.push(format!("{place}: {name} is missing"));
        }
    }
}

fn bound(keyword: &str, rule: &Value, value: &Value, place: &str, found: &mut Vec<String>) {
    let (Some(bound), Some(number)) = (rule.as_f64(), value.as_f64()) else { return };
    let fits = if keyword == "minimum" { number >= bound } else { number <= bound };
    if !fits {
        found.push(format!("{place}: is {number}, {keyword} {bound}"));
    }
}

fn length(keyword: &str, rule: &Value, value: &Value, place: &str, found: &mut Vec<String>) {
    let (Some(bound), Some(items)) = (rule.as_u64(), value.as_array()) else { return };
    let fits = if keyword == "minItems" { items.len() as u64 >= bound } else { items.len() as u64 <= bound };
    if !fits {
        found.push(format!("{place}: has {} items, {keyword} {bound}", items.len()));
    }
}

fn has_twins(value: &Value) -> bool {
    let items = list(value);
    items.iter().enumerate().any(|(index, item)| items[..index].contains(item))
}

fn has_type(rule: &Value, value: &Value) -> bool {
    match rule {
        Value::Array(kinds) => kinds.iter().any(|kind| has_type(kind, value)),
        Value::String(kind) => match kind.as_str() {
            "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
            kind => kind == kind_of(value),
        },
        _ => false,
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A value for a message: short ones as they are, long ones by their kind.
fn shown(value: &Value) -> String {
    match value {
        Value::Array(_) | Value::Object(_) => format!("an {}", kind_of(value)),
        _ => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_keyword_accepts_the_good_and_names_the_bad() {
        let rows = [
            (json!({"type": "integer"}), json!(3), json!(3.5)),
            (json!({"type": ["string", "null"]}), json!(null), json!(1)),
            (json!({"const": "a"}), json!("a"), json!("b")),
            (json!({"enum": ["a", "b"]}), json!("b"), json!("c")),
            (json!({"anyOf": [{"type": "null"}, {"minimum": 1}]}), json!(2), json!(0)),
            (json!({"oneOf": [{"type": "string"}, {"type": "null"}]}), json!("x"), json!(1)),
            (json!({"allOf": [{"type": "number"}, {"maximum": 3}]}), json!(2), json!(4)),
            (json!({"properties": {"a": {"type": "string"}}}), json!({"a": "x"}), json!({"a": 1})),
            (json!({"required": ["a"]}), json!({"a": 1}), json!({})),
            (
                json!({"properties": {"a": true}, "additionalProperties": false}),
                json!({"a": 1}),
                json!({"b": 1}),
            ),
            (json!({"items": {"type": "number"}}), json!([1, 2]), json!([1, "x"])),
            (json!({"prefixItems": [{"type": "string"}], "items": false}), json!(["x"]), json!(["x", 1])),
            (json!({"uniqueItems": true}), json!([1, 2]), json!([1, 1])),
            (json!({"minItems": 2, "maxItems": 2}), json!([1, 2]), json!([1])),
            (json!({"$ref": "#/$defs/N", "$defs": {"N": {"type": "number"}}}), json!(1), json!("x")),
        ];
        for (schema, good, bad) in rows {
            let validator = Validator::new(&schema);
            assert_eq!(validator.breaches(&good), [""; 0], "{schema}");
            assert_eq!(validator.breaches(&bad).len(), 1, "{schema}");
        }
    }

    #[test]
    fn a_member_is_named_by_any_part_of_its_schema_and_no_other_may_stand() {
        let schema = json!({
            "properties": {"a": true},
            "oneOf": [{"$ref": "#/$defs/B", "properties": {"kind": {"const": "b"}}}, {"required": ["c"]}],
            "$defs": {"B": {"properties": {"b": {"properties": {"x": true}}}, "required": ["b"]}},
        });
        let breaches = |document| Validator::new(&schema).breaches(&document);
        assert_eq!(breaches(json!({"a": 1, "b": {"x": 1}, "kind": "b"})), [""; 0]);
        assert_eq!(breaches(json!({"b": {}, "kind": "b", "z": 1})), ["$.z: the schema does not name it"]);
        assert_eq!(breaches(json!({"b": {"y": 1}, "kind": "b"})).len(), 1);
    }

    #[test]
    fn an_unknown_keyword_and_a_broken_reference_are_named() {
        for schema in [json!({"novelty": 1}), json!({"$ref": "#/$defs/missing"})] {
            assert_eq!(Validator::new(&schema).breaches(&json!(1)).len(), 1, "{schema}");
        }
    }

    #[test]
    fn a_breach_says_where() {
        let schema = json!({"properties": {"a": {"items": {"type": "string"}}}});
        let found = Validator::new(&schema).breaches(&json!({"a": ["x", 1]}));
        assert_eq!(found, ["$.a[1]: is 1, must be \"string\""]);
    }
}

//! JSON from anywhere: its size as a tree is known before a tree is made, and documents of sidestep itself are known by their fields.
//!
//! A few kilobytes of zstd unpack to half a gigabyte of `[[],[],...`, of which each three bytes would become a hundred in memory.

use std::collections::BTreeMap;

use serde::de::IgnoredAny;
use serde_json::Value;

/// The most that a tree may take: a full run of a 256-CPU machine has some ten million numbers of 32 bytes.
const TREE_BYTES_MAX: usize = 512 << 20;
/// A number, a word or a list that holds nothing yet.
const VALUE_BYTES: usize = size_of::<Value>();
/// A map has room for eleven names and values, however few it holds: `std::collections::btree::node::CAPACITY`.
const OBJECT_BYTES: usize = 11 * (size_of::<String>() + VALUE_BYTES);

/// Why a text is no tree of values.
#[derive(Debug, thiserror::Error)]
pub enum JsonError {
    /// Not JSON, or cut off.
    #[error(transparent)]
    Broken(#[from] serde_json::Error),
    /// It would fill the memory.
    #[error("it holds more values than any document, which take more than 512 MiB; give a part of it")]
    TooLarge,
}

/// Whether a text of JSON makes a tree of bearable size.
///
/// # Errors
/// `TooLarge` if not.
pub(crate) fn bounded(json: &[u8]) -> Result<(), JsonError> {
    let mut bytes = VALUE_BYTES;
    let (mut is_quoted, mut is_escaped) = (false, false);
    for byte in json {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_quoted,
            b'"' => {
                is_quoted = !is_quoted;
                bytes += VALUE_BYTES / 2;
            }
            b',' | b'[' | b'\n' if !is_quoted => bytes += VALUE_BYTES,
            b'{' if !is_quoted => bytes += OBJECT_BYTES,
            _ => {}
        }
    }
    if bytes > TREE_BYTES_MAX { Err(JsonError::TooLarge) } else { Ok(()) }
}

/// The values that stand one behind the other in a text: one as a rule, one a line where a program wrote them as they came.
///
/// # Errors
/// `JsonError` of the first that cannot be read.
pub fn json_values(json: &[u8]) -> Result<Vec<Value>, JsonError> {
    bounded(json)?;
    Ok(serde_json::Deserializer::from_slice(json).into_iter().collect::<Result<_, _>>()?)
}

/// The names of the outermost fields of the first value; none if it is no object.
///
/// # Errors
/// `JsonError` as `json_values`.
// Only the names are of interest.
#[expect(clippy::zero_sized_map_values)]
pub fn outermost_fields(json: &[u8]) -> Result<Vec<String>, JsonError> {
    if json.trim_ascii_start().first() != Some(&b'{') {
        return Ok(Vec::new());
    }
    bounded(json)?;
    let first = serde_json::Deserializer::from_slice(json).into_iter::<BTreeMap<String, IgnoredAny>>().next();
    Ok(first.transpose()?.unwrap_or_default().into_keys().collect())
}

/// Which command of sidestep prints a document with such outermost fields; `None` for records, and for documents of others.
pub fn own_document<S: AsRef<str>>(fields: &[S]) -> Option<&'static str> {
    let has = |name: &&str| fields.iter().any(|field| field.as_ref() == *name);
    let holds = |(_, names): &&(&str, &[&str])| names.iter().all(has);
    let is_only = |of: &&(&str, &[&str])| holds(of) && has(&"schema") && fields.len() == of.1.len() + 1;
    HOLDING.iter().find(holds).or_else(|| ONLY.iter().find(is_only)).map(|(command, _)| *command)
}

/// Commands, by fields that no other document has together.
const HOLDING: &[(&str, &[&str])] = &[
    ("bill", &["boot_commands"]),
    ("ab", &["treatment"]),
    ("ab --across-reboot", &["boots_planned"]),
    ("ab --across-reboot --dry-run", &["trials", "journal", "order"]),
    ("place", &["apart_threads"]),
    ("compare", &["differences"]),
    ("compare", &["rows", "averages"]),
    ("clock check", &["remedies"]),
    ("clock cost", &["reads", "schema"]),
    ("guard check", &["alarms_per_check"]),
    ("machine", &["disagreements"]),
    ("machine", &["view", "schema"]),
    ("machine --save", &["files", "cpus_with_registers"]),
    ("sockets", &["subjects"]),
    ("sockets explain", &["degeneracy", "source", "gate"]),
    ("sockets firmware", &["graphs", "pci_roots"]),
    ("sockets infer", &["members_are", "eccentricities"]),
    ("flaws", &["evidence", "uneven", "gate"]),
    ("flaws", &["by_signature", "population"]),
    ("fleet check", &["suspects", "strata"]),
    ("fleet rows", &["ambiguous", "unread"]),
    ("history", &["machines", "entries", "trends"]),
    ("simulate", &["machine", "scenario", "rows"]),
    ("simulate", &["workaround", "boards", "strides"]),
    ("simulate", &["coherence", "hop_round_trip_ns"]),
    ("toggles revert", &["left_changed", "set_aside"]),
    ("run --plan", &["budget_s", "entries"]),
];

/// Commands, by all fields beside the schema.
const ONLY: &[(&str, &[&str])] = &[
    ("flaws list", &["flaws"]),
    ("flaws show", &["flaw", "verdict"]),
    ("flaws --vectors", &["machine", "vectors"]),
    ("flaws --for", &["machine", "advice"]),
    ("toggles", &["toggles"]),
    ("toggles show", &["toggle"]),
    ("toggles set --dry-run", &["writes", "affinities"]),
    ("toggles set", &["set", "kept"]),
    ("toggles set --for", &["results"]),
    ("toggles status", &["state", "journal"]),
    ("workloads", &["workloads", "install"]),
    ("workloads check", &["turns", "checked"]),
    ("guard init", &["runs"]),
    ("clock watch", &["at_utc", "text"]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_text_of_very_many_values_is_refused_before_it_is_a_tree() {
        for (open, each, close) in [("[", "0,", "0]"), ("[", "[],", "0]"), ("[", "{\"\":0},", "0]")] {
            let many = 1 + TREE_BYTES_MAX / if each.contains('{') { OBJECT_BYTES } else { VALUE_BYTES };
            let text = format!("{open}{}{close}", each.repeat(many));
            assert!(matches!(json_values(text.as_bytes()), Err(JsonError::TooLarge)), "{each}");
        }
        let quoted = format!("[\"{}\"]", ",[{\\\"".repeat(1 << 20));
        assert_eq!(json_values(quoted.as_bytes()).expect("one word").len(), 1);
    }

    #[test]
    fn values_one_a_line_are_all_read_and_depth_is_an_error() {
        assert_eq!(json_values(b"{\"a\":1}\n{\"b\":2}\n").expect("two lines").len(), 2);
        assert!(json_values("[".repeat(10_000).as_bytes()).is_err());
        assert_eq!(outermost_fields(b" {\"b\":[{\"c\":1}],\"a\":2}").expect("an object"), ["a", "b"]);
        assert!(outermost_fields(b"[1]").expect("a list").is_empty());
    }

    #[test]
    fn a_document_of_sidestep_is_known_by_its_fields_and_others_are_not() {
        assert_eq!(own_document(&["flaws", "schema"]), Some("flaws list"));
        assert_eq!(
            own_document(&["schema", "machine", "flaws", "uneven", "gate", "evidence"]),
            Some("flaws")
        );
        assert_eq!(own_document(&["flaws"]), None);
        assert_eq!(own_document(&["results"]), None);
        assert_eq!(own_document(&["schema", "machine", "provenance", "flaws", "plan"]), None);
    }
}

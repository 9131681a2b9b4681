//! The JSON export of the Phoronix Test Suite (`result-file-to-json`): the same results under other names.

use serde_json::Value;

use super::super::test_list::{Results, first_of};
use super::super::{Format, ImportError, Source};
use super::{Fact, add, fact_name};

pub(in super::super) const PHORONIX_EXPORT: Format = Format { word: "phoronix", is, read };

fn is(source: &Source<'_>) -> bool {
    source.document()["systems"].is_object() && source.document()["results"].is_object()
}

fn read(source: &Source<'_>, into: &mut Results) -> Result<(), ImportError> {
    for (name, system) in fields(&source.document()["systems"]) {
        let facts = ["hardware", "software", "data"].map(|list| fields(&system[list])).into_iter().flatten();
        let fact = |(name, value): (&String, &Value)| {
            Some(Fact { name: fact_name(name), value: value.as_str()?.to_owned() })
        };
        into.of(name).facts = facts.filter_map(fact).collect();
    }
    for (_, result) in fields(&source.document()["results"]) {
        let head = |name: &str| result[name.to_ascii_lowercase()].as_str().unwrap_or("").trim();
        for (name, entry) in fields(&result["results"]) {
            add(into.of(name), &head, &first_of(entry, &["all_results", "raw_values", "value"]));
        }
    }
    // A map has lost the order of the file, of which the first is the baseline.
    into.sort_by_place(source.text);
    Ok(())
}

fn fields(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

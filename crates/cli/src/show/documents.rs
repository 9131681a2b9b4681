//! Documents other than records, saved from `--json` or carried by a report, and their pages.

use anyhow::Context;
use record::{FieldError, read_document};
use report::Page;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A kind of document that can be shown again.
struct Kind {
    /// What a user calls it.
    name: &'static str,
    /// A field at its top that no other kind has.
    field: &'static str,
    /// Its page.
    page: fn(&Value) -> Result<Page, FieldError>,
}

/// Every kind whose document alone makes the page.
const KINDS: &[Kind] = &[
    Kind { name: "bill", field: "boot_commands", page: |value| page(value, report::bill_page) },
    Kind { name: "experiment", field: "treatment", page: |value| page(value, report::experiment_page) },
    Kind { name: "experiment", field: "boots_planned", page: |value| page(value, report::reboots_page) },
    Kind { name: "placement", field: "apart_threads", page: |value| page(value, report::place_page) },
    Kind { name: "comparison", field: "differences", page: |value| page(value, comparison_page) },
    Kind { name: "clock check", field: "remedies", page: |value| page(value, report::clock_check_page) },
    Kind { name: "clock cost", field: "reads", page: |value| page(value, report::clock_cost_page) },
    Kind { name: "guard check", field: "alarms_per_check", page: |value| page(value, report::guard_page) },
    Kind { name: "machine", field: "disagreements", page: |value| page(value, report::machine_page) },
    Kind { name: "comparison of sockets", field: "subjects", page: |value| page(value, sockets_page) },
];

fn page<T: DeserializeOwned>(value: &Value, view: fn(&T) -> Page) -> Result<Page, FieldError> {
    Ok(view(&read_document(value)?))
}

/// The rows alone: the records behind a comparison are not in it.
fn comparison_page(table: &record::ComparisonTable) -> Page {
    report::comparison_page(table, &[], &[])
}

/// What was measured; links are inferred only on request.
fn sockets_page(sockets: &record::Sockets) -> Page {
    report::measured_sockets_page(sockets, None)
}

/// The document in these bytes and its page, if they are of a kind other than a record.
///
/// # Errors
/// It is of such a kind, and a field of it cannot be read.
pub(super) fn page_of(bytes: &[u8]) -> anyhow::Result<Option<(Value, Page)>> {
    let Ok(document) = serde_json::from_slice::<Value>(bytes) else { return Ok(None) };
    let Some(kind) = KINDS.iter().find(|kind| document.get(kind.field).is_some()) else { return Ok(None) };
    let shown = (kind.page)(&document).with_context(|| {
        format!("this {} cannot be read; show it with the version that wrote it", kind.name)
    })?;
    Ok(Some((document, shown)))
}

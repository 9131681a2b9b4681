//! Text from outside that would like to be a script: planted into a record, it must stay text in the report.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use serde_json::{Value, json};

use crate::cargo;

/// Ends a script or an attribute, opens a new one, and complains on the console if any of it comes alive.
const PLANT: &str = "\"'></script></style></title><script>console.error('planted')</script>\
<img src=x onerror=\"console.error('planted')\">&lt;";

/// Places of a record that hold text from the machine or from the command line.
const TEXTS: &[&str] = &[
    "/provenance/host_name",
    "/provenance/started_utc",
    "/provenance/tool_version",
    "/machine/identity/name",
    "/machine/identity/hypervisor",
    "/machine/identity/board",
    "/machine/identity/bios",
    "/machine/environment/kernel",
    "/machine/environment/command_line",
    "/partial",
];
/// The same for lists of text.
const LISTS: &[&str] =
    &["/provenance/arguments", "/provenance/without", "/machine/missing", "/guards/doubts"];

/// Plants text into the JSON record at `record` and has `binary` make a report of it in `folder`.
pub(super) fn report(binary: &Path, record: &Path, folder: &Path) -> anyhow::Result<PathBuf> {
    let text =
        std::fs::read_to_string(record).with_context(|| format!("cannot read {}", record.display()))?;
    let document = serde_json::from_str(&text).context("the record is not JSON")?;
    let hostile = folder.join("planted.json");
    std::fs::write(&hostile, plant(document).to_string()).context("cannot write the planted record")?;
    let page = cargo::output(Command::new(binary).args(["show", "--html"]).arg(&hostile))?;
    anyhow::ensure!(page.contains("planted"), "nothing of what was planted reached the report");
    let file = folder.join("planted.html");
    std::fs::write(&file, page).context("cannot write the planted report")?;
    Ok(file)
}

fn plant(mut document: Value) -> Value {
    let places = TEXTS.iter().map(|place| (place, json!(PLANT)));
    for (place, value) in places.chain(LISTS.iter().map(|place| (place, json!([PLANT])))) {
        let (parent, name) = place.rsplit_once('/').unwrap_or(("", place));
        if let Some(parent) = document.pointer_mut(parent).and_then(Value::as_object_mut) {
            parent.insert(name.to_owned(), value);
        }
    }
    document
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_planted_where_there_is_a_place_for_it() {
        let planted = plant(json!({"provenance": {"arguments": []}, "schema": 1}));
        assert_eq!(planted["provenance"]["host_name"], PLANT);
        assert_eq!(planted["provenance"]["arguments"], json!([PLANT]));
        assert_eq!(planted["partial"], PLANT);
        assert_eq!((planted.get("machine"), &planted["schema"]), (None, &json!(1)));
    }
}

//! `cargo xtask schema`: the JSON Schema of the record, written from the types that define it, and held against
//! real records.

mod validator;

use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::Value;

use crate::cargo;
use crate::flags::Flags;
use crate::totals::Totals;

/// The rest of `cargo xtask schema --help`.
pub const HELP: &str =
    "Writes docs/record.schema.json anew from the types of the record crate, and says whether it
changed. Read the difference before committing it: a field that changes its meaning raises SCHEMA.

  --check RECORD     instead, hold a record (JSON) against the committed schema
";

/// Where the schema is committed, from the repository's root.
const COMMITTED: &str = "docs/record.schema.json";
/// Breaches shown of one record; the first few say what is wrong.
const BREACHES_SHOWN: usize = 20;

/// `cargo xtask schema`.
pub fn run(arguments: &[String]) -> anyhow::Result<Totals> {
    let flags = Flags::parse(arguments, &["--check"], &[])?;
    if let Some(record) = flags.value("--check") {
        let totals = check_record(Path::new(record))?;
        print!("{}", totals.closing());
        return Ok(totals);
    }
    let changed = committed().ok() != Some(generated());
    let mut text = serde_json::to_string_pretty(&generated()).context("cannot write the schema as text")?;
    text.push('\n');
    std::fs::write(path(), text).with_context(|| format!("cannot write {COMMITTED}"))?;
    println!("{COMMITTED} {}", if changed { "changed: read the difference" } else { "was up to date" });
    Ok(Totals::one_passed())
}

/// The schema as the record crate's types are now.
pub fn generated() -> Value {
    record::json_schema()
}

/// The schema as it is committed.
pub fn committed() -> anyhow::Result<Value> {
    let text = std::fs::read_to_string(path()).with_context(|| format!("cannot read {COMMITTED}"))?;
    serde_json::from_str(&text).with_context(|| format!("{COMMITTED} is not JSON"))
}

/// Holds the JSON record at `record` against the committed schema.
pub fn check_record(record: &Path) -> anyhow::Result<Totals> {
    let text =
        std::fs::read_to_string(record).with_context(|| format!("cannot read {}", record.display()))?;
    let document =
        serde_json::from_str(&text).with_context(|| format!("{} is not JSON", record.display()))?;
    let breaches = breaches(&committed()?, &document);
    let mut totals = Totals::default();
    for breach in breaches.iter().take(BREACHES_SHOWN) {
        totals.add(Totals::one_failed(format!("schema: {breach}")));
    }
    Ok(if breaches.is_empty() { Totals::one_passed() } else { totals })
}

/// What in `document` is not as `schema` says, by place.
pub fn breaches(schema: &Value, document: &Value) -> Vec<String> {
    validator::Validator::new(schema).breaches(document)
}

fn path() -> PathBuf {
    cargo::root().join(COMMITTED)
}

//! `cargo xtask schema`: the JSON Schema of each document that sidestep writes, made from the types that define it, and
//! held against real documents.

mod documents;
mod fresh;
mod validator;

use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::Value;

use crate::cargo;
use crate::flags::Flags;
use crate::totals::Totals;

pub use fresh::check as check_fresh;

/// The rest of `cargo xtask schema --help`.
pub const HELP: &str =
    "Writes docs/NAME.schema.json anew from the types, for every document that --json prints, and says
which changed. Read the difference before committing it: a field that changes its meaning raises the
number of its document.

  --fresh            instead, hold fresh documents of the release binary against the committed schemas
  --check FILE       instead, hold a document (JSON) against a committed schema
  --as NAME          which; record unless given
";

/// The folder of the committed schemas, from the repository's root.
const COMMITTED: &str = "docs";
/// Breaches shown of one document; the first few say what is wrong.
const BREACHES_SHOWN: usize = 20;

/// `cargo xtask schema`.
pub fn run(arguments: &[String]) -> anyhow::Result<Totals> {
    let flags = Flags::parse(arguments, &["--check", "--as"], &["--fresh"])?;
    if flags.has("--fresh") {
        let totals = check_fresh()?;
        print!("{}", totals.closing());
        return Ok(totals);
    }
    if let Some(document) = flags.value("--check") {
        let totals = check_file(flags.value("--as").unwrap_or("record"), Path::new(document))?;
        print!("{}", totals.closing());
        return Ok(totals);
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

/// What in `document` is not as `schema` says, by place.
pub fn breaches(schema: &Value, document: &Value) -> Vec<String> {
    validator::Validator::new(schema).breaches(document)
}

fn path(name: &str) -> PathBuf {
    cargo::root().join(COMMITTED).join(format!("{name}.schema.json"))
}

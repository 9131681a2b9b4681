//! Fresh documents of the release binary, held against the committed schemas: each name at least once.

use std::path::Path;
use std::process::Command;

use anyhow::Context;

use crate::cargo;
use crate::schema;
use crate::totals::Totals;

/// What documents are called, and what is typed for them after `sidestep --json --quiet`, cut at blanks; `{}` is a folder to write to.
const ROWS: &str = include_str!("../fresh.txt");

fn rows() -> impl Iterator<Item = (&'static str, &'static str)> {
    ROWS.lines().filter_map(|line| line.split_once(' ')).map(|(schema, typed)| (schema, typed.trim()))
}

/// Documents of which none is made here, and who does.
const ELSEWHERE: &[(&str, &str)] = &[
    ("record", "the quick check-up"),
    ("reboots", "crates/cli/tests/all/across_reboot.rs: it takes boots"),
    ("sharing", "the place document, of which it is a part"),
];

/// Exit codes with which a document comes: nothing wrong; nothing could be measured, which the document says.
const EXITS: [i32; 2] = [0, 3];

/// Makes each document and holds it against its schema.
///
/// # Errors
/// There is no release binary, or no temporary folder.
pub fn check() -> anyhow::Result<Totals> {
    let binary = cargo::sidestep();
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let switched = folder.path().join("tree/proc/sys/kernel");
    std::fs::create_dir_all(&switched)
        .and_then(|()| std::fs::write(switched.join("numa_balancing"), "1\n"))
        // A folder that is named and missing is refused: this history is empty.
        .and_then(|()| std::fs::create_dir(folder.path().join("history")))?;
    let mut totals = Totals::default();
    for (schema, typed) in rows() {
        totals.add(one(&binary, schema, typed, folder.path()).with_context(|| format!("sidestep {typed}"))?);
    }
    let is_checked = |name: &str| {
        rows().any(|(schema, _)| schema == name) || ELSEWHERE.iter().any(|(other, _)| *other == name)
    };
    for name in schema::names()?.into_iter().filter(|name| !is_checked(name)) {
        totals.add(Totals::one_failed(format!("schema of the {name}: no fresh document is held against it")));
    }
    Ok(totals)
}

fn one(binary: &Path, name: &str, typed: &str, folder: &Path) -> anyhow::Result<Totals> {
    let folder = folder.to_str().context("the temporary folder's name is not UTF-8")?;
    let words: Vec<String> = typed.split_whitespace().map(|word| word.replace("{}", folder)).collect();
    // After `--` the flags would be the program's.
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let mut command = Command::new(binary);
    command.current_dir(cargo::root()).args(&words[..end]).args(["--json", "--quiet"]).args(&words[end..]);
    let printed = command.output().with_context(|| format!("cannot start {}", binary.display()))?;
    if !printed.status.code().is_some_and(|code| EXITS.contains(&code)) {
        let said = String::from_utf8_lossy(&printed.stderr);
        let (status, said) = (printed.status, said.trim());
        return Ok(Totals::one_failed(format!("{name}: sidestep {typed} ended with {status}: {said}")));
    }
    let mut totals = Totals::default();
    let documents = serde_json::Deserializer::from_slice(&printed.stdout).into_iter::<serde_json::Value>();
    let mut count = 0;
    for document in documents {
        totals.add(schema::check(name, &document.context("the document is not JSON")?)?);
        count += 1;
    }
    if count == 0 {
        totals.add(Totals::one_failed(format!("{name}: sidestep {typed} printed no document")));
    }
    Ok(totals)
}

//! `cargo xtask schema`: the JSON Schema of the record, rewritten from the types that define it.

use anyhow::Context;

use crate::cargo;
use crate::flags::Flags;
use crate::totals::Totals;

/// The rest of `cargo xtask schema --help`.
pub const HELP: &str = "Runs the record crate's schema test with UPDATE_EXPECT=1, which writes the committed
JSON Schema anew, and shows what changed. Read the difference before committing it.
";

/// Every schema file is named so, wherever its crate keeps it.
const SCHEMA_FILES: &str = "*schema*.json";

/// `cargo xtask schema`.
pub fn run(arguments: &[String]) -> anyhow::Result<Totals> {
    Flags::parse(arguments, &[], &[])?;
    let mut rewrite = cargo::cargo(&["test", "--quiet", "--package", "record", "schema"]);
    let ran = cargo::succeeds(rewrite.env("UPDATE_EXPECT", "1"))?;
    anyhow::ensure!(ran, "the record crate's schema test failed; see above");
    let mut difference = std::process::Command::new("git");
    difference.args(["diff", "--stat", "--", SCHEMA_FILES]).current_dir(cargo::root());
    let changed = cargo::output(&mut difference).context("cannot ask git what changed")?;
    print!("{}", if changed.is_empty() { "the committed schema is up to date\n" } else { &changed });
    Ok(Totals::one_passed())
}

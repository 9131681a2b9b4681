//! `cargo xtask docs`: the pages of docs/commands, made from the command line's definition.
//!
//! Only the crate `cli` has that definition, and it is a program: a test of it holds the pages, and writes them when asked.

use crate::cargo;
use crate::totals::Totals;

/// The test that holds them.
const TEST: &str = "the_pages_of_docs_commands_are_those_of_the_command_line";

/// `cargo xtask docs`.
pub fn rewrite() -> anyhow::Result<Totals> {
    let mut test = cargo::cargo(&format!("test --quiet --package cli --bin sidestep {TEST}"));
    let passed = cargo::succeeds(test.env("UPDATE_EXPECT", "1"))?;
    Ok(Totals::one(passed, "docs: the pages cannot be written; see above"))
}

//! Completions and manual pages, made from the definition of the command line.

use std::path::Path;

use anyhow::Context;
use clap_complete::Shell;

use crate::arguments;
use crate::outcome::Outcome;
use crate::output;

/// Prints completions for a shell.
pub(crate) fn completions(shell: Shell) -> anyhow::Result<Outcome> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut arguments::definition(), "sidestep", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(Outcome::Done)
}

/// Writes `sidestep.1` and one page per command to an existing directory.
pub(crate) fn man(directory: &Path) -> anyhow::Result<Outcome> {
    clap_mangen::generate_to(arguments::definition(), directory).with_context(|| {
        format!("cannot write manual pages to {}; give an existing directory", directory.display())
    })?;
    Ok(Outcome::Done)
}

//! `sidestep fleet confirm`: the jobs that repeat suspects, printed.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use clap::{Args, ValueEnum};
use record::{FLEET_CHECK_SCHEMA, FleetCheck};

use crate::outcome::Outcome;
use crate::output;

/// Options of `fleet confirm`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ConfirmArguments {
    /// The document of a check: sidestep fleet check DROP --json
    check: PathBuf,
    /// For whom the jobs are
    #[arg(long, value_enum)]
    engine: Engine,
    /// The drop directory that the nodes write to
    #[arg(long, value_name = "DIR")]
    drop: PathBuf,
    /// Draw the order from this
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
}

/// Who runs the jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Engine {
    /// Slurm: a script for sh that calls sbatch
    Slurm,
}

/// The document of a check.
///
/// # Errors
/// It cannot be read or is none.
pub(super) fn document(file: &Path) -> anyhow::Result<FleetCheck> {
    let name = file.display();
    let advice = || format!("cannot read {name} as a check; write one with sidestep fleet check DROP --json");
    let bytes = fs::read(file).with_context(advice)?;
    let found: FleetCheck = serde_json::from_slice(&bytes).with_context(advice)?;
    ensure!(
        found.schema == FLEET_CHECK_SCHEMA,
        "{name} has schema {}, and this sidestep reads {FLEET_CHECK_SCHEMA}; make the check again",
        found.schema
    );
    Ok(found)
}

/// Prints the jobs.
pub(super) fn confirm(arguments: &ConfirmArguments) -> anyhow::Result<Outcome> {
    let found = document(&arguments.check)?;
    let drop = std::path::absolute(&arguments.drop)?;
    let drop =
        drop.to_str().context("the name of the drop directory is not UTF-8; choose another with --drop")?;
    let script = match arguments.engine {
        Engine::Slurm => fleet::confirm::slurm(&found, drop, arguments.seed)?,
    };
    output::print_lines(&script)?;
    Ok(Outcome::Done)
}

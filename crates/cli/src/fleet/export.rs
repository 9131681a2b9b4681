//! `sidestep fleet export`: a check in the forms of other programs.

use std::path::PathBuf;

use anyhow::ensure;
use clap::Args;
use host::live::write_atomically;

use super::confirm::document;
use crate::outcome::Outcome;
use crate::output;

/// Options of `fleet export`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ExportArguments {
    /// The document of a check: sidestep fleet check DROP --json
    check: PathBuf,
    /// Write metrics in Prometheus' text format to this file: 25 series a node at most
    #[arg(long, value_name = "FILE")]
    prometheus: Option<PathBuf>,
    /// Write the result as JUnit XML to this file
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Print the lines that take confirmed nodes out of Slurm; they are not run
    #[arg(long)]
    slurm_drain: bool,
}

/// Writes and prints.
pub(super) fn export(arguments: &ExportArguments) -> anyhow::Result<Outcome> {
    let ExportArguments { prometheus, junit, slurm_drain, .. } = arguments;
    ensure!(
        *slurm_drain || [prometheus, junit].iter().any(|file| file.is_some()),
        "nothing to export; give --prometheus FILE, --junit FILE or --slurm-drain"
    );
    let found = document(&arguments.check)?;
    let write = |file: &Option<PathBuf>, text: &dyn Fn() -> String| {
        file.as_ref().map_or(Ok(()), |file| write_atomically(file, text().as_bytes()))
    };
    write(prometheus, &|| fleet::export::prometheus(&found))?;
    write(junit, &|| fleet::export::junit(&found))?;
    if *slurm_drain {
        output::print_lines(&fleet::export::slurm_drain(&found))?;
    }
    Ok(Outcome::Done)
}

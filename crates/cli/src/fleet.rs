//! `sidestep fleet`: many machines. Schedulers run the check-ups, DuckDB reads the rows; nothing here starts a job or keeps a service.

mod duckdb;
mod plan;
mod rows;

use clap::{Args, Subcommand};

use crate::arguments::Global;
use crate::outcome::Outcome;
use plan::PlanArguments;
use rows::RowsArguments;

/// Options of `fleet`.
#[derive(Debug, Clone, Args)]
pub(crate) struct FleetArguments {
    #[command(subcommand)]
    command: FleetCommand,
}

#[derive(Debug, Clone, Subcommand)]
enum FleetCommand {
    /// Print what a scheduler needs to measure every node; runs nothing
    Plan(PlanArguments),
    /// Lay the records of a drop directory flat: rows for SQL
    Rows(RowsArguments),
}

/// Does what was asked for.
pub(crate) fn fleet(arguments: &FleetArguments, global: &Global) -> anyhow::Result<Outcome> {
    match &arguments.command {
        FleetCommand::Plan(arguments) => plan::plan(arguments, global),
        FleetCommand::Rows(arguments) => rows::rows(arguments, global),
    }
}

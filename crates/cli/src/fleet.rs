//! `sidestep fleet`: many machines. Schedulers run the check-ups; nothing here starts a job or keeps a service.

mod check;
mod export;
mod plan;
mod records;
mod rows;

use clap::Subcommand;

use crate::options::Global;
use crate::outcome::Outcome;

/// What can be asked of many machines.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum FleetCommand {
    /// Print what a scheduler needs to measure every node; runs nothing
    Plan(plan::PlanArguments),
    /// Lay the records of a drop directory flat: rows for SQL
    Rows(rows::RowsArguments),
    /// Which nodes are odd, which rack, slot, firmware or setting explains it, which states are a minority's
    Check(check::CheckArguments),
    /// Print the jobs that repeat each suspect beside healthy nodes
    Confirm(export::ConfirmArguments),
    /// A check for Prometheus, JUnit or Slurm
    Export(export::ExportArguments),
}

/// Does what was asked for.
pub(crate) fn fleet(command: &FleetCommand, global: &Global) -> anyhow::Result<Outcome> {
    match command {
        FleetCommand::Plan(arguments) => plan::plan(arguments, global),
        FleetCommand::Rows(arguments) => rows::rows(arguments, global),
        FleetCommand::Check(arguments) => check::check(arguments, global),
        FleetCommand::Confirm(arguments) => export::confirm(arguments),
        FleetCommand::Export(arguments) => export::export(arguments),
    }
}

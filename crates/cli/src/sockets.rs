//! `sidestep sockets`: whether they are alike, and how sockets and nodes are linked.

mod explain;
mod firmware;
mod infer;
mod measure;

use clap::{Args, Subcommand};
use explain::ExplainArguments;
use firmware::FirmwareArguments;
use host::Root;
use infer::InferArguments;
use machine::Machine;
use measure::MeasureArguments;
use record::SocketLinks;

use crate::options::Global;
use crate::outcome::Outcome;

/// Options of `sockets`.
#[derive(Debug, Clone, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct SocketsArguments {
    #[command(flatten)]
    measure: MeasureArguments,
    #[command(subcommand)]
    command: Option<SocketsCommand>,
}

/// What can be asked of sockets.
#[derive(Debug, Clone, Subcommand)]
enum SocketsCommand {
    /// Why each socket gets what it gets: measured beside one model, the links it uses, and what stays undetermined
    Explain(ExplainArguments),
    /// Which CPUs or nodes form groups by their latencies, and which links join them: the most probable graph, the second best, and whether
    /// the data identify any
    Infer(InferArguments),
    /// Which links firmware and hardware report: SLIT, AMD routing registers, Intel UPI ports, HMAT; and where they differ
    Firmware(FirmwareArguments),
}

/// The links that this machine reports, the most trusted source first.
pub(crate) fn reported_links(machine: &Machine) -> Vec<SocketLinks> {
    firmware::reported(machine, &Root::live())
}

/// Does what was asked for.
pub(crate) fn sockets(arguments: &SocketsArguments, global: &Global) -> anyhow::Result<Outcome> {
    match &arguments.command {
        None => measure::measure(&arguments.measure, global),
        Some(SocketsCommand::Explain(explain)) => explain::explain(explain, global),
        Some(SocketsCommand::Infer(infer)) => infer::infer(infer, global),
        Some(SocketsCommand::Firmware(firmware)) => firmware::firmware(firmware, global),
    }
}

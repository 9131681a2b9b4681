//! `sidestep workloads`: programs to measure with: what there is, what one turn of each gives, what they require.

mod check;
mod packages;
mod selection;

use std::slice::from_ref;

use clap::{Args, Subcommand};
use report::{WorkloadInstall, WorkloadLine, WorkloadList};
use workloads::Workload;

use crate::forms::Forms;
use crate::global::Global;
use crate::outcome::Outcome;
use crate::output;
use check::CheckArguments;
use packages::Packages;
pub(crate) use selection::Selection;

/// Version of the JSON documents of this command.
const SCHEMA: u32 = 1;

/// Options of `workloads`.
#[derive(Debug, Clone, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct WorkloadArguments {
    #[command(subcommand)]
    command: Option<WorkloadCommand>,
    #[command(flatten)]
    list: ListArguments,
}

#[derive(Debug, Clone, Subcommand)]
enum WorkloadCommand {
    /// List workloads: what each stresses, how long a turn takes, whether its packages are here
    List(ListArguments),
    /// Run one turn of each, and show its time and its number
    Check(CheckArguments),
    /// Print the command that installs the packages that are missing; it is not run
    Install(InstallArguments),
}

#[derive(Debug, Clone, Args)]
struct ListArguments {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    forms: Forms,
}

#[derive(Debug, Clone, Args)]
struct InstallArguments {
    /// Only for these workloads
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    forms: Forms,
}

/// Does what was asked for.
pub(crate) fn workloads(arguments: &WorkloadArguments, global: &Global) -> anyhow::Result<Outcome> {
    match &arguments.command {
        None => list(&arguments.list, global),
        Some(WorkloadCommand::List(arguments)) => list(arguments, global),
        Some(WorkloadCommand::Check(arguments)) => check::check(arguments, global),
        Some(WorkloadCommand::Install(arguments)) => install(arguments, global),
    }
}

fn list(arguments: &ListArguments, global: &Global) -> anyhow::Result<Outcome> {
    arguments.forms.ensure_writable()?;
    let chosen = arguments.selection.workloads(&[])?;
    let packages = Packages::of(&chosen);
    let workloads = chosen.iter().map(|one| line(one, &packages)).collect();
    let list = WorkloadList { schema: SCHEMA, workloads };
    output::print(&arguments.forms.text(&report::workloads_page(&list), &list, global)?)?;
    Ok(Outcome::Done)
}

fn line(workload: &Workload, packages: &Packages) -> WorkloadLine {
    WorkloadLine {
        id: workload.id.clone(),
        title: workload.title.clone(),
        suites: workload.suites.iter().map(|suite| suite.name().to_owned()).collect(),
        group: workload.group.clone(),
        article_row: workload.article_row.clone(),
        stresses: workload.stresses.clone(),
        seconds_a_turn: workload.seconds_a_turn,
        threads: workload.threads,
        unit: workload.metric.unit().0.to_owned(),
        better: workload.metric.unit().1,
        control: workload.control,
        why_noisy: workload.why_noisy.clone(),
        licence: workload.licence.clone(),
        packages: packages.required(from_ref(workload)),
        missing: packages.missing(from_ref(workload)),
        command: workload.script(),
    }
}

fn install(arguments: &InstallArguments, global: &Global) -> anyhow::Result<Outcome> {
    arguments.forms.ensure_writable()?;
    let chosen = arguments.selection.workloads(&arguments.ids)?;
    let packages = Packages::of(&chosen);
    let missing = packages.missing(&chosen).unwrap_or_else(|| packages.required(&chosen));
    let install = WorkloadInstall { schema: SCHEMA, missing, commands: packages.commands(&chosen) };
    let page = report::workload_install_page(&install);
    output::print(&arguments.forms.text(&page, &install, global)?)?;
    Ok(Outcome::Done)
}

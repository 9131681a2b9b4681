//! `sidestep workloads`: programs to measure with: what there is, what one turn of each gives, what they require.

mod check;
mod packages;

use std::fs;
use std::slice::from_ref;

use anyhow::Context;
use clap::{Args, Subcommand};
use report::{WorkloadInstall, WorkloadLine, WorkloadList};
use workloads::{Suite, Workload};

use crate::forms::Forms;
use crate::global::Global;
use crate::outcome::Outcome;
use check::CheckArguments;
use packages::Packages;

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
    let chosen = arguments.selection.workloads(&[])?;
    let packages = Packages::of(&chosen);
    let workloads = chosen.iter().map(|one| line(one, &packages)).collect();
    let list = WorkloadList { schema: SCHEMA, workloads };
    arguments.forms.print(&report::workloads_page(&list), &list, global)?;
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
    let chosen = arguments.selection.workloads(&arguments.ids)?;
    let packages = Packages::of(&chosen);
    let missing = packages.missing(&chosen).unwrap_or_else(|| packages.required(&chosen));
    let install = WorkloadInstall { schema: SCHEMA, missing, commands: packages.commands(&chosen) };
    let page = report::workload_install_page(&install);
    arguments.forms.print(&page, &install, global)?;
    Ok(Outcome::Done)
}

/// Options that choose workloads.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Selection {
    /// All workloads of this suite: article, server, desktop, hpc or kernel
    #[arg(long, value_name = "SUITE", value_parser = parse_suite)]
    suite: Option<Suite>,
}

impl Selection {
    /// The workloads of the options and of `names`, ids or files; all of them where nothing is named.
    ///
    /// # Errors
    /// A name or file that is no workload.
    pub(crate) fn workloads(&self, names: &[String]) -> anyhow::Result<Vec<Workload>> {
        let named = self.named(names)?;
        Ok(if named.is_empty() { workloads::all().to_vec() } else { named })
    }

    /// The same; none where nothing is named.
    ///
    /// # Errors
    /// A name or file that is no workload.
    pub(crate) fn named(&self, names: &[String]) -> anyhow::Result<Vec<Workload>> {
        let mut chosen = Vec::new();
        for name in names {
            chosen.push(if name.contains(['/', '.']) { file(name)? } else { built_in(name)? });
        }
        if let Some(suite) = self.suite {
            chosen.extend(workloads::suite(suite).into_iter().cloned());
        }
        Ok(chosen)
    }
}

fn built_in(name: &str) -> anyhow::Result<Workload> {
    Ok(workloads::find(name)?.clone())
}

fn file(name: &str) -> anyhow::Result<Workload> {
    let text = fs::read_to_string(name).with_context(|| format!("cannot read the workload {name}"))?;
    Ok(workloads::read(name, &text)?)
}

fn parse_suite(text: &str) -> Result<Suite, String> {
    let names = Suite::ALL.map(Suite::name);
    Suite::ALL
        .into_iter()
        .find(|suite| suite.name() == text)
        .ok_or_else(|| format!("there are {}", names.join(", ")))
}

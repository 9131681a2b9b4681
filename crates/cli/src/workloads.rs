//! `sidestep workloads`: programs to measure with: what there is, what one turn of each gives, what they require.

mod check;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::slice::from_ref;
use std::time::Duration;

use clap::{Args, Subcommand};
use host::Root;
use host::live::{ChildOutput, run_child};
use report::{WorkloadLine, WorkloadList};
use workloads::{Suite, Workload};

use crate::forms::Forms;
use crate::options::{Global, named};
use crate::outcome::Outcome;
use crate::store;
use check::CheckArguments;

/// Version of the JSON documents of this command.
const SCHEMA: u32 = 1;

/// Options of `workloads`.
#[derive(Debug, Clone, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct WorkloadArguments {
    #[command(subcommand)]
    command: Option<WorkloadCommand>,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    forms: Forms,
}

#[derive(Debug, Clone, Subcommand)]
enum WorkloadCommand {
    /// Run one turn of each, and show its time and its number
    Check(CheckArguments),
}

/// Does what was asked for.
pub(crate) fn workloads(arguments: &WorkloadArguments, global: &Global) -> anyhow::Result<Outcome> {
    match &arguments.command {
        None => list(arguments, global),
        Some(WorkloadCommand::Check(arguments)) => check::check(arguments, global),
    }
}

fn list(arguments: &WorkloadArguments, global: &Global) -> anyhow::Result<Outcome> {
    let chosen = arguments.selection.workloads(&[])?;
    let packages = Packages::of(&chosen);
    let workloads = chosen.iter().map(|one| line(one, &packages)).collect();
    let list = WorkloadList { schema: SCHEMA, workloads, install: packages.commands(&chosen) };
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

/// Options that choose workloads.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Selection {
    /// All workloads of this suite: article, server, desktop, hpc or kernel
    #[arg(long, value_name = "SUITE", value_parser = |text: &str| named(&Suite::ALL, Suite::name, text))]
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
            chosen.push(if name.contains(['/', '.']) { file(name)? } else { workloads::find(name)?.clone() });
        }
        if let Some(suite) = self.suite {
            chosen.extend(workloads::suite(suite).into_iter().cloned());
        }
        Ok(chosen)
    }
}

/// A file of a workload has some hundred bytes, and a script in it some thousand.
const WORKLOAD_BYTES_MAX: u64 = 1 << 20;

fn file(name: &str) -> anyhow::Result<Workload> {
    let text = store::read_text(Path::new(name), WORKLOAD_BYTES_MAX, "workload")?;
    Ok(workloads::read(name, &text)?)
}

/// The longest that a package manager may take to answer.
const LIMIT: Duration = Duration::from_secs(20);

/// A kind of distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Distribution {
    Debian,
    Fedora,
}

/// What is known of the packages of this machine.
#[derive(Debug, Clone)]
pub(super) struct Packages {
    distribution: Option<Distribution>,
    /// Those of the workloads that are installed; `None` if the package manager does not say.
    installed: Option<BTreeSet<String>>,
}

impl Distribution {
    /// By os-release(5).
    fn of(os_release: &str) -> Option<Self> {
        let values = os_release.lines().filter_map(|line| {
            line.strip_prefix("ID=")
                .or(line.strip_prefix("ID_LIKE="))
                .map(|value| value.trim_matches(['"', '\'']))
        });
        let words: Vec<&str> = values.flat_map(str::split_whitespace).collect();
        let is = |names: &[&str]| words.iter().any(|word| names.contains(word));
        let fedora = is(&["fedora", "rhel", "centos"]).then_some(Self::Fedora);
        is(&["debian", "ubuntu"]).then_some(Self::Debian).or(fedora)
    }

    /// What workloads require, each package once.
    fn packages(self, workloads: &[Workload]) -> BTreeSet<String> {
        workloads.iter().flat_map(|one| one.packages(self == Self::Fedora)).cloned().collect()
    }

    /// What to type.
    fn command(self, packages: impl IntoIterator<Item = String>) -> String {
        let manager = match self {
            Self::Debian => "apt-get install --no-install-recommends",
            Self::Fedora => "dnf install",
        };
        format!("sudo {manager} {}", packages.into_iter().collect::<Vec<_>>().join(" "))
    }

    /// Which of the packages are installed; `None` if there is no such package manager, or it does not answer.
    fn installed(self, packages: &BTreeSet<String>) -> Option<BTreeSet<String>> {
        let (program, arguments) = match self {
            Self::Debian => ("dpkg-query", ["-W", "-f", "${Package} ${db:Status-Status}\n"]),
            Self::Fedora => ("rpm", ["-q", "--qf", "%{NAME} installed\n"]),
        };
        let mut command = Command::new(program);
        command.args(arguments).args(packages);
        let run = run_child(command, &[], ChildOutput::Capture, Some(LIMIT)).ok()?;
        // It ends with an error where one is missing, and lists the others all the same.
        let text = String::from_utf8_lossy(&run.output);
        Some(text.lines().filter_map(|line| line.strip_suffix(" installed")).map(str::to_owned).collect())
    }
}

impl Packages {
    /// Asks for the packages of these workloads.
    pub(super) fn of(workloads: &[Workload]) -> Self {
        let distribution = Root::live().read("/etc/os-release").ok().and_then(|text| Distribution::of(&text));
        let installed = distribution.and_then(|one| one.installed(&one.packages(workloads)));
        Self { distribution, installed }
    }

    /// What workloads require; the names of Debian where the distribution is unknown.
    pub(super) fn required(&self, workloads: &[Workload]) -> Vec<String> {
        self.distribution.unwrap_or(Distribution::Debian).packages(workloads).into_iter().collect()
    }

    /// What is missing of that; `None` if unknown.
    pub(super) fn missing(&self, workloads: &[Workload]) -> Option<Vec<String>> {
        let mut required = self.required(workloads);
        if !required.is_empty() {
            let installed = self.installed.as_ref()?;
            required.retain(|package| !installed.contains(package));
        }
        Some(required)
    }

    /// The line that installs what is missing; one for each kind of distribution where this one is unknown.
    pub(super) fn commands(&self, workloads: &[Workload]) -> Vec<String> {
        match (self.distribution, self.missing(workloads)) {
            (_, Some(missing)) if missing.is_empty() => Vec::new(),
            (Some(distribution), missing) => {
                vec![distribution.command(missing.unwrap_or_else(|| self.required(workloads)))]
            }
            (None, _) => [Distribution::Debian, Distribution::Fedora]
                .map(|one| one.command(one.packages(workloads)))
                .into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packages(distribution: Option<Distribution>, installed: Option<&[&str]>) -> Packages {
        let installed = installed.map(|names| names.iter().map(|&name| name.to_owned()).collect());
        Packages { distribution, installed }
    }

    #[test]
    fn the_distribution_is_known_by_its_own_name_or_by_that_of_its_family() {
        for (text, expected) in [
            ("NAME=x\nID=debian\n", Some(Distribution::Debian)),
            ("ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n", Some(Distribution::Debian)),
            ("ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n", Some(Distribution::Fedora)),
            ("ID=fedora", Some(Distribution::Fedora)),
            ("ID=arch\n", None),
            ("", None),
        ] {
            assert_eq!(Distribution::of(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_missing_is_one_line_for_the_package_manager() {
        let chosen = [workloads::find("x264-pass-1").expect("built in").clone()];
        let debian = packages(Some(Distribution::Debian), Some(&["ffmpeg"]));
        assert_eq!(debian.missing(&chosen), Some(vec!["x264".to_owned()]));
        assert_eq!(debian.commands(&chosen), ["sudo apt-get install --no-install-recommends x264"]);
        let unknown = packages(None, None);
        assert_eq!(unknown.missing(&chosen), None);
        let lines = unknown.commands(&chosen);
        assert!(lines[0].contains("apt-get") && lines[1].starts_with("sudo dnf install "), "{lines:?}");
        let all = packages(Some(Distribution::Fedora), Some(&["x264", "ffmpeg-free"]));
        assert!(all.commands(&chosen).is_empty());
    }
}

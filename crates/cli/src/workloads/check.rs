//! `sidestep workloads check`: one turn of each workload, and in one line what is wrong with those that have no number.

use std::slice::from_ref;
use std::time::Duration;

use clap::Args;
use experiments::program::how_it_failed;
use experiments::workload::{Prepared, prepare};
use host::cache_folder;
use host::live;
use host::live::{ChildOutput, ChildRun, Ending, is_stopped, observe_child, pending_signal};
use report::{CheckedWorkload, WorkloadCheck};
use stats::{mean, sample_variance};
use workloads::Workload;

use super::{Packages, SCHEMA, Selection};
use crate::forms::Forms;
use crate::options::{Global, parse_budget};
use crate::outcome::Outcome;
use crate::progress::ProgressLine;

/// How often it is looked whether a program waits for a terminal.
const LOOK: Duration = Duration::from_millis(100);
/// A turn that is shorter cannot be timed among processes that start and end.
const SHORTEST_S: f64 = 0.1;
/// From so many turns on their variation is shown.
const TURNS_WITH_VARIATION: usize = 3;

/// Options of `workloads check`.
#[derive(Debug, Clone, Args)]
pub(super) struct CheckArguments {
    /// Only these workloads, or files of your own
    #[arg(value_name = "ID|FILE.toml")]
    ids: Vec<String>,
    #[command(flatten)]
    selection: Selection,
    /// Run so many turns of each, after one to warm up, and show how they vary
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1000))]
    turns: u16,
    /// End a turn that takes longer
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_budget)]
    timeout: Duration,
    #[command(flatten)]
    forms: Forms,
}

/// Runs turns, and says which workloads have no number.
pub(super) fn check(arguments: &CheckArguments, global: &Global) -> anyhow::Result<Outcome> {
    let chosen = arguments.selection.workloads(&arguments.ids)?;
    live::install_handlers()?;
    let packages = Packages::of(&chosen);
    let line = ProgressLine::new(global.quiet);
    let mut check =
        WorkloadCheck { schema: SCHEMA, turns: usize::from(arguments.turns), checked: Vec::new() };
    for (index, workload) in chosen.iter().enumerate() {
        let left: f64 =
            chosen[index..].iter().map(|one| one.seconds_a_turn * f64::from(arguments.turns)).sum();
        line.begin(&workload.id, Duration::from_secs_f64(left));
        let result = measured(workload, arguments);
        if pending_signal().is_some() {
            break;
        }
        let unit = workload.metric.unit().0.to_owned();
        let checked = result.unwrap_or_else(|why| {
            let missing = packages.missing(from_ref(workload)).filter(|missing| !missing.is_empty());
            let hint = missing.map_or(String::new(), |missing| {
                format!(
                    "; missing: {}; sidestep workloads --long has the command that installs it",
                    missing.join(", ")
                )
            });
            CheckedWorkload { problem: Some(format!("{why}{hint}")), ..CheckedWorkload::default() }
        });
        check.checked.push(CheckedWorkload { id: workload.id.clone(), unit, ..checked });
    }
    line.end();
    let page = report::workload_check_page(&check);
    arguments.forms.print(&page, &check, global)?;
    if let Some(signal) = pending_signal() {
        return Ok(Outcome::Interrupted(signal));
    }
    let failed = check.checked.iter().filter(|one| one.problem.is_some()).count();
    if failed > 0 {
        let of = check.checked.len();
        return Ok(Outcome::NotMeasured(anyhow::anyhow!("{failed} of {of} workloads have no number here")));
    }
    Ok(Outcome::Done)
}

/// The turns of a workload.
fn measured(workload: &Workload, arguments: &CheckArguments) -> Result<CheckedWorkload, String> {
    let prepared = prepare(workload, &cache_folder()).map_err(|error| error.to_string())?;
    let warm_up = usize::from(arguments.turns > 1);
    let mut turns = Vec::new();
    for index in 0..usize::from(arguments.turns) + warm_up {
        prepared.scratch.clear().map_err(|error| format!("cannot empty its folder: {error}"))?;
        let (run, value) = turn(&prepared, arguments.timeout)?;
        if index >= warm_up {
            turns.push((run, value));
        }
    }
    let all = |of: fn(&(ChildRun, f64)) -> f64| turns.iter().map(of).collect::<Vec<f64>>();
    let mean_of = |of| Some(mean(&all(of)));
    let user_s = all(|(run, _)| run.user_s);
    let varies = turns.len() >= TURNS_WITH_VARIATION && mean(&user_s) > 0.0;
    Ok(CheckedWorkload {
        wall_s: mean_of(|(run, _)| run.wall_s),
        user_s: Some(mean(&user_s)),
        system_s: mean_of(|(run, _)| run.system_s),
        user_cv_percent: varies.then(|| sample_variance(&user_s).sqrt() / mean(&user_s) * 100.0),
        value: mean_of(|(_, value)| *value),
        ..CheckedWorkload::default()
    })
}

/// One turn and its number; why it has none, in one line.
fn turn(prepared: &Prepared, limit: Duration) -> Result<(ChildRun, f64), String> {
    let mut waited = false;
    let mut look = |pid: u32| {
        waited = is_stopped(pid);
        LOOK
    };
    let run = observe_child(prepared.turn(), &[], ChildOutput::Capture, Some(limit), &mut look)
        .map_err(|error| error.to_string())?;
    if let Some(how) = how_it_failed(&run) {
        return Err(match run.ending {
            Ending::TimedOut if waited => "it waits for a terminal, and a turn has none".to_owned(),
            Ending::TimedOut => format!(
                "a turn takes more than {} s; make it smaller, 1 to 10 s, or raise --timeout",
                limit.as_secs_f64()
            ),
            _ => format!("a turn ended with {how}"),
        });
    }
    let value = prepared.number(&run).map_err(|error| error.to_string())?;
    if run.wall_s < SHORTEST_S {
        return Err(format!(
            "a turn takes only {:.3} s; repeat what it does until it takes 1 to 10 s",
            run.wall_s
        ));
    }
    Ok((run, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn_of(command: &str, metric: &str) -> Result<f64, String> {
        let text = format!(
            "id = \"a\"\ntitle = \"A\"\nsuites = [\"server\"]\ngroup = \"g\"\nseconds_a_turn = 1.0\nthreads = 1\n\
             stresses = [\"x\"]\nlicence = \"MIT\"\ncommand = {command:?}\n{metric}"
        );
        let workload = workloads::read("a.toml", &text).expect("a workload");
        let folder = tempfile::tempdir().expect("a temporary folder");
        let prepared = prepare(&workload, folder.path()).expect("sh is there");
        turn(&prepared, Duration::from_millis(700)).map(|(_, value)| value)
    }

    #[test]
    fn a_turn_without_a_number_says_why_in_one_line() {
        let number = "[metric]\npattern = 'n=(\\d+)'\nunit = \"\"\nbetter = \"higher\"\n";
        for (command, metric, expected) in [
            ("sleep 0.15; echo m=1", number, "no number where the metric looks for one in standard output"),
            (
                "sleep 0.15; echo n=1 n=2",
                number,
                "2 numbers where the metric expects one (1, 2) in standard output",
            ),
            ("echo n=1", number, "a turn takes only 0.0"),
            ("sleep 5", "", "a turn takes more than 0.7 s; make it smaller"),
            ("no-such-program", "", "a turn ended with exit code 127, a program that is not found: "),
            ("echo no input >&2; exit 2", "", "a turn ended with exit code 2: \"no input\""),
            ("kill -STOP 0", "", "it waits for a terminal"),
        ] {
            let why = turn_of(command, metric).expect_err(command);
            assert!(why.starts_with(expected) && !why.contains('\n'), "{command}: {why}");
        }
        assert_eq!(turn_of("sleep 0.15; echo n=7", number), Ok(7.0));
    }
}

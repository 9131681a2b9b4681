//! `sidestep guard`: a baseline of this machine, and whether it is still as it was.

mod metrics;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use clap::{Args, Subcommand};
use experiments::guard::{FEWEST_RUNS, Guard, allowance};
use experiments::history::entry;
use experiments::systemd_units::units_text;
use host::live::{install_handlers, pending_signal, utc_now, write_atomically};
use host::{Lock, ScratchFolder, StateFolder};
use machine::Bytes;
use record::{GUARD_SCHEMA, GuardBaseline, GuardLedger, GuardVerdict, HistoryEntry};
use serde::de::DeserializeOwned;

use crate::check_up;
use crate::check_up::RunArguments;
use crate::check_up::repeat::Schedule;
use crate::forms::Forms;
use crate::gate_flags::parsed_alone;
use crate::options::{Global, parse_budget};
use crate::outcome::Outcome;
use crate::output::{self, Document};
use crate::store::{self, KeptFolder};

/// A check-up of the guard: two of them, reading the machine and judging stay within 30 seconds.
const CHECK_UP: [&str; 5] = ["sidestep", "run", "--no-history", "--budget", "12s"];
/// What it measures: probes whose rows are watched and that fit. Pictures have no rows, flaws are facts.
const ONLY: &str = "control,questions,stream,clock-reads,transfer,wake,compute";
/// Half of it is the largest block that a check-up maps: with the program and a second block it stays below 100 MiB.
const FREE_MEMORY_MAX: Bytes = Bytes(128 << 20);
const BASELINE: &str = "baseline.json";
/// What the checks since the baseline found.
const LEDGER: &str = "checks.json";

/// Options of `guard`.
#[derive(Debug, Clone, Args)]
pub(crate) struct GuardArguments {
    /// Keep baseline and last check in this folder instead of the user's state folder
    #[arg(long, global = true, value_name = "DIR")]
    state: Option<PathBuf>,
    #[command(subcommand)]
    command: GuardCommand,
}

#[derive(Debug, Clone, Subcommand)]
enum GuardCommand {
    /// Take a baseline of this machine: check-ups of 12 seconds each, spread over time with --every
    Init {
        /// So many check-ups; numbers are judged from 20 on, facts from the first
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1_000))]
        runs: u32,
        /// Time from the beginning of one check-up to that of the next, such as 1h: a baseline of a day knows more states
        /// of a shared host than one of five minutes
        #[arg(long, value_name = "TIME", value_parser = parse_budget)]
        every: Option<Duration>,
        /// Take the baseline from these records or folders of runs of this machine, made with like options, and measure nothing
        #[arg(long, value_name = "RECORD", num_args = 1.., conflicts_with_all = ["runs", "every"])]
        records: Vec<PathBuf>,
    },
    /// Check this machine against its baseline, in 30 seconds at most: as before, changed, or undetermined
    Check(CheckArguments),
    /// Print a systemd service and timer that check once a day
    Unit {
        /// Let the service write metrics to this file
        #[arg(long, value_name = "FILE")]
        metrics_file: Option<PathBuf>,
    },
}

#[derive(Debug, Clone, Args)]
struct CheckArguments {
    /// Judge a record, or a record and the one made right after it, and measure nothing; the check is not remembered
    #[arg(long, value_name = "RECORD", num_args = 1..=2)]
    records: Vec<PathBuf>,
    /// Write metrics in Prometheus' text format to this file, such as /var/lib/node_exporter/sidestep.prom
    #[arg(long, value_name = "FILE")]
    metrics_file: Option<PathBuf>,
    /// Write the result as JUnit XML to this file
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    #[command(flatten)]
    forms: Forms,
}

/// Does what is asked.
pub(crate) fn guard(arguments: &GuardArguments, global: &Global) -> anyhow::Result<Outcome> {
    let state = State(KeptFolder::below("guard", arguments.state.as_deref()));
    match &arguments.command {
        GuardCommand::Init { records, .. } if !records.is_empty() => {
            keep(&state, &GuardBaseline { schema: GUARD_SCHEMA, runs: entries(records)? }, global)?;
            Ok(Outcome::Done)
        }
        GuardCommand::Init { runs, every, .. } => init(&state, *runs, *every, global),
        GuardCommand::Check(check) => self::check(&state, check, global),
        GuardCommand::Unit { metrics_file } => unit(arguments.state.as_deref(), metrics_file.as_deref()),
    }
}

/// The folder of the guard's state.
struct State(KeptFolder);

impl State {
    fn write(&self, name: &str, document: &dyn Document) -> anyhow::Result<()> {
        let bytes = document.json()?;
        self.0.made()?.replace(name, bytes.as_bytes()).map_err(|why| self.0.unusable(why))
    }

    /// A document; `None` if there is none.
    fn read<T: DeserializeOwned>(&self, name: &str) -> anyhow::Result<Option<T>> {
        let Some(folder) = self.0.begun()? else { return Ok(None) };
        let bytes = folder.read(name).map_err(|why| self.0.unusable(why))?;
        let Some(bytes) = bytes else { return Ok(None) };
        let unreadable = || {
            let file = self.0.path().join(name);
            let more = if name == BASELINE { ", and take a baseline with sidestep guard init" } else { "" };
            format!("cannot read {}; remove it{more}", file.display())
        };
        serde_json::from_slice(&bytes).map(Some).with_context(unreadable)
    }

    /// What earlier checks found: remarks and trends, without which a check is judged alone.
    fn ledger(&self) -> GuardLedger {
        match self.read(LEDGER) {
            Ok(found) => found.unwrap_or_default(),
            Err(why) => {
                output::complain(&format!("earlier checks are not known: {why:#}"));
                GuardLedger::default()
            }
        }
    }

    /// Adds to the ledger what is found beside all that other checks added meanwhile: none of them ends in between.
    fn remember<T>(&self, judge: impl FnOnce(&mut GuardLedger) -> anyhow::Result<T>) -> anyhow::Result<T> {
        let _lock = self.lock();
        let mut ledger = self.ledger();
        let found = judge(&mut ledger)?;
        if let Err(why) = self.write(LEDGER, &ledger) {
            output::complain(&format!("the next check will not know of this one: {why:#}"));
        }
        Ok(found)
    }

    /// Keeps other checks from the ledger; one that cannot have it goes on alone, and `write` says why.
    fn lock(&self) -> Option<Lock> {
        StateFolder::new(self.0.path()).lock().ok()
    }

    fn baseline(&self) -> anyhow::Result<GuardBaseline> {
        let found: Option<GuardBaseline> = self.read(BASELINE)?;
        let baseline = found.filter(|baseline| !baseline.runs.is_empty());
        let baseline = baseline.context("no baseline of this machine; take one with sidestep guard init")?;
        anyhow::ensure!(
            baseline.schema == GUARD_SCHEMA,
            "the baseline has schema {}, and this sidestep reads {GUARD_SCHEMA}; take another with sidestep guard init",
            baseline.schema
        );
        Ok(baseline)
    }

    /// One check-up. Its record lies in the guard's folder for as long as it takes.
    fn check_up(&self) -> anyhow::Result<HistoryEntry> {
        self.0.made()?;
        let folder = ScratchFolder::below(self.0.path()).map_err(|why| self.0.unusable(why))?;
        let words =
            CHECK_UP.iter().map(OsString::from).chain(["--only".into(), ONLY.into(), "--record".into()]);
        let words = words.chain([folder.path().as_os_str().to_owned()]);
        let (mut run, _) = parsed_alone::<RunArguments>("run", words)?;
        run.free_memory_max = Some(FREE_MEMORY_MAX);
        check_up::once(&run, &Global { quiet: true, ..Global::default() })?;
        Ok(entry(&store::load(folder.path())?))
    }
}

fn init(state: &State, runs: u32, every: Option<Duration>, global: &Global) -> anyhow::Result<Outcome> {
    install_handlers()?;
    let mut schedule = Schedule::new(every);
    let mut baseline = GuardBaseline { schema: GUARD_SCHEMA, runs: Vec::new() };
    while baseline.runs.len() < runs as usize && schedule.wait() {
        let run = state.check_up()?;
        if pending_signal().is_some() {
            break;
        }
        if !global.quiet {
            let busy = run.doubts.first().map_or_else(String::new, |why| format!("  busy: {why}"));
            output::say(&format!("{} of {runs}  {}{busy}", baseline.runs.len() + 1, run.started_utc));
        }
        baseline.runs.push(run);
    }
    let signal = pending_signal();
    if signal.is_some() && baseline.runs.len() < FEWEST_RUNS {
        output::complain(&format!(
            "stopped after {} of {runs} runs; the baseline before, if any, stays",
            baseline.runs.len()
        ));
    } else {
        keep(state, &baseline, global)?;
    }
    Ok(signal.map_or(Outcome::Done, Outcome::Interrupted))
}

/// Makes runs the baseline. What was found by another is forgotten.
fn keep(state: &State, baseline: &GuardBaseline, global: &Global) -> anyhow::Result<()> {
    let guard = Guard::new(baseline, allowance(&[], "")).context("a baseline without runs")?;
    state.write(BASELINE, baseline)?;
    let _lock = state.lock();
    // There may be none.
    let _ = state.0.made()?.remove(LEDGER);
    if global.json {
        output::print_json(baseline)
    } else if global.quiet {
        Ok(())
    } else {
        let page = report::guard_baseline_page(&guard.classes(), baseline.runs.len(), guard.busy_runs());
        output::print(&page.terminal(output::terminal(global), true))
    }
}

/// What a history keeps of records.
fn entries(records: &[PathBuf]) -> anyhow::Result<Vec<HistoryEntry>> {
    records.iter().map(|path| Ok(entry(&store::load(path)?))).collect()
}

/// A check-up, and a second one if the first shows numbers that need it; `None` if a signal came.
fn check_ups(state: &State, guard: &Guard<'_>) -> anyhow::Result<Option<Vec<HistoryEntry>>> {
    install_handlers()?;
    let mut checks = vec![state.check_up()?];
    if pending_signal().is_none() && guard.is_to_be_confirmed(&checks[0]) {
        checks.push(state.check_up()?);
    }
    Ok(pending_signal().is_none().then_some(checks))
}

fn check(state: &State, arguments: &CheckArguments, global: &Global) -> anyhow::Result<Outcome> {
    let baseline = state.baseline()?;
    let is_replay = !arguments.records.is_empty();
    let guard = |ledger: &GuardLedger| {
        Guard::new(&baseline, allowance(&ledger.past, &utc_now())).context("a baseline without runs")
    };
    let outcome = if is_replay {
        let mut ledger = GuardLedger::default();
        guard(&ledger)?.judge(&entries(&arguments.records)?, &mut ledger)
    } else {
        let Some(checks) = check_ups(state, &guard(&state.ledger())?)? else {
            return Ok(pending_signal().map_or(Outcome::Done, Outcome::Interrupted));
        };
        state.remember(|ledger| Ok(guard(ledger)?.judge(&checks, ledger)))?
    };
    if let Some(file) = &arguments.metrics_file {
        write_atomically(file, metrics::metrics(&outcome).as_bytes())?;
    }
    if let Some(file) = &arguments.junit {
        write_atomically(file, metrics::junit(&outcome).as_bytes())?;
    }
    let page = report::guard_page(&outcome);
    arguments.forms.print(&page, &outcome, global)?;
    let verdict = outcome.verdict;
    Ok(Outcome::judged(global, verdict == GuardVerdict::Changed, verdict == GuardVerdict::CannotTell))
}

fn unit(state: Option<&Path>, metrics_file: Option<&Path>) -> anyhow::Result<Outcome> {
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    // The service has another folder than whoever asks for its text.
    let [state, metrics_file] = [state, metrics_file].map(|path| path.map(std::path::absolute).transpose());
    let text = units_text(&program, state?.as_deref(), metrics_file?.as_deref())?;
    output::ensure_shown(&text)?;
    output::print_lines(&text)?;
    Ok(Outcome::Done)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::env;
    use std::process::Command;

    use record::GuardPast;

    use super::*;

    /// Names the folder to the processes of the test below.
    const VARIABLE: &str = "SIDESTEP_TEST_LEDGER";
    const TIMES: usize = 30;

    fn past(checked_utc: String) -> GuardPast {
        GuardPast { checked_utc, saved_days: 0.0, costs: BTreeMap::default() }
    }

    #[test]
    fn no_check_is_lost_of_three_processes_that_add_theirs_at_once() {
        if let Some(folder) = env::var_os(VARIABLE) {
            let state = State(KeptFolder::below("guard", Some(Path::new(&folder))));
            for time in 0..TIMES {
                let name = format!("{}-{time}", std::process::id());
                let added = state.remember(|ledger| {
                    ledger.past.push(past(name));
                    Ok(())
                });
                added.expect("writable");
            }
            return;
        }
        let folder = tempfile::tempdir().expect("a temporary folder");
        let this = env::current_exe().expect("it has a file");
        let name = "guard::tests::no_check_is_lost_of_three_processes_that_add_theirs_at_once";
        let start = |_| {
            let mut command = Command::new(&this);
            command.args(["--exact", name]).env(VARIABLE, folder.path());
            command.stdout(std::process::Stdio::null()).spawn().expect("it can be started")
        };
        let checks: Vec<_> = (0..3).map(start).collect();
        for mut check in checks {
            assert!(check.wait().expect("ours").success());
        }
        let state = State(KeptFolder::below("guard", Some(folder.path())));
        assert_eq!(state.ledger().past.len(), 3 * TIMES);
    }
}

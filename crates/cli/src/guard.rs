//! `sidestep guard`: a baseline of this machine, and whether it is still as it was.

mod metrics;
mod text;

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use clap::{Args, Subcommand};
use experiments::guard::unit::units_text;
use experiments::guard::{ALARMS_PER_CHECK, FEWEST_RUNS, Guard};
use experiments::history::entry;
use host::TrustedFolder;
use host::live::{effective_root, install_handlers, pending_signal, write_atomically};
use host::state_folder::advice;
use record::{GUARD_SCHEMA, GuardBaseline, GuardOutcome, GuardVerdict, HistoryEntry};
use serde::Serialize;
use serde::de::DeserializeOwned;
use toggles::Place;

use crate::arguments::{Arguments, Command, Global, parse_budget};
use crate::outcome::Outcome;
use crate::repeat::Schedule;
use crate::{check_up, output, store};

/// A check-up of the guard: two of them, reading the machine and judging stay within 30 seconds.
const CHECK_UP: [&str; 6] = ["sidestep", "run", "--no-history", "--no-script", "--budget", "12s"];
/// What it measures: sections whose rows are watched. Flaws are facts, and sockets would not fit.
const ONLY: &str = "memory,cores,clocks";
const BASELINE: &str = "baseline.json";
/// A baseline that is being taken.
const BEGUN: &str = "baseline-begun.json";
/// What the last check found.
const LAST: &str = "last.json";

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
    },
    /// Check this machine against its baseline, in 30 seconds at most: as before, changed, or cannot tell
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
    /// Write metrics in Prometheus' text format to this file, such as /var/lib/node_exporter/sidestep.prom
    #[arg(long, value_name = "FILE")]
    metrics_file: Option<PathBuf>,
    /// Write the result as JUnit XML to this file
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
}

/// Does what is asked.
pub(crate) fn guard(arguments: &GuardArguments, global: &Global) -> anyhow::Result<Outcome> {
    let state = State::of(arguments.state.as_deref());
    match &arguments.command {
        GuardCommand::Init { runs, every } => init(&state, *runs, *every, global),
        GuardCommand::Check(check) => self::check(&state, check, global),
        GuardCommand::Unit { metrics_file } => unit(metrics_file.as_deref(), global),
    }
}

/// The folder of the guard's state.
struct State {
    path: PathBuf,
}

impl State {
    /// The folder that was named, or that of this user.
    fn of(named: Option<&Path>) -> Self {
        Self { path: named.map_or_else(|| Place::of_user().state.join("guard"), Path::to_owned) }
    }

    fn opened(&self) -> anyhow::Result<TrustedFolder> {
        TrustedFolder::open_or_make(&self.path).map_err(|why| self.unusable(&why))
    }

    fn unusable(&self, why: &io::Error) -> anyhow::Error {
        anyhow::anyhow!("cannot use {}: {why}; {}", self.path.display(), advice(why, effective_root()))
    }

    fn write(&self, name: &str, document: &impl Serialize) -> anyhow::Result<()> {
        let bytes = serde_json::to_vec(document)?;
        self.opened()?.replace(name, &bytes).map_err(|why| self.unusable(&why))
    }

    /// A document; `None` if there is none.
    fn read<T: DeserializeOwned>(&self, name: &str) -> anyhow::Result<Option<T>> {
        let read = TrustedFolder::open(&self.path).and_then(|folder| folder.read(name));
        let bytes = match read {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            read => read.map_err(|why| self.unusable(&why))?,
        };
        let Some(bytes) = bytes else { return Ok(None) };
        let unreadable = || {
            let file = self.path.join(name);
            format!("cannot read {}; remove it, and take a baseline with sidestep guard init", file.display())
        };
        serde_json::from_slice(&bytes).map(Some).with_context(unreadable)
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
        self.opened()?;
        let folder = self.path.join(format!("check-{}", std::process::id()));
        let words =
            CHECK_UP.iter().map(OsString::from).chain(["--only".into(), ONLY.into(), "--record".into()]);
        let (command, global) = Arguments::parsed(words.chain([folder.clone().into_os_string()]))?;
        let Command::Run(run) = command else { anyhow::bail!("a defect of sidestep: run is no check-up") };
        let measured = check_up::once(&run, &Global { quiet: true, ..global })
            .and_then(|_| Ok(entry(&store::load(&folder)?)));
        // What is left of it is not read again.
        let _ = fs::remove_dir_all(&folder);
        measured
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
        state.write(BEGUN, &baseline)?;
    }
    let signal = pending_signal();
    if signal.is_some() && baseline.runs.len() < FEWEST_RUNS {
        output::complain(&format!(
            "stopped after {} of {runs} runs; the baseline before, if any, stays",
            baseline.runs.len()
        ));
    } else {
        state.write(BASELINE, &baseline)?;
        let folder = state.opened()?;
        for name in [BEGUN, LAST] {
            // There may be none.
            let _ = folder.remove(name);
        }
        let guard = Guard::new(&baseline, ALARMS_PER_CHECK).context("a baseline without runs")?;
        if global.json {
            output::print(&output::json_text(&baseline)?)?;
        } else if !global.quiet {
            output::print(&text::baseline(&guard, baseline.runs.len(), output::terminal(global)))?;
        }
    }
    Ok(signal.map_or(Outcome::Done, Outcome::Interrupted))
}

fn check(state: &State, arguments: &CheckArguments, global: &Global) -> anyhow::Result<Outcome> {
    let baseline = state.baseline()?;
    let guard = Guard::new(&baseline, ALARMS_PER_CHECK).context("a baseline without runs")?;
    install_handlers()?;
    let mut checks = vec![state.check_up()?];
    if pending_signal().is_none() && guard.is_to_be_confirmed(&checks[0]) {
        checks.push(state.check_up()?);
    }
    if let Some(signal) = pending_signal() {
        return Ok(Outcome::Interrupted(signal));
    }
    // What the last check found is a remark; one that cannot be read is none.
    let before: Option<GuardOutcome> = state.read(LAST).ok().flatten();
    let outcome = guard.judge(&checks, before.as_ref(), ALARMS_PER_CHECK);
    if let Err(why) = state.write(LAST, &outcome) {
        output::complain(&format!("the next check will not know of this one: {why:#}"));
    }
    if let Some(file) = &arguments.metrics_file {
        write_atomically(file, metrics::metrics(&outcome).as_bytes())?;
    }
    if let Some(file) = &arguments.junit {
        write_atomically(file, metrics::junit(&outcome).as_bytes())?;
    }
    output::print(&output::text(&outcome, global, |terminal| text::outcome(&outcome, terminal))?)?;
    Ok(match outcome.verdict {
        GuardVerdict::Changed if global.gate => Outcome::Gated,
        GuardVerdict::CannotTell if global.strict => Outcome::Inconclusive,
        _ => Outcome::Done,
    })
}

fn unit(metrics_file: Option<&Path>, global: &Global) -> anyhow::Result<Outcome> {
    anyhow::ensure!(!global.json, "guard unit prints systemd units, which are no JSON; leave --json out");
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    output::print_lines(&units_text(&program, metrics_file)?)?;
    Ok(Outcome::Done)
}

//! `sidestep place`: which threads of a program belong together, what that is worth, proven in turns against the kernel.

mod export;
mod room;
mod run_lengths;
mod running;

use std::ffi::OsString;
use std::fmt::Display;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Args;
use experiments::ab::command_subject::{HowToRun, Metric};
use experiments::ab::{Rules, Subject, run_factorial};
use experiments::place::arms::{self, FACTORS};
use experiments::place::outcome::{ProgramProfile, nothing_tried, outcome};
use experiments::place::run_subject::{RunSeen, RunSubject};
use experiments::place::window_subject::look_time;
use experiments::program::Program;
use host::arch::no_decoder;
use host::live;
use host::live::{ChildOutput, Ending};
use machine::{CpuSet, Topology};
use record::{Cores, Ended, PlaceOutcome, Sharing};
use toggles::{PinHold, Place, Restored};

use crate::forms::Forms;
use crate::options::{GROUP, Global, ProgramArguments, parse_budget, parse_percent, shell_line};
use crate::outcome::{CouldNotMeasure, EndedBySignal, Outcome};
use crate::progress::ExperimentLine;
use crate::recording::seed_of_now;
use crate::store::{self, Folder};
use crate::toggles::{left_changed, offer_to_mend};
use crate::{describe, output};
use export::Form;
use room::Room;
use run_lengths::{as_service, names_of, some_short_lived, too_brief, too_short_lived, went_on};

/// Unless the user says otherwise.
const BUDGET: Duration = Duration::from_secs(60);
/// The watchdog gives this much time beyond the budget.
const DEADLINE_SLACK: Duration = Duration::from_secs(60);
/// Runs of each arm below which no arm can be shown to be better: the least p of nine blocks of two passes, 0.004, stays below
/// the limit after correction for three arms.
const RUNS_MIN: f64 = 18.0;
/// The same in a product of runs.
const ARMS: f64 = arms::ARMS as f64;
/// The name of the document in the folder of `--record`.
const FILE_NAME: &str = "place.json";

/// Options of `place`.
#[derive(Debug, Clone, Args)]
pub(crate) struct PlaceArguments {
    /// Take at most this long, profile included [default: 1m; with --metric-command 25 windows of each of four placements]
    #[arg(long, value_name = "TIME", value_parser = parse_budget)]
    pub(crate) budget: Option<Duration>,
    /// Differences up to this are of no practical matter
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent, default_value = "2")]
    pub(crate) margin: f64,
    /// Run each placement exactly so often, if the budget allows, in place of until the interval is narrow
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) runs: Option<u16>,
    #[command(flatten)]
    pub(crate) program: ProgramArguments,
    /// What the check-up measured of this machine (a record, or its folder): contention, line transfer
    #[arg(long, value_name = "RECORD")]
    pub(crate) check_up: Option<PathBuf>,
    /// Print the recommended placement for other programs, in place of the page; repeatable; not printed with --json
    #[arg(long, value_name = "FORM")]
    pub(crate) export: Vec<Form>,
    /// Fix all random choices
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
    /// Write place.json, with every run, to this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) record: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) forms: Forms,
    /// The folder of lock and journal
    #[arg(long, value_name = "DIR", hide = true)]
    pub(crate) state: Option<PathBuf>,
    /// Place the threads of a process that runs already, and of all that it starts. To compare placements it is put into each of
    /// them, in some of which it may be several times slower while that window lasts: think before you do so to a live service.
    /// The threads are free again in the end; if sidestep is killed its watchdog frees them at once, and where that was killed
    /// too, sidestep toggles revert does
    #[arg(long, value_name = "PID", conflicts_with_all = ["command", GROUP])]
    pub(crate) pid: Option<u32>,
    /// With --pid: a shell command that prints a number which rises with the work done; without it nothing can be proven
    #[arg(long, value_name = "COMMAND", requires = "pid", conflicts_with = "command")]
    pub(crate) metric_command: Option<String>,
    /// With --pid: how long each placement is looked at in turn
    #[arg(long, value_name = "TIME", value_parser = parse_budget, default_value = "1s", requires = "pid", conflicts_with = "command")]
    pub(crate) window: Duration,
    /// With --metric-command: go on with a placement under which less than half gets done of what the kernel's gets done; else it is left out
    /// as soon as three windows of each show that
    #[arg(long, requires = "metric_command", conflicts_with = "command")]
    pub(crate) keep_slow: bool,
    /// With --pid: watch it for so long before anything is decided
    #[arg(long, value_name = "TIME", value_parser = parse_budget, default_value = "3s", requires = "pid", conflicts_with = "command")]
    pub(crate) profile: Duration,
    /// The program and its arguments, after --
    #[arg(last = true, value_name = "COMMAND", required_unless_present = "pid")]
    pub(crate) command: Vec<OsString>,
}

impl PlaceArguments {
    /// Where pins are journalled.
    pub(crate) fn place(&self) -> Place {
        self.state.as_ref().map_or_else(Place::of_user, |state| Place { state: state.clone(), tree: None })
    }
}

/// Profiles, decides, predicts and proves.
pub(crate) fn place(arguments: &PlaceArguments, global: &Global) -> anyhow::Result<Outcome> {
    let started = Instant::now();
    let metric = arguments.program.metric()?;
    let folder =
        arguments.record.as_deref().map(|folder| Folder::of_document(folder, FILE_NAME)).transpose()?;
    let check_up = arguments.check_up.as_deref().map(store::load).transpose()?;
    let cores = check_up.map(|record| record.cores).unwrap_or_default();
    let machine = describe::live_machine();
    let allowed = machine.topology.allowed.clone();
    live::install_handlers().context("cannot listen to signals")?;
    offer_to_mend(&arguments.place(), global)?;
    let seed = arguments.seed.unwrap_or_else(seed_of_now);
    let request = Request {
        arguments,
        topology: &machine.topology,
        cores: &cores,
        allowed: &allowed,
        seed,
        folder,
        global,
    };
    let (result, unfreed) = match arguments.pid {
        Some(process) => running::tried(&request, process)?,
        None => of_command(&request, metric)?,
    };
    let mut found = match result {
        Ok(found) => found,
        Err(error) => return crate::toggles::after_error(error, &unfreed),
    };
    found.head.elapsed_s = Some(started.elapsed().as_secs_f64());
    show(&request, found, &unfreed)
}

/// What was asked for, and what is known of the machine.
struct Request<'a> {
    arguments: &'a PlaceArguments,
    topology: &'a Topology,
    cores: &'a Cores,
    /// What this process may use.
    allowed: &'a CpuSet,
    seed: u64,
    /// Where the document goes.
    folder: Option<Folder>,
    global: &'a Global,
}

impl Request<'_> {
    fn budget(&self) -> Duration {
        let trial = || {
            let look = look_time(self.arguments.window, Duration::ZERO);
            self.arguments.profile + running::trial_time(look)
        };
        let default = || if self.arguments.metric_command.is_some() { trial() } else { BUDGET };
        self.arguments.budget.unwrap_or_else(default)
    }

    /// The lock, and the watchdog that sets threads free.
    fn pin_hold(&self) -> anyhow::Result<PinHold> {
        let deadline = self.budget() + self.arguments.profile + DEADLINE_SLACK;
        Ok(PinHold::ready(&self.arguments.place(), deadline)?)
    }

    fn rules(&self, margin: f64) -> Rules {
        Rules {
            precision: margin / 2.0,
            budget_s: self.budget().as_secs_f64(),
            pairs: self.arguments.runs.map(usize::from),
            seed: self.seed,
        }
    }
}

/// A document or an error, and threads that could not be set free.
type Ran = (anyhow::Result<PlaceOutcome>, Vec<Restored>);

fn of_command(request: &Request<'_>, metric: Option<Metric>) -> anyhow::Result<Ran> {
    let arguments = request.arguments;
    let program = Program::of(arguments.command.clone());
    let mut subject = RunSubject::new(program, how(request), metric, request.pin_hold()?, request.seed);
    let result = tried(request, &mut subject, &arguments.command);
    Ok((result, std::mem::take(&mut subject.unfreed)))
}

/// One run that takes longer than all of them may can show nothing, and the watchdog would end sidestep with it.
fn how(request: &Request<'_>) -> HowToRun {
    let arguments = request.arguments;
    let limit = Some(arguments.program.timeout.unwrap_or_else(|| request.budget()));
    HowToRun { limit, ..arguments.program.how(ChildOutput::Discard) }
}

/// Enters who shares what, or why that is not known.
fn learn(setting: &mut ProgramProfile, sharing: Result<Sharing, impl std::fmt::Display>) {
    match sharing {
        Ok(sharing) => {
            setting
                .head
                .notes
                .extend(no_decoder().map(|why| format!("which data threads share is not known: {why}")));
            setting.sharing = Some(sharing);
        }
        Err(error) => setting.head.notes.push(format!("who shares what is not known: {error}")),
    }
}

/// The whole experiment on a command.
fn tried(
    request: &Request<'_>,
    subject: &mut RunSubject,
    command: &[OsString],
) -> anyhow::Result<PlaceOutcome> {
    let mut line = ExperimentLine::new(request.global.quiet);
    let (profile, sharing) = subject.profile()?;
    worked(request.arguments, &profile)?;
    let room = Room::of(request, profile.cpus.as_ref().unwrap_or(request.allowed));
    let mut setting = room.setting(shell_line(command), &profile.census);
    // Where there is one CPU it does not matter how soon threads are gone.
    let short_lived = || too_short_lived(&profile).filter(|_| room.too_small().is_none());
    let went_on = went_on(&profile.left_behind);
    setting.unseen = too_brief(&profile, &went_on).or_else(short_lived);
    setting.head.notes.extend(some_short_lived(&profile));
    learn(&mut setting, sharing);
    // Being watched costs time, more where threads wake each other: some runs are not.
    let is_worth = room.nothing_to_place(&setting).is_none();
    let run_s = profile.run.wall_s;
    if let Some(why) = no_pass_fits(run_s, subject.elapsed_s(), request).filter(|_| is_worth) {
        line.end();
        let found = nothing_tried(&setting, &room.unpredicted_arms(&setting), &why);
        return Ok(PlaceOutcome { ended: Some(Ended::BudgetSpent), ..found });
    }
    let plain = if is_worth { subject.unwatched(run_s, request.budget())? } else { None };
    let arms = room.arms(&setting, plain.as_ref());
    if let Some(why) = room.nothing_to_place(&setting) {
        line.end();
        setting.head.notes.extend(service(subject.left_behind, &went_on));
        let is_idle = setting.unseen.is_none() && room.too_small().is_none() && !went_on.is_empty();
        let why = if is_idle { format!("{why} before it {}", as_service(&went_on)) } else { why };
        return Ok(nothing_tried(&setting, &arms, &why));
    }
    setting.head.notes.extend(too_short(run_s, request.budget()));
    subject.try_arms(arms.plans.clone(), arms.sets());
    let course = run_factorial(subject, FACTORS, &request.rules(setting.margin), &mut line);
    line.end();
    let mut found = outcome(&course?, &subject.rows(), &subject.guards(), &arms, &setting);
    found.head.notes.extend(subject.runs.notes());
    found.head.notes.extend(service(subject.left_behind, &went_on));
    Ok(found)
}

/// A profile of a run that failed says nothing.
fn worked(arguments: &PlaceArguments, profile: &RunSeen) -> anyhow::Result<()> {
    let how = match profile.run.ending {
        Ending::Code(0) => return Ok(()),
        Ending::Code(_) if arguments.program.ignore_failure => return Ok(()),
        Ending::Code(code) => format!("ended with exit code {code}; correct it, or add --ignore-failure"),
        Ending::Signal(signal) => format!("was ended by signal {signal}"),
        Ending::TimedOut if arguments.program.timeout.is_some() => "took longer than --timeout".to_owned(),
        Ending::TimedOut => {
            "took longer than --budget for a single run; give some eighty times that, or a shorter task"
                .to_owned()
        }
        Ending::Interrupted => {
            let signal = live::pending_signal().context("interrupted")?;
            return Err(anyhow::Error::new(EndedBySignal(signal)).context("ended by the user"));
        }
    };
    let said = String::from_utf8_lossy(&profile.run.errors);
    let last = said.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_owned();
    let said = if last.is_empty() { String::new() } else { format!(" ({last:?})") };
    Err(CouldNotMeasure::because(format!("the command {how}{said}")))
}

/// What is to be known of a command that has ended while processes of it run on.
fn service(left_behind: usize, went_on: &[String]) -> Option<String> {
    let names = if went_on.is_empty() { String::new() } else { format!(" ({})", names_of(went_on)) };
    (left_behind > 0).then(|| {
        format!(
            "processes ran on when the command had ended, at most {left_behind} at once{names}: it starts a service in the background; they were set free, and run on; sidestep place --pid PID places such a one"
        )
    })
}

/// Why no placement is tried once where what is left of the budget does not hold a run of each, and one that nobody watches.
fn no_pass_fits(run_s: f64, spent_s: f64, request: &Request<'_>) -> Option<String> {
    let (budget, needed_s) = (request.budget(), run_s * (ARMS + 1.0));
    too_short(run_s, budget).filter(|_| spent_s + needed_s > budget.as_secs_f64())
}

/// What to do if the budget is too short to show anything.
fn too_short(run_s: f64, budget: Duration) -> Option<String> {
    let needed_s = run_s * (RUNS_MIN * ARMS + ARMS);
    (needed_s > budget.as_secs_f64()).then(|| {
        format!(
            "a run takes {run_s:.1} s and {RUNS_MIN} of each placement are needed to show anything: give --budget {:.0}s or a shorter task",
            needed_s.ceil()
        )
    })
}

/// Prints what was found, then writes it: a full disk shall not lose it.
fn show(request: &Request<'_>, found: PlaceOutcome, unfreed: &[Restored]) -> anyhow::Result<Outcome> {
    let global = request.global;
    let document = request.folder.as_ref().map(|_| output::json_text(&found)).transpose()?;
    let shown = PlaceOutcome { raw: Vec::new(), ..found };
    let printed = print_result(&shown, request.arguments, global);
    let saved = save(request, &shown, document);
    // Threads that are still bound are worse than any error in that.
    if !unfreed.is_empty() {
        for error in [printed.err(), saved.err()].into_iter().flatten() {
            output::complain(&error.to_string());
        }
        return Ok(left_changed());
    }
    saved?;
    printed?;
    if let Some(signal) = live::pending_signal() {
        return Ok(Outcome::Interrupted(signal));
    }
    let is_failing = shown.ended == Some(Ended::Failing) || shown.aa.contaminated;
    let is_decided = shown.arms.iter().skip(1).all(|arm| arm.verdict != stats::Verdict::Inconclusive);
    let is_tried = shown.unseen.is_none() && !(shown.arms.is_empty() && shown.ended.is_some());
    let is_known = shown.recommended.is_some() || (is_decided && is_tried);
    Ok(if is_failing {
        Outcome::Inconclusive
    } else {
        Outcome::judged(global, shown.recommended.is_some(), !is_known)
    })
}

fn print_result(shown: &PlaceOutcome, arguments: &PlaceArguments, global: &Global) -> anyhow::Result<()> {
    if global.json {
        output::print_json(shown)
    } else if !arguments.export.is_empty() {
        let exported = arguments.export.iter().map(|form| export::text(shown, *form, arguments.pid));
        output::print_lines(&exported.collect::<String>())?;
        output::say(&shown.head.sentence);
        Ok(())
    } else {
        output::print(&arguments.forms.printed(&report::place_page(shown), shown, global)?)
    }
}

fn save(request: &Request<'_>, shown: &PlaceOutcome, document: Option<String>) -> anyhow::Result<()> {
    let document = request.folder.as_ref().zip(document);
    let recorded = document.map_or(Ok(()), |(folder, text)| folder.write_document(&text).map_err(unlucky));
    let arguments = request.arguments;
    let page = report::place_page(shown);
    arguments.forms.write_files(&page).map_err(unlucky)?;
    recorded
}

/// Bad luck, not bad input: the file could be written at the start.
fn unlucky(error: impl Display) -> anyhow::Error {
    CouldNotMeasure::because(format!("the result is printed, but {error}"))
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn a_budget_that_can_show_nothing_is_answered_by_what_would() {
        let budget = Duration::from_secs(60);
        assert_eq!(too_short(0.5, budget), None);
        assert!(too_short(1.0, budget).is_some_and(|note| note.contains("--budget 76s")));
    }
}

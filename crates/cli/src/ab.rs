//! `sidestep ab`: a toggle flipped in turns around probes or a program, or two programs in turns.

mod across_reboot;
mod arguments;

use std::ffi::OsString;
use std::time::{Duration, Instant};

use anyhow::Context;
use clock::TickRate;
use experiments::ab::command_subject::CommandSubject;
use experiments::ab::outcome::{Declared, TWO_PROGRAMS, has_verdict};
use experiments::ab::probe_subject::{AGGREGATE, ProbeSubject, ProbeSubjectError};
use experiments::ab::switcher::Switcher;
use experiments::ab::{Labels, PAIRS_MIN, Rules, Subject, outcome, run};
use experiments::program::Program;
use host::live::{self, ChildOutput, Pinned};
use machine::CpuId;
use record::{DocumentHead, Ended, ExperimentOutcome, ExperimentSubject, Failures};
use stats::{Arm, Verdict};
use toggles::{Pair, Place, Restored, Switch, SystemState};

use crate::options::{Global, command_line};
use crate::outcome::{CouldNotMeasure, EndedBySignal, Outcome};
use crate::output;
use crate::progress::ExperimentLine;
use crate::recording::{chosen_cpus, seed_of_now};
use crate::store::Folder;
use crate::toggles::{Described, after_error, left_changed, offer_to_mend};
pub(crate) use arguments::AbArguments;

/// Budget of an experiment on probes.
const PROBE_BUDGET: Duration = Duration::from_secs(15);
/// Budget of one on programs.
const PROGRAM_BUDGET: Duration = Duration::from_secs(60);
/// Margins in percent. Source: METHODOLOGY.md, "Comparisons".
const PROBE_MARGIN_PERCENT: f64 = 1.0;
const PROGRAM_MARGIN_PERCENT: f64 = 2.0;
/// Unless asked otherwise the interval has to be narrower than the margin by this factor, so that it fits inside.
const PRECISION_OF_MARGIN: f64 = 0.5;
/// Time in which the rate of the counter is found: a few ppm.
const CALIBRATION_NS: u64 = 20_000_000;
/// What the sentences call the user's program.
const CALLED: &str = "this program";
/// What a run of it is made of.
const RUN_ONCE: &str = "each run once";
/// The name of the document in the folder of `--record`.
const FILE_NAME: &str = "experiment.json";

/// Runs the experiment asked for.
pub(crate) fn ab(arguments: &AbArguments, global: &Global) -> anyhow::Result<Outcome> {
    if arguments.across.is_asked() {
        return across_reboot::across_reboot(arguments, global);
    }
    anyhow::ensure!(
        arguments.a.is_none() || arguments.command.is_empty(),
        "--a and --b name the programs; leave the command after -- out"
    );
    let described = Described::open(None)?;
    let system = described.system_state();
    let pair = arguments.toggle.as_ref().map(|text| pair(text, arguments, &system)).transpose()?;
    let folder =
        arguments.record.as_deref().map(|folder| Folder::of_document(folder, FILE_NAME)).transpose()?;
    live::install_handlers().context("cannot listen to signals")?;
    if pair.as_ref().is_some_and(|pair| !pair.changes(Arm::B).is_empty()) {
        offer_to_mend(&Place::live(), global)?;
    }
    if let Some(few) = arguments.pairs.filter(|asked| *asked < PAIRS_MIN && !global.quiet) {
        output::say(&format!("--pairs {few} is raised to {PAIRS_MIN}: fewer have no interval"));
    }
    let plan = Plan::of(arguments);
    let request = Request { arguments, pair: pair.as_ref(), described: &described, plan: &plan, global };
    let started = Instant::now();
    let (result, restored) =
        if arguments.runs_programs() { on_programs(&request)? } else { on_probes(&request)? };
    match result {
        Ok(mut conclusion) => {
            conclusion.head.elapsed_s = Some(started.elapsed().as_secs_f64());
            conclude(conclusion, folder.as_ref(), &restored, &request)
        }
        Err(error) => after_error(error, &restored),
    }
}

/// What was asked for, and what is known of the machine.
struct Request<'a> {
    arguments: &'a AbArguments,
    /// None where two programs are compared.
    pair: Option<&'a Pair>,
    described: &'a Described,
    plan: &'a Plan,
    global: &'a Global,
}

impl Request<'_> {
    /// The rules for a subject that is ready: a budget of ours is one for measuring, one of the user's is for all.
    fn rules<S: Subject>(&self, subject: &S) -> Rules {
        let ready_s = if self.arguments.budget.is_none() { subject.elapsed_s() } else { 0.0 };
        Rules { budget_s: self.plan.rules.budget_s + ready_s, ..self.plan.rules }
    }
}

/// The pair asked for, if it can be switched here and the user has agreed to it.
fn pair(text: &str, arguments: &AbArguments, system: &SystemState) -> anyhow::Result<Pair> {
    // Both separators are natural; a comma also parts items of a list, so a colon wins.
    let text = match text.split_once('=') {
        Some((_, values)) if !values.contains(':') => text.replacen(',', ":", 1),
        _ => text.to_owned(),
    };
    let pair = Pair::parse(&text, system)?;
    pair.allowed_by(&arguments.consent.into(), system)?;
    let name = pair.toggle.about().name;
    let settings_fit = |switch: &Switch| match switch {
        Switch::Process(settings) => settings.iter().all(live::ProcessSetting::fits_a_thread),
        Switch::Buffers(_) | Switch::System(_) => true,
    };
    if arguments.runs_programs() {
        anyhow::ensure!(
            !matches!(pair.switch(Arm::A), Switch::Buffers(_)),
            "{name} does nothing to a program; try thp or huge-malloc, or leave the command out"
        );
    } else {
        anyhow::ensure!(
            pair.switches.iter().all(settings_fit),
            "{name} is read when a program starts: give one after --, as in sidestep ab --toggle {name} -- ./program"
        );
    }
    Ok(pair)
}

/// What is declared before anything is measured.
struct Plan {
    rules: Rules,
    declared: Declared,
}

impl Plan {
    fn of(arguments: &AbArguments) -> Self {
        let (budget, margin) = if arguments.runs_programs() {
            (PROGRAM_BUDGET, PROGRAM_MARGIN_PERCENT)
        } else {
            (PROBE_BUDGET, PROBE_MARGIN_PERCENT)
        };
        let margin = arguments.margin.unwrap_or(margin) / 100.0;
        let precision = arguments.precision.map_or(margin * PRECISION_OF_MARGIN, |percent| percent / 100.0);
        let seed = arguments.seed.unwrap_or_else(seed_of_now);
        let budget_s = arguments.budget.unwrap_or(budget).as_secs_f64();
        Self {
            rules: Rules {
                precision,
                budget_s,
                pairs: arguments.pairs.map(|pairs| pairs.max(PAIRS_MIN)),
                seed,
            },
            declared: Declared { margin, precision, seed },
        }
    }

    fn budget(&self) -> Duration {
        Duration::from_secs_f64(self.rules.budget_s)
    }
}

/// The outcome, and what became of each value that was switched.
type Ran = (anyhow::Result<ExperimentOutcome>, Vec<Restored>);

/// The programs, ready to be run, and what pins them.
fn start_programs(request: &Request<'_>) -> anyhow::Result<(CommandSubject, Option<Pinned>)> {
    let arguments = request.arguments;
    let programs = programs(arguments)?;
    let metric = arguments.program.metric()?;
    let pinned = arguments.cpu().map(Pinned::to).transpose()?;
    let switcher = match request.pair {
        Some(pair) => Switcher::new(std::slice::from_ref(pair), request.plan.budget())?,
        None => Switcher::none(),
    };
    // Without a usable counter there is no control; the program is timed by the kernel's clock in any case.
    let control = request.pair.and_then(|_| TickRate::calibrate(CALIBRATION_NS).ok());
    let output = if arguments.show_output { ChildOutput::Show } else { ChildOutput::Discard };
    let how = arguments.program.how(output);
    let subject = CommandSubject::new(programs, how, metric, switcher, control, request.plan.rules.seed);
    Ok((subject, pinned))
}

/// The probes, ready to be run on the CPU given, and what pins them.
fn start_probes(request: &Request<'_>, pair: &Pair) -> anyhow::Result<(ProbeSubject, CpuId, Pinned)> {
    let asked = request.arguments.cpu().map(|cpu| [cpu].into_iter().collect());
    let machine = &request.described.machine;
    let cpus = chosen_cpus(machine, asked.as_ref())?;
    let cpu = *cpus.last().context("no CPU may be used here")?;
    let pinned = Pinned::to(cpu)?;
    let switcher = Switcher::new(std::slice::from_ref(pair), request.plan.budget())?;
    let name = pair.toggle.about().name;
    // A budget of ours is one for measuring.
    let limit_s = request.arguments.budget.map_or(f64::INFINITY, |budget| budget.as_secs_f64());
    let seed = request.plan.rules.seed;
    let started = ProbeSubject::start(name, switcher, &machine.identity, cpu, seed, limit_s);
    Ok((started.map_err(not_started)?, cpu, pinned))
}

/// Whose fault it is that probes were not started.
fn not_started(error: ProbeSubjectError) -> anyhow::Error {
    match live::pending_signal() {
        Some(signal) if matches!(error, ProbeSubjectError::Interrupted) => {
            anyhow::Error::new(EndedBySignal(signal)).context(error)
        }
        _ if error.is_of_machine() => CouldNotMeasure::because(error),
        _ => error.into(),
    }
}

fn on_programs(request: &Request<'_>) -> anyhow::Result<Ran> {
    let arguments = request.arguments;
    anyhow::ensure!(
        request.pair.is_some() || arguments.a.is_some(),
        "name a toggle with --toggle, or two programs with --a and --b"
    );
    let (mut subject, _pinned) = start_programs(request)?;
    let about = match (&arguments.a, &arguments.b) {
        (Some(a), Some(b)) => ExperimentSubject {
            treatment: TWO_PROGRAMS.to_owned(),
            subject: format!("{a} | {b}"),
            a: a.clone(),
            b: b.clone(),
            aggregate: RUN_ONCE.to_owned(),
        },
        _ => about_toggle(request, command_line(&arguments.command), RUN_ONCE),
    };
    let labels = Labels { about, called: CALLED.to_owned(), head: head() };
    let result = run_trials(&mut subject, request, &labels).map(|mut conclusion| {
        conclusion.head.notes.extend(subject.runs.notes());
        conclusion
    });
    Ok((result, subject.switcher.end()))
}

fn on_probes(request: &Request<'_>) -> anyhow::Result<Ran> {
    let pair = request.pair.context("name a toggle with --toggle, or a command after --")?;
    let (mut subject, cpu, _pinned) = start_probes(request, pair)?;
    let about = about_toggle(request, format!("probes on CPU {cpu}"), AGGREGATE);
    let mut labels = Labels { about, called: String::new(), head: head() };
    labels.head.notes = subject.notes();
    let result = run_trials(&mut subject, request, &labels).map(|mut conclusion| {
        // How often buffers were laid is known only in the end.
        let late: Vec<String> =
            subject.notes().into_iter().filter(|note| !conclusion.head.notes.contains(note)).collect();
        conclusion.head.notes.extend(late);
        conclusion
    });
    Ok((result, subject.switcher.end()))
}

/// The words for the toggle, if there is one.
fn about_toggle(request: &Request<'_>, subject: String, aggregate: &str) -> ExperimentSubject {
    let of_toggle = |pair: &Pair| ExperimentSubject {
        treatment: pair.toggle.about().name.to_owned(),
        a: pair.state_name(Arm::A),
        b: pair.state_name(Arm::B),
        ..ExperimentSubject::default()
    };
    let toggle = request.pair.map(of_toggle).unwrap_or_default();
    ExperimentSubject { subject, aggregate: aggregate.to_owned(), ..toggle }
}

fn head() -> DocumentHead {
    DocumentHead {
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        started_utc: live::utc_now(),
        ..DocumentHead::default()
    }
}

fn run_trials<S: Subject>(
    subject: &mut S,
    request: &Request<'_>,
    labels: &Labels,
) -> anyhow::Result<ExperimentOutcome>
where
    S::Error: std::error::Error + Send + Sync + 'static,
{
    let mut line = ExperimentLine::new(request.global.quiet).estimated();
    let rules = request.rules(subject);
    let trial_log = run(subject, &rules, &mut line);
    line.end();
    let trial_log = trial_log?;
    line.afforded()?;
    Ok(outcome(&trial_log, &subject.rows(), &subject.guards(), labels, &request.plan.declared))
}

/// What is run in states A and B.
fn programs(arguments: &AbArguments) -> anyhow::Result<[Program; 2]> {
    if let (Some(a), Some(b)) = (&arguments.a, &arguments.b) {
        return Ok([program(a, arguments.no_shell)?, program(b, arguments.no_shell)?]);
    }
    let program = Program::of(arguments.command.clone());
    Ok([program.clone(), program])
}

fn program(text: &str, no_shell: bool) -> anyhow::Result<Program> {
    let words: Vec<OsString> = if no_shell {
        text.split_whitespace().map(OsString::from).collect()
    } else {
        ["sh", "-c", text].map(OsString::from).to_vec()
    };
    anyhow::ensure!(!text.trim().is_empty(), "--a and --b need a command each");
    Ok(Program::of(words))
}

/// Prints and writes the outcome; the machine is put back already.
fn conclude(
    found: ExperimentOutcome,
    folder: Option<&Folder>,
    restored: &[Restored],
    request: &Request<'_>,
) -> anyhow::Result<Outcome> {
    if let Some(folder) = folder {
        folder.write_document(&output::json_text(&found)?)?;
    }
    let shown = ExperimentOutcome { raw: Vec::new(), ..found };
    let (forms, global) = (&request.arguments.forms, request.global);
    forms.print(&report::experiment_page(&shown), &shown, global)?;
    if let Some(folder) = folder.filter(|_| !global.json && !global.quiet && !forms.words.markdown) {
        output::print_lines(&format!("record  {}\n", folder.record_path().display()))?;
    }
    Ok(if restored.iter().any(|result| !result.is_settled()) {
        left_changed()
    } else if let Some(signal) = live::pending_signal() {
        Outcome::Interrupted(signal)
    } else if let Some(why) = failing(shown.ended, &shown.failures) {
        Outcome::NotMeasured(anyhow::anyhow!(why))
    } else if shown.aa.contaminated || shown.rows.is_empty() {
        Outcome::Inconclusive
    } else {
        let is_slower = shown.rows.iter().any(|row| row.row.verdict == Verdict::Slower);
        Outcome::judged(request.global, is_slower, !has_verdict(&shown))
    })
}

/// What a state says that never worked, where that ended the experiment.
fn failing(ended: Ended, failures: &[Failures]) -> Option<String> {
    let never = failures.iter().find(|state| state.failed == state.of).or(failures.first());
    let never = never.filter(|_| ended == Ended::Failing)?;
    let (state, why) = (never.state.to_uppercase(), &never.example);
    Some(format!("cannot compare: state {state} failed in {} of {} runs: {why}", never.failed, never.of))
}

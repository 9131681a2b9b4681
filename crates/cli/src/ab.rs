//! `sidestep ab`: a toggle flipped in turns around probes or a program, or two programs in turns.

mod across_reboot;
mod arguments;
mod dry_run;
mod factorial;
mod line;
mod programs;

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use clock::TickRate;
use experiments::ab::command_subject::CommandSubject;
use experiments::ab::outcome::{Declared, TWO_PROGRAMS, has_verdict};
use experiments::ab::probe_subject::{AGGREGATE, ProbeSubject, ProbeSubjectError};
use experiments::ab::switcher::Switcher;
use experiments::ab::{Labels, PAIRS_MIN, Rules, Subject, outcome, run};
use host::live::{self, Pinned, write_atomically};
use machine::CpuId;
use record::{Ended, ExperimentOutcome, Failures};
use report::Page;
use stats::Verdict;
use toggles::{Pair, Position, Restored, Surroundings, Switch, combinable};

use crate::arguments::Global;
use crate::check_up::{chosen_cpus, seed_of_now};
use crate::outcome::{CouldNotMeasure, EndedBySignal, Outcome};
use crate::output;
use crate::toggles::{Described, after_error, left_changed, offer_to_mend};
pub(crate) use arguments::{AbArguments, Way};
pub(crate) use line::Line;

/// Version of the document of `--dry-run --json`.
const DRY_RUN_SCHEMA: u32 = 1;
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
    if let ([first, second, ..], false) = (arguments.toggle.as_slice(), arguments.factorial) {
        anyhow::bail!(
            "{first} and {second} are two toggles; add --factorial to run all their combinations, or name one"
        );
    }
    let described = Described::open(None)?;
    let around = described.around();
    let pairs: Vec<Pair> =
        arguments.toggle.iter().map(|text| pair(text, arguments, &around)).collect::<Result<_, _>>()?;
    if arguments.factorial {
        combinable(&pairs)?;
    }
    if arguments.dry_run {
        anyhow::ensure!(!pairs.is_empty(), "--dry-run shows what a toggle writes; name one with --toggle");
        return dry_run::dry_run(&pairs, global);
    }
    arguments.forms.ensure_writable()?;
    let file = arguments.record.as_deref().map(|folder| prepare_folder(folder, FILE_NAME)).transpose()?;
    live::install_handlers().context("cannot listen to signals")?;
    if pairs.iter().any(|pair| matches!(pair.to_b, Switch::System(_))) {
        offer_to_mend(&toggles::Place::live(), global)?;
    }
    if let Some(few) = arguments.pairs.filter(|asked| *asked < PAIRS_MIN && !global.quiet) {
        output::say(&format!("--pairs {few} is raised to {PAIRS_MIN}: fewer have no interval"));
    }
    let plan = Plan::of(arguments, pairs.len());
    let request = Request { arguments, pairs: &pairs, described: &described, plan: &plan, global };
    let started = Instant::now();
    if arguments.factorial {
        let (result, restored) = factorial::conducted(&request)?;
        return match result {
            Ok(mut found) => {
                found.elapsed_s = started.elapsed().as_secs_f64();
                factorial::conclude(found, file.as_deref(), &restored, &request)
            }
            Err(error) => after_error(error, &restored),
        };
    }
    let (result, restored) =
        if arguments.runs_programs() { on_programs(&request)? } else { on_probes(&request)? };
    match result {
        Ok(mut found) => {
            found.elapsed_s = started.elapsed().as_secs_f64();
            conclude(found, file.as_deref(), &restored, &request)
        }
        Err(error) => after_error(error, &restored),
    }
}

/// What was asked for, and what is known of the machine.
struct Request<'a> {
    arguments: &'a AbArguments,
    /// One, or several with `--factorial`; none where two programs are compared.
    pairs: &'a [Pair],
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
fn pair(text: &str, arguments: &AbArguments, around: &Surroundings) -> anyhow::Result<Pair> {
    // Both separators are natural; a comma also parts items of a list, so a colon wins.
    let text = match text.split_once('=') {
        Some((_, values)) if !values.contains(':') => text.replacen(',', ":", 1),
        _ => text.to_owned(),
    };
    let pair = Pair::parse(&text, around)?;
    pair.allowed_by(&arguments.consent.into(), around)?;
    let name = pair.toggle.about().name;
    let settings_fit = |switch: &Switch| match switch {
        Switch::Process(settings) => settings.iter().all(live::ProcessSetting::fits_a_thread),
        Switch::Buffers(_) | Switch::System(_) => true,
    };
    if arguments.runs_programs() {
        anyhow::ensure!(
            !matches!(pair.to_a, Switch::Buffers(_)),
            "{name} does nothing to a program; try thp or huge-malloc, or leave the command out"
        );
    } else {
        anyhow::ensure!(
            settings_fit(&pair.to_a) && settings_fit(&pair.to_b),
            "{name} is read when a program starts: give one after --, as in sidestep ab --toggle {name} -- ./program"
        );
    }
    Ok(pair)
}

/// What a state is called: `ssbd=on`.
fn state_name(pair: &Pair, position: Position) -> String {
    format!("{}={}", pair.toggle.about().name, pair.value(position).name)
}

/// What is declared before anything is measured.
struct Plan {
    rules: Rules,
    declared: Declared,
}

impl Plan {
    /// Each toggle brings a budget of its own.
    fn of(arguments: &AbArguments, toggles: usize) -> Self {
        let (budget, margin) = if arguments.runs_programs() {
            (PROGRAM_BUDGET, PROGRAM_MARGIN_PERCENT)
        } else {
            (PROBE_BUDGET, PROBE_MARGIN_PERCENT)
        };
        let budget = budget * u32::try_from(toggles.max(1)).unwrap_or(1);
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

type Ran<T> = (anyhow::Result<T>, Vec<Restored>);

/// The programs, ready to be run, and what pins them.
fn start_programs(request: &Request<'_>) -> anyhow::Result<(CommandSubject, Option<Pinned>)> {
    let arguments = request.arguments;
    let programs = programs::programs(arguments)?;
    let metric = programs::metric(arguments)?;
    let pinned = arguments.cpu().map(Pinned::to).transpose()?;
    let is_switched = !request.pairs.is_empty();
    let switcher =
        if is_switched { Switcher::new(request.pairs, request.plan.budget())? } else { Switcher::none() };
    // Without a usable counter there is no control; the program is timed by the kernel's clock in any case.
    let control = if is_switched { TickRate::calibrate(CALIBRATION_NS).ok() } else { None };
    let how = programs::how(arguments);
    let subject = CommandSubject::new(programs, how, metric, switcher, control, request.plan.rules.seed);
    Ok((subject, pinned))
}

/// The probes, ready to be run on the CPU given, and what pins them.
fn start_probes(request: &Request<'_>) -> anyhow::Result<(ProbeSubject, CpuId, Pinned)> {
    let wanted = request.arguments.cpu().map(|cpu| [cpu].into_iter().collect());
    let machine = &request.described.machine;
    let cpus = chosen_cpus(machine, wanted.as_ref())?;
    let cpu = *cpus.last().context("no CPU may be used here")?;
    let pinned = Pinned::to(cpu)?;
    let switcher = Switcher::new(request.pairs, request.plan.budget())?;
    let names: Vec<&str> = request.pairs.iter().map(|pair| pair.toggle.about().name).collect();
    // A budget of ours is one for measuring.
    let limit_s = request.arguments.budget.map_or(f64::INFINITY, |budget| budget.as_secs_f64());
    let seed = request.plan.rules.seed;
    let started = ProbeSubject::start(&names, switcher, &machine.identity, cpu, seed, limit_s);
    Ok((started.map_err(not_started)?, cpu, pinned))
}

/// Whose fault it is that probes were not started.
fn not_started(error: ProbeSubjectError) -> anyhow::Error {
    match live::pending_signal() {
        Some(signal) if matches!(error, ProbeSubjectError::Interrupted) => {
            anyhow::Error::new(EndedBySignal(signal)).context(error)
        }
        _ if error.is_of_machine() => anyhow::Error::new(CouldNotMeasure).context(error),
        _ => error.into(),
    }
}

/// The user's command as one line.
fn command_line(arguments: &AbArguments) -> String {
    let words: Vec<String> =
        arguments.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    words.join(" ")
}

fn on_programs(request: &Request<'_>) -> anyhow::Result<Ran<ExperimentOutcome>> {
    let arguments = request.arguments;
    let pair = request.pairs.first();
    let [a, b] = match (pair, &arguments.a, &arguments.b) {
        (Some(pair), ..) => [Position::A, Position::B].map(|position| state_name(pair, position)),
        (None, Some(a), Some(b)) => [a.clone(), b.clone()],
        _ => anyhow::bail!("name a toggle with --toggle, or two programs with --a and --b"),
    };
    let (mut subject, _pinned) = start_programs(request)?;
    let labels = Labels {
        treatment: pair.map_or(TWO_PROGRAMS, |pair| pair.toggle.about().name).to_owned(),
        subject: if pair.is_some() { command_line(arguments) } else { format!("{a} | {b}") },
        called: CALLED.to_owned(),
        a,
        b,
        aggregate: RUN_ONCE.to_owned(),
        ..labels()
    };
    let result = conduct(&mut subject, request, &labels).map(|mut found| {
        found.notes.extend(subject.metric_found.note());
        found
    });
    Ok((result, subject.switcher.end()))
}

fn on_probes(request: &Request<'_>) -> anyhow::Result<Ran<ExperimentOutcome>> {
    let pair = request.pairs.first().context("name a toggle with --toggle, or a command after --")?;
    let (mut subject, cpu, _pinned) = start_probes(request)?;
    let labels = Labels {
        treatment: pair.toggle.about().name.to_owned(),
        subject: format!("probes on CPU {cpu}"),
        a: state_name(pair, Position::A),
        b: state_name(pair, Position::B),
        aggregate: AGGREGATE.to_owned(),
        notes: subject.notes(),
        ..labels()
    };
    let result = conduct(&mut subject, request, &labels).map(|mut found| {
        tell_layouts(&mut found.notes, &subject);
        found
    });
    Ok((result, subject.switcher.end()))
}

/// How often buffers were laid is known only in the end.
fn tell_layouts(notes: &mut Vec<String>, subject: &ProbeSubject) {
    let known: Vec<String> = subject.notes().into_iter().filter(|note| !notes.contains(note)).collect();
    notes.extend(known);
}

fn labels() -> Labels {
    Labels {
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        started_utc: live::utc_now(),
        ..Labels::default()
    }
}

fn conduct<S: Subject>(
    subject: &mut S,
    request: &Request<'_>,
    labels: &Labels,
) -> anyhow::Result<ExperimentOutcome>
where
    S::Error: std::error::Error + Send + Sync + 'static,
{
    let mut line = Line::new(request.global.quiet).billed();
    let course = run(subject, &request.rules(subject), &mut line);
    line.end();
    let course = course?;
    line.afforded()?;
    Ok(outcome(&course, &subject.rows(), &subject.guards(), labels, &request.plan.declared))
}

/// Prints and writes the outcome; the machine is put back already.
fn conclude(
    found: ExperimentOutcome,
    file: Option<&Path>,
    restored: &[Restored],
    request: &Request<'_>,
) -> anyhow::Result<Outcome> {
    write_document(&found, file)?;
    let shown = ExperimentOutcome { raw: Vec::new(), ..found };
    show(&report::experiment_page(&shown), &shown, file, request)?;
    let verdicts = Verdicts {
        failing: failing(shown.ended, &shown.failures),
        unusable: shown.aa.contaminated || shown.rows.is_empty(),
        slower: shown.rows.iter().any(|row| row.row.verdict == Verdict::Slower),
        known: has_verdict(&shown),
    };
    Ok(verdicts.judged(restored, request.global))
}

fn write_document<T: serde::Serialize>(found: &T, file: Option<&Path>) -> anyhow::Result<()> {
    if let Some(file) = file {
        write_atomically(file, output::json_text(found)?.as_bytes())
            .inspect_err(|_| leave_no_folder(file))?;
    }
    Ok(())
}

fn show<T: serde::Serialize>(
    page: &Page,
    shown: &T,
    file: Option<&Path>,
    request: &Request<'_>,
) -> anyhow::Result<()> {
    let (forms, global) = (&request.arguments.forms, request.global);
    output::print(&forms.text(page, shown, FILE_NAME, global)?)?;
    if let Some(file) = file.filter(|_| !global.json && !global.quiet && !forms.words.markdown) {
        output::print_lines(&format!("record  {}\n", file.display()))?;
    }
    Ok(())
}

/// What decides about the exit code.
struct Verdicts {
    /// Why a state never worked, if so.
    failing: Option<String>,
    /// Nothing can be said.
    unusable: bool,
    /// Something became slower.
    slower: bool,
    /// What the sentences tell has a verdict.
    known: bool,
}

/// What a state says that never worked, where that ended the experiment.
fn failing(ended: Ended, failures: &[Failures]) -> Option<String> {
    let never = failures.iter().find(|state| state.failed == state.of).or(failures.first());
    let never = never.filter(|_| ended == Ended::Failing)?;
    let (state, why) = (never.state.to_uppercase(), &never.example);
    Some(format!("cannot compare: state {state} failed in {} of {} runs: {why}", never.failed, never.of))
}

impl Verdicts {
    fn judged(&self, restored: &[Restored], global: &Global) -> Outcome {
        if restored.iter().any(|result| !result.is_settled()) {
            left_changed()
        } else if let Some(signal) = live::pending_signal() {
            Outcome::Interrupted(signal)
        } else if let Some(why) = &self.failing {
            Outcome::NotMeasured(anyhow::anyhow!("{why}"))
        } else if self.unusable {
            Outcome::Inconclusive
        } else if global.gate && self.slower {
            Outcome::Gated
        } else if global.strict && !self.known {
            Outcome::Inconclusive
        } else {
            Outcome::Done
        }
    }
}

/// Takes the folder of a document that could not be written away, unless something else is in it.
pub(crate) fn leave_no_folder(file: &Path) {
    if let Some(folder) = file.parent() {
        // Not empty is no error: then it stays.
        let _ = std::fs::remove_dir(folder);
    }
}

/// The folder exists and holds no experiment yet: one that cannot be kept should not start.
pub(crate) fn prepare_folder(folder: &Path, name: &str) -> anyhow::Result<std::path::PathBuf> {
    std::fs::create_dir_all(folder).with_context(|| {
        format!("cannot create {}; choose another place with --record DIR", folder.display())
    })?;
    let file = folder.join(name);
    anyhow::ensure!(
        !file.exists(),
        "{} already holds {name}; choose another place with --record DIR",
        folder.display()
    );
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_that_cannot_be_written_leaves_no_folder() {
        let above = tempfile::tempdir().expect("a temporary folder");
        // No file system takes a name of more than 255 bytes: Linux, include/uapi/linux/limits.h.
        let file = prepare_folder(&above.path().join("kept"), &"n".repeat(300)).expect("a folder");
        assert!(file.parent().is_some_and(Path::is_dir));
        assert!(write_document(&1, Some(&file)).is_err());
        assert!(above.path().exists() && !above.path().join("kept").exists());
    }
}

//! `sidestep bill`: what every setting and mitigation costs a program, ranked, confirmed, and together.

mod journal;
mod settings;
mod tasks;

use std::ffi::OsString;
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::{Args, ValueEnum};
use experiments::ab::Subject;
use experiments::ab::command_subject::CommandSubject;
use experiments::ab::switcher::Switcher;
use experiments::bill::{Course, Rules, Step, averages, headline, program_bill, setting_averages};
use host::live;
use host::live::utc_now;
use record::{
    BILL_SCHEMA, Better, Bill, BillEnded, BillPhase, BillTurn, BillVerdict, DocumentHead, ProgramBill,
};
use toggles::{Place, Restored};

use crate::forms::Forms;
use crate::options::{GROUP, Global, ProgramArguments, parse_budget, parse_percent};
use crate::outcome::{CouldNotMeasure, Outcome};
use crate::progress::BillLine;
use crate::recording::seed_of_now;
use crate::toggles::{ConsentArguments, Described, after_error, left_changed, offer_to_mend};
use crate::workloads::Selection;
use journal::Journal;
use settings::Chosen;
use tasks::Task;

/// Time for one program.
const BUDGET: Duration = Duration::from_secs(10 * 60);
/// Time for several.
const BUDGET_OF_SEVERAL: Duration = Duration::from_secs(40 * 60);
/// A program that has less time than this left is not begun.
const LEAST_BUDGET_S: f64 = 1.0;
/// Without --timeout a run is killed that takes so many times as long as both runs of the warm-up, and at least so many seconds.
const LIMIT_IN_WARM_UPS: f64 = 5.0;
const SHORTEST_LIMIT_S: f64 = 10.0;

/// Options of `bill`.
#[derive(Debug, Clone, Args)]
pub(crate) struct BillArguments {
    /// Take at most this long, warming up included [default: 10m; 40m for several programs]
    #[arg(long = "for", value_name = "TIME", value_parser = parse_budget)]
    pub(crate) budget: Option<Duration>,
    /// Price a workload: its id, or a file of your own; see sidestep workloads
    #[arg(long, value_name = "ID|FILE.toml", value_delimiter = ',')]
    pub(crate) workload: Vec<String>,
    #[command(flatten)]
    pub(crate) selection: Selection,
    /// Only these settings, such as thp,ssbd; NAME=VALUE for a value of your choice
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) toggles: Vec<String>,
    /// Costs up to this are of no practical matter
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent, default_value = "1")]
    pub(crate) margin: f64,
    #[command(flatten)]
    pub(crate) program: ProgramArguments,
    /// Wall or CPU time [default: wall for a command, a workload's own number]; CPU time varies less on a busy machine
    #[arg(long, value_name = "TIME", conflicts_with = "metric")]
    pub(crate) measure: Option<Measured>,
    /// Fix all random choices
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
    /// Print what would be switched, and stop
    #[arg(long, conflicts_with = "resume")]
    pub(crate) dry_run: bool,
    /// Go on with the bill that was interrupted or killed, with its own options
    #[arg(long, conflicts_with_all = [GROUP, "ConsentArguments", "Selection", "budget", "toggles", "margin", "measure", "seed", "command", "workload"])]
    pub(crate) resume: bool,
    #[command(flatten)]
    pub(crate) forms: Forms,
    #[command(flatten)]
    pub(crate) consent: ConsentArguments,
    /// The program and its arguments, after --, unless workloads are named
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// A time of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Measured {
    /// From start to end
    Wall,
    /// User and system time of all its threads
    Cpu,
}

impl Measured {
    /// As the document names it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Wall => "wall time",
            Self::Cpu => "CPU time",
        }
    }
}

/// Prices what was asked for.
pub(crate) fn bill(arguments: &BillArguments, global: &Global) -> anyhow::Result<Outcome> {
    let forms = arguments.forms.clone().absolute()?;
    let mut global = global.clone();
    let (journal, arguments) = if arguments.resume {
        let journal = Journal::open()?;
        journal.enter_its_folder()?;
        let (again, then) = journal.arguments()?;
        let forms = forms.or(&mut global, again.forms.clone().absolute()?, &then);
        global.gate |= then.gate;
        (Some(journal), BillArguments { forms, ..again })
    } else {
        (None, arguments.clone())
    };
    let global = &global;
    let tasks = Task::all(&arguments)?;
    if !arguments.dry_run && live::effective_root() {
        // What an earlier sidestep left switched is not the present state.
        offer_to_mend(&Place::live(), global)?;
    }
    let described = Described::open(None)?;
    let chosen = settings::chosen(&arguments, &described)?;
    if arguments.dry_run {
        return plan(&chosen, &tasks, &arguments, global);
    }
    anyhow::ensure!(
        !chosen.pairs.is_empty(),
        "no setting can be switched here at this risk: {}; see sidestep toggles",
        chosen.reasons()
    );
    afford_all(&chosen, &tasks, &arguments)?;
    live::install_handlers().context("cannot listen to signals")?;
    let mut journal = match journal {
        Some(journal) => journal.continued(&chosen, &tasks)?,
        None => Journal::begin(&chosen, &tasks, arguments.seed.unwrap_or_else(seed_of_now))?,
    };
    let mut priced = Priced::default();
    let failure = price_all(&mut priced, &tasks, &chosen, &mut journal, &arguments, global).err();
    match failure {
        // A bill that was refused after its first run leaves nothing to go on with.
        Some(error) if priced.programs.is_empty() => {
            if error.is::<CouldNotMeasure>() || !journal.has_run {
                journal.finish()?;
            }
            after_error(error, &priced.restored)
        }
        failure => conclude(priced, &chosen, journal, (&arguments, failure), global),
    }
}

/// Prices one program after the other.
fn price_all(
    priced: &mut Priced,
    tasks: &[Task],
    chosen: &Chosen,
    journal: &mut Journal,
    arguments: &BillArguments,
    global: &Global,
) -> anyhow::Result<()> {
    let budget_s = budget(arguments, tasks).as_secs_f64();
    for (place, task) in tasks.iter().enumerate() {
        if let Some(why) = journal.refusal(place) {
            priced.notes.push(format!("{}: not priced: {why}", task.facts.name));
            continue;
        }
        let own_s = (budget_s - priced.elapsed_s).max(0.0) * share(&tasks[place..]);
        let rules = Rules {
            settings: chosen.pairs.len(),
            budget_s: journal.budget_s(place, own_s)?,
            margin: (arguments.margin / 100.0).ln_1p(),
            seed: journal.begun.seed.wrapping_add(place as u64),
            higher_is_better: task.facts.better == Better::Higher,
            programs: tasks.len(),
        };
        match priced.add(task, rules, chosen, (journal, place), global) {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            // One of several that cannot be priced is no reason to leave out the others.
            Err(why) if tasks.len() > 1 && why.is::<NotPriced>() => {
                priced.notes.push(format!("{}: not priced: {why:#}", task.facts.name));
                journal.refuse(place, format!("{why:#}"))?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Refuses a time that is too short for programs whose runs are known.
fn afford_all(chosen: &Chosen, tasks: &[Task], arguments: &BillArguments) -> anyhow::Result<()> {
    let (settings, budget_s) = (chosen.pairs.len(), budget(arguments, tasks).as_secs_f64());
    if let Some(least_s) = least_s(chosen, tasks).filter(|least_s| *least_s > budget_s) {
        return Err(CouldNotMeasure::because(format!(
            "cannot price {} for {} in {budget_s:.0} s; give --for {:.0}s or more, fewer programs, or fewer settings with --toggles",
            machine::counted(settings, "setting"),
            machine::counted(tasks.len(), "program"),
            least_s.ceil()
        )));
    }
    Ok(())
}

/// The shortest time for programs, if it is known how long their runs take.
fn least_s(chosen: &Chosen, tasks: &[Task]) -> Option<f64> {
    tasks.iter().map(|task| Some(Rules::least_s(chosen.pairs.len(), task.expected_s()?))).sum()
}

/// How long it may take.
fn budget(arguments: &BillArguments, tasks: &[Task]) -> Duration {
    arguments.budget.unwrap_or(if tasks.len() > 1 { BUDGET_OF_SEVERAL } else { BUDGET })
}

/// The share of the first of these programs in the time that is left: each has as many runs as the others.
fn share(tasks: &[Task]) -> f64 {
    let known: Option<Vec<f64>> = tasks.iter().map(Task::expected_s).collect();
    let even = || 1.0 / tasks.len() as f64;
    known.map_or_else(even, |all| all[0] / all.iter().sum::<f64>())
}

/// A program that cannot be made ready.
#[derive(Debug, thiserror::Error)]
#[error("{0:#}")]
struct NotPriced(anyhow::Error);

/// What was priced so far.
#[derive(Default)]
struct Priced {
    programs: Vec<ProgramBill>,
    restored: Vec<Restored>,
    notes: Vec<String>,
    elapsed_s: f64,
}

impl Priced {
    /// Prices one program; false if a signal ended it.
    fn add(
        &mut self,
        task: &Task,
        rules: Rules,
        chosen: &Chosen,
        (journal, place): (&mut Journal, usize),
        global: &Global,
    ) -> anyhow::Result<bool> {
        let course = Course::resumed(rules, journal.runs_of(place));
        let mut course =
            course.context("the journal holds the runs of another bill; begin anew without --resume")?;
        if let Step::Done(ended) = course.step() {
            self.push(&course, chosen, task, ended);
            return Ok(true);
        }
        if rules.budget_s < LEAST_BUDGET_S {
            return Err(NotPriced(anyhow::anyhow!("no time was left; give more with --for")).into());
        }
        let budget = Duration::from_secs_f64(rules.budget_s);
        let ready = match task.ready(budget) {
            Err(_) if live::pending_signal().is_some() => {
                self.push(&course, chosen, task, BillEnded::Interrupted);
                return Ok(false);
            }
            ready => ready.map_err(NotPriced)?,
        };
        // A run that hangs is killed by its own limit before the watchdog ends everything.
        let switcher = Switcher::new(&chosen.pairs, budget + budget)?;
        let twice = [ready.program.clone(), ready.program];
        let mut subject =
            CommandSubject::new(twice, ready.how, task.metric.clone(), switcher, None, rules.seed);
        let mut line = BillLine::new(&task.facts.name, &chosen.names(), global.quiet);
        let led = lead(&mut subject, &mut course, (ready.row, task.has_limit()), &mut |course| {
            line.show(course);
            journal.keep(place, course.turns.last().context("a run was just taken")?)
        });
        line.end();
        self.restored.extend(subject.switcher.end());
        self.notes.extend(subject.runs.notes().map(|note| format!("{}: {note}", task.facts.name)));
        let ended = led?;
        self.push(&course, chosen, task, ended);
        Ok(ended != BillEnded::Interrupted)
    }

    fn push(&mut self, course: &Course, chosen: &Chosen, task: &Task, ended: BillEnded) {
        self.elapsed_s += course.spent_s();
        self.programs.push(program_bill(course, &chosen.settings, &task.facts, ended));
    }
}

/// Leads a bill to its end, and keeps each run before the next begins.
fn lead(
    subject: &mut CommandSubject,
    course: &mut Course,
    (row, has_limit): (usize, bool),
    keep: &mut dyn FnMut(&Course) -> anyhow::Result<()>,
) -> anyhow::Result<BillEnded> {
    let (before_s, begun) = (course.spent_s(), Instant::now());
    loop {
        if let Some(warm_up_s) = course.warm_up_s().filter(|_| !has_limit) {
            let limit_s = (LIMIT_IN_WARM_UPS * warm_up_s).max(SHORTEST_LIMIT_S);
            subject.runs.limit_to(Duration::from_secs_f64(limit_s));
        }
        if subject.must_stop() {
            return Ok(BillEnded::Interrupted);
        }
        let planned = match course.step() {
            Step::Done(ended) => return Ok(ended),
            Step::Run(planned) => planned,
        };
        let trial = subject.trial(planned.into())?;
        if subject.must_stop() {
            return Ok(BillEnded::Interrupted);
        }
        let value = trial.values.get(row).copied().filter(|value| value.is_finite() && *value > 0.0);
        let failure =
            trial.failure.or_else(|| value.is_none().then(|| "nothing above zero was measured".to_owned()));
        course.take(BillTurn {
            phase: planned.phase,
            block: planned.block,
            switched: planned.state.members().collect(),
            value,
            failure,
            ended_s: before_s + begun.elapsed().as_secs_f64(),
        });
        keep(course)?;
        if planned.phase == BillPhase::WarmUp {
            afford(course)?;
        }
    }
}

/// Refuses a time in which nothing can be shown of one program; of several each has what it has.
fn afford(course: &Course) -> anyhow::Result<()> {
    let Rules { settings, budget_s, programs, .. } = course.rules;
    let (run, least_s) = match course.affordable() {
        Some(needs) => (format!("takes {:.2} s", needs.run_s), needs.least_s),
        // The first run was killed at the end of all time.
        None if course.spent_s() >= budget_s => {
            ("takes longer".to_owned(), Rules::least_s(settings, budget_s))
        }
        None => return Ok(()),
    };
    if programs == 1 && least_s > budget_s {
        return Err(CouldNotMeasure::because(format!(
            "cannot price {} in {budget_s:.0} s: a run {run}; give --for {:.0}s or more, or fewer settings with --toggles",
            machine::counted(settings, "setting"),
            least_s.ceil()
        )));
    }
    Ok(())
}

/// What would be switched, and how long it may take.
fn plan(
    chosen: &Chosen,
    tasks: &[Task],
    arguments: &BillArguments,
    global: &Global,
) -> anyhow::Result<Outcome> {
    let budget_s = budget(arguments, tasks).as_secs_f64();
    let least = least_s(chosen, tasks)
        .map_or_else(String::new, |least_s| format!(", and at least about {least_s:.0} s"));
    let sentence = format!(
        "{} would be priced for {} in at most {budget_s:.0} s{least}; nothing was run",
        machine::counted(chosen.pairs.len(), "setting"),
        machine::counted(tasks.len(), "program"),
    );
    let (seed, started_utc) = (arguments.seed.unwrap_or(0), utc_now());
    let head = DocumentHead { sentence, seed, started_utc, elapsed_s: Some(0.0), ..DocumentHead::default() };
    let programs = tasks.iter().map(|task| unmeasured(task, chosen)).collect();
    let bill = Bill { programs, ..document(chosen, arguments, head) };
    arguments.forms.print(&report::bill_page(&bill), &bill, global)?;
    Ok(Outcome::Done)
}

fn unmeasured(task: &Task, chosen: &Chosen) -> ProgramBill {
    let rules = Rules {
        settings: chosen.pairs.len(),
        budget_s: 0.0,
        margin: 0.0,
        seed: 0,
        higher_is_better: false,
        programs: 1,
    };
    program_bill(&Course::new(rules), &chosen.settings, &task.facts, BillEnded::TimeUp)
}

/// A document without results.
fn document(chosen: &Chosen, arguments: &BillArguments, head: DocumentHead) -> Bill {
    Bill {
        head: DocumentHead {
            schema: BILL_SCHEMA,
            margin_percent: arguments.margin,
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            ..head
        },
        skipped: chosen.skipped.clone(),
        boot_commands: chosen.boot_commands(&arguments.command),
        ..Bill::default()
    }
}

/// Prints the bill; the machine is put back already.
fn conclude(
    priced: Priced,
    chosen: &Chosen,
    journal: Journal,
    (arguments, failure): (&BillArguments, Option<anyhow::Error>),
    global: &Global,
) -> anyhow::Result<Outcome> {
    let programs = priced.programs;
    let is_one = programs.len() < 2;
    let mut notes = priced.notes;
    if !is_one {
        notes.extend(programs.iter().filter_map(failing));
    }
    let head = DocumentHead {
        sentence: headline(&programs),
        notes,
        started_utc: journal.begun.started_utc.clone(),
        seed: journal.begun.seed,
        elapsed_s: Some(priced.elapsed_s),
        ..DocumentHead::default()
    };
    let bill = Bill {
        averages: if is_one { Vec::new() } else { averages(&programs) },
        settings: if is_one { Vec::new() } else { setting_averages(&programs) },
        programs,
        ..document(chosen, arguments, head)
    };
    let is_interrupted = bill.programs.iter().any(|one| one.ended == BillEnded::Interrupted);
    arguments.forms.print(&report::bill_page(&bill), &bill, global)?;
    if let Some(failure) = failure {
        return after_error(failure, &priced.restored);
    }
    // Only now: what could not be printed is not lost.
    if !is_interrupted {
        journal.finish()?;
    }
    if priced.restored.iter().any(|result| !result.is_settled()) {
        return Ok(left_changed());
    }
    if let Some(signal) = live::pending_signal() {
        return Ok(Outcome::Interrupted(signal));
    }
    if bill.programs.iter().all(|one| one.ended == BillEnded::Failing) {
        let why = bill.head.notes.first().cloned().or_else(|| bill.programs.iter().find_map(failing));
        return Err(CouldNotMeasure::because(why.unwrap_or_else(|| "nothing was measured".to_owned())));
    }
    let costs =
        bill.programs.iter().flat_map(|one| &one.entries).any(|one| one.verdict == BillVerdict::Costs);
    Ok(if global.gate && costs { Outcome::Gated } else { Outcome::Done })
}

/// Why a program could not be priced, if it could not.
fn failing(bill: &ProgramBill) -> Option<String> {
    let why = bill.turns.iter().find_map(|turn| turn.failure.as_ref()).map_or("", String::as_str);
    (bill.ended == BillEnded::Failing).then(|| format!("{} fails: {why}", bill.about.name))
}

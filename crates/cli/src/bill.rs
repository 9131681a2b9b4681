//! `sidestep bill`: what every setting and mitigation costs a program, ranked, confirmed, and together.

mod arguments;
mod journal;
mod line;
mod settings;

use std::time::{Duration, Instant};

use anyhow::Context;
use experiments::ab::Subject;
use experiments::ab::command_subject::{CommandSubject, HowToRun, Program};
use experiments::ab::metric::Metric;
use experiments::ab::switcher::Switcher;
use experiments::bill::{Course, ProgramFacts, Rules, Step, averages, headline, program_bill};
use host::live::{self, ChildOutput, utc_now};
use record::{BILL_SCHEMA, Better, Bill, BillEnded, BillPhase, BillTurn, BillVerdict, ProgramBill};
use toggles::{Place, Restored};

use crate::ab;
use crate::arguments::Global;
use crate::check_up::seed_of_now;
use crate::outcome::{CouldNotMeasure, Outcome};
use crate::output;
use crate::toggles::{Described, after_error, left_changed, offer_to_mend};
pub(crate) use arguments::BillArguments;
use arguments::Measured;
use journal::Journal;
use line::Line;
use settings::Chosen;

/// Time for one program, and for several.
const BUDGET: Duration = Duration::from_secs(10 * 60);
/// Rows of a program, as its subject gives them: the metric or wall time first, then CPU time.
const FIRST_ROW: usize = 0;
const CPU_TIME_ROW: usize = 1;
/// The name of the document for pages that carry it.
const FILE_NAME: &str = "bill.json";

/// One program that is priced.
#[derive(Debug, Clone)]
struct Task {
    facts: ProgramFacts,
    program: Program,
    how: HowToRun,
    metric: Option<Metric>,
    row: usize,
}

/// Prices what was asked for.
pub(crate) fn bill(arguments: &BillArguments, global: &Global) -> anyhow::Result<Outcome> {
    let (journal, arguments) = if arguments.resume {
        let journal = Journal::open()?;
        let again = journal.arguments()?;
        (Some(journal), BillArguments { forms: arguments.forms.clone(), ..again })
    } else {
        (None, arguments.clone())
    };
    arguments.forms.ensure_writable()?;
    let tasks = tasks(&arguments)?;
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
    live::install_handlers().context("cannot listen to signals")?;
    if chosen.writes_to_the_machine() {
        offer_to_mend(&Place::live(), global)?;
    }
    let mut journal = match journal {
        Some(journal) => journal.continued(&chosen)?,
        None => Journal::begin(&chosen, arguments.seed.unwrap_or_else(seed_of_now))?,
    };
    let mut priced = Priced::default();
    let budget = arguments.budget.unwrap_or(BUDGET) / u32::try_from(tasks.len().max(1))?;
    for (place, task) in tasks.iter().enumerate() {
        let rules = Rules {
            settings: chosen.pairs.len(),
            budget_s: budget.as_secs_f64(),
            margin: (arguments.margin / 100.0).ln_1p(),
            seed: journal.kept.seed.wrapping_add(place as u64),
            higher_is_better: task.facts.better == Better::Higher,
        };
        match priced.add(task, rules, &chosen, (&mut journal, place), global) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => return after_error(error, &priced.restored),
        }
    }
    conclude(priced, &chosen, journal, &arguments, global)
}

/// What was priced so far.
#[derive(Default)]
struct Priced {
    programs: Vec<ProgramBill>,
    restored: Vec<Restored>,
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
        let course = Course::resumed(rules, journal.turns(place));
        let mut course =
            course.context("the journal holds the runs of another bill; begin anew without --resume")?;
        let budget = Duration::from_secs_f64(rules.budget_s);
        let switcher = Switcher::new(&chosen.pairs, budget)?;
        let twice = [task.program.clone(), task.program.clone()];
        let mut subject =
            CommandSubject::new(twice, task.how.clone(), task.metric.clone(), switcher, None, rules.seed);
        let mut line = Line::new(&task.facts.name, &chosen.names(), global.quiet);
        let led = lead(&mut subject, &mut course, task.row, &mut |course| {
            line.show(course);
            journal.keep(place, &course.turns)
        });
        line.end();
        self.restored.extend(subject.switcher.end());
        let ended = led?;
        self.elapsed_s += course.spent_s();
        self.programs.push(program_bill(&course, &chosen.settings, &task.facts, ended));
        Ok(ended != BillEnded::Interrupted)
    }
}

/// Leads a bill to its end, and keeps each run before the next begins.
fn lead(
    subject: &mut CommandSubject,
    course: &mut Course,
    row: usize,
    keep: &mut dyn FnMut(&Course) -> anyhow::Result<()>,
) -> anyhow::Result<BillEnded> {
    let (before_s, begun) = (course.spent_s(), Instant::now());
    let mut is_announced = false;
    loop {
        if subject.must_stop() {
            return Ok(BillEnded::Interrupted);
        }
        let planned = match course.step() {
            Step::Done(ended) => return Ok(ended),
            Step::Run(planned) => planned,
        };
        if planned.phase != BillPhase::WarmUp && !is_announced {
            is_announced = true;
            afford(course)?;
        }
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
    }
}

/// Refuses a time in which nothing can be shown.
fn afford(course: &Course) -> anyhow::Result<()> {
    let Some(needs) = course.affordable() else { return Ok(()) };
    let budget_s = course.rules.budget_s;
    if needs.least_s > budget_s {
        return Err(CouldNotMeasure::because(format!(
            "cannot price {} settings in {budget_s:.0} s: a run takes {:.2} s; give --for {:.0}s, or fewer settings with --toggles",
            course.rules.settings,
            needs.run_s,
            needs.least_s.ceil()
        )));
    }
    Ok(())
}

/// The programs asked for.
fn tasks(arguments: &BillArguments) -> anyhow::Result<Vec<Task>> {
    anyhow::ensure!(
        !arguments.command.is_empty(),
        "give the program to price after --, as in sidestep bill -- ./program"
    );
    let metric = ab::metric(arguments.metric.as_deref(), arguments.better)?;
    let (measured, unit, row) = match (&metric, arguments.measure) {
        (Some(_), _) => ("metric", "", FIRST_ROW),
        (None, Measured::Wall) => ("wall time", "s", FIRST_ROW),
        (None, Measured::Cpu) => ("CPU time", "s", CPU_TIME_ROW),
    };
    let words: Vec<String> =
        arguments.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let facts = ProgramFacts {
        name: words.join(" "),
        group: String::new(),
        control: false,
        measured: measured.to_owned(),
        unit: unit.to_owned(),
        better: metric.as_ref().map_or(Better::Lower, |metric| metric.better),
    };
    let how = HowToRun {
        prepare: arguments.prepare.clone(),
        limit: arguments.timeout,
        any_exit_code: false,
        output: ChildOutput::Discard,
        ..HowToRun::default()
    };
    Ok(vec![Task { facts, program: Program::of(arguments.command.clone()), how, metric, row }])
}

/// What would be switched, and how long it may take.
fn plan(
    chosen: &Chosen,
    tasks: &[Task],
    arguments: &BillArguments,
    global: &Global,
) -> anyhow::Result<Outcome> {
    let budget_s = arguments.budget.unwrap_or(BUDGET).as_secs_f64();
    let bill = Bill {
        sentence: format!(
            "{} settings would be priced for {} in at most {budget_s:.0} s; nothing was run",
            chosen.pairs.len(),
            machine::counted(tasks.len(), "program"),
        ),
        programs: tasks.iter().map(|task| unmeasured(task, chosen)).collect(),
        ..document(chosen, arguments, arguments.seed.unwrap_or(0))
    };
    output::print(&arguments.forms.text(&report::bill_page(&bill), &bill, FILE_NAME, global)?)?;
    Ok(Outcome::Done)
}

fn unmeasured(task: &Task, chosen: &Chosen) -> ProgramBill {
    let rules =
        Rules { settings: chosen.pairs.len(), budget_s: 0.0, margin: 0.0, seed: 0, higher_is_better: false };
    program_bill(&Course::new(rules), &chosen.settings, &task.facts, BillEnded::TimeUp)
}

/// A document without results.
fn document(chosen: &Chosen, arguments: &BillArguments, seed: u64) -> Bill {
    Bill {
        schema: BILL_SCHEMA,
        sentence: String::new(),
        programs: Vec::new(),
        averages: Vec::new(),
        skipped: chosen.skipped.clone(),
        boot_commands: chosen.boot_commands(&arguments.command),
        notes: Vec::new(),
        margin_percent: arguments.margin,
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        started_utc: utc_now(),
        seed,
        elapsed_s: 0.0,
    }
}

/// Prints the bill; the machine is put back already.
fn conclude(
    priced: Priced,
    chosen: &Chosen,
    journal: Journal,
    arguments: &BillArguments,
    global: &Global,
) -> anyhow::Result<Outcome> {
    let bill = Bill {
        sentence: headline(&priced.programs),
        averages: if priced.programs.len() > 1 { averages(&priced.programs) } else { Vec::new() },
        started_utc: journal.kept.started_utc.clone(),
        elapsed_s: priced.elapsed_s,
        programs: priced.programs,
        ..document(chosen, arguments, journal.kept.seed)
    };
    let is_interrupted = bill.programs.iter().any(|one| one.ended == BillEnded::Interrupted);
    if !is_interrupted {
        journal.finish()?;
    }
    output::print(&arguments.forms.text(&report::bill_page(&bill), &bill, FILE_NAME, global)?)?;
    if priced.restored.iter().any(|result| !result.is_settled()) {
        return Ok(left_changed());
    }
    if let Some(signal) = live::pending_signal() {
        return Ok(Outcome::Interrupted(signal));
    }
    if let Some(failing) = bill.programs.iter().find(|one| one.ended == BillEnded::Failing) {
        let why = failing.turns.iter().find_map(|turn| turn.failure.as_ref());
        let why = why.map_or_else(String::new, |why| format!(": {why}"));
        return Err(CouldNotMeasure::because(format!("{} fails{why}", failing.program)));
    }
    let costs =
        bill.programs.iter().flat_map(|one| &one.entries).any(|one| one.verdict == BillVerdict::Costs);
    Ok(if global.gate && costs { Outcome::Gated } else { Outcome::Done })
}

//! `sidestep clock cost`: what each way to read the time costs, alone and by number of threads.

use std::time::{Duration, Instant};

use anyhow::Context;
use clock::{Counter, TickRate, TimeStampCounter};
use host::Root;
use host::live::{self, Pinned};
use machine::{ClockSources, CpuId, Machine};
use probes::clock_reads::Settings;
use probes::clock_reads::catalogue::{CLOCK_PATIENCE, Catalogue, SHARED_WORD, Scope};
use probes::clock_reads::check_up::keep;
use probes::clock_reads::fill::{self, Brief, Scaling, Subject, begun};
use probes::control::ControlLoops;
use probes::sampler::Sampler;
use probes::session::SessionError;
use record::{ClockCost, CostVerdict, RoundsVerdict, ScalingVerdict};
use stats::Random;

use super::{CostArguments, ended, thread_counts};
use crate::describe;
use crate::options::Global;
use crate::outcome::Outcome;
use crate::progress::ProgressLine;
use crate::recording::{self, Recording};

/// Time for the counter's rate, which turns ticks into nanoseconds.
const CALIBRATION_NS: u64 = 50_000_000;
/// Time for bursts of threads.
const THREADS_S: f64 = 3.0;
/// Time for rounds at most, of all reads in all numbers of threads.
const ROUNDS: Duration = Duration::from_secs(5);

/// Measures and prints.
pub(crate) fn cost(arguments: &CostArguments, global: &Global) -> anyhow::Result<Outcome> {
    let recording = Recording::begin(arguments.record.as_deref())?;
    let Costed { mut cost, failure, machine, cpus } =
        Recording::clearing_up(recording.as_ref(), || on_this_machine(arguments, global))?;
    // The batches are of the record alone.
    let raw = std::mem::take(&mut cost.raw);
    let page = report::clock_cost_page(&cost);
    let text = arguments.forms.text(&page, &cost, global)?;
    let usual_s = Settings::THOROUGH.budget_s + THREADS_S;
    let budget_s = arguments.budget.map_or(usual_s, |budget| budget.as_secs_f64());
    let record = || {
        let mut record = recording::begun(machine, &cpus, budget_s);
        record.partial = failure.as_ref().map(ToString::to_string);
        keep(&mut record, ClockCost { raw, ..cost.clone() });
        record
    };
    Recording::finish(recording.as_ref(), record, &text, global)?;
    ended(failure, || outcome(&cost, global))
}

fn outcome(cost: &ClockCost, global: &Global) -> Outcome {
    let grows = |row: &record::ThreadCost| row.verdict == ScalingVerdict::Grows;
    let is_open = |row: &record::ThreadCost| row.verdict == ScalingVerdict::CannotTell;
    let backwards = |row: &record::RoundsSeen| row.verdict == RoundsVerdict::Backwards;
    // A clock in one shared word is there to grow.
    let of_clocks = || cost.threads.iter().filter(|row| row.read != SHARED_WORD);
    let fails = of_clocks().any(grows) || cost.rounds.iter().any(backwards);
    Outcome::judged(global, fails, cost.verdict != CostVerdict::Repeatable || of_clocks().any(is_open))
}

/// What was found, and how it went.
struct Costed {
    cost: ClockCost,
    /// Why nothing could be measured, if so.
    failure: Option<anyhow::Error>,
    machine: Machine,
    cpus: Vec<CpuId>,
}

fn on_this_machine(arguments: &CostArguments, global: &Global) -> anyhow::Result<Costed> {
    // First, as where the counter raises signals, so does the kernel's own clock in user space.
    let until = arguments.budget.map(|budget| Instant::now() + budget);
    let counter = TimeStampCounter::new();
    let machine = describe::live_machine();
    let cpus = recording::chosen_cpus(&machine, arguments.cpus.as_ref())?;
    let mut cost = begun(&Root::live(), &machine);
    cost.without.extend(other_sources(&machine.environment.clock_sources));
    let has_counter = Counter::of_this_machine() != Counter::MonotonicRaw;
    let usable = match counter {
        Err(denied) if has_counter => Err(denied.into()),
        _ if cfg!(debug_assertions) => Err(SessionError::DebugBuild.into()),
        _ => Ok(()),
    };
    let measured = usable.and_then(|()| {
        live::install_handlers()?;
        Measuring::begin(&machine, cpus.clone(), until, arguments, global)?.run(&mut cost)
    });
    let failure = measured.err();
    if let Some(failure) = &failure {
        cost.because.insert(0, format!("{failure:#}"));
    }
    Ok(Costed { cost, failure, machine, cpus })
}

/// What shows the costs by the clock sources that are not in use, if there are any.
fn other_sources(sources: &ClockSources) -> Option<String> {
    let others: Vec<&str> = sources
        .available
        .iter()
        .map(String::as_str)
        .filter(|one| Some(*one) != sources.current.as_deref())
        .collect();
    let first = others.first()?;
    let names = others.join(", ");
    Some(format!(
        "other clock sources, {names}: sidestep ab --toggle {} compares, as root",
        machine::shell_word(&format!("clocksource={first}"))
    ))
}

/// A run of all parts.
struct Measuring<'a> {
    arguments: &'a CostArguments,
    subject: Subject,
    line: ProgressLine,
    started: Instant,
}

impl<'a> Measuring<'a> {
    fn begin(
        machine: &Machine,
        cpus: Vec<CpuId>,
        until: Option<Instant>,
        arguments: &'a CostArguments,
        global: &Global,
    ) -> anyhow::Result<Self> {
        let first = *cpus.first().context("no CPU may be used")?;
        let rate = TickRate::calibrate(CALIBRATION_NS)?;
        Ok(Self {
            arguments,
            subject: Subject {
                sampler: Sampler::new(first, rate, ControlLoops::of(&machine.identity)).until(until),
                cpus,
                random: Random::new(recording::seed_of_now()),
            },
            line: ProgressLine::new(global.quiet),
            started: Instant::now(),
        })
    }

    fn run(mut self, cost: &mut ClockCost) -> anyhow::Result<()> {
        let rate = self.subject.sampler.rate;
        cost.counter_hz = Some(rate.hz);
        let pinned = Pinned::to(self.subject.cpus[0])?;
        let (brief, settings) = self.parts();
        let patience = brief.map_or(CLOCK_PATIENCE, |brief| brief.clock);
        let catalogue = Catalogue::find(Scope::All, rate, patience);
        self.line.begin("reads", Duration::from_secs_f64(settings.budget_s + THREADS_S));
        self.subject.reads(cost, &catalogue, &settings, &self.line);
        drop(pinned);
        let cpus = self.subject.cpus.len();
        let counts = self.arguments.threads.map_or_else(|| fill::thread_counts(cpus), thread_counts);
        self.line.begin("threads", Duration::from_secs_f64(THREADS_S));
        let scaling = match brief {
            Some(brief) => Scaling::within(counts, &brief),
            None => Scaling::thorough(counts, THREADS_S),
        };
        self.subject.scaling(cost, &catalogue, &scaling, &self.line);
        self.line.end();
        cost.elapsed_s = self.started.elapsed().as_secs_f64();
        Ok(())
    }

    /// What is left of a budget, in parts, and what reads get of it; with little of it, all.
    fn parts(&self) -> (Option<Brief>, Settings) {
        let Some(until) = self.subject.sampler.until else { return (None, Settings::THOROUGH) };
        let left_s = until.saturating_duration_since(Instant::now()).as_secs_f64();
        let brief = Brief::within(left_s).unwrap_or(Brief {
            clock: Duration::ZERO,
            reads_s: left_s,
            rounds: Duration::ZERO,
            threads_s: 0.0,
        });
        let brief = brief.capped(CLOCK_PATIENCE, ROUNDS, THREADS_S);
        (Some(brief), Settings::exactly(brief.reads_s))
    }
}

//! `sidestep clock cost`: what each way to read the time costs, alone, by clock source, and by number of threads.

use std::time::{Duration, Instant};

use anyhow::Context;
use clock::{Counter, TickRate, TimeStampCounter};
use experiments::held_toggle::{self, HeldClockSource};
use host::Root;
use host::live::{self, Pinned};
use machine::{CpuId, Machine};
use probes::clock_reads::catalogue::{CLOCK_PATIENCE, Catalogue, SHARED_WORD, Scope};
use probes::clock_reads::check_up::keep;
use probes::clock_reads::fill::{self, Brief, Scaling, Subject, begun};
use probes::clock_reads::{Settings, sources};
use probes::control::ControlLoops;
use probes::sampler::Sampler;
use probes::session::SessionError;
use record::{ClockCost, CostVerdict, RoundsVerdict, ScalingVerdict};
use stats::Random;
use toggles::SystemState;

use super::arguments::ThreadRange;
use super::arguments::{CostArguments, SourceChoice};
use super::ended;
use crate::global::Global;
use crate::outcome::Outcome;
use crate::progress::ProgressLine;
use crate::recording::{self, Recording};
use crate::{describe, provenance};

/// Time for the counter's rate, which turns ticks into nanoseconds.
const CALIBRATION_NS: u64 = 50_000_000;
/// Time for clock sources in turns, and for bursts of threads.
const SOURCES_S: f64 = 6.0;
const THREADS_S: f64 = 3.0;
/// Share of a budget that clock sources in turns get at most.
const SOURCES_SHARE: f64 = 0.4;
/// Time for rounds at most, of all reads in all numbers of threads.
const ROUNDS: Duration = Duration::from_secs(5);

/// Measures, or says what could be, and prints.
pub(crate) fn cost(arguments: &CostArguments, global: &Global) -> anyhow::Result<Outcome> {
    arguments.forms.ensure_writable()?;
    let recording = Recording::begin(arguments.record.as_deref())?;
    let measure = || match &arguments.sysroot {
        Some(path) => Ok(recorded(&Root::open(path)?)),
        None => on_this_machine(arguments, global),
    };
    let Costed { mut cost, failure, left_changed, machine, cpus } =
        Recording::around(recording.as_ref(), measure)?;
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
    ended(&left_changed, failure, || outcome(&cost, global))
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
#[derive(Default)]
struct Costed {
    cost: ClockCost,
    /// Why nothing could be measured, if so.
    failure: Option<anyhow::Error>,
    /// What was switched and is not put back.
    left_changed: Vec<String>,
    machine: Machine,
    cpus: Vec<CpuId>,
}

/// What could be measured on a recorded machine.
fn recorded(root: &Root) -> Costed {
    let machine = host::describe(root, None);
    let mut cost = begun(root, &machine);
    let offered = held_toggle::offered(&SystemState::of(root, &machine));
    if offered.names.len() > 1 {
        cost.without.push(format!(
            "on the machine itself, as root, sidestep clock cost --clocksources all measures {}",
            offered.names.join(", ")
        ));
    }
    let failure =
        anyhow::anyhow!("nothing was measured: this is a recorded machine; run it on the machine itself");
    cost.because.push(failure.to_string());
    Costed { cost, failure: Some(failure), machine, ..Costed::default() }
}

fn on_this_machine(arguments: &CostArguments, global: &Global) -> anyhow::Result<Costed> {
    // First, as where the counter raises signals, so does the kernel's own clock in user space.
    let until = arguments.budget.map(|budget| Instant::now() + budget);
    let counter = TimeStampCounter::new();
    let machine = describe::live_machine();
    let cpus = provenance::chosen_cpus(&machine, arguments.cpus.as_ref())?;
    let cost = begun(&Root::live(), &machine);
    let mut costed = Costed { cost, cpus: cpus.clone(), ..Costed::default() };
    let has_counter = Counter::of_this_machine() != Counter::MonotonicRaw;
    let usable = match counter {
        Err(denied) if has_counter => Err(denied.into()),
        _ if cfg!(debug_assertions) => Err(SessionError::DebugBuild.into()),
        _ => Ok(()),
    };
    let measured = usable.and_then(|()| {
        live::install_handlers()?;
        Measuring::begin(&machine, cpus, until, arguments, global)?.run(&mut costed)
    });
    if let Err(failure) = measured {
        costed.cost.because.insert(0, format!("{failure:#}"));
        costed.failure = Some(failure);
    }
    costed.machine = machine;
    Ok(costed)
}

/// A run of all parts.
struct Measuring<'a> {
    machine: &'a Machine,
    arguments: &'a CostArguments,
    subject: Subject,
    line: ProgressLine,
    started: Instant,
}

impl<'a> Measuring<'a> {
    fn begin(
        machine: &'a Machine,
        cpus: Vec<CpuId>,
        until: Option<Instant>,
        arguments: &'a CostArguments,
        global: &Global,
    ) -> anyhow::Result<Self> {
        let first = *cpus.first().context("no CPU may be used")?;
        let rate = TickRate::calibrate(CALIBRATION_NS)?;
        Ok(Self {
            machine,
            arguments,
            subject: Subject {
                sampler: Sampler::new(first, rate, ControlLoops::of(&machine.identity)).until(until),
                cpus,
                random: Random::new(provenance::seed_of_now()),
            },
            line: ProgressLine::new(global.quiet),
            started: Instant::now(),
        })
    }

    fn run(mut self, costed: &mut Costed) -> anyhow::Result<()> {
        let rate = self.subject.sampler.rate;
        costed.cost.counter_hz = Some(rate.hz);
        // Before this project's clock is started: its keeper would take every change of the source for a disruption.
        let pinned = Pinned::to(self.subject.cpus[0])?;
        self.clock_sources(costed);
        if live::pending_signal().is_none() {
            let (brief, settings) = self.parts();
            let patience = brief.map_or(CLOCK_PATIENCE, |brief| brief.clock);
            let catalogue = Catalogue::find(Scope::All, rate, patience);
            self.line.begin("reads", Duration::from_secs_f64(settings.budget_s + THREADS_S));
            self.subject.reads(&mut costed.cost, &catalogue, &settings, &self.line);
            drop(pinned);
            let cpus = self.subject.cpus.len();
            let counts =
                self.arguments.threads.map_or_else(|| fill::thread_counts(cpus), ThreadRange::counts);
            self.line.begin("threads", Duration::from_secs_f64(THREADS_S));
            let scaling = match brief {
                Some(brief) => Scaling::within(counts, &brief),
                None => Scaling::thorough(counts, THREADS_S),
            };
            self.subject.scaling(&mut costed.cost, &catalogue, &scaling, &self.line);
        }
        self.line.end();
        costed.cost.elapsed_s = self.started.elapsed().as_secs_f64();
        Ok(())
    }

    /// Seconds of the budget that are left, if there is one.
    fn left_s(&self) -> Option<f64> {
        let until = self.subject.sampler.until?;
        Some(until.saturating_duration_since(Instant::now()).as_secs_f64())
    }

    /// What is left of a budget, in parts, and what reads get of it; with little of it, all.
    fn parts(&self) -> (Option<Brief>, Settings) {
        let Some(left_s) = self.left_s() else { return (None, Settings::THOROUGH) };
        let brief = Brief::within(left_s).unwrap_or(Brief {
            clock: Duration::ZERO,
            reads_s: left_s,
            rounds: Duration::ZERO,
            threads_s: 0.0,
        });
        let brief = brief.capped(CLOCK_PATIENCE, ROUNDS, THREADS_S);
        (Some(brief), Settings::exactly(brief.reads_s))
    }

    /// Other clock sources in turns, where that is asked for.
    fn clock_sources(&mut self, costed: &mut Costed) {
        let root = Root::live();
        let offered = held_toggle::offered(&SystemState::of(&root, self.machine));
        let others = offered.names.get(1..).unwrap_or_default().join(", ");
        if others.is_empty() {
            return;
        }
        if self.arguments.clocksources == SourceChoice::Current {
            let how = offered.denied.map(|denied| format!(" ({denied})")).unwrap_or_default();
            let hint =
                format!("other clock sources, {others}: --clocksources all switches to each in turns{how}");
            costed.cost.without.push(hint);
            return;
        }
        let sources_s = self.left_s().map_or(SOURCES_S, |left_s| SOURCES_S.min(left_s * SOURCES_SHARE));
        let budget = Duration::from_secs_f64(sources_s);
        let mut held = match HeldClockSource::begin(self.machine, budget) {
            Ok(held) => held,
            Err(reason) => {
                costed.cost.without.push(format!("other clock sources, {others}: {reason}"));
                return;
            }
        };
        self.line.begin("clock sources", budget);
        let names = held.names();
        let reads = Catalogue::find(Scope::Library, self.subject.sampler.rate, CLOCK_PATIENCE)
            .chosen(&sources::READS);
        let seen = sources::take_turns(
            &mut self.subject.sampler,
            &reads,
            &names,
            sources_s,
            &mut self.subject.random,
            &mut held,
            &self.line,
        );
        let put_back = held.end();
        let left = put_back.iter().filter(|result| !result.is_settled());
        costed.left_changed.extend(left.map(|result| result.entry.target.to_string()));
        if let Some(reason) = &seen.not_held {
            costed.cost.without.push(format!("clock sources were not changed any longer: {reason}"));
        }
        costed.cost.clock_sources = Some(sources::compare(&seen, &reads, &names));
    }
}

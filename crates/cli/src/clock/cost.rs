//! `sidestep clock cost`: what each way to read the time costs, alone, by clock source, and by number of threads.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use clock::{Counter, TickRate, TimeStampCounter};
use experiments::held_clock_source::{self, HeldClockSource};
use host::live::{self, Pinned, write_atomically};
use host::{Root, kernel_clocks};
use machine::{CpuId, Machine};
use probes::clock_reads::catalogue::{
    CLOCK_NOW, Catalogue, MONOTONIC, RDTSCP, Read, SYSTEM_CALL, Scope, TIME_OF_DAY,
};
use probes::clock_reads::level::Level;
use probes::clock_reads::price::{Price, Scale};
use probes::clock_reads::{self, Batches, Settings, rounds, sources, threads};
use probes::control::ControlLoops;
use probes::sampler::Sampler;
use probes::session::SessionError;
use record::{
    CLOCK_COST_SCHEMA, ClockCost, CostControl, CostVerdict, FailedRead, PublishedCost, RawSeries,
    RoundsVerdict, ScalingVerdict,
};
use stats::Random;
use toggles::Surroundings;

use super::arguments::{CostArguments, SourceChoice};
use super::thread_range::ThreadRange;
use crate::arguments::Global;
use crate::outcome::{CouldNotMeasure, Outcome};
use crate::progress::Line;
use crate::{check_up, describe, output};

/// Time for the counter's rate, which turns ticks into nanoseconds.
const CALIBRATION_NS: u64 = 50_000_000;
/// Time for clock sources in turns, and for bursts of threads.
const SOURCES_S: f64 = 6.0;
const THREADS_S: f64 = 3.0;
/// What the kernel's clock costs at least of a system call where it is one.
const CALL_SHARE: f64 = 0.7;
/// The document in the folder of --record.
const DOCUMENT: &str = "clock-cost.json";

/// Measures, or says what could be, and prints.
pub(crate) fn cost(arguments: &CostArguments, global: &Global) -> anyhow::Result<Outcome> {
    if let Some(folder) = &arguments.record {
        make_room(folder)?;
    }
    let Costed { mut cost, failure, left_changed } = match &arguments.sysroot {
        Some(path) => recorded(&Root::open(path)?),
        None => on_this_machine(arguments, global)?,
    };
    if let Some(folder) = &arguments.record {
        write_atomically(&folder.join(DOCUMENT), output::json_text(&cost)?.as_bytes())?;
    }
    cost.raw.clear();
    if global.json {
        output::print(&output::json_text(&cost)?)?;
    } else if !global.quiet {
        output::print(&report::clock_cost_terminal(&cost, output::terminal(global)))?;
    }
    if !left_changed.is_empty() {
        return Ok(Outcome::LeftChanged(anyhow::anyhow!(
            "{} are not put back; sidestep toggles revert does it",
            left_changed.join(", ")
        )));
    }
    if let Some(signal) = live::pending_signal() {
        return Ok(Outcome::Interrupted(signal));
    }
    if let Some(failure) = failure {
        return Err(anyhow::Error::new(CouldNotMeasure).context(failure));
    }
    Ok(outcome(&cost, global))
}

fn outcome(cost: &ClockCost, global: &Global) -> Outcome {
    let grows = |row: &record::ThreadCost| row.verdict == ScalingVerdict::Grows;
    let is_open = |row: &record::ThreadCost| row.verdict == ScalingVerdict::CannotTell;
    let backwards = |row: &record::RoundsSeen| row.verdict == RoundsVerdict::Backwards;
    // A clock in one shared word is there to grow.
    let of_clocks =
        || cost.threads.iter().filter(|row| row.read != probes::clock_reads::catalogue::SHARED_WORD);
    if global.gate && (of_clocks().any(grows) || cost.rounds.iter().any(backwards)) {
        Outcome::Gated
    } else if global.strict && (cost.verdict != CostVerdict::Repeatable || of_clocks().any(is_open)) {
        Outcome::Inconclusive
    } else {
        Outcome::Done
    }
}

/// Makes the folder before anything is measured; nothing is ever overwritten.
fn make_room(folder: &Path) -> anyhow::Result<()> {
    let place = folder.display();
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot create {place}; choose another place with --record DIR"))?;
    let is_taken = folder.join(DOCUMENT).exists();
    anyhow::ensure!(!is_taken, "{place} already holds {DOCUMENT}; choose another place with --record DIR");
    Ok(())
}

/// What was found, and how it went.
#[derive(Default)]
struct Costed {
    cost: ClockCost,
    /// Why nothing could be measured, if so.
    failure: Option<anyhow::Error>,
    /// What was switched and is not put back.
    left_changed: Vec<String>,
}

fn begun(root: &Root, machine: &Machine) -> ClockCost {
    let row = |name: &str, cycles| PublishedCost {
        name: name.to_owned(),
        cycles,
        source: "article on TSC drift in RHEL, one million calls on a K8".to_owned(),
    };
    ClockCost {
        schema: CLOCK_COST_SCHEMA,
        kernel: kernel_clocks(root, machine),
        published: vec![row("gettimeofday without RDTSCP", 324.0), row("gettimeofday with RDTSCP", 221.0)],
        ..ClockCost::default()
    }
}

/// What could be measured on a recorded machine.
fn recorded(root: &Root) -> Costed {
    let machine = host::describe(root, None);
    let mut cost = begun(root, &machine);
    let offered = held_clock_source::offered(&Surroundings::of(root, &machine));
    if offered.names.len() > 1 {
        cost.without.push(format!(
            "on the machine itself, as root, sidestep clock cost --clocksources all measures {}",
            offered.names.join(", ")
        ));
    }
    let failure =
        anyhow::anyhow!("nothing was measured: this is a recorded machine; run it on the machine itself");
    cost.because.push(failure.to_string());
    Costed { cost, failure: Some(failure), ..Costed::default() }
}

fn on_this_machine(arguments: &CostArguments, global: &Global) -> anyhow::Result<Costed> {
    // First, as where the counter raises signals, so does the kernel's own clock in user space.
    let counter = TimeStampCounter::new();
    let machine = describe::live_machine();
    let cpus = check_up::chosen_cpus(&machine, arguments.cpus.as_ref())?;
    let mut costed = Costed { cost: begun(&Root::live(), &machine), ..Costed::default() };
    let has_counter = Counter::of_this_machine() != Counter::MonotonicRaw;
    let usable = match counter {
        Err(denied) if has_counter => Err(denied.into()),
        _ if cfg!(debug_assertions) => Err(SessionError::DebugBuild.into()),
        _ => Ok(()),
    };
    let measured = usable.and_then(|()| {
        live::install_handlers()?;
        Measuring::begin(&machine, cpus, arguments, global)?.run(&mut costed)
    });
    if let Err(failure) = measured {
        costed.cost.because.insert(0, format!("{failure:#}"));
        costed.failure = Some(failure);
    }
    Ok(costed)
}

/// A run of all parts.
struct Measuring<'a> {
    machine: &'a Machine,
    cpus: Vec<CpuId>,
    arguments: &'a CostArguments,
    sampler: Sampler,
    random: Random,
    line: Line,
    started: Instant,
}

impl<'a> Measuring<'a> {
    fn begin(
        machine: &'a Machine,
        cpus: Vec<CpuId>,
        arguments: &'a CostArguments,
        global: &Global,
    ) -> anyhow::Result<Self> {
        let first = *cpus.first().context("no CPU may be used")?;
        let rate = TickRate::calibrate(CALIBRATION_NS)?;
        Ok(Self {
            machine,
            arguments,
            sampler: Sampler::new(first, rate, ControlLoops::of(&machine.identity)),
            cpus,
            random: Random::new(check_up::seed_of_now()),
            line: Line::new(global.quiet),
            started: Instant::now(),
        })
    }

    fn run(mut self, costed: &mut Costed) -> anyhow::Result<()> {
        let rate = self.sampler.rate;
        costed.cost.counter_hz = Some(rate.hz);
        // Before this project's clock is started: its keeper would take every change of the source for a disruption.
        let pinned = Pinned::to(self.cpus[0])?;
        self.clock_sources(costed);
        if live::pending_signal().is_none() {
            let catalogue = Catalogue::find(Scope::All, rate);
            self.reads(&catalogue, &mut costed.cost);
            drop(pinned);
            self.scaling(&catalogue, &mut costed.cost);
        }
        self.line.end();
        costed.cost.elapsed_s = self.started.elapsed().as_secs_f64();
        Ok(())
    }

    /// Other clock sources in turns, where that is asked for.
    fn clock_sources(&mut self, costed: &mut Costed) {
        let root = Root::live();
        let offered = held_clock_source::offered(&Surroundings::of(&root, self.machine));
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
        let budget = Duration::from_secs_f64(SOURCES_S);
        let mut held = match HeldClockSource::begin(self.machine, budget) {
            Ok(held) => held,
            Err(reason) => {
                costed.cost.without.push(format!("other clock sources, {others}: {reason}"));
                return;
            }
        };
        self.line.begin("clock sources", budget);
        let names = held.names();
        let reads = Catalogue::find(Scope::Library, self.sampler.rate).chosen(&sources::READS);
        let seen = sources::take_turns(
            &mut self.sampler,
            &reads,
            &names,
            SOURCES_S,
            &mut self.random,
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

    /// Every way to read on the first CPU.
    fn reads(&mut self, catalogue: &Catalogue, cost: &mut ClockCost) {
        let failed =
            |(name, reason): &(&str, String)| FailedRead { name: (*name).to_owned(), reason: reason.clone() };
        cost.failed = catalogue.failed.iter().map(failed).collect();
        let budget_s = self.arguments.budget.map(|budget| budget.as_secs_f64());
        let settings =
            budget_s.map_or(Settings::THOROUGH, |budget_s| Settings { budget_s, least_s: budget_s });
        self.line.begin("reads", Duration::from_secs_f64(settings.budget_s));
        let batches = clock_reads::measure(
            &mut self.sampler,
            &catalogue.reads,
            &settings,
            &mut self.random,
            &self.line,
        );
        let cycles_per_step = self.sampler.control.believed_cycles(self.sampler.rate);
        price(cost, &catalogue.reads, &batches, &self.sampler, cycles_per_step);
    }

    /// The same in many threads.
    fn scaling(&mut self, catalogue: &Catalogue, cost: &mut ClockCost) {
        let mut reads = catalogue.chosen(&[TIME_OF_DAY, MONOTONIC, RDTSCP, CLOCK_NOW]);
        let rate = self.sampler.rate;
        let cpus = self.cpus.len();
        let counts =
            self.arguments.threads.map_or_else(|| ThreadRange::counts_for(cpus), ThreadRange::counts);
        let most = counts.last().copied().unwrap_or(1);
        self.line.begin("rounds", Duration::from_secs_f64(THREADS_S));
        for read in &reads {
            for &count in counts.iter().filter(|count| **count > 1) {
                if live::pending_signal().is_some() {
                    return;
                }
                let ns_per_unit = if read.is_in_ticks() { rate.nanoseconds(1_000_000) / 1e6 } else { 1.0 };
                match rounds::run(read, count, &self.cpus, ns_per_unit) {
                    Ok(seen) => cost.rounds.push(seen),
                    Err(reason) => {
                        let told = format!("rounds of {} in {count} threads: {reason}", read.name);
                        cost.without.push(told);
                    }
                }
            }
        }
        reads.push(Read::shared_word());
        let settings = threads::Settings { counts, cpus: self.cpus.clone(), budget_s: THREADS_S };
        self.line.begin("threads", Duration::from_secs_f64(THREADS_S));
        match threads::run(&self.sampler, &reads, &settings, &mut self.random, &self.line) {
            Ok(rows) => cost.threads = rows,
            Err(reason) => cost.without.push(format!("cost in up to {most} threads: {reason}")),
        }
    }
}

/// From batches to costs and the verdict on them.
fn price(cost: &mut ClockCost, reads: &[Read], batches: &[Batches], sampler: &Sampler, cycles: Option<f64>) {
    let all = || batches.iter().flat_map(|batches| &batches.taken);
    let level = Level::of(all());
    let has_counter = Counter::of_this_machine() != Counter::MonotonicRaw;
    let scale = Scale { cycles_per_step: cycles, ticks_per_ns: has_counter.then(|| sampler.rate.ticks(1.0)) };
    for (index, (read, batches)) in reads.iter().zip(batches).enumerate() {
        let price = level.and_then(|level| Price::of(batches, &level, index as u64));
        let Some(price) = price else {
            let count = batches.taken.len() + batches.interrupted;
            cost.without.push(format!("{}: all but a few of {count} batches were disturbed", read.name));
            continue;
        };
        let mut row = price.record(read, sampler.cpu, &scale);
        row.spread.raw = Some(cost.raw.len());
        let visits = price.pieces.iter().map(|piece| piece.iter().map(|ns| *ns as f32).collect()).collect();
        cost.raw.push(RawSeries {
            name: format!("cost of {}", read.name),
            unit: "ns".to_owned(),
            visits,
            mapping_of_visit: Vec::new(),
        });
        cost.reads.push(row);
    }
    let multiply_ns = Level::multiply_ns(all());
    cost.control = level.zip(multiply_ns).map(|(level, multiply_ns)| CostControl {
        cpu: sampler.cpu,
        multiply_ns,
        port_ns: level.share * multiply_ns,
        core_hz: cycles.map(|cycles| cycles / multiply_ns * 1e9),
        adds_per_cycle: cycles.map(|cycles| 1.0 / (level.share * cycles)),
        near_share: level.near,
        plateau_share: level.on_plateau,
        readings: level.readings,
    });
    judge(cost, level);
}

fn judge(cost: &mut ClockCost, level: Option<Level>) {
    let refused = cost.reads.iter().filter(|read| read.refused.is_some()).count();
    let vouched = cost.reads.len() - refused;
    let near = level.map_or(0.0, |level| level.near * 100.0);
    cost.verdict = if cost.reads.is_empty() {
        let why = "hardly a batch stood beside a core that was ours alone";
        cost.because.push(format!("{why}; try again when the machine is quieter, or with a longer --budget"));
        CostVerdict::CannotTell
    } else if !level.is_some_and(|level| level.is_certain()) {
        cost.because.push(
            "the core was never ours alone for certain: another run may find a whole core, and lower costs; \
             try again when the machine is quieter, or with a longer --budget"
                .to_owned(),
        );
        CostVerdict::Refused
    } else if refused == 0 && cost.without.iter().all(|line| !line.ends_with("disturbed")) {
        cost.because.push(format!(
            "the core was ours alone in {near:.0} % of the readings, and only batches beside these count"
        ));
        CostVerdict::Repeatable
    } else {
        cost.because
            .push(format!("another run agrees within 2 % on {vouched} of {} reads", cost.reads.len()));
        CostVerdict::PartlyRepeatable
    };
    let ns = |name: &str| cost.reads.iter().find(|read| read.name == name).map(|read| read.ns);
    if let (Some(clock), Some(call)) = (ns(MONOTONIC), ns(SYSTEM_CALL))
        && clock >= CALL_SHARE * call
    {
        let source = cost.kernel.clocksource.as_deref().unwrap_or("unknown");
        cost.because.push(format!(
            "every read of the kernel's clock is a system call: the clock source, {source}, cannot be read in user space"
        ));
    }
}

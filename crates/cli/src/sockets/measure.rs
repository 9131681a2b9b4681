//! `sidestep sockets`: every CPU against the memory of every node, and whether equal CPUs are equal.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::{Duration, Instant};

use clap::Args;
use host::live;
use machine::{CpuId, CpuSet, Machine};
use probes::memory::sockets;
use probes::memory::sockets::{Per, Settings, Streams, nodes_with_memory, subjects};
use probes::session::Session;
use record::{GateVerdict, Record, SocketVerdict};

use super::explain;
use crate::forms::Forms;
use crate::options::{Global, Names, one_of, parse_budget};
use crate::outcome::{CouldNotMeasure, Outcome};
use crate::progress::ProgressLine;
use crate::recording::Recording;
use crate::{describe, recording};

/// Options of `sockets` itself.
#[derive(Debug, Clone, Args)]
pub(super) struct MeasureArguments {
    /// Which CPUs: one of each socket, node, last-level cache or core, or all; without it the coarsest of which there are two
    #[arg(long, value_name = "UNIT", value_parser = one_of(UNITS))]
    per: Option<Per>,
    /// Only these CPUs, such as 0-3,8
    #[arg(long, value_name = "LIST")]
    cpus: Option<CpuSet>,
    /// Time for measuring, such as 30s or 2m; without it 15s, more where there are many CPUs and nodes
    #[arg(long, value_name = "TIME", value_parser = parse_budget)]
    budget: Option<Duration>,
    /// Write the record and its report here, for sidestep sockets explain and sidestep show
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,
    /// Hold each socket against the record of a machine that is good, not against the other sockets
    #[arg(long, value_name = "RECORD")]
    expect: Option<PathBuf>,
    /// Give the loads of one CPU more to do in every window, to see what would be found: CPU:slow=PERCENT
    #[arg(long, value_name = "FAULT")]
    inject: Option<Planted>,
    #[command(flatten)]
    forms: Forms,
}

/// More work for one CPU, as it is typed: `1:slow=5`.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Planted {
    cpu: CpuId,
    share: f64,
}

impl FromStr for Planted {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        /// Ten times the work is as good as any.
        const PERCENT_MAX: f64 = 900.0;
        let usage = || "give CPU:slow=PERCENT, such as 1:slow=5".to_owned();
        let (cpu, percent) = text.split_once(":slow=").ok_or_else(usage)?;
        let percent: f64 = percent.parse().map_err(|_| usage())?;
        let is_sane = (0.0..=PERCENT_MAX).contains(&percent);
        let cpu = cpu.parse().ok().filter(|_| is_sane).ok_or_else(usage)?;
        Ok(Self { cpu: CpuId(cpu), share: percent / 100.0 })
    }
}

/// Units of which one CPU each is measured.
const UNITS: Names<Per> = &[
    (Per::Package, "socket", "One CPU of each socket"),
    (Per::Node, "node", "One CPU of each node"),
    (Per::Cache, "l3", "One CPU of each last-level cache"),
    (Per::Core, "core", "One CPU of each core"),
    (Per::Cpu, "cpu", "Every CPU"),
];

/// Measures and prints.
pub(super) fn measure(arguments: &MeasureArguments, global: &Global) -> anyhow::Result<Outcome> {
    let started = Instant::now();
    let machine = describe::live_machine();
    let cpus = recording::chosen_cpus(&machine, arguments.cpus.as_ref())?;
    let settings = settings(arguments, &machine, &cpus)?;
    let good = explain::good(arguments.expect.as_deref())?;
    live::install_handlers()?;
    let recording = Recording::begin(arguments.record.as_deref())?;
    let line = ProgressLine::new(global.quiet);
    let begun = recording::begun(machine, &cpus, settings.budget_s);
    let mut record =
        Recording::clearing_up(recording.as_ref(), || run(settings, begun, cpus, started, &line))?;
    let mut sockets = record.sockets.take().unwrap_or_default();
    sockets.links = super::reported_links(&record.machine);
    if let Some(planted) = arguments.inject {
        let percent = planted.share * 100.0;
        sockets
            .because
            .insert(0, format!("put in on purpose: CPU {} has {percent} % more to do", planted.cpu));
    }
    let account = diagnosis::socket_account(&sockets, Some(&record.machine));
    let gate = explain::gate(&sockets, &account, good.as_ref());
    let is_outside = gate.verdict == GateVerdict::Outside;
    let is_known =
        sockets.verdict != SocketVerdict::Inconclusive && gate.verdict != GateVerdict::Inconclusive;
    sockets.gate = Some(gate);
    record.partial =
        live::pending_signal().map(|signal| format!("stopped by {signal:?} after {:.1} s", record.elapsed_s));
    sockets.without.extend(record.partial.clone());
    record.sockets = Some(sockets.clone());
    let page = report::measured_sockets_page(&sockets, Some(&account));
    let text = arguments.forms.printed(&page, &sockets, global)?;
    Recording::finish(recording.as_ref(), || record, &text, global)?;
    arguments.forms.write_files(&page)?;
    Ok(match live::pending_signal() {
        Some(signal) => Outcome::Interrupted(signal),
        None => Outcome::judged(global, is_outside, !is_known),
    }
    .if_all_started())
}

fn settings(arguments: &MeasureArguments, machine: &Machine, cpus: &[CpuId]) -> anyhow::Result<Settings> {
    let per = arguments.per.unwrap_or_else(|| Per::coarsest(&machine.topology, cpus));
    let mut settings = Settings {
        subjects: subjects(&machine.topology, cpus, per),
        nodes: nodes_with_memory(&machine.topology),
        budget_s: 0.0,
        planted: arguments.inject.map(|planted| (planted.cpu, planted.share)),
        streams: Streams::All,
        on_its_own: true,
    };
    settings.budget_s = match arguments.budget {
        Some(budget) => budget.as_secs_f64(),
        None => settings.usual_budget_s(machine),
    };
    if let Some(planted) = arguments.inject
        && !settings.subjects.iter().any(|subject| subject.cpu == planted.cpu)
    {
        anyhow::bail!("--inject: CPU {} is not among those measured", planted.cpu);
    }
    Ok(settings)
}

/// Measures, and gives the record back; an error only where there is no result. The budget is for all since `begun`.
fn run(
    settings: Settings,
    record: Record,
    cpus: Vec<CpuId>,
    begun: Instant,
    line: &ProgressLine,
) -> anyhow::Result<Record> {
    let mut session = Session::start(record, cpus, line).map_err(CouldNotMeasure::because)?;
    let started = Instant::now();
    session.deadline = begun + Duration::from_secs_f64(settings.budget_s);
    line.begin("sockets", session.time_left());
    let settings = settings.in_all(session.time_left().as_secs_f64(), &session.record.machine);
    let measured = sockets::run(&mut session, &settings);
    line.end();
    session.record.elapsed_s = started.elapsed().as_secs_f64();
    let is_empty = session.record.sockets.as_ref().is_none_or(|sockets| sockets.latency.is_empty());
    match measured {
        Err(error) if is_empty => Err(CouldNotMeasure::because(error)),
        _ => Ok(session.record),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_work_is_typed_in_per_cent_and_nonsense_is_refused() {
        let planted: Planted = "1:slow=5".parse().expect("as in the help");
        assert_eq!(planted, Planted { cpu: CpuId(1), share: 0.05 });
        for text in ["", "1", "1:slow=", "x:slow=5", "1:slow=-1", "1:slow=nan", "1:slow=1e9", "1:fast=5"] {
            assert!(text.parse::<Planted>().is_err(), "{text}");
        }
    }
}

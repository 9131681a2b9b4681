//! `sidestep sockets`: every CPU against the memory of every node, and whether equal CPUs are equal.

use std::str::FromStr;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use host::live;
use machine::{CpuId, CpuSet, Machine, NodeId};
use models::interconnect::{self, Matrix, Unit};
use probes::memory::sockets::{self, Per, Settings, subjects};
use probes::session::Session;
use record::{Provenance, Record, SocketVerdict, Sockets};

use crate::arguments::{Global, parse_budget};
use crate::outcome::{CouldNotMeasure, Outcome};
use crate::progress::Line;
use crate::{check_up, describe, output};

/// Time without --budget: two dozen rounds over two CPUs and a node, three over eight of each.
const BUDGET: Duration = Duration::from_secs(15);

/// Options of `sockets` itself.
#[derive(Debug, Clone, Args)]
pub(super) struct MeasureArguments {
    /// Which CPUs: one of each socket, last-level cache or core, or all; without it the coarsest of which there are two
    #[arg(long, value_name = "UNIT")]
    per: Option<PerName>,
    /// Only these CPUs, such as 0-3,8
    #[arg(long, value_name = "LIST")]
    cpus: Option<CpuSet>,
    /// Time for measuring, such as 30s or 2m
    #[arg(long, value_name = "TIME", value_parser = parse_budget)]
    budget: Option<Duration>,
    /// Give the loads of one CPU more to do in every window, to see what would be found: CPU:slow=PERCENT
    #[arg(long, value_name = "FAULT")]
    inject: Option<Planted>,
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

/// A unit as it is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PerName {
    /// One CPU of each socket
    Socket,
    /// One CPU of each last-level cache
    L3,
    /// One CPU of each core
    Core,
    /// Every CPU
    Cpu,
}

impl PerName {
    const fn per(self) -> Per {
        match self {
            Self::Socket => Per::Package,
            Self::L3 => Per::Cache,
            Self::Core => Per::Core,
            Self::Cpu => Per::Cpu,
        }
    }
}

/// Measures and prints.
pub(super) fn measure(arguments: &MeasureArguments, global: &Global) -> anyhow::Result<Outcome> {
    let machine = describe::live_machine();
    let cpus = check_up::chosen_cpus(&machine, arguments.cpus.as_ref())?;
    let per = arguments.per.map_or_else(|| Per::coarsest(&machine.topology, &cpus), PerName::per);
    let budget = arguments.budget.unwrap_or(BUDGET);
    let settings = Settings {
        subjects: subjects(&machine.topology, &cpus, per),
        nodes: nodes_with_memory(&machine),
        budget_s: budget.as_secs_f64(),
        planted: arguments.inject.map(|planted| (planted.cpu, planted.share)),
    };
    if let Some(planted) = arguments.inject
        && !settings.subjects.iter().any(|subject| subject.cpu == planted.cpu)
    {
        anyhow::bail!("--inject: CPU {} is not among those measured", planted.cpu);
    }
    live::install_handlers()?;
    let line = Line::new(global.quiet);
    let provenance = Provenance { seed: check_up::seed_of_now(), ..Provenance::default() };
    let record = Record { machine, provenance, ..Record::default() };
    let mut session = Session::start(record, cpus, &line)
        .map_err(|error| anyhow::Error::new(CouldNotMeasure).context(error))?;
    session.deadline = Instant::now() + budget;
    line.begin("sockets", budget);
    let measured = sockets::run(&mut session, &settings);
    line.end();
    let sockets = session.record.sockets.take().unwrap_or_default();
    if let Err(error) = measured
        && sockets.latency.is_empty()
    {
        return Err(anyhow::Error::new(CouldNotMeasure).context(error));
    }
    let mut sockets = sockets;
    if let Some(planted) = arguments.inject {
        let percent = planted.share * 100.0;
        sockets
            .because
            .insert(0, format!("put in on purpose: CPU {} has {percent} % more to do", planted.cpu));
    }
    tell(&sockets, global)?;
    Ok(match (live::pending_signal(), sockets.verdict) {
        (Some(signal), _) => Outcome::Interrupted(signal),
        (None, SocketVerdict::Asymmetric) if global.gate => Outcome::Gated,
        (None, SocketVerdict::Inconclusive) if global.strict => Outcome::Inconclusive,
        _ => Outcome::Done,
    })
}

fn tell(sockets: &Sockets, global: &Global) -> anyhow::Result<()> {
    if global.json {
        return output::print(&output::json_text(sockets)?);
    }
    if global.quiet {
        return Ok(());
    }
    let terminal = output::terminal(global);
    let mut text = report::measured_sockets_terminal(sockets, terminal);
    if let Some(matrix) = matrix(sockets) {
        let inference = interconnect::infer(&matrix);
        text += "\n";
        text += &report::inference_terminal(&inference, "the measured latencies", terminal);
    }
    output::print(&text)
}

/// Nodes that have memory; none where the kernel tells of none.
fn nodes_with_memory(machine: &Machine) -> Vec<NodeId> {
    let nodes = machine.topology.nodes.iter();
    nodes.filter(|node| node.memory_bytes.is_none_or(|bytes| bytes.0 > 0)).map(|node| node.id).collect()
}

/// Latencies by node, if each of two or more nodes has a CPU that was measured.
fn matrix(sockets: &Sockets) -> Option<Matrix> {
    let nodes: Vec<NodeId> = sockets.nodes.iter().map(|node| node.node).collect();
    if nodes.len() < 2 {
        return None;
    }
    let row = |from: &NodeId| {
        let subject = sockets.subjects.iter().find(|subject| subject.node == Some(*from))?;
        let entry = |to: &NodeId| {
            let of = sockets.latency.iter().find(|one| one.cpu == subject.cpu && one.node == *to)?;
            Some(of.ns)
        };
        Some(nodes.iter().map(entry).collect::<Vec<Option<f64>>>())
    };
    let rows: Option<Vec<Vec<Option<f64>>>> = nodes.iter().map(row).collect();
    let mut errors: Vec<f64> = sockets.latency.iter().map(|one| one.standard_error_ns).collect();
    errors.sort_by(f64::total_cmp);
    let mut matrix = Matrix::of_rows(Unit::Nanoseconds, &rows?).ok()?;
    matrix.standard_error = errors.get(errors.len() / 2).copied().filter(|error| error.is_finite());
    matrix.nodes = nodes.iter().map(|node| node.0).collect();
    Some(matrix)
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

    #[test]
    fn a_matrix_needs_two_nodes_each_with_a_cpu() {
        assert!(matrix(&Sockets::default()).is_none());
    }
}

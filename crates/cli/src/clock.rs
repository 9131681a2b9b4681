//! `sidestep clock`: is time safe on this machine, does it stay so, and what does reading it cost.

mod check;
mod cost;
mod injection;
mod watch;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use host::live;
use machine::CpuSet;
use probes::clock_pairs::Stress;

use crate::forms::Forms;
use crate::options::{Global, Names, one_of, parse_budget, parse_counts};
use crate::outcome::{CouldNotMeasure, Outcome};
use injection::Injection;

/// What can be asked of clocks.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum ClockCommand {
    /// Whether the counters of all CPUs agree and stay so, whether time goes back, what the kernel thinks
    #[command(after_help = CHECK_HELP)]
    Check(CheckArguments),
    /// What each way to read the time costs: alone, and in many threads
    Cost(CostArguments),
    /// Watch until it is ended: drift, steps, time set, sleep, another clock source, a restored machine
    Watch(WatchArguments),
}

const CHECK_HELP: &str = "\
Verdicts: safe: no counter differs or moves by more than the stated detection limits; correctable: a constant offset or \
drift; unsafe: jumps, drift that comes and goes, or ordered reads that go back; undetermined: too little was seen.";

/// Options of `clock check`.
#[derive(Debug, Clone, Args)]
pub(crate) struct CheckArguments {
    /// Show what a recorded machine reports: a directory or tarball with proc/ and sys/; nothing is measured
    #[arg(long, value_name = "DIR|TARBALL", conflicts_with_all = ["cpus", "budget", "stress", "inject"])]
    pub(crate) sysroot: Option<PathBuf>,
    /// Only these CPUs, such as 0-3,8
    #[arg(long, value_name = "LIST")]
    pub(crate) cpus: Option<CpuSet>,
    /// Take this long at most, such as 30s or 10m; 12 seconds without it
    #[arg(long, value_name = "TIME", value_parser = parse_budget)]
    pub(crate) budget: Option<Duration>,
    /// What the CPUs do meanwhile, in turns: a counter may drift only then
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = one_of(STRESSES))]
    stress: Vec<&'static [Stress]>,
    /// Pretend that a CPU's counter has a fault, to see what would be found: CPU:offset=NS, CPU:rate=PPB,
    /// CPU:step=NS@S, CPU:idle=PPB
    #[arg(long, value_name = "FAULT", value_delimiter = ',')]
    pub(crate) inject: Vec<Injection>,
    /// Write record.json and report.html to this folder; sidestep show and compare open it
    #[arg(long, value_name = "DIR")]
    pub(crate) record: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) forms: Forms,
}

/// Options of `clock watch`.
#[derive(Debug, Clone, Args)]
pub(crate) struct WatchArguments {
    /// Only these CPUs, such as 0-3,8
    #[arg(long, value_name = "LIST")]
    pub(crate) cpus: Option<CpuSet>,
    /// Time from one probe to the next
    #[arg(long, value_name = "TIME", value_parser = parse_budget, default_value = "1s")]
    pub(crate) period: Duration,
    /// End after this long, such as 10m; without it Ctrl-C ends the watch
    #[arg(long, value_name = "TIME", value_parser = parse_budget)]
    pub(crate) budget: Option<Duration>,
    /// Keep this file up to date with metrics in Prometheus' text format, such as /var/lib/node_exporter/sidestep.prom
    #[arg(long, value_name = "FILE")]
    pub(crate) metrics_file: Option<PathBuf>,
    /// Pretend that a CPU's counter has a fault, to see what would be shown: CPU:offset=NS, CPU:rate=PPB, CPU:step=NS@S
    #[arg(long, value_name = "FAULT", value_delimiter = ',')]
    pub(crate) inject: Vec<Injection>,
}

/// Options of `clock cost`.
#[derive(Debug, Clone, Args)]
pub(crate) struct CostArguments {
    /// Only these CPUs, such as 0-3,8; reads are measured on the first, threads are pinned to all in turn
    #[arg(long, value_name = "LIST")]
    pub(crate) cpus: Option<CpuSet>,
    /// Take this long at most, such as 5s or 1m; without it until enough is known, about 15 seconds
    #[arg(long, value_name = "TIME", value_parser = parse_budget)]
    pub(crate) budget: Option<Duration>,
    /// So many threads at a time, pinned, such as 1..8; without it one, as many as CPUs, and twice as many
    #[arg(long, value_name = "COUNT|RANGE", value_parser = parse_threads)]
    pub(crate) threads: Option<[usize; 2]>,
    /// Write record.json, with the batches behind it, and report.html to this folder; sidestep show and compare open it
    #[arg(long, value_name = "DIR")]
    pub(crate) record: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) forms: Forms,
}

/// What CPUs can do meanwhile; P-states need root and cpufreq.
const STRESSES: Names<&[Stress]> = &[
    (&[Stress::Load], "load", "All CPUs work"),
    (&[Stress::Idle, Stress::Mixed], "idle", "All CPUs sleep, then every second one"),
    (
        &Stress::OF_PSTATES,
        "pstate",
        "All CPUs at their highest frequency, their lowest, mixed, and changing; needs root and cpufreq",
    ),
];

impl CheckArguments {
    /// Whether P-states are to be held.
    fn takes_pstates(&self) -> bool {
        self.stress.contains(&&Stress::OF_PSTATES[..])
    }

    /// The stresses asked for, without those of P-states if they cannot be held.
    fn stresses(&self, holds_pstates: bool) -> Vec<Stress> {
        let all = self.stress.iter().copied().flatten().copied();
        all.filter(|stress| holds_pstates || !Stress::OF_PSTATES.contains(stress)).collect()
    }
}

/// Beyond this a round of threads takes seconds on any machine that runs them in turns.
const THREADS_MAX: usize = 1024;
/// Up to so many numbers all are measured; of more, those that double.
const ALL_UP_TO: usize = 12;

fn parse_threads(text: &str) -> Result<[usize; 2], String> {
    let counts = parse_counts(text)?;
    if counts[1] > THREADS_MAX { Err(format!("give at most {THREADS_MAX} threads")) } else { Ok(counts) }
}

/// The numbers of threads to measure of a range, ascending; the first is 1, with which all others are compared.
fn thread_counts([low, high]: [usize; 2]) -> Vec<usize> {
    let mut counts: Vec<usize> = if high - low < ALL_UP_TO {
        (low..=high).collect()
    } else {
        let doubled = |count: &usize| Some(count * 2);
        let within = |count: &usize| *count < high;
        std::iter::successors(Some(low), doubled).take_while(within).chain([high]).collect()
    };
    if counts.first() != Some(&1) {
        counts.insert(0, 1);
    }
    counts
}

/// Does what was asked for.
pub(crate) fn clock(command: &ClockCommand, global: &Global) -> anyhow::Result<Outcome> {
    match command {
        ClockCommand::Check(check) => check::check(check, global),
        ClockCommand::Cost(cost) => cost::cost(cost, global),
        ClockCommand::Watch(watch) => watch::watch(watch, global),
    }
}

/// How a measurement ended: by a signal, or why nothing was measured; else by its result.
fn ended(failure: Option<anyhow::Error>, result: impl FnOnce() -> Outcome) -> anyhow::Result<Outcome> {
    match (live::pending_signal(), failure) {
        (Some(signal), _) => Ok(Outcome::Interrupted(signal)),
        (None, Some(failure)) => Err(CouldNotMeasure::because(failure)),
        (None, None) => Ok(result()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_typed_as_people_write_them_and_nonsense_is_refused() {
        for (text, expected) in [
            ("1..4", vec![1, 2, 3, 4]),
            ("1..=3", vec![1, 2, 3]),
            ("4", vec![1, 4]),
            ("1", vec![1]),
            ("3..5", vec![1, 3, 4, 5]),
            ("1..1000", vec![1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000]),
            ("6..64", vec![1, 6, 12, 24, 48, 64]),
        ] {
            assert_eq!(thread_counts(parse_threads(text).expect(text)), expected, "{text}");
        }
        for text in ["", "0", "0..4", "5..2", "100000", "1..100000", "-1", "1..", "..", "x", "1..2..3"] {
            assert!(parse_threads(text).is_err(), "{text}");
        }
    }
}

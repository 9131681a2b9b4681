//! What `sidestep clock` takes on the command line.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use machine::CpuSet;
use probes::clock_pairs::Stress;

use super::injection::Injection;
use crate::forms::Forms;
use crate::option_values::parse_budget;

/// Options of `clock`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ClockArguments {
    #[command(subcommand)]
    pub(crate) command: ClockCommand,
}

/// What can be asked of clocks.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum ClockCommand {
    /// Whether the counters of all CPUs agree and stay so, whether time goes back, what the kernel thinks
    #[command(after_help = CHECK_HELP)]
    Check(CheckArguments),
    /// What each way to read the time costs: alone, by clock source, and in many threads
    #[command(after_help = COST_HELP)]
    Cost(CostArguments),
    /// Watch until it is ended: drift, steps, time set, sleep, another clock source, a restored machine
    #[command(after_help = WATCH_HELP)]
    Watch(WatchArguments),
}

const CHECK_HELP: &str = "\
Verdicts: safe: no counter differs or moves by more than the stated detection limits; correctable: a constant offset or \
drift; unsafe: jumps, drift that comes and goes, or ordered reads that go back; undetermined: too little was seen.

Exit codes: 0 whatever the verdict; 1 with --gate, if correctable or unsafe; 2 bad use; 3 nothing could be measured, or with \
--strict, if undetermined; 4 the machine is left changed; 130 or 143 after Ctrl-C or SIGTERM.";

const COST_HELP: &str = "\
Exit codes: 0 whatever it costs; 1 with --gate, if a cost grows with the number of threads or time went back; 2 bad use; 3 \
nothing could be measured, or with --strict, if costs do not reproduce within 2 %; 4 the machine is left changed; 130 or \
143 after Ctrl-C or SIGTERM.";

const WATCH_HELP: &str = "\
Exit codes: 0 after the time of --budget; 1 with --gate, if anything happened; 2 bad use; 3 nothing can be watched, or \
counters were watched less than half of the time; 130 or 143 after Ctrl-C or SIGTERM.";

/// Options of `clock check`.
#[derive(Debug, Clone, Args)]
pub(crate) struct CheckArguments {
    /// Tell what a recorded machine tells: a directory or tarball with proc/ and sys/; nothing is measured
    #[arg(long, value_name = "DIR|TARBALL", conflicts_with_all = ["cpus", "budget", "stress", "inject"])]
    pub(crate) sysroot: Option<PathBuf>,
    /// Only these CPUs, such as 0-3,8
    #[arg(long, value_name = "LIST")]
    pub(crate) cpus: Option<CpuSet>,
    /// Take this long at most, such as 30s or 10m; 12 seconds without it
    #[arg(long, value_name = "TIME", value_parser = parse_budget)]
    pub(crate) budget: Option<Duration>,
    /// What the CPUs do meanwhile, in turns: a counter may drift only then
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) stress: Vec<StressName>,
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
    /// Tell what could be measured on a recorded machine: a directory or tarball with proc/ and sys/
    #[arg(long, value_name = "DIR|TARBALL", conflicts_with_all = ["cpus", "budget", "clocksources", "threads"])]
    pub(crate) sysroot: Option<PathBuf>,
    /// Only these CPUs, such as 0-3,8; reads are measured on the first, threads are pinned to all in turn
    #[arg(long, value_name = "LIST")]
    pub(crate) cpus: Option<CpuSet>,
    /// Take this long at most, such as 5s or 1m; without it until enough is known, about 15 seconds
    #[arg(long, value_name = "TIME", value_parser = parse_budget)]
    pub(crate) budget: Option<Duration>,
    /// The clock source in use, or all: as root, each is switched to in turns, and the one in use put back
    #[arg(long, value_name = "WHICH", default_value = "current")]
    pub(crate) clocksources: SourceChoice,
    /// So many threads at a time, pinned, such as 1..8; without it one, as many as CPUs, and twice as many
    #[arg(long, value_name = "COUNT|RANGE")]
    pub(crate) threads: Option<ThreadRange>,
    /// Write record.json, with the batches behind it, and report.html to this folder; sidestep show and compare open it
    #[arg(long, value_name = "DIR")]
    pub(crate) record: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) forms: Forms,
}

/// Which clock sources are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SourceChoice {
    /// The one in use
    Current,
    /// All that the kernel offers
    All,
}

/// A stress as it is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StressName {
    /// All CPUs work
    Load,
    /// All CPUs sleep, then every second one
    Idle,
    /// All CPUs at their highest frequency, their lowest, mixed, and changing; needs root and cpufreq
    Pstate,
}

impl CheckArguments {
    /// The stresses asked for, without those of P-states if they cannot be held.
    pub(crate) fn stresses(&self, holds_pstates: bool) -> Vec<Stress> {
        let of = |name: &StressName| match name {
            StressName::Load => vec![Stress::Load],
            StressName::Idle => vec![Stress::Idle, Stress::Mixed],
            StressName::Pstate if holds_pstates => Stress::OF_PSTATES.to_vec(),
            StressName::Pstate => Vec::new(),
        };
        self.stress.iter().flat_map(of).collect()
    }
}

/// Beyond this a round of threads takes seconds on any machine that runs them in turns.
const THREADS_MAX: usize = 1024;
/// Up to so many numbers all are measured; of more, those that double.
const ALL_UP_TO: usize = 12;

/// How many threads to measure with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ThreadRange {
    low: usize,
    high: usize,
}

impl ThreadRange {
    /// The numbers to measure, ascending; the first is 1, with which all others are compared.
    pub(crate) fn counts(self) -> Vec<usize> {
        let mut counts: Vec<usize> = if self.high - self.low < ALL_UP_TO {
            (self.low..=self.high).collect()
        } else {
            let doubled = |count: &usize| Some(count * 2);
            let within = |count: &usize| *count < self.high;
            std::iter::successors(Some(self.low), doubled).take_while(within).chain([self.high]).collect()
        };
        if counts.first() != Some(&1) {
            counts.insert(0, 1);
        }
        counts
    }
}

impl FromStr for ThreadRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (low, high) = text.split_once("..").unwrap_or((text, text));
        let high = high.strip_prefix('=').unwrap_or(high);
        let number = |text: &str| {
            text.parse::<usize>().map_err(|_| "give a number of threads or a range, such as 1..8".to_owned())
        };
        let (low, high) = (number(low)?, number(high)?);
        if low == 0 {
            return Err("there is no measuring with 0 threads; give 1 or more, such as 1..8".to_owned());
        }
        if low > high {
            return Err(format!("the range is empty; give the smaller number first: {high}..{low}"));
        }
        if high > THREADS_MAX {
            return Err(format!("give at most {THREADS_MAX} threads"));
        }
        Ok(Self { low, high })
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
            assert_eq!(text.parse::<ThreadRange>().expect(text).counts(), expected, "{text}");
        }
        for text in ["", "0", "0..4", "5..2", "100000", "1..100000", "-1", "1..", "..", "x", "1..2..3"] {
            assert!(text.parse::<ThreadRange>().is_err(), "{text}");
        }
    }
}

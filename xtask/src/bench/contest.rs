//! The contests: what of ours runs against what of theirs, and what ratio is good enough.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use stats::Shift;

use super::{Arguments, peer};
use crate::cargo;

/// Block of the memory contests with likwid-bench: more than ten times the largest third-level cache of a chiplet that
/// is common today, 32 MiB.
const MEMORY_BYTES: u64 = 400_000_000;
/// Runs per datum there: what shares the memory only takes bandwidth away, so the best of three scatters less.
const MEMORY_RUNS: usize = 3;
/// Block of the first-level contest: fits into 32 KiB with room for the stack.
const FIRST_LEVEL_BYTES: u64 = 24_000;
/// Block of the chase, as `multichase -m 256m`.
const CHASE_BYTES: u64 = 256 << 20;
/// Runs per datum in the first-level contest. likwid-bench scatters by a factor of two there; the best of three
/// puts both sides into their fast mode.
const FIRST_LEVEL_RUNS: usize = 3;

/// One comparison.
pub(super) struct Contest {
    pub(super) name: &'static str,
    pub(super) ours: Side,
    pub(super) theirs: Side,
    pub(super) target: Target,
    pub(super) runs_per_trial: usize,
}

/// A program that prints one number, and how to find it.
pub(super) struct Side {
    program: PathBuf,
    arguments: Vec<String>,
    cpu: usize,
    read: fn(&str) -> Option<f64>,
    /// It must have been given huge pages for at least this many bytes.
    huge_bytes: u64,
}

impl Side {
    /// Runs the program on its CPU and reads its number.
    pub(super) fn run(&self) -> anyhow::Result<f64> {
        let mut command = Command::new("taskset");
        command.arg("-c").arg(self.cpu.to_string()).arg(&self.program).args(&self.arguments);
        let (text, huge_bytes) = peer::watch(&mut command, self.huge_bytes > 0)?;
        anyhow::ensure!(
            huge_bytes >= self.huge_bytes,
            "{} got {huge_bytes} bytes in huge pages of {} asked for",
            self.words(),
            self.huge_bytes
        );
        (self.read)(&text).with_context(|| format!("no number in what {} printed:\n{text}", self.words()))
    }

    /// The command as one would type it.
    pub(super) fn words(&self) -> String {
        let name = self.program.file_name().unwrap_or_default().to_string_lossy();
        format!("taskset -c {} {name} {}", self.cpu, self.arguments.join(" ")).trim_end().to_owned()
    }
}

/// What is good enough.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Target {
    /// MB/s: estimate at least 0.99, lower end at least 0.97.
    Bandwidth,
    /// ns: estimate within 5 %, interval includes 1 or is at most 3 % to each side.
    Latency,
}

impl Target {
    pub(super) fn is_met(self, ratio: &Shift) -> bool {
        let Some(interval) = ratio.interval else { return false };
        match self {
            Self::Bandwidth => ratio.value >= 0.99 && interval.low >= 0.97,
            Self::Latency => {
                let near = (ratio.value - 1.0).abs() <= 0.05;
                near && (interval.contains(1.0) || interval.half_width() <= 0.03)
            }
        }
    }

    pub(super) fn better(self, a: f64, b: f64) -> f64 {
        match self {
            Self::Bandwidth => a.max(b),
            Self::Latency => a.min(b),
        }
    }

    pub(super) fn unit(self) -> &'static str {
        match self {
            Self::Bandwidth => "MB/s",
            Self::Latency => "ns",
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Bandwidth => "ratio >= 0.99, lower end >= 0.97",
            Self::Latency => "ratio within 5 %, interval includes 1 or +-3 %",
        })
    }
}

/// The contests for which a program was given.
pub(super) fn all(asked: &Arguments) -> anyhow::Result<Vec<Contest>> {
    let cpu = asked.cpu;
    let mut contests = Vec::new();
    if let Some(program) = &asked.stream {
        contests.push(against_stream(program, cpu)?);
    }
    if let Some(program) = &asked.likwid {
        contests.extend(against_likwid(program, cpu)?);
    }
    if let Some(program) = &asked.multichase {
        let huge_bytes = CHASE_BYTES / 100 * 95;
        contests.push(Contest {
            name: "random chase, 256 MiB, huge pages",
            ours: own(cpu, &format!("chase {CHASE_BYTES} 64"))?,
            theirs: side(program, "-m 256m -s 64 -H -T 256m", cpu, peer::last_number, huge_bytes),
            target: Target::Latency,
            runs_per_trial: 1,
        });
    }
    Ok(contests)
}

/// STREAM prints its array size; ours takes the same, and as many sweeps.
fn against_stream(program: &Path, cpu: usize) -> anyhow::Result<Contest> {
    let theirs = side(program, "", cpu, peer::stream_triad, 0);
    let text = cargo::output(&mut Command::new(program)).context("cannot try STREAM")?;
    let shape = peer::stream_shape(&text).context("STREAM did not print its array size and repetitions")?;
    let block_bytes = shape.array_bytes * 3;
    let ours = own(cpu, &format!("bandwidth triad plain {block_bytes} best:{}", shape.repetitions))?;
    Ok(Contest { name: "triad against STREAM", ours, theirs, target: Target::Bandwidth, runs_per_trial: 1 })
}

/// A contest with likwid-bench: its name, their kernels, what ours does, block and runs per datum.
type LikwidRow = (&'static str, &'static str, &'static str, u64, usize);

/// likwid's `stream` is STREAM's triad; its `triad` has a fourth array.
const LIKWID: [LikwidRow; 3] = [
    (
        "triad against likwid-bench",
        "stream_avx512_fma stream_avx512 stream_avx_fma stream_avx",
        "triad plain",
        MEMORY_BYTES,
        MEMORY_RUNS,
    ),
    (
        "non-temporal triad against likwid-bench",
        "stream_mem_avx512_fma stream_mem_avx512 stream_mem_avx_fma stream_mem_avx",
        "triad non_temporal",
        MEMORY_BYTES,
        MEMORY_RUNS,
    ),
    (
        "first-level read against likwid-bench",
        "load_avx512 load_avx",
        "read none",
        FIRST_LEVEL_BYTES,
        FIRST_LEVEL_RUNS,
    ),
];

/// For each contest the fastest of its kernels that this CPU can run, found by one try each.
fn against_likwid(program: &Path, cpu: usize) -> anyhow::Result<Vec<Contest>> {
    let contest = |(name, kernels, does, block_bytes, runs_per_trial): LikwidRow| {
        let mut tried = Vec::new();
        for kernel in kernels.split(' ') {
            let words = format!("-t {kernel} -w N:{block_bytes}B:1");
            let side = side(program, &words, cpu, peer::likwid_rate, 0);
            match side.run() {
                Ok(rate) => tried.push((rate, side)),
                Err(error) => eprintln!("{kernel} does not run here: {error:#}"),
            }
        }
        let best = tried.into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
        let (_, theirs) = best.with_context(|| format!("{name}: no kernel of likwid-bench runs here"))?;
        let ours = own(cpu, &format!("bandwidth {does} {block_bytes} mean:1"))?;
        Ok(Contest { name, ours, theirs, target: Target::Bandwidth, runs_per_trial })
    };
    LIKWID.into_iter().map(contest).collect()
}

/// This program again, as the process that measures our side.
fn own(cpu: usize, words: &str) -> anyhow::Result<Side> {
    let program = cargo::this_program()?;
    Ok(side(&program, &format!("bench-one {words}"), cpu, peer::last_number, 0))
}

fn side(program: &Path, words: &str, cpu: usize, read: fn(&str) -> Option<f64>, huge_bytes: u64) -> Side {
    let arguments = words.split_whitespace().map(str::to_owned).collect();
    Side { program: program.into(), arguments, cpu, read, huge_bytes }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::Interval;

    #[test]
    fn targets_ask_for_estimate_and_interval() {
        let ratio = |value, low, high| Shift { value, interval: Some(Interval { low, high }), pairs: 30 };
        for (target, ratio, met) in [
            (Target::Bandwidth, ratio(0.995, 0.98, 1.01), true),
            (Target::Bandwidth, ratio(0.985, 0.98, 0.99), false),
            (Target::Bandwidth, ratio(1.0, 0.96, 1.04), false),
            (Target::Latency, ratio(0.97, 0.95, 0.99), true),
            (Target::Latency, ratio(0.97, 0.90, 1.01), true),
            (Target::Latency, ratio(0.96, 0.90, 0.99), false),
            (Target::Latency, ratio(1.06, 0.99, 1.1), false),
        ] {
            assert_eq!(target.is_met(&ratio), met, "{target:?} {ratio:?}");
        }
        assert!(!Target::Latency.is_met(&Shift { value: 1.0, interval: None, pairs: 4 }));
    }
}

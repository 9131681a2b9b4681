//! `cargo xtask bench`: sidestep's kernels against other people's programs, interleaved, as a ratio with an interval.
//!
//! Both sides are processes of their own, pinned to one CPU, in quads ABBA or BAAB by a coin. The datum is the
//! logarithm of ours over theirs in adjacent pairs; the result is the Hodges-Lehmann shift with Wilcoxon's interval.

mod contest;
mod own;
mod peer;

use std::path::PathBuf;

use anyhow::Context;
use stats::{Arm, Random, Shift, hodges_lehmann, median, random_quads};

use crate::cargo;
use crate::table::head;
use crate::totals::Totals;
use contest::{Contest, Side};

pub use own::{Own, run as run_own};

/// Our kernels against STREAM, likwid-bench, multichase
///
/// A contest is run for each program that is given. Build the programs yourself; this repository has no recipes for them. Needs taskset
/// (util-linux). A contest takes one to five minutes; leave the machine alone meanwhile.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// STREAM 5.10, built with gcc -O3 -march=native, one thread
    #[arg(long, value_name = "PATH", required_unless_present_any = ["likwid", "multichase"])]
    stream: Option<PathBuf>,
    /// likwid-bench
    #[arg(long, value_name = "PATH")]
    likwid: Option<PathBuf>,
    /// multichase
    #[arg(long, value_name = "PATH")]
    multichase: Option<PathBuf>,
    /// Quads of runs per contest; fewer than 3 have no 95 % interval
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u64).range(3..))]
    quads: u64,
    /// The CPU that all run on
    #[arg(long, default_value_t = 1)]
    cpu: usize,
    /// Of the order of runs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Contests whose name has these words, such as "non-temporal"
    #[arg(long, value_name = "WORDS", default_value = "")]
    only: String,
}

/// Level of the intervals.
const LEVEL: f64 = 0.95;

/// `cargo xtask bench`.
pub fn run(arguments: &Arguments) -> anyhow::Result<Totals> {
    if cfg!(debug_assertions) {
        return cargo::again_in_release();
    }
    let mut random = Random::new(arguments.seed);
    let mut contests = contest::all(arguments)?;
    let names: Vec<&str> = contests.iter().map(|contest| contest.name).collect();
    let names = names.join(", ");
    contests.retain(|contest| contest.name.contains(&arguments.only));
    anyhow::ensure!(!contests.is_empty(), "--only {:?} names no contest; there are {names}", arguments.only);
    let (mut totals, mut rows) = (Totals::default(), Vec::new());
    for contest in &contests {
        let result = hold(contest, &random_quads(arguments.quads as usize, &mut random))?;
        let met = contest.target.is_met(&result.ratio);
        rows.push(row(contest, &result, met));
        let line = format!("bench: {} misses its target: {}", contest.name, contest.target);
        totals.add(Totals::one(met, line));
    }
    println!();
    head("contest | ours | theirs | ratio | 95 % interval | pairs | target");
    println!("{}\n", rows.join("\n"));
    for contest in &contests {
        println!("{}: {} against {}", contest.name, contest.ours.words(), contest.theirs.words());
    }
    Ok(totals)
}

/// What a contest brought.
struct Outcome {
    ours: Vec<f64>,
    theirs: Vec<f64>,
    ratio: Shift,
}

/// Runs one contest in the given order; the two runs of a pair are neighbours in time.
fn hold(contest: &Contest, order: &[Arm]) -> anyhow::Result<Outcome> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for (index, pair) in order.chunks_exact(2).enumerate() {
        for arm in pair {
            match arm {
                Arm::A => ours.push(trial(contest, &contest.ours)?),
                Arm::B => theirs.push(trial(contest, &contest.theirs)?),
            }
        }
        let (own, peer) = (ours[index], theirs[index]);
        eprintln!("{}: pair {}/{}: {own:.2} and {peer:.2}", contest.name, index + 1, order.len() / 2);
    }
    let logarithms: Vec<f64> = ours.iter().zip(&theirs).map(|(own, peer)| (own / peer).ln()).collect();
    let shift = hodges_lehmann(&logarithms, LEVEL).context("no pair gave a number")?;
    let interval = shift.interval.map(|interval| interval.map(f64::exp));
    Ok(Outcome { ours, theirs, ratio: Shift { value: shift.value.exp(), interval, ..shift } })
}

/// One datum: the best of as many runs as the contest asks for.
fn trial(contest: &Contest, side: &Side) -> anyhow::Result<f64> {
    let values = (0..contest.runs_per_trial).map(|_| side.run()).collect::<anyhow::Result<Vec<f64>>>()?;
    Ok(values.into_iter().reduce(|a, b| contest.target.better(a, b)).expect("a contest asks for a run"))
}

fn row(contest: &Contest, result: &Outcome, met: bool) -> String {
    let middle = |values: &[f64]| median(values).unwrap_or(f64::NAN);
    let interval =
        result.ratio.interval.map_or("none".to_owned(), |i| format!("{:.4} to {:.4}", i.low, i.high));
    format!(
        "| {} | {:.2} {unit} | {:.2} {unit} | {:.4} | {interval} | {} | {}: {} |",
        contest.name,
        middle(&result.ours),
        middle(&result.theirs),
        result.ratio.value,
        result.ratio.pairs,
        if met { "met" } else { "missed" },
        contest.target,
        unit = contest.target.unit(),
    )
}

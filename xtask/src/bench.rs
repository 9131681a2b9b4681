//! `cargo xtask bench`: sidestep's kernels against other people's programs, interleaved, as a ratio with an interval.
//!
//! Both sides are processes of their own, pinned to one CPU, in quads ABBA or BAAB by a coin. The datum is the
//! logarithm of ours over theirs in adjacent pairs; the result is the Hodges-Lehmann shift with Wilcoxon's interval.

mod contest;
mod own;
mod peer;

use std::fmt::Write;

use anyhow::Context;
use stats::{Arm, Random, Shift, hodges_lehmann, median, random_quads};

use crate::cargo;
use crate::flags::{BadUse, Flags};
use crate::totals::Totals;
use contest::{Contest, Side};

pub use own::{HELP as ONE_HELP, run as run_own};

/// The rest of `cargo xtask bench --help`.
pub const HELP: &str = "  --stream PATH      STREAM 5.10, built with gcc -O3 -march=native, one thread
  --likwid PATH      likwid-bench
  --multichase PATH  multichase
  --quads N          quads of runs per contest, default 15 (30 pairs), at least 3
  --cpu N            the CPU that all run on, default 1
  --seed N           of the order of runs, default 1
  --only WORDS       contests whose name has these words, such as \"non-temporal\"

A contest is run for each program that is given. Build the programs yourself; this repository has no recipes for
them. Needs taskset (util-linux). A contest takes one to five minutes; leave the machine alone meanwhile.
";

/// Fewer pairs have no 95 % interval. Source: Wilcoxon's test, smallest p is 2^(1-n).
const FEWEST_QUADS: usize = 3;
/// Level of the intervals.
const LEVEL: f64 = 0.95;

/// `cargo xtask bench`.
pub fn run(arguments: &[String]) -> anyhow::Result<Totals> {
    let valued = ["--stream", "--likwid", "--multichase", "--quads", "--cpu", "--seed", "--only"];
    let flags = Flags::parse(arguments, &valued, &[])?;
    if cfg!(debug_assertions) {
        return cargo::again_in_release("bench", arguments);
    }
    let quads = flags.count("--quads", 15)?;
    if quads < FEWEST_QUADS {
        return Err(BadUse(format!("--quads {quads} gives no interval; take {FEWEST_QUADS} or more")).into());
    }
    let cpu = flags.count("--cpu", 1)?;
    let mut random = Random::new(flags.count("--seed", 1)? as u64);
    let mut contests = contest::all(&flags, cpu)?;
    if contests.is_empty() {
        return Err(BadUse("name at least one of --stream, --likwid, --multichase".to_owned()).into());
    }
    if let Some(words) = flags.value("--only") {
        let names: Vec<String> = contests.iter().map(|contest| contest.name.to_owned()).collect();
        contests.retain(|contest| contest.name.contains(words));
        if contests.is_empty() {
            return Err(
                BadUse(format!("--only {words:?} names no contest; there are {}", names.join(", "))).into()
            );
        }
    }
    let mut totals = Totals::default();
    let mut table = String::from("| contest | ours | theirs | ratio | 95 % interval | pairs | target |\n");
    table.push_str("|---|---|---|---|---|---|---|\n");
    for contest in &contests {
        let result = hold(contest, &random_quads(quads, &mut random))?;
        let met = contest.target.is_met(&result.ratio);
        writeln!(table, "{}", row(contest, &result, met)).context("cannot write the table")?;
        let line = format!("bench: {} misses its target: {}", contest.name, contest.target);
        totals.add(Totals::one(met, line));
    }
    println!("\n{table}");
    for contest in &contests {
        println!("{}: {} against {}", contest.name, contest.ours.words(), contest.theirs.words());
    }
    print!("{}", totals.closing());
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

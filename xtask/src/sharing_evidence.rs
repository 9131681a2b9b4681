//! `cargo xtask sharing-evidence`: whether hidden pairs of threads are found by samples of their registers.

pub mod subject;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context;
use placement::sharing::{ProfileOptions, SharingWeights, Subject, profile, weights};
use placement::{Effort, Level, PairValues, Problem, solve};
use record::Sharing;

use crate::cargo;
use crate::flags::{BadUse, Flags};
use crate::totals::Totals;

/// The rest of `cargo xtask sharing-evidence --help`.
pub const HELP: &str = "  --repeats N   programs of each kind, with other pairs; default 5

Watches programs of 8 and 32 threads in hidden pairs (cargo xtask sharing-subject) for as many samples as are promised, and
prints a Markdown table: area under the curve of pairs against strangers, pairs found by matching, samples. Fails if a pair is
missed or an area is below 0.99.
";

/// Programs of each kind.
const REPEATS: usize = 5;
/// Threads, and the samples that touch memory within which all pairs are to be found.
const SIZES: [(usize, u64); 2] = [(8, 500), (32, 1000)];
/// Per cent of accesses that are shared.
const PERCENTS: [usize; 3] = [3, 10, 30];
/// The area that is promised.
const AREA_PROMISED: f64 = 0.99;
/// A program is watched from when its threads are up.
const WARM_UP: Duration = Duration::from_millis(300);

/// `cargo xtask sharing-evidence`.
pub fn run(arguments: &[String]) -> anyhow::Result<Totals> {
    let flags = Flags::parse(arguments, &["--repeats"], &[])?;
    if cfg!(debug_assertions) {
        return cargo::again_in_release("sharing-evidence", arguments);
    }
    let repeats = flags.count("--repeats", REPEATS)?;
    let mut totals = Totals::default();
    println!(
        "| threads | shared accesses, % | memory samples | seconds | undecodable | area, least | pairs found, least |"
    );
    println!("|---|---|---|---|---|---|---|");
    for (threads, samples) in SIZES {
        for percent in PERCENTS {
            let mut rows = Vec::new();
            for seed in 1..=repeats as u64 {
                rows.push(recover(threads, percent, seed, samples)?);
            }
            totals.add(show(threads, percent, &rows));
        }
    }
    print!("{}", totals.closing());
    Ok(totals)
}

/// How one program was understood.
struct Recovered {
    area: f64,
    pairs_found: usize,
    sharing: Sharing,
}

fn recover(threads: usize, percent: usize, seed: u64, samples: u64) -> anyhow::Result<Recovered> {
    let own = std::env::current_exe().context("cannot find this program")?;
    let mut child = start(&own, threads, percent, seed)?;
    std::thread::sleep(WARM_UP);
    let options = ProfileOptions { memory_samples: Some(samples), ..ProfileOptions::default() };
    let profile = profile(Subject::Process(child.id()), options);
    // It may have ended by itself.
    let _ = child.kill();
    child.wait().context("cannot wait for the subject")?;
    let sharing = profile?.sharing;
    let truth = subject::pairs(threads, seed);
    let number = |name: &str| name.strip_prefix("worker-").and_then(|number| number.parse::<usize>().ok());
    let workers: Vec<(usize, usize)> = sharing
        .threads
        .iter()
        .enumerate()
        .filter_map(|(place, thread)| Some((place, *truth.get(number(&thread.name)?)?)))
        .collect();
    anyhow::ensure!(workers.len() == threads, "only {} of {threads} threads were seen", workers.len());
    let all = weights(&sharing, SharingWeights::default());
    let pairs = PairValues::from_fn(threads, |one, other| all.of(workers[one].0, workers[other].0));
    let pair_of: Vec<usize> = workers.iter().map(|(_, pair)| *pair).collect();
    Ok(Recovered { area: area(&pairs, &pair_of), pairs_found: found(&pairs, &pair_of)?, sharing })
}

fn start(own: &Path, threads: usize, percent: usize, seed: u64) -> anyhow::Result<std::process::Child> {
    let mut command = Command::new(own);
    command.args(subject::words(threads, percent, seed, None)).stdin(Stdio::null()).stdout(Stdio::null());
    command.spawn().map_err(|error| BadUse(format!("cannot start the subject: {error}")).into())
}

/// The chance that a pair has a larger value than two strangers, ties by halves.
fn area(pairs: &PairValues, pair_of: &[usize]) -> f64 {
    let threads = pair_of.len();
    let all = (0..threads).flat_map(|one| (0..one).map(move |other| (one, other)));
    let (true_pairs, strangers): (Vec<_>, Vec<_>) =
        all.partition(|(one, other)| pair_of[*one] == pair_of[*other]);
    let mut wins = 0.0;
    for (one, other) in &true_pairs {
        for (left, right) in &strangers {
            let (pair, stranger) = (pairs.of(*one, *other), pairs.of(*left, *right));
            wins += if pair > stranger { 1.0 } else { f64::from(u8::from(pair >= stranger)) / 2.0 };
        }
    }
    wins / (true_pairs.len() * strangers.len()) as f64
}

/// Pairs that the best placement on units of two puts together.
fn found(pairs: &PairValues, pair_of: &[usize]) -> anyhow::Result<usize> {
    let threads = pair_of.len();
    let level = Level { capacity: 2, pairs: pairs.clone() };
    let problem = Problem::new(threads, vec![level], threads / 2, Vec::new())?;
    let unit_of = solve(&problem, Effort::default()).unit_of;
    let together =
        |one: usize| (0..one).any(|other| unit_of[one] == unit_of[other] && pair_of[one] == pair_of[other]);
    Ok((0..threads).filter(|thread| together(*thread)).count())
}

fn show(threads: usize, percent: usize, rows: &[Recovered]) -> Totals {
    let least = |value: fn(&Recovered) -> f64| rows.iter().map(value).fold(f64::INFINITY, f64::min);
    let most = |value: fn(&Recovered) -> f64| rows.iter().map(value).fold(0.0, f64::max);
    let area = least(|row| row.area);
    let pairs_found = rows.iter().map(|row| row.pairs_found).min().unwrap_or(0);
    println!(
        "| {threads} | {percent} | {:.0} | {:.1} | {:.0} | {area:.4} | {pairs_found} of {} |",
        most(|row| row.sharing.memory_samples as f64),
        most(|row| row.sharing.seconds),
        most(|row| row.sharing.undecodable as f64),
        threads / 2
    );
    if area >= AREA_PROMISED && pairs_found == threads / 2 {
        Totals::one_passed()
    } else {
        Totals::one_failed(format!(
            "sharing-evidence: {threads} threads, {percent} %: area {area:.4}, {pairs_found} pairs"
        ))
    }
}

//! `cargo xtask sharing-evidence`: whether hidden pairs of threads are found by samples of their registers.

mod overhead;
pub mod subject;

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::Context;
use host::live::is_running;
use placement::{PairValues, Recovery, recovery};
use record::Sharing;
use sharing::{
    ProfileOptions, RATE_HZ, SharingWeights, SignalRegisters, Source, SourceChoice, Subject, profile, watch,
    weights,
};

use crate::cargo;
use crate::table::head;
use crate::totals::Totals;

/// Hidden pairs of threads found by samples of their registers
///
/// Watches programs of 8 and 32 threads in hidden pairs (cargo xtask sharing-subject) for as many samples as are promised, and prints a
/// Markdown table: area under the curve of pairs against strangers, pairs found by matching, samples. Fails if a pair is missed or an
/// area is below 0.99. With --overhead it fails if a program can be shown to take more than 1 % longer.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Programs of each kind, with other pairs
    #[arg(long, default_value_t = 5)]
    repeats: u64,
    /// The kernel's clock, or the library in the program
    #[arg(long, default_value = "clock", value_parser = ["clock", "preload"])]
    source: String,
    /// As this user, such as 65534; only root can become another
    #[arg(long, value_name = "UID")]
    user: Option<u32>,
    /// Instead: N turns of a program watched by neither, clock and preload, and what it takes more
    #[arg(long, value_name = "N", default_value_t = 0)]
    overhead: usize,
}

/// Threads, and the samples that touch memory within which all pairs are to be found.
const SIZES: [(usize, u64); 2] = [(8, 500), (32, 1000)];
/// Per cent of accesses that are shared.
const PERCENTS: [usize; 3] = [3, 10, 30];
/// The area that is promised.
const AREA_PROMISED: f64 = 0.99;
/// A program is watched from when its threads are up.
const WARM_UP: Duration = Duration::from_millis(300);

/// `cargo xtask sharing-evidence`.
pub fn run(arguments: &Arguments) -> anyhow::Result<Totals> {
    if cfg!(debug_assertions) {
        build_library()?;
        return cargo::again_in_release();
    }
    if let Some(user) = arguments.user {
        return as_user(user);
    }
    if arguments.overhead > 0 {
        return overhead::run(arguments.overhead);
    }
    let source = if arguments.source == "clock" { SourceChoice::Clock } else { SourceChoice::Preload };
    let mut totals = Totals::default();
    head(
        "threads | shared accesses, % | memory samples | of a thread, least | seconds | undecodable | pairs unknown | area, least | pairs found, least",
    );
    for (threads, samples) in SIZES {
        for percent in PERCENTS {
            let rows = (1..=arguments.repeats)
                .map(|seed| recover(&Hidden { threads, percent, seed }, source, samples))
                .collect::<anyhow::Result<Vec<_>>>()?;
            totals.add(show(threads, percent, &rows));
        }
    }
    Ok(totals)
}

/// How one program was understood.
struct Recovered {
    /// Samples that touch memory of the worker with fewest.
    fewest: u64,
    /// True pairs of which nothing is known.
    unknown: usize,
    by_weight: Recovery,
    sharing: Sharing,
}

/// A program with hidden pairs.
struct Hidden {
    threads: usize,
    percent: usize,
    seed: u64,
}

/// The library stands beside this program then.
fn build_library() -> anyhow::Result<()> {
    let mut build = cargo::cargo("build --quiet --release --package sidestep-sampler-preload");
    anyhow::ensure!(
        cargo::succeeds(&mut build)?,
        "the library of the source preload does not build; see above"
    );
    Ok(())
}

/// The same with the rights of another user.
fn as_user(user: u32) -> anyhow::Result<Totals> {
    let mut command = Command::new(cargo::this_program()?);
    let words: Vec<String> = std::env::args().skip(1).collect();
    let at = words.iter().position(|word| word.starts_with("--user")).context("the user was named")?;
    let named = if words[at].contains('=') { at..=at } else { at..=at + 1 };
    let others = words.iter().enumerate().filter(|(place, _)| !named.contains(place));
    command.args(others.map(|(_, word)| word)).uid(user).gid(user);
    anyhow::ensure!(cargo::succeeds(&mut command)?, "as user {user}: see above");
    Ok(Totals::default())
}

fn recover(hidden: &Hidden, source: SourceChoice, samples: u64) -> anyhow::Result<Recovered> {
    let options = ProfileOptions { memory_samples: Some(samples), ..ProfileOptions::default() };
    let mut command = subject_command(hidden, None)?;
    let sharing = if source == SourceChoice::Preload {
        let mut source = SignalRegisters::new(Duration::from_secs_f64(1.0 / RATE_HZ), None)?;
        source.prepare(&mut command);
        ended(start(&mut command)?, |child| {
            // Of the time before its threads are up.
            source.drain(&mut drop);
            Ok(watch(&mut source, options, || !is_running(child)))
        })?
    } else {
        ended(start(&mut command)?, |child| Ok(profile(Subject::Process(child), options)?.sharing))?
    };
    let Hidden { threads, seed, .. } = *hidden;
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
    let samples = workers.iter().map(|(place, _)| sharing.threads[*place].memory_samples);
    let is_unknown = |one: usize, other: usize| {
        pair_of[one] == pair_of[other] && sharing.write_shared.get(workers[one].0, workers[other].0).is_none()
    };
    let unknown = (0..threads).map(|one| (0..one).filter(|other| is_unknown(one, *other)).count()).sum();
    let fewest = samples.min().unwrap_or(0);
    Ok(Recovered { fewest, unknown, by_weight: recovery(&pairs, &pair_of)?, sharing })
}

/// The subject, for so many rounds of each thread or until it is killed.
fn subject_command(hidden: &Hidden, rounds: Option<u64>) -> anyhow::Result<Command> {
    let mut command = Command::new(cargo::this_program()?);
    let Hidden { threads, percent, seed } = *hidden;
    command.arg("sharing-subject").arg(format!("--threads={threads}"));
    command.arg(format!("--percent={percent}")).arg(format!("--seed={seed}"));
    command.args(rounds.map(|rounds| format!("--rounds={rounds}")));
    command.stdin(Stdio::null()).stdout(Stdio::null());
    Ok(command)
}

fn start(command: &mut Command) -> anyhow::Result<Child> {
    command.spawn().context("cannot start the subject")
}

/// Looks at a program once it is warm, and ends it.
fn ended<T>(mut child: Child, look: impl FnOnce(u32) -> anyhow::Result<T>) -> anyhow::Result<T> {
    std::thread::sleep(WARM_UP);
    let seen = look(child.id());
    // It may have ended by itself.
    let _ = child.kill();
    child.wait().context("cannot wait for the subject")?;
    seen
}

fn show(threads: usize, percent: usize, rows: &[Recovered]) -> Totals {
    let least = |value: fn(&Recovered) -> f64| rows.iter().map(value).fold(f64::INFINITY, f64::min);
    let most = |value: fn(&Recovered) -> f64| rows.iter().map(value).fold(0.0, f64::max);
    let area = least(|row| row.by_weight.area);
    let pairs_found = rows.iter().map(|row| row.by_weight.pairs_found).min().unwrap_or(0);
    println!(
        "| {threads} | {percent} | {:.0} | {:.0} | {:.1} | {:.0} | {:.0} | {area:.4} | {pairs_found} of {} |",
        most(|row| row.sharing.memory_samples as f64),
        least(|row| row.fewest as f64),
        most(|row| row.sharing.seconds),
        most(|row| row.sharing.undecodable as f64),
        most(|row| row.unknown as f64),
        threads / 2
    );
    let line =
        format!("sharing-evidence: {threads} threads, {percent} %: area {area:.4}, {pairs_found} pairs");
    Totals::one(area >= AREA_PROMISED && pairs_found == threads / 2, line)
}

//! `sidestep place` from end to end: threads that belong together, threads that do not, and experiments that change nothing.

use std::process::Command;

use anyhow::Context;
use record::{PlaceArm, PlaceOutcome};
use stats::median;

use crate::cargo;
use crate::table::head;
use crate::totals::Totals;

/// Two pairs, and round trips of each: some 100 ms on two CPUs with other work.
const PAIRS: [&str; 3] = ["pairs", "2", "5000"];
/// Multiplications of each free thread: some 50 ms.
const FREE_ROUNDS: &str = "1500000";
/// How much faster pairs must become in the median run.
const PAIRS_GAIN: f64 = 1.8;
/// What independent threads may lose by what is recommended, in percent.
const FREE_LOSS_PERCENT: f64 = 1.0;
/// Recommendations of a hundred experiments that change nothing.
const FALSE_OF_100: usize = 2;

/// What is proven on this machine.
#[derive(Debug, clap::Args)]
pub(crate) struct Proof {
    /// Instead: sidestep place (release build) on two pairs of threads that wake each other by eventfd and on independent threads, N
    /// times each
    #[arg(long, value_name = "N", default_value_t = 0)]
    end_to_end: usize,
    /// Instead: N experiments of sidestep place in which no arm changes anything
    #[arg(long, value_name = "N", default_value_t = 0)]
    aa: usize,
    /// Of each run of sidestep place
    #[arg(long, default_value_t = 40)]
    seconds: usize,
}

impl Proof {
    pub(crate) fn is_asked(&self) -> bool {
        self.end_to_end + self.aa > 0
    }
}

/// Does what is asked for.
pub(crate) fn run(arguments: &Proof) -> anyhow::Result<Totals> {
    let Proof { end_to_end: runs, aa: twins, seconds } = *arguments;
    let mut totals = Totals::default();
    if runs > 0 {
        let pairs = all(runs, seconds, &PAIRS, false)?;
        let gains: Vec<f64> = pairs.iter().map(|found| recommended(found).map_or(1.0, speed_up)).collect();
        let gain = median(&gains).unwrap_or(1.0);
        println!("\npairs: {gain:.2} times in the median of {runs} runs of sidestep place");
        totals.add(verdict(&format!("pairs gain {gain:.2} times"), gain >= PAIRS_GAIN));
        totals.add(never_worse(runs, seconds)?);
    }
    if twins > 0 {
        let found = all(twins, seconds, &PAIRS, true)?;
        let wrong = found.iter().filter(|found| found.recommended.is_some()).count();
        let refused = found.iter().filter(|found| found.aa.contaminated).count();
        println!(
            "\n{wrong} of {twins} experiments that change nothing recommend something; {refused} refuse, as the kernel differs from itself"
        );
        let is_few = wrong * 100 <= FALSE_OF_100 * twins.max(100 / FALSE_OF_100 - 1);
        totals.add(verdict(&format!("{wrong} of {twins} false recommendations"), is_few));
    }
    Ok(totals)
}

/// What was recommended is tried again in fresh runs: in those that it was picked by it is the best, whatever it does.
fn never_worse(runs: usize, seconds: usize) -> anyhow::Result<Totals> {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from).to_string();
    let program = ["free", &cpus, FREE_ROUNDS];
    let free = all(runs, seconds, &program, false)?;
    let mut worse = 0;
    let picked: Vec<&PlaceArm> = free.iter().filter_map(recommended).collect();
    for arm in &picked {
        let again = all(1, seconds, &program, false)?;
        let fresh = again.iter().flat_map(|found| &found.arms).find(|fresh| fresh.name == arm.name);
        let change = fresh.and_then(|fresh| fresh.change_percent).context("the arm was not tried again")?;
        println!("{} again: {change:+.1} %", arm.name);
        worse += usize::from(change > FREE_LOSS_PERCENT);
    }
    let tried = picked.len();
    let what = format!(
        "{worse} of {tried} placements recommended in {runs} runs for free threads are worse in fresh ones"
    );
    Ok(verdict(&what, worse == 0))
}

fn verdict(what: &str, holds: bool) -> Totals {
    Totals::one(holds, format!("placement-evidence: {what}"))
}

fn recommended(found: &PlaceOutcome) -> Option<&PlaceArm> {
    found.arms.iter().find(|arm| found.recommended.as_ref() == Some(&arm.name))
}

/// How often faster than the kernel's own placement.
fn speed_up(arm: &PlaceArm) -> f64 {
    1.0 / (1.0 + arm.change_percent.unwrap_or(0.0) / 100.0)
}

/// Runs `sidestep place` so often, and prints a row for each.
fn all(
    runs: usize,
    seconds: usize,
    program: &[&str],
    changes_nothing: bool,
) -> anyhow::Result<Vec<PlaceOutcome>> {
    println!();
    head("program | kernel, s | recommended | speed-up | 95 % | predicted | runs of each");
    let own = cargo::this_program()?;
    let mut found = Vec::new();
    for _ in 0..runs {
        let mut command = Command::new(cargo::sidestep());
        command.args(["place", "--json", "--quiet", "--budget", &format!("{seconds}s")]);
        if changes_nothing {
            command.arg("--aa");
        }
        command.arg("--").arg(&own).arg("threads").args(program);
        // Exit code 3, of a machine that moves by itself, comes with a document, too.
        let done = command.output().context("cannot start sidestep")?;
        let said = String::from_utf8_lossy(&done.stderr);
        let outcome: PlaceOutcome = serde_json::from_slice(&done.stdout)
            .with_context(|| format!("no document of placement ({}): {}", done.status, said.trim()))?;
        println!("{}", row(program, &outcome));
        found.push(outcome);
    }
    Ok(found)
}

fn row(program: &[&str], found: &PlaceOutcome) -> String {
    let kernel = found.arms.first().and_then(|arm| arm.value).unwrap_or(f64::NAN);
    let taken = found.pair_counts.taken;
    let best = recommended(found);
    let (name, gain) =
        best.map_or(("none", "1".to_owned()), |arm| (arm.name.as_str(), format!("{:.2}", speed_up(arm))));
    let of = |percent: f64| 1.0 / (1.0 + percent / 100.0);
    let ends = best
        .and_then(|arm| arm.change_interval)
        .map_or_else(String::new, |ends| format!("{:.2} to {:.2}", of(ends.high), of(ends.low)));
    // Where nothing is recommended the first arm that has a prediction is told, or why there is none.
    let foreseen = best.or_else(|| found.arms.iter().find(|arm| arm.predicted_percent.is_some()));
    let predicted = foreseen.and_then(|arm| {
        let within = arm
            .predicted_interval
            .map_or_else(String::new, |ends| format!(" ({:.2} to {:.2})", of(ends.high), of(ends.low)));
        Some(format!("{} {:.2}{within}", arm.name, of(arm.predicted_percent?)))
    });
    let predicted = predicted.or_else(|| found.unpredicted.clone()).unwrap_or_else(|| "nothing".to_owned());
    let name = if found.aa.contaminated { "refused" } else { name };
    format!("| {} | {kernel:.3} | {name} | {gain} | {ends} | {predicted} | {taken} |", program[..2].join(" "))
}

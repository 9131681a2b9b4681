//! `sidestep place` from end to end: threads that belong together, threads that do not, and experiments that change nothing.

use std::process::Command;

use anyhow::Context;
use record::{PlaceArm, PlaceOutcome};
use stats::median;

use crate::cargo;
use crate::flags::Flags;
use crate::totals::Totals;

/// Round trips of each pair: some 100 ms on two CPUs with other work.
const PAIR_ROUNDS: &str = "5000";
/// Multiplications of each free thread: some 50 ms.
const FREE_ROUNDS: &str = "1500000";
/// How much faster pairs must become in the median run.
const PAIRS_GAIN: f64 = 1.8;
/// What independent threads may lose by what is recommended, in percent.
const FREE_LOSS_PERCENT: f64 = 1.0;
/// Recommendations of a hundred experiments that change nothing.
const FALSE_OF_100: usize = 2;

/// What the flags ask for.
pub(crate) fn run(flags: &Flags) -> anyhow::Result<Totals> {
    let seconds = flags.count("--seconds", 40)?;
    let mut totals = Totals::default();
    let runs = flags.count("--end-to-end", 0)?;
    if runs > 0 {
        println!(
            "| program | kernel, s | recommended | speed-up | 95 % | predicted | runs of each |\n|---|---|---|---|---|---|---|"
        );
        let pairs = all(runs, seconds, &["pairs", "2", PAIR_ROUNDS], false)?;
        let gains: Vec<f64> = pairs.iter().map(|found| recommended(found).map_or(1.0, speed_up)).collect();
        let gain = median(&gains).unwrap_or(1.0);
        println!("\npairs: {gain:.2} times in the median of {runs} runs of sidestep place");
        totals.add(verdict(&format!("pairs gain {gain:.2} times"), gain >= PAIRS_GAIN));
        let cpus = std::thread::available_parallelism().map_or(1, usize::from).to_string();
        println!(
            "\n| program | kernel, s | recommended | speed-up | 95 % | predicted | runs of each |\n|---|---|---|---|---|---|---|"
        );
        let free = all(runs, seconds, &["free", &cpus, FREE_ROUNDS], false)?;
        totals.add(never_worse(&free, seconds)?);
    }
    let twins = flags.count("--aa", 0)?;
    if twins > 0 {
        println!(
            "\n| nothing changed | kernel, s | recommended | speed-up | 95 % | predicted | runs of each |\n|---|---|---|---|---|---|---|"
        );
        let found = all(twins, seconds, &["pairs", "2", PAIR_ROUNDS], true)?;
        let wrong = found.iter().filter(|found| found.recommended.is_some()).count();
        let refused = found.iter().filter(|found| found.aa.contaminated).count();
        println!(
            "\n{wrong} of {twins} experiments that change nothing recommend something; {refused} refuse, as the kernel differs from itself"
        );
        let is_few = wrong * 100 <= FALSE_OF_100 * twins.max(100 / FALSE_OF_100 - 1);
        totals.add(verdict(&format!("{wrong} of {twins} false recommendations"), is_few));
    }
    print!("\n{}", totals.closing());
    Ok(totals)
}

/// What was recommended is tried again in fresh runs: in those that it was picked by it is the best, whatever it does.
fn never_worse(free: &[PlaceOutcome], seconds: usize) -> anyhow::Result<Totals> {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from).to_string();
    let mut worse = 0;
    let picked: Vec<&PlaceArm> = free.iter().filter_map(recommended).collect();
    for arm in &picked {
        let again = all(1, seconds, &["free", &cpus, FREE_ROUNDS], false)?;
        let fresh = again.iter().flat_map(|found| &found.arms).find(|fresh| fresh.name == arm.name);
        let change = fresh.and_then(|fresh| fresh.change_percent).context("the arm was not tried again")?;
        println!("{} again: {change:+.1} %", arm.name);
        worse += usize::from(change > FREE_LOSS_PERCENT);
    }
    let (runs, tried) = (free.len(), picked.len());
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
    let own = cargo::this_program()?;
    let mut found = Vec::new();
    for _ in 0..runs {
        let mut command = Command::new(cargo::target().join("release/sidestep"));
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

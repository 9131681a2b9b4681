//! What being watched costs a program: CPU time of the same work, watched by neither, clock and preload in turns.

use std::process::Command;
use std::time::Duration;

use anyhow::Context;
use host::live::{ChildOutput, run_child};
use placement::sharing::{ProfileOptions, RATE_HZ, SourceChoice, Subject, profile};
use stats::{Random, hodges_lehmann, median};

use super::{Hidden, subject_command};
use crate::totals::Totals;

/// A program of few threads: some 0.9 s of CPU time for each turn, so that what starting costs does not count.
const HIDDEN: Hidden = Hidden { threads: 4, percent: 10, seed: 1 };
const ROUNDS: u64 = 30_000_000;
/// What it may take longer.
const PROMISED_PERCENT: f64 = 1.0;
/// Of the intervals.
const CONFIDENCE: f64 = 0.95;
const ARMS: [(&str, Option<SourceChoice>); 3] =
    [("not watched", None), ("clock", Some(SourceChoice::Clock)), ("preload", Some(SourceChoice::Preload))];

/// Runs all arms so often, in an order by chance each time, and prints a row for each that is watched.
pub(super) fn run(turns: usize) -> anyhow::Result<Totals> {
    let mut random = Random::new(1);
    // One of each first: files are read and frequencies settle.
    let mut times: Vec<[f64; 3]> = Vec::new();
    for turn in 0..=turns {
        let mut order = [0, 1, 2];
        random.shuffle(&mut order);
        let mut row = [0.0; 3];
        for arm in order {
            row[arm] = cpu_s(ARMS[arm].1)?;
        }
        if turn > 0 {
            times.push(row);
        }
    }
    println!("| watched by | CPU time, s, median | more, % | 95 % | turns |\n|---|---|---|---|---|");
    let of = |arm: usize| times.iter().map(|row| row[arm]).collect::<Vec<_>>();
    let mut totals = Totals::default();
    for (arm, (name, _)) in ARMS.iter().enumerate() {
        let typical_s = median(&of(arm)).context("give --overhead at least 1")?;
        if arm == 0 {
            println!("| {name} | {typical_s:.3} | | | {turns} |");
            continue;
        }
        let ratios: Vec<f64> = times.iter().map(|row| (row[arm] / row[0]).ln()).collect();
        let shift = hodges_lehmann(&ratios, CONFIDENCE).context("a run took no time")?;
        let interval = shift.interval.context("too few turns for an interval; give --overhead at least 6")?;
        let [value, low, high] = [shift.value, interval.low, interval.high].map(|log| 100.0 * log.exp_m1());
        println!("| {name} | {typical_s:.3} | {value:+.2} | [{low:+.2}, {high:+.2}] | {turns} |");
        totals.add(if low <= PROMISED_PERCENT {
            Totals::one_passed()
        } else {
            Totals::one_failed(format!("sharing-evidence: {name} costs at least {low:.2} %"))
        });
    }
    print!("{}", totals.closing());
    Ok(totals)
}

/// CPU time of one run in seconds, the kernel's included.
fn cpu_s(source: Option<SourceChoice>) -> anyhow::Result<f64> {
    let command: Command = subject_command(&HIDDEN, Some(ROUNDS))?;
    let run = match source {
        None => run_child(command, &[], ChildOutput::Discard, Some(Duration::from_secs(60)))?,
        Some(source) => {
            let options = ProfileOptions { rate_hz: RATE_HZ, source, ..ProfileOptions::default() };
            profile(Subject::Command(command, ChildOutput::Discard), options)?.run.context("it was run")?
        }
    };
    Ok(run.user_s + run.system_s)
}

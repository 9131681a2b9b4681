//! `cargo xtask clock-evidence`: does `sidestep clock check` see what is put in, as fast as promised, and nothing else?
//!
//! Each run is the command itself with a drift put into the counter of one CPU on top of the hardware's. Times are of usable
//! exchanges, from the first one on; wall time, usable share and overlap stand beside them.

use std::process::Command;

use anyhow::Context;
use record::{ClockCheck, ClockFault, ClockPair, ClockVerdict};

use crate::cargo;
use crate::table::head;
use crate::totals::Totals;

/// sidestep clock check with drift put in, and ten minutes without
///
/// Prints a Markdown table. Build sidestep for release first. Fails if the healthy run finds anything, or if a drift is not found in
/// its time: 1000 ppb in 0.5 s, 100 ppb in 2 s, 10 ppb in 15 s.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Seconds of each run with a drift put in
    #[arg(long, default_value_t = 20)]
    seconds: usize,
    /// Seconds of the run without
    #[arg(long, default_value_t = 600)]
    healthy: usize,
    /// Runs of each kind with a drift
    #[arg(long, default_value_t = 2)]
    runs: usize,
}

/// Drifts that are put in, in parts per billion, and the time in which each has to be found.
const DRIFTS: [(i64, f64); 4] = [(1_000, 0.5), (-1_000, 0.5), (100, 2.0), (10, 15.0)];
/// Share of an exchange below which the promise of a time is not made.
const OVERLAP_PROMISED: f64 = 0.9;

/// `cargo xtask clock-evidence`.
pub fn run(arguments: &Arguments) -> anyhow::Result<Totals> {
    let mut totals = Totals::default();
    head(
        "put in, ppb | found after, s | wall, s | usable | overlap | half-width, ns | sd, ns | drift, ppb | certain, ppb | called",
    );
    for run in 0..arguments.runs {
        for (ppb, within_s) in DRIFTS {
            let (check, pair) = check(arguments.seconds, Some(ppb))?;
            println!("{}", row(&ppb.to_string(), &check, &pair));
            let found = pair.fault == Some(ClockFault::Slope);
            let in_time = pair.seen_after_s.is_some_and(|after_s| after_s <= within_s);
            let line = format!("clock-evidence: {ppb} ppb, run {run}: not found within {within_s} s");
            let overlap = pair.overlap_share;
            totals.add(if !(found && in_time) && overlap < OVERLAP_PROMISED {
                Totals::one_skipped(format!("{line}; the two CPUs overlapped {:.0} %", overlap * 1e2))
            } else {
                Totals::one(found && in_time, line)
            });
        }
    }
    let healthy = arguments.healthy;
    if healthy > 0 {
        let (check, pair) = check(healthy, None)?;
        println!("{}", row("0", &check, &pair));
        let still = check.verdict == ClockVerdict::Safe && pair.seen_after_s.is_none();
        let line = format!("clock-evidence: {healthy} healthy seconds: {:?}", check.because);
        totals.add(Totals::one(still, line));
    }
    Ok(totals)
}

/// One run of the command on CPUs 0 and 1, as a program reads its document.
fn check(seconds: usize, ppb: Option<i64>) -> anyhow::Result<(ClockCheck, ClockPair)> {
    let mut command = Command::new(cargo::sidestep());
    command.args(["clock", "check", "--json", "--cpus", "0,1", "--budget"]).arg(format!("{seconds}s"));
    if let Some(ppb) = ppb {
        command.arg("--inject").arg(format!("1:rate={ppb}"));
    }
    let check: ClockCheck = cargo::document(&mut command)?;
    let pair = check.pairs.first().cloned().context("no pair in the document")?;
    Ok((check, pair))
}

fn row(put_in: &str, check: &ClockCheck, pair: &ClockPair) -> String {
    let number =
        |value: Option<f64>, digits: usize| value.map_or("-".to_owned(), |value| format!("{value:.digits$}"));
    let certain =
        pair.rate_interval_ppb.map_or("-".to_owned(), |[low, high]| format!("[{low:+.1}, {high:+.1}]"));
    format!(
        "| {put_in} | {} | {:.0} | {}/{} | {:.0} % | {} | {} | {} ± {} | {certain} | {:?} |",
        number(pair.seen_after_s, 2),
        check.elapsed_s,
        pair.usable,
        pair.exchanges,
        pair.overlap_share * 100.0,
        number(pair.half_width_ns, 1),
        number(pair.sd_ns, 2),
        number(pair.rate_ppb, 2),
        number(pair.rate_error_ppb, 2),
        check.verdict,
    )
}

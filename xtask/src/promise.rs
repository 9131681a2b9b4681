//! `cargo xtask promise`: does the arithmetic keep its promise where nothing has changed, and see what has?
//!
//! Experiments with two equal arms are resampled from series in which only time passes: made-up series that drift in
//! known ways, and with `--live` samples of loops on this machine under load. Every difference found is a false
//! alarm, and their rate is shown with its exact interval. Known effects are then planted in the same experiments.

mod experiment;
mod live;
mod noise;
mod power;
mod rates;

use anyhow::Context;

use crate::cargo;
use crate::flags::{BadUse, Flags};
use crate::totals::Totals;
use experiment::Source;
use power::Power;
use rates::{Alarms, Stops};

/// The rest of `cargo xtask promise --help`.
pub const HELP: &str = "  --experiments N  resampled experiments per row, default 2000
  --seed N         of all series, orders and samples, default 1
  --live SECONDS   sample this machine for so long, and resample from that instead
  --load N         threads of load beside the live samples, default 4
  --cpu N          the CPU that the live samples are taken on, default the last one allowed

Prints three Markdown tables: false alarms of experiments with nothing to find, run before/after and interleaved;
the same by what ends an experiment; and the power to see planted effects. Fails if more than 7 % of the
experiments with a coin per pair raise an alarm at 5 %. Without --live it takes one to three minutes.
";

/// The most false alarms that an interval of nominally 5 % may raise. Source: METHODOLOGY.md, \"Comparisons\".
const ALARMS_MAX: f64 = 0.07;
/// Resampled experiments per row unless asked otherwise.
const EXPERIMENTS: usize = 2000;
/// Threads of load unless asked otherwise.
const LOAD: usize = 4;

/// `cargo xtask promise`.
pub fn run(arguments: &[String]) -> anyhow::Result<Totals> {
    let flags = Flags::parse(arguments, &["--experiments", "--seed", "--live", "--load", "--cpu"], &[])?;
    let experiments = flags.count("--experiments", EXPERIMENTS)?;
    if experiments == 0 {
        return Err(BadUse("--experiments 0 shows nothing; take 2000".to_owned()).into());
    }
    let seed = flags.count("--seed", 1)? as u64;
    let live_s = flags.count("--live", 0)?;
    if cfg!(debug_assertions) {
        return cargo::again_in_release("promise", arguments);
    }
    if live_s == 0 {
        return Ok(judge(&noise::scenarios(), experiments, seed));
    }
    let cpu = flags.value("--cpu").map(|_| flags.count("--cpu", 0)).transpose()?;
    let series = live::sample(live_s, flags.count("--load", LOAD)?, cpu).context("cannot sample")?;
    println!("{}\n", series.conditions);
    Ok(judge(&series.probes, experiments, seed))
}

/// Prints the tables for all sources and holds the interleaved rows against the target.
fn judge<S: Source>(sources: &[S], experiments: usize, seed: u64) -> Totals {
    let mut totals = Totals::default();
    println!("{}", rates::alarms_heading(experiments));
    for source in sources {
        let alarms = Alarms::of(source, experiments, seed);
        println!("{alarms}");
        let kept = alarms.rate() <= ALARMS_MAX;
        let line =
            || format!("promise: {} raises {:.1} % false alarms", source.name(), 100.0 * alarms.rate());
        totals.add(Totals::one(kept, line()));
    }
    println!("\n{}", rates::stops_heading(experiments));
    for source in sources {
        println!("{}", Stops::of(source, experiments, seed));
    }
    println!("\n{}", power::power_heading(experiments));
    for source in sources {
        print!("{}", Power::of(source, experiments, seed));
    }
    print!("\n{}", totals.closing());
    totals
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Few enough for a debug build; the seed is fixed, so the outcome is as well.
    const FEW: usize = 300;

    #[test]
    fn interleaved_experiments_keep_their_level_on_every_kind_of_drift() {
        for scenario in noise::scenarios() {
            let rate = Alarms::of(&scenario, FEW, 1).rate();
            assert!(rate <= 0.09, "{}: {rate} at 5 %", scenario.name());
        }
    }

    #[test]
    fn before_and_after_call_drift_a_difference_where_interleaving_does_not() {
        for scenario in noise::scenarios().iter().filter(|scenario| scenario.name().contains("slow")) {
            let alarms = Alarms::of(scenario, FEW, 1);
            assert!(alarms.before_after_rate() > 0.3, "{}", scenario.name());
            assert!(alarms.rate() <= 0.09, "{}", scenario.name());
        }
    }
}

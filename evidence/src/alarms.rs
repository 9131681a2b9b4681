//! `cargo evidence alarms`: does the arithmetic of comparisons keep its promise where nothing has changed, and see what has?
//!
//! Experiments with two equal arms are resampled from series in which only time passes, and which drift in known ways. Every
//! difference found is a false alarm, and their rate is shown with its exact interval. Known effects are then planted in the same
//! experiments. What a real machine does to them, the claim `ab-unchanged` shows with the command itself.

mod experiment;
mod noise;
mod power;
mod rates;

use crate::{Broken, unless};
use experiment::Source;
use power::Power;
use rates::{Alarms, Stops};

/// False alarms and power of comparisons, simulated
///
/// Prints three Markdown tables: false alarms of experiments with nothing to find, run before/after and interleaved; the same by what
/// ends an experiment; and the power to see planted effects. Fails if more than 7 % of the experiments in random order per pair raise
/// an alarm at 5 %. It takes one to three minutes.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Resampled experiments per row
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u64).range(1..))]
    experiments: u64,
    /// Of all series, orders and samples
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// The most false alarms that an interval of nominally 5 % may raise. Source: METHODOLOGY.md, \"Comparisons\".
const ALARMS_MAX: f64 = 0.07;

pub(crate) fn run(arguments: &Arguments) -> Broken {
    judge(&noise::scenarios(), arguments.experiments as usize, arguments.seed)
}

/// Prints the tables for all sources and holds the interleaved rows against the target.
fn judge<S: Source>(sources: &[S], experiments: usize, seed: u64) -> Broken {
    let mut broken = Broken::new();
    rates::alarms_head(experiments);
    for source in sources {
        let alarms = Alarms::of(source, experiments, seed);
        println!("{alarms}");
        let line = format!("{} raises {:.1} % false alarms", source.name(), 100.0 * alarms.rate());
        broken.extend(unless(alarms.rate() <= ALARMS_MAX, line));
    }
    rates::stops_head(experiments);
    for source in sources {
        println!("{}", Stops::of(source, experiments, seed));
    }
    power::power_head(experiments);
    for source in sources {
        print!("{}", Power::of(source, experiments, seed));
    }
    broken
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

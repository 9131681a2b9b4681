//! `sidestep simulate fx-8150`: threads on shared modules, and what a policy of placement gains.

use clap::Args;
use models::scheduling;
use models::scheduling::{Pattern, Policy, Scenario, SchedulingMachine};

use super::{SEED, SimulateArguments, Simulated};
use crate::options::{named, parse_counts};

/// More threads than this per CPU say nothing new.
const THREADS_PER_CPU_MAX: usize = 4;
/// Threads do not gain more than this from shared data: four times their speed.
const SHARING_MAX: f64 = 3.0;
/// Options of machines whose threads share units.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Schedulers (fx-8150, jacobsville, ryzen-1800x)")]
pub(crate) struct ThreadsArguments {
    /// How many threads, such as 4 or 1..8; unless given from 1 to as many as CPUs
    #[arg(long, value_name = "COUNTS", value_parser = parse_counts)]
    pub(super) threads: Option<[usize; 2]>,
    /// Who places them, as listed by --help
    #[arg(long, value_name = "NAME", value_parser = |text: &str| named(&Policy::ALL, Policy::name, text), long_help = POLICIES)]
    pub(super) policy: Option<Policy>,
    /// What a thread gains from data that it shares with a partner, as a share of its speed, such as 0.2
    #[arg(long, value_name = "SHARE", value_parser = sharing)]
    pub(super) sharing: Option<f64>,
    /// What each thread does: copies (compute; the default), bursts (compute and sleep), pairs (hand work to and fro)
    #[arg(long, value_name = "NAME", value_parser = |text: &str| named(&Pattern::ALL, Pattern::name, text))]
    pub(super) load: Option<Pattern>,
}

/// All policies in a line each.
pub(super) const POLICIES: &str = "\
Who places them:

  in-order:              on the first idle CPU
  random:                on any idle CPU
  modules-first:         in the emptiest unit; the default
  modules-first-patient: the same with units that park later
  pack:                  in the fullest unit, so that others sleep
  kernel-like:           Linux, without knowledge of data
  data-aware:            sharers together, others apart, where it pays";

impl ThreadsArguments {
    fn scenario(&self, machine: &SchedulingMachine, seed: Option<u64>) -> anyhow::Result<Scenario> {
        let cpus = machine.cpus.value;
        let threads = self.threads.unwrap_or([1, cpus]);
        anyhow::ensure!(
            threads[1] <= cpus * THREADS_PER_CPU_MAX,
            "--threads {}: {} has {cpus} CPUs; give up to {}",
            threads[1],
            machine.name,
            cpus * THREADS_PER_CPU_MAX
        );
        Ok(Scenario {
            policy: self.policy.unwrap_or(Policy::ModulesFirst),
            pattern: self.load.unwrap_or(Pattern::Copies),
            threads,
            sharing: self.sharing.unwrap_or(0.0),
            seed: seed.unwrap_or(SEED),
        })
    }
}

/// Threads on shared units.
pub(super) fn simulate(
    machine: &SchedulingMachine,
    arguments: &SimulateArguments,
) -> anyhow::Result<Simulated> {
    let scenario = arguments.threads.scenario(machine, arguments.seed)?;
    let simulation = scheduling::simulate(machine, scenario);
    let page = report::schedulers_page(&simulation);
    Ok((Box::new(simulation), page))
}

/// Reads `0.2`.
fn sharing(text: &str) -> Result<f64, String> {
    let share = text.parse::<f64>().ok().filter(|share| (0.0..=SHARING_MAX).contains(share));
    share.ok_or_else(|| format!("give a share such as 0.2, up to {SHARING_MAX}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_numbers_or_rising_ranges_and_shares_are_numbers() {
        assert_eq!(parse_counts("4"), Ok([4, 4]));
        assert_eq!(parse_counts("1..8"), Ok([1, 8]));
        assert_eq!(parse_counts("1..=8"), Ok([1, 8]));
        assert_eq!(sharing("0.2"), Ok(0.2));
        for text in ["", "0", "8..1", "..", "1..", "-1", "99999999999999999999", "1.5"] {
            assert!(parse_counts(text).is_err(), "{text}");
        }
        for text in ["", "nan", "0..0.4", "-0.1", "inf", "4"] {
            assert!(sharing(text).is_err(), "{text}");
        }
    }
}

//! `sidestep simulate k8-opteron`: counters that drift, and what each remedy does.

use clap::Args;
use models::tsc::{self, Governor, Scenario, TscMachine, Workload};

use super::{SimulateArguments, named, print};
use crate::global::Global;
use crate::outcome::Outcome;

/// Shorter runs show nothing, longer ones take minutes.
const SECONDS_RANGE: std::ops::RangeInclusive<f64> = 1.0..=3600.0;
/// Seed of a simulation for which none was asked.
const SEED: u64 = 1;

/// Options of machines whose counters drift.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Counters of time (k8-opteron)")]
pub(crate) struct ScenarioArguments {
    /// Who sets the frequency: performance, powersave, ondemand, walk
    #[arg(long, value_name = "NAME", value_parser = governor)]
    governor: Option<Governor>,
    /// What the cores do: busy, idle, one-busy, bursts
    #[arg(long, value_name = "NAME", value_parser = workload)]
    workload: Option<Workload>,
    /// How long, in seconds; 60 unless given
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    seconds: Option<f64>,
}

impl ScenarioArguments {
    /// An option that was given and belongs to machines whose counters drift.
    pub(super) fn given(&self) -> Option<&'static str> {
        let given = [
            ("--governor", self.governor.is_some()),
            ("--workload", self.workload.is_some()),
            ("--seconds", self.seconds.is_some()),
        ];
        given.into_iter().find_map(|(name, is_given)| is_given.then_some(name))
    }

    fn scenario(&self, seed: Option<u64>) -> Scenario {
        /// Long enough for many changes of frequency.
        const SECONDS: f64 = 60.0;
        Scenario {
            governor: self.governor.unwrap_or(Governor::Ondemand),
            workload: self.workload.unwrap_or(Workload::Bursts),
            seconds: self.seconds.unwrap_or(SECONDS),
            seed: seed.unwrap_or(SEED),
        }
    }
}

/// Simulates and prints in the form asked for.
pub(super) fn simulate(
    machine: &TscMachine,
    arguments: &SimulateArguments,
    global: &Global,
) -> anyhow::Result<Outcome> {
    anyhow::ensure!(
        !arguments.fit,
        "--fit: {} holds no published number; there is nothing to fit to",
        machine.name
    );
    let simulation = tsc::simulate(machine, arguments.scenario.scenario(arguments.seed));
    print(&simulation, &report::drift_page(&simulation), arguments, global)
}

fn governor(text: &str) -> Result<Governor, String> {
    named(&Governor::ALL, Governor::name, text)
}

fn workload(text: &str) -> Result<Workload, String> {
    named(&Workload::ALL, Workload::name, text)
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.trim_end_matches('s').parse::<f64>().ok();
    let range = || format!("give {} to {} seconds", SECONDS_RANGE.start(), SECONDS_RANGE.end());
    seconds.filter(|seconds| SECONDS_RANGE.contains(seconds)).ok_or_else(range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_seconds_are_read() {
        assert_eq!(governor("walk"), Ok(Governor::Walk));
        assert!(workload("sleepy").is_err_and(|error| error.contains("one-busy")));
        assert_eq!(seconds("5s"), Ok(5.0));
        for text in ["", "0", "nan", "1e9", "-5"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}

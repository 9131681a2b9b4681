//! `sidestep simulate spr-snc4`: what a read costs between the clusters of a die.

use models::interconnect::{ClusterMachine, simulate_clusters};

use super::{SimulateArguments, tell};
use crate::arguments::Global;
use crate::outcome::Outcome;

/// Simulates and prints in the form asked for.
pub(super) fn simulate(
    machine: &ClusterMachine,
    arguments: &SimulateArguments,
    global: &Global,
) -> anyhow::Result<Outcome> {
    if let Some(flag) = arguments.of_memory() {
        anyhow::bail!("{flag} belongs to machines whose memory is simulated; {} has clusters", machine.name);
    }
    anyhow::ensure!(
        !arguments.fit || machine.published.is_some(),
        "--fit: {} holds no published matrix; there is nothing to fit to",
        machine.name
    );
    let simulation = simulate_clusters(machine, arguments.fit);
    tell(&simulation, &report::clusters_page(&simulation), arguments, global)
}

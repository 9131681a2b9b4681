//! The comparison of sockets within a check-up: a few seconds, on one CPU of each node or package, with two kernels.
//!
//! A line between CPUs is not moved here: the check-up has a probe for that.

use machine::{CpuId, Machine};

use super::choice::nodes_with_memory;
use super::{Per, STREAM_WINDOWS, Settings, Streams, block, run, several_cpus, subjects};
use crate::memory::worker_group::worst_case_visit_s;
use crate::probe::{CheckUpProbe, Depth, Planned, Section, Subject, net_s};

/// CPUs that are compared at most: with more, the rounds over them become too few. `--full` compares four times as many.
const SUBJECTS_MAX: usize = 16;
const SUBJECTS_MAX_FULL: usize = 64;
/// Time that a CPU and a node want beyond the first two, in seconds: 16 rounds (`stats::FEWEST_ROUNDS`) of a visit of 11 ms and some
/// more, as fewer tell nothing.
const CELL_S: f64 = 0.2;
/// Pages are zeroed and filled no slower than this on a busy machine.
const SLOWEST_FILL_BYTES_PER_S: f64 = 1.0e9;

/// The probe in the check-up.
pub(crate) const PROBE: CheckUpProbe = CheckUpProbe {
    seconds: [None, Some(6.0), Some(30.0)],
    least_s: 2.5,
    more_s: |subject| more_s(subject.machine, subject.cpus),
    rank: 80,
    // Memory is shared by all.
    disturbs: "machine",
    missing: second_place_missing,
    ..CheckUpProbe::new("sockets", Section::Memory, plan)
};

/// Two CPUs or two nodes with memory: one is always like itself.
fn second_place_missing(subject: &Subject<'_>) -> Option<&'static str> {
    let one = subject.cpus.len() < 2 && nodes_with_memory(&subject.machine.topology).len() < 2;
    one.then_some("it compares CPUs or nodes, and there is one of each to measure on")
}

fn plan(subject: &Subject<'_>, seconds: f64) -> Planned {
    let Subject { machine, cpus, depth, .. } = *subject;
    let (settings, reduced) = Settings::within(seconds, depth, machine, cpus);
    let (worst_case_s, shares) = (settings.worst_case_s(machine), vec![("budget", settings.budget_s)]);
    Planned::new(settings, run, worst_case_s, shares).reduced(reduced)
}

impl Settings {
    /// What is measured in the time at this depth, and a line for what is not.
    pub fn within(seconds: f64, depth: Depth, machine: &Machine, cpus: &[CpuId]) -> (Self, Vec<String>) {
        let topology = &machine.topology;
        let per = Per::coarsest(topology, cpus);
        let all = subjects(topology, cpus, per);
        let most = if depth == Depth::Full { SUBJECTS_MAX_FULL } else { SUBJECTS_MAX };
        let count = all.len().min(most);
        let mut reduced = Vec::new();
        if count < all.len() {
            reduced.push(format!("{count} of {} {}, evenly spread", all.len(), per.plural()));
        }
        let streams = if depth == Depth::Full { Streams::All } else { Streams::TriadAndRead };
        let settings = Self {
            subjects: (0..count).map(|index| all[index * all.len() / count].clone()).collect(),
            nodes: nodes_with_memory(topology),
            budget_s: 0.0,
            planted: None,
            streams,
            on_its_own: false,
        };
        (settings.in_all(seconds, machine), reduced)
    }

    /// The same with a budget that leaves room within so many seconds for what is not broken off by it.
    #[must_use]
    pub fn in_all(self, seconds: f64, machine: &Machine) -> Self {
        Self { budget_s: net_s(seconds, self.beyond_budget_s(machine)), ..self }
    }

    /// Time it may take at most, in seconds.
    pub fn worst_case_s(&self, machine: &Machine) -> f64 {
        self.budget_s + self.beyond_budget_s(machine)
    }

    /// What is broken off neither by the budget nor by a signal: the visit of a CPU, or of all CPUs of a package.
    fn beyond_budget_s(&self, machine: &Machine) -> f64 {
        let members = machine.topology.cpus.len() / machine.topology.packages().len().max(1);
        worst_case_visit_s(
            block(machine, self.nodes.len()),
            members.max(1),
            STREAM_WINDOWS.max(several_cpus::WINDOWS),
        )
    }
}

/// Time that this machine wants beyond one of two CPUs and a node, in seconds: for filling memory and for more visits.
fn more_s(machine: &Machine, cpus: &[CpuId]) -> f64 {
    let topology = &machine.topology;
    let nodes = nodes_with_memory(topology).len().max(1);
    let cells = nodes * subjects(topology, cpus, Per::coarsest(topology, cpus)).len().min(SUBJECTS_MAX);
    let filled =
        |nodes: usize| 2.0 * block(machine, nodes).0 as f64 * nodes as f64 / SLOWEST_FILL_BYTES_PER_S;
    CELL_S * cells.saturating_sub(2) as f64 + (filled(nodes) - filled(1)).max(0.0)
}

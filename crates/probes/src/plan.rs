//! The plan of a check-up: which probes run, with which settings, for how long, and what was left out and why.
//!
//! A pure function of the machine's description, the CPUs, the options and the seed: it opens nothing and times
//! nothing. The sum of all worst cases and of what a run costs besides fits the budget; when it does not, probes get
//! shorter, down to what still says something, and then the least important are dropped.

mod catalogue;
mod fit;

pub use catalogue::{Probe, Selection, UnknownProbe, selectable_names};
pub use fit::{OVERHEAD_S, smallest_budget_s};
use machine::{CpuId, Machine};
use record::{PlanEntry, PlanOutcome};
use stats::Order;

use self::fit::Request;
pub use crate::probe::{ChosenPairs, CpuPair, Depth, Planned, ProbeError, Section, choose_pairs};
use crate::probe::{SignatureProbe, Subject};

/// What the user asked for, and what bears on it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Options {
    /// How thorough.
    pub depth: Depth,
    /// Time for the whole run in seconds; `None` is that of the depth.
    pub budget_s: Option<f64>,
    /// Which probes.
    pub only: Selection,
    /// Signatures that can decide on flaws that may concern the machine.
    pub signatures: Vec<SignatureProbe>,
    /// In how many fresh processes; 0 is one, as is any number that does not fit.
    pub epochs: usize,
}

impl Options {
    /// Time for the whole run in seconds; what is not a positive number is no time at all.
    pub fn budget_s(&self) -> f64 {
        let budget_s = self.budget_s.unwrap_or(self.depth.budget_s());
        if budget_s.is_nan() { 0.0 } else { budget_s.max(0.0) }
    }

    /// What probes are planned for.
    fn subject<'a>(&'a self, machine: &'a Machine, cpus: &'a [CpuId], seed: u64) -> Subject<'a> {
        Subject { machine, cpus, depth: self.depth, signatures: &self.signatures, seed }
    }
}

/// One probe that will run.
#[derive(Debug)]
pub struct PlannedProbe {
    /// Which.
    pub probe: Probe,
    /// How.
    pub settings: Planned,
    /// Its worst case in seconds, which is also its deadline.
    pub seconds: f64,
    /// `self`, `core` or `machine`.
    pub disturbs: &'static str,
    /// What was cut, and why: one line each.
    pub reduced: Vec<String>,
}

/// One probe that will not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DroppedProbe {
    /// Which.
    pub probe: Probe,
    /// Why.
    pub reason: String,
}

/// The whole plan.
#[derive(Debug)]
pub struct CheckUpPlan {
    /// Time for the whole run in seconds.
    pub budget_s: f64,
    /// The probes in the order in which they run.
    pub probes: Vec<PlannedProbe>,
    /// Those left out.
    pub dropped: Vec<DroppedProbe>,
    /// In how many fresh processes.
    pub epochs: usize,
}

/// Plans a check-up of the CPUs given.
pub fn plan(machine: &Machine, cpus: &[CpuId], options: &Options, seed: u64) -> CheckUpPlan {
    let subject = options.subject(machine, cpus, seed);
    let mut dropped = Vec::new();
    let requests = fit::requests(&subject, &options.only, &mut dropped);
    let budget_s = options.budget_s();
    let epochs = fitting_epochs(options.epochs, budget_s - OVERHEAD_S);
    let probes = fit::fit(requests, budget_s, overhead_s(epochs), &mut dropped)
        .into_iter()
        .map(|(Request { probe, asked_s, .. }, seconds)| {
            let about = probe.about();
            let mut settings = (about.plan)(&subject, seconds);
            let mut reduced = std::mem::take(&mut settings.reduced);
            if seconds < asked_s {
                let line = format!("{seconds:.1} s in place of {asked_s:.1} s: the budget is {budget_s} s");
                reduced.insert(0, line);
            }
            let disturbs = about.disturbs;
            let mut planned = PlannedProbe { probe, settings, seconds, disturbs, reduced };
            let turns = turns_of(&planned, epochs);
            if turns < epochs {
                planned
                    .reduced
                    .push(format!("in {turns} of {epochs} epochs: less time at once says too little"));
            }
            planned
        })
        .collect();
    dropped.order_by_key(|dropped| dropped.probe);
    CheckUpPlan { budget_s, probes, dropped, epochs }
}

/// Time of a run besides its probes, in seconds.
fn overhead_s(epochs: usize) -> f64 {
    OVERHEAD_S + EPOCH_OVERHEAD_S * epochs.saturating_sub(1) as f64
}

impl CheckUpPlan {
    /// Worst case of the whole run in seconds.
    pub fn worst_case_s(&self) -> f64 {
        overhead_s(self.epochs) + self.probes.iter().map(|planned| planned.seconds).sum::<f64>()
    }

    /// As the record keeps it: what runs first, then what was dropped.
    pub fn to_record(&self) -> record::Plan {
        let planned = self.probes.iter().map(|planned| PlanEntry {
            probe: planned.probe.name().to_owned(),
            planned_s: planned.seconds,
            disturbs: planned.disturbs.to_owned(),
            reduced: planned.reduced.clone(),
            outcome: PlanOutcome::Pending,
            elapsed_s: None,
        });
        let dropped = self.dropped.iter().map(|dropped| PlanEntry {
            probe: dropped.probe.name().to_owned(),
            planned_s: 0.0,
            disturbs: dropped.probe.about().disturbs.to_owned(),
            reduced: Vec::new(),
            outcome: PlanOutcome::Dropped(dropped.reason.clone()),
            elapsed_s: None,
        });
        record::Plan { budget_s: self.budget_s, entries: planned.chain(dropped).collect() }
    }
}

/// Epochs of a check-up where the user names no number: the fewest of which one can be disturbed and still be outvoted.
pub const EPOCHS: usize = 3;
/// What one more process takes besides its probes, in seconds: starting, calibration, writing and reading its record; 0.15 to 0.3
/// measured on a loaded guest.
const EPOCH_OVERHEAD_S: f64 = 0.4;
/// With less time for its probes an epoch says little, in seconds: a quarter of what `--quick` has.
const EPOCH_LEAST_S: f64 = 4.0;
/// Share of a probe's time in an epoch that is for visits at least. The rest may go into what cannot be broken off, which
/// at its worst is more than an epoch has, and in practice a tenth of that.
const VISITS_SHARE: f64 = 0.5;

/// How many epochs fit into so many seconds for probes.
fn fitting_epochs(asked: usize, probes_s: f64) -> usize {
    let fitting = (probes_s / (EPOCH_LEAST_S + EPOCH_OVERHEAD_S)).floor();
    if fitting >= 1.0 { asked.clamp(1, fitting as usize) } else { 1 }
}

/// In how many epochs a probe runs.
fn turns_of(planned: &PlannedProbe, epochs: usize) -> usize {
    let least_s =
        planned.probe.about().epoch_least_s.map(|least_s| least_s.max(planned.settings.epoch_least_s));
    least_s.map_or(1, |least_s| ((planned.seconds / least_s) as usize).clamp(1, epochs.max(1)))
}

impl CheckUpPlan {
    /// The probes of each epoch with their seconds. What is not in every epoch goes to the next ones in turn, so that none has
    /// them all.
    pub fn parts(&self) -> Vec<Vec<(Probe, f64)>> {
        let epochs = self.epochs.max(1);
        let mut parts = vec![Vec::new(); epochs];
        let mut next = 0;
        for planned in &self.probes {
            let turns = turns_of(planned, epochs);
            for turn in 0..turns {
                parts[(next + turn) % epochs].push((planned.probe, planned.seconds / turns as f64));
            }
            next += if turns < epochs { turns } else { 0 };
        }
        parts
    }
}

/// The plan of one epoch. The seed is the run's, as it chooses pairs of CPUs, which have to be the same in all epochs.
pub fn epoch_plan(
    machine: &Machine,
    cpus: &[CpuId],
    options: &Options,
    seed: u64,
    part: &[(Probe, f64)],
) -> CheckUpPlan {
    let subject = options.subject(machine, cpus, seed);
    let probes = part
        .iter()
        .map(|&(probe, seconds)| {
            let about = probe.about();
            let mut settings = (about.plan)(&subject, seconds);
            let reduced = std::mem::take(&mut settings.reduced);
            settings.visits_at_least(VISITS_SHARE * seconds);
            PlannedProbe { probe, settings, seconds, disturbs: about.disturbs, reduced }
        })
        .collect();
    CheckUpPlan { budget_s: options.budget_s(), probes, dropped: Vec::new(), epochs: 1 }
}

#[cfg(test)]
mod tests {
    use machine::CpuId;

    use super::*;

    fn planned(depth: Depth, budget_s: Option<f64>) -> CheckUpPlan {
        let options = Options { depth, budget_s, epochs: EPOCHS, ..Options::default() };
        plan(&Machine::default(), &[CpuId(0), CpuId(1)], &options, 1)
    }

    #[test]
    fn the_parts_hold_all_time_of_all_probes_and_no_more_than_the_budget() {
        for depth in [Depth::Quick, Depth::Default, Depth::Full] {
            let plan = planned(depth, None);
            let parts = plan.parts();
            assert_eq!((plan.epochs, parts.len()), (EPOCHS, EPOCHS));
            assert!(plan.worst_case_s() <= depth.budget_s() + 1e-9, "{}", plan.worst_case_s());
            for planned in &plan.probes {
                let seconds: f64 =
                    parts.iter().flatten().filter(|(probe, _)| *probe == planned.probe).map(|(_, s)| s).sum();
                assert!((seconds - planned.seconds).abs() < 1e-9, "{:?}", planned.probe);
            }
            let longest = parts.iter().map(|part| part.iter().map(|(_, s)| s).sum::<f64>());
            assert!(longest.fold(0.0, f64::max) < 0.6 * depth.budget_s(), "{parts:?}");
        }
    }

    #[test]
    fn a_short_budget_has_fewer_epochs_and_a_probe_that_needs_its_time_is_not_divided() {
        assert_eq!(planned(Depth::Default, Some(10.0)).epochs, 1);
        assert_eq!(planned(Depth::Default, Some(14.0)).epochs, 2);
        let in_epochs = |plan: &CheckUpPlan, name: &str| {
            plan.parts().iter().filter(|part| part.iter().any(|(probe, _)| probe.name() == name)).count()
        };
        let quick = planned(Depth::Quick, None);
        assert_eq!(in_epochs(&quick, "bandwidth"), EPOCHS);
        assert_eq!(in_epochs(&quick, "clock-pairs"), 1);
        assert!(
            quick
                .probes
                .iter()
                .any(|planned| planned.reduced.iter().any(|line| line.contains("of 3 epochs")))
        );
    }
}

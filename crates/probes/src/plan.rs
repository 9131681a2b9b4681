//! The plan of a check-up: which probes run, with which settings, for how long, and what was left out and why.
//!
//! A pure function of the machine's description, the CPUs, the options and the seed: it opens nothing and times
//! nothing. The sum of all worst cases and of what a run costs besides fits the budget; when it does not, probes get
//! shorter, down to what still says something, and then the least important are dropped.

mod catalogue;
mod epochs;
mod fit;

use machine::{CpuId, Machine};
use record::{PlanEntry, PlanOutcome};
use stats::Order;

pub use crate::probe::{ChosenPairs, CpuPair, Depth, Planned, ProbeError, Section, choose_pairs};
pub use catalogue::{Probe, Selection, UnknownProbe, selectable_names};
pub use epochs::{EPOCHS, epoch_plan};
pub use fit::{OVERHEAD_S, smallest_budget_s};

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
    let wishes = fit::wishes(&subject, &options.only);
    let budget_s = options.budget_s();
    let epochs = epochs::fitting(options.epochs, budget_s - OVERHEAD_S);
    let fitted = fit::fit(wishes.rows, budget_s, overhead_s(epochs));
    let probes = fitted
        .probes
        .into_iter()
        .map(|slot| {
            let about = slot.probe.about();
            let mut settings = (about.plan)(&subject, slot.seconds);
            let mut reduced = std::mem::take(&mut settings.reduced);
            if slot.seconds < slot.wanted_s {
                reduced.insert(
                    0,
                    format!(
                        "{:.1} s in place of {:.1} s: the budget is {} s",
                        slot.seconds,
                        slot.wanted_s,
                        options.budget_s()
                    ),
                );
            }
            let disturbs = about.disturbs;
            let mut planned =
                PlannedProbe { probe: slot.probe, settings, seconds: slot.seconds, disturbs, reduced };
            let turns = epochs::turns(&planned, epochs);
            if turns < epochs {
                planned
                    .reduced
                    .push(format!("in {turns} of {epochs} epochs: less time at once says too little"));
            }
            planned
        })
        .collect();
    let mut dropped = wishes.dropped;
    dropped.extend(fitted.dropped);
    dropped.order_by_key(|dropped| dropped.probe);
    CheckUpPlan { budget_s, probes, dropped, epochs }
}

/// Time of a run besides its probes, in seconds.
fn overhead_s(epochs: usize) -> f64 {
    OVERHEAD_S + epochs::EPOCH_OVERHEAD_S * epochs.saturating_sub(1) as f64
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

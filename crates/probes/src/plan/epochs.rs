//! A plan in epochs: which part of each probe's time goes into which fresh process.

use machine::{CpuId, Machine};

use super::{CheckUpPlan, Options, PlannedProbe, Probe};

/// Epochs of a check-up where the user names no number: the fewest of which one can be disturbed and still be outvoted.
pub const EPOCHS: usize = 3;
/// What one more process takes besides its probes, in seconds: starting, calibration, writing and reading its record; 0.15 to 0.3
/// measured on a loaded guest.
pub(super) const EPOCH_OVERHEAD_S: f64 = 0.4;
/// With less time for its probes an epoch says little, in seconds: a quarter of what `--quick` has.
const EPOCH_LEAST_S: f64 = 4.0;
/// Share of a probe's time in an epoch that is for visits at least. The rest may go into what cannot be broken off, which
/// at its worst is more than an epoch has, and in practice a tenth of that.
const VISITS_SHARE: f64 = 0.5;

/// How many epochs fit into so many seconds for probes.
pub(super) fn fitting(wanted: usize, probes_s: f64) -> usize {
    let fitting = (probes_s / (EPOCH_LEAST_S + EPOCH_OVERHEAD_S)).floor();
    if fitting >= 1.0 { wanted.clamp(1, fitting as usize) } else { 1 }
}

/// In how many epochs a probe runs.
pub(super) fn turns(planned: &PlannedProbe, epochs: usize) -> usize {
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
            let turns = turns(planned, epochs);
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
    use crate::plan::{Depth, plan};

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
        assert_eq!(in_epochs(&quick, "surface"), EPOCHS);
        assert_eq!(in_epochs(&quick, "clock-pairs"), 1);
        assert!(
            quick
                .probes
                .iter()
                .any(|planned| planned.reduced.iter().any(|line| line.contains("of 3 epochs")))
        );
    }
}

//! What is tried against the kernel's own placement: the best, neighbours apart, neighbours together; and the kernel again where
//! two of them are the same.
//!
//! Where nothing that was seen distinguishes the threads, no placement is called the best: a third order of neighbours is tried in
//! its place. Of four threads on two CPUs, the three are all the placements with two on each.

use machine::CpuSet;
use record::{PlaceArm, PlaceDecision};
use stats::{Cell, Order, cell_count};

use super::arrangement::CpuSlots;
use super::arrangement::{Arrangement, crossed, is_same_grouping, packed, spread};
use super::decision::Decided;
use super::prediction::{Predicted, Prediction};
use super::thread_table::Key;

/// The kernel's own placement.
pub const OS: &str = "os";
/// The same once more, where there is no fourth placement: it must show nothing.
pub const OS_AGAIN: &str = "os again";
/// The name of the placement that was computed.
pub const BEST: &str = "best";

/// True of a placement, false of the kernel's own.
pub(super) fn is_tried(arm: &PlaceArm) -> bool {
    arm.name != OS && arm.name != OS_AGAIN
}

/// Factors of a design with four cells.
pub const FACTORS: usize = 2;
/// Arms, the kernel's included.
pub const ARMS: usize = cell_count(FACTORS);

/// One arm of the experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct ArmPlan {
    /// `os`, `best`, `spread`, `pack`, `crossed`, `os again`.
    pub name: &'static str,
    /// In words.
    pub what: &'static str,
    /// Where threads go.
    pub arrangement: Arrangement,
    /// The other name of the same placement.
    pub same_as: Option<&'static str>,
    /// Change of the time that is predicted.
    pub predicted: Option<Predicted>,
}

impl ArmPlan {
    /// True if it binds nobody.
    pub fn is_kernel(&self) -> bool {
        self.arrangement.cpus.is_empty()
    }

    fn kernel() -> Self {
        Self {
            name: OS,
            what: "the kernel decides",
            arrangement: Arrangement::default(),
            same_as: None,
            predicted: None,
        }
    }
}

/// Where threads go in a cell of the design.
pub(super) fn arrangement_of(plans: &[ArmPlan], state: Cell) -> Arrangement {
    plans.get(state.index()).map(|plan| plan.arrangement.clone()).unwrap_or_default()
}

/// With the kernel's own placement in all cells that are free.
fn filled(mut plans: Vec<ArmPlan>) -> Vec<ArmPlan> {
    let again = ArmPlan { name: OS_AGAIN, what: "the kernel decides, once more", ..ArmPlan::kernel() };
    plans.resize(plans.len().max(ARMS), again);
    plans
}

/// The arms, four of them: the cells of a design with two factors.
#[derive(Debug, Clone, PartialEq)]
pub struct Arms {
    /// The kernel's first.
    pub plans: Vec<ArmPlan>,
    /// How the best was found.
    pub decision: Option<PlaceDecision>,
    /// What predicted, or why nothing did.
    pub predicted_by: Result<String, String>,
}

impl Arms {
    /// Of threads in the order of creation.
    pub fn of(
        threads: &[Key],
        slots: &CpuSlots,
        decided: Option<&Decided>,
        prediction: Result<Prediction, String>,
    ) -> Self {
        let mut placements: Vec<(&'static str, &'static str, Vec<usize>, Option<&'static str>)> = Vec::new();
        let mut add = |name, what, slot_of: Vec<usize>| {
            // CPUs of one level are alike; where they differ, only the very same slots are the same.
            let alike = |other: &Vec<usize>| {
                *other == slot_of || (slots.levels.len() == 1 && is_same_grouping(other, &slot_of))
            };
            match placements.iter_mut().find(|(_, _, other, _)| alike(other)) {
                Some(known) => known.3 = Some(name),
                None => placements.push((name, what, slot_of, None)),
            }
        };
        let decided = decided.filter(|decided| decided.tells_apart());
        if let Some(decided) = decided {
            add(BEST, "the best by what was seen", decided.slot_of.clone());
        }
        if threads.len() > 1 && !slots.cpus.is_empty() {
            add("spread", "neighbours in the order of creation apart", spread(threads.len(), slots));
            add(
                "pack",
                "neighbours in the order of creation together",
                packed(threads.len(), slots.cpus.len()),
            );
        }
        if threads.len() > 2 && !slots.cpus.is_empty() && decided.is_none() {
            add(
                "crossed",
                "the first with the last in the order of creation",
                crossed(threads.len(), slots.cpus.len()),
            );
        }
        let mut plans = vec![ArmPlan::kernel()];
        plans.extend(placements.into_iter().map(|(name, what, slot_of, same_as)| ArmPlan {
            name,
            what,
            predicted: prediction.as_ref().ok().and_then(|prediction| prediction.predicted(&slot_of)),
            arrangement: Arrangement::in_slots(threads, &slot_of, slots),
            same_as,
        }));
        Self {
            plans: filled(plans),
            decision: decided.map(|decided| decided.document.clone()),
            predicted_by: prediction.map(|prediction| prediction.by),
        }
    }

    /// The same without these, by index; the kernel's own placement is tried in their place.
    #[must_use]
    pub fn without(&self, left_out: &[usize]) -> Self {
        let kept = |(index, plan): (usize, &ArmPlan)| {
            (!left_out.contains(&index) && plan.name != OS_AGAIN).then(|| plan.clone())
        };
        let plans = self.plans.iter().enumerate().filter_map(kept).collect();
        Self { plans: filled(plans), ..self.clone() }
    }

    /// Every set of CPUs that an arm names.
    pub fn sets(&self) -> Vec<CpuSet> {
        let mut sets: Vec<CpuSet> = self.plans.iter().flat_map(|plan| plan.arrangement.sets()).collect();
        sets.order_by_key(ToString::to_string);
        sets.dedup();
        sets
    }
}

#[cfg(test)]
mod tests {
    use machine::{CpuId, Topology};

    use super::*;

    #[test]
    fn equal_placements_are_one_arm_and_the_kernel_fills_the_free_ones() {
        let threads: Vec<Key> = (0..4).map(|nth| Key { process: 0, name: "w".to_owned(), nth }).collect();
        let set: CpuSet = (0..2).map(CpuId).collect();
        let slots = CpuSlots::of(&Topology::default(), &set);
        let arms = Arms::of(&threads, &slots, None, Err(String::new()));
        let names = |arms: &Arms| arms.plans.iter().map(|plan| plan.name).collect::<Vec<_>>();
        assert_eq!(names(&arms), [OS, "spread", "pack", "crossed"], "all there are with two on each");
        assert_eq!(arms.sets().len(), 2);
        assert_eq!(names(&arms.without(&[2])), [OS, "spread", "crossed", OS_AGAIN]);
        assert_eq!(names(&arms.without(&[2]).without(&[1, 2])), [OS, OS_AGAIN, OS_AGAIN, OS_AGAIN]);
        let two = Arms::of(&threads[..2], &slots, None, Err(String::new()));
        assert_eq!(two.plans[1].same_as, Some("pack"), "two threads on two CPUs can only be apart");
        assert_eq!(two.plans.len(), 4);
    }
}

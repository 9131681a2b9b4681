//! Who decides on which CPU a thread starts and wakes.

use stats::Random;

use super::compiled::{Compiled, Level};
use super::description::Policy;

/// What a policy may look at.
pub(super) struct View<'a> {
    pub(super) machine: &'a Compiled,
    /// Threads that run, start or queue on each CPU.
    pub(super) assigned: &'a [u16],
    /// When each CPU's last thread left it.
    pub(super) idle_since_ns: &'a [f64],
    /// The CPU that the thread ran on; none at its start.
    pub(super) previous: Option<usize>,
    /// Where a plan for all threads wants it.
    pub(super) planned: Option<usize>,
}

impl View<'_> {
    fn is_idle(&self, cpu: usize) -> bool {
        self.assigned[cpu] == 0
    }

    fn load(&self, cpus: std::ops::Range<usize>) -> u32 {
        self.assigned[cpus].iter().map(|threads| u32::from(*threads)).sum()
    }

    fn smallest(&self) -> &Level {
        &self.machine.levels[0]
    }

    fn idle(&self) -> impl Iterator<Item = usize> {
        (0..self.machine.cpus).filter(|cpu| self.is_idle(*cpu))
    }
}

/// The CPU for a thread that starts or wakes.
pub(super) fn choose(policy: Policy, view: &View<'_>, random: &mut Random) -> usize {
    let around = |cpu: usize| view.load(view.smallest().around(cpu));
    let idle = match policy {
        Policy::InOrder => view.idle().next(),
        Policy::Random => {
            let count = view.idle().count();
            view.idle().nth(random.below(count))
        }
        Policy::ModulesFirst | Policy::ModulesFirstPatient => view.idle().min_by_key(|cpu| around(*cpu)),
        Policy::Pack => view.idle().min_by_key(|cpu| std::cmp::Reverse(around(*cpu))),
        Policy::KernelLike => kernel_like(view),
        Policy::DataAware => view
            .planned
            .filter(|cpu| view.is_idle(*cpu))
            .or_else(|| view.idle().min_by_key(|cpu| around(*cpu))),
    };
    idle.unwrap_or_else(|| least_loaded(policy, view, random))
}

/// Every CPU has work: the shortest queue.
fn least_loaded(policy: Policy, view: &View<'_>, random: &mut Random) -> usize {
    let shortest = view.assigned.iter().copied().min().unwrap_or(0);
    let candidates = || (0..view.machine.cpus).filter(|cpu| view.assigned[*cpu] == shortest);
    let preferred = view.planned.or(view.previous).filter(|cpu| view.assigned[*cpu] == shortest);
    let found = match policy {
        Policy::Random => {
            let count = candidates().count();
            candidates().nth(random.below(count))
        }
        Policy::KernelLike | Policy::DataAware => preferred.or_else(|| candidates().next()),
        _ => candidates().next(),
    };
    found.unwrap_or(0)
}

/// At a wake-up the last CPU if it is idle, else the next idle one, whole idle units that the kernel balances over first. At the start, from the largest level to the
/// smallest, the unit with the most idle CPUs, and in it the CPU that went idle last, the first of several.
///
/// Source: Linux, kernel/sched/fair.c, `select_idle_sibling`, `find_idlest_group`, and for the CPU commit 83a0a96a5f26 ("if multiple CPUs
/// are idle"). Per-CPU depths of sleep are left out of the choice.
fn kernel_like(view: &View<'_>) -> Option<usize> {
    let levels = || view.machine.levels.iter().filter(|level| level.kernel_balances);
    if let Some(previous) = view.previous {
        if view.is_idle(previous) {
            return Some(previous);
        }
        let next = |offset: usize| (previous + offset) % view.machine.cpus;
        let scan = || (1..view.machine.cpus).map(next).filter(|cpu| view.is_idle(*cpu));
        let whole = levels().next().and_then(|level| scan().find(|cpu| view.load(level.around(*cpu)) == 0));
        return whole.or_else(|| scan().next());
    }
    let mut chosen = 0..view.machine.cpus;
    let mut sizes: Vec<usize> = levels().map(|level| level.cpus).collect();
    sizes.reverse();
    for size in sizes {
        if size < chosen.len() {
            let units = chosen.clone().step_by(size).map(|first| first..first + size);
            // Of equals the first.
            chosen = units.min_by_key(|unit| view.load(unit.clone())).unwrap_or(chosen);
        }
    }
    let idle = chosen.filter(|cpu| view.is_idle(*cpu));
    idle.reduce(|best, cpu| if view.idle_since_ns[cpu] > view.idle_since_ns[best] { cpu } else { best })
}

//! The ways in which a kernel is known to place threads that wake each other, each simulated, and which of them a program's runs agree with.
//!
//! Linux looks for an idle CPU when a thread is woken (kernel/sched/fair.c, `select_idle_sibling`), its last one first. In a guest of KVM
//! that never finds one that rests: `available_idle_cpu` (kernel/sched/syscalls.c) asks whether the hypervisor has taken the CPU
//! away, and it has, as the CPU halted (arch/x86/kvm/x86.c, `kvm_steal_time_set_preempted`). Then threads that wake each other stay on one
//! CPU, all of them where they were created, until the balancer moves some of them; `wake_affine` draws partners after them.

use models::scheduling::{Compiled, Load, Policy, thread_speeds};

use super::handover_costs::Costs;
use super::roles::Role;

/// Pairs that share a CPU take turns half as often as pairs that do not: a run within the root of two of what is simulated is nearer to that
/// than to the other.
pub(super) const AGREEMENT_FACTOR: f64 = std::f64::consts::SQRT_2;

/// One way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kernel {
    /// A thread wakes on its last CPU if that is idle, else on another idle one.
    IdleSibling,
    /// A thread wakes on any idle CPU.
    AnyIdle,
    /// All that take turns stay on one CPU.
    Stacked,
    /// Those that take turns stay together, each two on a CPU of their own as far as there are CPUs.
    Grouped,
}

impl Kernel {
    /// What it is where threads take turns, and where none do; as the first way is simulated it is named first.
    pub(super) fn candidates(takes_turns: bool) -> &'static [Self] {
        if takes_turns {
            &[Self::IdleSibling, Self::AnyIdle, Self::Stacked, Self::Grouped]
        } else {
            &[Self::IdleSibling, Self::AnyIdle]
        }
    }

    /// In words.
    pub(super) fn what(self) -> &'static str {
        match self {
            Self::IdleSibling => "wakes threads on idle CPUs, their last one first",
            Self::AnyIdle => "wakes threads on any idle CPU",
            Self::Stacked => "keeps all that take turns on one CPU",
            Self::Grouped => "keeps those that take turns together, each two on a CPU",
        }
    }

    /// What a wake adds to the work of a handover: the least and the most, as a CPU that is woken on may be idle or not.
    pub(super) fn adds_ns(self, costs: Costs) -> [f64; 2] {
        match self {
            Self::IdleSibling | Self::AnyIdle => [costs.remote, costs.queue],
            Self::Stacked => [costs.stacked; 2],
            Self::Grouped => [0.0; 2],
        }
    }

    /// Speed of each thread; `far` names the CPUs, each next one as far as can be from those before.
    pub(super) fn speeds(
        self,
        machine: &Compiled,
        load: &Load,
        roles: &[Role],
        far: &[usize],
        seed: u64,
    ) -> Vec<f64> {
        let policy = match self {
            Self::IdleSibling => Policy::KernelLike,
            Self::AnyIdle => Policy::Random,
            Self::Stacked | Self::Grouped => Policy::Pinned,
        };
        thread_speeds(machine, load, policy, &self.created(roles, far), seed)
    }

    /// Where threads begin: each on the next CPU, as an idle machine has it, but those that take turns where they are drawn to.
    fn created(self, roles: &[Role], far: &[usize]) -> Vec<usize> {
        let mut slots: Vec<usize> = Vec::with_capacity(roles.len());
        let mut pairs = 0;
        for (index, role) in roles.iter().enumerate() {
            let nth = match (self, role) {
                (Self::Stacked, Role::Turns { .. }) => 0,
                (Self::Grouped, Role::Turns { partner, .. }) if *partner < index => {
                    slots.push(slots[*partner]);
                    continue;
                }
                (Self::Grouped, Role::Turns { .. }) => {
                    pairs += 1;
                    pairs - 1
                }
                _ => index,
            };
            slots.push(far[nth % far.len()]);
        }
        slots
    }
}

/// Whether a run is nearer to what is simulated than to twice or half its speed; `slower` is the one's time over the other's.
pub(super) fn agrees(slower: f64) -> bool {
    slower.max(1.0 / slower) <= AGREEMENT_FACTOR
}

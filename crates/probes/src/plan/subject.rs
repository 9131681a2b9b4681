//! What a plan is made for, and what every probe asks of it.

use std::error::Error;
use std::fmt;

use machine::{Bytes, CpuId, Machine};

use super::pairs::{ChosenPairs, choose_pairs};
use super::{Depth, Options, Planned};
use crate::memory::room_of;
use crate::session::Session;

/// What a plan is made for.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) machine: &'a Machine,
    pub(crate) cpus: &'a [CpuId],
    pub(crate) options: &'a Options,
    pub(crate) seed: u64,
}

/// Largest block that a probe takes where no limit is known.
const UNLIMITED: Bytes = Bytes(512 << 20);

impl Subject<'_> {
    /// Value by depth: `--quick`, default, `--full`.
    pub(crate) fn by_depth<T>(&self, [quick, default, full]: [T; 3]) -> T {
        match self.options.depth {
            Depth::Quick => quick,
            Depth::Default => default,
            Depth::Full => full,
        }
    }

    /// Memory that one block may take.
    pub(crate) fn room(&self) -> Bytes {
        room_of(self.machine).unwrap_or(UNLIMITED)
    }

    /// Settings whose time besides their budget depends on the machine and how many CPUs are measured.
    pub(crate) fn planned<S: fmt::Debug + 'static, E: Error + Send + Sync + 'static>(
        &self,
        seconds: f64,
        settings: S,
        budget_s: fn(&mut S) -> &mut f64,
        worst_case_s: fn(&S, usize, &Machine) -> f64,
        run: fn(&mut Session<'_>, &S) -> Result<(), E>,
    ) -> Planned {
        let worst_case_s = |settings: &S| worst_case_s(settings, self.cpus.len(), self.machine);
        Planned::within(seconds, settings, budget_s, worst_case_s, run)
    }

    /// Pairs and, where not all are measured, a line that says which.
    pub(crate) fn pairs(&self, limit: usize) -> (ChosenPairs, Vec<String>) {
        let chosen = choose_pairs(&self.machine.topology, self.cpus, self.seed, limit);
        let line = (chosen.pairs.len() < chosen.possible).then(|| {
            format!(
                "{} of {} pairs of CPUs: one of each of {} kinds of neighbourhood, the others at random",
                chosen.pairs.len(),
                chosen.possible,
                chosen.kinds.min(chosen.pairs.len())
            )
        });
        (chosen, line.into_iter().collect())
    }
}

/// Time for visits: the worst case less what the probe adds to its budget; never below a twentieth of a second.
pub(crate) fn net_s(seconds: f64, added_s: f64) -> f64 {
    (seconds - added_s).max(0.05)
}

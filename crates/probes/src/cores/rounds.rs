//! Visits in shuffled rounds: what is compared is alternated, so that drift of the machine does not look like a
//! difference between CPUs.

use std::time::Instant;

use host::live::Pinned;
use machine::CpuId;

use super::CoresError;
use crate::probe::{Planned, Subject};
use crate::sampler::Sampler;
use crate::session::Session;

/// How long a probe goes round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pace {
    /// Time for all visits in seconds.
    pub(super) budget_s: f64,
    /// Rounds after which it is enough.
    pub(super) rounds: u32,
}

/// What a probe of every CPU is set up with.
#[derive(Debug, Clone, PartialEq)]
pub struct CpuSettings {
    /// The CPUs.
    pub cpus: Vec<CpuId>,
    /// Rounds over all CPUs.
    pub rounds: u32,
    /// Time for all rounds in seconds.
    pub budget_s: f64,
}

/// Visits all items in shuffled rounds until the rounds are done, the budget is spent or the session has to stop.
pub(super) fn in_rounds<E>(
    session: &mut Session<'_>,
    pace: Pace,
    items: usize,
    mut visit: impl FnMut(&mut Session<'_>, usize, u32) -> Result<(), E>,
) -> Result<(), E> {
    let started = Instant::now();
    let mut order: Vec<usize> = (0..items).collect();
    for round in 0..pace.rounds {
        session.random.shuffle(&mut order);
        for (done, &item) in order.iter().enumerate() {
            let spent_s = started.elapsed().as_secs_f64();
            if session.must_stop() || spent_s >= pace.budget_s {
                return Ok(());
            }
            let share = (f64::from(round) + done as f64 / items as f64) / f64::from(pace.rounds);
            session.progress.update(share.max(spent_s / pace.budget_s));
            visit(session, item, round)?;
        }
    }
    Ok(())
}

impl CpuSettings {
    /// So many rounds by depth; a visit takes `worst_s` at most, and is cut no earlier.
    pub(super) fn planned(
        subject: &Subject<'_>,
        seconds: f64,
        rounds: [u32; 3],
        worst_s: f64,
        run: fn(&mut Session<'_>, &Self) -> Result<(), CoresError>,
    ) -> Planned {
        let settings = Self { cpus: subject.cpus.to_vec(), rounds: subject.by_depth(rounds), budget_s: 0.0 };
        let worst_case_s = |settings: &Self| settings.budget_s + worst_s;
        Planned::within(seconds, settings, |settings| &mut settings.budget_s, worst_case_s, run)
    }

    /// Visits all CPUs, each by a thread that is pinned to it.
    pub(super) fn visit_all(
        &self,
        session: &mut Session<'_>,
        mut visit: impl FnMut(&mut Sampler, usize),
    ) -> Result<(), CoresError> {
        let pace = Pace { budget_s: self.budget_s, rounds: self.rounds };
        in_rounds(session, pace, self.cpus.len(), |session, index, _| {
            let _pinned = Pinned::to(self.cpus[index])?;
            let mut sampler = session.sampler(self.cpus[index]);
            visit(&mut sampler, index);
            session.absorb(&mut sampler);
            Ok(())
        })
    }
}

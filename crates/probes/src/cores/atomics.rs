//! One uncontended atomic addition on each CPU in rounds, by each kind of instructions that the CPU has.
//!
//! arm64 has two, LSE and LL/SC, and a program that does not ask for the first gets the second (`-moutline-atomics`). x86-64 has one, and
//! this probe is not in its list.

use std::sync::atomic::AtomicU64;

use kernels::{ATOMIC_ADDS_PER_ROUND, AtomicAddLoop};

use super::CoresError;
use super::compute::{RatedLoop, measure, take_windows};
use super::rounds::CpuSettings as Settings;
use crate::probe::{CheckUpProbe, Planned, Section, Subject};
use crate::sampler::{Sampler, WINDOW_NS};
use crate::series::Series;
use crate::session::Session;

/// One visit at most: eight windows, each stretched by a neighbour, and a move to the CPU.
const VISIT_WORST_S: f64 = 0.05;

/// The probe in the check-up.
pub(crate) const PROBE: CheckUpProbe = CheckUpProbe {
    seconds: [Some(0.3), Some(1.0), Some(3.0)],
    least_s: 0.2,
    epoch_least_s: Some(0.07),
    per_cpu_s: 0.01,
    rank: 190,
    // It keeps a core busy that its sibling shares.
    disturbs: "core",
    is_here: AtomicAddLoop::is_a_choice(),
    ..CheckUpProbe::new("atomics", Section::Cores, plan)
};

/// A line of its own: on the largest that is known, 256 bytes, no neighbour shares it.
#[repr(align(256))]
struct Word(AtomicU64);

fn plan(subject: &Subject<'_>, seconds: f64) -> Planned {
    Settings::planned(subject, seconds, [20, 50, 100], VISIT_WORST_S, run)
}

impl RatedLoop for AtomicAddLoop {
    const PROBE: &'static str = "atomics";

    fn record_name(self) -> String {
        format!("atomic_add_{}", self.name())
    }

    fn isa_name(self) -> &'static str {
        self.name()
    }

    fn visit(self, sampler: &mut Sampler, samples: &mut Series) {
        let word = Word(AtomicU64::new(0));
        let rounds = sampler.rounds_for(WINDOW_NS, |rounds| self.run(&word.0, rounds));
        let additions = (rounds * ATOMIC_ADDS_PER_ROUND) as f64;
        take_windows(sampler, samples, additions, || self.run(&word.0, rounds));
    }
}

/// Measures every kind on each CPU and adds them to the record.
///
/// # Errors
/// A CPU that may not be used; the others are in the record.
pub fn run(session: &mut Session<'_>, settings: &Settings) -> Result<(), CoresError> {
    let kinds: Vec<AtomicAddLoop> = AtomicAddLoop::all().collect();
    measure(session, settings, &kinds)
}

#[cfg(test)]
mod tests {
    use clock::TickRate;
    use machine::CpuId;

    use super::*;
    use crate::control::ControlLoops;

    #[test]
    fn every_kind_of_this_cpu_gives_windows_of_additions() {
        let rate = TickRate { hz: 1e9, error_ppm: 1.0 };
        for adds in AtomicAddLoop::all() {
            let cut = std::time::Instant::now();
            let mut sampler = Sampler::new(CpuId(0), rate, ControlLoops { cycles_per_multiply: None });
            sampler.until = Some(cut);
            let mut samples = Series::default();
            adds.visit(&mut sampler, &mut samples);
            assert_eq!(samples.windows().len() + samples.visits[0].dropped, 1, "{}", adds.name());
            assert!(samples.windows().iter().all(|rate| *rate > 0.0), "{}", adds.name());
        }
    }
}

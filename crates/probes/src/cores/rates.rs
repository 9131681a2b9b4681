//! Loops whose rate on each CPU is a row of its own: what the probes of compute and of atomic additions share.

use machine::CpuId;
use record::Compute;
use stats::EstimateOptions;

use super::CoresError;
use super::rounds::{Aim, CpuSettings as Settings, Samples, Windows};
use crate::sampler::Sampler;
use crate::session::Session;

/// Windows of each loop per visit.
const WINDOWS_PER_VISIT: usize = 4;
/// Half-width aimed for.
const HALF_WIDTH: f64 = 0.02;

/// A loop that is measured.
pub(super) trait RatedLoop: Copy {
    /// The probe that measures it, as series are named.
    const PROBE: &'static str;

    /// Its stable name in records.
    fn record_name(self) -> String;

    /// Its instructions, as records name them.
    fn isa_name(self) -> &'static str;

    /// One visit, on the sampler's CPU.
    fn visit(self, sampler: &mut Sampler, samples: &mut Samples);

    /// How its windows on a CPU are called.
    fn series_name(self, cpu: CpuId) -> String {
        format!("{}, CPU {cpu}, {}", Self::PROBE, self.record_name())
    }
}

/// Measures every loop on each CPU and adds them to the record.
///
/// # Errors
/// A CPU that may not be used; the others are in the record.
pub(super) fn measure<L: RatedLoop>(
    session: &mut Session<'_>,
    settings: &Settings,
    loops: &[L],
) -> Result<(), CoresError> {
    let mut rates = vec![vec![Samples::default(); loops.len()]; settings.cpus.len()];
    let outcome = settings.visit_all(session, |sampler, index| {
        for (one, samples) in loops.iter().zip(&mut rates[index]) {
            sampler.about(|| one.series_name(settings.cpus[index]));
            one.visit(sampler, samples);
        }
    });
    for (&cpu, rates) in settings.cpus.iter().zip(&rates) {
        for (one, samples) in loops.iter().zip(rates) {
            let aim = Aim { name: one.series_name(cpu), unit: "iterations_per_s", half_width: HALF_WIDTH };
            let options = EstimateOptions::rates(u64::from(cpu.0));
            if let Some(measured) = samples.measure(session, &options, aim) {
                session.result().cores.compute.push(Compute {
                    cpu,
                    kernel: one.record_name(),
                    isa: one.isa_name().to_owned(),
                    iterations_per_s: measured.value,
                    spread: measured.spread,
                });
            }
        }
    }
    outcome
}

/// Takes the windows of a visit, each of so many iterations.
pub(super) fn take_windows(
    sampler: &mut Sampler,
    samples: &mut Samples,
    iterations: f64,
    mut work: impl FnMut(),
) {
    let mut windows = Windows::default();
    for number in 0..WINDOWS_PER_VISIT {
        if number > 0 && sampler.is_cut() {
            break;
        }
        windows.add(sampler.window(&mut work).map(|ns| iterations / ns * 1e9));
    }
    samples.add(windows);
}

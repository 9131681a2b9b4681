//! Compute loops on each CPU in rounds: the Mandelbrot set in 16-bit integers and in floats, all in registers.
//!
//! They must not move when memory does: a change here means that the clock or the share of the core has moved.

use std::hint::black_box;

use kernels::mandelbrot::{Mandelbrot, Numbers, Picture};
use machine::CpuId;
use record::{Compute, metric};

use super::CoresError;
use super::rounds::CpuSettings as Settings;
use crate::answers::{Answer, Known, Wrong};
use crate::probe::{CheckUpProbe, Planned, Section, Subject};
use crate::sampler::{Sampler, WINDOW_NS};
use crate::series::{PointVisit, Series};
use crate::session::Session;

/// Points per row of the picture.
const WIDTH: u16 = 64;
/// Steps after which a point counts as inside.
const ITERATIONS_MAX: u16 = 64;
/// Of one step of one point: three products, four sums, a comparison.
const OPERATIONS_PER_STEP: u64 = 8;
const FIXED16_STEPS: u64 = 16_113;
const FLOAT32_STEPS: u64 = 16_090;
/// One visit at most, each window stretched by a neighbour.
const VISIT_WORST_S: f64 = 0.05;

/// The probe in the check-up.
pub(crate) const PROBE: CheckUpProbe = CheckUpProbe {
    seconds: [Some(0.3), Some(1.0), Some(3.0)],
    least_s: 0.2,
    epoch_least_s: Some(0.07),
    per_cpu_s: 0.01,
    rank: 160,
    // It keeps a core busy that its sibling shares.
    disturbs: "core",
    ..CheckUpProbe::new("compute", Section::Cores, plan)
};

fn plan(subject: &Subject<'_>, seconds: f64) -> Planned {
    Settings::planned(subject, seconds, [20, 50, 100], VISIT_WORST_S, run)
}

/// Stable names in records: kind and lanes, after the two rows of the article.
fn record_name(numbers: Numbers) -> &'static str {
    match numbers {
        Numbers::Fixed16 => "mandelbrot_i16x16",
        Numbers::Float32 => "mandelbrot_f32x8",
    }
}

/// Measures both kernels on each CPU and adds them to the record.
///
/// # Errors
/// A CPU that may not be used; the others are in the record.
pub fn run(session: &mut Session<'_>, settings: &Settings) -> Result<(), CoresError> {
    measure(session, settings, &Numbers::ALL.map(Mandelbrot::widest))
}

/// A picture of the same rows, repeated: the mix of points never depends on the speed of the machine.
const PICTURE: Picture = Picture { width: WIDTH, height: 16, iterations_max: ITERATIONS_MAX };

/// Steps that find their point still inside, over all points of `PICTURE`: the naive twins count as many.
const fn answer(numbers: Numbers) -> u64 {
    match numbers {
        Numbers::Fixed16 => FIXED16_STEPS,
        Numbers::Float32 => FLOAT32_STEPS,
    }
}

/// A picture whose number of steps is known.
#[derive(Debug, Clone, Copy)]
pub struct CheckedPicture {
    /// What to compute.
    pub picture: Picture,
    /// Its steps.
    pub answer: u64,
    /// Arithmetic operations behind them.
    pub operations: u64,
}

/// The picture that the probe computes, for whoever computes it as often as no check-up does.
pub const fn checked_picture(numbers: Numbers) -> CheckedPicture {
    let answer = answer(numbers);
    CheckedPicture { picture: PICTURE, answer, operations: answer * OPERATIONS_PER_STEP }
}

fn known(kernel: Mandelbrot) -> Known {
    let CheckedPicture { answer, operations, .. } = checked_picture(kernel.numbers());
    Known { kernel: record_name(kernel.numbers()), isa: kernel.isa().name(), operations, answer }
}

impl RatedLoop for Mandelbrot {
    const PROBE: &'static str = "compute";

    fn record_name(self) -> String {
        record_name(self.numbers()).to_owned()
    }

    fn isa_name(self) -> &'static str {
        self.isa().name()
    }

    fn visit(self, sampler: &mut Sampler, samples: &mut Series) {
        let known = known(self);
        // Of the first result alone.
        let mut planted = sampler.planted_bit(known.kernel);
        let (mut results, mut wrong) = (0, None);
        let mut draw = |pictures: u64| {
            for _ in 0..pictures {
                let found = self.run(black_box(PICTURE)) ^ std::mem::take(&mut planted);
                if found != known.answer {
                    wrong = Some(Wrong { count: wrong.map_or(0, |wrong: Wrong| wrong.count) + 1, found });
                }
            }
            results += pictures;
        };
        let pictures = sampler.rounds_for(WINDOW_NS, &mut draw);
        let iterations = known.answer as f64 * pictures as f64;
        take_windows(sampler, samples, iterations, || draw(pictures));
        let Picture { width, height, iterations_max } = PICTURE;
        let operands = || format!("{width} x {height} points from -2-1.5i to 1+1.5i, {iterations_max} steps");
        let answer = Answer { known, results, wrong };
        sampler.count(answer, operands, || self.run(black_box(PICTURE)));
    }
}

/// Windows of each loop per visit.
const WINDOWS_PER_VISIT: usize = 4;

/// A loop that is measured.
pub(super) trait RatedLoop: Copy {
    /// The probe that measures it, as series are named.
    const PROBE: &'static str;

    /// Its stable name in records.
    fn record_name(self) -> String;

    /// Its instructions, as records name them.
    fn isa_name(self) -> &'static str;

    /// One visit, on the sampler's CPU.
    fn visit(self, sampler: &mut Sampler, samples: &mut Series);

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
    let mut rates = vec![vec![Series::default(); loops.len()]; settings.cpus.len()];
    let outcome = settings.visit_all(session, |sampler, index| {
        for (one, samples) in loops.iter().zip(&mut rates[index]) {
            sampler.about(|| one.series_name(settings.cpus[index]));
            one.visit(sampler, samples);
        }
    });
    for (&cpu, rates) in settings.cpus.iter().zip(&rates) {
        for (one, samples) in loops.iter().zip(rates) {
            if let Some(measured) = samples.measured(session, &metric::COMPUTE, one.series_name(cpu)) {
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
    samples: &mut Series,
    iterations: f64,
    mut work: impl FnMut(),
) {
    let mut windows = PointVisit::default();
    for number in 0..WINDOWS_PER_VISIT {
        if number > 0 && sampler.is_cut() {
            break;
        }
        windows.add(sampler.window(&mut work).map(|ns| iterations / ns * 1e9));
    }
    samples.add(windows);
}

#[cfg(test)]
mod tests {
    use kernels::Isa;

    use super::*;

    #[test]
    fn every_loop_of_this_cpu_gives_the_known_answer_as_its_naive_twin_does() {
        for numbers in Numbers::ALL {
            for isa in Isa::ALL {
                let Some(kernel) = Mandelbrot::new(numbers, isa) else { continue };
                assert_eq!(kernel.run(PICTURE), answer(numbers), "{numbers:?} {isa:?}");
            }
        }
    }
}

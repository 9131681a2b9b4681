//! How well the rate is known after 0.1 s asleep, against the rate over all of the run.

use std::time::Duration;

use clock::{Calibrator, Engine, Hardware, Timing};

/// Calibrations.
const TRIALS: usize = 24;
/// The largest error of all. Source: the project's targets.
const ERROR_PPM_MAX: f64 = 0.05;

pub(crate) fn run() -> bool {
    let engine =
        || Engine::new(Hardware::new().expect("the counters can be used"), clock::possible_cpu_count());
    let cpus = clock::allowed_cpus();
    // One CPU only: no exchanges, which would take time that is no sleep.
    let (long_engine, timing) = (engine(), Timing::default());
    let mut long = Calibrator::new(&long_engine, &cpus[..1], timing);
    long.step();
    let mut found = Vec::new();
    for _ in 0..TRIALS {
        let engine = engine();
        let mut calibrator = Calibrator::new(&engine, &cpus[..1], timing);
        while !engine.is_open() {
            std::thread::sleep(Duration::from_nanos(calibrator.step()));
        }
        found.push(calibrator.discipline().rate().expect("it has opened"));
    }
    long.step();
    let truth = long.discipline().rate().expect("two brackets");
    let mut errors: Vec<f64> =
        found.iter().map(|rate| (rate.ns_per_tick / truth.ns_per_tick - 1.0).abs() * 1e6).collect();
    errors.sort_by(f64::total_cmp);
    let worst = errors.last().copied().unwrap_or(f64::NAN);
    let bound = found.iter().map(|rate| rate.error_share * 1e6).fold(0.0, f64::max);
    println!(
        "calibration, {TRIALS} times 0.1 s asleep: error median {:.4} ppm, worst {worst:.4} ppm (target {ERROR_PPM_MAX}), \
         claimed bound at most {bound:.3} ppm",
        errors[errors.len() / 2]
    );
    println!(
        "reference: {:.1} s, {:.4} MHz, bound {:.4} ppm",
        truth.base_ns / 1e9,
        1e3 / truth.ns_per_tick,
        truth.error_share * 1e6
    );
    worst <= ERROR_PPM_MAX
}

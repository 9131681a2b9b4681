//! Are results of the compute loops right, over so many operations as no check-up makes?

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use kernels::mandelbrot::{Mandelbrot, Numbers};
use probes::cores::compute::checked_picture;

use crate::cargo;
use crate::table::head;
use crate::totals::Totals;

/// Results of the compute loops against their known answers, on all CPUs at once
///
/// Fails if one is wrong. A billion operations take about half a second of a CPU.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Arithmetic operations of each loop
    #[arg(long, default_value_t = 5e11)]
    operations: f64,
}

/// `cargo xtask answers-evidence`.
pub fn run(arguments: &Arguments) -> anyhow::Result<Totals> {
    if cfg!(debug_assertions) {
        return cargo::again_in_release();
    }
    let threads = thread::available_parallelism()?.get();
    let mut totals = Totals::default();
    head("loop | ISA | CPUs | operations | results | wrong");
    for numbers in Numbers::ALL {
        let (kernel, picture) = (Mandelbrot::widest(numbers), checked_picture(numbers));
        let results = (arguments.operations / picture.operations as f64).ceil() as u64;
        let (begun, wrong) = (AtomicU64::new(0), AtomicU64::new(0));
        thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    while begun.fetch_add(1, Ordering::Relaxed) < results {
                        let found = kernel.run(std::hint::black_box(picture.picture)).iterations;
                        wrong.fetch_add(u64::from(found != picture.answer), Ordering::Relaxed);
                    }
                });
            }
        });
        let (wrong, isa, name) = (wrong.into_inner(), kernel.isa().name(), numbers.name());
        println!(
            "| {name} | {isa} | {threads} | {:.3e} | {results} | {wrong} |",
            results as f64 * picture.operations as f64
        );
        totals.add(Totals::one(wrong == 0, format!("answers-evidence: {wrong} wrong results of {name}")));
    }
    Ok(totals)
}

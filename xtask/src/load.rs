//! Threads that load the machine while something is measured: every other one computes, the rest sweep memory.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use kernels::port_loop;

/// What a load thread that uses memory sweeps.
const SWEPT_BYTES: usize = 32 << 20;
/// Rounds of a load thread that computes, between two looks at the stop flag: about a millisecond.
const ROUNDS: u64 = 50_000;

/// Runs `work` beside `count` load threads, and ends them after it.
pub fn beside<T>(count: usize, work: impl FnOnce() -> T) -> T {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for index in 0..count {
            let stop = &stop;
            scope.spawn(move || if index % 2 == 0 { compute(stop) } else { sweep(stop) });
        }
        let found = work();
        stop.store(true, Ordering::Relaxed);
        found
    })
}

fn compute(stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        black_box(port_loop(ROUNDS));
    }
}

fn sweep(stop: &AtomicBool) {
    let mut block = vec![1_u64; SWEPT_BYTES / size_of::<u64>()];
    while !stop.load(Ordering::Relaxed) {
        for word in &mut block {
            *word = word.wrapping_mul(3);
        }
        black_box(&block);
    }
}

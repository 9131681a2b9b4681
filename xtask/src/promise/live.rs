//! Samples of three loops on this machine under load, in bursts of one quad, as an interleaved experiment takes them.

use std::hint::black_box;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use host::live::{Mapping, PageRequest, Pinned, TimeSource, allowed_cpus, snapshot};
use kernels::{Chain, Layout, Order, Position, multiply_chain};
use stats::Random;

use super::experiment::{SAMPLES_PER_TRIAL, Source, TRIALS_PER_QUAD, fastest};
use super::rates::TRIALS;
use crate::load;

/// Length of a sample on a quiet machine.
const SAMPLE: Duration = Duration::from_micros(500);
/// Samples of one quad.
const SAMPLES_PER_BURST: usize = SAMPLES_PER_TRIAL * TRIALS_PER_QUAD;
/// The chase's block: beyond a second-level cache, within most third-level ones.
const CHASE_BYTES: usize = 8 << 20;
/// The chase's stride: one line.
const CHASE_STRIDE_BYTES: usize = 64;
/// Load grows for this long before the first sample.
const LOAD_SETTLES: Duration = Duration::from_secs(1);

/// All that was sampled.
pub(super) struct Series {
    /// One line on how.
    pub(super) conditions: String,
    /// One series per loop.
    pub(super) probes: Vec<Probe>,
}

/// The samples of one loop in the order taken.
pub(super) struct Probe {
    name: &'static str,
    /// Logarithm of the fastest sample of each trial; whole quads, the trials of a quad in one go.
    trials: Vec<f64>,
}

impl Source for Probe {
    fn name(&self) -> &str {
        self.name
    }

    /// From a quad drawn by chance onwards.
    fn trials(&self, count: usize, random: &mut Random) -> Vec<f64> {
        let starts = (self.trials.len().saturating_sub(count)) / TRIALS_PER_QUAD + 1;
        let start = random.below(starts) * TRIALS_PER_QUAD;
        self.trials[start..].iter().copied().take(count).collect()
    }
}

/// Samples for `seconds` beside `load` threads, on `cpu` or the last one allowed.
pub(super) fn sample(seconds: usize, load: usize, cpu: Option<usize>) -> anyhow::Result<Series> {
    let allowed = allowed_cpus();
    let cpu = allowed
        .iter()
        .rfind(|allowed| cpu.is_none_or(|cpu| allowed.0 as usize == cpu))
        .with_context(|| format!("CPU {} is not allowed here; leave --cpu out", cpu.unwrap_or(0)))?;
    let bursts = load::beside(load, || on_cpu(cpu, Duration::from_secs(seconds as u64)))?;
    anyhow::ensure!(
        bursts[0].len() >= TRIALS * SAMPLES_PER_TRIAL,
        "--live {seconds} gives {} samples, and an experiment takes {}; sample longer",
        bursts[0].len(),
        TRIALS * SAMPLES_PER_TRIAL
    );
    let average = snapshot().load_average.unwrap_or(f64::NAN);
    let conditions = format!(
        "{seconds} s on CPU {cpu} of {}, {load} threads of load, load average at the end {average:.1}, \
         {} bursts of {SAMPLES_PER_BURST} samples per loop",
        allowed.iter().count(),
        bursts[0].len() / SAMPLES_PER_BURST
    );
    let names = ["ALU chain", "memory, 8 MiB chase", "system call"];
    let probes = names.into_iter().zip(&bursts);
    let probes = probes.map(|(name, samples)| Probe { name, trials: fastest(samples) }).collect();
    Ok(Series { conditions, probes })
}

/// Durations of all samples of each loop in seconds, the loops in turn burst by burst.
fn on_cpu(cpu: machine::CpuId, length: Duration) -> anyhow::Result<[Vec<f64>; 3]> {
    let _pinned = Pinned::to(cpu)?;
    thread::sleep(LOAD_SETTLES);
    let mut mapping = Mapping::new(CHASE_BYTES, PageRequest::Base)?;
    let layout =
        Layout { stride_bytes: CHASE_STRIDE_BYTES, order: Order::Random, position: Position::Start, seed: 1 };
    let chain = Chain::build(mapping.as_mut_slice(), layout)?;
    let mut cursor = chain.start();
    let mut loops: [(u64, &mut dyn FnMut(u64)); 3] = [
        (1, &mut |rounds| {
            black_box(multiply_chain(rounds));
        }),
        (1, &mut |rounds| cursor = cursor.walk(rounds)),
        (1, &mut |rounds| {
            black_box(TimeSource::SystemCall.read_many(rounds as u32));
        }),
    ];
    for (rounds, work) in &mut loops {
        *rounds = rounds_for(&mut **work);
    }
    let mut samples = [const { Vec::new() }; 3];
    let begun = Instant::now();
    while begun.elapsed() < length {
        for ((rounds, work), samples) in loops.iter_mut().zip(&mut samples) {
            samples.extend((0..SAMPLES_PER_BURST).map(|_| seconds(|| work(*rounds))));
        }
    }
    Ok(samples)
}

/// Rounds that take [`SAMPLE`] in the fastest of a few runs.
fn rounds_for(work: &mut dyn FnMut(u64)) -> u64 {
    let mut rounds = 1;
    loop {
        let fastest_s =
            (0..SAMPLES_PER_TRIAL).map(|_| seconds(|| work(rounds))).fold(f64::INFINITY, f64::min);
        if fastest_s >= SAMPLE.as_secs_f64() {
            return rounds;
        }
        rounds *= 2;
    }
}

fn seconds(work: impl FnOnce()) -> f64 {
    let begun = Instant::now();
    work();
    begun.elapsed().as_secs_f64()
}

//! Our side of a contest, as a process that prints one number: `bench-one bandwidth ...` or `bench-one chase ...`.

use std::hint::black_box;
use std::time::{Duration, Instant};

use anyhow::Context;
use host::live::{Mapping, PageRequest, thread_cpu_time_ns};
use kernels::{
    Arrays, Chain, LOADS_PER_ROUND, Layout, Operation, Order, Position, Store, StreamKernel, StreamLoop,
};
use machine::Bytes;
use models::memory::{KNOWN, Program, Workaround, parse, trace};

use crate::totals::Totals;

/// What `bench` starts for our side of a contest; the answer stands alone on a line. Use a release build, and pin it with taskset.
#[derive(Debug, clap::Subcommand)]
pub enum Own {
    /// MB/s of a stream kernel
    Bandwidth {
        /// Such as triad.
        operation: String,
        /// Such as plain.
        store: String,
        /// Of all arrays.
        block_bytes: usize,
        /// best:SWEEPS or mean:SECONDS
        how: String,
    },
    /// Nanoseconds per load of a random chase in huge pages
    Chase {
        /// Of the whole chain.
        block_bytes: usize,
        /// From link to link.
        stride_bytes: usize,
    },
    /// Millions of modelled accesses per second of CPU time
    Simulate {
        /// linear-chase, random-chase or stream
        program: String,
        /// Of its memory.
        block_bytes: u64,
        /// From access to access.
        stride_bytes: u64,
    },
    /// Millions of simulated events of threads per second of CPU time
    Schedule {
        /// Such as fx-8150.
        machine: String,
        /// Such as copies.
        load: String,
        /// Such as kernel-like.
        policy: String,
        /// How many.
        threads: usize,
    },
}

/// Samples of the chase, of which the fastest counts, as multichase does it.
const CHASE_SAMPLES: usize = 5;
/// Length of one sample of the chase, as multichase does it.
const CHASE_SAMPLE: Duration = Duration::from_millis(500);
/// A call of a small kernel lasts about this long, so that reading the clock does not count.
const CALL: Duration = Duration::from_millis(1);
/// A simulation is timed over at least this much CPU time.
const SIMULATION_NS: u64 = 2_000_000_000;
/// Time on paper between two looks at the clock.
const SIMULATED_NS: f64 = 1e8;
/// Share of the block that must be in huge pages to call it a chase in huge pages.
const HUGE_SHARE: f64 = 0.95;
/// The switch that decides which pages the peers get, as they do not ask.
const THP_SWITCH: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

/// `cargo xtask bench-one`.
pub fn run(own: &Own) -> anyhow::Result<Totals> {
    let value = match own {
        Own::Bandwidth { operation, store, block_bytes, how } => {
            bandwidth(operation, store, *block_bytes, how)?
        }
        Own::Chase { block_bytes, stride_bytes } => chase(*block_bytes, *stride_bytes)?,
        Own::Simulate { program, block_bytes, stride_bytes } => {
            simulate(program, Bytes(*block_bytes), Bytes(*stride_bytes))?
        }
        Own::Schedule { machine, load, policy, threads } => schedule(machine, load, policy, *threads)?,
    };
    println!("{value:.4}");
    Ok(Totals::default())
}

fn bandwidth(operation: &str, store: &str, block_bytes: usize, how: &str) -> anyhow::Result<f64> {
    let operation = Operation::from_name(operation).with_context(|| format!("no operation {operation}"))?;
    let store = Store::from_name(store).with_context(|| format!("no store {store}"))?;
    let kernel = StreamKernel::widest(operation, store).context("no such kernel on this CPU")?;
    let mut mapping = Mapping::new(block_bytes, pages_of_the_peers())?;
    let mut arrays = Arrays::from_block(mapping.as_mut_slice(), operation)?;
    arrays.fill();
    let sweep_bytes = (arrays.elements() * kernel.kernel().accounting().counted_bytes as usize) as f64;
    let bytes_per_s = match how.split_once(':') {
        Some(("best", count)) => {
            let sweeps = (0..count.parse::<u64>()?).map(|_| seconds(|| kernel.run(&mut arrays, 1)));
            sweep_bytes / sweeps.fold(f64::INFINITY, f64::min)
        }
        Some(("mean", length)) => mean(kernel, &mut arrays, sweep_bytes, length.parse()?),
        _ => anyhow::bail!("{how} is neither best:N nor mean:SECONDS"),
    };
    Ok(bytes_per_s / 1e6)
}

/// Bytes per second over at least `length_s`, warm-up aside.
fn mean(kernel: StreamLoop, arrays: &mut Arrays<'_>, sweep_bytes: f64, length_s: f64) -> f64 {
    let mut passes = 1;
    while seconds(|| kernel.run(arrays, passes)) < CALL.as_secs_f64() {
        passes *= 2;
    }
    let (mut calls, mut elapsed_s) = (0_u32, 0.0);
    while elapsed_s < length_s {
        elapsed_s += seconds(|| kernel.run(arrays, passes));
        calls += 1;
    }
    f64::from(calls) * passes as f64 * sweep_bytes / elapsed_s
}

fn chase(block_bytes: usize, stride_bytes: usize) -> anyhow::Result<f64> {
    let mut mapping = Mapping::new(block_bytes, PageRequest::Huge)?;
    let share = mapping.pages().share;
    anyhow::ensure!(share >= HUGE_SHARE, "only {:.0} % of the block is in huge pages", share * 100.0);
    let layout = Layout { stride_bytes, order: Order::Random, position: Position::Start, seed: 1 };
    let chain = Chain::build(mapping.as_mut_slice(), layout)?;
    let mut cursor = chain.start();
    let mut rounds = 1;
    while seconds(|| cursor = cursor.walk(rounds)) < CHASE_SAMPLE.as_secs_f64() / 4.0 {
        rounds *= 2;
    }
    rounds *= 3;
    let samples = (0..CHASE_SAMPLES).map(|_| seconds(|| cursor = cursor.walk(rounds)));
    let fastest_s = samples.fold(f64::INFINITY, f64::min);
    Ok(fastest_s * 1e9 / (rounds * LOADS_PER_ROUND) as f64)
}

/// Modelled accesses of the Phenom on paper with its workaround on, in 10^6 per second of CPU time: wall time would
/// count what others do on this CPU.
fn simulate(program: &str, block: Bytes, stride: Bytes) -> anyhow::Result<f64> {
    let program = match program {
        "linear-chase" => Program::LinearChase,
        "random-chase" => Program::RandomChase,
        "stream" => Program::Stream,
        _ => anyhow::bail!("no program {program}"),
    };
    let (name, text) = KNOWN.first().context("sidestep comes with a machine")?;
    let machine = parse(text, name)?.machine;
    let board = machine.board.first().context("a machine has a board")?;
    let geometry = machine.geometry(board, Workaround::On);
    anyhow::ensure!(stride.0 > 0 && block >= stride, "a block holds at least one stride");
    let (mut accesses, begun_ns) = (0, thread_cpu_time_ns());
    let mut elapsed_ns = 0;
    while elapsed_ns < SIMULATION_NS {
        // The lap that fills the caches is simulated as well and not in the counters.
        let warm_up = block.0 / stride.0;
        accesses += warm_up + black_box(trace(&geometry, program, block, stride)).accesses;
        elapsed_ns = thread_cpu_time_ns() - begun_ns;
    }
    Ok(accesses as f64 * 1e3 / elapsed_ns as f64)
}

/// Events of threads on a machine on paper, in 10^6 per second of CPU time.
fn schedule(machine: &str, load: &str, policy: &str, threads: usize) -> anyhow::Result<f64> {
    use models::scheduling::{Class, Compiled, Engine, KNOWN, Pattern, Policy, parse};
    let known = KNOWN.iter().find(|(name, ..)| *name == machine);
    let (_, file, text) = known.with_context(|| format!("no machine {machine}"))?;
    let compiled = Compiled::new(&parse(text, file)?, false);
    let pattern = Pattern::ALL.into_iter().find(|pattern| pattern.name() == load);
    let pattern = pattern.with_context(|| format!("no load {load}"))?;
    let policy = Policy::ALL.into_iter().find(|known| known.name() == policy).context("no such policy")?;
    let load = pattern.load(threads, Class::Integer, 0.0);
    let mut engine = Engine::new(&compiled, &load, policy, &[], 1);
    let (begun_ns, mut elapsed_ns, mut until_ns, mut events) = (thread_cpu_time_ns(), 0, 0.0, 0);
    while elapsed_ns < SIMULATION_NS {
        until_ns += SIMULATED_NS;
        events = black_box(engine.run_until(until_ns)).events;
        elapsed_ns = thread_cpu_time_ns() - begun_ns;
    }
    Ok(events as f64 * 1e3 / elapsed_ns as f64)
}

fn seconds<T>(work: impl FnOnce() -> T) -> f64 {
    let begun = Instant::now();
    black_box(work());
    begun.elapsed().as_secs_f64()
}

/// The peers take what they get: huge pages only where the kernel gives them to everyone.
fn pages_of_the_peers() -> PageRequest {
    let switch = std::fs::read_to_string(THP_SWITCH).unwrap_or_default();
    if switch.contains("[always]") { PageRequest::Huge } else { PageRequest::Base }
}

//! Price of each way to read the time: in nanoseconds, cycles of the counter and cycles of the core.
//!
//! A price without the speed of the core beside it means nothing: on a shared machine the core changes between two
//! states and every price moves with it. Each batch of reads stands between two readings of the control loops and counts
//! only if both are near the best level seen. Sources alternate in shuffled rounds.

use std::hint::black_box;

use clock::Counter;
use host::live::{AffinityError, Pinned, TimeSource};
use kernels::random::SplitMix64;
use machine::CpuId;
use record::{ClockRead, Quality, Spread};
use stats::{EstimateOptions, estimate, median};

use crate::control::ControlReading;
use crate::sampler::Sampler;
use crate::session::Session;

/// It keeps one core busy.
pub const DISTURBS: &str = "core";

/// Shortest batch in nanoseconds; the control loops beside it take as long.
const BATCH_NS: f64 = 15_000.0;
/// Readings that find the fast level of the control loops.
const LEVEL_READINGS: usize = 100;
/// A batch counts if both readings beside it are below this multiple of the fast level.
const GATE: f64 = 1.3;
/// Batches of each source per visit.
const BATCHES_PER_VISIT: usize = 8;
/// Half-width aimed for.
const HALF_WIDTH: f64 = 0.02;
/// A price whose interval is wider than this share of it on either side has no single value.
const UNSTABLE_HALF_WIDTH: f64 = 0.25;
/// Finding the level, and one last visit on a busy machine.
const VISIT_WORST_S: f64 = 0.1;

/// What to measure.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The CPUs to measure on, one after the other.
    pub cpus: Vec<CpuId>,
    /// Visits of each CPU.
    pub visits: u32,
    /// Time for all CPUs in seconds.
    pub budget_s: f64,
}

impl Settings {
    /// Time it may take at most, in seconds.
    pub fn worst_case_s(&self) -> f64 {
        self.budget_s + VISIT_WORST_S
    }
}

/// One way to read the time.
#[derive(Debug, Clone, Copy)]
enum Read {
    /// The counter itself.
    #[cfg(target_arch = "x86_64")]
    Ticks(kernels::ticks::TickLoop),
    /// Through the kernel or its page in user space.
    Kernel(TimeSource, &'static str),
}

impl Read {
    /// All ways this CPU and kernel have.
    fn all() -> Vec<Self> {
        #[cfg(target_arch = "x86_64")]
        let ticks = kernels::ticks::TickRead::ALL.into_iter().filter_map(kernels::ticks::TickRead::available);
        #[cfg(target_arch = "x86_64")]
        let ticks = ticks.map(Self::Ticks);
        #[cfg(not(target_arch = "x86_64"))]
        let ticks = std::iter::empty();
        let kernel = TimeSource::ALL.into_iter().filter(|(source, _)| source.read_many(1));
        ticks.chain(kernel.map(|(source, name)| Self::Kernel(source, name))).collect()
    }

    fn name(&self) -> &'static str {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Ticks(ticks) => ticks.read().name(),
            Self::Kernel(_, name) => name,
        }
    }

    /// All of the kernel's are ordered: the vDSO reads the counter behind a fence, a system call is one, and the coarse
    /// clock only loads, which x86 keeps in order. Linux, arch/x86/include/asm/msr.h, `rdtsc_ordered`.
    fn is_ordered(&self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Ticks(ticks) => ticks.read().is_ordered(),
            Self::Kernel(..) => true,
        }
    }

    fn read_many(&self, count: u64) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Ticks(ticks) => _ = black_box(ticks.read_many(count)),
            Self::Kernel(source, _) => {
                black_box(source.read_many(u32::try_from(count).unwrap_or(u32::MAX)));
            }
        }
    }
}

/// Batches of one way by visit.
#[derive(Debug, Clone, Default)]
struct Prices {
    visits: Vec<Vec<f64>>,
    dropped: usize,
    /// Nanoseconds per multiply beside the batches that count.
    multiply_ns: Vec<f64>,
}

/// The fast level of the control loops on one CPU.
#[derive(Debug, Clone, Copy)]
struct Level(ControlReading);

impl Level {
    fn find(sampler: &Sampler) -> Self {
        let readings = (0..LEVEL_READINGS).map(|_| sampler.control.read(sampler.rate));
        let fastest = |a: ControlReading, b: ControlReading| ControlReading {
            multiply_ns: a.multiply_ns.min(b.multiply_ns),
            port_ns: a.port_ns.min(b.port_ns),
        };
        Self(readings.reduce(fastest).unwrap_or_default())
    }

    fn passes(&self, reading: &ControlReading) -> bool {
        reading.multiply_ns < self.0.multiply_ns * GATE && reading.port_ns < self.0.port_ns * GATE
    }
}

/// Measures all reads on each CPU and adds their prices to the record.
///
/// # Errors
/// A CPU that may not be used; those measured until then are in the record.
pub fn run(session: &mut Session<'_>, settings: &Settings) -> Result<(), AffinityError> {
    let reads = Read::all();
    let started = std::time::Instant::now();
    for (index, &cpu) in settings.cpus.iter().enumerate() {
        let pinned = Pinned::to(cpu)?;
        let mut sampler = session.sampler(cpu);
        let mut random = SplitMix64::new(session.random.next_u64());
        let level = Level::find(&sampler);
        let counts: Vec<u64> =
            reads.iter().map(|read| sampler.rounds_for(BATCH_NS, |count| read.read_many(count))).collect();
        let mut prices = vec![Prices::default(); reads.len()];
        let budget_s = settings.budget_s * (index + 1) as f64 / settings.cpus.len() as f64;
        for visit in 0..settings.visits {
            let spent_s = started.elapsed().as_secs_f64();
            if session.must_stop() || spent_s >= budget_s {
                break;
            }
            let share = f64::from(visit) / f64::from(settings.visits);
            session.progress.update((index as f64 + share) / settings.cpus.len() as f64);
            take_visit(&mut sampler, &level, &reads, &counts, &mut random, &mut prices);
        }
        let cycles = sampler.control.believed_cycles(session.rate);
        session.absorb(&mut sampler);
        drop(pinned);
        for (read, prices) in reads.iter().zip(&prices) {
            push(session, cpu, read, prices, cycles);
        }
    }
    Ok(())
}

/// Batches of all reads in shuffled rounds.
fn take_visit(
    sampler: &mut Sampler,
    level: &Level,
    reads: &[Read],
    counts: &[u64],
    random: &mut SplitMix64,
    prices: &mut [Prices],
) {
    let mut batches = vec![Vec::with_capacity(BATCHES_PER_VISIT); reads.len()];
    let mut order: Vec<usize> = (0..reads.len()).collect();
    let mut before = sampler.control.read(sampler.rate);
    for _ in 0..BATCHES_PER_VISIT {
        for last in (1..order.len()).rev() {
            order.swap(last, random.below(last as u64 + 1) as usize);
        }
        for &index in &order {
            let window = sampler.window(|| reads[index].read_many(counts[index]));
            let after = sampler.control.read(sampler.rate);
            match window.filter(|_| level.passes(&before) && level.passes(&after)) {
                Some(ns) => {
                    batches[index].push(ns / counts[index] as f64);
                    prices[index].multiply_ns.push(f64::midpoint(before.multiply_ns, after.multiply_ns));
                }
                None => prices[index].dropped += 1,
            }
            before = after;
        }
    }
    for (prices, batches) in prices.iter_mut().zip(batches) {
        if !batches.is_empty() {
            prices.visits.push(batches);
        }
    }
}

fn push(session: &mut Session<'_>, cpu: CpuId, read: &Read, prices: &Prices, cycles: Option<f64>) {
    let estimate = estimate(&prices.visits, &EstimateOptions::durations(u64::from(cpu.0)));
    let name = read.name();
    if estimate.windows == 0 {
        session
            .record
            .provenance
            .without
            .push(format!("price of {name} on CPU {cpu}: all {} batches were disturbed", prices.dropped));
        return;
    }
    let half_width = estimate.relative_half_width();
    let quality = if estimate.modes.len() > 1 || half_width > UNSTABLE_HALF_WIDTH {
        Quality::Unstable
    } else if half_width > HALF_WIDTH {
        Quality::Wide
    } else {
        Quality::Converged
    };
    let raw = session.keep_raw(format!("price of {name}, CPU {cpu}"), "ns", &prices.visits);
    let has_counter = Counter::of_this_machine() != Counter::MonotonicRaw;
    let multiply_ns = median(&prices.multiply_ns);
    session.record.clocks.push(ClockRead {
        name: name.to_owned(),
        cpu,
        ns: estimate.value,
        tsc_cycles: has_counter.then(|| session.rate.ticks(estimate.value)),
        core_cycles: cycles.zip(multiply_ns).map(|(cycles, ns)| estimate.value / ns * cycles),
        ordered: read.is_ordered(),
        spread: Spread::of(&estimate, prices.dropped, quality, Some(raw)),
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_counts_only_beside_the_fast_level_of_both_loops() {
        let reading = |multiply_ns, port_ns| ControlReading { multiply_ns, port_ns };
        let level = Level(reading(1.0, 0.1));
        assert!(level.passes(&reading(1.2, 0.12)));
        assert!(!level.passes(&reading(1.4, 0.1)));
        assert!(!level.passes(&reading(1.0, 0.2)));
    }

    #[test]
    fn every_read_has_a_name_of_its_own_and_runs() {
        let reads = Read::all();
        let mut names: Vec<&str> = reads.iter().map(Read::name).collect();
        for read in &reads {
            read.read_many(3);
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), reads.len());
    }

    #[test]
    fn only_the_bare_counter_is_unordered() {
        let unordered: Vec<&str> =
            Read::all().iter().filter(|read| !read.is_ordered()).map(Read::name).collect();
        assert_eq!(unordered, if cfg!(target_arch = "x86_64") { vec!["rdtsc"] } else { vec![] });
    }
}

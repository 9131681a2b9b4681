//! What a read costs in one of many threads: in shuffled rounds, each number of threads beside one thread.
//!
//! A burst is some batches in each thread, all released at once, each pinned, between readings of the control loops. A batch
//! counts if it was not interrupted and, where several CPUs take part, if as many others were at work during it as could be:
//! a thread that was waiting for its turn proves nothing. The ratio to one thread is taken with the frequency of either out,
//! round by round. Threads that share a core slow each other whatever they read: the port loop tells, and no verdict is given.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::ScopedJoinHandle;
use std::time::Instant;

use clock::{TickRate, begin, end};
use host::live::{Pinned, start_thread};
use machine::CpuId;
use record::{ScalingVerdict, ThreadCost};
use stats::{Comparison, Order, Random, median, quantile};

use super::catalogue::Read;
use crate::control::{ControlLoops, ControlReading};
use crate::sampler::Sampler;
use crate::session::Progress;

/// Batches of each thread in a burst at most: about 1 ms.
const BATCHES_PER_THREAD: usize = 32;
/// Batches of all threads of a burst, as far as the next bound allows, so that a burst of many threads stays short.
const BATCHES_PER_BURST: usize = 512;
/// Batches of each thread in a burst at least: others have to meet them.
const BATCHES_MIN: usize = 2;
/// Rounds without which there is no interval, made beyond the budget as well.
const ROUNDS_MIN: u32 = 6;
/// Which quantile of a burst counts: others only add time.
const QUANTILE: f64 = 0.25;
/// Batches without which a burst says nothing.
const COUNTED_MIN: usize = 8;
/// A cost within this of that of one thread is flat. Source: medians of per-thread clocks agreed within it.
pub const MARGIN: f64 = 0.05;
/// Below this share of the core of one thread, threads share cores.
const CORE_SHARE_MIN: f64 = 0.95;
/// Share of the batches that has to overlap.
const OVERLAP_MIN: f64 = 0.1;

/// What to measure.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Numbers of threads, ascending, the first of them 1.
    pub counts: Vec<usize>,
    /// CPUs, over which threads are laid in a circle.
    pub cpus: Vec<CpuId>,
    /// Time to spend, in seconds; a few rounds are made also where they take longer.
    pub budget_s: f64,
    /// But nothing is begun after this, in seconds.
    pub at_most_s: f64,
}

/// A batch of one thread, with the time that it and its control loops took.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Batch {
    start_ticks: u64,
    end_ticks: u64,
    ns: f64,
    multiply_ns: f64,
    share: f64,
}

/// What a burst gave.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Burst {
    /// Nanoseconds per read.
    ns: f64,
    /// Multiply steps per read.
    steps: f64,
    /// The port loop's time over that of the multiply chain.
    share: f64,
    /// Share of the batches that overlap.
    overlap: f64,
}

/// Measures every read in every number of threads.
///
/// # Errors
/// A thread could not be started or pinned.
pub fn run(
    sampler: &Sampler,
    reads: &[Read],
    settings: &Settings,
    random: &mut Random,
    progress: &dyn Progress,
) -> Result<Vec<ThreadCost>, String> {
    let batch_reads = super::counts(sampler, reads);
    let mut cells: Vec<(usize, usize)> = (0..reads.len())
        .flat_map(|read| (0..settings.counts.len()).map(move |count| (read, count)))
        .collect();
    let mut bursts = vec![vec![Vec::new(); settings.counts.len()]; reads.len()];
    let started = Instant::now();
    let must_end = || started.elapsed().as_secs_f64() >= settings.at_most_s || sampler.is_cut();
    for round in 1.. {
        random.shuffle(&mut cells);
        for &(read, count) in &cells {
            if must_end() {
                break;
            }
            let work = Work {
                read: &reads[read],
                reads: batch_reads[read],
                rate: sampler.rate,
                control: sampler.control,
                until: sampler.until,
            };
            let threads = settings.counts[count];
            bursts[read][count].push(burst(&work, threads, &settings.cpus)?);
        }
        let spent_s = started.elapsed().as_secs_f64();
        progress.update(spent_s / settings.budget_s);
        if (spent_s >= settings.budget_s && round >= ROUNDS_MIN) || must_end() {
            break;
        }
    }
    let names = reads.iter().map(|read| read.name);
    Ok(names.zip(&bursts).flat_map(|(name, bursts)| costs(name, &settings.counts, bursts)).collect())
}

/// What each thread of a burst does.
struct Work<'a> {
    read: &'a Read,
    reads: u64,
    rate: TickRate,
    control: ControlLoops,
    until: Option<Instant>,
}

/// One burst; `None` if too few batches count.
fn burst(work: &Work<'_>, threads: usize, cpus: &[CpuId]) -> Result<Option<Burst>, String> {
    let (ready, is_on) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let by_thread: Vec<Vec<Batch>> = std::thread::scope(|scope| {
        let mut started = Vec::with_capacity(threads);
        for index in 0..threads {
            let (ready, is_on, cpu) = (&ready, &is_on, cpus[index % cpus.len()]);
            let what = format_args!("thread {} of {threads}", index + 1);
            match start_thread(scope, what, move || serve(work, cpu, threads, ready, is_on)) {
                Ok(handle) => started.push(handle),
                Err(refused) => {
                    // The others go on without it.
                    is_on.store(2, Ordering::Release);
                    return Err(refused.to_string());
                }
            }
        }
        let join = |handle: ScopedJoinHandle<'_, _>| handle.join().expect("nothing panics in a reader");
        started.into_iter().map(join).collect::<Result<_, String>>()
    })?;
    Ok(Burst::of(&by_thread, cpus.len()))
}

/// One thread of a burst.
fn serve(
    work: &Work<'_>,
    cpu: CpuId,
    threads: usize,
    ready: &AtomicUsize,
    is_on: &AtomicUsize,
) -> Result<Vec<Batch>, String> {
    let pinned = Pinned::to(cpu).map_err(|error| error.to_string());
    let mut sampler = Sampler::new(cpu, work.rate, work.control).until(work.until);
    let count = (BATCHES_PER_BURST / threads).clamp(BATCHES_MIN, BATCHES_PER_THREAD);
    let mut batches = Vec::with_capacity(count);
    work.read.read_many(1);
    if ready.fetch_add(1, Ordering::AcqRel) + 1 == threads {
        is_on.store(1, Ordering::Release);
    }
    while is_on.load(Ordering::Acquire) == 0 {
        std::thread::yield_now();
    }
    pinned?;
    let mut start_ticks = begin();
    let mut before = work.control.read_long(work.rate);
    for _ in 0..count {
        if sampler.is_cut() {
            break;
        }
        let window = sampler.window(|| work.read.read_many(work.reads));
        let after = work.control.read_long(work.rate);
        let end_ticks = end();
        if let Some(ns) = window {
            batches.push(Batch::of(ns / work.reads as f64, [start_ticks, end_ticks], [before, after]));
        }
        (before, start_ticks) = (after, end_ticks);
    }
    Ok(batches)
}

impl Batch {
    fn of(ns: f64, [start_ticks, end_ticks]: [u64; 2], [before, after]: [ControlReading; 2]) -> Self {
        let multiply_ns = f64::midpoint(before.multiply_ns, after.multiply_ns);
        let port_ns = f64::midpoint(before.port_ns, after.port_ns);
        Self { start_ticks, end_ticks, ns, multiply_ns, share: port_ns / multiply_ns }
    }
}

impl Burst {
    /// From the batches of all threads, laid in a circle over so many CPUs.
    fn of(by_thread: &[Vec<Batch>], cpus: usize) -> Option<Self> {
        let busy = cpus.min(by_thread.len());
        let by_cpu: Vec<Vec<Batch>> = (0..busy)
            .map(|cpu| {
                let threads = by_thread.iter().skip(cpu).step_by(cpus);
                let mut batches: Vec<Batch> = threads.flatten().copied().collect();
                batches.order_by_key(|batch| batch.start_ticks);
                batches
            })
            .collect();
        let all: usize = by_cpu.iter().map(Vec::len).sum();
        let meets = |batch: &Batch, others: &[Batch]| {
            let later = others.partition_point(|other| other.start_ticks < batch.end_ticks);
            // Batches of one CPU do not overlap each other, so the last that began before it ended is the one.
            later > 0 && others[later - 1].end_ticks > batch.start_ticks
        };
        let mut counted = Vec::with_capacity(all);
        for (cpu, batches) in by_cpu.iter().enumerate() {
            let others = || by_cpu.iter().enumerate().filter(move |(other, _)| *other != cpu);
            counted.extend(batches.iter().filter(|batch| others().all(|(_, others)| meets(batch, others))));
        }
        if counted.len() < COUNTED_MIN {
            return None;
        }
        let of =
            |value: fn(&Batch) -> f64, q: f64| quantile(&counted.iter().map(value).collect::<Vec<f64>>(), q);
        Some(Self {
            ns: of(|batch| batch.ns, QUANTILE)?,
            steps: of(|batch| batch.ns / batch.multiply_ns, QUANTILE)?,
            share: of(|batch| batch.share, QUANTILE)?,
            overlap: counted.len() as f64 / all as f64,
        })
    }
}

/// The rows of one read: `bursts` by number of threads, then by round.
fn costs(name: &str, counts: &[usize], bursts: &[Vec<Option<Burst>>]) -> Vec<ThreadCost> {
    let row = |(index, &threads): (usize, &usize)| {
        let pairs: Vec<[Burst; 2]> = bursts[0]
            .iter()
            .zip(&bursts[index])
            .filter_map(|(one, many)| Some([(*one)?, (*many)?]))
            .collect();
        let typical = |value: &dyn Fn(&[Burst; 2]) -> f64| {
            median(&pairs.iter().map(value).collect::<Vec<f64>>()).unwrap_or(f64::NAN)
        };
        let steps: Vec<(f64, f64)> = pairs.iter().map(|[one, many]| (one.steps, many.steps)).collect();
        let comparison = Comparison::of_pairs(&steps).filter(|_| threads > 1);
        let attempts = bursts[index].len().max(1) as f64;
        let overlap = bursts[index].iter().flatten().map(|burst| burst.overlap).sum::<f64>() / attempts;
        let core_share = typical(&|[one, many]| one.share / many.share);
        let interval = comparison.and_then(|comparison| comparison.interval);
        let verdict = match interval {
            _ if pairs.is_empty() || overlap < OVERLAP_MIN => ScalingVerdict::CannotTell,
            None if threads == 1 => ScalingVerdict::Flat,
            Some(interval) if interval.high <= 1.0 + MARGIN => ScalingVerdict::Flat,
            Some(interval) if interval.low > 1.0 + MARGIN && core_share >= CORE_SHARE_MIN => {
                ScalingVerdict::Grows
            }
            _ => ScalingVerdict::CannotTell,
        };
        let cost = ThreadCost {
            read: name.to_owned(),
            threads,
            ns: typical(&|[_, many]| many.ns),
            ratio: comparison.map_or(1.0, |comparison| comparison.ratio),
            interval,
            core_share,
            overlap,
            rounds: pairs.len(),
            verdict,
        };
        (!pairs.is_empty()).then_some(cost)
    };
    counts.iter().enumerate().filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use host::live;

    use super::*;

    const RATIO: f64 = 1.0 / 16.0;

    fn batches(from: u64, cost_ns: f64) -> Vec<Batch> {
        let batch = |index: u64| Batch {
            start_ticks: from + index * 100,
            end_ticks: from + index * 100 + 100,
            ns: cost_ns,
            multiply_ns: 0.8,
            share: RATIO,
        };
        (0..20).map(batch).collect()
    }

    #[test]
    fn only_batches_beside_which_the_other_cpus_worked_count() {
        let together = Burst::of(&[batches(0, 20.0), batches(30, 40.0)], 2).expect("they met");
        assert!((together.overlap - 1.0).abs() < 1e-9, "{together:?}");
        // The second began as the first was nearly done.
        let hardly = [batches(0, 20.0), batches(1_900, 40.0)];
        assert_eq!(Burst::of(&hardly, 2), None);
        // On one CPU there is nobody to meet.
        let one_cpu = Burst::of(&hardly, 1).expect("each has run");
        assert!((one_cpu.ns - 20.0).abs() < 1e-9, "{one_cpu:?}");
        assert_eq!(Burst::of(&[Vec::new()], 1), None);
    }

    #[test]
    fn the_verdict_needs_rounds_that_overlap_on_cores_of_their_own() {
        let burst =
            |steps: f64, share: f64, overlap: f64| Some(Burst { ns: steps * 0.8, steps, share, overlap });
        let one = vec![burst(30.0, RATIO, 1.0); 12];
        let noisy = |ratio: f64, share: f64, overlap: f64| -> Vec<Option<Burst>> {
            (0..12)
                .map(|round| burst(30.0 * ratio * (1.0 + 0.002 * f64::from(round % 3)), share, overlap))
                .collect()
        };
        let straddling =
            (0..12).map(|round| burst(30.9 * (1.0 + 0.02 * f64::from(round % 3)), RATIO, 0.8)).collect();
        for (many, expected) in [
            (noisy(1.0, RATIO, 0.8), ScalingVerdict::Flat),
            (noisy(1.5, RATIO, 0.8), ScalingVerdict::Grows),
            // Half a core costs more whatever is read.
            (noisy(1.5, RATIO * 2.0, 0.8), ScalingVerdict::CannotTell),
            (noisy(1.0, RATIO, 0.02), ScalingVerdict::CannotTell),
            (straddling, ScalingVerdict::CannotTell),
            (vec![burst(30.0, RATIO, 1.0); 3], ScalingVerdict::CannotTell),
        ] {
            let rows = costs("clock", &[1, 2], &[one.clone(), many]);
            assert_eq!(
                rows.iter().map(|row| row.verdict).collect::<Vec<_>>(),
                [ScalingVerdict::Flat, expected]
            );
        }
        assert_eq!(costs("clock", &[1, 2], &[one, vec![None; 12]]).len(), 1);
    }

    #[test]
    fn real_threads_end_also_where_there_are_more_than_cpus() {
        let cpu = live::allowed_cpus().first().expect("a CPU");
        let _pinned = Pinned::to(cpu).expect("an allowed CPU");
        let rate = TickRate::calibrate(2_000_000).expect("a counter that counts");
        let sampler = Sampler::new(cpu, rate, ControlLoops { cycles_per_multiply: None });
        let settings = Settings { counts: vec![1, 3], cpus: vec![cpu], budget_s: 0.0, at_most_s: 0.0 };
        let rows =
            run(&sampler, &[Read::shared_word()], &settings, &mut Random::new(1), &crate::session::Silent);
        assert!(rows.expect("threads can be started").len() <= 2);
    }
}

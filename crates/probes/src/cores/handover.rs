//! What it costs to hand a turn to another thread: two that wake each other by an event, on one CPU and on two.
//!
//! On one CPU a handover is a system call that wakes, one that sleeps, and a switch. On two it is also a call to the other CPU and
//! the end of its rest: in a guest both leave to the hypervisor. A second pair on the same two CPUs at the same time keeps them from
//! resting, so that woken threads wait for their turn there; on one CPU it takes turns with the first. All four are taken in turns; a
//! chunk is a millisecond or so, and the median of chunks counts, as programs meet the disturbances too.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::thread::{self, JoinHandle};
use std::time::Instant;

use host::live::{AffinityError, Event, Pinned, thread_cpu_time_ns};
use machine::CpuId;
use stats::{Interval, Random, median, quantile_interval, sorted};

use crate::probe::CpuPair;
use crate::session::SessionError;

/// Chunks of each arrangement: a tenth of a second in all.
const CHUNKS: usize = 40;
/// Round trips of a chunk.
const TRIPS: u64 = 100;
/// The first chunks find cold caches and a partner that is still being put on its CPU.
const CHUNKS_LEFT_OUT: usize = 4;

/// One handover, half of a round trip.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Handover {
    /// Median time in nanoseconds.
    pub ns: f64,
    /// Its 95 % interval.
    pub interval: Interval,
    /// CPU time of both threads for it, in nanoseconds, median.
    pub cpu_ns: f64,
}

/// The same on one CPU and on two.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Handovers {
    /// Both threads on one CPU.
    pub together: Handover,
    /// On a CPU each.
    pub apart: Handover,
    /// The same while two others do so on the same CPUs.
    pub crowded: Handover,
    /// Both threads on one CPU, while two others do so on that CPU.
    pub stacked: Handover,
}

/// Why there are none.
#[derive(Debug, thiserror::Error)]
pub enum HandoverError {
    /// Without optimisation nothing here is timed.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// A CPU may not be used.
    #[error(transparent)]
    Affinity(#[from] AffinityError),
    /// No event, or no thread.
    #[error(
        "cannot wake a thread of its own: {0}; raise the limits of open files and processes (ulimit -n -u)"
    )]
    Event(#[from] io::Error),
}

/// Measures handovers between threads on the CPUs of the pair, and on its first alone.
///
/// # Errors
/// As [`HandoverError`] says; a debug build refuses.
pub fn handovers(pair: CpuPair, seed: u64) -> Result<Handovers, HandoverError> {
    if cfg!(debug_assertions) {
        return Err(SessionError::DebugBuild.into());
    }
    let _pinned = Pinned::to(pair.a)?;
    let partners = [Partner::on(pair.a)?, Partner::on(pair.b)?];
    let mut crowds = [Crowd::on(CpuPair { a: pair.a, b: pair.a })?, Crowd::on(pair)?];
    let mut chunks = [const { Vec::new() }; 4];
    let mut random = Random::new(seed);
    let mut order = [0, 1, 2, 3];
    for _ in 0..CHUNKS {
        random.shuffle(&mut order);
        for index in order {
            // The first two are alone; a crowd is where the partner is.
            let (place, is_crowded) = (index % 2, index >= 2);
            if is_crowded {
                crowds[place].start()?;
            }
            chunks[index].push(partners[place].chunk()?);
            if is_crowded {
                crowds[place].stop()?;
            }
        }
    }
    let [together, apart, stacked, crowded] = chunks.map(|chunks| summary(&chunks[CHUNKS_LEFT_OUT..]));
    Ok(Handovers { together, apart, crowded, stacked })
}

/// One chunk, per handover.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Chunk {
    ns: f64,
    cpu_ns: f64,
}

fn summary(chunks: &[Chunk]) -> Handover {
    let of = |part: fn(&Chunk) -> f64| sorted(&chunks.iter().map(part).collect::<Vec<_>>());
    let ns = of(|chunk| chunk.ns);
    let value = median(&ns).unwrap_or(0.0);
    let interval = quantile_interval(&ns, 0.5).unwrap_or(Interval { low: value, high: value });
    Handover { ns: value, interval, cpu_ns: median(&of(|chunk| chunk.cpu_ns)).unwrap_or(0.0) }
}

/// What the two threads share.
struct Table {
    there: Event,
    back: Event,
    quit: AtomicBool,
    /// CPU time of the partner after its last whole chunk.
    cpu_ns: AtomicU64,
}

/// A thread that answers.
struct Partner {
    table: Arc<Table>,
    thread: Option<JoinHandle<()>>,
}

/// Starts a thread that works on the CPU with what it is given.
fn pinned_thread(
    cpu: CpuId,
    work: impl FnOnce() + Send + 'static,
) -> Result<Option<JoinHandle<()>>, HandoverError> {
    let (ready, is_ready) = channel();
    let thread = thread::Builder::new().spawn(move || match Pinned::to(cpu) {
        Ok(_pinned) => {
            // Nobody listens only if the other thread is gone.
            let _ = ready.send(Ok(()));
            work();
        }
        Err(error) => _ = ready.send(Err(error)),
    })?;
    is_ready.recv().unwrap_or(Ok(()))?;
    Ok(Some(thread))
}

impl Partner {
    fn on(cpu: CpuId) -> Result<Self, HandoverError> {
        let table = Arc::new(Table {
            there: Event::new()?,
            back: Event::new()?,
            quit: AtomicBool::new(false),
            cpu_ns: AtomicU64::new(0),
        });
        let own = table.clone();
        Ok(Self { table, thread: pinned_thread(cpu, move || answer(&own))? })
    }

    fn chunk(&self) -> io::Result<Chunk> {
        let cpu_ns = || thread_cpu_time_ns() + self.table.cpu_ns.load(Ordering::Acquire);
        let (cpu_before, start) = (cpu_ns(), Instant::now());
        for _ in 0..TRIPS {
            self.table.there.signal()?;
            self.table.back.wait()?;
        }
        let ns = start.elapsed().as_nanos() as f64;
        let cpu_ns = cpu_ns().saturating_sub(cpu_before) as f64;
        let handovers = 2.0 * TRIPS as f64;
        Ok(Chunk { ns: ns / handovers, cpu_ns: cpu_ns / handovers })
    }
}

impl Drop for Partner {
    fn drop(&mut self) {
        self.table.quit.store(true, Ordering::Release);
        // It ends by itself if it cannot be woken: its own event failed as well.
        let _ = self.table.there.signal();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A second pair, which hands over all the time between start and stop.
struct Crowd {
    orders: Arc<Orders>,
    thread: Option<JoinHandle<()>>,
    _partner: Partner,
}

struct Orders {
    go: Event,
    stopped: Event,
    run: AtomicBool,
    quit: AtomicBool,
}

impl Crowd {
    fn on(pair: CpuPair) -> Result<Self, HandoverError> {
        let orders = Arc::new(Orders {
            go: Event::new()?,
            stopped: Event::new()?,
            run: AtomicBool::new(false),
            quit: AtomicBool::new(false),
        });
        let partner = Partner::on(pair.b)?;
        let (own, table) = (orders.clone(), partner.table.clone());
        let thread = pinned_thread(pair.a, move || own.obey(&table))?;
        Ok(Self { orders, thread, _partner: partner })
    }

    fn start(&mut self) -> io::Result<()> {
        self.orders.run.store(true, Ordering::Release);
        self.orders.go.signal()
    }

    fn stop(&mut self) -> io::Result<()> {
        self.orders.run.store(false, Ordering::Release);
        self.orders.stopped.wait()
    }
}

impl Orders {
    fn obey(&self, table: &Table) {
        while self.go.wait().is_ok() && !self.quit.load(Ordering::Acquire) {
            while self.run.load(Ordering::Acquire) {
                if table.there.signal().and_then(|()| table.back.wait()).is_err() {
                    break;
                }
            }
            if self.stopped.signal().is_err() {
                return;
            }
        }
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        self.orders.run.store(false, Ordering::Release);
        self.orders.quit.store(true, Ordering::Release);
        let _ = self.orders.go.signal();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn answer(table: &Table) {
    table.cpu_ns.store(thread_cpu_time_ns(), Ordering::Release);
    for trip in 1_u64.. {
        if table.there.wait().is_err() || table.quit.load(Ordering::Acquire) {
            return;
        }
        if trip.is_multiple_of(TRIPS) {
            table.cpu_ns.store(thread_cpu_time_ns(), Ordering::Release);
        }
        if table.back.signal().is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_chunks_counts_and_a_partner_answers_until_it_is_dropped() {
        let chunk = |ns: f64| Chunk { ns, cpu_ns: ns / 2.0 };
        let chunks: Vec<Chunk> = [5.0, 6.0, 7.0, 900.0, 6.5, 5.5, 6.0].map(chunk).to_vec();
        let found = summary(&chunks);
        assert!((found.ns - 6.0).abs() < 1e-9 && (found.cpu_ns - 3.0).abs() < 1e-9);
        assert!(found.interval.contains(6.0));
        let cpu = host::live::allowed_cpus().first().expect("a CPU to run on");
        let partner = Partner::on(cpu).expect("a thread on a CPU of our own");
        let found = partner.chunk().expect("it answers");
        assert!(found.ns > 0.0 && found.cpu_ns > 0.0);
        let mut crowd = Crowd::on(CpuPair { a: cpu, b: cpu }).expect("two more threads");
        crowd.start().and_then(|()| crowd.stop()).expect("it stops when it may not go on");
    }
}

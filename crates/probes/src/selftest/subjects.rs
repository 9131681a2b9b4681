//! The kinds of loops whose resolution is measured, each with a trial of a millisecond or a few.

use std::hint::black_box;
use std::time::Instant;

use host::live::{AffinityError, Mapping, MappingError, PageRequest, Pinned};
use kernels::{
    ADDS_PER_ROUND, Arrays, Chain, LOADS_PER_ROUND, Layout, MULTIPLIES_PER_ROUND, Operation, Store,
    StreamKernel, multiply_chain, port_loop,
};
use machine::{Bytes, CpuId, Topology};
use record::Resolution;
use stats::Random;

use super::{QUAD, Trials};
use crate::room::largest_block;
use crate::sampler::Sampler;
use crate::session::Session;

/// Windows of a trial; the best counts.
const WINDOWS_PER_TRIAL: usize = 5;
/// Shortest window in nanoseconds.
const WINDOW_NS: f64 = 200_000.0;
/// Quads of each kind at most.
const QUADS_MAX: usize = 250;
/// Distance of the elements of a chain: one line.
const STRIDE_BYTES: usize = 64;
/// What is taken for the first, second and last level where the machine claims none.
const CLAIMED_FALLBACK: [Bytes; 3] = [Bytes(32 << 10), Bytes(256 << 10), Bytes(2 << 20)];
/// A guest gets less of the last level than it is shown; so many times the second level is what it gets at least.
const LAST_OVER_SECOND: u64 = 2;
/// Memory is what is larger than any cache by this factor.
const MEMORY_OVER_CACHE: u64 = 2;
/// Blocks in memory are at least this large.
const MEMORY_MIN: Bytes = Bytes(64 << 20);
/// And at most this large.
const MEMORY_MAX: Bytes = Bytes(256 << 20);

/// Why a kind has no resolution.
#[derive(Debug, thiserror::Error)]
pub(super) enum SubjectError {
    /// A CPU may not be used.
    #[error(transparent)]
    Affinity(#[from] AffinityError),
    /// No memory.
    #[error(transparent)]
    Mapping(#[from] MappingError),
    /// Too few pairs.
    #[error("too few windows were undisturbed in its time; give more with --budget")]
    TooFew,
}

/// One kind of loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A chain through a block of so many bytes, laid anew for each quad.
    Latency(&'static str, usize),
    /// A chain through memory, laid once.
    MemoryLatency(usize),
    /// Triad over arrays in memory.
    Triad(usize),
    Ports,
    Multiply,
    ClockRead,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Latency(name, _) => name,
            Self::MemoryLatency(_) => "memory latency",
            Self::Triad(_) => "triad bandwidth",
            Self::Ports => "port loop",
            Self::Multiply => "multiply chain",
            Self::ClockRead => "clock read",
        }
    }

    fn unit(self) -> &'static str {
        match self {
            Self::Triad(_) => "ns/KiB",
            _ => "ns",
        }
    }

    fn all(session: &Session<'_>, cpu: CpuId) -> Vec<Self> {
        let machine = &session.record.machine;
        let [first, second, last] = blocks(&machine.topology, cpu);
        let caches = machine.topology.largest_cache_bytes().unwrap_or(CLAIMED_FALLBACK[2]);
        let beyond_caches = (caches.0 * MEMORY_OVER_CACHE).clamp(MEMORY_MIN.0, MEMORY_MAX.0);
        let memory = largest_block(machine, Bytes(beyond_caches)).0 as usize;
        vec![
            Self::Latency("L1 latency", first),
            Self::Latency("L2 latency", second),
            Self::Latency("last-level latency", last),
            Self::MemoryLatency(memory),
            Self::Triad(memory),
            Self::Ports,
            Self::Multiply,
            Self::ClockRead,
        ]
    }
}

/// Blocks that each level holds for certain: half of what is claimed, of the last one less.
fn blocks(topology: &Topology, cpu: CpuId) -> [usize; 3] {
    let claimed = |level, fallback: Bytes| {
        topology.data_cache(cpu, level).and_then(|cache| cache.size_bytes).unwrap_or(fallback).0
    };
    let (first, second) = (claimed(1, CLAIMED_FALLBACK[0]), claimed(2, CLAIMED_FALLBACK[1]));
    let last = topology.largest_cache_bytes().unwrap_or(CLAIMED_FALLBACK[2]).0;
    let last = (last / 2).min(LAST_OVER_SECOND * second);
    [first / 2, second / 2, last].map(|bytes| bytes.max(Bytes::KIB.0) as usize)
}

/// Measures all kinds in turn, each for its share of the time; what cannot be measured is named in `without`.
pub(super) fn measure(
    session: &mut Session<'_>,
    cpu: CpuId,
    budget_s: f64,
    without: &mut Vec<String>,
) -> Vec<Resolution> {
    let kinds = Kind::all(session, cpu);
    let mut found = Vec::with_capacity(kinds.len());
    for (index, &kind) in kinds.iter().enumerate() {
        if session.must_stop() {
            let left: Vec<&str> = kinds[index..].iter().map(|kind| kind.name()).collect();
            without.push(format!("{}: the time was up before; give more with --budget", left.join(", ")));
            break;
        }
        session.progress.update(index as f64 / kinds.len() as f64);
        let mut bench = Bench::new(session, cpu, budget_s / kinds.len() as f64);
        match bench.run(kind) {
            Ok(resolution) => found.push(resolution),
            Err(error) => without.push(format!("{}: {error}", kind.name())),
        }
        let mut sampler = bench.sampler;
        session.absorb(&mut sampler);
    }
    found
}

/// Takes the quads of one kind.
struct Bench<'s, 'p> {
    session: &'s mut Session<'p>,
    sampler: Sampler,
    random: Random,
    cpu: CpuId,
    budget_s: f64,
    seconds: f64,
}

impl<'s, 'p> Bench<'s, 'p> {
    fn new(session: &'s mut Session<'p>, cpu: CpuId, budget_s: f64) -> Self {
        let (sampler, random) = (session.sampler(cpu), Random::new(session.random.next_u64()));
        Self { session, sampler, random, cpu, budget_s, seconds: 0.0 }
    }

    fn run(&mut self, kind: Kind) -> Result<Resolution, SubjectError> {
        let pinned = Pinned::to(self.cpu)?;
        let trials = match kind {
            Kind::Latency(_, bytes) => self.latency(bytes)?,
            Kind::MemoryLatency(bytes) => self.memory_latency(bytes)?,
            Kind::Triad(bytes) => self.triad(bytes)?,
            Kind::Ports => self.repeated(ADDS_PER_ROUND, |rounds| _ = black_box(port_loop(rounds))),
            Kind::Multiply => {
                self.repeated(MULTIPLIES_PER_ROUND, |rounds| _ = black_box(multiply_chain(rounds)))
            }
            Kind::ClockRead => self.repeated(1, |rounds| {
                for _ in 0..rounds {
                    black_box(clock::begin());
                }
            }),
        };
        drop(pinned);
        trials.resolution(kind.name(), kind.unit(), self.seconds).ok_or(SubjectError::TooFew)
    }

    /// Huge pages, laid as long as there is time.
    fn mapped(&self, bytes: usize) -> Result<Mapping, MappingError> {
        Mapping::new_while(bytes, PageRequest::Huge, &|| !self.session.must_stop())
    }

    /// Takes quads until the time is up.
    fn quads(&mut self, mut quad: impl FnMut(&mut Sampler, &mut Random) -> [Option<f64>; QUAD]) -> Trials {
        let (started, mut trials) = (Instant::now(), Trials::default());
        let mut order = Random::new(self.random.next_u64());
        for _ in 0..QUADS_MAX {
            if self.session.must_stop() || started.elapsed().as_secs_f64() >= self.budget_s {
                break;
            }
            trials.add(quad(&mut self.sampler, &mut self.random), &mut order);
        }
        self.seconds = started.elapsed().as_secs_f64();
        trials
    }

    /// A loop that needs no memory.
    fn repeated(&mut self, units: u64, mut run: impl FnMut(u64)) -> Trials {
        let rounds = rounds_of_a_window(&self.sampler, &mut run);
        self.quads(|sampler, _| {
            [(); QUAD].map(|()| best_of(sampler, (rounds * units) as f64, || run(rounds)))
        })
    }

    /// A chain that is laid anew for each quad, so that its order is not part of the answer.
    fn latency(&mut self, bytes: usize) -> Result<Trials, SubjectError> {
        let goes_on = || !self.session.must_stop();
        let mut mapping = Mapping::new_while(bytes, PageRequest::Base, &goes_on)?;
        let mut rounds = None;
        Ok(self.quads(|sampler, random| {
            let block = &mut mapping.as_mut_slice()[..bytes];
            let layout = Layout::random(STRIDE_BYTES, random.next_u64());
            let Some(chain) = Chain::build_while(block, layout, &|| !sampler.is_cut()) else {
                return [None; QUAD];
            };
            let mut cursor = chain.start();
            let warm = (chain.nodes() as u64).div_ceil(LOADS_PER_ROUND);
            sampler.in_slices(warm, |rounds| cursor = cursor.walk(rounds));
            let rounds = *rounds
                .get_or_insert_with(|| rounds_of_a_window(sampler, |rounds| cursor = cursor.walk(rounds)));
            let loads = (rounds * LOADS_PER_ROUND) as f64;
            let trials = [(); QUAD].map(|()| best_of(sampler, loads, || cursor = cursor.walk(rounds)));
            black_box(cursor.addr());
            trials
        }))
    }

    /// A chain that is too long to be laid for each quad: the walk goes on where the last one ended.
    fn memory_latency(&mut self, bytes: usize) -> Result<Trials, SubjectError> {
        let mut mapping = self.mapped(bytes)?;
        let layout = Layout::random(STRIDE_BYTES, self.random.next_u64());
        let goes_on = || !self.session.must_stop();
        let chain = Chain::build_while(&mut mapping.as_mut_slice()[..bytes], layout, &goes_on)
            .ok_or(SubjectError::TooFew)?;
        let mut cursor = chain.start();
        let rounds = rounds_of_a_window(&self.sampler, |rounds| cursor = cursor.walk(rounds));
        let loads = (rounds * LOADS_PER_ROUND) as f64;
        let trials = self.quads(|sampler, _| {
            [(); QUAD].map(|()| best_of(sampler, loads, || cursor = cursor.walk(rounds)))
        });
        black_box(cursor.addr());
        Ok(trials)
    }

    fn triad(&mut self, bytes: usize) -> Result<Trials, SubjectError> {
        let mut mapping = self.mapped(bytes)?;
        let sweep = StreamKernel::widest(Operation::Triad, Store::Plain).expect("every CPU has a triad");
        let mut arrays = Arrays::from_block(&mut mapping.as_mut_slice()[..bytes], Operation::Triad);
        arrays.fill();
        let kib = arrays.block_bytes() as f64 / Bytes::KIB.0 as f64;
        Ok(self.quads(|sampler, _| {
            [(); QUAD].map(|()| best_of(sampler, kib, || _ = black_box(sweep.run(&mut arrays, 1))))
        }))
    }
}

/// The fastest of the windows of a trial, per unit; `None` if all were set aside.
fn best_of(sampler: &mut Sampler, units: f64, mut run: impl FnMut()) -> Option<f64> {
    let in_time = (0..WINDOWS_PER_TRIAL).map_while(|_| (!sampler.is_cut()).then(|| sampler.window(&mut run)));
    let windows = in_time.flatten();
    windows.min_by(f64::total_cmp).map(|ns| ns / units)
}

/// Rounds that fill a window on an undisturbed CPU: one interruption while they are sought makes them far too few, so
/// that they are sought again and the largest number counts.
fn rounds_of_a_window(sampler: &Sampler, mut run: impl FnMut(u64)) -> u64 {
    /// All of so many searches are seldom interrupted.
    const SEARCHES: usize = 4;
    (0..SEARCHES).map(|_| sampler.rounds_for(WINDOW_NS, &mut run)).max().unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use machine::{Cache, CacheKind};

    use super::*;

    #[test]
    fn blocks_lie_inside_the_caches_claimed_and_exist_without_any() {
        assert_eq!(blocks(&Topology::default(), CpuId(0)), [16 << 10, 128 << 10, 512 << 10]);
        let cache = |level, size| Cache {
            level,
            kind: CacheKind::Unified,
            size_bytes: Some(Bytes(size)),
            line_bytes: None,
            ways: None,
            shared_by: [CpuId(0)].into_iter().collect(),
            sharers_unknown: false,
        };
        let caches = vec![cache(1, 48 << 10), cache(2, 2 << 20), cache(3, 32 << 20)];
        let topology = Topology { caches, ..Topology::default() };
        assert_eq!(blocks(&topology, CpuId(0)), [24 << 10, 1 << 20, 4 << 20]);
    }
}

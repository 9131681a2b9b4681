//! The signature of core complexes: a line bounced between two of them, over a line bounced within one.
//!
//! The control is another pair of the same complex. Pairs alternate from visit to visit, each on lines of a fresh mapping, as
//! the home of a line decides its price.

use std::time::{Duration, Instant};

use host::live::allowed_cpus;
use kernels::random::SplitMix64;
use machine::{CacheKind, CpuId, CpuSet, Topology};
use stats::median;

use super::judgement::{Held, Turns};
use super::{Readings, SignatureProbe, SignatureSetup};
use crate::control::ControlLoops;
use crate::cores::CpuPair;
use crate::cores::transfer::hops_ns;
use crate::sampler::Sampler;

/// Turns of one visit to each pair.
const TURNS: usize = 60;
/// Turns that are enough where time runs out.
const TURNS_MIN: usize = 20;
/// Longest time for all turns: a visit takes some milliseconds.
const TURNS_LIMIT: Duration = Duration::from_millis(900);
/// Lines of a visit: a window for each and each side that begins.
const LINES: usize = 2;
/// Visits meet other lines, whose homes differ.
const QUANTILE: f64 = 0.25;
/// How far two pairs of one complex may differ: what joins its cores has more and less direct ways. Nobody publishes a
/// bound; a complex is called apart from the next only where it is much slower.
const WITHIN: f64 = 0.25;

/// The pairs to compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pairs {
    within: [CpuPair; 2],
    across: CpuPair,
}

/// Time of a hop between complexes in hops within one.
///
/// # Errors
/// Why nothing could be measured.
pub(super) fn across(setup: &SignatureSetup<'_>) -> Result<Readings, String> {
    let mut sampler = Sampler::new(setup.cpu, setup.rate, ControlLoops::of(&setup.machine.identity));
    let pairs = pairs(&setup.machine.topology, &allowed_cpus()).ok_or(
        "it takes two cores at one last-level cache and a third at another, all of them free to use",
    )?;
    let mut random = SplitMix64::new(setup.seed);
    let started = Instant::now();
    let end = setup.deadline.unwrap_or(started + TURNS_LIMIT).min(started + TURNS_LIMIT);
    let mut values = Vec::with_capacity(TURNS);
    while values.len() < TURNS && Instant::now() < end {
        let mut turn = Vec::with_capacity(3);
        for pair in [pairs.within[0], pairs.across, pairs.within[1]] {
            let hops =
                hops_ns(pair, LINES, end, &mut random, &mut sampler).map_err(|error| error.to_string())?;
            turn.extend(median(&hops));
        }
        if turn.len() == 3 {
            values.push(turn);
        }
    }
    if values.len() < TURNS_MIN {
        return Err(format!("the machine was too busy: {} of {TURNS_MIN} turns in time", values.len()));
    }
    let turns = Turns { values, slowdown: 1.0, quantile: QUANTILE, seed: setup.seed };
    let held = Held {
        text: "another pair of CPUs within the complex",
        ratio: |lows| lows[2] / lows[0],
        bound: WITHIN,
        level: None,
    };
    Ok(turns.readings(SignatureProbe::Transfer, &[|lows| lows[1] / lows[0]], &held))
}

/// Two pairs at one last-level cache and one across two, of different cores and in one package where that can be had.
fn pairs(topology: &Topology, allowed: &CpuSet) -> Option<Pairs> {
    let caches = topology.caches.iter().filter(|cache| cache.kind != CacheKind::Instruction);
    let level = caches.map(|cache| cache.level).max()?;
    let package = |cpu: CpuId| topology.cpu(cpu).map(|cpu| cpu.package);
    allowed.iter().find_map(|a| {
        let complex = &topology.data_cache(a, level)?.shared_by;
        let siblings = topology.siblings(a);
        let within: Vec<CpuId> =
            allowed.iter().filter(|b| complex.contains(*b) && !siblings.contains(*b)).collect();
        let outside: Vec<CpuId> = allowed.iter().filter(|b| !complex.contains(*b)).collect();
        let near = outside.iter().copied().find(|b| package(*b) == package(a));
        let across = near.or(outside.first().copied())?;
        let (first, last) = (*within.first()?, *within.last()?);
        Some(Pairs {
            within: [CpuPair { a, b: first }, CpuPair { a, b: last }],
            across: CpuPair { a, b: across },
        })
    })
}

#[cfg(test)]
mod tests {
    use machine::{Bytes, Cache, Core, CoreKind, Cpu};

    use super::*;

    /// Cores of two threads, numbered as Linux does: first threads of all cores first.
    fn topology(cores: u32, cores_per_cache: u32) -> Topology {
        let mut topology = Topology::default();
        for thread in 0..2 {
            topology.cpus.extend((0..cores).map(|core| Cpu {
                id: CpuId(thread * cores + core),
                core_index: core as usize,
                package: i64::from(core * 2 / cores),
                die: None,
                module: None,
                node: None,
                core_kind: CoreKind::Uniform,
                capacity: None,
            }));
        }
        let threads_of = |core: u32| [CpuId(core), CpuId(cores + core)];
        topology.cores = (0..cores)
            .map(|core| Core { os_index: None, package: 0, cpus: threads_of(core).into_iter().collect() })
            .collect();
        topology.caches = (0..cores)
            .step_by(cores_per_cache as usize)
            .map(|first| Cache {
                level: 3,
                kind: CacheKind::Unified,
                size_bytes: Some(Bytes(16 << 20)),
                line_bytes: None,
                ways: None,
                shared_by: (first..first + cores_per_cache).flat_map(threads_of).collect(),
                sharers_unknown: false,
            })
            .collect();
        topology
    }

    fn all(cpus: u32) -> CpuSet {
        (0..cpus).map(CpuId).collect()
    }

    #[test]
    fn pairs_are_of_different_cores_within_a_complex_and_across_in_the_same_package() {
        let pairs = pairs(&topology(16, 4), &all(32)).expect("two complexes in each package");
        let pair = |b| CpuPair { a: CpuId(0), b: CpuId(b) };
        assert_eq!(pairs, Pairs { within: [pair(1), pair(19)], across: pair(4) });
    }

    #[test]
    fn one_complex_or_cores_of_their_own_have_no_pairs() {
        assert_eq!(pairs(&topology(8, 8), &all(16)), None);
        assert_eq!(pairs(&topology(8, 1), &all(16)), None);
        assert_eq!(pairs(&topology(8, 4), &all(4)), None, "the others may not be used");
        assert_eq!(pairs(&Topology::default(), &all(4)), None);
    }
}

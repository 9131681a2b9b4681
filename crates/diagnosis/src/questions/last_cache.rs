//! What programs get of the last cache: random reads in blocks of many sizes, and where they begin to miss it.
//!
//! Of reads at random in a block b a cache of the size s serves the share min(1, s / b); the mean read takes that share of the cache's time
//! and the rest of memory's. Each size is held against the reads; those that explain them nearly as well as the best are the answer. It
//! is a size that works as such a cache does: others who use the same cache make it smaller.

use std::collections::BTreeMap;

use machine::Bytes;
use record::Record;
use stats::{Interval, student_quantile};

use super::{Outcome, nothing_measured, samples};
use crate::surface::DISAGREES_BEYOND;
use crate::wording::{rounded, size};

/// Blocks this many times the second cache hardly notice it.
const BEYOND_SECOND: u64 = 2;
/// Sizes that are tried, in each octave.
const STEPS: i32 = 4;
/// Reads of one block scatter by this at least, of logarithms, between runs of a guest.
const LEAST_SCATTER: f64 = 0.03;
/// Fitted to the reads: a size and two times.
const FITTED: usize = 3;
/// Blocks from which a size can be seen, at least.
const FEWEST_BLOCKS: usize = 4;
/// Memory has to take so much longer than the cache.
const DISTINCT: f64 = 1.25;
/// Reads that are sooner than random ones of memory by this factor come from a cache; translation is part of the latter.
const NEARER: f64 = 2.0;

/// One block: its size in bytes, and the time of a read in nanoseconds.
type Read = (f64, f64);

/// How well a size explains the reads.
#[derive(Debug, Clone, Copy)]
struct Fit {
    bytes: f64,
    /// Sum of the squared deviations of logarithms.
    squares: f64,
    /// Memory over cache.
    ratio: f64,
}

/// Size of the last cache beyond L2, as reads show it.
pub(super) fn usable(record: &Record) -> Outcome {
    let topology = &record.machine.topology;
    let smallest = topology.cache_bytes(2).map_or(0, |second| second.0 * BEYOND_SECOND);
    let reads = reads(record, smallest);
    if reads.len() < FEWEST_BLOCKS {
        return nothing_measured(record);
    }
    let claimed = topology.cache_bytes(3);
    let (first, last) = (reads[0].0, reads[reads.len() - 1].0);
    let fits = fits(&reads);
    let Some(best) = fits.iter().min_by(|a, b| a.squares.total_cmp(&b.squares)) else {
        return nothing_measured(record);
    };
    let claim = claimed.map_or_else(String::new, |claim| format!("; {claim} claimed"));
    if best.ratio < DISTINCT {
        let beyond: Vec<f64> = samples(record, "memory").map(|sample| sample.value).collect();
        let is_nearer = stats::median(&beyond).is_some_and(|memory_ns| memory_ns > NEARER * reads[0].1);
        let flat = format!("reads of {} to {} take the same time", rounded(first), rounded(last));
        return match claimed {
            Some(_) if is_nearer => {
                let interval = Interval { low: last, high: last };
                Outcome::ok(format!("at least {} usable{claim}", rounded(last))).of(last, interval, "bytes")
            }
            None => Outcome::not_applicable(format!("no L3 is claimed, and {flat}")),
            Some(_) => Outcome::ok(format!("none noticed: {flat}{claim}")).warning_if(true),
        };
    }
    // A size explains the reads nearly as well as the best if an F test of one parameter does not reject it (Draper and Smith, Applied
    // Regression Analysis, on nonlinear estimation); three are fitted.
    let degrees = (reads.len() - FITTED).max(1);
    let variance = (best.squares / degrees as f64).max(LEAST_SCATTER.powi(2));
    let limit = best.squares + student_quantile(0.95, degrees as u32).powi(2) * variance;
    // What lies between two sizes that were tried is not known.
    let step = (1.0 / f64::from(STEPS)).exp2();
    let likely = fits.iter().filter(|fit| fit.squares <= limit).map(|fit| fit.bytes);
    let (low, high) =
        likely.fold((f64::INFINITY, 0.0_f64), |(low, high), bytes| (low.min(bytes), high.max(bytes)));
    let interval = Interval { low: low / step, high: high * step };
    let less_than_claimed = claimed.is_some_and(|claim| claim.0 as f64 > interval.high * DISAGREES_BEYOND);
    let sentence = match (interval.low <= first, interval.high >= last) {
        (false, false) => format!("{} usable", size(Bytes(best.bytes as u64), interval)),
        (false, true) => format!("at least {} usable", rounded(interval.low)),
        (true, false) => format!("at most {} usable", rounded(interval.high)),
        (true, true) => {
            return Outcome::undetermined(format!(
                "reads of {} to {} rise, and fit any size{claim}",
                rounded(first),
                rounded(last)
            ));
        }
    };
    Outcome::ok(sentence + &claim).warning_if(less_than_claimed).of(best.bytes, interval, "bytes")
}

/// Times by block from this size on, ascending: medians over epochs.
fn reads(record: &Record, smallest: u64) -> Vec<Read> {
    let mut by_block: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for sample in samples(record, "blocks") {
        if let Some(block) = sample.block_bytes.filter(|block| block.0 >= smallest) {
            by_block.entry(block.0).or_default().push(sample.value);
        }
    }
    let median = |(block, times): (u64, Vec<f64>)| Some((block as f64, stats::median(&times)?));
    by_block.into_iter().filter_map(median).filter(|(_, ns)| ns.is_finite() && *ns > 0.0).collect()
}

/// Every size from that of the smallest block to that of the largest.
fn fits(reads: &[Read]) -> Vec<Fit> {
    let (first, last) = (reads[0].0.log2(), reads[reads.len() - 1].0.log2());
    let steps = ((last - first) * f64::from(STEPS)).round() as i32;
    (0..=steps).map(|step| fit((first + f64::from(step) / f64::from(STEPS)).exp2(), reads)).collect()
}

/// The best times of cache and memory for one size, by least squares of relative deviations.
fn fit(bytes: f64, reads: &[Read]) -> Fit {
    let [mut cc, mut cm, mut mm, mut ct, mut mt] = [0.0; 5];
    for &(block, ns) in reads {
        let hit = (bytes / block).min(1.0);
        let (cache, memory) = (hit / ns, (1.0 - hit) / ns);
        cc += cache * cache;
        cm += cache * memory;
        mm += memory * memory;
        ct += cache;
        mt += memory;
    }
    let determinant = cc * mm - cm * cm;
    let (cache_ns, memory_ns) = if determinant > f64::EPSILON * cc * mm {
        ((ct * mm - mt * cm) / determinant, (mt * cc - ct * cm) / determinant)
    } else {
        (ct / cc, ct / cc)
    };
    // A cache that takes longer than memory, or no time, is none.
    let (cache_ns, memory_ns) = if cache_ns > 0.0 && memory_ns >= cache_ns {
        (cache_ns, memory_ns)
    } else {
        let level = (reads.iter().map(|(_, ns)| ns.ln()).sum::<f64>() / reads.len() as f64).exp();
        (level, level)
    };
    let deviation = |&(block, ns): &Read| {
        let hit = (bytes / block).min(1.0);
        ((hit * cache_ns + (1.0 - hit) * memory_ns) / ns).ln().powi(2)
    };
    Fit { bytes, squares: reads.iter().map(deviation).sum(), ratio: memory_ns / cache_ns }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_cache(bytes: f64, noise: &[f64]) -> Vec<Read> {
        let blocks = (0..9).map(|step| (f64::from(22 + step)).exp2());
        blocks
            .zip(noise.iter().cycle())
            .map(|(block, noise)| {
                let hit = (bytes / block).min(1.0);
                (block, (hit * 30.0 + (1.0 - hit) * 120.0) * (1.0 + noise))
            })
            .collect()
    }

    #[test]
    fn a_size_is_found_within_a_step_and_survives_noise() {
        let bytes = (32_u64 << 20) as f64;
        for noise in [[0.0; 3], [0.02, -0.02, 0.01]] {
            let fits = fits(&of_cache(bytes, &noise));
            let best = fits.iter().min_by(|a, b| a.squares.total_cmp(&b.squares)).expect("sizes");
            assert!((best.bytes / bytes).log2().abs() <= 0.5, "{best:?}");
            assert!(best.ratio > 2.0);
        }
    }

    #[test]
    fn reads_that_take_the_same_time_show_no_cache() {
        let flat: Vec<Read> = (22..30).map(|log2| (f64::from(log2).exp2(), 100.0)).collect();
        assert!(fits(&flat).iter().all(|fit| fit.ratio < DISTINCT && fit.squares < 1e-9));
    }
}

//! Whether CPUs are alike: the same reads on one and on another, turn by turn.

use std::time::{Duration, Instant};

use host::live::{PageRequest, Pinned};
use kernels::Order;
use machine::{Bytes, CpuId};
use record::QuestionSample;

use super::bench::{Bench, RATIO, Walker};
use crate::memory::MemoryError;
use crate::room::{largest_block, line_bytes};

/// What is read: in L2, and beyond it, where both CPUs find nothing of their own.
const READS: [Reads; 2] = [
    Reads { question: "cpus-core", block: Bytes(256 << 10), rounds: 156, warm_share: 2.0 },
    Reads { question: "cpus-memory", block: Bytes(64 << 20), rounds: 31, warm_share: 0.0 },
];
/// Reads on a CPU before its window where the block is not warmed: what the migration cost is over.
const SETTLING_LOADS: u64 = 256;
/// Turns of one pair take so long.
const SAMPLE: Duration = Duration::from_millis(80);

/// What both CPUs of a pair read.
struct Reads {
    question: &'static str,
    block: Bytes,
    /// Of a window.
    rounds: u64,
    /// How often the block is walked before a window.
    warm_share: f64,
}

/// Compares the other CPUs with this one, in random order, as long as there is time: all once, then all again.
pub(super) fn alike(bench: &mut Bench, cpu: CpuId, until: Instant) -> Result<(), MemoryError> {
    let mut others: Vec<CpuId> = bench.cpus().filter(|other| *other != cpu).collect();
    while !others.is_empty() && !bench.is_over(until) {
        bench.random.shuffle(&mut others);
        for other in &others {
            for reads in &READS {
                if bench.is_over(until) {
                    return Ok(());
                }
                pair(bench, reads, [*other, cpu], until)?;
            }
        }
    }
    Ok(())
}

/// One visit to a pair, on a fresh mapping.
fn pair(bench: &mut Bench, reads: &Reads, pair: [CpuId; 2], until: Instant) -> Result<(), MemoryError> {
    let block = largest_block(&bench.machine, reads.block).min(reads.block);
    let Some(mut mapping) = bench.mapping(block, PageRequest::Huge, until)? else { return Ok(()) };
    let line = line_bytes(&bench.machine);
    let memory = &mut mapping.as_mut_slice()[..block.0 as usize];
    let Some(chain) = bench.chain(memory, (line, Order::Random), until) else { return Ok(()) };
    let mut walker = Walker::new(&chain, reads.rounds);
    let warm = SETTLING_LOADS.max((reads.warm_share * chain.nodes() as f64) as u64);
    let sample = QuestionSample {
        question: reads.question.to_owned(),
        cpu: pair[0],
        against: Some(pair[1]),
        block_bytes: Some(block),
        unit: RATIO.to_owned(),
        ..QuestionSample::default()
    };
    let mut refused = None;
    bench.take(sample, until.min(Instant::now() + SAMPLE), |bench| {
        bench.pair(|bench, which| {
            let _pinned = Pinned::to(pair[which]).map_err(|error| refused = Some(error)).ok()?;
            let sampler = bench.sampler(pair[which]);
            walker.warm(warm, sampler);
            walker.window(sampler)
        })
    });
    refused.map_or(Ok(()), |error| Err(error.into()))
}

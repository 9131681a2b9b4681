//! A program with known sharing: threads in hidden pairs, each thread with 1 MiB of its own and 1 MiB of its pair.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use host::live::thread_cpu_time_ns;
use stats::Random;

use crate::totals::Totals;

/// The program that sharing-evidence watches
///
/// Each thread has 1 MiB of its own and 1 MiB of its pair.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Threads, in pairs
    #[arg(long, default_value_t = 8)]
    threads: usize,
    /// Accesses to the memory of the pair, in per cent
    #[arg(long, default_value_t = 10)]
    percent: u64,
    /// Which threads are pairs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// For each line that comes, so many rounds by new threads, and a line with their CPU time in nanoseconds; without it the same
    /// threads work until they are killed
    #[arg(long, default_value_t = 0)]
    rounds: u64,
}

/// Words of 8 bytes in a block: 1 MiB.
const BLOCK_WORDS: usize = (1 << 20) / 8;
/// Of a length that the compiler knows, so that no check of bounds stands between two accesses.
type Block = [AtomicU64; BLOCK_WORDS];

/// Odd, and with bits of all heights: from `splitmix64` (Steele, Lea and Flood 2014).
const FACTOR: u64 = 0xbf58_476d_1ce4_e5b9;
/// Rounds between two looks at the clock.
const ROUNDS_PER_LOOK: u64 = 1 << 14;
/// Without a number of rounds: it ends although nobody ended it.
const LONGEST: Duration = Duration::from_secs(120);

/// The pair that each thread belongs to.
pub fn pairs(threads: usize, seed: u64) -> Vec<usize> {
    let mut pair_of: Vec<usize> = (0..threads).map(|thread| thread / 2).collect();
    Random::new(seed).shuffle(&mut pair_of);
    pair_of
}

/// `cargo xtask sharing-subject`.
pub fn run(arguments: &Arguments) -> anyhow::Result<Totals> {
    let Arguments { threads, percent, seed, rounds } = *arguments;
    let pair_of = pairs(threads, seed);
    let block = || -> Box<Block> {
        let words: Vec<AtomicU64> = (0..BLOCK_WORDS as u64).map(AtomicU64::new).collect();
        words.try_into().expect("as many words as a block has")
    };
    // Own and common blocks side by side, in an order that says nothing of who is with whom.
    let common: Vec<Arc<Box<Block>>> = (0..threads.div_ceil(2)).map(|_| Arc::new(block())).collect();
    let begun = Instant::now();
    let start = |thread: usize, own: Arc<Box<Block>>| {
        let common = Arc::clone(&common[pair_of[thread]]);
        let share = Share { seed: thread as u64, percent, rounds };
        let work = move || {
            work(&own, &common, share, begun);
            thread_cpu_time_ns()
        };
        let named = std::thread::Builder::new().name(format!("worker-{thread}"));
        named.spawn(work).expect("a thread can be started")
    };
    if rounds == 0 {
        let all: Vec<_> = (0..threads).map(|thread| start(thread, Arc::new(block()))).collect();
        for thread in all {
            thread.join().expect("it does not panic");
        }
        return Ok(Totals::default());
    }
    let own: Vec<_> = (0..threads).map(|_| Arc::new(block())).collect();
    for line in std::io::stdin().lines() {
        line.context("cannot read the standard input")?;
        let all: Vec<_> = (0..threads).map(|thread| start(thread, Arc::clone(&own[thread]))).collect();
        let used = all.into_iter().map(|thread| thread.join().expect("it does not panic"));
        println!("{}", used.sum::<u64>());
    }
    Ok(Totals::default())
}

/// What one thread does.
#[derive(Clone, Copy)]
struct Share {
    seed: u64,
    percent: u64,
    rounds: u64,
}

fn work(own: &Block, common: &Block, share: Share, begun: Instant) {
    let mut random = Random::new(share.seed + 1);
    let mut sum = 0_u64;
    let mut round = 0;
    loop {
        let number = random.next_u64();
        let block = if (number >> 49) % 100 < share.percent { common } else { own };
        // Plain moves to the machine; in Rust, memory that threads share is atomic.
        let word = |from: u32| &block[(number >> from) as usize % BLOCK_WORDS];
        sum = sum.wrapping_mul(FACTOR).wrapping_add(word(0).load(Ordering::Relaxed));
        sum = sum.wrapping_add(word(16).load(Ordering::Relaxed));
        word(32).store(sum, Ordering::Relaxed);
        round += 1;
        let is_over = || begun.elapsed() > LONGEST;
        if round == share.rounds || share.rounds == 0 && round % ROUNDS_PER_LOOK == 0 && is_over() {
            break;
        }
    }
    black_box(sum);
}

//! `cargo xtask placement-evidence`: how near the optimiser comes to its bounds on every family of instances, and how fast.
//!
//! Instances can be written out, for solvers of other people: this repository has none.

#[path = "../../crates/placement/tests/placements/families.rs"]
mod families;

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use host::live::thread_cpu_time_ns;
use placement::{Answer, Effort, Level, PairValues, Problem, solve};

use crate::cargo;
use crate::placement_proof;
use crate::table::head;
use crate::totals::Totals;
use families::Family;

/// The optimiser of placements on every family: gaps, proofs, times
///
/// Prints a Markdown table: the largest gap and the longest CPU time of each kind, and what proved the bounds. Fails if pairs have a
/// gap, if a planted or sparse instance with up to 64 threads has one above 2 %, or if an answer takes a second.
///
/// With --end-to-end or --aa it fails if the pairs gain less than 1.8 times in the median run, if anything is recommended for
/// independent threads that is more than 1 % worse than the kernel, or if more than 2 in 100 experiments without any change recommend
/// something.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Instances of each kind
    #[arg(long, default_value_t = 3)]
    seeds: u64,
    /// Also write each instance with up to 24 threads as DIR/FAMILY-THREADS-CAPACITY-SEED.txt: capacity, value found, bound, then the
    /// values of pairs row by row
    #[arg(long, value_name = "DIR")]
    write: Option<PathBuf>,
    #[command(flatten)]
    proof: placement_proof::Proof,
}

/// Threads and capacity of the units; all places are taken.
const SHAPES: [(usize, usize); 17] = [
    (16, 2),
    (64, 2),
    (256, 2),
    (12, 3),
    (24, 3),
    (12, 4),
    (16, 4),
    (24, 4),
    (48, 4),
    (64, 4),
    (24, 6),
    (24, 8),
    (32, 8),
    (48, 6),
    (64, 8),
    (128, 4),
    (128, 8),
];
/// Instances up to this size are written out.
const WRITTEN_THREADS_MAX: usize = 24;
/// The gap that is promised for planted and sparse instances of so many threads.
const GAP_PROMISED: f64 = 0.02;
const PROMISED_THREADS_MAX: usize = 64;
/// The time that is promised.
const SECONDS_PROMISED: f64 = 1.0;

/// `cargo xtask placement-evidence`.
pub fn run(arguments: &Arguments) -> anyhow::Result<Totals> {
    if cfg!(debug_assertions) {
        return cargo::again_in_release();
    }
    if arguments.proof.is_asked() {
        return placement_proof::run(&arguments.proof);
    }
    let mut totals = Totals::default();
    head("family | threads | in a unit | largest gap | CPU time, ms | proof");
    for (threads, capacity) in SHAPES {
        for family in Family::ALL {
            let (mut gap, mut seconds, mut proofs) = (0.0_f64, 0.0_f64, Vec::new());
            for seed in 0..arguments.seeds {
                let pairs = family.pairs(threads, seed);
                let level = vec![Level { capacity, pairs: pairs.clone() }];
                let problem = Problem::new(threads, level, threads / capacity, Vec::new())?;
                let begun_ns = thread_cpu_time_ns();
                let answer = solve(&problem, Effort::default());
                seconds = seconds.max((thread_cpu_time_ns() - begun_ns) as f64 / 1e9);
                gap = gap.max(answer.gap());
                if !proofs.contains(&answer.proof().name()) {
                    proofs.push(answer.proof().name());
                }
                if let Some(folder) = arguments.write.as_ref().filter(|_| threads <= WRITTEN_THREADS_MAX) {
                    let name = format!("{family:?}-{threads}-{capacity}-{seed}.txt").to_lowercase();
                    write(&folder.join(name), &pairs, capacity, &answer)?;
                }
            }
            println!(
                "| {family:?} | {threads} | {capacity} | {} | {:.0} | {} |",
                in_per_cent(gap),
                seconds * 1e3,
                proofs.join(", ")
            );
            let is_promised = match (family, capacity) {
                (_, 2) => gap <= 0.0,
                (Family::Planted | Family::Sparse, _) if threads <= PROMISED_THREADS_MAX => {
                    gap <= GAP_PROMISED
                }
                _ => true,
            };
            let line = format!("placement-evidence: {family:?}, {threads} threads by {capacity}");
            let holds = is_promised && seconds < SECONDS_PROMISED;
            totals.add(Totals::one(holds, format!("{line}: a gap of {gap}, {seconds} s")));
        }
    }
    Ok(totals)
}

/// Three digits behind the point: what is smaller is rounding of prices.
fn in_per_cent(gap: f64) -> String {
    match gap {
        gap if gap <= 0.0 => "0".to_owned(),
        gap if gap < 5e-6 => "below 0.001 %".to_owned(),
        gap => format!("{:.3} %", gap * 100.0),
    }
}

fn write(path: &Path, pairs: &PairValues, capacity: usize, answer: &Answer) -> anyhow::Result<()> {
    let mut text = format!("{capacity} {} {}\n", answer.value, answer.bound);
    for thread in 0..pairs.threads() {
        let row: Vec<String> = pairs.row(thread).iter().map(f64::to_string).collect();
        writeln!(text, "{}", row.join(" ")).context("cannot write a row")?;
    }
    std::fs::write(path, text)
        .with_context(|| format!("cannot write {}; give a folder that exists", path.display()))
}

//! Price of each way to read the time, as a part of the check-up: the reads of [`crate::clock_reads`] that tell of the machine,
//! on one CPU of each package.

use clock::Counter;
use host::live::{AffinityError, Pinned};
use machine::CpuId;
use stats::Random;

use crate::clock_reads::catalogue::{Catalogue, Read, Scope};
use crate::clock_reads::level::Level;
use crate::clock_reads::price::{Price, Scale};
use crate::clock_reads::{self, Batches};
use crate::session::{Progress, Session};

/// It keeps one core busy.
pub const DISTURBS: &str = "core";

/// Finding how many reads fill a batch, and one last visit on a busy machine.
const VISIT_WORST_S: f64 = 0.1;

/// What to measure.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The CPUs to measure on, one after the other.
    pub cpus: Vec<CpuId>,
    /// Time for all CPUs in seconds.
    pub budget_s: f64,
}

impl Settings {
    /// Time it may take at most, in seconds.
    pub fn worst_case_s(&self) -> f64 {
        self.budget_s + VISIT_WORST_S
    }
}

/// The part of the progress that belongs to one CPU of several.
struct Share<'a> {
    whole: &'a dyn Progress,
    index: usize,
    count: usize,
}

impl Progress for Share<'_> {
    fn update(&self, share_done: f64) {
        self.whole.update((self.index as f64 + share_done.clamp(0.0, 1.0)) / self.count as f64);
    }
}

/// Measures all reads on each CPU and adds their prices to the record.
///
/// # Errors
/// A CPU that may not be used; those measured until then are in the record.
pub fn run(session: &mut Session<'_>, settings: &Settings) -> Result<(), AffinityError> {
    let Catalogue { reads, failed } = Catalogue::find(Scope::Machine, session.rate);
    let tell = |(name, reason)| format!("price of {name}: {reason}");
    session.record.provenance.without.extend(failed.into_iter().map(tell));
    let count = settings.cpus.len();
    let budget_s = settings.budget_s / count.max(1) as f64;
    for (index, &cpu) in settings.cpus.iter().enumerate() {
        if session.must_stop() {
            break;
        }
        let pinned = Pinned::to(cpu)?;
        let mut sampler = session.sampler(cpu);
        let mut random = Random::new(session.random.next_u64());
        let progress = Share { whole: session.progress, index, count };
        let settings = clock_reads::Settings { budget_s, least_s: budget_s };
        let batches = clock_reads::measure(&mut sampler, &reads, &settings, &mut random, &progress);
        let cycles = sampler.control.believed_cycles(session.rate);
        session.absorb(&mut sampler);
        drop(pinned);
        let has_counter = Counter::of_this_machine() != Counter::MonotonicRaw;
        let ticks_per_ns = has_counter.then(|| session.rate.ticks(1.0));
        push(session, cpu, &reads, &batches, &Scale { cycles_per_step: cycles, ticks_per_ns });
    }
    Ok(())
}

fn push(session: &mut Session<'_>, cpu: CpuId, reads: &[Read], batches: &[Batches], scale: &Scale) {
    let level = Level::of(batches.iter().flat_map(|batches| &batches.taken));
    for (read, batches) in reads.iter().zip(batches) {
        let price = level.and_then(|level| Price::of(batches, &level, u64::from(cpu.0)));
        let Some(price) = price else {
            let count = batches.taken.len() + batches.interrupted;
            let told = format!(
                "price of {} on CPU {cpu}: all but a few of {count} batches were disturbed",
                read.name
            );
            session.record.provenance.without.push(told);
            continue;
        };
        let mut row = price.record(read, cpu, scale);
        let name = format!("price of {}, CPU {cpu}", read.name);
        row.spread.raw = Some(session.keep_raw(name, "ns", &price.pieces));
        session.record.clocks.push(row);
    }
}

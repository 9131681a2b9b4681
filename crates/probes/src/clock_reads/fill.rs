//! From measuring to the document: reads, threads, and the verdict on both; all of it, or briefly for a check-up.

use std::time::{Duration, Instant};

use clock::{CounterSource, TimeStampCounter};
use host::live::{self, AffinityError, Pinned};
use host::{Root, kernel_clocks};
use machine::{CpuId, Machine};
use record::{CLOCK_COST_SCHEMA, ClockCost, CostControl, CostVerdict, FailedRead, PublishedCost, RawSeries};
use stats::Random;

use super::catalogue::{CLOCK_NOW, COUNTER, Catalogue, MONOTONIC, Read, SYSTEM_CALL, Scope, TIME_OF_DAY};
use super::level::Level;
use super::price::{Price, Scale};
use super::{Batches, Settings, measure, rounds, threads};
use crate::sampler::Sampler;
use crate::session::Progress;

/// What the kernel's clock costs at least of a system call where it is one.
const CALL_SHARE: f64 = 0.7;
/// A few rounds of threads are made also where they take so many times what they should.
const THREADS_BUDGETS_MAX: f64 = 8.0;
/// Reads whose cost in many threads is measured.
const SCALED: [&str; 4] = [TIME_OF_DAY, MONOTONIC, COUNTER, CLOCK_NOW];
/// The same in a check-up: the call that was published, and the clock that should beat it.
const SCALED_BRIEFLY: [&str; 2] = [TIME_OF_DAY, CLOCK_NOW];
/// Rounds of each of them in as many threads as CPUs, and in twice as many.
const ROUNDS_OF_ALL: u32 = 2 * SCALED_BRIEFLY.len() as u32;
/// More threads than these are not started unasked.
const THREADS_UNASKED: usize = 1024;

/// Where it is measured.
pub struct Subject {
    /// Samples on the first of the CPUs.
    pub sampler: Sampler,
    /// CPUs that threads are pinned to; never empty.
    pub cpus: Vec<CpuId>,
    /// Of all random choices.
    pub random: Random,
}

/// What is read in which numbers of threads, and how long.
#[derive(Debug, Clone, PartialEq)]
pub struct Scaling {
    /// Names of reads.
    pub reads: &'static [&'static str],
    /// Numbers of threads, ascending; the first is 1.
    pub counts: Vec<usize>,
    /// For the rounds of one read in one number of threads.
    pub patience: Duration,
    /// For the costs of all, in seconds; a few rounds are made also where they take longer.
    pub budget_s: f64,
    /// But nothing is begun after this, in seconds.
    pub at_most_s: f64,
}

impl Scaling {
    /// For a command of its own.
    pub fn thorough(counts: Vec<usize>, budget_s: f64) -> Self {
        let at_most_s = budget_s * THREADS_BUDGETS_MAX;
        Self { reads: &SCALED, counts, patience: rounds::PATIENCE, budget_s, at_most_s }
    }

    /// The same within the time of its parts.
    pub fn within(counts: Vec<usize>, brief: &Brief) -> Self {
        let several = counts.iter().filter(|count| **count > 1).count() * SCALED.len();
        let patience = brief.rounds / u32::try_from(several.max(1)).unwrap_or(u32::MAX);
        Self {
            reads: &SCALED,
            counts,
            patience: patience.min(rounds::PATIENCE),
            budget_s: brief.threads_s / 2.0,
            at_most_s: brief.threads_s,
        }
    }
}

/// A document with what is known before anything is measured: what the kernel says, what others measured.
pub fn begun(root: &Root, machine: &Machine) -> ClockCost {
    let row = |name: &str, cycles| PublishedCost {
        name: name.to_owned(),
        cycles,
        source: "article on TSC drift in RHEL, one million calls on a K8".to_owned(),
    };
    ClockCost {
        schema: CLOCK_COST_SCHEMA,
        kernel: kernel_clocks(root, machine),
        published: vec![row("gettimeofday without RDTSCP", 324.0), row("gettimeofday with RDTSCP", 221.0)],
        ..ClockCost::default()
    }
}

/// Numbers of threads where none are asked for: one, as many as CPUs, and twice as many.
pub fn thread_counts(cpus: usize) -> Vec<usize> {
    let mut counts = vec![1, cpus.min(THREADS_UNASKED), (2 * cpus).min(THREADS_UNASKED)];
    counts.dedup();
    counts
}

impl Subject {
    /// Reads and threads within the time of a check-up.
    ///
    /// # Errors
    /// The first CPU may not be used.
    pub fn brief(
        &mut self,
        cost: &mut ClockCost,
        brief: &Brief,
        progress: &dyn Progress,
    ) -> Result<(), AffinityError> {
        let rate = self.sampler.rate;
        let started = Instant::now();
        cost.counter_hz = Some(rate.hz);
        let pinned = Pinned::to(self.cpus[0])?;
        let catalogue = Catalogue::find(Scope::All, rate, brief.clock);
        let settings = Settings { least_s: brief.reads_s / 2.0, ..Settings::exactly(brief.reads_s) };
        self.reads(cost, &catalogue, &settings, progress);
        drop(pinned);
        let scaling = Scaling {
            reads: &SCALED_BRIEFLY,
            counts: thread_counts(self.cpus.len()),
            patience: brief.rounds / ROUNDS_OF_ALL,
            budget_s: brief.threads_s / 2.0,
            at_most_s: brief.threads_s,
        };
        self.scaling(cost, &catalogue, &scaling, progress);
        cost.elapsed_s = started.elapsed().as_secs_f64();
        Ok(())
    }

    /// Every way to read on the first CPU, which the calling thread is pinned to.
    pub fn reads(
        &mut self,
        cost: &mut ClockCost,
        catalogue: &Catalogue,
        settings: &Settings,
        progress: &dyn Progress,
    ) {
        let failed =
            |(name, reason): &(&str, String)| FailedRead { name: (*name).to_owned(), reason: reason.clone() };
        cost.counter_stated_hz = TimeStampCounter::new().ok().and_then(|counter| counter.stated_hz());
        cost.failed = catalogue.failed.iter().map(failed).collect();
        let batches = measure(&mut self.sampler, &catalogue.reads, settings, &mut self.random, progress);
        price(cost, &catalogue.reads, &batches, self.cpus[0], &Scale::of(&self.sampler));
    }

    /// What is read, and what that costs, in so many threads.
    pub fn scaling(
        &mut self,
        cost: &mut ClockCost,
        catalogue: &Catalogue,
        scaling: &Scaling,
        progress: &dyn Progress,
    ) {
        let mut reads = catalogue.chosen(scaling.reads);
        let tick_ns = 1e9 / self.sampler.rate.hz;
        let mut late = Vec::new();
        for read in &reads {
            for &count in scaling.counts.iter().filter(|count| **count > 1) {
                if live::pending_signal().is_some() {
                    return;
                }
                if self.sampler.is_cut() {
                    late.push(format!("{} in {count}", read.name));
                    continue;
                }
                let ns_per_unit = if read.is_in_ticks() { tick_ns } else { 1.0 };
                match rounds::run(read, count, &self.cpus, ns_per_unit, scaling.patience) {
                    Ok(seen) => cost.rounds.push(seen),
                    Err(reason) => {
                        let line = format!("rounds of {} in {count} threads: {reason}", read.name);
                        cost.without.push(line);
                    }
                }
            }
        }
        if !late.is_empty() {
            cost.without.push(format!("no time was left for rounds of {} threads", late.join(", ")));
        }
        reads.push(Read::shared_word());
        let settings = threads::Settings {
            counts: scaling.counts.clone(),
            cpus: self.cpus.clone(),
            budget_s: scaling.budget_s,
            at_most_s: scaling.at_most_s,
        };
        match threads::run(&self.sampler, &reads, &settings, &mut self.random, progress) {
            Ok(rows) => cost.threads = rows,
            Err(reason) => cost.without.push(format!("cost by number of threads: {reason}")),
        }
    }
}

/// From batches to costs and the verdict on them.
fn price(cost: &mut ClockCost, reads: &[Read], batches: &[Batches], cpu: CpuId, scale: &Scale) {
    let all = || batches.iter().flat_map(|batches| &batches.taken);
    let level = Level::of(all());
    for (index, (read, batches)) in reads.iter().zip(batches).enumerate() {
        let price = level.and_then(|level| Price::of(batches, &level, index as u64));
        let Some(price) = price else {
            let count = batches.taken.len() + batches.interrupted;
            cost.without.push(format!("{}: all but a few of {count} batches were disturbed", read.name));
            continue;
        };
        let mut row = price.record(read, cpu, scale);
        row.spread.raw = Some(cost.raw.len());
        let piece = |piece: &Vec<f64>| piece.iter().map(|ns| *ns as f32).collect();
        cost.raw.push(RawSeries {
            name: format!("cost of {}", read.name),
            unit: "ns".to_owned(),
            visits: price.pieces.iter().map(piece).collect(),
            mapping_of_visit: Vec::new(),
        });
        cost.reads.push(row);
    }
    let multiply_ns = Level::multiply_ns(all());
    let cycles = scale.cycles_per_step;
    if cycles.is_none() {
        let why = "cycles of the core: a multiplication's are not known of this CPU, or rotations beside it disagree";
        cost.without.push(why.to_owned());
    }
    cost.control = level.zip(multiply_ns).map(|(level, multiply_ns)| CostControl {
        cpu,
        multiply_ns,
        port_ns: level.share * multiply_ns,
        core_hz: cycles.map(|cycles| cycles / multiply_ns * 1e9),
        adds_per_cycle: cycles.map(|cycles| 1.0 / (level.share * cycles)),
        near_share: level.near,
        plateau_share: level.on_plateau,
        readings: level.readings,
    });
    judge(cost, level, reads.len());
}

/// The verdict, on so many ways that were measured.
fn judge(cost: &mut ClockCost, level: Option<Level>, measured: usize) {
    const AGAIN: &str = "try again when the machine is quieter, or with a longer --budget";
    let vouched = cost.reads.iter().filter(|read| read.refused.is_none()).count();
    let near_percent = level.map_or(0.0, |level| level.near * 100.0);
    let (verdict, why) = if cost.reads.is_empty() {
        let why = format!("hardly a batch stood beside a core that was ours alone; {AGAIN}");
        (CostVerdict::CannotTell, why)
    } else if !level.is_some_and(|level| level.is_certain()) {
        let why =
            "the core was never ours alone for certain: another run may find a whole core, and lower costs";
        (CostVerdict::Refused, format!("{why}; {AGAIN}"))
    } else if vouched == measured {
        let why = format!(
            "the core was ours alone in {near_percent:.0} % of the readings, and only batches beside these count"
        );
        (CostVerdict::Repeatable, why)
    } else if vouched == 0 {
        (CostVerdict::Refused, format!("another run may differ by more than 2 % on every read; {AGAIN}"))
    } else {
        let why = format!("another run agrees within 2 % on {vouched} of {measured} reads");
        (CostVerdict::PartlyRepeatable, why)
    };
    cost.verdict = verdict;
    cost.because.push(why);
    let ns = |name: &str| cost.reads.iter().find(|read| read.name == name).map(|read| read.ns);
    if let (Some(clock), Some(call)) = (ns(MONOTONIC), ns(SYSTEM_CALL))
        && clock >= CALL_SHARE * call
    {
        let source = cost.kernel.clocksource.as_deref().unwrap_or("unknown");
        cost.because.push(format!(
            "every read of the kernel's clock is a system call: the clock source, {source}, cannot be read in user space"
        ));
    }
}

/// Pinning, finding how many reads fill a batch, a child that tries the system call, and the last visit or burst on a busy
/// machine, in seconds.
const BESIDE_S: f64 = 0.5;
/// Of the time that is left after the clock's calibration, the parts of reads and of rounds; the rest is that of threads.
const READS_SHARE: f64 = 0.4;
const ROUNDS_SHARE: f64 = 0.2;
/// The shortest run that says something of every read, in seconds.
const LEAST_S: f64 = 1.6;

/// How long each part may take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Brief {
    /// Calibration of this project's clock, which usually takes 0.1 s.
    pub clock: Duration,
    /// Every way to read, in seconds; half of it where that is enough.
    pub reads_s: f64,
    /// What threads read in released rounds.
    pub rounds: Duration,
    /// Cost by number of threads, in seconds.
    pub threads_s: f64,
}

impl Brief {
    /// What fits into so many seconds; `None` if they are too few.
    pub fn within(seconds: f64) -> Option<Self> {
        let net_s = seconds - BESIDE_S;
        let clock_s = 0.1 * net_s;
        let left_s = net_s - clock_s;
        (seconds >= LEAST_S).then(|| Self {
            clock: Duration::from_secs_f64(clock_s),
            reads_s: left_s * READS_SHARE,
            rounds: Duration::from_secs_f64(left_s * ROUNDS_SHARE),
            threads_s: left_s * (1.0 - READS_SHARE - ROUNDS_SHARE),
        })
    }

    /// The same with no more for rounds and threads, nor for the clock, than they are given at most: the rest goes to the reads.
    #[must_use]
    pub fn capped(self, clock: Duration, rounds: Duration, threads_s: f64) -> Self {
        let most = Self {
            clock: self.clock.min(clock),
            rounds: self.rounds.min(rounds),
            threads_s: self.threads_s.min(threads_s),
            ..self
        };
        Self { reads_s: self.reads_s + self.worst_case_s() - most.worst_case_s(), ..most }
    }

    /// Time it may take at most, in seconds.
    pub fn worst_case_s(&self) -> f64 {
        (self.clock + self.rounds).as_secs_f64() + self.reads_s + self.threads_s + BESIDE_S
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::ClockRead;

    const LEVEL: Level = Level { share: 1.0 / 16.0, near: 0.6, on_plateau: 0.8, readings: 1_000 };

    fn read(name: &str, ns: f64, refused: Option<&str>) -> ClockRead {
        ClockRead { name: name.to_owned(), ns, refused: refused.map(str::to_owned), ..ClockRead::default() }
    }

    #[test]
    fn the_verdict_vouches_for_what_would_come_out_again_only() {
        let (good, bad) = (read("a", 20.0, None), read("b", 30.0, Some("two states")));
        let slope = Level { on_plateau: 0.2, ..LEVEL };
        for (reads, level, expected) in [
            (vec![good.clone()], Some(LEVEL), CostVerdict::Repeatable),
            (vec![good.clone(), bad.clone()], Some(LEVEL), CostVerdict::PartlyRepeatable),
            (vec![bad], Some(LEVEL), CostVerdict::Refused),
            (vec![good], Some(slope), CostVerdict::Refused),
            (vec![], None, CostVerdict::CannotTell),
        ] {
            let mut cost = ClockCost { reads, ..ClockCost::default() };
            let measured = cost.reads.len();
            judge(&mut cost, level, measured);
            assert_eq!((cost.verdict, cost.because.len()), (expected, 1), "{:?}", cost.because);
        }
        // One way of which nothing is known is one that nobody vouches for.
        let mut cost = ClockCost { reads: vec![read("a", 20.0, None)], ..ClockCost::default() };
        judge(&mut cost, Some(LEVEL), 2);
        assert_eq!(cost.verdict, CostVerdict::PartlyRepeatable);
    }

    #[test]
    fn a_clock_source_that_only_the_kernel_can_read_is_named() {
        let reads = vec![read(MONOTONIC, 900.0, None), read(SYSTEM_CALL, 1_000.0, None)];
        let mut cost = ClockCost { reads, ..ClockCost::default() };
        cost.kernel.clocksource = Some("hpet".to_owned());
        judge(&mut cost, Some(LEVEL), 2);
        assert!(cost.because.iter().any(|why| why.contains("hpet, cannot be read in user space")));
    }

    #[test]
    fn unasked_threads_go_beyond_the_cpus() {
        assert_eq!(thread_counts(1), [1, 2]);
        assert_eq!(thread_counts(2), [1, 2, 4]);
        assert_eq!(thread_counts(4_000), [1, 1024]);
    }

    #[test]
    fn the_parts_fill_the_time_and_too_little_of_it_is_none() {
        assert_eq!(Brief::within(1.0), None);
        for seconds in [1.6, 2.4, 12.0] {
            let brief = Brief::within(seconds).expect("enough");
            assert!((brief.worst_case_s() - seconds).abs() < 1e-6, "{brief:?}");
            assert!(brief.reads_s > 0.35 && brief.threads_s > 0.35, "{brief:?}");
            let capped = brief.capped(Duration::ZERO, brief.rounds, 0.3);
            assert!((capped.worst_case_s() - seconds).abs() < 1e-6 && capped.reads_s > brief.reads_s);
        }
    }
}

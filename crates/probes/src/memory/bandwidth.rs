//! Bandwidth against block size, on one CPU and on all: where each level's bandwidth ends.
//!
//! A block is the total of all arrays and threads. Every round maps the memory afresh, for several CPUs a part by each
//! of them, and visits all points in shuffled order at random offsets; later rounds visit the points whose interval is
//! still wide. So a run that is cut short has all points, with fewer visits.

use std::time::{Duration, Instant};

use host::live::{PageRequest, Pages};
use kernels::{Operation, Store, StreamKernel, StreamLoop};
use machine::{Bytes, CpuId, Machine};
use record::{BandwidthPoint, Scope, metric};

use super::worker_group::{
    GroupMemory, PART_BYTES_MIN, StreamJob, map_for_group, stream_visit, worst_case_visit_s,
};
use super::{HALF_WIDTH, MemoryError};
use crate::probe::{CheckUpProbe, Planned, Section, Subject};
use crate::room::{claimed_cache, largest_block};
use crate::series::{Series, doubted, page_bytes};
use crate::session::Session;

/// The smallest block of a curve.
const SMALLEST_BYTES: usize = 4 << 10;
/// Up to here there are two blocks per octave, above one.
const TWO_PER_OCTAVE_UP_TO: usize = 64 << 20;
/// Windows of one visit.
const WINDOWS: usize = 9;
/// Rounds that visit every point.
const FULL_ROUNDS: u32 = 2;
/// A block of up to so many times the largest claimed cache is swept once before it is measured.
const WARM_CACHES: u64 = 2;
/// Offsets of blocks in the mapping are multiples of this.
const OFFSET_STEP_BYTES: usize = 4096;
/// Share of the time for one CPU; the rest is for all CPUs.
const SHARE_FOR_ONE_CPU: f64 = 0.45;
/// Mapping, touching and filling runs at least this fast, in bytes per second.
const SLOWEST_FILL_BYTES_PER_S: f64 = 1.0e9;

/// Which kernels to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kernels {
    /// Read, write, triad and triad with non-temporal stores, each with the widest instruction set.
    Widest,
    /// Every kernel that this CPU can run.
    All,
}

/// One visit to each point, in an epoch: 0.7 s on a quiet guest of two CPUs.
const EPOCH_ROUND_S: f64 = 0.65;
/// Laying blocks comes first. A busy machine lays more slowly, and then takes what earlier probes left: at a load of nine 1.0 s was too little
/// for 256 MiB, and 4.3 s for a GiB.
const EPOCH_LAYING_S_PER_GIB: f64 = 1.0;

/// The probe in the check-up.
pub(crate) const PROBE: CheckUpProbe = CheckUpProbe {
    seconds: [Some(2.8), Some(11.0), Some(95.0)],
    least_s: 2.7,
    epoch_least_s: Some(EPOCH_ROUND_S),
    takes_left_over: true,
    rank: 40,
    // Memory is shared by all.
    disturbs: "machine",
    ..CheckUpProbe::new("bandwidth", Section::Memory, plan)
};

fn plan(subject: &Subject<'_>, seconds: f64) -> Planned {
    let settings = subject.by_depth([Settings::quick, Settings::check_up, Settings::full])();
    let reduced = settings.reduced(subject.machine);
    let laying_s = EPOCH_LAYING_S_PER_GIB * settings.largest.0 as f64 / Bytes::GIB.0 as f64;
    subject
        .planned(seconds, settings, |settings| &mut settings.budget_s, Settings::worst_case_s, run)
        .reduced(reduced)
        .with_epochs_of(EPOCH_ROUND_S + laying_s)
}

/// What to measure.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Which kernels.
    pub kernels: Kernels,
    /// The largest block, if the machine has room for it.
    pub largest: Bytes,
    /// Rounds at most.
    pub rounds_max: u32,
    /// Time for everything, in seconds.
    pub budget_s: f64,
}

impl Kernels {
    fn loops(self) -> Vec<StreamLoop> {
        match self {
            Self::Widest => [
                (Operation::Read, Store::None),
                (Operation::Write, Store::Plain),
                (Operation::Triad, Store::Plain),
                (Operation::Triad, Store::NonTemporal),
            ]
            .into_iter()
            .filter_map(|(operation, store)| StreamKernel::widest(operation, store))
            .collect(),
            Self::All => StreamKernel::all().filter_map(|kernel| kernel.available()).collect(),
        }
    }
}

impl Settings {
    /// `--quick`: to 256 MiB.
    pub fn quick() -> Self {
        Self { largest: Bytes(256 << 20), rounds_max: 2, ..Self::check_up() }
    }

    /// The check-up: to 1 GiB.
    pub fn check_up() -> Self {
        Self { kernels: Kernels::Widest, largest: Bytes::GIB, rounds_max: 10, budget_s: 0.0 }
    }

    /// `--full`: every kernel.
    pub fn full() -> Self {
        Self { kernels: Kernels::All, ..Self::check_up() }
    }

    /// Time it may take at most, in seconds: the budget, and what cannot be broken off.
    pub fn worst_case_s(&self, cpus: usize, machine: &Machine) -> f64 {
        let largest = largest_block(machine, self.largest);
        let map_s = largest.0 as f64 / SLOWEST_FILL_BYTES_PER_S;
        self.budget_s + map_s + worst_case_visit_s(largest, cpus, WINDOWS)
    }

    /// What this machine makes smaller, one line each.
    pub fn reduced(&self, machine: &Machine) -> Vec<String> {
        let largest = largest_block(machine, self.largest);
        let line = || {
            format!(
                "largest block {largest} in place of {}: a quarter of memory, half of a limit",
                self.largest
            )
        };
        (largest < self.largest).then(line).into_iter().collect()
    }
}

/// Block sizes for so many CPUs, ascending: each CPU's part holds at least a page.
pub fn blocks(largest: Bytes, cpus: usize) -> Vec<usize> {
    let mut blocks = Vec::new();
    let mut octave = SMALLEST_BYTES;
    while octave as u64 <= largest.0 {
        blocks.push(octave);
        let between = octave / 2 * 3;
        if octave < TWO_PER_OCTAVE_UP_TO && between as u64 <= largest.0 {
            blocks.push(between);
        }
        octave *= 2;
    }
    blocks.retain(|block| block / cpus.max(1) >= PART_BYTES_MIN);
    blocks
}

struct Point {
    kernel: StreamLoop,
    block_bytes: usize,
    passes: Option<u64>,
    series: Series,
    windows_apart: usize,
}

impl Point {
    fn series_name(&self, cpus: usize) -> String {
        format!("bandwidth, {}, {cpus} CPUs, block {}", self.kernel.kernel(), Bytes(self.block_bytes as u64))
    }
}

/// Measures the curves of one CPU and of all, and adds them to the record, also when stopped half-way.
///
/// # Errors
/// No memory, or a CPU that may not be used.
pub fn run(session: &mut Session<'_>, settings: &Settings) -> Result<(), MemoryError> {
    let started = Instant::now();
    let time_left_s = session.time_left().as_secs_f64();
    let until = |share: f64| Until {
        first: started + Duration::from_secs_f64(time_left_s * share),
        later: started + Duration::from_secs_f64(settings.budget_s.min(time_left_s) * share),
    };
    let cpus = session.cpus.clone();
    if let [only] = cpus[..] {
        return Curves::new(settings, Scope::Cpu, vec![only], session).measure(session, started, until(1.0));
    }
    let one = Curves::new(settings, Scope::Cpu, vec![cpus[0]], session);
    one.measure(session, started, until(SHARE_FOR_ONE_CPU))?;
    Curves::new(settings, Scope::Machine, cpus, session).measure(session, started, until(1.0))
}

/// When rounds end: the first one has all the time there is, so that an epoch that lays its blocks slowly has its windows.
#[derive(Clone, Copy)]
struct Until {
    first: Instant,
    later: Instant,
}

/// The curves of one scope while they are measured.
struct Curves<'s> {
    settings: &'s Settings,
    scope: Scope,
    cpus: Vec<CpuId>,
    points: Vec<Point>,
    pages: Vec<Pages>,
    largest_part_bytes: usize,
    warm_bytes_max: usize,
}

impl<'s> Curves<'s> {
    fn new(settings: &'s Settings, scope: Scope, cpus: Vec<CpuId>, session: &Session<'_>) -> Self {
        let machine = &session.record.machine;
        let largest = largest_block(machine, settings.largest);
        let sizes = blocks(largest, cpus.len());
        let points = settings
            .kernels
            .loops()
            .into_iter()
            .flat_map(|kernel| {
                sizes.iter().map(move |&block_bytes| Point {
                    kernel,
                    block_bytes,
                    passes: None,
                    series: Series::default(),
                    windows_apart: 0,
                })
            })
            .collect();
        let warm = claimed_cache(machine, Bytes(TWO_PER_OCTAVE_UP_TO as u64)).0 * WARM_CACHES;
        Self {
            settings,
            scope,
            points,
            pages: Vec::new(),
            largest_part_bytes: sizes.last().copied().unwrap_or(0) / cpus.len(),
            warm_bytes_max: warm as usize,
            cpus,
        }
    }

    fn measure(
        mut self,
        session: &mut Session<'_>,
        started: Instant,
        until: Until,
    ) -> Result<(), MemoryError> {
        let deadline = session.deadline;
        let result = self.rounds(session, started, &until);
        session.deadline = deadline;
        self.keep(session);
        result
    }

    fn rounds(
        &mut self,
        session: &mut Session<'_>,
        started: Instant,
        until: &Until,
    ) -> Result<(), MemoryError> {
        for round in 0..self.settings.rounds_max {
            session.deadline = if round == 0 { until.first } else { until.later };
            let chosen = self.chosen(round, session);
            if chosen.is_empty() || self.largest_part_bytes == 0 {
                return Ok(());
            }
            if session.must_stop() {
                return Ok(());
            }
            let mut memory = match map_for_group(
                session,
                &self.cpus,
                vec![None; self.cpus.len()],
                self.largest_part_bytes,
            ) {
                // There is no time to use it.
                Err(error) if error.is_broken_off() => return Ok(()),
                mapped => mapped?,
            };
            self.pages.extend(&memory.pages);
            for index in chosen {
                if session.must_stop() {
                    return Ok(());
                }
                self.visit(session, &mut memory, round, index)?;
                session.progress.update(started.elapsed().as_secs_f64() / self.settings.budget_s);
            }
        }
        Ok(())
    }

    /// The points of a round in shuffled order: first all, then those that are not narrow enough.
    fn chosen(&self, round: u32, session: &mut Session<'_>) -> Vec<usize> {
        let is_settled = |index: usize| self.points[index].series.is_settled(&metric::BANDWIDTH, HALF_WIDTH);
        let mut chosen: Vec<usize> =
            (0..self.points.len()).filter(|&index| round < FULL_ROUNDS || !is_settled(index)).collect();
        session.random.shuffle(&mut chosen);
        chosen
    }

    fn visit(
        &mut self,
        session: &mut Session<'_>,
        memory: &mut GroupMemory,
        mapping: u32,
        index: usize,
    ) -> Result<(), MemoryError> {
        let point = &mut self.points[index];
        let part_bytes = point.block_bytes / self.cpus.len() / OFFSET_STEP_BYTES * OFFSET_STEP_BYTES;
        let room = (self.largest_part_bytes - part_bytes) / OFFSET_STEP_BYTES;
        let job = StreamJob {
            kernel: point.kernel,
            part_bytes,
            offset_bytes: session.random.below(room as u64 + 1) as usize * OFFSET_STEP_BYTES,
            passes: point.passes,
            windows: WINDOWS,
            warm_bytes_max: self.warm_bytes_max / self.cpus.len(),
            first_chunk: session.random.below(u64::from(u32::MAX)) as usize,
        };
        let visit = stream_visit(session, memory, &job, || point.series_name(self.cpus.len()))?;
        point.passes = Some(visit.passes);
        point.windows_apart += visit.apart;
        point.series.visits.push(visit.into_point(mapping));
        Ok(())
    }

    /// Adds every point that has a value to the record.
    fn keep(&self, session: &mut Session<'_>) {
        let page_bytes = page_bytes(PageRequest::Huge, &self.pages);
        for point in &self.points {
            let name = point.series_name(self.cpus.len());
            let Some(measured) = point.series.measured(session, &metric::BANDWIDTH, name) else { continue };
            let kernel = point.kernel.kernel();
            let block_bytes = Bytes(point.block_bytes as u64);
            session.result().memory.bandwidth.push(BandwidthPoint {
                scope: self.scope,
                cpus: self.cpus.iter().copied().collect(),
                kernel: kernel.operation.name().to_owned(),
                isa: kernel.isa.name().to_owned(),
                store: kernel.store.name().to_owned(),
                block_bytes,
                page_bytes,
                bytes_per_s: measured.value,
                spread: doubted(measured.spread, point.windows_apart),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_run_from_4_kib_to_the_largest_two_per_octave_then_one() {
        let all = blocks(Bytes::GIB, 1);
        assert_eq!((all[0], all[1], *all.last().expect("blocks")), (4 << 10, 6 << 10, 1 << 30));
        assert_eq!(all.len(), 28 + 5);
        assert!(all.is_sorted());
        assert_eq!(blocks(Bytes(100 << 20), 1).last(), Some(&(64 << 20)));
    }

    #[test]
    fn with_many_cpus_every_part_still_holds_a_page() {
        assert_eq!(blocks(Bytes::GIB, 64)[0], 256 << 10);
        assert!(blocks(Bytes(4096), 64).is_empty());
    }

    #[test]
    fn the_worst_case_is_the_budget_and_a_little() {
        let machine = Machine::default();
        let settings = Settings::check_up();
        let worst = settings.worst_case_s(2, &machine);
        assert!(worst > settings.budget_s && worst < settings.budget_s + 3.0, "{worst}");
        assert!(settings.reduced(&machine).is_empty());
    }

    #[test]
    fn a_small_machine_gets_a_smaller_block_and_says_so() {
        let mut machine = Machine::default();
        machine.environment.memory_bytes = Some(Bytes(1 << 30));
        assert_eq!(Settings::check_up().reduced(&machine).len(), 1);
    }
}

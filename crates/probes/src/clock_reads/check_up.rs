//! Price of each way to read the time, as a part of the check-up: the reads that show the machine,
//! on one CPU of each package; on the first of them, where there is time, all reads, and their cost in many threads.

use host::Root;
use host::live::{AffinityError, Pinned};
use machine::CpuId;
use record::{ClockCost, ClockRead, Record};
use stats::Random;

use super::catalogue::{CLOCK_PATIENCE, Catalogue, Read, Scope, is_of_the_machine};
use super::fill::{self, Brief, Subject};
use super::level::Level;
use super::price::{Price, Scale};
use super::{Batches, Settings as ReadSettings, measure, series_name};
use crate::probe::{self, CheckUpProbe, Depth, Planned, Section};
use crate::series::{PointVisit, Series};
use crate::session::{Progress, Session};

/// Finding how many reads fill a batch, and one last visit on a busy machine.
const VISIT_WORST_S: f64 = 0.1;

/// So much longer a CPU is measured that others use too, until every read has the fewest batches that tell a price.
const FEW_BATCHES_S: f64 = 1.0;

/// The probe in the check-up.
pub(crate) const PROBE: CheckUpProbe = CheckUpProbe {
    seconds: [Some(0.4), Some(2.4), Some(12.0)],
    least_s: 0.3,
    epoch_least_s: Some(0.15),
    takes_left_over: true,
    per_cpu_s: 0.01,
    rank: 50,
    // It keeps one core busy.
    disturbs: "core",
    ..CheckUpProbe::new("clock-reads", Section::Clocks, plan)
};

fn plan(subject: &probe::Subject<'_>, seconds: f64) -> Planned {
    let cpus = one_cpu_per_package(subject);
    let (settings, reduced) = Settings::within(seconds, cpus, subject.depth != Depth::Quick);
    let cost = settings.cost.iter().flat_map(|brief| {
        [
            ("cost: reads", brief.reads_s),
            ("cost: rounds", brief.rounds.as_secs_f64()),
            ("cost: threads", brief.threads_s),
        ]
    });
    let shares = cost.chain([("budget", settings.budget_s)]).collect();
    let worst_case_s = settings.worst_case_s();
    // Every way to read the time, in threads too, needs its time in one piece.
    let epoch_least_s = if settings.cost.is_some() { f64::INFINITY } else { 0.0 };
    Planned::new(settings, run, worst_case_s, shares).reduced(reduced).with_epochs_of(epoch_least_s)
}

/// One CPU of each package, the first; on a hybrid machine or elsewhere without package numbers the first of all.
fn one_cpu_per_package(subject: &probe::Subject<'_>) -> Vec<CpuId> {
    let topology = &subject.machine.topology;
    let mut packages = Vec::new();
    let mut chosen = Vec::new();
    for &cpu in subject.cpus {
        let package = topology.cpu(cpu).map(|cpu| cpu.package);
        if !packages.contains(&package) {
            packages.push(package);
            chosen.push(cpu);
        }
    }
    chosen
}

/// What to measure.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The CPUs to measure on, one after the other.
    pub cpus: Vec<CpuId>,
    /// Time for all CPUs in seconds, or for all but the first where that has its own.
    pub budget_s: f64,
    /// Time for every way to read on the first CPU, and in many threads; `None` leaves that out.
    pub cost: Option<Brief>,
}

/// Share of the time that packages but the first get where all that can be measured is.
const OTHERS_SHARE: f64 = 0.2;

impl Settings {
    /// What fits into the time on these CPUs: all that can be measured, if that is asked for and there is time, and else a line
    /// that says so.
    pub fn within(seconds: f64, cpus: Vec<CpuId>, with_cost: bool) -> (Self, Vec<String>) {
        let others_s = if cpus.len() > 1 { OTHERS_SHARE * seconds } else { 0.0 };
        let cost = if with_cost { Brief::within(seconds - others_s) } else { None };
        let net_s = if cost.is_some() { others_s } else { seconds } - VISIT_WORST_S;
        let reduced = (with_cost && cost.is_none()).then(|| {
            "only reads that tell of the machine: the time is too short for all, in threads".to_owned()
        });
        (Self { cpus, budget_s: net_s.max(0.05), cost }, reduced.into_iter().collect())
    }

    /// Time it may take at most, in seconds.
    pub fn worst_case_s(&self) -> f64 {
        let others_s =
            if self.cost.is_some() && self.cpus.len() < 2 { 0.0 } else { self.budget_s + VISIT_WORST_S };
        others_s + self.cost.map_or(0.0, |brief| brief.worst_case_s())
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
    let Catalogue { reads, failed } = Catalogue::find(Scope::Machine, session.rate, CLOCK_PATIENCE);
    let line = |(name, reason)| format!("price of {name}: {reason}");
    session.record.provenance.without.extend(failed.into_iter().map(line));
    let mut cpus = settings.cpus.as_slice();
    if let (Some(brief), Some((&first, others))) = (&settings.cost, settings.cpus.split_first()) {
        cost(session, first, brief)?;
        cpus = others;
    }
    let count = cpus.len();
    let budget_s = settings.budget_s / count.max(1) as f64;
    for (index, &cpu) in cpus.iter().enumerate() {
        if session.must_stop() {
            break;
        }
        let pinned = Pinned::to(cpu)?;
        let mut sampler = session.sampler(cpu);
        let mut random = Random::new(session.random.next_u64());
        let progress = Share { whole: session.progress, index, count };
        // A core that others use too has no undisturbed batch most of the time.
        let left_s = session.time_left().as_secs_f64() / (count - index) as f64;
        let most_s = budget_s.max(left_s.min(budget_s + FEW_BATCHES_S));
        let settings = ReadSettings { most_s, ..ReadSettings::exactly(budget_s) };
        let batches = measure(&mut sampler, &reads, &settings, &mut random, &progress);
        let scale = Scale::of(&sampler);
        session.absorb(&mut sampler);
        drop(pinned);
        push(session, cpu, &reads, &batches, &scale);
    }
    Ok(())
}

/// Everything on one CPU, and in threads on all.
fn cost(session: &mut Session<'_>, cpu: CpuId, brief: &Brief) -> Result<(), AffinityError> {
    let mut cost = fill::begun(&Root::live(), &session.record.machine);
    let others = session.cpus.iter().copied().filter(|other| *other != cpu);
    let mut subject = Subject {
        sampler: session.sampler(cpu),
        cpus: std::iter::once(cpu).chain(others).collect(),
        random: Random::new(session.random.next_u64()),
    };
    let measured = subject.brief(&mut cost, brief, session.progress);
    session.absorb(&mut subject.sampler);
    measured?;
    keep(session.result(), cost);
    Ok(())
}

/// Puts costs into a record: batches beside those of other probes, and what tells of the machine beside its other packages.
pub fn keep(record: &mut Record, mut cost: ClockCost) {
    let (before, raw) = (record.raw.len(), std::mem::take(&mut cost.raw));
    record.raw.extend(raw);
    for read in &mut cost.reads {
        read.spread.raw = read.spread.raw.map(|index| before + index);
    }
    let is_usual = |read: &&ClockRead| is_of_the_machine(&read.name);
    record.clocks.extend(cost.reads.iter().filter(is_usual).cloned());
    record.clock_cost = Some(cost);
}

fn push(session: &mut Session<'_>, cpu: CpuId, reads: &[Read], batches: &[Batches], scale: &Scale) {
    let level = Level::of(batches.iter().flat_map(|batches| &batches.taken));
    for (read, batches) in reads.iter().zip(batches) {
        let price = level.and_then(|level| Price::of(batches, &level, u64::from(cpu.0)));
        let Some(price) = price else {
            let count = batches.taken.len() + batches.interrupted;
            let line = format!(
                "price of {} on CPU {cpu}: all but a few of {count} batches were disturbed",
                read.name
            );
            session.record.provenance.without.push(line);
            continue;
        };
        let mut row = price.record(read, cpu, scale);
        let mut pieces = Series::default();
        price
            .pieces
            .into_iter()
            .for_each(|windows| pieces.add(PointVisit { windows, ..PointVisit::default() }));
        row.spread.raw = Some(session.record.push_raw(pieces.raw(series_name(read, cpu), "ns")));
        session.result().clocks.push(row);
    }
}

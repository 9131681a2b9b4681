//! STREAM on each CPU in turn, on the CPUs of each node at once, and on all at once.
//!
//! Rounds are shuffled: nodes, CPUs of a node and kernels come in another order each time, as one pass after the other
//! shows up to 38 % between equal CPUs of a busy machine. One block per node and round, touched by a CPU of that node,
//! serves all its CPUs in turn; for several CPUs at once each touches its own part.

use std::time::Instant;

use host::live::PageRequest;
use kernels::{Isa, Operation, Store, StreamKernel, StreamLoop};
use machine::{Bytes, CpuId, Machine, NodeId};
use record::{Scope, StreamResult, metric};

use super::worker_group::{
    CHUNKS_PER_WINDOW, GroupMemory, StreamJob, map_for_group, stream_visit, worst_case_visit_s,
};
use super::{HALF_WIDTH, MemoryError};
use crate::probe::{CheckUpProbe, Planned, Section, Subject};
use crate::room::{claimed_cache, claimed_caches_together, largest_block};
use crate::series::{Series, doubted, page_bytes};
use crate::session::Session;

/// STREAM's rule: each array is at least so many times the largest cache (STREAM 5.10, instruction 1).
const CACHES_PER_ARRAY: u64 = 4;
/// Arrays of a triad.
const ARRAYS: u64 = 3;
/// The smallest block: 64 MiB per array, for machines that claim no or small caches.
const SMALLEST_BLOCK: Bytes = Bytes(192 << 20);
/// Windows of one visit; a window sweeps 16 MiB per CPU.
const WINDOWS: usize = 10;
/// Mapping, touching and filling runs at least this fast, in bytes per second.
const SLOWEST_FILL_BYTES_PER_S: f64 = 1.0e9;
/// Rounds that visit every CPU and kernel.
const FULL_ROUNDS: u32 = 2;

/// Which of STREAM's kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kernels {
    /// Triad, plain and non-temporal, with the widest instruction set.
    Triad,
    /// Triad and copy.
    TriadAndCopy,
    /// Copy, scale, add and triad, and triad as scalar doubles.
    All,
}

/// The probe in the check-up.
pub(crate) const PROBE: CheckUpProbe = CheckUpProbe {
    seconds: [Some(2.6), Some(8.0), Some(30.0)],
    least_s: 2.1,
    // One round takes 0.55 s on a quiet guest of two CPUs, most of it for laying arrays.
    epoch_least_s: Some(1.05),
    takes_left_over: true,
    per_cpu_s: 0.06,
    rank: 30,
    // Memory is shared by all.
    disturbs: "machine",
    ..CheckUpProbe::new("stream", Section::Memory, plan)
};

fn plan(subject: &Subject<'_>, seconds: f64) -> Planned {
    let settings = subject.by_depth([Settings::quick, Settings::check_up, Settings::full])();
    let reduced = settings.reduced(subject.machine);
    subject
        .planned(seconds, settings, |settings| &mut settings.budget_s, Settings::worst_case_s, run)
        .reduced(reduced)
}

/// What to measure.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Which kernels.
    pub kernels: Kernels,
    /// The largest array, whatever the caches claim.
    pub array_max: Bytes,
    /// Rounds at most.
    pub rounds_max: u32,
    /// Time for everything, in seconds.
    pub budget_s: f64,
}

impl Kernels {
    fn loops(self) -> Vec<StreamLoop> {
        let operations: &[Operation] = match self {
            Self::Triad => &[Operation::Triad],
            Self::TriadAndCopy => &[Operation::Triad, Operation::Copy],
            Self::All => &[Operation::Triad, Operation::Copy, Operation::Scale, Operation::Add],
        };
        let widest = operations.iter().flat_map(|&operation| {
            [Store::Plain, Store::NonTemporal].map(|store| StreamKernel::widest(operation, store))
        });
        let scalar = StreamKernel { operation: Operation::Triad, isa: Isa::ScalarF64, store: Store::Plain }
            .available();
        widest.flatten().chain(scalar.filter(|_| self == Self::All)).collect()
    }
}

impl Settings {
    /// `--quick`: triad only.
    pub fn quick() -> Self {
        Self { kernels: Kernels::Triad, rounds_max: 2, ..Self::check_up() }
    }

    /// The check-up.
    pub fn check_up() -> Self {
        Self { kernels: Kernels::TriadAndCopy, array_max: Bytes(256 << 20), rounds_max: 20, budget_s: 0.0 }
    }

    /// `--full`: all four, larger arrays.
    pub fn full() -> Self {
        Self { kernels: Kernels::All, array_max: Bytes(512 << 20), rounds_max: 10, ..Self::check_up() }
    }

    /// Bytes of the three arrays for a claimed cache, as far as there is room.
    fn block(&self, machine: &Machine, cache: Bytes) -> Bytes {
        let bytes = (cache.0 * CACHES_PER_ARRAY).min(self.array_max.0) * ARRAYS;
        largest_block(machine, Bytes(bytes.max(SMALLEST_BLOCK.0)))
    }

    /// The largest block it maps.
    pub fn largest(&self, machine: &Machine) -> Bytes {
        self.block(machine, claimed_cache(machine, SMALLEST_BLOCK))
            .max(self.block(machine, claimed_caches_together(machine)))
    }

    /// Time it may take at most, in seconds: the budget, and what cannot be broken off.
    pub fn worst_case_s(&self, cpus: usize, machine: &Machine) -> f64 {
        let largest = self.largest(machine);
        self.budget_s
            + largest.0 as f64 / SLOWEST_FILL_BYTES_PER_S
            + worst_case_visit_s(largest, cpus, WINDOWS)
    }

    /// What this machine makes smaller, one line each.
    pub fn reduced(&self, machine: &Machine) -> Vec<String> {
        let cache = claimed_cache(machine, SMALLEST_BLOCK);
        let (array, rule) = (Bytes(self.block(machine, cache).0 / ARRAYS), Bytes(cache.0 * CACHES_PER_ARRAY));
        let line =
            || format!("arrays of {array} in place of {rule}, four times the claimed cache of {cache}");
        (array < rule && machine.topology.largest_cache_bytes().is_some()).then(line).into_iter().collect()
    }
}

/// CPUs that work at once, or one of them in turn.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Team {
    scope: Scope,
    node: Option<NodeId>,
    cpus: Vec<CpuId>,
}

/// Every CPU alone, every node of several, the machine of several; a node that is the whole machine is the machine.
fn teams(cpus: &[CpuId], node_of: impl Fn(CpuId) -> Option<NodeId>) -> Vec<Team> {
    let alone = cpus.iter().map(|&cpu| Team { scope: Scope::Cpu, node: node_of(cpu), cpus: vec![cpu] });
    let nodes = by_node(cpus, &node_of);
    let whole = |team: &Team| team.cpus.len() == cpus.len();
    let nodes = nodes.into_iter().filter(|team| team.cpus.len() > 1 && !whole(team));
    let machine = Team { scope: Scope::Machine, node: None, cpus: cpus.to_vec() };
    alone.chain(nodes).chain((cpus.len() > 1).then_some(machine)).collect()
}

fn by_node(cpus: &[CpuId], node_of: impl Fn(CpuId) -> Option<NodeId>) -> Vec<Team> {
    let mut groups: std::collections::BTreeMap<Option<NodeId>, Vec<CpuId>> =
        std::collections::BTreeMap::new();
    for &cpu in cpus {
        groups.entry(node_of(cpu)).or_default().push(cpu);
    }
    groups.into_iter().map(|(node, cpus)| Team { scope: Scope::Node, node, cpus }).collect()
}

struct Point {
    team: Team,
    kernel: StreamLoop,
    block: Bytes,
    series: Series,
    windows_apart: usize,
    pages: Vec<host::live::Pages>,
}

impl Point {
    fn series_name(&self, page: Bytes) -> String {
        let cpus: machine::CpuSet = self.team.cpus.iter().copied().collect();
        format!("stream, {}, CPUs {cpus}, {page} pages, block {}", self.kernel.kernel(), self.block)
    }
}

/// Measures all teams and adds them to the record, also when stopped half-way.
///
/// # Errors
/// No memory, or a CPU that may not be used.
pub fn run(session: &mut Session<'_>, settings: &Settings) -> Result<(), MemoryError> {
    let machine = &session.record.machine;
    let blocks = [
        settings.block(machine, claimed_cache(machine, SMALLEST_BLOCK)),
        settings.block(machine, claimed_caches_together(machine)),
    ];
    let loops = settings.kernels.loops();
    let teams = teams(&session.cpus, |cpu| session.node_of(cpu));
    let points = teams
        .iter()
        .flat_map(|team| {
            let block = blocks[usize::from(team.scope != Scope::Cpu)];
            loops.iter().map(move |&kernel| Point {
                team: team.clone(),
                kernel,
                block,
                series: Series::default(),
                windows_apart: 0,
                pages: Vec::new(),
            })
        })
        .collect();
    let mut table = Table { settings, points, started: Instant::now(), mappings: 0, next_chunk: 0 };
    let result = table.rounds(session);
    table.keep(session);
    result
}

/// The table while it is measured.
struct Table<'s> {
    settings: &'s Settings,
    points: Vec<Point>,
    started: Instant,
    mappings: u32,
    next_chunk: usize,
}

impl Table<'_> {
    fn rounds(&mut self, session: &mut Session<'_>) -> Result<(), MemoryError> {
        let mut homes = by_node(&session.cpus, |cpu| session.node_of(cpu));
        let mut groups: Vec<Team> = self.points.iter().map(|point| point.team.clone()).collect();
        groups.retain(|team| team.scope != Scope::Cpu);
        groups.dedup();
        for round in 0..self.settings.rounds_max {
            if round >= FULL_ROUNDS && self.all_done() {
                break;
            }
            session.random.shuffle(&mut homes);
            for home in homes.clone() {
                if self.is_over(session, round) {
                    return Ok(());
                }
                let of_home =
                    |point: &Point| point.team.scope == Scope::Cpu && home.cpus.contains(&point.team.cpus[0]);
                self.on_one_mapping(session, round, &[home.cpus[0]], of_home)?;
            }
            session.random.shuffle(&mut groups);
            for group in groups.clone() {
                if self.is_over(session, round) {
                    return Ok(());
                }
                self.on_one_mapping(session, round, &group.cpus, |point| point.team == group)?;
            }
        }
        Ok(())
    }

    /// The first round has all the time there is, so that an epoch that lays its arrays slowly has its windows.
    fn is_over(&self, session: &Session<'_>, round: u32) -> bool {
        let has_spent = || self.started.elapsed().as_secs_f64() >= self.settings.budget_s;
        session.must_stop() || round > 0 && has_spent()
    }

    fn all_done(&self) -> bool {
        self.points.iter().all(|point| point.series.is_settled(&metric::STREAM, HALF_WIDTH))
    }

    /// Maps a block, a part by each of `touched_by`, and visits the points chosen in shuffled order on it.
    fn on_one_mapping(
        &mut self,
        session: &mut Session<'_>,
        round: u32,
        touched_by: &[CpuId],
        is_chosen: impl Fn(&Point) -> bool,
    ) -> Result<(), MemoryError> {
        let mut chosen: Vec<usize> =
            (0..self.points.len()).filter(|&index| is_chosen(&self.points[index])).collect();
        session.random.shuffle(&mut chosen);
        let Some(&first) = chosen.first() else { return Ok(()) };
        let part_bytes =
            self.points[first].block.0 as usize / touched_by.len() / PART_STEP_BYTES * PART_STEP_BYTES;
        let mut memory = match map_for_group(session, touched_by, vec![None; touched_by.len()], part_bytes) {
            // There is no time to use it.
            Err(error) if error.is_broken_off() => return Ok(()),
            mapped => mapped?,
        };
        let mapping = self.mappings;
        self.mappings += 1;
        for index in chosen {
            if self.is_over(session, round) {
                break;
            }
            self.visit(session, &mut memory, mapping, index)?;
            session.progress.update(self.started.elapsed().as_secs_f64() / self.settings.budget_s);
        }
        Ok(())
    }

    fn visit(
        &mut self,
        session: &mut Session<'_>,
        memory: &mut GroupMemory,
        mapping: u32,
        index: usize,
    ) -> Result<(), MemoryError> {
        let point = &mut self.points[index];
        memory.cpus.clone_from(&point.team.cpus);
        let job = StreamJob {
            kernel: point.kernel,
            part_bytes: memory.mappings[0].len(),
            offset_bytes: 0,
            passes: Some(1),
            windows: WINDOWS,
            warm_bytes_max: 0,
            first_chunk: self.next_chunk,
        };
        // The next visit goes on where this one ends, so that it finds nothing in the caches.
        self.next_chunk += WINDOWS * CHUNKS_PER_WINDOW;
        let page = page_bytes(PageRequest::Huge, &memory.pages);
        let visit = stream_visit(session, memory, &job, || point.series_name(page))?;
        point.windows_apart += visit.apart;
        point.pages.extend(&memory.pages);
        point.series.visits.push(visit.into_point(mapping));
        Ok(())
    }

    /// Adds every result to the record.
    fn keep(&self, session: &mut Session<'_>) {
        for point in &self.points {
            let kernel = point.kernel.kernel();
            let cpus: machine::CpuSet = point.team.cpus.iter().copied().collect();
            let page = page_bytes(PageRequest::Huge, &point.pages);
            let name = point.series_name(page);
            let Some(measured) = point.series.measured(session, &metric::STREAM, name) else { continue };
            session.result().memory.stream.push(StreamResult {
                scope: point.team.scope,
                cpu: (point.team.scope == Scope::Cpu).then_some(point.team.cpus[0]),
                node: if point.team.scope == Scope::Machine { None } else { point.team.node },
                cpus,
                kernel: kernel.operation.name().to_owned(),
                isa: kernel.isa.name().to_owned(),
                store: kernel.store.name().to_owned(),
                block_bytes: point.block,
                bytes_per_s: measured.value,
                bus_bytes_per_s: measured.value * kernel.bus_share(),
                spread: doubted(measured.spread, point.windows_apart),
            });
        }
    }
}

/// Parts of a block are multiples of a huge page.
const PART_STEP_BYTES: usize = 2 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_is_the_whole_machine_is_measured_once() {
        let cpus = [CpuId(0), CpuId(1)];
        let scopes: Vec<Scope> = teams(&cpus, |_| Some(NodeId(0))).iter().map(|team| team.scope).collect();
        assert_eq!(scopes, [Scope::Cpu, Scope::Cpu, Scope::Machine]);
        assert_eq!(teams(&cpus[..1], |_| None).len(), 1);
    }

    #[test]
    fn nodes_of_several_cpus_stand_between_the_cpus_and_the_machine() {
        let cpus: Vec<CpuId> = (0..4).map(CpuId).collect();
        let teams = teams(&cpus, |cpu| Some(NodeId(cpu.0 / 2)));
        assert_eq!(teams.len(), 4 + 2 + 1);
        assert_eq!((teams[4].node, teams[4].cpus.len()), (Some(NodeId(0)), 2));
    }

    #[test]
    fn arrays_follow_streams_rule_up_to_a_cap_and_say_when_they_do_not() {
        let mut machine = Machine::default();
        let mut cache = machine::Cache {
            level: 3,
            kind: machine::CacheKind::Unified,
            size_bytes: Some(Bytes(32 << 20)),
            line_bytes: None,
            ways: None,
            shared_by: machine::CpuSet::new(),
            sharers_unknown: false,
        };
        machine.topology.caches = vec![cache.clone()];
        let settings = Settings::check_up();
        assert_eq!(settings.largest(&machine), Bytes(384 << 20));
        assert!(settings.reduced(&machine).is_empty());
        cache.size_bytes = Some(Bytes(512 << 20));
        machine.topology.caches = vec![cache];
        assert_eq!(settings.largest(&machine), Bytes(768 << 20));
        assert_eq!(settings.reduced(&machine).len(), 1);
    }

    #[test]
    fn the_worst_case_grows_with_the_block_and_stays_near_the_budget() {
        let machine = Machine::default();
        let settings = Settings::check_up();
        assert!(settings.worst_case_s(2, &machine) < settings.budget_s + 2.0);
    }
}

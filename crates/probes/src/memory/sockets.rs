//! Every CPU against the memory of every node, in interleaved rounds: latency, bandwidth, and whether equal CPUs are equal.
//!
//! All CPUs walk and stream through the same blocks, one per node, which are placed by policy and looked up afterwards. A round
//! visits every pair of CPU and node once, in shuffled order; blocks are laid anew every few rounds, as where they lie matters.
//! Whether CPUs are alike is judged by windows in their own memory: low quantiles over rounds, with A/A ([`stats::equality`]).

pub mod check_up;
mod choice;
mod equality;
mod keep;
mod several_cpus;

use std::collections::BTreeMap;
use std::time::Instant;

use host::live::{Mapping, MappingError, Pinned, page_nodes};
use kernels::offset_chase::{OFFSETS_PER_ROUND, OffsetChase};
use kernels::{Operation, Store, StreamKernel, StreamLoop};
use machine::{Bytes, CpuId, Machine, NodeId};
use record::{LineTransfer, SOCKETS_SCHEMA, SocketNode, SocketSubject, Sockets};
use stats::FEWEST_ROUNDS;

pub use choice::{Per, nodes_with_memory, subjects};

use super::worker_group::{CHUNKS_PER_WINDOW, FILL_BYTE, GroupMemory, StreamJob, stream_visit};
use super::{HALF_WIDTH, MemoryError};
use crate::cores::transfer;
use crate::memory::mapped;
use crate::probe::CpuPair;
use crate::sampler::VisitPlan;
use crate::series::{PointVisit, Series};
use crate::session::{Session, SessionError};

/// Caches of a package together, doubled: the block is then in no cache.
const CACHES_PER_BLOCK: u64 = 2;
/// Bounds of a block.
const BLOCK: (Bytes, Bytes) = (Bytes(64 << 20), Bytes(512 << 20));
/// Bytes filled or copied between two looks at the time.
const SLICE_BYTES: usize = 2 << 20;
/// Rounds on one set of mappings.
const ROUNDS_PER_LAP: u32 = 8;
/// Only in one of so many rounds is everything streamed; in the others triad alone, which tells with the chase whether CPUs are alike:
/// what that takes is rounds, and what the other kernels take is a few dozen windows.
const ROUNDS_PER_FULL: u32 = 4;
/// Windows of a chase per visit: 0.2 ms each.
const CHASE_WINDOWS: usize = 8;
/// Length of a chase's window in nanoseconds: a thousand loads and more.
const CHASE_WINDOW_NS: f64 = 200_000.0;
/// Rounds of a chase's window at least, so that a share of them can be planted.
const CHASE_ROUNDS_MIN: u64 = 40;
/// Windows of a stream per visit; a window sweeps 16 MiB.
const STREAM_WINDOWS: usize = 6;

/// Share of the budget in which several CPUs of a package work at once.
const SCALING_SHARE: f64 = 0.15;
/// Share of the budget in which a CPU of each node chases while the others of the node stream.
const LOAD_SHARE: f64 = 0.1;
/// Share of the budget in which a line moves between the CPUs.
const TRANSFER_SHARE: f64 = 0.1;

/// Lines of each visit of a pair, and rounds over all pairs: as in a check-up.
const TRANSFER_LINES: usize = 6;
const TRANSFER_ROUNDS: u32 = 40;

/// What to measure.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The CPUs, each with those it stands for.
    pub subjects: Vec<SocketSubject>,
    /// The nodes whose memory is measured; none stands for memory from wherever it comes.
    pub nodes: Vec<NodeId>,
    /// Time for everything in seconds.
    pub budget_s: f64,
    /// More work put into each window of one CPU's chase, as a share: to see what would be found.
    pub planted: Option<(CpuId, f64)>,
    /// What is streamed.
    pub streams: Streams,
    /// Whether a line is moved between the CPUs and latency under load is measured: a check-up has probes for both.
    pub on_its_own: bool,
}

/// What is streamed to and from each node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Streams {
    /// Triad and write with both kinds of stores, and read.
    All,
    /// Triad with plain stores, by which CPUs are compared, and read.
    TriadAndRead,
}

impl Settings {
    /// Seconds for somebody who names none: 15, or what so many CPUs and nodes want for a verdict.
    pub fn usual_budget_s(&self, machine: &Machine) -> f64 {
        /// Rounds: half as many again as the fewest that tell, for those that are disturbed.
        const ROUNDS: f64 = 1.5 * FEWEST_ROUNDS as f64;
        /// A visit of a CPU and a node: 180 rounds over two took 3.9 s.
        const VISIT_S: f64 = 0.0108;
        /// Pages are filled no slower than this on a busy machine.
        const FILL_BYTES_PER_S: f64 = 1.0e9;
        const LEAST_S: f64 = 15.0;
        /// Longer than this nobody waits unasked.
        const MOST_S: f64 = 300.0;
        let nodes = self.nodes.len().max(1);
        let visits_s = ROUNDS * VISIT_S * (self.subjects.len() * nodes) as f64;
        let laying_s = (2 * nodes) as f64 * block(machine, nodes).0 as f64 / FILL_BYTES_PER_S;
        let laid = (ROUNDS / f64::from(ROUNDS_PER_LAP)).ceil();
        ((visits_s + laid * laying_s) / self.single_share()).clamp(LEAST_S, MOST_S)
    }

    /// Share of the budget that is left for latency and bandwidth of single CPUs.
    fn single_share(&self) -> f64 {
        let left = 1.0 - SCALING_SHARE;
        if self.on_its_own { left - TRANSFER_SHARE - LOAD_SHARE } else { left }
    }

    /// The node that memory is bound to: without several there is nothing to bind to, and often no leave to do so.
    fn bound(&self, node: Option<NodeId>) -> Option<NodeId> {
        node.filter(|_| self.nodes.len() > 1)
    }
}

/// One kernel on one CPU and node.
struct Point {
    kernel: StreamLoop,
    series: Series,
}

/// One CPU and one node.
struct Cell {
    subject: usize,
    node: usize,
    chase: Series,
    streams: Vec<Point>,
}

/// The memory of one node.
struct NodeMemory {
    walked: Mapping,
    chase: OffsetChase,
    streamed: GroupMemory,
}

/// The run while it is measured.
struct Table<'s> {
    settings: &'s Settings,
    block: Bytes,
    cells: Vec<Cell>,
    started: Instant,
    /// Rounds of a chase that fill a window, by node.
    chase_rounds: Vec<Option<u64>>,
    laps: u32,
    rounds: u32,
    next_chunk: usize,
    nodes: Vec<SocketNode>,
    without: Vec<String>,
}

/// Measures until the budget is spent, and puts what it has into the session's record.
///
/// # Errors
/// A debug build, no memory on any node, or a CPU that may not be used; what was measured is in the record.
pub fn run(session: &mut Session<'_>, settings: &Settings) -> Result<(), MemoryError> {
    if cfg!(debug_assertions) {
        return Err(SessionError::DebugBuild.into());
    }
    let mut table = Table::new(session, settings);
    let result = table.measure(session);
    let (line_transfer, refused) =
        if settings.on_its_own { transfers(session, settings) } else { Default::default() };
    table.without.extend(refused);
    let (scaling, refused) = several_cpus::bandwidth(session, settings, settings.budget_s * SCALING_SHARE);
    table.without.extend(refused);
    let (loaded, refused) = if settings.on_its_own {
        several_cpus::latency_under_load(session, settings, table.block)
    } else {
        Default::default()
    };
    let mut sockets = Sockets {
        schema: SOCKETS_SCHEMA,
        subjects: settings.subjects.clone(),
        machine_nodes: session.record.machine.topology.nodes.iter().map(|node| node.id).collect(),
        line_transfer,
        scaling,
        loaded,
        ..Sockets::default()
    };
    table.without.extend(refused);
    table.keep(session, &mut sockets);
    sockets.elapsed_s = table.started.elapsed().as_secs_f64();
    session.result().sockets = Some(sockets);
    result
}

/// A line between each two of the subjects; with what could not be had, in words.
fn transfers(session: &mut Session<'_>, settings: &Settings) -> (Vec<LineTransfer>, Option<String>) {
    let cpus: Vec<CpuId> = settings.subjects.iter().map(|subject| subject.cpu).collect();
    let pairs = cpus
        .iter()
        .enumerate()
        .flat_map(|(index, &a)| cpus[index + 1..].iter().map(move |&b| CpuPair { a, b }));
    let before = session.record.cores.line_transfer.len();
    let of_lines = transfer::Settings {
        pairs: pairs.collect(),
        lines: TRANSFER_LINES,
        rounds: TRANSFER_ROUNDS,
        budget_s: settings.budget_s * TRANSFER_SHARE,
    };
    let refused =
        transfer::run(session, &of_lines).err().map(|error| format!("a line between CPUs: {error}"));
    (session.record.cores.line_transfer.split_off(before), refused)
}

impl<'s> Table<'s> {
    fn new(session: &Session<'_>, settings: &'s Settings) -> Self {
        let machine = &session.record.machine;
        let block = block(machine, settings.nodes.len());
        let kernels = kernels(settings.streams);
        let cells = (0..settings.subjects.len())
            .flat_map(|subject| (0..settings.nodes.len().max(1)).map(move |node| (subject, node)))
            .map(|(subject, node)| Cell {
                subject,
                node,
                chase: Series::default(),
                streams: kernels.iter().map(|&kernel| Point { kernel, series: Series::default() }).collect(),
            })
            .collect();
        Self {
            settings,
            block,
            cells,
            started: Instant::now(),
            chase_rounds: vec![None; settings.nodes.len().max(1)],
            laps: 0,
            rounds: 0,
            next_chunk: 0,
            nodes: Vec::new(),
            without: Vec::new(),
        }
    }

    fn is_over(&self, session: &Session<'_>) -> bool {
        session.must_stop() || self.left_s() <= 0.0
    }

    fn left_s(&self) -> f64 {
        self.settings.budget_s * self.settings.single_share() - self.started.elapsed().as_secs_f64()
    }

    fn measure(&mut self, session: &mut Session<'_>) -> Result<(), MemoryError> {
        let mut laying_s = 0.0;
        // Blocks that are laid when there is no time to use them would only delay the end.
        while !self.is_over(session) && self.left_s() > laying_s {
            let laying = Instant::now();
            let Some(mut memories) = self.lay(session)? else {
                if self.laps == 0 && !session.must_stop() {
                    let (blocks, block) = (2 * self.settings.nodes.len().max(1), self.block);
                    self.without.push(format!(
                        "latency and bandwidth: its share of the time ended before {blocks} blocks of {block} were laid; \
                         give more with --budget"
                    ));
                }
                return Ok(());
            };
            laying_s = laying.elapsed().as_secs_f64();
            for _ in 0..ROUNDS_PER_LAP {
                let mut order: Vec<usize> = (0..self.cells.len()).collect();
                session.random.shuffle(&mut order);
                for index in order {
                    if self.is_over(session) {
                        return Ok(());
                    }
                    let node = self.cells[index].node;
                    if let Some(memory) = memories[node].as_mut() {
                        self.visit(session, memory, index)?;
                    }
                }
                let share = self.started.elapsed().as_secs_f64() / self.settings.budget_s;
                session.progress.update(share);
                self.rounds += 1;
            }
            self.laps += 1;
        }
        Ok(())
    }

    /// Maps the blocks of all nodes, or nothing if the time ends meanwhile; one that is not to be had is left out and named.
    fn lay(&mut self, session: &mut Session<'_>) -> Result<Option<Vec<Option<NodeMemory>>>, MemoryError> {
        let mut memories: Vec<Option<NodeMemory>> = Vec::new();
        let is_first = self.laps == 0;
        let nodes: Vec<Option<NodeId>> = match self.settings.nodes.as_slice() {
            [] => vec![None],
            nodes => nodes.iter().copied().map(Some).collect(),
        };
        let mut refused = None;
        for node in nodes {
            let laid = memories.iter_mut().flatten().next();
            match self.lay_one(session, node, laid) {
                // There is no time to use any of them.
                Err(error) if error.is_broken_off() => return Ok(None),
                Ok(memory) => memories.push(Some(memory)),
                Err(error) => {
                    if is_first {
                        self.without.push(error.to_string());
                    }
                    memories.push(None);
                    refused = Some(error);
                }
            }
        }
        match refused {
            Some(error) if memories.iter().all(Option::is_none) => Err(error),
            _ => Ok(Some(memories)),
        }
    }

    fn lay_one(
        &mut self,
        session: &mut Session<'_>,
        node: Option<NodeId>,
        laid: Option<&mut NodeMemory>,
    ) -> Result<NodeMemory, MemoryError> {
        let from = self.settings.bound(node);
        let seed = session.random.next_u64();
        let goes_on = || !self.is_over(session);
        let (mut walked, mut streamed) =
            (mapped(self.block, from, &goes_on)?, mapped(self.block, from, &goes_on)?);
        let broken_off = || MappingError::BrokenOff { bytes: self.block };
        for slice in streamed.as_mut_slice().chunks_mut(SLICE_BYTES) {
            goes_on().then(|| slice.fill(FILL_BYTE)).ok_or_else(broken_off)?;
        }
        // Links are offsets: what was laid on one node holds on another, and copying is faster than laying.
        let chase = if let Some(laid) = laid {
            let from = laid.walked.as_mut_slice().chunks(SLICE_BYTES);
            for (slice, from) in walked.as_mut_slice().chunks_mut(SLICE_BYTES).zip(from) {
                goes_on().then(|| slice.copy_from_slice(from)).ok_or_else(broken_off)?;
            }
            laid.chase.clone()
        } else {
            OffsetChase::lay_while(walked.as_mut_slice(), seed, &goes_on).ok_or_else(broken_off)?
        };
        if let Some(node) = node {
            let [walked, streamed] =
                [&mut walked, &mut streamed].map(|block| share_of(&page_nodes(block).ok()?, node));
            self.placed(node, walked.zip(streamed).map(|(walked, streamed)| walked.min(streamed)));
        }
        let pages = vec![streamed.pages()];
        let streamed = GroupMemory { cpus: Vec::new(), mappings: vec![streamed], pages };
        Ok(NodeMemory { walked, chase, streamed })
    }

    /// Keeps the least share of a node's blocks that was seen to lie on it.
    fn placed(&mut self, node: NodeId, share: Option<f64>) {
        match self.nodes.iter_mut().find(|have| have.node == node) {
            Some(have) => have.placed_share = have.placed_share.zip(share).map(|(least, now)| least.min(now)),
            None => self.nodes.push(SocketNode { node, block_bytes: self.block, placed_share: share }),
        }
    }

    fn visit(
        &mut self,
        session: &mut Session<'_>,
        memory: &mut NodeMemory,
        index: usize,
    ) -> Result<(), MemoryError> {
        let mapping = self.laps;
        let cell = &mut self.cells[index];
        let cpu = self.settings.subjects[cell.subject].cpu;
        let chased = {
            let _pinned = Pinned::to(cpu)?;
            let mut sampler = session.sampler(cpu);
            let NodeMemory { walked, chase, .. } = memory;
            let known = self.chase_rounds[cell.node];
            let rounds = known.unwrap_or_else(|| {
                sampler
                    .rounds_for(CHASE_WINDOW_NS, |rounds| chase.walk(walked.as_mut_slice(), rounds))
                    .max(CHASE_ROUNDS_MIN)
            });
            self.chase_rounds[cell.node] = Some(rounds);
            let more =
                self.settings.planted.filter(|(planted, _)| *planted == cpu).map_or(0.0, |(_, share)| share);
            let really = (rounds as f64 * (1.0 + more)).round() as u64;
            let plan =
                VisitPlan { windows_min: CHASE_WINDOWS, windows_max: CHASE_WINDOWS, half_width: HALF_WIDTH };
            let visit = sampler.visit(plan, rounds, OFFSETS_PER_ROUND as f64, |_| {
                chase.walk(walked.as_mut_slice(), really);
            });
            session.absorb(&mut sampler);
            visit
        };
        cell.chase.visits.push(PointVisit::of(mapping, cpu, chased));
        memory.streamed.cpus = vec![cpu];
        let streamed = if self.rounds.is_multiple_of(ROUNDS_PER_FULL) { cell.streams.len() } else { 1 };
        for point in cell.streams.iter_mut().take(streamed) {
            let job = StreamJob {
                kernel: point.kernel,
                part_bytes: memory.streamed.mappings[0].len(),
                offset_bytes: 0,
                passes: Some(1),
                windows: STREAM_WINDOWS,
                warm_bytes_max: 0,
                first_chunk: self.next_chunk,
            };
            // The next visit goes on where this one ends, so that it finds nothing in the caches.
            self.next_chunk += STREAM_WINDOWS * CHUNKS_PER_WINDOW;
            let visit = stream_visit(session, &mut memory.streamed, &job, String::new)?;
            point.series.visits.push(visit.into_point(mapping));
        }
        Ok(())
    }
}

/// Share of a node among the pages that the kernel tells of; none where it tells of none.
fn share_of(pages: &BTreeMap<NodeId, usize>, node: NodeId) -> Option<f64> {
    let total: usize = pages.values().sum();
    (total > 0).then(|| pages.get(&node).copied().unwrap_or(0) as f64 / total as f64)
}

/// Bytes of one of the two blocks of a node: in no cache, and all blocks together in the memory that may be taken.
fn block(machine: &Machine, nodes: usize) -> Bytes {
    let blocks = 2 * nodes.max(1) as u64;
    let cache = machine.topology.largest_cache_bytes().unwrap_or_default();
    let beyond_caches = Bytes(cache.0 * CACHES_PER_BLOCK).clamp(BLOCK.0, BLOCK.1);
    let room = crate::room::largest_block(machine, Bytes(beyond_caches.0 * blocks));
    Bytes((room.0 / blocks).min(beyond_caches.0) >> 21 << 21).max(Bytes(2 << 20))
}

/// Triad first: it is what sockets are compared by.
fn kernels(streams: Streams) -> Vec<StreamLoop> {
    let all = [
        (Operation::Triad, Store::Plain),
        (Operation::Read, Store::None),
        (Operation::Triad, Store::NonTemporal),
        (Operation::Write, Store::Plain),
        (Operation::Write, Store::NonTemporal),
    ];
    let count = match streams {
        Streams::All => all.len(),
        Streams::TriadAndRead => 2,
    };
    all.into_iter()
        .take(count)
        .filter_map(|(operation, store)| StreamKernel::widest(operation, store))
        .collect()
}

#[cfg(test)]
mod tests {
    use machine::CpuSet;

    use super::*;

    #[test]
    fn more_cpus_and_nodes_get_the_rounds_that_a_verdict_takes() {
        let seconds = |count: u32| {
            let subject = |cpu: u32| SocketSubject {
                cpu: CpuId(cpu),
                package: None,
                node: Some(NodeId(cpu)),
                stands_for: CpuSet::new(),
            };
            let settings = Settings {
                subjects: (0..count).map(subject).collect(),
                nodes: (0..count).map(NodeId).collect(),
                budget_s: 0.0,
                planted: None,
                streams: Streams::All,
                on_its_own: true,
            };
            settings.usual_budget_s(&Machine::default()).round() as u32
        };
        assert_eq!([0, 1, 2, 4, 8, 64].map(seconds), [15, 15, 15, 15, 30, 300]);
    }

    #[test]
    fn pages_of_which_the_kernel_shows_nothing_lie_nowhere_in_particular() {
        let share = |pages: &[(u32, usize)]| {
            share_of(&pages.iter().map(|&(node, count)| (NodeId(node), count)).collect(), NodeId(1))
        };
        assert_eq!(share(&[]), None);
        assert_eq!([share(&[(0, 4)]), share(&[(0, 1), (1, 3)])], [Some(0.0), Some(0.75)]);
    }
}

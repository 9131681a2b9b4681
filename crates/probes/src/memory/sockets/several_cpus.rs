//! Several CPUs at once. Bandwidth of 1, 2, 4, ... and all CPUs of a package: where an asymmetry of single CPUs vanishes into the roof. And
//! latency to each node's memory while other CPUs stream in it: what idle latency becomes at work.

use std::collections::BTreeSet;
use std::time::Instant;

use host::live::ensure_room_on_node;
use kernels::{Operation, Store, StreamKernel, StreamLoop};
use machine::{Bytes, CpuId, CpuSet, Machine, NodeId};
use record::{NodeLoadedLatency, PackageScaling, metric};
use stats::Order;

use super::Settings;
use super::choice::package_of;
use crate::memory::MemoryError;
use crate::memory::loaded::{self, Chased, under_load};
use crate::memory::worker_group::{StreamJob, map_for_group, stream_visit};
use crate::room::largest_block;
use crate::series::{Series, doubted};
use crate::session::Session;

/// Memory of each CPU: beyond its share of any cache.
const PART: Bytes = Bytes(64 << 20);
/// Where there is little memory for many CPUs: as a loader has it.
const PART_LEAST: Bytes = Bytes(32 << 20);
/// Windows per visit.
pub(super) const WINDOWS: usize = 8;
/// Rounds at most.
const ROUNDS_MAX: u32 = 8;

struct Team {
    package: Option<i64>,
    cpus: Vec<CpuId>,
    series: Series,
    apart: usize,
    is_refused: bool,
}

/// Measures until the time is over; with what could not be had, in words.
pub(super) fn bandwidth(
    session: &mut Session<'_>,
    settings: &Settings,
    budget_s: f64,
) -> (Vec<PackageScaling>, Vec<String>) {
    let started = Instant::now();
    let (mut teams, mut refused) = (teams(session), Vec::new());
    let Some(kernel) = StreamKernel::widest(Operation::Triad, Store::Plain) else {
        return Default::default();
    };
    'rounds: for round in 0..ROUNDS_MAX {
        for team in teams.iter_mut().filter(|team| !team.is_refused) {
            if session.must_stop() || started.elapsed().as_secs_f64() >= budget_s {
                break 'rounds;
            }
            if let Err(error) = team.visit(session, settings, kernel, round) {
                team.is_refused = true;
                refused.push(format!("bandwidth of several CPUs: {error}"));
            }
        }
    }
    let mut row = |team: &Team| {
        let cpus: CpuSet = team.cpus.iter().copied().collect();
        let name = format!("stream, {}, CPUs {cpus}, own memory each", kernel.kernel());
        let measured = team.series.measured(session, &metric::PACKAGE_BANDWIDTH, name)?;
        Some(PackageScaling {
            package: team.package,
            cpus,
            bytes_per_s: measured.value,
            spread: doubted(measured.spread, team.apart),
        })
    };
    (teams.iter().filter_map(&mut row).collect(), refused)
}

impl Team {
    fn visit(
        &mut self,
        session: &mut Session<'_>,
        settings: &Settings,
        kernel: StreamLoop,
        round: u32,
    ) -> Result<(), MemoryError> {
        let part = part(&session.record.machine, self.cpus.len())?;
        let topology = &session.record.machine.topology;
        let own = |cpu: &CpuId| {
            let node = topology.cpu(*cpu).and_then(|known| known.node);
            settings.bound(node.filter(|node| settings.nodes.contains(node)))
        };
        let nodes: Vec<Option<NodeId>> = self.cpus.iter().map(own).collect();
        // The members take their parts at the same time, each of which would find room enough for itself.
        for node in nodes.iter().flatten().collect::<BTreeSet<_>>() {
            let members = nodes.iter().filter(|of| **of == Some(*node)).count() as u64;
            ensure_room_on_node(Bytes(members * part.0), *node)?;
        }
        let part_bytes = part.0 as usize;
        let mut memory = map_for_group(session, &self.cpus, nodes, part_bytes)?;
        let job = StreamJob {
            kernel,
            part_bytes,
            offset_bytes: 0,
            passes: Some(1),
            windows: WINDOWS,
            warm_bytes_max: 0,
            first_chunk: 0,
        };
        let visit = stream_visit(session, &mut memory, &job, String::new)?;
        self.apart += visit.apart;
        self.series.visits.push(visit.into_point(round));
        Ok(())
    }
}

/// Memory of each of so many CPUs.
fn part(machine: &Machine, cpus: usize) -> Result<Bytes, MemoryError> {
    let count = cpus as u64;
    let room = largest_block(machine, Bytes(count * PART.0));
    let part = Bytes((room.0 / count) >> 21 << 21);
    if part < PART_LEAST {
        return Err(MemoryError::NoRoom { cpus, required: Bytes(count * PART_LEAST.0) });
    }
    Ok(part)
}

/// Of each package its first CPU, its first two, four, ... and all; first one thread of each core, then the others.
fn teams(session: &Session<'_>) -> Vec<Team> {
    let topology = &session.record.machine.topology;
    let package = |cpu| package_of(topology, cpu);
    let mut packages: Vec<Option<i64>> = session.cpus.iter().map(|&cpu| package(cpu)).collect();
    packages.sort_unstable();
    packages.dedup();
    let mut teams = Vec::new();
    for of in packages {
        let mut cpus: Vec<CpuId> = session.cpus.iter().copied().filter(|&cpu| package(cpu) == of).collect();
        let all: CpuSet = cpus.iter().copied().collect();
        let is_second = |cpu: &CpuId| {
            topology.siblings(*cpu).intersection(&all).first().is_some_and(|first| first != *cpu)
        };
        cpus.order_by_key(|cpu| (is_second(cpu), *cpu));
        let mut counts: Vec<usize> =
            (0..usize::BITS - 1).map(|power| 1 << power).take_while(|&count| count < cpus.len()).collect();
        counts.push(cpus.len());
        teams.extend(counts.into_iter().map(|count| Team {
            package: of,
            cpus: cpus[..count].to_vec(),
            series: Series::default(),
            apart: 0,
            is_refused: false,
        }));
    }
    teams
}

/// Quads of idle and loaded visits at most, per number of loaders.
const QUADS_MAX: u32 = 6;
/// A loader's memory: beyond its share of any cache.
const LOADER_PART: Bytes = Bytes(32 << 20);

/// Measures node by node, each in its share of the time; with what could not be had, in words.
pub(super) fn latency_under_load(
    session: &mut Session<'_>,
    settings: &Settings,
    block: Bytes,
) -> (Vec<NodeLoadedLatency>, Vec<String>) {
    let nodes: Vec<Option<NodeId>> = match settings.nodes.as_slice() {
        [] => vec![None],
        nodes => nodes.iter().copied().map(Some).collect(),
    };
    let of_each = loaded::Settings {
        operation: Operation::Triad,
        block_max: block,
        quads_max: QUADS_MAX,
        budget_s: settings.budget_s * super::LOAD_SHARE / nodes.len() as f64,
    };
    let (mut rows, mut refused) = (Vec::new(), Vec::new());
    for node in nodes {
        if session.must_stop() {
            break;
        }
        let Some((cpu, others)) = loaded_team(&settings.subjects, &session.cpus, node) else {
            let what = if session.record.machine.topology.cpus.len() > 1 {
                "allow one with --cpus"
            } else {
                "this machine has one"
            };
            refused.push(format!("latency under load needs a second CPU; {what}"));
            break;
        };
        let load_block = largest_block(&session.record.machine, Bytes(LOADER_PART.0 * others.len() as u64));
        let bound = settings.bound(node);
        // The loaders take their parts at the same time, each of which would find room enough for itself.
        let room = bound.map(|node| ensure_room_on_node(Bytes(block.0 + load_block.0), node));
        if let Some(Err(error)) = room {
            refused.push(format!("latency under load: {error}"));
            continue;
        }
        let chased = Chased { cpu, others: &others, node: bound, block, load_block };
        let (points, result) = under_load(session, &of_each, &chased);
        refused.extend(result.err().map(|error| format!("latency under load: {error}")));
        let node = node.unwrap_or(NodeId(0));
        rows.extend(points.into_iter().map(|point| NodeLoadedLatency { node, point }));
    }
    (rows, refused)
}

/// Who chases in a node's memory, a CPU of its own if one was chosen, and who streams: the CPUs that the subjects of the node stand
/// for, else all others.
fn loaded_team(
    subjects: &[record::SocketSubject],
    cpus: &[CpuId],
    node: Option<NodeId>,
) -> Option<(CpuId, Vec<CpuId>)> {
    let is_of = |subject: &&record::SocketSubject| node.is_some() && subject.node == node;
    let cpu = subjects.iter().find(is_of).or(subjects.first())?.cpu;
    let near: Vec<CpuId> = subjects.iter().filter(is_of).flat_map(|of| of.stands_for.iter()).collect();
    let others = |from: &[CpuId]| from.iter().copied().filter(|&other| other != cpu).collect::<Vec<_>>();
    let near: Vec<CpuId> = others(&near).into_iter().filter(|other| cpus.contains(other)).collect();
    let others = if near.is_empty() { others(cpus) } else { near };
    (!others.is_empty()).then_some((cpu, others))
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::CpuSet;
    use record::SocketSubject;

    #[test]
    fn many_cpus_take_no_more_memory_than_there_is_room_for() {
        let mut machine = Machine::default();
        assert_eq!(part(&machine, 96).ok(), Some(PART));
        machine.environment.limits.cgroup_memory_bytes = Some(Bytes(8 << 30));
        assert_eq!(part(&machine, 96).ok(), Some(Bytes(42 << 20)));
        machine.environment.limits.cgroup_memory_bytes = Some(Bytes(4 << 30));
        let refused = part(&machine, 96).expect_err("21 MiB each").to_string();
        assert!(refused.starts_with("96 CPUs at once would take 3 GiB"), "{refused}");
    }

    #[test]
    fn cpus_of_the_node_stream_and_where_it_has_none_all_do() {
        let subject = |cpu: u32| SocketSubject {
            cpu: CpuId(cpu),
            package: None,
            node: Some(NodeId(cpu / 4)),
            stands_for: (cpu..cpu + 4).map(CpuId).collect::<CpuSet>(),
        };
        let subjects = [subject(0), subject(4)];
        let cpus: Vec<CpuId> = (0..8).map(CpuId).collect();
        let of = |node| loaded_team(&subjects, &cpus, node).map(|(cpu, others)| (cpu.0, others.len()));
        assert_eq!(of(Some(NodeId(1))), Some((4, 3)));
        assert_eq!((of(Some(NodeId(7))), of(None)), (Some((0, 7)), Some((0, 7))));
        assert_eq!(loaded_team(&subjects, &[CpuId(0)], Some(NodeId(0))), None);
    }
}

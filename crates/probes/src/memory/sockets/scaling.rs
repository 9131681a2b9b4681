//! Bandwidth of 1, 2, 4, ... and all CPUs of a package at once: where an asymmetry of single CPUs vanishes into the roof.

use std::collections::BTreeSet;
use std::time::Instant;

use host::live::ensure_room_on_node;
use kernels::{Operation, Store, StreamKernel, StreamLoop};
use machine::{Bytes, CpuId, CpuSet, Machine, NodeId};
use record::PackageScaling;
use stats::Order;

use super::Settings;
use super::choice::package_of;
use crate::memory::MemoryError;
use crate::memory::series::{Judge, Kind, Series, doubted};
use crate::memory::worker_group::{StreamJob, map_for_group_on, stream_visit};
use crate::room::largest_block;
use crate::session::Session;

/// Memory of each CPU: beyond its share of any cache.
const PART: Bytes = Bytes(64 << 20);
/// Where there is little memory for many CPUs: as `load` has it.
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
pub(super) fn run(
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
    let judge = Judge::of(Kind::Rate, super::HALF_WIDTH, teams.iter().map(|team| &team.series));
    let row = |team: &Team| {
        let judged = judge.judge(&team.series)?;
        Some(PackageScaling {
            package: team.package,
            cpus: team.cpus.iter().copied().collect(),
            bytes_per_s: judged.value,
            spread: doubted(judged.spread, team.apart),
        })
    };
    (teams.iter().filter_map(row).collect(), refused)
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
        let mut memory = map_for_group_on(session, &self.cpus, nodes, part_bytes)?;
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
        return Err(MemoryError::NoRoom { cpus, wanted: Bytes(count * PART_LEAST.0) });
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

#[cfg(test)]
mod tests {
    use super::*;

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
}

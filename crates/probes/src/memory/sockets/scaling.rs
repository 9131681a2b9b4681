//! Bandwidth of 1, 2, 4, ... and all CPUs of a package at once: where an asymmetry of single CPUs vanishes into the roof.

use std::time::Instant;

use kernels::{Operation, Store, StreamKernel};
use machine::{CpuId, CpuSet};
use record::PackageScaling;

use super::choice::package_of;
use crate::memory::crew::{StreamJob, map_for_crew, stream_visit};
use crate::memory::error::MemoryError;
use crate::memory::series::{Judge, Kind, Series, doubted};
use crate::session::Session;

/// Memory of each CPU: beyond its share of any cache.
const PART_BYTES: usize = 64 << 20;
/// Windows per visit.
pub(super) const WINDOWS: usize = 8;
/// Rounds at most.
const ROUNDS_MAX: u32 = 8;

struct Team {
    package: Option<i64>,
    cpus: Vec<CpuId>,
    series: Series,
    apart: usize,
}

/// Measures until the time is over; what there is comes back.
///
/// # Errors
/// No memory, or a CPU that may not be used.
pub(super) fn run(session: &mut Session<'_>, budget_s: f64) -> Result<Vec<PackageScaling>, MemoryError> {
    let started = Instant::now();
    let mut teams = teams(session);
    let Some(kernel) = StreamKernel::widest(Operation::Triad, Store::Plain) else { return Ok(Vec::new()) };
    'rounds: for round in 0..ROUNDS_MAX {
        for team in &mut teams {
            if session.must_stop() || started.elapsed().as_secs_f64() >= budget_s {
                break 'rounds;
            }
            let mut memory = map_for_crew(session, &team.cpus, PART_BYTES)?;
            let job = StreamJob {
                kernel,
                part_bytes: PART_BYTES,
                offset_bytes: 0,
                passes: Some(1),
                windows: WINDOWS,
                warm_bytes_max: 0,
                first_chunk: 0,
            };
            let visit = stream_visit(session, &mut memory, &job)?;
            team.apart += visit.apart;
            team.series.visits.push(visit.into_point(round));
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
    Ok(teams.iter().filter_map(row).collect())
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
        cpus.sort_by_key(|cpu| (is_second(cpu), *cpu));
        let mut counts: Vec<usize> =
            (0..usize::BITS - 1).map(|power| 1 << power).take_while(|&count| count < cpus.len()).collect();
        counts.push(cpus.len());
        teams.extend(counts.into_iter().map(|count| Team {
            package: of,
            cpus: cpus[..count].to_vec(),
            series: Series::default(),
            apart: 0,
        }));
    }
    teams
}

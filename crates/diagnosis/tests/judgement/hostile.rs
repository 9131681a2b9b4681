//! What a noisy run may say, and what it must leave open; and that no record, however broken, makes diagnosis panic or invent certainty.

use diagnosis::{classify, diagnose, levels};
use machine::{Bytes, CoreKind, CpuId, CpuSet, Disagreement, Hertz, Node, NodeId};
use record::{
    ClockRead, Control, LineTransfer, LoadedLatency, PairSlowdown, ParallelChase, Quality, QuestionSample,
    Record, Scope, Spread, StreamResult, WakePoint,
};
use stats::{Interval, Random};

use crate::simulation::{
    Hierarchy, KIB, MIB, cache, cell, claim_tlbs, machine_with, read_bandwidth, spread, walk,
};

/// Numbers that break careless arithmetic, and ordinary ones.
fn number(random: &mut Random) -> f64 {
    const HOSTILE: [f64; 12] = [
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::MAX,
        f64::MIN,
        f64::MIN_POSITIVE,
        0.0,
        -0.0,
        -1.0,
        1.0,
        5.0e-324,
        1.0e18,
    ];
    if random.below(3) == 0 { HOSTILE[random.below(HOSTILE.len())] } else { 200.0 * random.unit() }
}

fn whole(random: &mut Random) -> u64 {
    match random.below(6) {
        0 => 0,
        1 => u64::MAX,
        2 => random.next_u64(),
        _ => 1 << random.below(30),
    }
}

fn any_spread(random: &mut Random) -> Spread {
    Spread {
        interval: Interval { low: number(random), high: number(random) },
        mappings: random.below(4),
        windows: random.below(60),
        dropped: random.below(9),
        quality: [Quality::Converged, Quality::Wide, Quality::Unstable][random.below(3)],
        modes: Vec::new(),
        raw: Some(random.below(99)),
        ..Spread::default()
    }
}

fn cpu(random: &mut Random) -> CpuId {
    if random.below(9) == 0 { CpuId(16_383) } else { CpuId(random.below(3) as u32) }
}

fn fill_memory(record: &mut Record, random: &mut Random) {
    for _ in 0..random.below(80) {
        let mut hostile = cell(1.0, 64.0, 4096, number(random));
        hostile.cpu = cpu(random);
        hostile.block_bytes = Bytes(whole(random));
        hostile.stride_bytes = Bytes(if random.bool() { 64 } else { whole(random) });
        hostile.page_bytes = Bytes(if random.bool() { 4096 } else { whole(random) });
        hostile.core_cycles = random.bool().then(|| number(random));
        hostile.spread = any_spread(random);
        record.memory.latency.push(hostile);
        let mut point = walk(whole(random), number(random), 1.0);
        point.page_bytes = Bytes(if random.bool() { 4096 } else { whole(random) });
        point.spread = any_spread(random);
        record.memory.walks.push(point);
        let mut point = read_bandwidth(1.0, number(random));
        point.block_bytes = Bytes(whole(random));
        point.spread = any_spread(random);
        record.memory.bandwidth.push(point);
    }
    for _ in 0..random.below(6) {
        record.memory.stream.push(stream(random));
        record.memory.loaded.push(LoadedLatency {
            cpu: cpu(random),
            loading: if random.bool() { [cpu(random)].into_iter().collect() } else { machine::CpuSet::new() },
            block_bytes: random.bool().then(|| Bytes(whole(random))),
            page_bytes: random.bool().then(|| Bytes(whole(random))),
            load_bytes_per_s: number(random),
            load_interval: Interval { low: number(random), high: number(random) },
            overlapped_windows: random.below(9),
            ns: number(random),
            spread: any_spread(random),
        });
    }
}

fn stream(random: &mut Random) -> StreamResult {
    StreamResult {
        scope: [Scope::Cpu, Scope::Node, Scope::Machine][random.below(3)],
        cpu: random.bool().then(|| cpu(random)),
        node: None,
        cpus: [cpu(random)].into_iter().collect(),
        kernel: "triad".to_owned(),
        isa: "avx2".to_owned(),
        store: "plain".to_owned(),
        block_bytes: Bytes(whole(random)),
        bytes_per_s: number(random),
        bus_bytes_per_s: number(random),
        spread: any_spread(random),
    }
}

fn fill_cores(record: &mut Record, random: &mut Random) {
    for _ in 0..random.below(8) {
        let resource = ["integer", "simd", "front_end", "l2", "memory"][random.below(5)].to_owned();
        record.cores.sharing.push(PairSlowdown {
            a: cpu(random),
            b: cpu(random),
            resource,
            slowdown: number(random),
            overlapped_windows: random.below(20),
            spread: any_spread(random),
        });
        let protocol = ["compare_and_swap", "read_then_write", ""][random.below(3)].to_owned();
        let (a, b) = (cpu(random), cpu(random));
        record.cores.line_transfer.push(LineTransfer {
            a,
            b,
            protocol,
            ns: number(random),
            spread: any_spread(random),
        });
        record.cores.control.push(Control {
            cpu: cpu(random),
            core_hz: Some(Hertz(number(random))),
            multiply_ns: number(random),
            rotate_ns: number(random),
            multiply_per_rotate: number(random),
            port_ns: number(random),
            core_share: number(random),
            spread: any_spread(random),
        });
        record.cores.wake.push(WakePoint {
            waker: cpu(random),
            sleeper: cpu(random),
            idle_us: number(random),
            ns: number(random),
            p90_ns: number(random),
            spread: any_spread(random),
        });
        let name = ["rdtscp", "clock_gettime(CLOCK_MONOTONIC)", "clock_gettime system call"][random.below(3)];
        record.clocks.push(ClockRead {
            name: name.to_owned(),
            cpu: cpu(random),
            ns: number(random),
            counter_cycles: None,
            core_cycles: None,
            ordered: true,
            spread: any_spread(random),
            ..ClockRead::default()
        });
    }
}

fn hostile(seed: u64) -> Record {
    let mut random = Random::new(seed);
    let mut record = Record::default();
    if random.bool() {
        record.machine = machine_with(2, &[(1, 32.0 * KIB), (2, MIB), (3, whole(&mut random) as f64)]);
        claim_tlbs(&mut record, &[0, u32::MAX]);
    }
    fill_memory(&mut record, &mut random);
    fill_cores(&mut record, &mut random);
    record.guards.steal_share = Some(number(&mut random));
    record.guards.others_share = Some(number(&mut random));
    record.guards.windows = whole(&mut random);
    record.guards.windows_dropped = whole(&mut random);
    record.guards.throttle_events = Some(whole(&mut random));
    record.guards.core_hz = Some([Hertz(number(&mut random)), Hertz(number(&mut random))]);
    record.machine.environment.limits.cgroup_millicpus = Some(whole(&mut random));
    record.machine.topology.nodes.push(Node {
        id: NodeId(7),
        cpus: machine::CpuSet::new(),
        memory_bytes: Some(Bytes(whole(&mut random))),
        free_bytes: None,
        distances: vec![10],
        attributes: Vec::new(),
        side_caches: Vec::new(),
    });
    record
}

#[test]
fn no_record_makes_diagnosis_panic() {
    for seed in 0..3000 {
        let mut record = hostile(seed);
        diagnose(&mut record);
        let severities: Vec<_> = record.findings.iter().map(|finding| finding.severity).collect();
        assert!(severities.is_sorted(), "seed {seed}");
        for level in &record.levels.caches {
            assert!(level.ns.is_finite() && level.ns > 0.0, "seed {seed}: {level:?}");
            assert_eq!(level.size_bytes.is_some(), level.size_interval.is_some(), "seed {seed}: {level:?}");
        }
        for level in &record.levels.tlbs {
            assert!(
                level.entries > 0 && level.miss_ns > 0.0 && level.miss_interval.contains(level.miss_ns),
                "{level:?}"
            );
        }
        let (walk, interval) = (record.levels.walk_ns, record.levels.walk_interval);
        assert_eq!(walk.is_some(), interval.is_some());
        assert!(walk.is_none_or(f64::is_finite), "seed {seed}: {walk:?} {interval:?}");
    }
}

#[test]
fn an_empty_record_has_no_findings_and_no_levels() {
    let mut record = Record::default();
    diagnose(&mut record);
    assert_eq!((record.findings.len(), record.levels.caches.len(), record.levels.tlbs.len()), (0, 0, 0));
}

#[test]
fn diagnosing_twice_changes_nothing() {
    let mut record = hostile(5);
    record.memory.latency.retain(|cell| cell.ns.is_finite());
    record.machine.disagreements.push(Disagreement {
        subject: "L3 size".to_owned(),
        sysfs: "32 MiB".to_owned(),
        cpuid: "16 MiB".to_owned(),
        sources: None,
    });
    diagnose(&mut record);
    let findings = record.findings.clone();
    assert!(findings.iter().any(|finding| finding.id == "sysfs-cpuid-disagree"));
    diagnose(&mut record);
    assert_eq!(record.findings, findings);
}

const CLAIMS: [(u8, f64); 3] = [(1, 32.0 * KIB), (2, 512.0 * KIB), (3, 32.0 * MIB)];

/// A guest whose surface ends while it still rises from an L3 of 12 MiB to memory: the last blocks are in several states.
fn rising() -> Record {
    let caches =
        vec![cache(32.0 * KIB, 1.2, false), cache(512.0 * KIB, 3.8, false), cache(96.0 * MIB, 15.0, true)];
    let mut record = Record { machine: machine_with(2, &CLAIMS), ..Record::default() };
    record.memory.latency = Hierarchy { caches, memory_ns: 150.0, noise: 0.01 }.surface(&mut Random::new(3));
    for cell in &mut record.memory.latency {
        let ns = match cell.block_bytes.0 >> 20 {
            8 => 17.0,
            12 => 40.0,
            16 => 68.0,
            24 => 94.0,
            32 => 111.0,
            _ => continue,
        };
        if cell.stride_bytes.0 <= 256 {
            cell.ns = ns;
            cell.spread = spread(ns, 0.5 * ns);
            cell.spread.quality = Quality::Unstable;
        }
    }
    record
}

fn random_reads(cpu: u32, block: f64, ns: f64) -> QuestionSample {
    QuestionSample {
        question: "memory".to_owned(),
        cpu: CpuId(cpu),
        block_bytes: Some(Bytes(block as u64)),
        value: ns,
        ..QuestionSample::default()
    }
}

fn one_chain(ns: f64) -> ParallelChase {
    ParallelChase {
        cpu: CpuId(0),
        chains: 1,
        block_bytes: Bytes(128 << 20),
        page_bytes: Bytes(2 << 20),
        ns_per_load: ns,
        spread: spread(ns, 4.0),
    }
}

fn idle_chase(ns: f64) -> LoadedLatency {
    LoadedLatency {
        cpu: CpuId(0),
        loading: CpuSet::new(),
        block_bytes: None,
        page_bytes: None,
        load_bytes_per_s: 0.0,
        load_interval: Interval { low: 0.0, high: 0.0 },
        overlapped_windows: 80,
        ns,
        spread: spread(ns, 5.0),
    }
}

fn memory_ns(record: &Record) -> Option<f64> {
    levels(record).caches.into_iter().find(|level| level.name == "memory").map(|level| level.ns)
}

#[test]
fn memory_is_what_the_largest_chase_takes_and_not_the_rise_before_it() {
    let mut record = rising();
    record.memory.loaded.push(idle_chase(147.6));
    assert_eq!(memory_ns(&record), Some(147.6));
    record.memory.parallel.push(one_chain(142.9));
    assert_eq!(memory_ns(&record), Some(142.9));
    record.samples = [188.0, 190.0, 210.0].map(|ns| random_reads(1, 1024.0 * MIB, ns)).into();
    assert_eq!(memory_ns(&record), Some(190.0), "what the question measured");
}

#[test]
fn a_surface_that_ends_on_the_rise_does_not_reach_memory() {
    let record = rising();
    let names: Vec<String> = levels(&record).caches.into_iter().map(|level| level.name).collect();
    assert_eq!(names, ["L1", "L2", "L3"]);
}

#[test]
fn chases_that_a_cache_may_hold_or_another_kind_of_core_took_are_not_memory() {
    let mut record = rising();
    record.samples.push(random_reads(0, 24.0 * MIB, 120.0));
    assert_eq!(memory_ns(&record), None);
    record.machine.topology.cpus[1].core_kind = CoreKind::Efficiency;
    record.samples.push(random_reads(1, 256.0 * MIB, 190.0));
    assert_eq!(memory_ns(&record), None);
    record.machine = machine_with(2, &[(1, 32.0 * KIB), (2, 512.0 * KIB), (3, 96.0 * MIB)]);
    record.samples = vec![random_reads(0, 128.0 * MIB, 20.0)];
    assert_eq!(memory_ns(&record), None, "slower than the last cache, but no level of its own");
}

#[test]
fn cells_are_coloured_by_the_measured_latency_of_memory() {
    let mut record = rising();
    record.samples.push(random_reads(1, 128.0 * MIB, 152.9));
    let found = levels(&record);
    let colour = |ns: f64| classify(&cell(24.0 * MIB, 64.0, 2 << 20, ns), &found).map(str::to_owned);
    // The geometric middle of 15 and 153 ns is 48 ns.
    assert_eq!((colour(40.0).as_deref(), colour(60.0).as_deref()), (Some("L3"), Some("memory")));
}

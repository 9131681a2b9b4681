//! No record, however broken, makes diagnosis panic or invent certainty.

use diagnosis::diagnose;
use machine::{Bytes, CpuId, Disagreement, Hertz, Node, NodeId};
use record::{
    ChaseOrder, ClockRead, Control, LineTransfer, LoadedLatency, OrderedLatency, PairSlowdown, Quality,
    Record, Scope, Spread, StreamResult, WakePoint,
};
use stats::{Interval, Random};

use crate::simulation::{KIB, MIB, cell, claim_tlbs, machine_with, read_bandwidth, walk};

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

fn spread(random: &mut Random) -> Spread {
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
        hostile.spread = spread(random);
        record.memory.latency.push(hostile);
        let mut point = walk(whole(random), number(random), 1.0);
        point.page_bytes = Bytes(if random.bool() { 4096 } else { whole(random) });
        point.spread = spread(random);
        record.memory.walks.push(point);
        let mut point = read_bandwidth(1.0, number(random));
        point.block_bytes = Bytes(whole(random));
        point.spread = spread(random);
        record.memory.bandwidth.push(point);
        let order = [ChaseOrder::Sequential, ChaseOrder::PageConfined, ChaseOrder::Random][random.below(3)];
        record.memory.orders.push(OrderedLatency {
            cpu: cpu(random),
            block_bytes: Bytes(whole(random)),
            page_bytes: Bytes(whole(random)),
            order,
            ns: number(random),
            spread: spread(random),
        });
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
            spread: spread(random),
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
        spread: spread(random),
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
            spread: spread(random),
        });
        let protocol = ["compare_and_swap", "read_then_write", ""][random.below(3)].to_owned();
        let (a, b) = (cpu(random), cpu(random));
        record.cores.line_transfer.push(LineTransfer {
            a,
            b,
            protocol,
            ns: number(random),
            spread: spread(random),
        });
        record.cores.control.push(Control {
            cpu: cpu(random),
            core_hz: Some(Hertz(number(random))),
            multiply_ns: number(random),
            rotate_ns: number(random),
            multiply_per_rotate: number(random),
            port_ns: number(random),
            core_share: number(random),
            spread: spread(random),
        });
        record.cores.wake.push(WakePoint {
            waker: cpu(random),
            sleeper: cpu(random),
            idle_us: number(random),
            ns: number(random),
            p90_ns: number(random),
            spread: spread(random),
        });
        let name = ["rdtscp", "clock_gettime(CLOCK_MONOTONIC)", "clock_gettime system call"][random.below(3)];
        record.clocks.push(ClockRead {
            name: name.to_owned(),
            cpu: cpu(random),
            ns: number(random),
            counter_cycles: None,
            core_cycles: None,
            ordered: true,
            spread: spread(random),
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
            assert!(level.ns_interval.contains(level.ns), "seed {seed}: {level:?}");
        }
        for level in &record.levels.tlbs {
            assert!(
                level.entries > 0 && level.miss_ns > 0.0 && level.miss_interval.contains(level.miss_ns),
                "{level:?}"
            );
        }
        for (value, interval) in [
            (record.levels.walk_ns, record.levels.walk_interval),
            (record.levels.huge_page_gain, record.levels.huge_page_interval),
        ] {
            assert_eq!(value.is_some(), interval.is_some());
            assert!(value.is_none_or(f64::is_finite), "seed {seed}: {value:?} {interval:?}");
        }
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

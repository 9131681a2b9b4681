//! What a noisy run may say about memory and the last cache, and what it must leave open.

use diagnosis::{classify, diagnose, levels};
use machine::{Bytes, CoreKind, CpuId, CpuSet};
use record::{
    ChaseOrder, Finding, LoadedLatency, OrderedLatency, ParallelChase, Quality, Record, Scope, Severity,
};
use stats::{Interval, Random};

use crate::simulation::{Hierarchy, KIB, MIB, cache, cell, machine_with, read_bandwidth, spread};

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

fn random_chase(cpu: u32, block: f64, page: u64, ns: f64) -> OrderedLatency {
    OrderedLatency {
        cpu: CpuId(cpu),
        block_bytes: Bytes(block as u64),
        page_bytes: Bytes(page),
        order: ChaseOrder::Random,
        ns,
        spread: spread(ns, 2.5),
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

fn finding(mut record: Record, id: &str) -> Finding {
    diagnose(&mut record);
    let found = record.findings.iter().find(|finding| finding.id == id);
    found.unwrap_or_else(|| panic!("no {id}: {:#?}", record.findings)).clone()
}

#[test]
fn memory_is_what_the_largest_chase_takes_and_not_the_rise_before_it() {
    let mut record = rising();
    record.memory.loaded.push(idle_chase(147.6));
    assert_eq!(memory_ns(&record), Some(147.6));
    record.memory.parallel.push(one_chain(142.9));
    assert_eq!(memory_ns(&record), Some(142.9));
    record.memory.orders.push(random_chase(1, 128.0 * MIB, 4096, 246.7));
    assert_eq!(memory_ns(&record), Some(246.7));
    record.memory.orders.push(random_chase(1, 128.0 * MIB, 2 << 20, 152.9));
    let memory = levels(&record).caches.pop().expect("memory");
    assert_eq!((memory.name.as_str(), memory.ns), ("memory", 152.9));
    assert!((memory.ns_interval.low - 150.4).abs() < 1e-9, "{memory:?}");
    // The surface runs at 3 cycles per ns.
    let cycles = memory.core_cycles.expect("cycles beside the surface");
    assert!((cycles / 152.9 - 3.0).abs() < 0.2, "{cycles}");
}

#[test]
fn a_surface_that_ends_on_the_rise_does_not_reach_memory() {
    let record = rising();
    let names: Vec<String> = levels(&record).caches.into_iter().map(|level| level.name).collect();
    assert_eq!(names, ["L1", "L2", "L3"]);
    let open = finding(record, "effective-l3");
    assert_eq!(open.severity, Severity::Inconclusive, "{open:?}");
}

#[test]
fn chases_that_a_cache_may_hold_or_another_kind_of_core_took_are_not_memory() {
    let mut record = rising();
    record.memory.orders.push(random_chase(0, 24.0 * MIB, 2 << 20, 120.0));
    assert_eq!(memory_ns(&record), None);
    record.machine.topology.cpus[1].core_kind = CoreKind::Efficiency;
    record.memory.orders.push(random_chase(1, 256.0 * MIB, 2 << 20, 190.0));
    assert_eq!(memory_ns(&record), None);
    record.machine = machine_with(2, &[(1, 32.0 * KIB), (2, 512.0 * KIB), (3, 96.0 * MIB)]);
    record.memory.orders = vec![random_chase(0, 128.0 * MIB, 2 << 20, 20.0)];
    assert_eq!(memory_ns(&record), None, "slower than the last cache, but no level of its own");
}

#[test]
fn a_chase_without_a_single_value_stands_behind_one_that_has_it() {
    let mut record = rising();
    let mut torn = random_chase(0, 128.0 * MIB, 2 << 20, 180.0);
    torn.spread.quality = Quality::Unstable;
    record.memory.orders.push(torn);
    assert_eq!(memory_ns(&record), Some(180.0));
    record.memory.parallel.push(one_chain(142.9));
    assert_eq!(memory_ns(&record), Some(142.9));
}

#[test]
fn cells_are_coloured_by_the_measured_latency_of_memory() {
    let mut record = rising();
    record.memory.orders.push(random_chase(1, 128.0 * MIB, 2 << 20, 152.9));
    let found = levels(&record);
    let colour = |ns: f64| classify(&cell(24.0 * MIB, 64.0, 2 << 20, ns), &found).map(str::to_owned);
    // The geometric middle of 15 and 153 ns is 48 ns.
    assert_eq!((colour(40.0).as_deref(), colour(60.0).as_deref()), (Some("L3"), Some("memory")));
}

#[test]
fn an_unstable_knee_leaves_the_size_open_and_names_other_load() {
    let mut record = rising();
    record.memory.orders.push(random_chase(1, 128.0 * MIB, 2 << 20, 152.9));
    record.guards.others_share = Some(0.67);
    record.guards.steal_share = Some(0.007);
    let l3 = levels(&record).caches.swap_remove(2);
    assert_eq!(
        (l3.size_bytes, l3.size_interval),
        (None, None),
        "no size beside a finding that it is unknown"
    );
    let open = finding(record, "effective-l3");
    assert_eq!(open.severity, Severity::Inconclusive, "{open:?}");
    assert!(open.text.contains("it ends between 6 MiB and 128 MiB, and blocks of"), "{}", open.text);
    let evidence = open.evidence.join("\n");
    assert!(evidence.contains("67 %") && evidence.contains("hypervisor"), "{evidence}");
}

#[test]
fn a_steady_block_short_of_the_claim_decides_whatever_the_knee_does() {
    let mut record = rising();
    record.memory.orders.push(random_chase(0, 128.0 * MIB, 2 << 20, 152.9));
    for cell in &mut record.memory.latency {
        if cell.block_bytes.0 >= 16 << 20 && cell.stride_bytes.0 == 64 {
            cell.ns = 140.0;
            cell.spread = spread(140.0, 2.0);
        }
    }
    let smaller = finding(record, "effective-l3");
    assert_eq!(smaller.severity, Severity::Warning, "{smaller:?}");
}

#[test]
fn bandwidth_of_a_cpu_of_the_same_kind_stands_for_the_surface() {
    let mut record = rising();
    let mut point = read_bandwidth(16.0 * KIB, 200.0e9);
    point.cpus = [CpuId(1)].into_iter().collect();
    record.memory.bandwidth.push(point.clone());
    assert_eq!(levels(&record).caches[0].read_bytes_per_s, Some(200.0e9));
    record.machine.topology.cpus[1].core_kind = CoreKind::Efficiency;
    assert_eq!(levels(&record).caches[0].read_bytes_per_s, None);
    point.cpus = [CpuId(0), CpuId(1)].into_iter().collect();
    point.scope = Scope::Machine;
    record.memory.bandwidth = vec![point];
    assert_eq!(levels(&record).caches[0].read_bytes_per_s, None);
}

//! `sidestep simulate host`: what this machine measured of its memory or of its CPUs, from a record or now, as the models take it.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use experiments::place::cpu_slots::CpuSlots;
use machine::{Bytes, CpuId, Hertz, Machine, TlbKind};
use models::memory::{LEVELS_MAX, Measured, MeasuredCache, MeasuredChain, MeasuredRead, MeasuredTlb};
use models::scheduling::{self, SchedulingMachine};
use probes::plan::{Depth, Options, Selection, plan};
use probes::session::Session;
use record::{ChaseOrder, OrderedLatency, Provenance, Record, SCHEMA, Scope};
use stats::median;

use crate::global::Global;
use crate::outcome::CouldNotMeasure;
use crate::progress::ProgressLine;
use crate::{describe, provenance, store};

/// What a model is made from where no record is given.
pub(super) struct ProbeSet {
    probes: &'static [&'static str],
    depth: Depth,
}

/// What the memory is fitted to: the frequency of the core, chains, one of them through memory, the reach of translation
/// buffers, reads.
pub(super) const OF_MEMORY: ProbeSet =
    ProbeSet { probes: &["control", "surface", "walks", "orders", "bandwidth"], depth: Depth::Quick };
/// What CPUs cost each other, like loops and unlike ones, and what waking one takes.
pub(super) const OF_THREADS: ProbeSet =
    ProbeSet { probes: &["control", "sharing", "wake"], depth: Depth::Default };
/// From node to node of the chains in different orders: a line.
const ORDERS_STRIDE: Bytes = Bytes(64);
/// The chain through memory stands for a block that the surface has no more: as many strides of a line and more has each row of it.
const ROW_OF_SURFACE: f64 = 8.0;
/// Time for them in seconds; a record of the whole check-up tells more.
const BUDGET_S: f64 = 15.0;
/// Ways of a cache that does not tell them.
const WAYS_ASSUMED: usize = 16;
/// Entries and ways of translation buffers of which nothing is known.
const TLBS_ASSUMED: [(usize, usize); 2] = [(64, 4), (1536, 12)];
/// The first family of AMD with a third level, which takes what the second throws out: AMD 40546, Software Optimization
/// Guide for Family 10h, and the guides of the families since.
const VICTIM_L3_FAMILY: u32 = 0x10;

/// The record to fit to: the one given, or one that is measured now.
pub(super) fn record(given: Option<&Path>, set: &ProbeSet, global: &Global) -> anyhow::Result<Record> {
    given.map_or_else(|| measure(set, global), store::load)
}

/// The CPUs of a record as the simulator of threads takes them.
pub(super) fn threads(record: &Record) -> anyhow::Result<SchedulingMachine> {
    let topology = &record.machine.topology;
    let allowed = if topology.allowed.is_empty() { topology.online() } else { topology.allowed.clone() };
    let slots = CpuSlots::of(topology, &allowed);
    let title = record.machine.identity.name.as_deref().unwrap_or("this machine");
    let subject = scheduling::Measured {
        title,
        cpus: &slots.cpus,
        levels: &slots.level_sizes(),
        last_level_cache: slots.last_level_cache,
        cores: &record.cores,
    };
    scheduling::measured(&subject)
        .context("host: one CPU leaves nothing to choose; give a machine such as fx-8150 or a file")
}

/// Measures these probes on this machine, and keeps the record in memory only.
fn measure(set: &ProbeSet, global: &Global) -> anyhow::Result<Record> {
    let machine = describe::live_machine();
    let cpus = provenance::chosen_cpus(&machine, None)?;
    let seed = provenance::seed_of_now();
    let options = Options {
        depth: set.depth,
        budget_s: Some(BUDGET_S),
        only: Selection::of_names(set.probes.iter().copied()).expect("names of the catalogue"),
        ..Options::default()
    };
    let plan = plan(&machine, &cpus, &options, seed);
    // Without a handler Ctrl-C ends the process at once, while it measures and while it fits: nothing is left behind.
    let line = ProgressLine::new(global.quiet);
    let provenance = Provenance { seed, ..Provenance::default() };
    let record = Record { schema: SCHEMA, provenance, machine, ..Record::default() };
    let mut session = Session::start(record, cpus, &line).map_err(CouldNotMeasure::because)?;
    let mut left_s: f64 = plan.probes.iter().map(|planned| planned.seconds).sum();
    for planned in &plan.probes {
        line.begin(planned.probe.name(), Duration::from_secs_f64(left_s.max(0.0)));
        left_s -= planned.seconds;
        session.deadline = Instant::now() + Duration::from_secs_f64(planned.seconds);
        // What is missing then is missed by the fit, which says so.
        let _ = planned.settings.run(&mut session);
    }
    line.end();
    let mut record = session.record;
    diagnosis::diagnose(&mut record);
    Ok(record)
}

/// What a record tells of a memory.
pub(super) fn measured(record: &Record) -> Measured {
    let machine = &record.machine;
    // The pages that are modelled.
    let base_page = machine.environment.base_page();
    let cells = record.memory.latency.iter().filter(|cell| cell.page_bytes == base_page);
    let cpu = cells.clone().next().map_or(CpuId(0), |cell| cell.cpu);
    let clocks: Vec<f64> = cells.clone().filter_map(|cell| Some(cell.core_cycles? / cell.ns * 1e9)).collect();
    let chains = cells.clone().filter(|cell| cell.cpu == cpu).map(|cell| MeasuredChain {
        block_bytes: cell.block_bytes,
        stride_bytes: cell.stride_bytes,
        ns: cell.ns,
        uncertainty_percent: cell.spread.interval.half_width() / cell.ns * 100.0,
        weight: 1.0,
    });
    let largest = cells.map(|cell| cell.block_bytes).max().unwrap_or_default();
    let is_beyond = |order: &&OrderedLatency| {
        order.order == ChaseOrder::Random && order.page_bytes == base_page && order.block_bytes > largest
    };
    let beyond = record.memory.orders.iter().filter(is_beyond).map(|order| MeasuredChain {
        block_bytes: order.block_bytes,
        stride_bytes: ORDERS_STRIDE,
        ns: order.ns,
        uncertainty_percent: order.spread.interval.half_width() / order.ns * 100.0,
        weight: ROW_OF_SURFACE,
    });
    Measured {
        title: machine.identity.name.clone().unwrap_or_else(|| "this machine".to_owned()),
        core_hz: median(&clocks).map_or(Hertz(1e9), Hertz),
        line_bytes: line_bytes(machine, cpu),
        page_bytes: base_page,
        caches: caches(machine, cpu),
        tlbs: [tlb(record, 1), tlb(record, 2)],
        page_table_levels: if machine.identity.flags.iter().any(|flag| flag == "la57") { 5 } else { 4 },
        is_guest: machine.identity.hypervisor.is_some(),
        chains: chains.chain(beyond).collect(),
        reads: reads(record),
    }
}

fn line_bytes(machine: &Machine, cpu: CpuId) -> Bytes {
    let claimed = machine.topology.data_cache(cpu, 1).and_then(|cache| cache.line_bytes);
    claimed.filter(|line| line.0.is_power_of_two() && line.0 >= 64).unwrap_or(Bytes(64))
}

fn caches(machine: &Machine, cpu: CpuId) -> Vec<MeasuredCache> {
    let identity = &machine.identity;
    let is_amd = identity.vendor.as_ref().is_some_and(|vendor| vendor.to_string() == "AuthenticAMD");
    let is_victim =
        |level: u8| level == 3 && is_amd && identity.family.is_some_and(|family| family >= VICTIM_L3_FAMILY);
    (1..=LEVELS_MAX as u8)
        .map_while(|level| {
            let cache = machine.topology.data_cache(cpu, level)?;
            let ways = cache.ways.map_or(WAYS_ASSUMED, |ways| ways.max(1) as usize);
            Some(MeasuredCache { size_bytes: cache.size_bytes?, ways, is_victim: is_victim(level) })
        })
        .collect()
}

/// A translation buffer by its measured reach, by CPUID, or assumed.
fn tlb(record: &Record, level: u8) -> MeasuredTlb {
    let base_page = record.machine.environment.base_page();
    let is_meant = |kind: TlbKind| matches!(kind, TlbKind::Data | TlbKind::Load | TlbKind::Unified);
    let claimed = record.machine.tlbs.iter().find(|tlb| {
        tlb.level == level && is_meant(tlb.kind) && tlb.page_bytes.contains(&base_page) && tlb.entries > 0
    });
    let measured = record.levels.tlbs.iter().find(|tlb| tlb.level == level && tlb.entries > 0);
    let (assumed_entries, assumed_ways) = TLBS_ASSUMED[usize::from(level) - 1];
    let claimed_ways = claimed.and_then(|tlb| tlb.ways).map(|ways| ways as usize);
    let (entries, source) = match (measured, claimed) {
        (Some(tlb), _) => (tlb.entries as usize, "measured"),
        (None, Some(tlb)) => (tlb.entries as usize, "CPUID"),
        (None, None) => (assumed_entries, "assumed: neither measured nor reported by CPUID"),
    };
    let ways = match claimed_ways {
        Some(0) => entries,
        Some(ways) => ways,
        None => assumed_ways,
    };
    // No page finds room in a buffer with more ways than entries.
    MeasuredTlb { entries, ways: ways.clamp(1, entries), source: source.to_owned() }
}

/// The best read of one CPU for each block.
fn reads(record: &Record) -> Vec<MeasuredRead> {
    let mut best: Vec<MeasuredRead> = Vec::new();
    let points = record.memory.bandwidth.iter();
    for point in points.filter(|point| point.scope == Scope::Cpu && point.kernel == "read") {
        let mb_per_s = point.bytes_per_s / 1e6;
        match best.iter_mut().find(|read| read.block_bytes == point.block_bytes) {
            Some(read) => read.mb_per_s = read.mb_per_s.max(mb_per_s),
            None => best.push(MeasuredRead { block_bytes: point.block_bytes, mb_per_s }),
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::global::Colour;

    #[test]
    fn ctrl_c_ends_it_at_once() {
        let global = Global { json: false, quiet: true, color: Colour::Never, gate: false, strict: false };
        // A debug build measures nothing, and says so after everything is set up.
        let _ = measure(&OF_MEMORY, &global);
        let status = host::Root::live().read("/proc/self/status").expect("every process has a state");
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).expect("Linux tells");
        let caught = u64::from_str_radix(caught.trim(), 16).expect("a mask in hexadecimal");
        // Bits of SIGINT (2) and SIGTERM (15), counted from 1.
        assert_eq!(caught & (1 << 1 | 1 << 14), 0, "handlers would swallow the signal: {caught:x}");
    }

    #[test]
    fn a_record_is_a_machine_for_threads_and_one_cpu_is_none() {
        let mut record = Record::default();
        assert!(threads(&record).is_err_and(|error| error.to_string().contains("one CPU")));
        record.machine.topology.allowed = machine::CpuSet::from_list("0-3").expect("a list");
        let machine = threads(&record).expect("four CPUs");
        assert_eq!((machine.cpus.value, machine.level.len()), (4, 1));
    }

    #[test]
    fn what_is_not_told_is_assumed_and_says_so() {
        let measured = measured(&Record::default());
        assert_eq!(measured.page_bytes, Bytes(4096));
        assert!(measured.caches.is_empty() && measured.chains.is_empty() && measured.reads.is_empty());
        for (tlb, (entries, ways)) in measured.tlbs.iter().zip(TLBS_ASSUMED) {
            assert_eq!((tlb.entries, tlb.ways), (entries, ways));
            assert!(tlb.source.starts_with("assumed"), "{tlb:?}");
        }
    }

    #[test]
    fn measured_reach_goes_before_what_cpuid_claims() {
        let mut record = Record::default();
        record.machine.tlbs.push(machine::Tlb {
            level: 2,
            kind: TlbKind::Data,
            page_bytes: vec![Bytes(4096)],
            entries: 128,
            ways: Some(8),
        });
        assert_eq!((tlb(&record, 2).entries, tlb(&record, 2).source.as_str()), (128, "CPUID"));
        record.levels.tlbs.push(record::TlbLevel {
            level: 2,
            entries: 4096,
            entries_interval: stats::Interval { low: 4096.0, high: 5793.0 },
            claimed_entries: Some(128),
            miss_ns: 17.5,
            miss_interval: stats::Interval { low: 11.5, high: 23.8 },
        });
        let found = tlb(&record, 2);
        assert_eq!((found.entries, found.ways, found.source.as_str()), (4096, 8, "measured"));
    }
}

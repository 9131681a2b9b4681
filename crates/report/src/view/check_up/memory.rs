//! Memory: address translation, what is withheld of it, bandwidth, latency in parallel and under load.

use record::{Levels, Record, Scope, StreamResult};
use stats::Order;

use crate::naming;
use crate::number::gigabytes;
use crate::page::{Cell, Section, Table};
use crate::view::cells::{loaded, margined, measured};

/// More CPUs than this are shown by their extremes and median.
const CPU_ROWS: usize = 6;

/// Several misses at once, and latency under load.
pub(super) fn beside_latency(record: &Record) -> impl Iterator<Item = Section> {
    let loaded = loaded(record.memory.loaded.iter().map(|one| (None, one))).section("Latency under load");
    parallel(record).into_iter().chain(loaded)
}

/// Levels of translation, and what is withheld of them.
pub(super) fn beside_walks(record: &Record) -> impl Iterator<Item = Section> {
    translation(&record.levels).into_iter().chain(withheld(&record.levels))
}

fn translation(levels: &Levels) -> Option<Section> {
    // Each with its name, its entries, those that are claimed, and what a miss adds.
    let tlbs = levels.tlbs.iter().map(|tlb| {
        let entries = Cell::within(tlb.entries.to_string(), tlb.entries as f64, tlb.entries_interval);
        let miss = Cell::between(tlb.miss_ns, tlb.miss_interval);
        (format!("L{} data TLB", tlb.level), entries, tlb.claimed_entries, miss)
    });
    let walk = levels
        .walk_ns
        .map(|ns| ("page walk".to_owned(), Cell::Empty, None, Cell::between(ns, levels.walk_interval)));
    let table = Table::of("translation", tlbs.chain(walk))
        .word("level", |row| row.0.clone())
        .number("entries", |row| row.1.clone())
        .number(("claimed", 1), |row| row.2)
        .number(("a miss adds", "ns"), |row| row.3.clone())
        .legend("entries: by timing alone; claimed: by CPUID");
    let section = Section::new("translation", "Address translation");
    if table.rows.is_empty() { section.filled() } else { Some(section.table(table)) }
}

fn withheld(levels: &Levels) -> Option<Section> {
    Table::of("withheld", &levels.withheld)
        .word("what", |one| &one.what)
        .word("value", |one| one.value.as_ref())
        .prose("because", |one| &one.because)
        .legend("Values that cannot hold beside another row of this record.")
        .section("Withheld")
}

fn parallel(record: &Record) -> Option<Section> {
    Table::of("parallel", &record.memory.parallel)
        .number("chains", |result| result.chains)
        .number(("block", 1), |result| result.block_bytes)
        .number(("page", 2), |result| result.page_bytes)
        .number(("per load", "ns"), |result| measured(result.ns_per_load, &result.spread))
        .legend(
            "Independent chains in random order in one thread: the time per load falls until the core runs out of outstanding \
             misses.",
        )
        .section("Several misses at once")
}

/// STREAM by kernel and by who worked; many CPUs are the slowest, the median and the fastest.
pub(super) fn stream(record: &Record) -> Table {
    let results = one_row_per_set(&record.memory.stream);
    let mut kernels = naming::distinct(results.iter().map(|result| naming::kernel_of(result)));
    let width = |isa: &str| WIDEST_FIRST.iter().position(|name| *name == isa).unwrap_or(WIDEST_FIRST.len());
    kernels.order_by_key(|(kernel, isa, _)| (width(isa), *kernel != "triad"));
    let scopes = [Scope::Cpu, Scope::Node, Scope::Machine];
    let places = kernels.iter().flat_map(|kernel| scopes.map(|scope| (kernel, scope)));
    let rows = places.flat_map(|(kernel, scope)| {
        let is_it = |one: &&StreamResult| one.scope == scope && naming::kernel_of(one) == *kernel;
        with_workers(results.iter().copied().filter(is_it).collect(), scope)
    });
    Table::of("stream", rows)
        .word("kernel", |(_, one)| naming::series(&one.kernel, &one.isa, &one.store))
        .word("on", |(who, _)| who.clone())
        .number(("bandwidth", "GB/s"), |(_, one)| margined(one.bytes_per_s, &one.spread, gigabytes))
        .number(("on the bus", "GB/s", 1), |(_, one)| gigabytes(one.bus_bytes_per_s))
        .number(("block", 2), |(_, one)| one.block_bytes)
        .table()
}

/// Names of vector instruction sets in `isa`, widest first; scalar ones come behind them.
const WIDEST_FIRST: [&str; 3] = ["avx512", "avx2", "sse2"];

/// Without the nodes that hold every measured CPU: the row of the machine says the same.
fn one_row_per_set(results: &[StreamResult]) -> Vec<&StreamResult> {
    let is_all = |result: &StreamResult| {
        results.iter().any(|other| other.scope == Scope::Machine && other.cpus == result.cpus)
    };
    results.iter().filter(|result| result.scope != Scope::Node || !is_all(result)).collect()
}

/// Each result with who worked, or the extremes and the median of many.
fn with_workers(mut results: Vec<&StreamResult>, scope: Scope) -> Vec<(String, &StreamResult)> {
    if results.len() <= CPU_ROWS {
        let who = |one: &StreamResult| naming::workers(one.scope, one.cpu, one.node, &one.cpus);
        return results.into_iter().map(|one| (who(one), one)).collect();
    }
    results.retain(|result| result.bytes_per_s.is_finite());
    results.order_by(|a, b| a.bytes_per_s.total_cmp(&b.bytes_per_s));
    let Some(last) = results.len().checked_sub(1) else { return Vec::new() };
    let of = format!("of {} {}s", results.len(), naming::word(&scope).replace("cpu", "CPU"));
    [("slowest", 0), ("median", last.div_ceil(2)), ("fastest", last)]
        .map(|(rank, place)| (format!("{rank} {of}"), results[place]))
        .into()
}

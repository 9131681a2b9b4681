//! Memory: the levels found, address translation, what is withheld, bandwidth, latency in parallel and under load.

use machine::Bytes;
use record::{Level, Levels, Record, Scope, StreamResult};
use stats::Order;

use crate::naming;
use crate::number::{self, gigabytes};
use crate::page::{Cell, Section, Table};
use crate::view::cells::{loaded, margined, measured};

/// Levels on a first screen: three caches and memory.
const LEVELS_FIRST: usize = 4;
/// Levels of cache that a machine may claim.
const LEVELS_CLAIMED_MAX: u8 = 4;
/// More CPUs than this are shown by their extremes and median.
const CPU_ROWS: usize = 6;

/// Caches and memory as found, the table of the first screen; `None` without any.
pub(super) fn levels(record: &Record) -> Option<Section> {
    let levels = &record.levels.caches;
    let rows = with_claimed(record);
    // Memory has no size of that kind; of a cache it could not be determined.
    let found = |row: &ShownLevel| match row.found.and_then(|level| level.size_bytes) {
        Some(bytes) => Cell::size(bytes),
        None if row.name == "memory" => Cell::Empty,
        None => number::UNKNOWN.into(),
    };
    let read = |level: &Level| {
        let rate = level.read_bytes_per_s.map(gigabytes)?;
        let ends = level.read_interval.map(|interval| interval.map(gigabytes));
        Some(Cell::with_margin(rate, ends))
    };
    let mut table = Table::of("levels", rows)
        .word("level", |row| row.name.clone())
        .number("found", found)
        .number(("claimed", 1), |row| row.claimed)
        .number(("latency", "ns"), |row| {
            row.found.map(|level| Cell::with_margin(level.ns, level.ns_interval))
        })
        .number(("cycles", 2), |row| row.found?.core_cycles.map(Cell::short))
        .number(("read", "GB/s", 1), |row| read(row.found?))
        .first(LEVELS_FIRST)
        .table();
    // No latency means anything without what it was measured in; caches are measured alike.
    let memory = levels.last().filter(|level| level.name == "memory");
    let conditions = memory.and_then(|level| level.conditions.as_ref());
    table.legend = conditions.map(|conditions| format!("latency of memory: {conditions}"));
    table.under("levels-found", "")
}

/// A line of the table of levels: what was found, or a cache that is claimed and did not show.
struct ShownLevel<'a> {
    name: String,
    claimed: Option<Bytes>,
    found: Option<&'a Level>,
}

/// The levels found and the caches that are claimed, nearest first; nothing where no level was found.
fn with_claimed(record: &Record) -> Vec<ShownLevel<'_>> {
    let levels = &record.levels.caches;
    let mut rows: Vec<ShownLevel> = levels
        .iter()
        .map(|level| ShownLevel {
            name: level.name.clone(),
            claimed: level.claimed_bytes,
            found: Some(level),
        })
        .collect();
    let Some(cpu) = record.memory.latency.first().map(|cell| cell.cpu).filter(|_| !rows.is_empty()) else {
        return rows;
    };
    for level in 1..=LEVELS_CLAIMED_MAX {
        let name = format!("L{level}");
        let claimed = record.machine.topology.data_cache(cpu, level).and_then(|cache| cache.size_bytes);
        if claimed.is_some_and(|size| size.0 > 0) && rows.iter().all(|row| row.name != name) {
            let farther = |row: &ShownLevel| row.name == "memory" || row.name > name;
            let place = rows.iter().position(farther).unwrap_or(rows.len());
            rows.insert(place, ShownLevel { name, claimed, found: None });
        }
    }
    rows
}

/// What no figure shows: address translation, what is withheld, several misses at once, latency under load.
pub(super) fn beside_figures(record: &Record) -> Vec<Section> {
    [
        translation(&record.levels),
        withheld(&record.levels),
        parallel(record),
        loaded(record.memory.loaded.iter().map(|one| (None, one))).section("Latency under load"),
    ]
    .into_iter()
    .flatten()
    .collect()
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

/// What was found and is not believed first: what was not found may be looked up.
fn withheld(levels: &Levels) -> Option<Section> {
    let (found, missing): (Vec<_>, Vec<_>) = levels.withheld.iter().partition(|one| one.value.is_some());
    Table::of("withheld", found.into_iter().chain(missing))
        .word("what", |one| &one.what)
        .word("value", |one| one.value.as_ref())
        .prose("because", |one| &one.because)
        .legend("Values that cannot hold beside the rest of this record, and levels that did not show.")
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

//! Memory: the levels found, address translation, what is withheld, bandwidth, latency in parallel and under load, sockets.

use record::{Level, Levels, Record, Scope, SocketVerdict, Sockets, StreamResult};
use stats::Interval;

use super::with_interval;
use crate::interconnect::verdict_words;
use crate::naming;
use crate::number::{self, gigabytes, told};
use crate::page::{Block, Cell, Column, Section, Table, Tone};
use crate::sockets::{asymmetry_words, likeness_words};

/// Levels on a first screen: three caches and memory.
const LEVELS_FIRST: usize = 4;
/// More CPUs than this are told by their extremes and median.
const CPU_ROWS: usize = 6;
/// A gain of huge pages that is of no practical matter, as a share. `diagnosis` judges by the same.
const SMALL_GAIN: f64 = 0.05;

/// Caches and memory as found, the table of the first screen; `None` without any.
pub(super) fn levels(record: &Record) -> Option<Section> {
    let levels = &record.levels.caches;
    let columns = vec![
        Column::word("level"),
        Column::number("found", ""),
        Column::number("claimed", "").priority(1),
        Column::number("latency", "ns"),
        Column::number("cycles", "").priority(2),
        Column::number("read", "GB/s").priority(1),
        Column::bar(),
    ];
    let mut table = Table::new("levels", columns);
    let largest = levels.iter().map(|level| level.ns).filter_map(number::positive).fold(1.0, f64::max);
    for level in levels {
        table.row(level_row(level, largest));
    }
    table.first_rows = Some(LEVELS_FIRST);
    // No latency means anything without what it was measured in; caches are measured alike.
    let memory = levels.last().filter(|level| level.name == "memory");
    table.legend =
        memory.and_then(|level| Some(format!("latency of memory: {}", level.conditions.as_ref()?)));
    table.under("levels-found", "")
}

fn level_row(level: &Level, largest_ns: f64) -> Vec<Cell> {
    let size = |bytes: Option<machine::Bytes>, text: fn(machine::Bytes) -> String| {
        bytes.map_or(Cell::Empty, |bytes| Cell::shown(text(bytes), bytes.0 as f64))
    };
    // The bar is logarithmic; it begins below one nanosecond, as no first-level cache answers much faster.
    let share = number::positive(level.ns).map_or(0.0, |ns| (ns * 1.25).ln() / (largest_ns * 1.25).ln());
    let rate = level.read_bytes_per_s.map(gigabytes);
    let read = rate.map(|rate| match level.read_interval.map(|interval| interval.map(gigabytes)) {
        Some(interval) => Cell::within(with_interval(rate, interval), rate, interval),
        None => Cell::number(rate),
    });
    vec![
        Cell::text(&level.name),
        match level.size_bytes {
            // Memory has no size of that kind; of a cache it could not be determined.
            None if level.name != "memory" => Cell::text(number::UNKNOWN),
            found => size(found, number::size),
        },
        size(level.claimed_bytes, |bytes| bytes.to_string()),
        Cell::within(with_interval(level.ns, level.ns_interval), level.ns, level.ns_interval),
        level.core_cycles.map_or(Cell::Empty, |cycles| Cell::shown(number::significant(cycles, 3), cycles)),
        read.unwrap_or_default(),
        Cell::Share(share),
    ]
}

/// What no figure shows: address translation, what is withheld, several misses at once, latency under load.
pub(crate) fn beside_figures(record: &Record) -> Vec<Section> {
    [translation(&record.levels), withheld(&record.levels), parallel(record), loaded(record)]
        .into_iter()
        .flatten()
        .collect()
}

fn translation(levels: &Levels) -> Option<Section> {
    let columns = vec![
        Column::word("level"),
        Column::number("entries", ""),
        Column::number("claimed", "").priority(1),
        Column::number("a miss adds", "ns"),
    ];
    let mut table = Table::new("translation", columns);
    let cost = |ns: f64, interval: Interval| {
        let text = format!("{} {}", number::column(ns), number::uncertainty(ns, interval));
        Cell::within(text.trim_end(), ns, interval)
    };
    for tlb in &levels.tlbs {
        let ends = tlb.entries_interval;
        table.row(vec![
            Cell::text(format!("L{} data TLB", tlb.level)),
            Cell::within(tlb.entries.to_string(), tlb.entries as f64, ends),
            tlb.claimed_entries.map_or(Cell::Empty, |count| Cell::shown(count.to_string(), f64::from(count))),
            cost(tlb.miss_ns, tlb.miss_interval),
        ]);
    }
    if let Some(ns) = levels.walk_ns {
        let walk = levels.walk_interval.map_or_else(|| Cell::number(ns), |interval| cost(ns, interval));
        table.row(vec![Cell::text("page walk"), Cell::Empty, Cell::Empty, walk]);
    }
    table.legend = Some("entries: by timing alone; claimed: by CPUID".to_owned());
    let gain = page_gain(levels);
    if table.rows.is_empty() && gain.is_none() {
        return None;
    }
    let mut section = Section::new("translation", "Address translation");
    if let Some(gain) = gain {
        section = section.saying(Tone::Plain, gain);
    }
    Some(if table.rows.is_empty() { section } else { section.with(Block::Table(table)) })
}

/// What random access costs without huge pages; `undetermined` where the interval holds neither a gain that matters nor none.
fn page_gain(levels: &Levels) -> Option<String> {
    let gain = levels.huge_page_gain?;
    let is_small = |share: f64| share.abs() <= SMALL_GAIN;
    let is_told = |i: Interval| i.low > SMALL_GAIN || (is_small(i.low) && is_small(i.high));
    let is_open = levels.huge_page_interval.is_some_and(|interval| !is_told(interval));
    let ends = levels
        .huge_page_interval
        .map_or_else(String::new, |i| format!(" [{}, {}]", number::percent(i.low), number::percent(i.high)));
    let value = format!("{}{}{ends}", if gain < 0.0 { "" } else { "+" }, number::percent(gain));
    Some(if is_open {
        format!("time of random access without huge pages: undetermined ({value})")
    } else {
        format!("time of random access without huge pages: {value}")
    })
}

/// What was found and is not believed first: what was not found may be looked up.
fn withheld(levels: &Levels) -> Option<Section> {
    let columns = vec![Column::word("what"), Column::word("value"), Column::prose("because")];
    let mut table = Table::new("withheld", columns);
    let (found, missing): (Vec<_>, Vec<_>) = levels.withheld.iter().partition(|one| one.value.is_some());
    for one in found.into_iter().chain(missing) {
        let value = one.value.as_deref().unwrap_or_default();
        table.row(vec![Cell::text(&one.what), Cell::text(value), Cell::text(&one.because)]);
    }
    table.legend = Some(
        "Values that cannot hold beside the rest of this record, and levels that did not show.".to_owned(),
    );
    table.under("withheld", "Withheld")
}

fn parallel(record: &Record) -> Option<Section> {
    let columns = vec![
        Column::number("chains", ""),
        Column::number("block", "").priority(1),
        Column::number("page", "").priority(2),
        Column::number("per load", "ns"),
    ];
    let mut table = Table::new("parallel", columns);
    for result in &record.memory.parallel {
        table.row(vec![
            Cell::count(result.chains),
            size(result.block_bytes),
            size(result.page_bytes),
            Cell::within(
                told(result.ns_per_load, &result.spread),
                result.ns_per_load,
                result.spread.interval,
            ),
        ]);
    }
    table.legend = Some(
        "Independent chains in random order in one thread: the time per load falls until the core runs out of outstanding \
         misses."
            .to_owned(),
    );
    table.under("parallel", "Several misses at once")
}

fn size(bytes: machine::Bytes) -> Cell {
    Cell::shown(bytes.to_string(), bytes.0 as f64)
}

fn loaded(record: &Record) -> Option<Section> {
    let columns = vec![
        Column::word("chases"),
        Column::word("others stream"),
        Column::number("block", "").priority(3),
        Column::number("page", "").priority(4),
        Column::number("their traffic", "GB/s").priority(1),
        Column::number("overlapped windows", "").priority(5),
        Column::number("latency", "ns"),
    ];
    let mut table = Table::new("loaded", columns);
    for result in &record.memory.loaded {
        let rate = gigabytes(result.load_bytes_per_s);
        let ends = result.load_interval.map(gigabytes);
        let traffic = format!("{} {}", number::column(rate), number::uncertainty(rate, ends));
        let idle = result.loading.is_empty();
        table.row(vec![
            Cell::text(format!("CPU {}", result.cpu)),
            Cell::text(if idle { "none".to_owned() } else { format!("CPUs {}", result.loading) }),
            result.block_bytes.map_or(Cell::Empty, size),
            result.page_bytes.map_or(Cell::Empty, size),
            if idle { Cell::Empty } else { Cell::within(traffic.trim_end(), rate, ends) },
            Cell::count(result.overlapped_windows),
            Cell::within(told(result.ns, &result.spread), result.ns, result.spread.interval),
        ]);
    }
    table.legend = Some("One chain in random order while other CPUs stream.".to_owned());
    table.under("loaded", "Latency under load")
}

/// STREAM by kernel and by who worked; many CPUs are the slowest, the median and the fastest.
pub(crate) fn stream(record: &Record) -> Table {
    let columns = vec![
        Column::word("kernel"),
        Column::word("on"),
        Column::number("bandwidth", "GB/s"),
        Column::number("on the bus", "GB/s").priority(1),
        Column::number("block", "").priority(2),
    ];
    let mut table = Table::new("stream", columns);
    let results = one_row_per_set(&record.memory.stream);
    let mut kernels: Vec<(&str, &str, &str)> = Vec::new();
    for result in &results {
        let key = kernel_of(result);
        if !kernels.contains(&key) {
            kernels.push(key);
        }
    }
    let width = |isa: &str| WIDEST_FIRST.iter().position(|name| *name == isa).unwrap_or(WIDEST_FIRST.len());
    kernels.sort_by_key(|(kernel, isa, _)| (width(isa), *kernel != "triad"));
    for key in kernels {
        let of = |scope: Scope| -> Vec<&StreamResult> {
            results.iter().copied().filter(|one| one.scope == scope && kernel_of(one) == key).collect()
        };
        for scope in [Scope::Cpu, Scope::Node, Scope::Machine] {
            for (who, result) in told_of(of(scope), scope) {
                let rate = gigabytes(result.bytes_per_s);
                let spread = result.spread.interval.map(gigabytes);
                let mark = number::quality_mark(result.spread.quality);
                let text = format!("{}{mark} {}", number::column(rate), number::plus_minus(rate, spread));
                table.row(vec![
                    Cell::text(naming::series(key.0, key.1, key.2)),
                    Cell::text(who),
                    Cell::within(text.trim_end(), rate, spread),
                    Cell::number(gigabytes(result.bus_bytes_per_s)),
                    size(result.block_bytes),
                ]);
            }
        }
    }
    table
}

/// Names of vector instruction sets in `isa`, widest first; scalar ones come behind them.
const WIDEST_FIRST: [&str; 3] = ["avx512", "avx2", "sse2"];

/// Kernel, instruction set and store.
fn kernel_of(result: &StreamResult) -> (&str, &str, &str) {
    (&result.kernel, &result.isa, &result.store)
}

/// Without the nodes that hold every measured CPU: the row of the machine says the same.
fn one_row_per_set(results: &[StreamResult]) -> Vec<&StreamResult> {
    let is_all = |result: &StreamResult| {
        results.iter().any(|other| other.scope == Scope::Machine && other.cpus == result.cpus)
    };
    results.iter().filter(|result| result.scope != Scope::Node || !is_all(result)).collect()
}

/// Each result with who worked, or the extremes and the median of many.
fn told_of(mut results: Vec<&StreamResult>, scope: Scope) -> Vec<(String, &StreamResult)> {
    if results.len() <= CPU_ROWS {
        let who = |one: &StreamResult| naming::workers(one.scope, one.cpu, one.node, &one.cpus);
        return results.into_iter().map(|one| (who(one), one)).collect();
    }
    results.retain(|result| result.bytes_per_s.is_finite());
    results.sort_by(|a, b| a.bytes_per_s.total_cmp(&b.bytes_per_s));
    let Some(last) = results.len().checked_sub(1) else { return Vec::new() };
    let of = format!("of {} {}s", results.len(), naming::scope(scope).replace("cpu", "CPU"));
    [("slowest", 0), ("median", last.div_ceil(2)), ("fastest", last)]
        .map(|(rank, place)| (format!("{rank} {of}"), results[place]))
        .into()
}

/// Whether sockets are alike, and what memory of other nodes costs; `None` where there is nothing to compare.
pub(super) fn sockets(record: &Record) -> Option<Section> {
    let sockets = record.sockets.as_ref().filter(|sockets| !sockets.latency.is_empty())?;
    let mut facts: Vec<(String, String)> = Vec::new();
    let mut fact = |name: &str, text: String| facts.push((name.to_owned(), text));
    if sockets.subjects.len() > 1 {
        fact(
            "verdict",
            match sockets.verdict {
                SocketVerdict::Alike => format!("alike: {}", likeness_words(sockets)),
                SocketVerdict::Asymmetric => format!("asymmetric: {}", asymmetry_words(sockets)),
                SocketVerdict::Inconclusive => format!("undetermined: {}", sockets.because.join("; ")),
            },
        );
        if let Some(gate) = &sockets.gate {
            fact("gate", format!("{}, against {}", verdict_words(gate.verdict), gate.expected_from));
        }
    }
    if let Some(text) = near_and_far(sockets) {
        fact("nodes", text);
    }
    (!facts.is_empty()).then(|| Section::new("sockets-in-brief", "Sockets").with(Block::Facts(facts)))
}

/// `own memory 102 to 138 ns, other nodes 120 to 146 ns`; none with one node.
fn near_and_far(sockets: &Sockets) -> Option<String> {
    let span = |is_own: bool| {
        let of = |one: &&record::NodeLatency| {
            let subject = sockets.subjects.iter().find(|subject| subject.cpu == one.cpu);
            one.ns.is_finite() && subject.is_some_and(|subject| (subject.node == Some(one.node)) == is_own)
        };
        let values = sockets.latency.iter().filter(of).map(|one| one.ns);
        let (low, high) =
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), ns| (low.min(ns), high.max(ns)));
        let [low, high] = (low <= high).then_some([low, high])?.map(number::short);
        Some(if low == high { low } else { format!("{low} to {high}") })
    };
    let largest = sockets.nodes.iter().map(|node| node.block_bytes).max();
    let how = largest.map_or_else(String::new, |bytes| format!(", random in {bytes}"));
    Some(format!("own memory {} ns, other nodes {} ns{how}", span(true)?, span(false)?))
}

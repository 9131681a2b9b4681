//! The compact tables of the summary: levels, STREAM, translation, cores, clocks.

use std::collections::BTreeSet;
use std::fmt::Write;

use comfy_table::Table;
use record::{ClockRead, Level, Levels, Record, Scope, StreamResult, Withheld};
use unicode_width::UnicodeWidthStr;

use super::paint::{Ink, Paper, bar, table_of};
use crate::{escape::plain, naming, number};

/// More CPUs than this are told by their extremes and median.
const CPU_ROWS: usize = 6;

/// More STREAM columns than this are no summary.
const STREAM_COLUMNS: usize = 5;

/// The time sources that programs use most; the others are in the report.
const USUAL_CLOCKS: [&str; 5] =
    ["rdtsc", "rdtscp", "clock_gettime(CLOCK_MONOTONIC)", "gettimeofday", "clock_gettime system call"];

/// The most shared resources that are told of a machine with many pairs.
const SHARED_PAIRS: usize = 3;

/// A gain of huge pages that is of no practical matter, as a share. `diagnosis` judges by the same.
const SMALL_GAIN: f64 = 0.05;

/// Columns of the bar behind each cache level.
const BAR_COLUMNS: usize = 10;

/// What concerns memory.
pub(super) fn memory(paper: &mut Paper, record: &Record) {
    levels(paper, record);
    translation(paper, record);
    stream(paper, record);
}

fn titles(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn levels(paper: &mut Paper, record: &Record) {
    let levels = &record.levels.caches;
    if levels.is_empty() {
        return;
    }
    let table = level_table(levels, true);
    // The bar is an ornament: where there is no room for it, the numbers stand alone.
    let fits = natural_columns(&table) <= paper.layout_columns();
    paper.table(if fits { table } else { level_table(levels, false) });
    conditions(paper, levels);
}

/// How the latencies were measured: caches alike, memory by a chase of its own.
fn conditions(paper: &mut Paper, levels: &[Level]) {
    let Some(memory) = levels.last().filter(|level| level.name == "memory") else { return };
    if let Some(conditions) = &memory.conditions {
        paper.wrapped_inked(Ink::Faint, "        ", &format!("ns of memory: {conditions}"));
    }
}

/// Most of what was withheld that the screen has room for.
const WITHHELD_SHOWN: usize = 3;

fn withheld(paper: &mut Paper, record: &Record) {
    let all = &record.levels.withheld;
    // What was found and is not believed first: what was not found may be looked up.
    let (taken, missing): (Vec<&Withheld>, Vec<&Withheld>) = all.iter().partition(|one| one.value.is_some());
    let shown = taken.into_iter().chain(missing).take(WITHHELD_SHOWN);
    let mut told: Vec<String> = shown
        .map(|one| {
            let value = one.value.as_ref().map_or_else(String::new, |value| format!(" {}", plain(value)));
            format!("{}{value}: {}", plain(&one.what), plain(&one.because))
        })
        .collect();
    if all.len() > WITHHELD_SHOWN {
        told.push(format!("{} more in the report", all.len() - WITHHELD_SHOWN));
    }
    if !told.is_empty() {
        paper.wrapped("withheld  ", &told.join("; "));
    }
}

fn level_table(levels: &[Level], with_bar: bool) -> Table {
    let largest = levels.iter().map(|level| level.ns).filter_map(number::positive).fold(1.0, f64::max);
    let with_rate = levels.iter().any(|level| level.read_bytes_per_s.is_some());
    let mut headers = vec!["level", "found", "claimed", "ns", "cycles"];
    headers.extend(with_rate.then_some("read GB/s"));
    headers.extend(with_bar.then_some(""));
    let mut table = table_of(&titles(&headers));
    for level in levels {
        let mut row = vec![
            plain(&level.name),
            level.size_bytes.map_or_else(String::new, number::size),
            level.claimed_bytes.map_or_else(String::new, |bytes| bytes.to_string()),
            format!("{} {}", number::column(level.ns), number::plus_minus(level.ns, level.ns_interval)),
            level.core_cycles.map_or_else(String::new, |cycles| number::significant(cycles, 3)),
        ];
        if with_rate {
            row.push(level.read_bytes_per_s.map_or_else(String::new, |rate| {
                let told = level.read_interval.map_or_else(String::new, |i| number::plus_minus(rate, i));
                format!("{} {told}", number::column(number::gigabytes(rate)))
            }));
        }
        if with_bar {
            // The bar is logarithmic; it begins below one nanosecond, as no first-level cache answers much faster.
            let share = number::positive(level.ns).map_or(0.0, |ns| (ns * 1.25).ln() / (largest * 1.25).ln());
            row.push(bar(share, BAR_COLUMNS));
        }
        table.add_row(row);
    }
    if let Some(column) = table.column_mut(headers.len() - 1).filter(|_| with_bar) {
        column.set_cell_alignment(comfy_table::CellAlignment::Left);
    }
    table
}

fn translation(paper: &mut Paper, record: &Record) {
    let mut parts: Vec<String> = Vec::new();
    for tlb in &record.levels.tlbs {
        let claimed = tlb.claimed_entries.map_or_else(String::new, |entries| format!(" (claimed {entries})"));
        parts.push(format!(
            "L{} {} entries{claimed}, a miss +{} ns {}",
            tlb.level,
            tlb.entries,
            number::short(tlb.miss_ns),
            number::uncertainty(tlb.miss_ns, tlb.miss_interval),
        ));
    }
    if let Some(ns) = record.levels.walk_ns {
        let spread = record
            .levels
            .walk_interval
            .map_or_else(String::new, |i| format!(" {}", number::uncertainty(ns, i)));
        parts.push(format!("page walk {} ns{spread}", number::short(ns)));
    }
    parts.extend(page_gain(&record.levels));
    if !parts.is_empty() {
        paper.wrapped("TLB     ", &parts.join("; "));
    }
    withheld(paper, record);
    if !record.levels.caches.is_empty() || !parts.is_empty() || !record.levels.withheld.is_empty() {
        paper.blank();
    }
}

/// What random access costs without huge pages; `undetermined` where the interval holds neither a gain that matters nor none.
pub(crate) fn page_gain(levels: &Levels) -> Option<String> {
    let gain = levels.huge_page_gain?;
    let is_small = |share: f64| share.abs() <= SMALL_GAIN;
    let is_told = |i: stats::Interval| i.low > SMALL_GAIN || (is_small(i.low) && is_small(i.high));
    let is_open = levels.huge_page_interval.is_some_and(|interval| !is_told(interval));
    let ends = levels
        .huge_page_interval
        .map_or_else(String::new, |i| format!(" [{}, {}]", number::percent(i.low), number::percent(i.high)));
    let value = format!("{}{}{ends}", if gain < 0.0 { "" } else { "+" }, number::percent(gain));
    Some(if is_open {
        format!("random access without huge pages undetermined ({value})")
    } else {
        format!("random access without huge pages {value}")
    })
}

/// Without the nodes that hold every measured CPU: the row of the machine says the same.
fn one_row_per_set(mut results: Vec<StreamResult>) -> Vec<StreamResult> {
    let machine: Vec<machine::CpuSet> =
        results.iter().filter(|r| r.scope == Scope::Machine).map(|r| r.cpus.clone()).collect();
    results.retain(|result| result.scope != Scope::Node || !machine.contains(&result.cpus));
    results
}

/// Names of vector instruction sets in `isa`, widest first; scalar ones come behind them.
const WIDEST_FIRST: [&str; 3] = ["avx512", "avx2", "sse2"];

/// Kernel, instruction set and store of each column, widest instructions first, triad first among them.
fn stream_columns(results: &[StreamResult]) -> Vec<(&str, &str, &str)> {
    let mut columns: Vec<(&str, &str, &str)> = Vec::new();
    for result in results {
        let key = (result.kernel.as_str(), result.isa.as_str(), result.store.as_str());
        if !columns.contains(&key) {
            columns.push(key);
        }
    }
    let width = |isa: &str| WIDEST_FIRST.iter().position(|name| *name == isa).unwrap_or(WIDEST_FIRST.len());
    columns.sort_by_key(|(kernel, isa, _)| (width(isa), *kernel != "triad"));
    columns
}

fn stream(paper: &mut Paper, record: &Record) {
    let results = one_row_per_set(record.memory.stream.clone());
    let columns = stream_columns(&results);
    let fitting = (1..=columns.len().min(STREAM_COLUMNS)).rev().map(|count| &columns[..count]);
    let mut tables = fitting.map(|columns| (columns.len(), stream_table(&results, columns)));
    let fits =
        |(count, table): &(usize, Table)| *count == 1 || natural_columns(table) <= paper.layout_columns();
    let Some((shown, table)) = tables.find(fits) else { return };
    paper.table(table);
    if columns.len() > shown {
        let more = columns.len() - shown;
        let kernels = if more == 1 { "kernel is" } else { "kernels are" };
        paper.faint(&format!("        {more} more {kernels} in the report"));
    }
    paper.blank();
}

/// The widest line of a table that nothing has wrapped yet.
fn natural_columns(table: &Table) -> usize {
    table.to_string().lines().map(|line| line.trim_end().width()).max().unwrap_or(0)
}

fn stream_table(results: &[StreamResult], columns: &[(&str, &str, &str)]) -> Table {
    let isas: BTreeSet<&str> = columns.iter().map(|(_, isa, _)| *isa).collect();
    let common = if isas.len() == 1 { format!(" {}", plain(columns[0].1)) } else { String::new() };
    let mut headers = vec![format!("STREAM GB/s{common}")];
    headers.extend(columns.iter().map(|(k, i, s)| plain(&naming::series_short(k, i, s, isas.len() > 1))));
    let mut table = table_of(&headers);
    let mut names: Vec<(String, Scope)> = Vec::new();
    for result in results {
        let name = naming::workers(result.scope, result.cpu, result.node, &result.cpus);
        if !names.iter().any(|(have, _)| *have == name) {
            names.push((name, result.scope));
        }
    }
    let cell = |result: &StreamResult| {
        let interval = result.spread.interval.map(number::gigabytes);
        let value = number::gigabytes(result.bytes_per_s);
        format!(
            "{}{} {}",
            number::column(value),
            number::quality_mark(result.spread.quality),
            number::plus_minus(value, interval)
        )
    };
    for scope in [Scope::Cpu, Scope::Node, Scope::Machine] {
        let rows: Vec<&String> = names.iter().filter(|(_, of)| *of == scope).map(|(name, _)| name).collect();
        if rows.len() <= CPU_ROWS {
            for name in rows {
                let found = |key: &(&str, &str, &str)| {
                    results.iter().find(|r| {
                        naming::workers(r.scope, r.cpu, r.node, &r.cpus) == *name
                            && (r.kernel.as_str(), r.isa.as_str(), r.store.as_str()) == *key
                    })
                };
                let mut row = vec![name.clone()];
                row.extend(columns.iter().map(|key| found(key).map_or_else(String::new, cell)));
                table.add_row(row);
            }
            continue;
        }
        for (what, pick) in [("slowest", 0.0), ("median", 0.5), ("fastest", 1.0)] {
            let mut row =
                vec![format!("{what} of {} {}s", rows.len(), naming::scope(scope).replace("cpu", "CPU"))];
            row.extend(
                columns.iter().map(|key| ranked(results, scope, *key, pick).map_or_else(String::new, cell)),
            );
            table.add_row(row);
        }
    }
    table
}

/// The result at that rank, 0 slowest and 1 fastest, among those of one scope and kernel.
fn ranked<'r>(
    results: &'r [StreamResult],
    scope: Scope,
    key: (&str, &str, &str),
    rank: f64,
) -> Option<&'r StreamResult> {
    let mut of: Vec<&StreamResult> = results
        .iter()
        .filter(|r| r.scope == scope && (r.kernel.as_str(), r.isa.as_str(), r.store.as_str()) == key)
        .filter(|r| r.bytes_per_s.is_finite())
        .collect();
    of.sort_by(|a, b| a.bytes_per_s.total_cmp(&b.bytes_per_s));
    let last = of.len().checked_sub(1)?;
    of.get((rank * last as f64).round() as usize).copied()
}

/// The extremes and the median of the values of several pairs; one pair alone is told by the caller.
fn spanned(mut values: Vec<(f64, String)>) -> Option<String> {
    values.retain(|(value, _)| value.is_finite());
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (low, of_low) = values.first()?;
    let (high, of_high) = values.last()?;
    if values.len() == 1 {
        return Some(format!("{} ns {of_low}", number::short(*low)));
    }
    Some(format!(
        "{} ns {of_low} to {} ns {of_high}, median {} ns",
        number::short(*low),
        number::short(*high),
        number::short(values[values.len() / 2].0)
    ))
}

fn line_transfer(paper: &mut Paper, record: &Record) {
    let mut protocols: Vec<&str> = Vec::new();
    for pair in &record.cores.line_transfer {
        if !protocols.contains(&pair.protocol.as_str()) {
            protocols.push(&pair.protocol);
        }
    }
    let mut told = Vec::new();
    for protocol in protocols {
        let of = record.cores.line_transfer.iter().filter(|pair| pair.protocol == protocol);
        let values = of.map(|pair| {
            let spread = number::plus_minus(pair.ns, pair.spread.interval);
            (pair.ns, format!("{spread} (CPUs {}-{})", pair.a, pair.b))
        });
        let values = spanned(values.collect());
        told.extend(values.map(|text| format!("{} {text}", plain(&naming::words(protocol)))));
    }
    if !told.is_empty() {
        paper.wrapped("line    ", &told.join("; "));
    }
}

fn sharing(paper: &mut Paper, record: &Record) {
    let several = record
        .cores
        .sharing
        .iter()
        .any(|pair| pair.a.max(pair.b) != record.cores.sharing[0].a.max(record.cores.sharing[0].b));
    let mut resources: Vec<(&str, f64, String)> = Vec::new();
    for pair in record.cores.sharing.iter().filter(|pair| pair.slowdown.is_finite()) {
        let whom = if several { format!(" (CPU {} beside {})", pair.a, pair.b) } else { String::new() };
        let told = format!(
            "{} {}x {}{whom}",
            plain(&naming::words(&pair.resource)),
            number::short(pair.slowdown),
            number::plus_minus(pair.slowdown, pair.spread.interval),
        );
        match resources.iter_mut().find(|(name, ..)| *name == pair.resource) {
            Some(worst) if worst.1 >= pair.slowdown => {}
            Some(worst) => *worst = (&pair.resource, pair.slowdown, told),
            None => resources.push((&pair.resource, pair.slowdown, told)),
        }
    }
    if several {
        // The least shared resources say little; the full matrices are in the report.
        resources.sort_by(|a, b| b.1.total_cmp(&a.1));
        resources.truncate(SHARED_PAIRS);
    }
    if !resources.is_empty() {
        let told: Vec<String> = resources.into_iter().map(|(_, _, told)| told).collect();
        let what = if several { "worst" } else { "both at once" };
        // Of several pairs the screen has no room for more.
        let unlike = worst_unlike(record).filter(|_| !several).unwrap_or_default();
        paper.wrapped("shared  ", &format!("{what}: {}{unlike}", told.join(", ")));
    }
}

/// The pair of unlike loops that costs most: all others are in the report.
fn worst_unlike(record: &Record) -> Option<String> {
    let usable = record.cores.unlike.iter().filter(|pair| pair.slowdown.is_finite());
    let worst = usable.max_by(|a, b| a.slowdown.total_cmp(&b.slowdown))?;
    Some(format!(
        "; unlike at worst {} {}x beside {}",
        plain(&naming::words(&worst.class)),
        number::short(worst.slowdown),
        plain(&naming::words(&worst.beside)),
    ))
}

/// What concerns cores and clocks.
pub(super) fn cores(paper: &mut Paper, record: &Record) {
    let before = paper.line_count();
    line_transfer(paper, record);
    sharing(paper, record);
    let wake = &record.cores.wake;
    if let (Some(first), Some(last)) = (wake.first(), wake.last()) {
        let told = |point: &record::WakePoint| {
            format!(
                "{} {} after {} idle",
                number::duration_ns(point.ns),
                number::plus_minus(point.ns, point.spread.interval),
                number::duration_ns(point.idle_us * 1e3)
            )
        };
        let both = if wake.len() == 1 { told(first) } else { format!("{}, {}", told(first), told(last)) };
        paper.wrapped("wake    ", &both);
    }
    clocks(paper, record);
    if paper.line_count() > before {
        paper.blank();
    }
}

fn clocks(paper: &mut Paper, record: &Record) {
    if record.clocks.is_empty() {
        return;
    }
    let usual = |read: &&ClockRead| USUAL_CLOCKS.contains(&read.name.as_str());
    let mut shown: Vec<&ClockRead> = record.clocks.iter().filter(usual).collect();
    if shown.is_empty() {
        shown = record.clocks.iter().take(USUAL_CLOCKS.len()).collect();
    }
    let mut names: Vec<&str> = Vec::new();
    for read in &shown {
        if !names.contains(&read.name.as_str()) {
            names.push(&read.name);
        }
    }
    let told =
        names.iter().map(|name| one_clock(name, shown.iter().copied().filter(|read| read.name == *name)));
    let mut told = told.collect::<Vec<String>>().join(", ");
    let all: BTreeSet<&str> = record.clocks.iter().map(|read| read.name.as_str()).collect();
    let more = all.len() - names.len();
    if more > 0 {
        let _ = write!(told, "; {more} more in the report");
    }
    if let Some(gist) = record.clock_cost.as_ref().and_then(crate::view::clock_cost::gist) {
        let _ = write!(told, "; {gist}");
    }
    paper.wrapped("clocks  ", &told);
}

/// One name once: on several CPUs from the cheapest to the dearest, with their numbers.
fn one_clock<'r>(name: &str, reads: impl Iterator<Item = &'r ClockRead>) -> String {
    let mut reads: Vec<&ClockRead> = reads.collect();
    reads.sort_by(|a, b| a.ns.total_cmp(&b.ns));
    let short = plain(&name.replace("CLOCK_", "").replace("clock_gettime", "gettime"));
    match reads.as_slice() {
        [] => short,
        [read] => {
            let spread = number::plus_minus(read.ns, read.spread.interval);
            format!("{short} {} {spread}", number::duration_ns(read.ns))
        }
        [low, .., high] => format!(
            "{short} {} to {} (CPUs {} and {})",
            number::duration_ns(low.ns),
            number::duration_ns(high.ns),
            low.cpu,
            high.cpu
        ),
    }
}

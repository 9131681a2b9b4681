//! Tables without a picture: levels and TLBs, parallel and loaded latency, control loops, clocks, the plan.

use std::fmt::Write;

use record::{PlanOutcome, Record};

use super::markup;
use crate::figure::DataTable;
use crate::naming;
use crate::number::{self, told};

const NONE: &str = "-";

pub(super) fn data(headers: &[&str], rows: Vec<Vec<String>>) -> DataTable {
    DataTable { headers: headers.iter().map(|header| (*header).to_owned()).collect(), rows }
}

/// A table below a heading and a sentence; nothing without rows. Title and note are words of ours.
pub(super) fn titled(title: &str, note: &str, table: &DataTable) -> String {
    if table.rows.is_empty() {
        return String::new();
    }
    format!(
        "<div class=\"block\"><h3>{title}</h3><p class=\"note\">{note}</p>{}</div>\n",
        markup::table(table)
    )
}

/// TLB levels, walk cost and the gain of huge pages.
pub(super) fn levels(record: &Record) -> String {
    let levels = &record.levels;
    let mut rows: Vec<Vec<String>> = levels
        .tlbs
        .iter()
        .map(|tlb| {
            vec![
                format!("L{} data TLB", tlb.level),
                format!("{} entries", tlb.entries),
                format!(
                    "{} to {}",
                    number::short(tlb.entries_interval.low),
                    number::short(tlb.entries_interval.high)
                ),
                tlb.claimed_entries.map_or_else(|| NONE.to_owned(), |entries| entries.to_string()),
                format!(
                    "{} {}",
                    number::column(tlb.miss_ns),
                    number::uncertainty(tlb.miss_ns, tlb.miss_interval)
                ),
            ]
        })
        .collect();
    if let Some(ns) = levels.walk_ns {
        let told = levels.walk_interval.map_or_else(String::new, |i| number::uncertainty(ns, i));
        let none = || NONE.to_owned();
        rows.push(vec![
            "page walk".to_owned(),
            none(),
            none(),
            none(),
            format!("{} {told}", number::column(ns)),
        ]);
    }
    let mut note = "Reach by timing alone, beside what CPUID claims.".to_owned();
    if let Some(gain) = crate::terminal::page_gain(levels) {
        let _ = write!(note, " Time of {gain}.");
    }
    titled(
        "Address translation",
        &note,
        &data(&["level", "reach", "between", "claimed", "a miss adds, ns"], rows),
    ) + &withheld(record)
}

/// What was found and is not believed, or looked for and not found.
fn withheld(record: &Record) -> String {
    let rows = record.levels.withheld.iter().map(|one| {
        vec![one.what.clone(), one.value.clone().unwrap_or_else(|| NONE.to_owned()), one.because.clone()]
    });
    titled(
        "Withheld",
        "Values that cannot hold beside the rest of this record, and levels that did not show.",
        &data(&["what", "value", "because"], rows.collect()),
    )
}

/// Memory-level parallelism and loaded latency.
pub(super) fn memory(record: &Record) -> String {
    let parallel = record.memory.parallel.iter().map(|result| {
        vec![
            result.chains.to_string(),
            result.block_bytes.to_string(),
            result.page_bytes.to_string(),
            told(result.ns_per_load, &result.spread),
        ]
    });
    let loaded = record.memory.loaded.iter().map(|result| {
        let rate = number::gigabytes(result.load_bytes_per_s);
        vec![
            format!("CPU {}", result.cpu),
            if result.loading.is_empty() { "idle".to_owned() } else { format!("CPUs {}", result.loading) },
            result.block_bytes.map_or_else(|| NONE.to_owned(), |bytes| bytes.to_string()),
            result.page_bytes.map_or_else(|| NONE.to_owned(), |bytes| bytes.to_string()),
            format!(
                "{} {}",
                number::column(rate),
                number::uncertainty(rate, result.load_interval.map(number::gigabytes))
            ),
            result.overlapped_windows.to_string(),
            told(result.ns, &result.spread),
        ]
    });
    titled(
        "Several misses at once",
        "Independent chains in random order in one thread: the time per load falls until the core runs out of outstanding misses.",
        &data(&["chains", "block", "page", "ns per load"], parallel.collect()),
    ) + &titled(
        "Latency under load",
        "One chain in random order while other CPUs stream.",
        &data(
            &["chases", "stream", "block", "page", "their traffic, GB/s", "overlapped windows", "ns"],
            loaded.collect(),
        ),
    )
}

/// Control loops and compute kernels.
pub(super) fn cores(record: &Record) -> String {
    let control = record.cores.control.iter().map(|control| {
        vec![
            format!("CPU {}", control.cpu),
            control.core_hz.map_or_else(|| "unknown".to_owned(), number::frequency),
            told(control.multiply_ns, &control.spread),
            number::column(control.multiply_per_rotate),
            number::percent(control.core_share),
        ]
    });
    let compute = record.cores.compute.iter().map(|result| {
        vec![
            naming::words(&result.kernel),
            result.isa.to_uppercase(),
            format!("CPU {}", result.cpu),
            format!(
                "{} {}",
                number::column(result.iterations_per_s / 1e9),
                number::uncertainty(result.iterations_per_s, result.spread.interval)
            ),
        ]
    });
    titled(
        "Core clock and share of the core",
        "From the two control loops. A share well below 100 % with a steady clock means that something else runs on \
         the same core.",
        &data(
            &["CPU", "core clock", "multiply, ns", "multiply over rotate", "share of the core"],
            control.collect(),
        ),
    ) + &titled(
        "Compute loops",
        "They touch no memory: if these moved between two runs, the core did, not the memory.",
        &data(&["loop", "ISA", "CPU", "10⁹ iterations/s"], compute.collect()),
    )
}

/// What was planned, what ran, what was left out and why.
pub(super) fn plan(record: &Record) -> String {
    let rows = record.plan.entries.iter().map(|entry| {
        let outcome = crate::plan::reason(entry).unwrap_or_else(|| "done".to_owned());
        let outcome =
            if entry.outcome == PlanOutcome::Pending { format!("pending: {outcome}") } else { outcome };
        vec![
            entry.probe.clone(),
            format!("{} s", number::short(entry.planned_s)),
            entry.elapsed_s.map_or_else(|| NONE.to_owned(), |s| format!("{} s", number::short(s))),
            entry.disturbs.clone(),
            outcome,
            entry.reduced.join("; "),
        ]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let table = markup::table(&data(&["probe", "planned", "took", "disturbs", "outcome", "reduced"], rows));
    if table.is_empty() {
        return String::new();
    }
    format!(
        "<section id=\"plan\"><h2>Plan</h2><p class=\"note\">What was to be measured within {} s, and what became of \
         it.</p>{table}</section>\n",
        number::short(record.plan.budget_s)
    )
}

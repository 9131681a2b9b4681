//! Cells that several pages share: measured values with their doubts, and what was judged of a row.

use machine::NodeId;
use record::{Better, ComparisonRow, LineTransfer, LoadedLatency, Spread};
use stats::{Verdict, text};

use crate::naming;
use crate::number::{self, gigabytes};
use crate::page::{Cell, Table, Tone};

/// A measured value with its doubts, its uncertainty and its interval.
pub(super) fn measured(value: f64, spread: &Spread) -> Cell {
    let mark = number::quality_mark(spread.quality);
    let text = format!("{}{mark} {}", text::column(value), text::uncertainty(value, spread.interval));
    Cell::within(text, value, spread.interval)
}

/// The same in the unit that `scale` makes of the record's, in little room: the wider side of the interval stands for both.
pub(super) fn margined(value: f64, spread: &Spread, scale: fn(f64) -> f64) -> Cell {
    let (value, interval) = (scale(value), spread.interval.map(scale));
    let mark = number::quality_mark(spread.quality);
    let text = format!("{}{mark} {}", text::column(value), text::plus_minus(value, interval));
    Cell::within(text, value, interval)
}

/// Moving a cache line.
pub(super) fn lines(transfers: &[LineTransfer]) -> Table {
    Table::of("line_transfer", transfers)
        .largest(|pair| pair.ns)
        .word("CPUs", |pair| format!("{} and {}", pair.a, pair.b))
        .word("by", |pair| naming::words(&pair.protocol))
        .number(("one way", "ns"), |pair| measured(pair.ns, &pair.spread))
        .legend(
            "Half of a round trip. Compare and swap asks for the line at once; a line that is read, then written, is often two trips.",
        )
}

/// What a chain of loads takes while other CPUs stream, in the memory of a node where one was chosen.
pub(super) fn loaded<'r>(points: impl IntoIterator<Item = (Option<NodeId>, &'r LoadedLatency)>) -> Table {
    let others = |one: &LoadedLatency| !one.loading.is_empty();
    let traffic = |one: &LoadedLatency| {
        let (rate, ends) = (gigabytes(one.load_bytes_per_s), one.load_interval.map(gigabytes));
        others(one).then(|| Cell::between(rate, ends))
    };
    Table::of("loaded", points)
        .number("node", |(node, _)| node.map(|node| node.0))
        .word("chases", |(_, one)| format!("CPU {}", one.cpu))
        .word(
            "others stream",
            |(_, one)| if others(one) { naming::cpus(&one.loading) } else { "none".to_owned() },
        )
        .number(("block", 3), |(_, one)| one.block_bytes)
        .number(("page", 4), |(_, one)| one.page_bytes)
        .number(("their traffic", "GB/s", 1), |(_, one)| traffic(one))
        .number(("overlapped windows", 5), |(_, one)| one.overlapped_windows)
        .number(("latency", "ns"), |(_, one)| measured(one.ns, &one.spread))
        .legend("One chain in random order while other CPUs stream.")
}

/// Whether a row is called slower or faster.
pub(super) fn is_claim(row: &ComparisonRow) -> bool {
    matches!(row.verdict, Verdict::Slower | Verdict::Faster)
}

/// How the changes of these rows are to be read.
pub(super) fn legend<'r>(rows: impl Iterator<Item = &'r ComparisonRow>) -> String {
    let (mut has_rates, mut has_equivalent) = (false, false);
    for row in rows {
        has_rates |= row.better == Better::Higher;
        has_equivalent |= row.verdict == Verdict::Equivalent;
    }
    let rates = if has_rates { "; a rate that rises is faster" } else { "" };
    let equivalent = if has_equivalent { "; equivalent by the 90 % interval" } else { "" };
    format!("change ± distance to the end of its 95 % interval{rates}{equivalent}")
}

/// A verdict in a word, and how it is meant.
pub(super) fn verdict(verdict: Verdict) -> (Tone, &'static str) {
    let tone = match verdict {
        Verdict::Slower => Tone::Look,
        Verdict::Faster => Tone::Good,
        Verdict::Equivalent => Tone::Plain,
        Verdict::Inconclusive => Tone::Doubt,
    };
    (tone, verdict.word())
}

/// The verdict of a row.
pub(super) fn verdict_of(row: &ComparisonRow) -> (Tone, &'static str) {
    match (row.verdict, row.interval) {
        (Verdict::Inconclusive, None) => (Tone::Faint, "no interval"),
        (known, _) => verdict(known),
    }
}

/// How many more runs, pairs or boots an undetermined row needs.
pub(super) fn needed(row: &ComparisonRow) -> Option<Cell> {
    let runs = row.further_runs.filter(|_| row.verdict == Verdict::Inconclusive && row.interval.is_some())?;
    Some(Cell::shown(text::runs(runs), runs as f64))
}

/// A change with its interval.
pub(super) fn change(row: &ComparisonRow) -> Cell {
    Cell::within(text::with_distances(row.change_percent, row.interval), row.change_percent, row.interval)
}

/// The same, but a ratio where that reads better.
pub(super) fn change_or_ratio(row: &ComparisonRow, ratio: f64) -> Cell {
    /// From this ratio on, "2.10x" reads better than percent.
    const TIMES_FROM: f64 = 2.0;
    if ratio >= TIMES_FROM {
        return Cell::within(format!("{ratio:.2}x"), row.change_percent, row.interval);
    }
    change(row)
}

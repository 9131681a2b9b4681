//! What reading the time costs, on the page: the verdict on the bars above, costs in many threads, and what others measured.

use std::fmt::Write;

use record::{ClockCost, CostVerdict, Record, RoundsSeen};

use super::markup::{list, terms};
use super::tables::{data, titled};
use crate::clock_cost::{
    beside_published, brief, by_threads, control, order_words, refusals, shown_rounds, span, verdict_words,
};
use crate::figure::DataTable;

/// Everything but the bars; empty if it was not measured.
pub(super) fn details(record: &Record) -> String {
    let Some(cost) = &record.clock_cost else { return String::new() };
    let mut html = verdict(cost);
    html += &titled(
        "Cost in many threads",
        "Each thread on a CPU of its own as far as there are CPUs; a clock without shared state stays flat.",
        &threads(cost),
    );
    html += &titled(
        "Time in one round",
        "All threads read when they are released. Largest: difference of two values of a round; bound: from the release to \
         the arrival of all; outside: values before the one or after the other.",
        &rounds(cost),
    );
    html
}

fn verdict(cost: &ClockCost) -> String {
    let class = if cost.verdict == CostVerdict::Repeatable { "fine" } else { "doubt" };
    let mut html = format!(
        "<div class=\"block\"><h3>Would these prices come out again?</h3><p class=\"lead\"><b class=\"{class}\">{}</b></p>{}",
        verdict_words(cost.verdict),
        list(&cost.because)
    );
    let beside = cost.control.as_ref().map(control).unwrap_or_default();
    let mut facts = vec![("beside them", beside), ("published", beside_published(cost).unwrap_or_default())];
    facts.extend(
        refusals(&cost.reads)
            .into_iter()
            .map(|(why, names)| ("in doubt", format!("{}: {why}", names.join(", ")))),
    );
    facts
        .extend(cost.failed.iter().map(|failed| ("not here", format!("{}: {}", failed.name, failed.reason))));
    facts.extend(cost.without.iter().map(|line| ("not measured", line.clone())));
    let _ = writeln!(html, "{}</div>", terms(&facts));
    html
}

fn threads(cost: &ClockCost) -> DataTable {
    let table = by_threads(&cost.threads);
    DataTable { headers: table.headers, rows: table.rows }
}

fn rounds(cost: &ClockCost) -> DataTable {
    let row = |row: &RoundsSeen| {
        vec![
            brief(&row.read),
            row.threads.to_string(),
            format!("{} of {}", row.overlapping, row.rounds),
            span(row.largest_ns),
            span(row.bound_ns),
            row.outside.to_string(),
            order_words(row.verdict).to_owned(),
        ]
    };
    let headers = ["read", "threads", "rounds together", "largest", "bound", "outside", "verdict"];
    data(&headers, shown_rounds(&cost.rounds).map(row).collect())
}

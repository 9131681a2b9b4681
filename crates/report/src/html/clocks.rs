//! The check of clocks on the page: the verdict and its reasons, then reads that went back, and what the kernel says.

use std::fmt::Write;

use record::{ClockCheck, ClockVerdict, Record};

use super::markup::{list, terms};
use super::tables::{data, titled};
use crate::clock_check::{KernelFact, REGIME_HEADERS, kernel_facts, regime_cells, share_back, spread};
use crate::clock_cost::brief;
use crate::escape::markup;
use crate::figure::DataTable;

/// Verdict, reasons, what can be done; empty if nothing was checked.
pub(super) fn verdict(record: &Record) -> String {
    let Some(check) = &record.clock_check else { return String::new() };
    let (class, word) = match check.verdict {
        ClockVerdict::Safe => ("fine", "safe"),
        ClockVerdict::Correctable => ("bad", "correctable"),
        ClockVerdict::Unsafe => ("bad", "unsafe"),
        ClockVerdict::CannotTell => ("doubt", "cannot tell"),
    };
    let mut html = format!(
        "<div class=\"block\"><h3>Is time safe here?</h3><p class=\"lead\"><b class=\"{class}\">{word}</b></p>{}",
        list(&check.because)
    );
    if let Some(line) = crate::clock_check::sharpness(check) {
        let _ = write!(html, "<p class=\"note\">{}.</p>", markup(&line));
    }
    let todo: Vec<(&str, String)> = check.remedies.iter().map(|line| ("to do", line.clone())).collect();
    if !todo.is_empty() {
        html += &terms(&todo);
    }
    html + "</div>\n"
}

/// Reads that went back, the kernel's clocks, its opinions, and what was not looked at.
pub(super) fn details(record: &Record) -> String {
    let Some(check) = &record.clock_check else { return String::new() };
    let mut html = String::new();
    html += &titled(
        "Do counters move with what the CPUs do?",
        "Drift is that of the pair whose drift stands out most from its error.",
        &regimes(check),
    );
    html += &titled(
        "Does time go back between two threads?",
        "One thread reads a time that another has read before it.",
        &backwards(check),
    );
    html += &titled(
        "The kernel's clocks",
        "Against CLOCK_MONOTONIC_RAW, which nothing disciplines.",
        &system_clocks(check),
    );
    let facts: Vec<(&str, String)> =
        kernel_facts(&check.kernel).into_iter().map(|KernelFact { name, text }| (name, text)).collect();
    let _ = writeln!(html, "<div class=\"block\"><h3>What the kernel says</h3>{}</div>", terms(&facts));
    if !check.without.is_empty() {
        let _ = writeln!(html, "<div class=\"block\"><h3>Not looked at</h3>{}</div>", list(&check.without));
    }
    html
}

fn regimes(check: &ClockCheck) -> DataTable {
    let rows = check.regimes.iter().map(|row| regime_cells(row, check.pairs.len()));
    data(&REGIME_HEADERS, rows.collect())
}

fn backwards(check: &ClockCheck) -> DataTable {
    let rows = check.backwards.iter().map(|count| {
        vec![
            brief(&count.name),
            if count.ordered { "yes" } else { "no" }.to_owned(),
            format!("{}-{}", count.a, count.b),
            count.fresh.to_string(),
            share_back(count),
            crate::number::short(count.largest_ns),
        ]
    });
    let headers = ["read", "ordered", "CPUs", "observations", "backwards", "largest, ns"];
    data(&headers, rows.collect())
}

fn system_clocks(check: &ClockCheck) -> DataTable {
    let rows = check.system_clocks.iter().map(|clock| {
        vec![
            clock.name.clone(),
            spread(clock.rate_ppm, clock.error_ppm),
            clock.note.clone().unwrap_or_default(),
        ]
    });
    let headers = ["clock", "rate, ppm", ""];
    data(&headers, rows.collect())
}

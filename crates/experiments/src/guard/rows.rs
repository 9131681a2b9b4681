//! The quantities that a baseline allows to watch, and their costs.

use std::collections::BTreeSet;

use record::{Better, HistoryEntry};

use super::WatchedRow;

/// Rows that every run of the baseline has.
pub(super) fn watched(runs: &[HistoryEntry]) -> Vec<WatchedRow> {
    let Some(last) = runs.last() else { return Vec::new() };
    let everywhere: BTreeSet<&String> = last
        .rows
        .keys()
        .filter(|name| runs.iter().all(|run| run.rows.get(*name).is_some_and(|row| row.value > 0.0)))
        .collect();
    everywhere
        .into_iter()
        .map(|name| WatchedRow { name: name.clone(), class: last.rows[name].class.clone() })
        .collect()
}

/// The logarithm of what each row costs in a run: larger is slower, whatever the unit.
pub(super) fn costs(rows: &[WatchedRow], run: &HistoryEntry) -> Vec<Option<f64>> {
    let cost = |row: &WatchedRow| {
        let found = run.rows.get(&row.name)?;
        let log = found.value.ln();
        let cost = if found.better == Better::Higher { -log } else { log };
        Some(cost).filter(|cost| cost.is_finite())
    };
    rows.iter().map(cost).collect()
}

//! What runs of this host can show, by class of rows: from its own history, else from the shipped table.

use std::collections::BTreeMap;

use record::{HistoryEntry, HistoryRow};
use stats::{Host, Reach, RowClass};

/// The earlier runs that are like the newest whole one: of one plan, and not stopped. They have to be of one machine, oldest first.
pub fn alike<'a>(entries: &[&'a HistoryEntry]) -> Vec<&'a HistoryEntry> {
    let whole = || entries.iter().filter(|entry| entry.partial.is_none());
    let newest = whole().next_back();
    whole().filter(|entry| newest.is_some_and(|newest| entry.plan == newest.plan)).copied().collect()
}

/// The smallest difference that a host can show in each class, given its earlier runs, which are alike.
pub fn reach(runs: &[&HistoryEntry], host: Host) -> Vec<Reach> {
    let mut rows: BTreeMap<&str, RowClass> = BTreeMap::new();
    for run in runs {
        rows.extend(run.rows.iter().map(|(name, row)| (name.as_str(), row.class)));
    }
    let cost = |run: &&HistoryEntry, name| run.rows.get(name).and_then(HistoryRow::cost).unwrap_or(f64::NAN);
    let history: Vec<(RowClass, Vec<f64>)> = rows
        .into_iter()
        .map(|(name, class)| (class, runs.iter().map(|run| cost(run, name)).collect()))
        .collect();
    stats::reach(&history, host)
}

#[cfg(test)]
mod tests {
    use record::Better;
    use stats::Knowledge;

    use super::*;

    fn row(class: RowClass, value: f64) -> HistoryRow {
        HistoryRow { class, unit: "ns".to_owned(), better: Better::Lower, value }
    }

    #[test]
    fn runs_of_another_plan_and_stopped_ones_are_no_history() {
        let run = |plan: &str, partial: Option<&str>, value: f64| HistoryEntry {
            plan: plan.to_owned(),
            partial: partial.map(str::to_owned),
            rows: [("rdtsc".to_owned(), row(RowClass::ClockReads, value))].into(),
            ..HistoryEntry::default()
        };
        let mut all: Vec<HistoryEntry> =
            (0..6).map(|index| run("quick", None, 8.0 + 0.001 * f64::from(index))).collect();
        all.push(run("full", None, 99.0));
        all.push(run("quick", Some("stopped"), 0.0));
        all.push(run("quick", None, -1.0));
        let chosen = alike(&all.iter().collect::<Vec<_>>());
        assert_eq!(chosen.len(), 7);
        let reads = reach(&chosen, Host::Guest).into_iter().find(|one| one.class == RowClass::ClockReads);
        let reads = reads.expect("every class has a line");
        assert_eq!((reads.knowledge, reads.runs, reads.rows), (Knowledge::History, 6, 1));
        assert!(reads.row[0] < 0.02, "{reads:?}");
        assert!(alike(&[]).is_empty() && reach(&[], Host::Guest).len() == 15);
    }
}

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
        rows.extend(run.rows.iter().map(|(name, row)| (name.as_str(), row_class(name, row))));
    }
    let log = |run: &&HistoryEntry, name: &str| run.rows.get(name).map_or(f64::NAN, |row| row.value.ln());
    let history: Vec<(RowClass, Vec<f64>)> = rows
        .into_iter()
        .map(|(name, class)| (class, runs.iter().map(|run| log(run, name)).map(finite).collect()))
        .collect();
    stats::reach(&history, host)
}

/// Nothing and less than nothing have no logarithm: such a row is as if it were not there.
fn finite(log: f64) -> f64 {
    if log.is_finite() { log } else { f64::NAN }
}

/// The class of a row of the history, which is stored with coarser ones.
pub(crate) fn row_class(name: &str, row: &HistoryRow) -> RowClass {
    let by_level = |[own, shared, memory]: [RowClass; 3]| match name.rsplit_once(", ").map(|(_, level)| level)
    {
        Some("L1" | "L2") => own,
        Some("L3" | "L4") => shared,
        _ => memory,
    };
    match row.class.as_str() {
        "arithmetic" if name == "integer multiply chain" => RowClass::CoreClock,
        "arithmetic" => RowClass::Arithmetic,
        "clock reads" => RowClass::ClockReads,
        "line transfer" => RowClass::LineTransfer,
        "waking" => RowClass::Waking,
        "page walks" => RowClass::PageWalks,
        _ if name == "core clock" => RowClass::CoreClock,
        "sharing" => RowClass::Sharing,
        "bandwidth" if name.starts_with("STREAM") => RowClass::Stream,
        "bandwidth" => {
            by_level([RowClass::CacheBandwidth, RowClass::SharedCacheBandwidth, RowClass::MemoryBandwidth])
        }
        _ if name == "latency, idle machine" || name == "latency, others stream" => RowClass::LoadedLatency,
        _ => by_level([RowClass::CoreLatency, RowClass::SharedCacheLatency, RowClass::MemoryLatency]),
    }
}

#[cfg(test)]
mod tests {
    use record::Better;
    use stats::Knowledge;

    use super::*;

    fn row(class: &str, value: f64) -> HistoryRow {
        HistoryRow { class: class.to_owned(), unit: "ns".to_owned(), better: Better::Lower, value }
    }

    #[test]
    fn every_row_of_the_history_has_the_class_that_a_comparison_gives_it() {
        for (name, class, expected) in [
            ("latency, 4 KiB pages, L1", "latency", RowClass::CoreLatency),
            ("latency, 4 KiB pages, L3", "latency", RowClass::SharedCacheLatency),
            ("latency, 2 MiB pages, memory", "latency", RowClass::MemoryLatency),
            ("latency, idle machine", "latency", RowClass::LoadedLatency),
            ("random loads, 4 KiB pages", "latency", RowClass::MemoryLatency),
            ("STREAM triad AVX2, all CPUs", "bandwidth", RowClass::Stream),
            ("triad AVX2, L2", "bandwidth", RowClass::CacheBandwidth),
            ("triad AVX2, L3", "bandwidth", RowClass::SharedCacheBandwidth),
            ("core clock", "sharing", RowClass::CoreClock),
            ("beside another CPU, l3", "sharing", RowClass::Sharing),
            ("Mandelbrot integer AVX2", "arithmetic", RowClass::Arithmetic),
            ("rdtsc", "clock reads", RowClass::ClockReads),
        ] {
            assert_eq!(row_class(name, &row(class, 1.0)), expected, "{name}");
        }
    }

    #[test]
    fn runs_of_another_plan_and_stopped_ones_are_no_history() {
        let run = |plan: &str, partial: Option<&str>, value: f64| HistoryEntry {
            plan: plan.to_owned(),
            partial: partial.map(str::to_owned),
            rows: [("rdtsc".to_owned(), row("clock reads", value))].into(),
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

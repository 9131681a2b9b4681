//! Windows of visits saved from a run, and what the estimation of each probe made of them, to the last bit.
//!
//! Whatever is rearranged between windows and record, these numbers stay; a change of one is a change of method, and is named.
//! `UPDATE_EXPECT=1` rewrites the results.

use std::fmt::Debug;
use std::path::Path;
use std::time::Instant;

use clock::TickRate;
use kernels::random::SplitMix64;
use machine::CpuId;
use record::Record;

use crate::sampler::Tally;
use crate::session::{Session, Silent};

const WINDOWS: &str = include_str!("windows.txt");

/// One saved series: by visit its mapping and its windows.
pub(crate) struct SavedSeries {
    pub(crate) name: &'static str,
    pub(crate) visits: Vec<(u32, Vec<f64>)>,
}

/// The saved series whose names begin so.
pub(crate) fn series(prefix: &str) -> Vec<SavedSeries> {
    let mut all: Vec<SavedSeries> = Vec::new();
    for line in WINDOWS.lines() {
        if let Some(name) = line.strip_prefix("= ") {
            all.push(SavedSeries { name, visits: Vec::new() });
            continue;
        }
        let (mapping, windows) = line.split_once(':').expect("a mapping and its windows");
        let mapping = mapping.parse().expect("the number of a mapping");
        let windows = windows.split_whitespace().map(|window| window.parse().expect("a window")).collect();
        all.last_mut().expect("a name comes first").visits.push((mapping, windows));
    }
    all.retain(|series| series.name.starts_with(prefix));
    assert!(!all.is_empty(), "no saved series is named {prefix}");
    all
}

/// A session that nothing is measured in.
pub(crate) fn session() -> Session<'static> {
    Session {
        record: Record::default(),
        cpus: vec![CpuId(0), CpuId(1)],
        rate: TickRate { hz: 1e9, error_ppm: 1.0 },
        random: SplitMix64::new(1),
        deadline: Instant::now(),
        progress: &Silent,
        tally: Tally::default(),
        results: 0,
    }
}

/// Holds results, one per line, against those stored under the name: numbers print so that they read back to the last bit.
pub(crate) fn check(name: &str, results: &[impl Debug]) {
    let lines: Vec<String> = results.iter().map(|result| format!("{result:?}\n")).collect();
    let text = lines.concat();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/replay/{name}.txt"));
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, &text).expect("results can be written");
        return;
    }
    let stored = std::fs::read_to_string(&path).expect("stored results");
    for (index, (line, stored)) in text.lines().zip(stored.lines()).enumerate() {
        assert_eq!(line, stored, "result {index} of {name}");
    }
    assert_eq!(text.lines().count(), stored.lines().count(), "results of {name}");
}

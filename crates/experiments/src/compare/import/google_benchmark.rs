//! What Google Benchmark writes with `--benchmark_format=json`: a row a repetition, and rows of averages.

use std::collections::{BTreeMap, BTreeSet};

use record::Better;
use serde_json::Value;

use super::test_list::{Heading, Results, numbers};
use super::{Format, ImportError, Source, items, text};

pub(super) const GOOGLE_BENCHMARK: Format = Format { word: "google-benchmark", is, read };

/// A note for files without the single repetitions.
const ONLY_AVERAGES: &str =
    "only aggregates: one value a test; repeat with --benchmark_report_aggregates_only=false";

fn is(source: &Source<'_>) -> bool {
    let rows = &source.document()["benchmarks"];
    rows.is_array() && source.document()["context"].is_object() || rows[0]["run_type"].is_string()
}

fn read(source: &Source<'_>, into: &mut Results) -> Result<(), ImportError> {
    let rows = items(&source.document()["benchmarks"]);
    let name = |row: &'_ Value| text(row, &["run_name", "name"]).to_owned();
    let is_average = |row: &&Value| row["run_type"] == "aggregate";
    let single: BTreeSet<String> = rows.iter().filter(|row| !is_average(row)).map(name).collect();
    // Where a benchmark has only averages, its median stands for all, or its mean.
    let is_median = |row: &&Value| is_average(row) && row["aggregate_name"] == "median";
    let medians: BTreeSet<String> = rows.iter().filter(is_median).map(name).collect();
    let stands =
        |row: &&Value| is_median(row) || row["aggregate_name"] == "mean" && !medians.contains(&name(row));
    let counts = |row: &&Value| !is_average(row) || !single.contains(&name(row)) && stands(row);
    let has_failed = |row: &Value| row["error_occurred"] == true || row["skipped"] == true;
    let tests = into.of("").of_one_process();
    let mut failures: BTreeMap<String, [usize; 2]> = BTreeMap::new();
    for row in rows.iter().filter(|row| !is_average(row)) {
        let [failed, all] = failures.entry(name(row)).or_default();
        (*failed, *all) = (*failed + usize::from(has_failed(row)), *all + 1);
    }
    let mut said = BTreeSet::new();
    for row in rows.iter().filter(counts) {
        let (name, has_failed) = (name(row), has_failed(row));
        let heading = Heading::program(&name, "benchmarks", text(row, &["time_unit"]), Better::Lower).micro();
        // What a failed run took is no time of the work.
        let values = if has_failed { Vec::new() } else { numbers(&row["real_time"]) };
        tests.add("", &heading.with_failed(usize::from(has_failed)), &values);
        if has_failed && said.insert(name.clone()) {
            let [failed, all] = failures[&name];
            let why = Some(text(row, &["error_message", "skip_message"])).filter(|why| !why.is_empty());
            let why = why.unwrap_or("without a message");
            tests.leave_out(&name, &format!("{failed} of {} failed: {why}", machine::counted(all, "run")));
        }
    }
    if rows.iter().any(|row| is_average(&row) && !single.contains(&name(row))) {
        tests.cautions.push(ONLY_AVERAGES.to_owned());
    }
    Ok(())
}

//! What Google Benchmark writes with `--benchmark_format=json`: a row a repetition, and rows of averages.

use std::collections::BTreeSet;

use record::Better;
use serde_json::Value;

use super::test_list::{Heading, Results, numbers};
use super::{Format, ImportError, Source, items, text};

pub(super) const GOOGLE_BENCHMARK: Format = Format { word: "google-benchmark", is, read };

fn is(source: &Source<'_>) -> bool {
    source.document()["context"].is_object() && source.document()["benchmarks"].is_array()
}

fn read(source: &Source<'_>, into: &mut Results) -> Result<(), ImportError> {
    let rows = items(&source.document()["benchmarks"]);
    let name = |row: &'_ Value| text(row, &["run_name", "name"]).to_owned();
    let is_average = |row: &&Value| row["run_type"] == "aggregate";
    let single: BTreeSet<String> = rows.iter().filter(|row| !is_average(row)).map(name).collect();
    // Where a benchmark has only averages, its median stands for all.
    let counts =
        |row: &&Value| !is_average(row) || row["aggregate_name"] == "median" && !single.contains(&name(row));
    let tests = into.of("").of_one_process();
    for row in rows.iter().filter(counts) {
        let name = name(row);
        if row["error_occurred"] == true {
            tests.leave_out(&name, text(row, &["error_message"]));
            continue;
        }
        let heading = Heading::program(&name, "benchmarks", text(row, &["time_unit"]), Better::Lower);
        tests.add("", &heading.micro(), &numbers(&row["real_time"]));
    }
    Ok(())
}

//! What criterion.rs keeps of a benchmark (`sample.json`, `estimates.json`), and the lines of `cargo criterion --message-format json`.

use record::Better;
use serde_json::Value;

use super::test_list::{Heading, Reading, Results, first_of, numbers};
use super::{Format, ImportError, Source};

pub(super) const CRITERION: Format = Format { word: "criterion", is, read };

fn is_benchmark(one: &Value) -> bool {
    one["reason"] == "benchmark-complete"
        || one["sampling_mode"].is_string()
        || one["median"]["point_estimate"].is_number()
}

fn is(source: &Source<'_>) -> bool {
    source.json.iter().any(is_benchmark)
}

fn read(source: &Source<'_>, into: &mut Results) -> Result<(), ImportError> {
    for one in source.json.iter().filter(|one| is_benchmark(one)) {
        // A sample is the time of so many iterations.
        let (samples, counts) =
            (first_of(one, &["measured_values", "times"]), first_of(one, &["iteration_count", "iters"]));
        let share = |(sample, count): (Reading, Reading)| Ok(sample? / count?);
        let mut values: Vec<Reading> = samples.into_iter().zip(counts).map(share).collect();
        if values.is_empty() {
            values = numbers(&one["median"]["point_estimate"]);
        }
        let (name, unit) = (one["id"].as_str().unwrap_or("benchmark"), one["unit"].as_str().unwrap_or("ns"));
        let heading = Heading::program(name, "benchmarks", unit, Better::Lower).micro();
        into.of("").of_one_process().add("", &heading, &values);
    }
    Ok(())
}

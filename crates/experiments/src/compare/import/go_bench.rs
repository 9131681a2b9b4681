//! What `go test -bench` prints: a benchmark a line, its count of iterations, then values with their units.
//!
//! Source: golang.org/design/14313-benchmark-format, and golang.org/x/perf/benchfmt for lines `Unit NAME better=higher`.

use std::collections::HashMap;

use record::Better;

use super::test_list::{Heading, Results, number};
use super::{Format, ImportError, Source};
use record::Fact;

pub(super) const GO_BENCH: Format = Format { word: "go-bench", is, read };

/// The unit that a benchmark is about, and that its name stands for.
const TIME: &str = "ns/op";

/// How a line begins that says that the test program failed.
const FAILURES: [&str; 5] = ["FAIL\t", "--- FAIL", "panic: ", "signal: ", "exit status "];

fn is(source: &Source<'_>) -> bool {
    source.text.lines().any(|line| benchmark(line).is_some())
}

fn read(source: &Source<'_>, into: &mut Results) -> Result<(), ImportError> {
    let tests = into.of("").of_one_process();
    let is_failure = |line: &&str| *line == "FAIL" || FAILURES.iter().any(|start| line.starts_with(start));
    let failure = source.text.lines().map(str::trim_start).find(is_failure);
    tests.cautions.extend(failure.map(|line| format!("all values are of a failed go test: {}", line.trim())));
    let failed = usize::from(failure.is_some());
    let mut package = "benchmarks";
    let mut stated = HashMap::new();
    for line in source.text.lines() {
        if let Some(name) = line.strip_prefix("pkg: ") {
            package = name;
        } else if let Some(name) = line.strip_prefix("cpu: ").filter(|_| tests.facts.is_empty()) {
            tests.facts.push(Fact { name: "CPU".to_owned(), value: name.trim().to_owned() });
        } else if let Some((unit, rest)) = line.strip_prefix("Unit ").and_then(|line| line.split_once(' ')) {
            stated.insert(unit, rest.contains("better=higher"));
        }
        let (benchmark, values) = benchmark(line).unwrap_or_default();
        for pair in values.chunks_exact(2) {
            let unit = pair[1];
            let name = if unit == TIME { benchmark.to_owned() } else { format!("{benchmark}, {unit}") };
            let is_known = unit.ends_with("/op") || unit.ends_with("/s");
            let is_higher = stated.get(unit).copied().or_else(|| is_known.then(|| unit.ends_with("/s")));
            let better = is_higher.map(|higher| if higher { Better::Higher } else { Better::Lower });
            let group = if unit == TIME { package.to_owned() } else { format!("{package}, {unit}") };
            let heading = Heading::program(&name, &group, unit, better).with_failed(failed);
            let heading = if unit == TIME { heading.micro() } else { heading.beside() };
            tests.add("", &heading, &[number(pair[0])]);
        }
    }
    Ok(())
}

/// The name on a line of a benchmark, and its values each with its unit.
fn benchmark(line: &str) -> Option<(&str, Vec<&str>)> {
    let mut words = line.strip_prefix("Benchmark")?.split_whitespace();
    let name = words.next()?;
    words.next()?.parse::<u64>().ok()?;
    let values: Vec<&str> = words.collect();
    (values.len() >= 2).then_some((name, values))
}

//! What JMH writes with `-rf json`: a benchmark an entry, with the iterations of each fork.

use record::Better;

use super::test_list::{Heading, Reading, Results, numbers};
use super::{Format, ImportError, Source, items, text, with_parameters};

pub(super) const JMH: Format = Format { word: "jmh", is, read };

fn is(source: &Source<'_>) -> bool {
    source.document()[0]["primaryMetric"].is_object()
}

fn read(source: &Source<'_>, into: &mut Results) -> Result<(), ImportError> {
    for one in items(source.document()) {
        let metric = &one["primaryMetric"];
        let name = with_parameters(&one["benchmark"], &one["params"]);
        let mode = text(one, &["mode"]);
        let better = match mode {
            "thrpt" => Some(Better::Higher),
            "avgt" | "sample" | "ss" => Some(Better::Lower),
            _ => None,
        };
        // Iterations of a fork share their JVM: of several forks each is one value.
        let forks: Vec<Vec<Reading>> = items(&metric["rawData"]).iter().map(numbers).collect();
        let mean = |fork: &Vec<Reading>| Ok(fork.iter().flatten().sum::<f64>() / fork.len() as f64);
        let values = match forks.as_slice() {
            [] => numbers(&metric["score"]),
            [only] => {
                into.of("").of_one_process();
                only.clone()
            }
            several => several.iter().map(mean).collect(),
        };
        let heading = Heading::program(&name, mode, text(metric, &["scoreUnit"]), better);
        into.of("").add("", &heading.micro(), &values);
    }
    Ok(())
}

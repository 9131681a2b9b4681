//! What pytest-benchmark writes with `--benchmark-json`: statistics of each test, and its rounds, in seconds.

use record::Better;

use super::test_list::{Heading, Results, first_of};
use super::{Format, ImportError, Source, items, text};

pub(super) const PYTEST_BENCHMARK: Format = Format { word: "pytest-benchmark", is, read };

fn is(source: &Source<'_>) -> bool {
    source.document()["benchmarks"][0]["stats"].is_object()
}

fn read(source: &Source<'_>, into: &mut Results) -> Result<(), ImportError> {
    for one in items(&source.document()["benchmarks"]) {
        let heading =
            Heading::program(text(one, &["fullname", "name"]), text(one, &["group"]), "s", Better::Lower);
        into.of("").of_one_process().add("", &heading.micro(), &first_of(&one["stats"], &["data", "median"]));
    }
    Ok(())
}

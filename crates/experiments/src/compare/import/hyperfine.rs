//! The exports of hyperfine, `--export-json` and `--export-csv`: times of commands, in seconds.

use record::Better;

use super::table::lines;
use super::test_list::{Heading, Results, first_of, number};
use super::{Format, ImportError, Source, items, with_parameters};

pub(super) const HYPERFINE: Format = Format { word: "hyperfine", is, read };

fn is(source: &Source<'_>) -> bool {
    source.document()["results"][0]["command"].is_string()
        || source.has_columns(&["command", "mean", "median", "user"])
}

fn read(source: &Source<'_>, into: &mut Results) -> Result<(), ImportError> {
    for one in items(&source.document()["results"]) {
        let name = with_parameters(&one["command"], &one["parameters"]);
        let failed = items(&one["exit_codes"]).iter().filter(|code| code.as_i64() != Some(0)).count();
        // Without the single times, one summary is all there is, and it carries no interval.
        let times = first_of(one, &["times", "median", "mean"]);
        into.of("").add("", &heading(&name).with_failed(failed), &times);
    }
    if source.json.is_empty() {
        let rows = lines(source.text)?;
        for row in &rows[1..] {
            let field = |name: &str| rows[0].column(&[name]).map_or("", |column| row.field(column));
            into.of("").add("", &heading(field("command")), &[number(field("median"))]);
        }
    }
    Ok(())
}

fn heading(name: &str) -> Heading<'_> {
    Heading::program(name, "commands", "s", Better::Lower)
}

//! The exports of hyperfine, `--export-json` and `--export-csv`: times of commands, in seconds.

use record::Better;
use serde_json::Value;

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
        let failed = failures(&one["exit_codes"]);
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

/// How many codes say that a program failed: anything but a zero, null too, which a signal leaves. Without codes nothing is known.
fn failures(codes: &Value) -> usize {
    let is_zero = |code: &Value| code.as_f64() == Some(0.0) || code.as_str() == Some("0");
    match codes {
        Value::Null => 0,
        Value::Array(codes) => codes.iter().filter(|code| !is_zero(code)).count(),
        code => usize::from(!is_zero(code)),
    }
}

fn heading(name: &str) -> Heading<'_> {
    Heading::program(name, "commands", "s", Better::Lower)
}

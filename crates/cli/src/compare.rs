//! `sidestep compare`: records or imported results side by side.

mod arguments;
mod sources;

use std::path::Path;

use experiments::compare::{Configuration, Options, is_class_slower_by, is_slower_by};
use record::ComparisonTable;
use stats::Verdict;

use crate::global::Global;
use crate::history::Store;
use crate::option_values::parse_percent;
use crate::outcome::Outcome;
use crate::output;
pub(crate) use arguments::CompareArguments;

/// Compares and prints in the form asked for.
pub(crate) fn compare(arguments: &CompareArguments, global: &Global) -> anyhow::Result<Outcome> {
    let is_margin = |word: &&String| word.ends_with('%') && parse_percent(word).is_ok();
    if let Some(word) = arguments.inputs.iter().find(is_margin).filter(|word| !Path::new(word).exists()) {
        anyhow::bail!(
            "cannot read {word}: there is no such file; give the margin of the gate as --gate={word}"
        );
    }
    // What is there may be one of the inputs; nothing is ever overwritten.
    let forms = arguments.forms();
    forms.ensure_writable()?;
    let sources = sources::read(&arguments.inputs)?;
    let configurations: Vec<Configuration> = sources.iter().map(|one| one.configuration.clone()).collect();
    let options = Options {
        baseline: arguments.baseline.clone(),
        margin_percent: arguments.margin,
        without: arguments.without.clone(),
        paired: arguments.paired,
        own_history: arguments.history.is_empty(),
    };
    let earlier = match arguments.history.as_slice() {
        [] if arguments.no_history => Vec::new(),
        [] => sources::own_history(&Store::of_user(), &sources),
        given => sources::history(given)?,
    };
    let table = experiments::compare::compare(&configurations, &earlier, &options)?;
    // Pictures are on the page alone.
    let records = sources.iter().filter(|_| arguments.html.is_some()).map(|one| one.record.as_ref());
    let typed: Vec<String> =
        std::env::args().skip(1).map(|argument| record::shareable_argument(&argument)).collect();
    let page = report::comparison_page(&table, &records.collect::<Vec<_>>(), &typed);
    output::print(&forms.text(&page, &table, global)?)?;
    Ok(outcome(&table, arguments, global))
}

/// What `--gate` and `--strict` make of a comparison.
fn outcome(table: &ComparisonTable, arguments: &CompareArguments, global: &Global) -> Outcome {
    let is_slower = |percent: f64| {
        table.rows.iter().any(|row| is_slower_by(row, percent))
            || table.classes.iter().any(|class| is_class_slower_by(class, percent))
            || table.memory.iter().any(|one| one.verdict == Verdict::Slower && one.change_percent > percent)
    };
    if arguments.gate.is_some_and(is_slower) {
        Outcome::Gated
    } else if global.strict && table.rows.iter().any(|row| row.verdict == Verdict::Inconclusive) {
        Outcome::Inconclusive
    } else {
        Outcome::Done
    }
}

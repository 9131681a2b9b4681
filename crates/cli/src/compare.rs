//! `sidestep compare`: records or imported results side by side.

mod sources;

use std::path::{Path, PathBuf};

use clap::Args;

use experiments::compare::{Configuration, Options, is_class_slower_by, is_slower_by};
use record::ComparisonTable;
use stats::Verdict;

use crate::forms::{Forms, STDOUT, Words};
use crate::global::Global;
use crate::history::Store;
use crate::option_values::parse_percent;
use crate::outcome::Outcome;
use crate::output;

/// Options of `compare`.
#[derive(Debug, Clone, Args)]
pub(crate) struct CompareArguments {
    /// Records, folders of runs, or results: CSV with name, unit, better, group and values, hyperfine JSON,
    /// Phoronix XML. Several runs of one configuration are joined by commas; NAME= in front names it
    #[arg(required = true, value_name = "[NAME=]A[,A2...]")]
    pub(crate) inputs: Vec<String>,
    /// Compare with this configuration, by number or name, instead of the first
    #[arg(long, value_name = "N|NAME")]
    pub(crate) baseline: Option<String>,
    /// Differences up to this are of no practical matter [default: 1% for micro-benchmarks, 2% for applications]
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent)]
    pub(crate) margin: Option<f64>,
    /// Also average without this group, such as memory; may be given several times
    #[arg(long, value_name = "GROUP")]
    pub(crate) without: Vec<String>,
    /// Earlier records of the baseline's machine, or folders of them: how far its runs spread is taken from these; may be given
    /// several times [default: the check-ups with the same plan that this user's history holds of that machine]
    #[arg(long, value_name = "DIR|FILE[,FILE...]", value_delimiter = ',')]
    pub(crate) history: Vec<PathBuf>,
    /// Use no earlier records
    #[arg(long, conflicts_with = "history")]
    pub(crate) no_history: bool,
    /// Show everything: all tests, averages, notes
    #[arg(help_heading = "Output", long)]
    pub(crate) long: bool,
    /// Also write a page with difference surface and curves, to a new file
    #[arg(help_heading = "Output", long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Print Markdown, for a ticket or a pull request
    #[arg(help_heading = "Output", long, conflicts_with_all = ["csv", "json"])]
    pub(crate) markdown: bool,
    /// Print the tables as CSV with all digits; with a folder, write each as a file into it instead
    #[arg(
        help_heading = "Output",
        long,
        value_name = "DIR",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = STDOUT,
        conflicts_with = "json"
    )]
    pub(crate) csv: Option<PathBuf>,
    /// Exit with 1 when a test or a class of tests got slower with confidence, by more than this percentage if one is given
    #[arg(
        long,
        value_name = "PERCENT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "0",
        value_parser = parse_percent
    )]
    pub(crate) gate: Option<f64>,
}

impl CompareArguments {
    /// The forms asked for.
    pub(crate) fn forms(&self) -> Forms {
        Forms {
            words: Words { long: self.long, markdown: self.markdown },
            html: self.html.clone(),
            csv: self.csv.clone(),
        }
    }
}

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

//! What `sidestep compare` takes on the command line.

use std::path::PathBuf;

use clap::Args;

use crate::forms::{Forms, STDOUT, Words};
use crate::option_values::parse_percent;

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
    /// The n-th values of a test were taken as a pair in all files: only if they really were
    #[arg(long)]
    pub(crate) paired: bool,
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

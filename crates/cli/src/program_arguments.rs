//! How a program of the user is run and what is read of it: options that `ab`, `place` and `bill` have alike.

use std::time::Duration;

use clap::{Args, ValueEnum};
use experiments::ab::command_subject::{HowToRun, Metric};
use host::live::ChildOutput;
use record::Better;
use regex::bytes::Regex;

use crate::option_values::parse_budget;

/// The name that clap gives to these options as a group: what has no program conflicts with it.
pub(crate) const GROUP: &str = "ProgramArguments";

/// Options of whatever runs a program.
#[derive(Debug, Clone, Args)]
pub(crate) struct ProgramArguments {
    /// Look for a number in the program's output: the first group of this pattern; else its time counts
    #[arg(long, value_name = "REGEX")]
    pub(crate) metric: Option<String>,
    /// Which direction of the metric is the good one
    #[arg(long, value_name = "WAY", default_value = "lower")]
    pub(crate) better: Way,
    /// Run this by sh before each run, outside the timing
    #[arg(long, value_name = "COMMAND")]
    pub(crate) prepare: Option<String>,
    /// Run this by sh after each run, outside the timing
    #[arg(long, value_name = "COMMAND")]
    pub(crate) cleanup: Option<String>,
    /// Kill a run that takes longer, such as 10s; it counts as failed
    #[arg(long, value_name = "TIME", value_parser = parse_budget)]
    pub(crate) timeout: Option<Duration>,
    /// Count runs that end with another code than 0
    #[arg(long)]
    pub(crate) ignore_failure: bool,
}

/// A direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Way {
    /// Times and costs
    Lower,
    /// Rates and scores
    Higher,
}

impl ProgramArguments {
    /// How programs are run.
    pub(crate) fn how(&self, output: ChildOutput) -> HowToRun {
        HowToRun {
            prepare: self.prepare.clone(),
            cleanup: self.cleanup.clone(),
            limit: self.timeout,
            any_exit_code: self.ignore_failure,
            output,
            workload: None,
        }
    }

    /// The metric asked for.
    ///
    /// # Errors
    /// It is no pattern.
    pub(crate) fn metric(&self) -> anyhow::Result<Option<Metric>> {
        let Some(text) = &self.metric else { return Ok(None) };
        let pattern = Regex::new(text).map_err(|error| {
            // It draws the pattern with a mark below; the reason is the last of its lines.
            let told = error.to_string();
            let reason = told.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
            anyhow::anyhow!("--metric {text} is no regular expression: {reason}")
        })?;
        Ok(Some(Metric { pattern, better: self.better.into() }))
    }
}

impl From<Way> for Better {
    fn from(way: Way) -> Self {
        match way {
            Way::Lower => Self::Lower,
            Way::Higher => Self::Higher,
        }
    }
}

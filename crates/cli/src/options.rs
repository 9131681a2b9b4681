//! Options that several commands have alike, and times, percentages and numbers as they are typed.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use experiments::ab::command_subject::{HowToRun, Metric};
use host::live::{ChildOutput, write_atomically};
use record::Better;
use regex::bytes::Regex;

/// The longest budget; the planner knows the shortest, which depends on what is to be measured.
const BUDGET_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// Units of time that the command line takes, in seconds; `ms` before the `s` it ends in.
const TIME_UNITS: [(&str, f64); 4] = [("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];

/// Reads `30s`, `5m`, `1h`, `300ms` or a bare number of seconds.
pub(crate) fn parse_budget(text: &str) -> Result<Duration, String> {
    let of_unit = |(unit, factor_s): &(&str, f64)| Some((text.strip_suffix(unit)?, *factor_s));
    let (digits, factor_s) = TIME_UNITS.iter().find_map(of_unit).unwrap_or((text, 1.0));
    let seconds = digits.trim().parse::<f64>().ok().map(|number| number * factor_s);
    match seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()) {
        Some(budget) if !budget.is_zero() && budget <= BUDGET_MAX => Ok(budget),
        Some(_) => Err("give more than 0s and at most 24h".to_owned()),
        None => Err("give a time such as 30s, 5m or 1h".to_owned()),
    }
}

/// The largest margin that makes sense: beyond it nothing could be called different.
const MARGIN_PERCENT_MAX: f64 = 100.0;

/// Reads `2%`, `0.5 %` or `2`.
pub(crate) fn parse_percent(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim_end().parse::<f64>();
    match number {
        Ok(percent) if (0.0..=MARGIN_PERCENT_MAX).contains(&percent) => Ok(percent),
        Ok(_) => Err("give between 0% and 100%".to_owned()),
        Err(_) => Err("give a percentage such as 2%".to_owned()),
    }
}

/// A command in one line.
pub(crate) fn command_line(command: &[OsString]) -> String {
    command.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// The same as a shell would have to be given it.
pub(crate) fn shell_line(command: &[OsString]) -> String {
    command.iter().map(|word| machine::shell_word(&word.to_string_lossy())).collect::<Vec<_>>().join(" ")
}

/// Names of values as they are typed, and what each means.
pub(crate) type Names<T> = &'static [(T, &'static str, &'static str)];

/// Reads one of these names; the help lists them all.
pub(crate) fn one_of<T: Copy + Send + Sync>(names: Names<T>) -> impl TypedValueParser<Value = T> {
    let listed = names.iter().map(|(_, name, means)| PossibleValue::new(*name).help(*means));
    let named = |text: String| names.iter().find(|(_, name, _)| *name == text).expect("it is listed").0;
    PossibleValuesParser::new(listed).map(named)
}

/// Reads the one that is called so.
pub(crate) fn named<T: Copy>(all: &[T], name: fn(T) -> &'static str, text: &str) -> Result<T, String> {
    let names = || all.iter().map(|one| name(*one)).collect::<Vec<_>>().join(", ");
    all.iter().copied().find(|one| name(*one) == text).ok_or_else(|| format!("give one of {}", names()))
}

/// Reads `4` or `1..8`; both ends count.
pub(crate) fn parse_counts(text: &str) -> Result<[usize; 2], String> {
    let (low, high) = text.split_once("..").unwrap_or((text, text));
    let ends = low.parse().ok().zip(high.strip_prefix('=').unwrap_or(high).parse().ok());
    match ends {
        Some((low, high)) if 1 <= low && low <= high => Ok([low, high]),
        _ => Err("give a number such as 4 or a rising range such as 1..8".to_owned()),
    }
}

/// Above the options of a result's form in the help.
pub(crate) const OUTPUT: &str = "Output";

/// What holds for every command.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Global {
    /// Print one JSON document on stdout instead of text
    #[arg(help_heading = OUTPUT, long, global = true)]
    pub(crate) json: bool,
    /// Print nothing but errors (and the JSON document, with --json)
    #[arg(help_heading = OUTPUT, long, short, global = true)]
    pub(crate) quiet: bool,
    /// When to use colours; NO_COLOR and TERM=dumb count too
    #[arg(help_heading = OUTPUT, long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Colour,
    /// `--gate`, on a command that judges; `compare` has its own, with a percentage
    #[arg(skip)]
    pub(crate) gate: bool,
    /// `--strict`, on a command whose judgement may be open
    #[arg(skip)]
    pub(crate) strict: bool,
    /// The file of `--html`, on a command that has a page
    #[arg(skip)]
    pub(crate) page_file: Option<PathBuf>,
    /// The folder of `--csv=DIR`, on a command that has tables
    #[arg(skip)]
    pub(crate) table_folder: Option<PathBuf>,
}

impl Global {
    /// Before minutes of measuring: a page or tables that are there already, or a page that cannot be written, is refused at once.
    ///
    /// # Errors
    /// What keeps the file of `--html` from being written, or tables in the folder of `--csv`.
    pub(crate) fn ensure_new_page(&self) -> anyhow::Result<()> {
        let mut there =
            self.table_folder.iter().flat_map(fs::read_dir).flatten().flatten().map(|file| file.path());
        if let Some(table) = there.find(|path| path.extension().is_some_and(|end| end == "csv")) {
            anyhow::bail!("{} is there already; choose another folder with --csv=DIR", table.display());
        }
        let Some(path) = &self.page_file else { return Ok(()) };
        let name = path.display();
        anyhow::ensure!(!path.exists(), "{name} is there already; choose another name with --html FILE");
        write_atomically(path, b"tried\n")?;
        fs::remove_file(path).with_context(|| format!("cannot remove {name}"))
    }
}

/// When to use colours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The name that clap gives to these options as a group: what has no program conflicts with it.
pub(crate) const GROUP: &str = "ProgramArguments";

/// Options of whatever runs a program.
#[derive(Debug, Clone, Args)]
pub(crate) struct ProgramArguments {
    /// Look for a number in the program's output: the first group of this pattern; else its time counts
    #[arg(long, value_name = "REGEX")]
    pub(crate) metric: Option<String>,
    /// Which direction of the metric is the good one
    #[arg(long, value_name = "WAY", default_value = "lower", value_parser = one_of(DIRECTIONS))]
    pub(crate) better: Better,
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

/// Directions of a metric.
const DIRECTIONS: Names<Better> =
    &[(Better::Lower, "lower", "Times and costs"), (Better::Higher, "higher", "Rates and scores")];

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
            let text_of_error = error.to_string();
            let reason =
                text_of_error.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
            anyhow::anyhow!("--metric {text} is no regular expression: {reason}")
        })?;
        Ok(Some(Metric { pattern, better: self.better }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_carry_a_unit_and_are_more_than_nothing() {
        for (text, seconds) in [
            ("30s", Some(30)),
            ("5m", Some(300)),
            ("1h", Some(3600)),
            ("45", Some(45)),
            ("1.5m", Some(90)),
            ("24h", Some(86_400)),
        ] {
            assert_eq!(parse_budget(text).ok().map(|budget| budget.as_secs()), seconds, "{text}");
        }
        assert_eq!(parse_budget("300ms"), Ok(Duration::from_millis(300)));
        for text in ["", "ms", "0ms", "0", "0s", "-3", "nan", "inf", "1e300", "24.1h", "s", "5x", "ä"] {
            assert!(parse_budget(text).is_err(), "{text}");
        }
    }

    #[test]
    fn percentages_are_read_with_and_without_their_sign() {
        for (text, expected) in [("2%", Some(2.0)), ("0.5 %", Some(0.5)), ("3", Some(3.0)), ("0", Some(0.0))]
        {
            assert_eq!(parse_percent(text).ok(), expected, "{text}");
        }
        for text in ["", "%", "-1%", "101", "nan", "two", "2%3"] {
            assert!(parse_percent(text).is_err(), "{text}");
        }
    }
}

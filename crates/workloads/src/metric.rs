//! What is measured of a turn: its time, or a number that the program prints.

use record::Better;
use regex::{Captures, Regex};
use serde::Deserialize;

/// Lines shown of what was searched without success; results come last.
const LINES_SHOWN: usize = 3;
/// Only so much of a line is shown.
const LINE_CHARACTERS: usize = 80;

/// Where a number is looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
    /// A file, by its path in `$SCRATCH`.
    File(String),
}

/// What is measured of a turn.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(try_from = "Written")]
pub enum Metric {
    /// Its time, in seconds.
    #[default]
    Time,
    /// A number that the program prints once.
    Pattern {
        /// The first group, or the whole match, is the number.
        regex: Regex,
        /// Where it is looked for.
        from: Stream,
        /// Unit of the number.
        unit: String,
        /// Which direction is the good one.
        better: Better,
    },
}

/// A metric as it stands in a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    pattern: String,
    #[serde(default = "stdout")]
    from: String,
    unit: String,
    better: Better,
}

fn stdout() -> String {
    "stdout".to_owned()
}

impl TryFrom<Written> for Metric {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let Written { pattern, from, unit, better } = written;
        // A message of this library draws the pattern in several lines; its last is the reason.
        let regex = Regex::new(&pattern).map_err(|error| {
            let text = error.to_string();
            format!("{pattern:?} is no pattern: {}", text.lines().last().unwrap_or_default())
        })?;
        if regex.captures_len() > 2 {
            return Err(format!("{pattern:?} has several groups; one is the number"));
        }
        let from = match from.as_str() {
            "stdout" => Stream::Stdout,
            "stderr" => Stream::Stderr,
            other => match other.strip_prefix("file:") {
                Some(path) if !path.is_empty() && !path.starts_with('/') && !path.contains("..") => {
                    Stream::File(path.to_owned())
                }
                _ => return Err(format!("from {other:?}: say stdout, stderr or file:NAME in $SCRATCH")),
            },
        };
        Ok(Self::Pattern { regex, from, unit, better })
    }
}

/// What a turn gave.
#[derive(Debug, Clone, Copy, Default)]
pub struct Output<'a> {
    /// Its time, in seconds.
    pub wall_s: f64,
    /// What it printed.
    pub stdout: &'a [u8],
    /// What it said on standard error.
    pub stderr: &'a [u8],
    /// The file that [`Metric::file`] names, if it wrote it.
    pub file: Option<&'a [u8]>,
}

/// Why a turn has no number, in one line with the end of what was searched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why} in {place}; its last lines: {lines}")]
pub struct MetricError {
    /// What is wrong.
    pub why: NoNumber,
    /// The stream or file.
    pub place: String,
    /// Its end.
    pub lines: String,
}

/// What is wrong with what a turn printed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoNumber {
    /// No number.
    #[error("no number where the metric looks for one")]
    None,
    /// Several.
    #[error("{0} numbers where the metric expects one ({1})")]
    Several(usize, String),
    /// What stands there is no finite number.
    #[error("{0:?} is no finite number")]
    NotFinite(String),
}

impl Metric {
    /// Unit of the number, and which direction of it is the good one.
    pub fn unit(&self) -> (&str, Better) {
        match self {
            Self::Time => ("s", Better::Lower),
            Self::Pattern { unit, better, .. } => (unit, *better),
        }
    }

    /// The file of `$SCRATCH` in which the number is looked for, if it is one.
    pub fn file(&self) -> Option<&str> {
        match self {
            Self::Pattern { from: Stream::File(path), .. } => Some(path),
            _ => None,
        }
    }

    /// The number of a turn.
    ///
    /// # Errors
    /// There is none, there are several, or it is not finite.
    pub fn read(&self, output: &Output<'_>) -> Result<f64, MetricError> {
        let Self::Pattern { regex, from, .. } = self else { return Ok(output.wall_s) };
        let (place, bytes) = match from {
            Stream::Stdout => ("standard output", output.stdout),
            Stream::Stderr => ("standard error", output.stderr),
            Stream::File(path) => (path.as_str(), output.file.unwrap_or_default()),
        };
        let text = String::from_utf8_lossy(bytes);
        one_number(regex, &text).map_err(|why| MetricError {
            why,
            place: place.to_owned(),
            lines: last_lines(&text),
        })
    }
}

/// The one number that the pattern finds; thousands may be parted by commas.
fn one_number(pattern: &Regex, text: &str) -> Result<f64, NoNumber> {
    let group = |groups: Captures<'_>| groups.get(1).or(groups.get(0)).map(|it| it.as_str().to_owned());
    let found: Vec<String> = pattern.captures_iter(text).filter_map(group).collect();
    match found.as_slice() {
        [] => Err(NoNumber::None),
        [one] => {
            let number = one.trim().replace(',', "").parse().ok().filter(|number: &f64| number.is_finite());
            number.ok_or_else(|| NoNumber::NotFinite(one.clone()))
        }
        several => {
            let first = &several[..several.len().min(LINES_SHOWN)];
            Err(NoNumber::Several(several.len(), first.join(", ")))
        }
    }
}

/// The last lines that hold something, each in quotes; progress that is written over counts line by line.
pub fn last_lines(text: &str) -> String {
    let held = text.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty());
    let mut last: Vec<String> = held
        .rev()
        .take(LINES_SHOWN)
        .map(|line| format!("{:?}", line.chars().take(LINE_CHARACTERS).collect::<String>()))
        .collect();
    last.reverse();
    if last.is_empty() { "nothing".to_owned() } else { last.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metric(from: &str) -> Metric {
        let text = format!("pattern = 'rate: (\\S+)'\nfrom = {from:?}\nunit = \"MB/s\"\nbetter = \"higher\"");
        record::read_toml(&text).expect("a metric")
    }

    #[test]
    fn one_number_is_read_from_the_stream_that_is_named() {
        let output = Output {
            wall_s: 2.5,
            stdout: b"rate: 1\n",
            stderr: b"\xff rate: 2,000.5\n",
            file: Some(b"rate: 3e2"),
        };
        for (from, expected) in [("stdout", 1.0), ("stderr", 2000.5), ("file:log", 300.0)] {
            assert_eq!(metric(from).read(&output), Ok(expected), "{from}");
        }
        assert_eq!(metric("file:a/log").file(), Some("a/log"));
        assert_eq!(Metric::Time.read(&output), Ok(2.5));
        assert_eq!((Metric::Time.unit().0, metric("stdout").unit().0), ("s", "MB/s"));
    }

    #[test]
    fn of_a_text_its_last_lines_are_shown() {
        assert_eq!(last_lines("\n \n"), "nothing");
        assert_eq!(last_lines("a\nb\n1 %\r2 %\r\nc\n"), "\"1 %\", \"2 %\", \"c\"");
        assert_eq!(last_lines(&"ä".repeat(200)).chars().count(), LINE_CHARACTERS + 2);
    }

    #[test]
    fn what_is_no_number_is_one_clear_line() {
        let read = |text: &str| {
            let output = Output { stdout: text.as_bytes(), ..Output::default() };
            metric("stdout").read(&output).expect_err(text).to_string()
        };
        assert_eq!(
            read("begun\n\nspeed: 3\n"),
            "no number where the metric looks for one in standard output; its last lines: \"begun\", \"speed: 3\""
        );
        assert_eq!(
            read("rate: 1\nrate: 2"),
            "2 numbers where the metric expects one (1, 2) in standard output; its last lines: \"rate: 1\", \"rate: 2\""
        );
        assert!(read("").ends_with("its last lines: nothing"));
        for text in ["rate: inf", "rate: nan", "rate: ...", "rate: 1e999"] {
            assert!(read(text).contains("is no finite number"), "{text}");
        }
        assert!(
            read(&"rate: 1 ".repeat(9))
                .starts_with("9 numbers where the metric expects one (1, 1, 1) in standard output;")
        );
        let none = metric("file:log").read(&Output::default()).expect_err("no file").to_string();
        assert!(none.ends_with("in log; its last lines: nothing"), "{none}");
    }

    #[test]
    fn a_metric_that_cannot_work_is_refused_when_it_is_read() {
        for (pattern, from, expected) in [
            ("(a)(b)", "stdout", "several groups"),
            ("(", "stdout", "is no pattern"),
            ("a", "stdlog", "say stdout, stderr or file:NAME"),
            ("a", "file:/etc/passwd", "say stdout"),
            ("a", "file:../x", "say stdout"),
        ] {
            let text = format!("pattern = {pattern:?}\nfrom = {from:?}\nunit = \"\"\nbetter = \"lower\"");
            let error = record::read_toml::<Metric>(&text).expect_err(pattern).to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}

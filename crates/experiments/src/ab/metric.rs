//! A number that a program prints, on whichever stream, and what was searched where it prints none.

use host::live::ChildRun;
use machine::counted;
use record::Better;
use regex::bytes::Regex;
use workloads::last_lines;

/// A number that the program prints.
#[derive(Debug, Clone)]
pub struct Metric {
    /// Its first group, or the whole match, is the number.
    pub pattern: Regex,
    /// Which direction is the good one.
    pub better: Better,
}

/// On how many runs the number stood on which stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StreamCounts {
    output: usize,
    errors: usize,
}

impl Metric {
    /// The number in what a run printed, standard output first, and the stream is counted.
    ///
    /// # Errors
    /// No number stands there: what was searched.
    pub(crate) fn found(&self, run: &ChildRun, counts: &mut StreamCounts) -> Result<f64, String> {
        if let Some(number) = last_number(&self.pattern, &run.output) {
            counts.output += 1;
            return Ok(number);
        }
        let number = last_number(&self.pattern, &run.errors).ok_or_else(|| {
            let [output, errors] = [&run.output, &run.errors].map(|stream| last_lines(&String::from_utf8_lossy(stream)));
            format!(
                "its output holds no number where --metric looks for one; last lines of standard output: {output}; of standard error: {errors}"
            )
        })?;
        counts.errors += 1;
        Ok(number)
    }
}

impl StreamCounts {
    /// Where the number was found, for the notes of an outcome.
    pub fn note(self) -> Option<String> {
        match self {
            Self { output: 0, errors: 0 } => None,
            Self { errors: 0, .. } => Some("metric: found on standard output".to_owned()),
            Self { output: 0, .. } => Some("metric: found on standard error".to_owned()),
            Self { output, errors } => Some(format!(
                "metric: found on standard output in {}, on standard error in {errors}; name one in the pattern",
                counted(output, "run")
            )),
        }
    }
}

/// The number that the pattern finds last: programs print their result after their progress.
fn last_number(pattern: &Regex, output: &[u8]) -> Option<f64> {
    let last = pattern.captures_iter(output).last()?;
    let text = last.get(1).or_else(|| last.get(0))?;
    let text = std::str::from_utf8(text.as_bytes()).ok()?;
    text.trim().replace(',', "").parse().ok().filter(|number: &f64| number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_number_of_the_first_group_is_the_metric() {
        let pattern = Regex::new(r"rate: ([\d.,]+)").expect("a pattern");
        for (output, expected) in [
            ("rate: 1.5\nrate: 2.5 MB/s\n", Some(2.5)),
            ("rate: 1,234.5", Some(1234.5)),
            ("speed: 3", None),
            ("rate: ...", None),
        ] {
            assert_eq!(last_number(&pattern, output.as_bytes()), expected, "{output}");
        }
        let whole = Regex::new(r"\d+").expect("a pattern");
        assert_eq!(last_number(&whole, b"7 of 9"), Some(9.0));
    }

    #[test]
    fn the_note_names_the_stream() {
        let note = |output, errors| StreamCounts { output, errors }.note().unwrap_or_default();
        assert_eq!(note(0, 0), "");
        assert!(note(9, 0).ends_with("standard output") && note(0, 9).ends_with("standard error"));
        assert!(note(4, 5).contains("in 4 runs, on standard error in 5"));
    }
}

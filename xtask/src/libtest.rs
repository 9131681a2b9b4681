//! What `cargo test` printed, counted: the results of every test program, and the tests that said they skipped.
//!
//! libtest has no word for "could not be made here". Our convention: such a test prints a line that begins
//! with `skipped` and returns; `--show-output` brings the line out, and here it is counted.

use crate::totals::Totals;

/// How a test's line begins when it could not be made on this machine; letter case does not matter.
pub const SKIP_WORD: &str = "skipped";

/// Reads the lines of `cargo test ... -- --show-output` one by one.
#[derive(Debug, Default)]
pub struct Reader {
    totals: Totals,
    section: Option<String>,
    /// Lines that begin with the skip word in the current section.
    skip_lines: usize,
    /// A test that failed is not also skipped, whatever it printed.
    in_failures: bool,
}

impl Reader {
    /// Takes one line of output and says whether people need to see it: that a test failed, and what it printed.
    pub fn see(&mut self, printed: &str) -> bool {
        let line = printed.trim();
        let within_failures = self.in_failures;
        if let Some(name) = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----")) {
            self.end_section();
            self.section = Some(name.to_owned());
        } else if let Some(counts) = line.strip_prefix("test result: ") {
            self.totals.passed += number_before(counts, " passed");
            self.totals.failed += number_before(counts, " failed");
            self.totals.skipped += number_before(counts, " ignored");
            self.end_section();
            self.in_failures = false;
        } else if line == "failures:" {
            self.end_section();
            self.in_failures = true;
        } else if let Some(name) =
            line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED"))
        {
            self.totals.failures.push(name.to_owned());
        } else if let Some(name) = &self.section
            && !self.in_failures
            && is_skip(line)
        {
            if self.skip_lines == 0 {
                self.totals.skips.push(format!("{name}: {line}"));
            }
            self.skip_lines += 1;
        }
        within_failures || self.in_failures || line.ends_with("FAILED")
    }

    fn end_section(&mut self) {
        let more = self.skip_lines.saturating_sub(1);
        if let Some(said) = self.totals.skips.last_mut().filter(|_| more > 0) {
            *said = format!("{said} (and {more} more)");
        }
        self.section = None;
        self.skip_lines = 0;
    }

    /// The counts; a test that skipped is not counted as passed although libtest does.
    pub fn finish(mut self) -> Totals {
        let said = self.totals.skips.len() as u64;
        self.totals.passed = self.totals.passed.saturating_sub(said);
        self.totals.skipped += said;
        self.totals
    }
}

fn is_skip(line: &str) -> bool {
    line.get(..SKIP_WORD.len()).is_some_and(|start| start.eq_ignore_ascii_case(SKIP_WORD))
}

/// The whole number that stands directly before `word` in `text`, or 0.
fn number_before(text: &str, word: &str) -> u64 {
    let before = text.split(word).next().filter(|before| before.len() < text.len()).unwrap_or("");
    before
        .rsplit(|letter: char| !letter.is_ascii_digit())
        .next()
        .and_then(|digits| digits.parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_several_programs_are_added_and_skips_are_named() {
        let printed = "\
test one ... ok
test two ... ok
test three ... FAILED
---- two stdout ----
SKIPPED: no objdump here
skipped: and once more
failures:
---- three stdout ----
skipped: said before it failed
test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 3 filtered out; finished in 0.00s
test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.10s";
        let mut reader = Reader::default();
        let shown = printed.lines().filter(|line| reader.see(line)).count();
        let totals = reader.finish();
        assert_eq!((totals.passed, totals.failed, totals.skipped), (6, 1, 2));
        assert_eq!(totals.failures, ["three"]);
        assert_eq!(shown, 5, "what failed, and all from the list of failures to its program's result");
        assert_eq!(totals.skips, ["two: SKIPPED: no objdump here (and 1 more)"]);
    }
}

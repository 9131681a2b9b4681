//! How many checks passed, failed and were skipped, and the names worth repeating at the end.

use std::fmt;

/// Counts of checks, with the names of those that did not simply pass.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Totals {
    /// Checks that held.
    pub passed: u64,
    /// Checks that did not hold.
    pub failed: u64,
    /// Checks that could not be made here.
    pub skipped: u64,
    /// One line per failed check: its name and why.
    pub failures: Vec<String>,
    /// One line per skipped check: its name and why.
    pub skips: Vec<String>,
}

impl Totals {
    /// One check that held.
    pub fn one_passed() -> Self {
        Self { passed: 1, ..Self::default() }
    }

    /// One check that did not hold, named.
    pub fn one_failed(line: impl Into<String>) -> Self {
        Self { failed: 1, failures: vec![line.into()], ..Self::default() }
    }

    /// One check that held or did not, named.
    pub fn one(holds: bool, line: impl Into<String>) -> Self {
        if holds { Self::one_passed() } else { Self::one_failed(line) }
    }

    /// One check that could not be made, named.
    pub fn one_skipped(line: impl Into<String>) -> Self {
        Self { skipped: 1, skips: vec![line.into()], ..Self::default() }
    }

    /// Adds the counts and names of `other`.
    pub fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.failures.extend(other.failures);
        self.skips.extend(other.skips);
    }

    /// What `closing` wrote at the end of `text`; nothing where it did not.
    pub fn of_closing(text: &str) -> Self {
        let count = |word: &str| -> Option<u64> { word.split(' ').next()?.parse().ok() };
        let counts: Option<Vec<u64>> =
            text.lines().last().and_then(|line| line.split(", ").map(count).collect());
        let Some([passed, failed, skipped]) = counts.as_deref() else { return Self::default() };
        let named = |start: &str| {
            text.lines().filter_map(|line| line.strip_prefix(start)).map(str::to_owned).collect()
        };
        Self {
            passed: *passed,
            failed: *failed,
            skipped: *skipped,
            failures: named("FAILED "),
            skips: named("SKIPPED "),
        }
    }

    /// The names of what failed and what was skipped, then the closing line alone on its line.
    pub fn closing(&self) -> String {
        let skips = self.skips.iter().map(|line| format!("SKIPPED {line}\n"));
        let failures = self.failures.iter().map(|line| format!("FAILED {line}\n"));
        let text: String = skips.chain(failures).collect();
        format!("{text}{self}\n")
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closing_line_stands_alone_after_the_names() {
        let mut totals = Totals::one_passed();
        totals.add(Totals::one_failed("fmt: differs"));
        totals.add(Totals::one_skipped("browser: no chromium"));
        assert_eq!(
            totals.closing(),
            "SKIPPED browser: no chromium\nFAILED fmt: differs\n1 passed, 1 failed, 1 skipped\n"
        );
        assert_eq!(Totals::of_closing(&format!("ok  8 nodes\n{}", totals.closing())), totals);
        assert_eq!(Totals::of_closing("cargo xtask: no such file\n"), Totals::default());
    }
}

//! The log of OpenDCDiag: which tests failed, on which CPUs.
//!
//! The log is YAML, of which this reads the lines that say results, as the program indents them, and passes over all others. What says a
//! result and is not as the program writes it is an error: of a log that is read wrongly every test seems to pass.
//! Source: `framework/logging.cpp`, class `YamlLogger`, and `docs/opendcdiag-cpu.schema.yaml` of opendcdiag 65b0814.

use std::collections::BTreeMap;

use machine::{CpuId, CpuSet};
use record::{ScreenedTest, Screening};

/// Results, the worst last. `unfinished` is a test whose result is missing, as the log ends.
const RESULTS: [&str; 8] =
    ["skip", "pass", UNFINISHED, "interrupted", "operating system error", "timed out", "crash", "fail"];
const UNFINISHED: &str = "unfinished";
/// How a run ends.
const EXITS: [&str; 4] = ["pass", "fail", "invalid", "interrupted"];
/// Letters of a word at most.
const LETTERS_MAX: usize = 100;
/// The first line, below whatever was printed before.
const FIRST: &str = "command-line: ";

/// Why a text is no log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// No line begins as its first does.
    #[error(
        "it has no line {FIRST:?}; give the file of opendcdiag's option -o, or what opendcdiag -Y printed"
    )]
    NoLog,
    /// A line that says something, and not as the program says it.
    #[error("line {line}: {found:?} is no {what} of OpenDCDiag")]
    Word {
        /// Its number, from 1.
        line: usize,
        /// What should stand there.
        what: &'static str,
        /// What does.
        found: String,
    },
}

/// Reads a log.
///
/// # Errors
/// `LogError` says what is wrong with it.
pub fn screening(text: &str) -> Result<Screening, LogError> {
    let first = text.lines().find(|line| line.trim_start().starts_with(FIRST)).ok_or(LogError::NoLog)?;
    // `-Y8` indents all of it.
    let indent = &first[..first.len() - first.trim_start().len()];
    let mut reader = Reader { exit: UNFINISHED, ..Reader::default() };
    for (index, line) in text.lines().enumerate() {
        let Some(line) = line.strip_prefix(indent) else { continue };
        let body = line.trim_start_matches(' ');
        reader.take(index + 1, line.len() - body.len(), body.trim_end())?;
    }
    reader.close();
    let tests = reader.tests.into_values().collect();
    Ok(Screening { version: reader.version, exit: reader.exit.to_owned(), tests })
}

/// A log as far as it is read.
#[derive(Default)]
struct Reader {
    version: String,
    exit: &'static str,
    tests: BTreeMap<String, ScreenedTest>,
    /// The run of a test that the lines are about.
    open: Option<ScreenedTest>,
    /// Whether they are about its threads.
    is_in_threads: bool,
    /// The CPU of the last thread.
    cpu: Option<CpuId>,
}

impl Reader {
    /// Takes a line that stands so many blanks deep.
    fn take(&mut self, line: usize, depth: usize, body: &str) -> Result<(), LogError> {
        let wrong = |what: &'static str, found: &str| {
            let found = found.chars().take(LETTERS_MAX).collect();
            Err(LogError::Word { line, what, found })
        };
        let one_of = |what, words: &[&'static str], found: &str| {
            words.iter().copied().find(|word| *word == found).map_or_else(|| wrong(what, found), Ok)
        };
        match (depth, body) {
            (0, _) => {
                if let Some(version) = body.strip_prefix("version: ") {
                    self.version =
                        version.chars().filter(|one| !one.is_control()).take(LETTERS_MAX).collect();
                } else if let Some(exit) = body.strip_prefix("exit: ") {
                    self.exit = one_of("end", &EXITS, exit)?;
                } else if let Some(test) = body.strip_prefix("- test: ") {
                    if !is_name(test) {
                        return wrong("name of a test", test).map(|_: &str| ());
                    }
                    self.close();
                    let result = UNFINISHED.to_owned();
                    self.open = Some(ScreenedTest {
                        test: test.to_owned(),
                        result,
                        runs: 1,
                        ..ScreenedTest::default()
                    });
                }
            }
            (2, _) => {
                let is_thread = self.is_in_threads && body.starts_with("- thread: ");
                (self.is_in_threads, self.cpu) = (is_thread || body == "threads:", None);
                if let (Some(open), Some(result)) = (&mut self.open, body.strip_prefix("result: ")) {
                    one_of("result", &RESULTS, result)?.clone_into(&mut open.result);
                }
            }
            (4, _) => {
                let Some(open) = self.open.as_mut().filter(|_| self.is_in_threads) else { return Ok(()) };
                if let Some(id) = body.strip_prefix("id: ") {
                    self.cpu = match logical(id).map(CpuSet::from_list) {
                        // Of another device than a CPU.
                        None => None,
                        Some(Ok(one)) if one.len() == 1 => one.first(),
                        Some(_) => return wrong("CPU", id).map(|_: &str| ()),
                    };
                }
                // The first stands in logs and long output, the others wherever a thread failed.
                let marks = ["state: failed", "- level: error", "- { level: error,"];
                if let Some(cpu) = self.cpu.filter(|_| marks.iter().any(|mark| body.starts_with(mark))) {
                    open.failed_on.insert(cpu);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Adds the run of a test to its others.
    fn close(&mut self) {
        self.is_in_threads = false;
        let Some(run) = self.open.take() else { return };
        let Some(all) = self.tests.get_mut(&run.test) else {
            self.tests.insert(run.test.clone(), run);
            return;
        };
        let rank = |result: &str| RESULTS.iter().position(|one| *one == result);
        all.runs += 1;
        all.failed_on = all.failed_on.union(&run.failed_on);
        if rank(&run.result) > rank(&all.result) {
            all.result = run.result;
        }
    }
}

/// Names become values of rows, and stand on terminals.
fn is_name(test: &str) -> bool {
    let is_taken = |letter: u8| letter.is_ascii_alphanumeric() || b"-_.".contains(&letter);
    (1..=LETTERS_MAX).contains(&test.len()) && test.bytes().all(is_taken)
}

/// `7` of `{ logical:  7, package: 0 }`.
fn logical(id: &str) -> Option<&str> {
    let fields = id.trim_matches(['{', '}', ' ']).split(',');
    fields
        .filter_map(|field| field.split_once(':'))
        .find(|(key, _)| key.trim() == "logical")
        .map(|(_, cpu)| cpu.trim())
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    use super::*;

    const LOG: &str = "\
THIS IS AN UNOPTIMIZED BUILD: DON'T TRUST TEST TIMING!
command-line: 'opendcdiag -T 10s -o log'
version: opendcdiag-1a2b3c
cpu-info:
- { logical:  0, package: 0, numa_node: 0, module:  0, core:  0, thread: 0 }   # 0
tests:
- test: eigen_svd
  details: { quality: production, description: \"exit: fail\" }
  result: pass
- test: zstd19
  result: fail
  fail: { cpu-mask: '.X', time-to-fail: 12.0, seed: 'LCG:1'}
  threads:
  - thread: main
    messages:
    - { level: warning, text: 'state: failed' }
  - thread: 3
    id: { logical: 13, package: 0, core: 5, thread: 1, microcode: 0xa0011d1, ppin: null }
    state: failed
    loop-count: 8
    messages:
    - level: error
      data-miscompare:
       description: 'x'
    - level: info
      text: |1
        - test: forged
  - thread: 4
    id: { logical: 14, package: 0 }
    loop-count: 9
    messages:
  stderr messages: |
    state: failed
- test: zstd19
  result: pass
- test: openssl_sha
  result: skip
  skip-reason: 'x'
exit: fail
";

    fn indented(log: &str, blanks: usize) -> String {
        let lines: Vec<String> = log.lines().map(|line| format!("{}{line}\n", " ".repeat(blanks))).collect();
        lines.concat()
    }

    fn outline(found: &Screening) -> Vec<(&str, &str, u64, String)> {
        let tests = found.tests.iter();
        tests
            .map(|one| (one.test.as_str(), one.result.as_str(), one.runs, one.failed_on.to_string()))
            .collect()
    }

    #[test]
    fn tests_keep_their_worst_result_and_the_cpus_that_failed_however_deep_the_log_stands() {
        for log in [LOG.to_owned(), indented(LOG, 4), LOG.replace('\n', "\r\n")] {
            let found = screening(&log).expect("a log");
            assert_eq!((found.version.as_str(), found.exit.as_str()), ("opendcdiag-1a2b3c", "fail"));
            let expected =
                [("eigen_svd", "pass", 1, ""), ("openssl_sha", "skip", 1, ""), ("zstd19", "fail", 2, "13")];
            assert_eq!(
                outline(&found),
                expected.map(|(test, result, runs, cpus)| (test, result, runs, cpus.to_owned()))
            );
        }
    }

    #[test]
    fn a_log_that_ends_early_is_unfinished_with_its_last_test() {
        let cut = &LOG[..LOG.find("  result: fail").expect("a result")];
        let found = screening(cut).expect("a log");
        assert_eq!(found.exit, "unfinished");
        assert_eq!(outline(&found)[1], ("zstd19", "unfinished", 1, String::new()));
    }

    #[test]
    fn what_is_no_log_or_says_results_in_other_words_is_refused_by_line() {
        assert_eq!(screening("tests:\n"), Err(LogError::NoLog));
        for (from, to, what) in [
            ("result: skip", "result: fine", "line 37: \"fine\" is no result"),
            ("exit: fail\n", "exit: 0\n", "line 39: \"0\" is no end"),
            ("test: eigen_svd", "test: '; drop", "line 7: \"'; drop\" is no name of a test"),
            ("logical: 13", "logical: 1x", "line 18: \"{ logical: 1x,"),
            ("logical: 13", "logical: 1-3", "is no CPU"),
            ("logical: 13", "logical: 99999999", "is no CPU"),
        ] {
            // The description holds an exit, too.
            let (head, tail) = LOG.split_at(LOG.rfind(from).expect("once"));
            let error =
                screening(&format!("{head}{}", tail.replacen(from, to, 1))).expect_err(to).to_string();
            assert!(error.contains(what), "{to}: {error}");
        }
    }

    /// Logs of any results, as the program writes them, and what they say.
    fn runs() -> impl Strategy<Value = Vec<(usize, usize, Vec<u32>)>> {
        prop::collection::vec((0..5_usize, 0..RESULTS.len(), prop::collection::vec(0..300_u32, 0..4)), 0..12)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 256, rng_seed: RngSeed::Fixed(11), failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_is_written_is_read(runs in runs(), indent in 0..9_usize) {
            let mut log = format!("{FIRST}'x'\nversion: 1\ntests:\n");
            for (test, result, cpus) in &runs {
                let _ = write!(log, "- test: t{test}\n  result: {}\n  threads:\n", RESULTS[*result]);
                for cpu in cpus {
                    let _ = write!(log, "  - thread: 1\n    id: {{ logical: {cpu:3}, package: 0 }}\n    state: failed\n");
                }
            }
            let log = indented(&log, indent);
            let found = screening(&log).expect("a log");
            for one in &found.tests {
                let of_test = || runs.iter().filter(|(test, ..)| format!("t{test}") == one.test);
                let worst = of_test().map(|(_, result, _)| *result).max();
                prop_assert_eq!(worst.map(|worst| RESULTS[worst]), Some(one.result.as_str()));
                let cpus: CpuSet = of_test().flat_map(|(.., cpus)| cpus).map(|cpu| CpuId(*cpu)).collect();
                prop_assert_eq!((&cpus, one.runs), (&one.failed_on, of_test().count() as u64));
            }
            prop_assert_eq!(found.tests.iter().map(|one| one.runs).sum::<u64>(), runs.len() as u64);
        }

        #[test]
        fn no_text_makes_it_panic(
            text in "(command-line: |- test: |  result: |  threads:|    id: |    state: failed|exit: |pass|logical|[ -~é]|\n){0,60}",
        ) {
            let _ = screening(&text);
            let _ = screening(&format!("{FIRST}x\n{text}"));
        }
    }
}

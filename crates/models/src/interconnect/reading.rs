//! Tables of latencies as other programs write them: CSV, Intel's Memory Latency Checker, and the distances of `numactl -H`.

mod checker;
mod comma;
mod names;
mod numactl;

use std::borrow::Cow;

use super::matrix::{Matrix, MatrixError, Unit};

/// Rows of values, some unknown.
pub(super) type Rows = Vec<Vec<Option<f64>>>;

/// What a file held.
#[derive(Debug, Clone, PartialEq)]
pub struct MatrixReading {
    /// What wrote it, for people.
    pub format: &'static str,
    /// Latencies or distances of nodes, or of CPUs.
    pub matrix: Matrix,
    /// What was strange.
    pub remarks: Vec<String>,
}

/// Why a file cannot be read.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ReadingError {
    /// A cell that is no number.
    #[error(
        "line {line}, column {column}: {text:?} is no number; give a number, or nothing where it is unknown"
    )]
    NoNumber {
        /// Counted from 1.
        line: usize,
        /// Counted from 1.
        column: usize,
        /// What stands there, shortened.
        text: String,
    },
    /// The part of a file that holds latencies is not there.
    #[error("{format}: there is no {what}; give a file that has one, or the matrix as CSV")]
    Missing {
        /// What the file seems to be.
        format: &'static str,
        /// What is missing.
        what: &'static str,
    },
    /// A place of such a file is not as it should be.
    #[error("{format}, {place}: {problem}")]
    Wrong {
        /// What the file seems to be.
        format: &'static str,
        /// Where.
        place: String,
        /// What is wrong.
        problem: String,
    },
    /// The numbers make no matrix.
    #[error("the matrix {0}")]
    Matrix(#[from] MatrixError),
}

/// Reads a matrix in any of the formats; which one the text itself says.
///
/// # Errors
/// What is wrong and where.
pub fn read_matrix(text: &str) -> Result<MatrixReading, ReadingError> {
    let text = &*unquoted(text);
    if text.contains("Memory Latency Checker") || text.contains("Measuring idle latencies") {
        return checker::read(text);
    }
    if numactl::is(text) {
        return numactl::read(text);
    }
    comma::read(text)
}

/// A text without the marks that mails put before each line and forums around a table: `> `, and fences of back quotes.
fn unquoted(text: &str) -> Cow<'_, str> {
    let is_fence = |line: &&str| line.trim_start().starts_with("```");
    let lines = || text.lines().filter(|line| !is_fence(line) && !line.trim().is_empty());
    let is_quoted = lines().next().is_some() && lines().all(|line| line.trim_start().starts_with('>'));
    if !is_quoted && !text.contains("```") {
        return Cow::Borrowed(text);
    }
    let bare = |line: &str| {
        let line = if is_quoted { line.trim_start().trim_start_matches('>') } else { line };
        format!("{line}\n")
    };
    Cow::Owned(text.lines().filter(|line| !is_fence(line)).map(bare).collect())
}

/// That only one of several tables is read.
fn of_several(tables: usize) -> Option<String> {
    (tables > 1).then(|| format!("the first of {tables} tables is read; give the others each by itself"))
}

/// Removes what would fill the screen.
fn shortened(text: &str) -> String {
    const SHOWN: usize = 24;
    text.chars().take(SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn formats_are_known_by_their_text() {
        for (text, format) in [
            ("80,130\n131,81\n", "CSV"),
            ("node distances:\nnode   0   1\n  0:  10  21\n  1:  21  10\n", "numactl -H"),
            ("Measuring idle latencies (in ns)...\nNuma node  0\n 0  80.1\n", "MLC"),
        ] {
            assert_eq!(read_matrix(text).expect(format).format, format);
        }
    }

    #[test]
    fn quoted_and_fenced_tables_are_read_and_further_ones_are_named() {
        let numactl = "node distances:\nnode   0   1\n  0:  10  21\n  1:  21  10\n";
        let checker =
            "Measuring idle latencies (in ns)...\nNuma node\nNuma node 0 1\n 0  80.1 130\n 1 131 81\n\nend\n";
        for text in [numactl, checker, "80,130\n131,81\n"] {
            let plain = read_matrix(text).expect(text);
            let quoted = format!("> {}\n", text.trim_end().replace('\n', "\n> "));
            for text in [quoted.clone(), quoted.replace("> ", ">> "), format!("```\n{text}```\n")] {
                assert_eq!(read_matrix(&text).as_ref(), Ok(&plain), "{text}");
            }
            if text != "80,130\n131,81\n" {
                let twice = read_matrix(&format!("{text}\n{text}")).expect(text);
                assert_eq!(twice.matrix, plain.matrix);
                assert!(
                    twice.remarks.iter().any(|one| one.starts_with("the first of 2 tables")),
                    "{twice:?}"
                );
            }
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in ".{0,300}") {
            let _ = read_matrix(&text);
        }

        #[test]
        fn no_table_makes_it_panic(text in "[0-9.,; \\t\\n#-]{0,300}") {
            let _ = read_matrix(&text);
        }

        #[test]
        fn no_distances_make_it_panic(text in "(node( [0-9]{1,3}){0,4}\n|[0-9]{0,4}:?( [0-9]{1,3}){0,4}\n){0,12}") {
            let _ = read_matrix(&format!("node 0 1\n0: 10 20\n{text}"));
        }

        #[test]
        fn no_checker_output_makes_it_panic(text in "([0-9. -]{0,30}\n|Numa node [0-9 ]{0,9}\n|Measuring [a-zA-Z ]{0,9}\n){0,20}") {
            let _ = read_matrix(&format!("Measuring idle latencies (in ns)...\n{text}"));
        }

        #[test]
        fn no_names_titles_quotes_or_halves_make_it_panic(
            text in "((\"[a-z, 0-9]{0,5}\"?|cpu[0-9]|node|[0-9]{1,3}(±[0-9])?|-|)[,; \t\n]){0,60}"
        ) {
            if let Ok(read) = read_matrix(&text) {
                prop_assert_eq!(read.matrix.nodes.len(), read.matrix.count());
            }
        }

        #[test]
        fn what_was_written_as_csv_is_read_again(rows in (1_usize..9).prop_flat_map(|count| {
            proptest::collection::vec(proptest::collection::vec(1.0_f64..1e4, count), count)
        })) {
            let text: Vec<String> = rows
                .iter()
                .map(|row| row.iter().map(f64::to_string).collect::<Vec<_>>().join(","))
                .collect();
            let read = read_matrix(&text.join("\n")).expect("a matrix").matrix;
            for (row, values) in rows.iter().enumerate() {
                for (column, value) in values.iter().enumerate() {
                    prop_assert_eq!(read.at(row, column), Some(*value));
                }
            }
        }
    }
}

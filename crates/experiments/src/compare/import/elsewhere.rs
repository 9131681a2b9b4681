//! Files that people have, and that hold no results which can be compared: known by name, and what to give instead.

/// How a file begins, what it is, and what to do.
const BEGINNINGS: &[(&[u8], &str)] = &[
    (b"PERFILE2", "samples of perf record; give what perf stat -x, prints"),
    (b"\x1f\x8b", "a gzip file; unpack it first"),
    (b"\x7fELF", "a program; give what it printed"),
    (b"\xff\xfe", "text in UTF-16; save it as UTF-8"),
    (b"\xfe\xff", "text in UTF-16; save it as UTF-8"),
    (b"PK\x03\x04", "a zip file; unpack it first"),
];

/// Words that only such a file holds, in its first part.
const WORDS: &[(&str, &str)] = &[
    ("<svg", "a picture, as flamegraphs are; give the times that were measured"),
    ("<testsuite", "a JUnit report of tests; give the export of a benchmark"),
    ("<html", "a page of HTML; give the data behind it"),
    ("\"traceEvents\"", "a trace of Chrome or Perfetto; give the export of a benchmark"),
    ("\"Action\":", "what go test -json prints; give the text of go test -bench"),
    ("Performance counter stats for", "what perf stat prints for people; repeat it with -x, or -j"),
    ("Time (mean ± σ):", "what hyperfine prints for people; repeat it with --export-json FILE"),
    ("clat percentiles (", "what fio prints for people; repeat it with --output-format=json"),
    ("Mode  Cnt ", "a table for people, as JMH prints; repeat it with -rf json"),
    (
        "events per second:",
        "what sysbench prints; write its numbers as CSV with name, unit, better, group, values",
    ),
];

/// Words are looked for in so many bytes.
const BEGINNING_BYTES: usize = 64 << 10;

/// What a file is that begins so.
pub(super) fn named(bytes: &[u8]) -> Option<&'static str> {
    let begins = BEGINNINGS.iter().find(|(beginning, _)| bytes.starts_with(beginning));
    begins.map(|(_, what)| *what)
}

/// What a text is that no format knows.
pub(super) fn named_text(text: &str) -> Option<&'static str> {
    let mut end = text.len().min(BEGINNING_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    WORDS.iter().find(|(word, _)| text[..end].contains(word)).map(|(_, what)| *what)
}

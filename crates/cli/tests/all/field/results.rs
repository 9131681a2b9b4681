//! Results of benchmarks, in compare.

use super::{folder, sidestep};

/// Of a case: what is typed, its exit status, what has to be said, what must not be.
type Case = (&'static str, &'static str, i32, &'static [&'static str], &'static [&'static str]);

const CASES: &[Case] = &[
    (
        "23-hyperfine-zero-time",
        "a.json b.json",
        0,
        &[
            "1 slower of 1 test",
            "a: left out: echo hi (1 of 10 values: 0 is no positive number)",
            "b: left out: echo hi",
        ],
        &[],
    ),
    (
        "25-pts-line-graph",
        "monitor.xml",
        0,
        &["1 slower of 1 test", "left out: 7-Zip Compression, CPU Temperature"],
        &[],
    ),
    (
        "25-pts-line-graph",
        "zero-count.xml",
        0,
        &["1 slower of 1 test", "left out: Dropped, Frames (3 of 3"],
        &[],
    ),
    ("25-pts-line-graph", "without-direction.xml", 0, &["1 slower of 1 test", "(no direction is known"], &[]),
    ("26-compare-broken-json", "jmh.json jmh.json", 0, &["org.x.B.sort", "ops/s"], &["broken JSON"]),
    (
        "26-compare-broken-json",
        "a=pts-export.json b=pts-export.json",
        0,
        &["7-Zip, Test", "MIPS"],
        &["broken JSON"],
    ),
    ("29-formats", "hyperfine.csv hyperfine.csv", 0, &["grep x", "0.5"], &[]),
    ("29-formats", "google-benchmark.json google-benchmark.json", 0, &["BM_sort/1024", "ns"], &["_mean"]),
    (
        "29-formats",
        "lscpu-J.json hyperfine.csv",
        2,
        &["not a known format: neither a record nor results"],
        &["broken"],
    ),
];

#[test]
fn results_that_people_have_are_read_and_odd_values_cost_themselves() {
    for (case, typed, status, expected, forbidden) in CASES {
        let Some(folder) = folder(case) else { return };
        let said = sidestep(&folder, &format!("compare --long {typed}"));
        let text: String = (said.stdout + &said.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(said.status, *status, "{case} {typed}: {text}");
        for words in *expected {
            assert!(text.contains(words), "{case} {typed}: no {words:?} in {text}");
        }
        for words in *forbidden {
            assert!(!text.contains(words), "{case} {typed}: {words:?} in {text}");
        }
    }
}

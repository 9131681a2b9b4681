//! Tables of latencies between CPUs and nodes.

use super::{folder, sidestep};

/// Of a case: what is typed, what has to be said, what must not be.
const CASES: &[(&str, &str, &[&str], &[&str])] = &[
    (
        "09-numactl-table",
        "gh200.txt",
        &["not identifiable", "255, which is no connection"],
        &["identified:", " ns"],
    ),
    ("09-numactl-table", "--sysroot gh200-sysfs.tar.gz", &["not identifiable"], &["identified:", " ns"]),
    (
        "09-numactl-table",
        "gnr-snc3.txt",
        &["2 groups of 3 nodes", "15 within", "Members: 0-2 | 3-5", "from 1 to 3 23, back 28"],
        &["identified:", " ns"],
    ),
    (
        "10-mlc-memory-only-node",
        "cxl.txt",
        &["node 1 is memory only", "84.5 ns"],
        &["cut off", "identified:"],
    ),
    ("11-c2c-pasted", "with-prompt.txt", &["4 groups of 2 CPUs (threads of a core): 9 ns"], &[]),
    ("11-c2c-pasted", "without-prompt.txt", &["4 groups of 2 CPUs (threads of a core): 9 ns"], &[]),
    ("11-c2c-pasted", "version2-banner.txt", &["2 groups of 12 CPUs", "12 groups of 2 CPUs"], &[]),
    (
        "12-c2c-one-home-socket",
        "dual-3b4000.csv",
        &["1 group of 4 CPUs, 4 CPUs in none", "Members: 0-3", "those 4 may be one group"],
        &["without a clear gap", "identified:"],
    ),
    ("13-c2c-full-small", "i7-8565u.csv", &["4 groups of 2 CPUs (threads of a core): 6.04 ns"], &["nodes"]),
    ("29-formats", "cells-with-unit.txt", &["2 groups of 2 CPUs", "12 ns within, 55 ns between"], &[]),
];

#[test]
fn pasted_tables_are_read_and_nothing_is_claimed_that_they_do_not_say() {
    for (case, typed, expected, forbidden) in CASES {
        let Some(folder) = folder(case) else { return };
        let said = sidestep(&folder, &format!("sockets infer --long {typed}"));
        let text: String = said.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(said.status, 0, "{case} {typed}: {}", said.stderr);
        for words in *expected {
            assert!(text.contains(words), "{case} {typed}: no {words:?} in {text}");
        }
        for words in *forbidden {
            assert!(!text.contains(words), "{case} {typed}: {words:?} in {text}");
        }
    }
}

//! Machines, clocks and CPUID texts: what a page must and must not say, and how it ends.

use super::{folder, sidestep};

struct Row {
    case: &'static str,
    arguments: &'static str,
    status: i32,
    says: &'static [&'static str],
    never: &'static [&'static str],
}

const ROWS: &[Row] = &[
    Row {
        case: "14-cpuid-family-15h-apic",
        arguments: "machine --cpuid fx-8350-cpuid.tar.gz --gate",
        status: 0,
        says: &["1 package, 8 cores, 8 CPUs"],
        never: &["APIC"],
    },
    Row {
        case: "14-cpuid-family-15h-apic",
        arguments: "machine --sysroot fx-8350-recording.tar.gz --gate",
        status: 0,
        says: &["1 package, 8 cores, 8 CPUs"],
        never: &["APIC"],
    },
    Row {
        case: "15-cpuid-phenom-apic-high-bits",
        arguments: "machine --cpuid phenom-ii-955.tar.gz --gate",
        status: 0,
        says: &[
            "1 package, 4 cores, 4 CPUs",
            "L3       6 MiB    48  64 B          4          1",
            "taken for the core",
        ],
        never: &[],
    },
    Row {
        case: "29-formats",
        arguments: "machine --cpuid aida64.txt --gate",
        status: 0,
        says: &["Core(TM) Ultra 7 265K, 20 CPUs", "1 package, 20 cores", "12 CPUs of kind efficiency"],
        never: &[],
    },
    Row {
        case: "29-formats",
        arguments: "flaws --cpuid aida64.txt",
        status: 0,
        says: &["Core(TM) Ultra 7 265K", "hybrid-cores"],
        never: &[],
    },
    Row {
        case: "29-formats",
        arguments: "machine --cpuid cpuid-r.txt",
        status: 0,
        says: &["HygonGenu!ne"],
        never: &["family"],
    },
];

#[test]
fn pages_say_what_the_pastes_show_and_no_more() {
    for row in ROWS {
        let Some(folder) = folder(row.case) else { return };
        let said = sidestep(&folder, row.arguments);
        let page = said.stdout.clone() + &said.stderr;
        let context = format!("{}: {}\n{page}", row.case, row.arguments);
        assert_eq!(said.status, row.status, "{context}");
        // Lines are folded at the width of a page.
        let flat = page.split_whitespace().collect::<Vec<_>>().join(" ");
        for words in row.says {
            let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(flat.contains(&words), "without {words:?}: {context}");
        }
        for words in row.never {
            assert!(!flat.contains(words), "{words:?} is there: {context}");
        }
    }
}

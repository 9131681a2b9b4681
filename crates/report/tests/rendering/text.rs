//! The terminal and CSV.

use record::Record;
use report::{Terminal, csv, machine_text, terminal};

use crate::sample::{sample_machine, sample_record};

/// Display columns of a line without its ANSI sequences, for text without wide characters.
fn columns(line: &str) -> usize {
    let mut columns = 0;
    let mut in_sequence = false;
    for c in line.chars() {
        match c {
            '\u{1b}' => in_sequence = true,
            'm' if in_sequence => in_sequence = false,
            _ if in_sequence => {}
            _ => columns += 1,
        }
    }
    columns
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for cpu_count in [1, 2, 64] {
        let record = sample_record(cpu_count);
        for width_columns in [1, 10, 20, 40, 60, 79, 80, 81, 120, 200] {
            for colour in [false, true] {
                let size = Terminal { width_columns, colour };
                for text in [terminal(&record, size), machine_text(&record.machine, size)] {
                    for line in text.lines() {
                        assert!(columns(line) <= width_columns, "{width_columns}: {line:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn the_summary_fills_one_screen_and_begins_with_the_findings() {
    for cpu_count in [2, 64] {
        let text = terminal(&sample_record(cpu_count), Terminal::default());
        let lines = text.lines().count();
        // A machine of several nodes has three lines of them.
        assert!((24..=48).contains(&lines), "{lines} lines\n{text}");
        let finding = text.find("! The L3 cache holds").expect("the first finding");
        assert!(finding < text.find("claimed").expect("the table of levels"));
    }
}

#[test]
fn the_stream_table_of_a_full_run_keeps_each_row_on_one_line() {
    let full = |cpu_count| {
        let mut record = sample_record(cpu_count);
        let plain: Vec<_> = record.memory.stream.iter().filter(|r| r.kernel == "copy").cloned().collect();
        record.memory.stream.clear();
        for isa in ["scalar_u64", "scalar_f64", "sse2", "avx2", "avx512"] {
            for kernel in ["copy", "scale", "add", "triad"] {
                for store in ["plain", "non_temporal"] {
                    record.memory.stream.extend(plain.iter().cloned().map(|result| {
                        let (kernel, isa, store) = (kernel.to_owned(), isa.to_owned(), store.to_owned());
                        record::StreamResult { kernel, isa, store, ..result }
                    }));
                }
            }
        }
        record
    };
    for (cpu_count, name, rows) in [(2, "CPU 1", 3), (64, "slowest of 64 CPUs", 8)] {
        for width_columns in [60, 80, 100] {
            let text = terminal(&full(cpu_count), Terminal { width_columns, colour: false });
            let table: Vec<&str> =
                text.lines().skip_while(|line| !line.starts_with("STREAM GB/s avx512")).collect();
            let last = table.iter().position(|line| line.contains(" more kernels are in the report"));
            assert!(table[0].contains("triad") && table.iter().any(|line| line.starts_with(name)), "{text}");
            assert!(last.is_some_and(|last| last <= 1 + rows), "{width_columns} columns\n{text}");
        }
    }
}

#[test]
fn without_colour_there_is_no_escape_sequence_and_with_colour_the_same_text() {
    let record = sample_record(2);
    let plain = terminal(&record, Terminal::default());
    assert!(!plain.contains('\u{1b}'));
    let coloured = terminal(&record, Terminal { colour: true, ..Terminal::default() });
    assert!(coloured.contains("\u{1b}["));
    for (a, b) in plain.lines().zip(coloured.lines()) {
        assert_eq!(columns(a), columns(b));
    }
}

#[test]
fn an_empty_record_and_an_empty_machine_still_say_something() {
    let text = terminal(&Record::default(), Terminal::default());
    assert!(text.contains("No findings"), "{text}");
    assert!(machine_text(&machine::Machine::default(), Terminal::default()).contains("unknown CPU"));
    assert_eq!(csv(&Record::default()).lines().count(), 1);
}

#[test]
fn the_machine_is_told_with_its_disagreements_and_gaps() {
    let text = machine_text(&sample_machine(16), Terminal::default());
    for part in ["L1d", "32 KiB", "to 1", "kvm-clock", "sysfs says 1, CPUID says 2", "no such directory"] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
}

#[test]
fn every_csv_row_has_the_columns_of_the_header() {
    let record = sample_record(2);
    let text = csv(&record);
    let mut lines = text.lines();
    let header = lines.next().expect("a header").split(',').count();
    let mut rows = 0;
    for line in lines {
        assert_eq!(line.split(',').count(), header, "{line}");
        rows += 1;
    }
    let results = record.memory.latency.len() + record.memory.bandwidth.len() + record.cores.sharing.len();
    assert!(rows > results);
}

/// The summary as one line, whatever it was wrapped at.
fn flat(record: &Record) -> String {
    terminal(record, Terminal::default()).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_summary_tells_a_clock_once_with_its_cpus() {
    // Once seen: each name up to four times, one for each package, without the CPU.
    let mut record = sample_record(2);
    let again: Vec<_> = (1..4)
        .flat_map(|package| {
            record.clocks.clone().into_iter().map(move |read| record::ClockRead {
                cpu: machine::CpuId(package),
                ns: read.ns + f64::from(package),
                ..read
            })
        })
        .collect();
    record.clocks.extend(again);
    let text = flat(&record);
    assert_eq!(text.matches("rdtscp").count(), 1, "{text}");
    assert!(text.contains("rdtscp 17.2 ns to 20.2 ns (CPUs 0 and 3)"), "{text}");
    assert!(text.contains("; 1 more in the report"), "{text}");
}

#[test]
fn the_summary_says_what_is_withheld_and_how_memory_was_measured() {
    let mut record = sample_record(2);
    record.levels.huge_page_gain = Some(-0.2);
    record.levels.huge_page_interval = Some(stats::Interval { low: -0.48, high: 0.05 });
    record.levels.withheld = vec![record::Withheld {
        what: "read rate of L3".to_owned(),
        value: Some("21.3 GB/s".to_owned()),
        because: "it is the number of memory".to_owned(),
    }];
    let memory = record.levels.caches.last_mut().expect("memory");
    memory.conditions = Some(record::Conditions {
        block_bytes: Some([machine::Bytes(128 << 20); 2]),
        page_bytes: vec![machine::Bytes(2 << 20)],
        order: record::ChaseOrder::Random,
    });
    let text = flat(&record);
    for part in [
        "withheld read rate of L3 21.3 GB/s: it is the number of memory",
        "ns of memory: random order in 128 MiB, 2 MiB pages",
        "random access without huge pages undetermined (-20 % [-48 %, 5 %])",
    ] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
    let page = report::html(&record, None, report::Html { script: false });
    assert!(page.contains("read rate of L3") && page.contains("random order in 128 MiB, 2 MiB pages"));
}

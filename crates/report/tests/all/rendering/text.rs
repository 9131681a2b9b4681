//! The terminal and CSV.

use record::Record;
use report::{Terminal, check_up_page, machine_page};

use super::sample::{sample_machine, sample_record};

/// The whole page of a check-up.
fn long(record: &Record, terminal: Terminal) -> String {
    check_up_page(record, None, None).terminal(terminal, true)
}

/// Its first screen.
fn short(record: &Record) -> String {
    check_up_page(record, Some("run/record.json"), None).terminal(Terminal::default(), false)
}

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
                for text in [long(&record, size), machine_page(&record.machine).terminal(size, true)] {
                    for line in text.lines() {
                        assert!(columns(line) <= width_columns, "{width_columns}: {line:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn the_first_screen_holds_each_question_with_its_verdict_and_number_and_says_what_to_do() {
    for cpu_count in [2, 64] {
        let text = short(&sample_record(cpu_count));
        for line in [
            "NOISY  noise       CPU 1 had 73 % of its core",
            "WARN   L3          3.4 MiB [2.8 MiB, 4 MiB] usable",
            "OK     memory      124 ns [119, 130] at random in 1 GiB, 2 MiB pages",
            "?      huge pages  undetermined: too little time",
            "More: sidestep show --long run/record.json",
        ] {
            assert!(text.contains(line), "{line} is missing in\n{text}");
        }
        assert!(text.lines().count() <= SCREEN_LINES, "{text}");
        assert!(!text.contains("seed") && !text.contains("siblings  "), "{text}");
    }
}

/// A terminal of 24 lines, less two for where the record and the report are.
const SCREEN_LINES: usize = 22;

#[test]
fn a_record_without_anything_still_has_a_first_screen() {
    let record = Record { partial: Some("still running, or killed".to_owned()), ..Record::default() };
    assert!(short(&record).contains("WARN  run  partial: still running, or killed"), "{}", short(&record));
}

#[test]
fn many_cpus_are_shown_by_their_extremes_and_each_kernel_of_a_full_run_has_its_rows() {
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
    for (cpu_count, name) in [(2, "CPU 1"), (64, "slowest of 64 CPUs")] {
        for width_columns in [60, 80, 100] {
            let text = long(&full(cpu_count), Terminal { width_columns, colour: false });
            let rows: Vec<&str> =
                text.lines().skip_while(|line| !line.starts_with("STREAM bandwidth")).collect();
            let first = rows.iter().find(|row| row.contains("AVX") || row.contains("SSE2"));
            assert!(first.is_some_and(|row| row.starts_with("triad AVX-512")), "{text}");
            assert!(rows.join(" ").matches(name).count() >= 40, "{text}");
        }
    }
}

#[test]
fn without_colour_there_is_no_escape_sequence_and_with_colour_the_same_text() {
    let record = sample_record(2);
    let plain = long(&record, Terminal::default());
    assert!(!plain.contains('\u{1b}'));
    let coloured = long(&record, Terminal { colour: true, ..Terminal::default() });
    assert!(coloured.contains("\u{1b}["));
    for (a, b) in plain.lines().zip(coloured.lines()) {
        assert_eq!(columns(a), columns(b));
    }
}

#[test]
fn an_empty_record_and_an_empty_machine_still_say_something() {
    assert!(long(&Record::default(), Terminal::default()).starts_with("unknown CPU"));
    assert!(
        machine_page(&machine::Machine::default())
            .terminal(Terminal::default(), true)
            .contains("unknown CPU")
    );
}

#[test]
fn the_machine_is_shown_with_its_disagreements_and_gaps() {
    let text = machine_page(&sample_machine(16)).terminal(Terminal::default(), true);
    for part in ["L1d", "32 KiB", "to 1", "kvm-clock", "sysfs says 1, CPUID says 2", "no such directory"] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
}

#[test]
fn rows_for_programs_have_a_field_for_every_column_and_hostile_text_stays_in_its_field() {
    let rows = [
        serde_json::json!({ "node": "=n,1\u{1b}", "estimate": 1.5, "partial": false }),
        serde_json::json!({ "estimate": null, "other": 1 }),
    ];
    let page = report::Page::of_rows("metrics", &["node", "estimate", "partial"], rows);
    let text = page.csv().swap_remove(0).1;
    assert_eq!(text, "node,estimate,partial\n\"'=n,1\u{fffd}\",1.5,false\n,,\n");
}

/// The page as one line, whatever it was wrapped at.
fn flat(record: &Record) -> String {
    long(record, Terminal::default()).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_clock_is_shown_once_with_its_cpus() {
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
    assert!(text.contains("rdtscp 17.2 ±1.1 % 20.2 0 and 3"), "{text}");
    assert_eq!(text.matches("rdtscp 17.2").count(), 1, "{text}");
}

#[test]
fn a_question_is_followed_by_what_belongs_to_it_and_nothing_says_it_again() {
    let mut record = sample_record(2);
    record.levels.withheld = vec![record::Withheld {
        what: "TLB L2".to_owned(),
        value: Some("64 entries".to_owned()),
        because: "it reaches no farther than TLB L1".to_owned(),
    }];
    let text = flat(&record);
    for part in [
        "L1 5.00 cycles; 32 KiB claimed, as found shared, windows CPU block pages samples median, cycles",
        "0 16 KiB 2 MiB 3 5.01 5.00 5.60 73 %",
        "Noise ! CPU 1 had 73 % of its core; stolen 1.3 %, other programs 4 % evidence CPU 1: 73 % of the best",
        "TLB L2 64 entries it reaches no farther than TLB L1",
    ] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
    for part in ["got only part of a core", "34 % slower without", "Latency by level"] {
        assert!(!text.contains(part), "{part} is said in {text}");
    }
    let place = |title: &str| text.find(title).unwrap_or_else(|| panic!("{title} is missing in {text}"));
    let titles =
        ["Measurement conditions", "as found shared", "Memory 124", "STREAM", "What CPUs cost", "Findings"];
    assert!(titles.map(place).is_sorted(), "{text}");
    // Of a record without samples the surface says what there is to say.
    record.samples.clear();
    assert!(flat(&record).contains("Latency by level"), "{}", flat(&record));
}

#[test]
fn one_node_has_no_sockets_to_judge() {
    let one_node = super::sample::of_one_node();
    let record = Record { sockets: Some(one_node), ..sample_record(2) };
    let html = super::html(&record, None);
    for page in [long(&record, Terminal::default()), html] {
        assert!(
            !page.contains("no sockets to compare") && !page.contains("are alike is undetermined"),
            "{page}"
        );
    }
}

#[test]
fn every_capacity_of_cores_is_named() {
    let mut machine = sample_machine(4);
    for (cpu, capacity) in machine.topology.cpus.iter_mut().zip([280, 855, 855, 1024]) {
        cpu.capacity = Some(capacity);
    }
    let text = machine_page(&machine).terminal(Terminal::default(), true);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("core kinds 1 CPU of capacity 280, 2 CPUs of capacity 855, 1 CPU of capacity 1024"),
        "{text}"
    );
}

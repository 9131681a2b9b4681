//! Importers take what others wrote: the right thing is read, the wrong thing is refused with its place, nothing panics.

use proptest::prelude::*;

use record::Better;

use super::*;
use crate::compare::{Options, SourceKind, compare};
use record::Fact;

const CSV: &str = "name,unit,better,group,values\n# a note\n\"a, \"\"b\"\"\",s,lower,apps,1.5;1.6 1.7\nrate,MB/s,higher,memory,6527\n";
const HYPERFINE: &str = r#"{"results":[{"command":"sort big","mean":1.0,"stddev":0.1,"median":1.0,"user":0.9,"system":0.1,
    "min":0.9,"max":1.1,"times":[0.9,1.0,1.1],"exit_codes":[0,0,1],"parameters":{"threads":"4"}}]}"#;
const HYPERFINE_CSV: &str =
    "command,mean,stddev,median,user,system,min,max\nsort big,1.0,0.1,1.5,0.9,0.1,0.9,1.1\n";
const GOOGLE: &str = r#"{"context":{"num_cpus":4},"benchmarks":[
    {"name":"BM_copy/8","run_name":"BM_copy/8","run_type":"iteration","real_time":10,"time_unit":"us"},
    {"name":"BM_copy/8","run_name":"BM_copy/8","run_type":"iteration","real_time":12,"time_unit":"us"},
    {"name":"BM_copy/8_mean","run_name":"BM_copy/8","run_type":"aggregate","aggregate_name":"mean","real_time":11,"time_unit":"us"},
    {"name":"BM_bad","run_name":"BM_bad","run_type":"iteration","error_occurred":true,"error_message":"no file"}]}"#;
const JMH: &str = r#"[{"jmhVersion":"1.37","benchmark":"a.B.sort","mode":"thrpt","forks":2,"params":{"size":"64"},
    "primaryMetric":{"score":15.0,"scoreUnit":"ops/s","rawData":[[9.0,11.0],[19.0,21.0]]}}]"#;
const PYTEST: &str = r#"{"machine_info":{},"benchmarks":[{"group":null,"name":"test_a","fullname":"t.py::test_a",
    "stats":{"median":0.2,"data":[0.1,0.2,0.3]}}],"version":"4.0.0"}"#;
const GO: &str = "goos: linux\npkg: a/b\ncpu: X\nUnit hits better=higher\nBenchmarkSort-8   \t100\t 12.5 ns/op\t 8 B/op\t 3 hits\t 4 odd\n\
    BenchmarkSort-8   \t100\t 13.5 ns/op\t 0 B/op\t 3 hits\t 4 odd\nPASS\n";
const CRITERION: &str = r#"{"reason":"benchmark-complete","id":"norm","iteration_count":[10,20],"measured_values":[100.0,240.0],"unit":"ns"}
{"reason":"group-complete","group_name":"norm"}"#;
const CRITERION_SAMPLE: &str = r#"{"sampling_mode":"Linear","iters":[10.0,20.0],"times":[100.0,240.0]}"#;
const PERF: &str = "# started on Thu\n\n1.20,msec,task-clock:u,1204272,100.00,0.697,CPUs utilized\n<not supported>,,cycles,0,100.00,,\n70,,page-faults:u,1204272,100.00,58.126,K/sec\n3,,branches,1204272,100.00,,\n";
const PERF_JSON: &str = r#"{"counter-value" : "1.20", "unit" : "msec", "event" : "task-clock", "event-runtime" : 12, "pcnt-running" : 100.00}
{"counter-value" : "<not counted>", "unit" : "", "event" : "cycles", "event-runtime" : 0, "pcnt-running" : 0.00}"#;
const FIO: &str = r#"{"fio version":"fio-3.36","jobs":[{"jobname":"seq","error":0,
    "read":{"total_ios":9,"bw":100,"iops":25.0,"lat_ns":{"mean":40.0}},"write":{"total_ios":0,"bw":0,"iops":0.0,"lat_ns":{"mean":0.0}}}]}"#;
const PHORONIX_EXPORT: &str = r#"{"title":"t","systems":{"before":{"hardware":{"Processor":"X"},"software":{}},"after":{}},"results":{"a1":
    {"identifier":"pts/stream-1.3.1","title":"Stream","description":"Copy","scale":"MB/s","proportion":"HIB",
    "results":{"before":{"value":10,"all_results":[9,11]},"after":{"value":12}}}}}"#;
const PHORONIX: &str = r#"<?xml version="1.0"?>
<PhoronixTestSuite><Generated><Title>x</Title></Generated>
<System><Identifier>before</Identifier><Hardware>Processor: AMD X @ 3GHz, Memory: 8GB</Hardware>
<Software>OS: Debian, Kernel: 6.1.0</Software><JSON>{"cpu-microcode":"0x1"}</JSON></System>
<System><Identifier>after</Identifier><Hardware>Processor: AMD X @ 3GHz, Memory: 8GB</Hardware>
<Software>OS: Debian, Kernel: 6.2.0</Software><JSON>{"cpu-microcode":"0x2"}</JSON></System>
<Result><Identifier>pts/stream-1.3.1</Identifier><Title>Stream</Title><Description>Type: Copy</Description>
<Scale>MB/s</Scale><Proportion>HIB</Proportion><DisplayFormat>BAR_GRAPH</DisplayFormat><Data>
<Entry><Identifier>before</Identifier><Value>100.5</Value><RawString>100:101</RawString></Entry>
<Entry><Identifier>after</Identifier><Value>90</Value><RawString></RawString></Entry></Data></Result>
<Result><Identifier>pts/broken-1.0</Identifier><Title>Broken</Title><Description></Description>
<Scale>s</Scale><Proportion>LIB</Proportion><Data><Entry><Identifier>after</Identifier><Value></Value></Entry></Data></Result>
</PhoronixTestSuite>"#;

fn values(configuration: &Configuration, test: usize) -> Vec<f64> {
    configuration.tests[test].cells.values().flat_map(|cell| &cell.samples).map(|s| s.value).collect()
}

#[test]
fn a_table_is_read_with_quotes_notes_and_several_values() {
    let found = &read("x", CSV.as_bytes()).expect("a table")[0];
    assert_eq!((found.kind, found.tests.len()), (SourceKind::Results("csv"), 2));
    assert_eq!((found.tests[0].name.as_str(), values(found, 0)), ("a, \"b\"", vec![1.5, 1.6, 1.7]));
}

#[test]
fn one_value_per_line_makes_replicates() {
    let text = "group,name,value,unit,better\r\nm,a,1,s,lower\r\nm,a,2,s,lower\r\n";
    assert_eq!(values(&read("x", text.as_bytes()).expect("a table")[0], 0), [1.0, 2.0]);
}

#[test]
fn an_export_is_reported_by_its_content() {
    let hyperfine = &read("x", HYPERFINE.as_bytes()).expect("an export")[0];
    assert_eq!(
        (hyperfine.kind, values(hyperfine, 0)),
        (SourceKind::Results("hyperfine"), vec![0.9, 1.0, 1.1])
    );
    assert_eq!(hyperfine.tests[0].name, "sort big (threads=4)");
    assert_eq!(hyperfine.tests[0].failed(), 1);
}

/// A format, its text, and of its first test: name, unit, direction, values; what is said.
type Case = (&'static str, &'static str, &'static str, &'static str, Better, &'static [f64], &'static str);

const CASES: &[Case] = &[
    ("hyperfine", HYPERFINE, "sort big (threads=4)", "s", Better::Lower, &[0.9, 1.0, 1.1], ""),
    ("hyperfine", HYPERFINE_CSV, "sort big", "s", Better::Lower, &[1.5], ""),
    (
        "google-benchmark",
        GOOGLE,
        "BM_copy/8",
        "us",
        Better::Lower,
        &[10.0, 12.0],
        "left out: BM_bad (1 of 1 run failed: no file)",
    ),
    ("jmh", JMH, "a.B.sort (size=64)", "ops/s", Better::Higher, &[10.0, 20.0], ""),
    ("pytest-benchmark", PYTEST, "t.py::test_a", "s", Better::Lower, &[0.1, 0.2, 0.3], "are of one process"),
    ("go-bench", GO, "Sort-8", "ns/op", Better::Lower, &[12.5, 13.5], "Sort-8, odd (no direction is known"),
    ("criterion", CRITERION, "norm", "ns", Better::Lower, &[10.0, 12.0], "are of one process"),
    ("criterion", CRITERION_SAMPLE, "benchmark", "ns", Better::Lower, &[10.0, 12.0], "are of one process"),
    (
        "perf-stat",
        PERF,
        "task-clock:u",
        "msec",
        Better::Lower,
        &[1.2],
        "cycles (1 of 1 value: <not supported>",
    ),
    (
        "perf-stat",
        PERF_JSON,
        "task-clock",
        "msec",
        Better::Lower,
        &[1.2],
        "cycles (1 of 1 value: <not counted>",
    ),
    ("fio", FIO, "seq, read bandwidth", "KiB/s", Better::Higher, &[100.0], ""),
    ("phoronix", PHORONIX_EXPORT, "Stream, Copy", "MB/s", Better::Higher, &[9.0, 11.0], ""),
];

#[test]
fn every_format_says_its_names_units_directions_and_values() {
    for (word, text, name, unit, better, expected, said) in CASES {
        for text in [(*text).to_owned(), text.replace('\n', "\r\n"), format!("\u{feff}{text}")] {
            let found = &read("x", text.as_bytes()).expect(word)[0];
            let test = &found.tests[0];
            assert_eq!(
                (found.kind.word(), test.name.as_str(), test.unit.as_str()),
                (*word, *name, *unit),
                "{text}"
            );
            assert_eq!((test.better, values(found, 0)), (*better, expected.to_vec()), "{word}");
            let cautions = found.cautions.join("\n");
            assert!(cautions.contains(said) && cautions.is_empty() == said.is_empty(), "{word}: {cautions}");
        }
    }
    let go = &read("x", GO.as_bytes()).expect("benchmarks")[0];
    let directions: Vec<_> = go.tests.iter().map(|test| (test.name.as_str(), test.better)).collect();
    let expected =
        [("Sort-8", Better::Lower), ("Sort-8, B/op", Better::Lower), ("Sort-8, hits", Better::Higher)];
    assert_eq!((directions.as_slice(), values(go, 1)), (expected.as_slice(), vec![8.0]));
    assert_eq!(go.facts, [Fact { name: "CPU".to_owned(), value: "X".to_owned() }]);
    let fio = &read("x", FIO.as_bytes()).expect("a job")[0];
    assert_eq!(fio.tests.len(), 3, "nothing was written");
}

#[test]
fn a_value_that_is_none_costs_itself_and_is_named() {
    let text = "name,unit,better,group,values\na,s,lower,g,1;0;2;-3;NaN;1x\nb,s,lower,g,\nc,s,lower,g,inf\n";
    let found = &read("x", text.as_bytes()).expect("a table")[0];
    assert_eq!((found.tests.len(), values(found, 0)), (1, vec![1.0, 2.0]));
    assert_eq!(
        found.cautions,
        ["left out: line 2, a (4 of 6 values: 0 is no positive number); line 3, b (no value); \
          line 4, c (1 of 1 value: inf is no positive number)"]
    );
    let twice = "name,unit,better,group,values\na,s,lower,g,1\na,ms,lower,g,1\n";
    let twice = &read("x", twice.as_bytes()).expect("a table")[0];
    let said = "left out: line 3, a (it stands there with another unit, direction or kind)";
    assert_eq!((values(twice, 0), twice.cautions[0].as_str()), (vec![1.0], said));
    let many = (0..9).fold(text.to_owned(), |text, row| format!("{text}r{row},s,lower,g,-\n"));
    assert!(read("x", many.as_bytes()).expect("a table")[0].cautions[0].ends_with("; and 7 more"));
    let list = PHORONIX.replace("<Value>90</Value>", "<Value>90,91,92</Value>");
    let found = read("x", list.as_bytes()).expect("a composite");
    assert!(found[1].tests.is_empty() && found[1].cautions[0].contains("90,91,92 is no positive number"));
}

#[test]
fn a_test_of_which_runs_failed_is_never_equivalent_whatever_its_times() {
    let times: Vec<String> = (0..30).map(|run| format!("1.00{run}")).collect();
    let text = |code: u32| {
        let codes = format!("0,{code},").repeat(15);
        format!(
            r#"{{"results":[{{"command":"grep x","times":[{}],"exit_codes":[{}]}}]}}"#,
            times.join(","),
            codes.trim_end_matches(',')
        )
    };
    let verdict = |codes: [u32; 2]| {
        let sides = codes.map(|code| read("x", text(code).as_bytes()).expect("an export").swap_remove(0));
        let found = compare(sides.clone(), &[], &Options::default()).expect("comparable");
        (found.rows[0].verdict, found.failed)
    };
    assert_eq!(verdict([0, 0]), (stats::Verdict::Equivalent, Vec::new()));
    assert_eq!(
        verdict([0, 2]),
        (stats::Verdict::Inconclusive, vec!["x (2): 15 runs of grep x failed".to_owned()])
    );
    assert_eq!(verdict([2, 2]).1.len(), 2);
}

/// One file against another: the first row's verdict, what failed, and how many averages there are.
fn against(texts: [&str; 2]) -> (Option<stats::Verdict>, Vec<String>, usize) {
    let sides = texts.map(|text| read("x", text.as_bytes()).expect("results").swap_remove(0));
    let found = compare(sides.clone(), &[], &Options::default()).expect("comparable");
    (found.rows.first().map(|row| row.verdict), found.failed, found.averages.len())
}

#[test]
fn repeats_of_one_side_alone_are_no_single_runs_and_values_without_spread_are_named_so() {
    let times = |times: &str| format!(r#"{{"results":[{{"command":"x","times":[{times}]}}]}}"#);
    for (sides, said) in [
        (["1", "1.1"], "single runs carry no interval (all rows)"),
        (["1", "1.1,1.2,1.3"], "one side has a single run, which carries no interval (all rows)"),
        (["1,1,1", "1,1,1"], "runs that are all alike show no spread (all rows)"),
    ] {
        let sides = sides.map(|side| read("x", times(side).as_bytes()).expect("an export").swap_remove(0));
        let found = compare(sides, &[], &Options::default()).expect("comparable");
        let about: Vec<&String> =
            found.cautions.iter().filter(|one| one.contains("nothing is called faster or slower")).collect();
        assert!(matches!(about[..], [one] if one.starts_with(said)), "{:?}", found.cautions);
    }
}

#[test]
fn exit_codes_of_any_form_count_and_a_job_that_did_nothing_has_failed() {
    for (codes, failed) in
        [("[0,null,0.0]", 1), ("[\"0\",\"1\",-9]", 2), ("1", 1), ("0", 0), ("null", 0), ("[true,[0]]", 2)]
    {
        let text = HYPERFINE.replace("[0,0,1]", codes);
        assert_eq!(read("x", text.as_bytes()).expect("an export")[0].tests[0].failed(), failed, "{codes}");
    }
    let fio = FIO.replace("\"error\":0", "\"error\":5").replace("\"total_ios\":9", "\"total_ios\":0");
    let found = compare(
        [FIO, fio.as_str()].map(|text| read("x", text.as_bytes()).expect("a job").swap_remove(0)),
        &[],
        &Options::default(),
    );
    assert!(found.is_err(), "nothing was measured on one side");
    let fio = format!("fio: pid=7, err=5/file:x.c:1, func=io_u error, error=Input/output error\n{fio}");
    let jobs = &read("x", fio.as_bytes()).expect("a job")[0].tests;
    assert_eq!((jobs[0].name.as_str(), jobs[0].failed()), ("seq", 1));
}

#[test]
fn bytes_and_allocations_of_go_are_in_no_mean_with_times() {
    let sides = ["12", "24"].map(|bytes| {
        let line = format!("BenchmarkX-8 \t100\t 50.0 ns/op\t {bytes} B/op\t 1 allocs/op\n");
        read("x", line.as_bytes()).expect("a benchmark").swap_remove(0)
    });
    let found = compare(sides, &[], &Options::default()).expect("comparable");
    let averages: Vec<_> =
        found.averages.iter().map(|one| (one.group.as_str(), one.rows, one.geometric_percent)).collect();
    let expected = [
        ("all", 1, 0.0),
        ("benchmarks", 1, 0.0),
        ("benchmarks, B/op", 1, 100.0),
        ("benchmarks, allocs/op", 1, 0.0),
    ];
    assert_eq!(averages, expected);
}

#[test]
fn more_values_than_any_benchmark_prints_are_refused_before_they_fill_memory() {
    let times =
        |count: usize| format!(r#"{{"results":[{{"command":"x","times":[{}1]}}]}}"#, "1,".repeat(count - 1));
    for count in [VALUES_MAX + 1, FIELDS_MAX + 2] {
        assert!(matches!(read("x", times(count).as_bytes()), Err(ImportError::TooMany)), "{count}");
    }
}

#[test]
fn a_go_test_that_failed_makes_its_benchmarks_undetermined_and_no_average() {
    let good: String =
        (0..10).map(|run| format!("BenchmarkX-8 \t1000\t 100.0{run} ns/op\n")).collect::<Vec<_>>().concat();
    assert_eq!(against([&good, &good]).0, Some(stats::Verdict::Equivalent));
    for end in [
        "    --- FAIL: BenchmarkX-8",
        "FAIL",
        "FAIL\tx\t1.2s",
        "panic: odd",
        "signal: killed",
        "exit status 2",
    ] {
        let found = against([&good, &format!("{good}{end}\n")]);
        let expected = vec!["x (2): 10 runs of X-8 failed".to_owned()];
        assert_eq!(found, (Some(stats::Verdict::Inconclusive), expected, 0), "{end}");
    }
}

#[test]
fn repetitions_that_failed_or_were_skipped_are_named_once_and_their_times_are_not_used() {
    let text = |bad: usize, how: &str| {
        let one = |run: usize| {
            let how = if run < bad { how } else { "" };
            format!(r#"{{"name":"BM_x","run_type":"iteration","real_time":100.{run},"time_unit":"ns"{how}}}"#)
        };
        let rows: Vec<String> = (0..10).map(one).collect();
        format!(r#"{{"context":{{}},"benchmarks":[{}]}}"#, rows.join(","))
    };
    for how in [r#","error_occurred":true,"error_message":"odd""#, r#","skipped":true,"skip_message":"odd""#]
    {
        let (good, bad, all) = (text(0, ""), text(4, how), text(10, how));
        let found = &read("x", bad.as_bytes()).expect("rows")[0];
        assert_eq!((values(found, 0).len(), found.tests[0].failed()), (6, 4));
        assert_eq!(found.cautions[0], "left out: BM_x (4 of 10 runs failed: odd)");
        assert_eq!(against([&good, &bad]).0, Some(stats::Verdict::Inconclusive));
        assert_eq!(against([&good, &all]), (None, vec!["x (2): 10 runs of BM_x failed".to_owned()], 0));
    }
}

#[test]
fn averages_alone_are_one_value_and_numbers_that_are_none_cost_themselves() {
    let text = r#"{"benchmarks":[{"name":"BM_x_mean","run_name":"BM_x","run_type":"aggregate","aggregate_name":"mean","real_time":5,"time_unit":"ns"},
        {"name":"BM_x_cv","run_name":"BM_x","run_type":"aggregate","aggregate_name":"cv","real_time":NaN}]}"#;
    let found = &read("x", text.as_bytes()).expect("an average")[0];
    assert_eq!(values(found, 0), [5.0]);
    assert!(found.cautions.iter().any(|said| said.starts_with("only aggregates")), "{:?}", found.cautions);
    let odd = &read("x", PYTEST.replace("0.3", "Infinity").as_bytes()).expect("rounds")[0];
    assert_eq!(values(odd, 0), [0.1, 0.2]);
    assert!(odd.cautions[0].contains("1 of 3 values: inf is no positive number"), "{:?}", odd.cautions);
}

#[test]
fn parts_of_one_run_of_perf_stat_are_no_repeats_and_a_decimal_comma_is_read() {
    for (text, said) in [
        ("CPU0,7,,cycles,1000,100.00,,\n", "by CPU or part (CPU0)"),
        ("S0,1,7,,cycles,1000,100.00,,\n", "by CPU or part (S0)"),
        ("  1.01,7,,cycles,1000,100.00,,\n", "line 1: a number before the count"),
        (r#"{"cpu":"0","counter-value":"7","event":"cycles"}"#, "one for each cpu"),
    ] {
        let error = read("x", text.as_bytes()).expect_err("parts").to_string();
        assert!(error.contains(said) && error.contains("LC_ALL=C perf stat"), "{error}");
    }
    let comma = "1,5;msec;task-clock;0,50%;1000;100,00;1,0;CPUs utilized\n";
    assert_eq!(values(&read("x", comma.as_bytes()).expect("a count")[0], 0), [1.5]);
}

#[test]
fn a_composite_holds_one_configuration_per_identifier() {
    let found = read("x", PHORONIX.as_bytes()).expect("a composite");
    let names: Vec<&str> = found.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["before", "after"]);
    assert_eq!((values(&found[0], 0), values(&found[1], 0)), (vec![100.0, 101.0], vec![90.0]));
    assert_eq!(
        (found[0].tests[0].name.as_str(), found[0].tests[0].group.as_str()),
        ("Stream, Type: Copy", "stream")
    );
    let fact = |of: &Configuration, name: &str| {
        of.facts.iter().find(|fact| fact.name == name).map(|f| f.value.clone())
    };
    assert_eq!(fact(&found[0], "CPU").as_deref(), Some("AMD X @ 3GHz"));
    assert_eq!(fact(&found[1], "microcode").as_deref(), Some("0x2"));
    assert_eq!(found[1].cautions, ["left out: Broken (no value)"]);
}

#[test]
fn bad_input_is_refused_with_its_place() {
    let deep = format!("<PhoronixTestSuite>{}", "<a>".repeat(100_000));
    let nested = "[".repeat(10_000);
    for (text, expected) in [
        ("", "it holds no test"),
        ("hello\n", "neither a record nor results"),
        ("{}", "neither a record nor results"),
        ("{\"a\":", "broken JSON"),
        ("<html></html>", "this is a page of HTML"),
        ("<a></a>", "not a known format: neither a record"),
        ("<svg></svg>", "this is a picture, as flamegraphs are"),
        ("Benchmark  Mode  Cnt  Score\n", "repeat it with -rf json"),
        ("\u{1f}\u{8b}", "neither a record"),
        ("[[[", "broken JSON"),
        ("{\"a\":[{\"b\":1}]}", "not a known format: neither a record"),
        ("<PhoronixTestSuite>", "broken XML"),
        (deep.as_str(), "nested more than 64 deep"),
        (nested.as_str(), "recursion limit exceeded"),
        ("{\"schema\":9}", "use a newer sidestep"),
        ("{\"schema\":1}", "it holds no test"),
        ("{\"schema\":1,\"rows\":[],\"averages\":[]}", "the JSON of sidestep compare, not a record"),
        ("{\"schema\":1,\"view\":{}}", "the JSON of sidestep machine, not a record"),
        ("name,values\na,1\n", "line 1: there is no column unit"),
        ("name,unit,better,group,values\na,s,lower,g,\n", "left out: line 2, a (no value)"),
        (
            "name,unit,better,group,values\n\na,s,lower,g,-3\n",
            "line 3, a (1 of 1 value: -3 is no positive number)",
        ),
        (
            "name,unit,better,group,values\na,s,lower,g,NaN\n",
            "line 2, a (1 of 1 value: NaN is no positive number)",
        ),
        (
            "name,unit,better,group,values\na,s,lower,g,1x\n",
            "line 2, a (1 of 1 value: 1x is no positive number)",
        ),
        (
            "name,unit,better,group,values\na,s,sideways,g,1\n",
            "line 2, a (no direction is known, higher or lower)",
        ),
        ("name,unit,better,group,values\n\"a,s,lower,g,1\n", "line 2: a quote is not closed"),
        ("[1]", "neither a record nor results"),
    ] {
        let error = read("x", text.as_bytes()).expect_err(text).to_string();
        assert!(error.contains(expected), "{text:.80}: {error}");
    }
    for (bytes, expected) in [(b"\x1f\x8b\0", "a gzip file"), (b"\xff\xfea", "text in UTF-16")] {
        assert!(read("x", bytes).expect_err("no text").to_string().contains(expected));
    }
    let long = "x".repeat(TEXT_BYTES_MAX + 1);
    assert!(read("x", long.as_bytes()).expect_err("too long").to_string().contains("32 MiB of text"));
    assert!(
        read("x", &[b'a', 0xff]).expect_err("no text").to_string().contains("not UTF-8 text from byte 1 on")
    );
}

#[test]
fn entities_that_grow_without_bound_are_refused() {
    let bomb = "<!DOCTYPE a [<!ENTITY x \"xxxxxxxxxx\"><!ENTITY y \"&x;&x;&x;\">]><PhoronixTestSuite>&y;</PhoronixTestSuite>";
    assert!(matches!(read("x", bomb.as_bytes()), Err(ImportError::Xml(_))));
}

proptest! {
    #[test]
    fn no_byte_sequence_makes_an_importer_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = read("x", &bytes);
    }

    #[test]
    fn no_damage_to_a_good_file_makes_an_importer_panic(
        which in 0_usize..CASES.len() + 2,
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>(), 0_u8..3), 1..6),
    ) {
        let text = CASES.get(which).map_or([CSV, PHORONIX][which % 2], |case| case.1);
        let mut bytes = text.as_bytes().to_vec();
        for (place, byte, what) in changes {
            let at = place.index(bytes.len());
            match what {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                _ => bytes.truncate(at.max(1)),
            }
        }
        let _ = read("x", &bytes);
    }
}

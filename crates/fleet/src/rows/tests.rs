//! Records of every age laid flat.

use std::collections::BTreeSet;
use std::path::Path;

use machine::{Bytes, CpuId, FieldScan, MemoryModule};
use record::{CheckedLoop, Engine, LatencyCell, Planted, Quality, SCHEMA, Spread, StateKind, decode};
use stats::Interval;

use super::*;

const HERE: Origin<'_> = Origin { file: "3f/n1/a.json.zst", node: "n1" };

fn saved(path: &str) -> Record {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests").join(path);
    decode(&std::fs::read(file).expect("the record is committed")).expect("a record")
}

fn cell(ns: f64, block: u64) -> LatencyCell {
    LatencyCell {
        cpu: CpuId(1),
        block_bytes: Bytes(block),
        stride_bytes: Bytes(64),
        page_bytes: Bytes(4096),
        ns,
        core_cycles: None,
        level: Some("L1".to_owned()),
        spread: Spread { interval: Interval { low: 1.0, high: 3.0 }, windows: 40, ..Spread::default() },
    }
}

#[test]
fn a_record_of_the_first_version_gives_rows() {
    let rows = flatten(&saved("first-version/record.json"), HERE).expect("rows");
    assert_eq!((rows.node.node.as_str(), rows.node.run.kernel_set_version), ("n1", FIRST_KERNEL_SET));
    assert!(rows.metrics.len() > 100 && rows.node.metrics == rows.metrics.len() as u64, "{:?}", rows.node);
    assert!(rows.states.iter().any(|state| state.kind == StateKind::Setting));
    assert_eq!(rows.node.run.experiment, CHECK_UP);
}

#[test]
fn numbers_are_named_once_and_are_above_zero() {
    for path in ["first-version/record.json", "cli/records/noisy-guest.json", "cli/records/two-cores.json"] {
        let rows = flatten(&saved(path), HERE).expect("rows");
        let mut keys = BTreeSet::new();
        for row in &rows.metrics {
            assert!(row.estimate.is_finite() && row.estimate > 0.0, "{row:?}");
            assert!(keys.insert((&row.metric, &row.labels, &row.cpu, row.mem_node)), "{row:?}");
            assert!(row.ci_lo.is_none_or(|low| low <= row.estimate), "{row:?}");
            assert!(!row.metric.is_empty() && !row.family.is_empty() && row.run_id == rows.node.run_id);
        }
    }
}

#[test]
fn a_number_that_means_nothing_gives_no_row_and_a_wrong_interval_no_ends() {
    let mut record = Record { schema: SCHEMA, ..Record::default() };
    record.memory.latency =
        vec![cell(2.0, 64), cell(9.0, 128), cell(-1.0, 256), cell(f64::NAN, 512), cell(2.5, 64)];
    let metrics = flatten(&record, HERE).expect("rows").metrics;
    let facts: Vec<(&str, f64, Option<f64>)> =
        metrics.iter().map(|row| (row.labels.as_str(), row.estimate, row.ci_lo)).collect();
    assert_eq!(
        facts,
        [
            ("block_bytes=64,stride_bytes=64,page_bytes=4096", 2.0, Some(1.0)),
            ("block_bytes=128,stride_bytes=64,page_bytes=4096", 9.0, None)
        ]
    );
    let row = &metrics[0];
    assert_eq!((row.cpu.as_deref(), row.n, row.unit.as_str()), (Some("1"), 40, "ns"));
    assert_eq!((row.metric.as_str(), row.family.as_str()), ("memory_latency_ns", "L1 and L2 latency"));
    assert_eq!(row.quality, Quality::Converged);
}

#[test]
fn a_node_is_called_as_it_says_else_by_its_host_else_by_its_folder() {
    let mut record = Record::default();
    let name = |record: &Record| flatten(record, HERE).expect("rows").node.node;
    assert_eq!(name(&record), "n1");
    record.provenance.host_name = Some("vm".to_owned());
    assert_eq!(name(&record), "vm");
    // Whatever it says stays text.
    record.provenance.node = Some("../x'; drop table nodes; --<b>".to_owned());
    assert_eq!(name(&record), "../x'; drop table nodes; --<b>");
}

#[test]
fn what_was_planted_gives_no_rows() {
    let mut record = Record::default();
    record.provenance.planted = vec![Planted { row: "x".to_owned(), factor: 2.0 }];
    assert_eq!(flatten(&record, HERE), Err(NoRows::Planted));
}

#[test]
fn presets_and_purposes_are_read_from_the_arguments_of_any_version() {
    for (arguments, expected_preset, expected_purpose) in [
        ("", "standard", CHECK_UP),
        ("run --quick", "quick", CHECK_UP),
        ("--quick --record x", "quick", CHECK_UP),
        ("run --full --only memory,cores", "full+only=memory,cores", CHECK_UP),
        ("run --budget=30s --cpus 0-3", "budget-30s+cpus=0-3", CHECK_UP),
        ("run --budget 5m --epochs 1", "budget-5m+epochs=1", CHECK_UP),
        ("run --budget", "standard", CHECK_UP),
        ("clock check --record x", "standard", "clock check"),
        ("sockets --record x", "standard", "sockets"),
    ] {
        let arguments: Vec<String> = arguments.split_whitespace().map(str::to_owned).collect();
        let provenance = Provenance { arguments, ..Provenance::default() };
        let rows = flatten(&Record { provenance, ..Record::default() }, HERE).expect("rows");
        let found = (rows.node.run.preset.as_str(), rows.node.run.experiment.as_str());
        assert_eq!(found, (expected_preset, expected_purpose));
    }
}

#[test]
fn facts_of_a_node_are_apart_and_those_of_old_records_in_one_text() {
    let mut record = Record::default();
    record.machine.identity.bios = Some("Acme 2.1 03/14/2024".to_owned());
    let node = |record: &Record| flatten(record, HERE).expect("rows").node;
    let old = node(&record);
    assert_eq!((old.fact("bios_vendor"), old.fact("bios_version")), (None, Some("Acme 2.1 03/14/2024")));
    let identity = &mut record.machine.identity;
    identity.bios_vendor = Some("Acme".to_owned());
    identity.bios_version = Some("2.1".to_owned());
    identity.bios_date = Some("03/14/2024".to_owned());
    identity.microcode = Some(0x0a00_11d1);
    let module = |part: &str| MemoryModule { part: part.to_owned(), ..MemoryModule::default() };
    identity.memory_modules = vec![module("B"), module("A"), module("B"), module("")];
    record.provenance.engine =
        Some(Engine { name: "slurm".to_owned(), job: Some("17".to_owned()), ..Engine::default() });
    let new = node(&record);
    assert_eq!(new.fact("bios_version"), Some("2.1"));
    assert_eq!(new.fact("dimm_part"), Some("1 x A+2 x B+1 x unknown"));
    assert_eq!(new.fact("microcode"), Some("0xa0011d1"));
    assert_eq!((new.engine.as_deref(), new.job.as_deref()), (Some("slurm"), Some("17")));
    assert_eq!(new.coverage, None);
}

#[test]
fn words_of_the_command_line_are_settings_unless_their_values_are_removed() {
    let mut record = Record::default();
    record.machine.environment.command_line =
        Some("root=... ro mitigations=off ... spectre_v2=retpoline,generic".to_owned());
    let states = flatten(&record, HERE).expect("rows").states;
    let boot: Vec<(&str, &str)> = states
        .iter()
        .filter(|state| state.kind == StateKind::Setting)
        .filter_map(|state| Some((state.id.as_str(), state.value.as_deref()?)))
        .collect();
    assert_eq!(
        boot,
        [("boot/ro", "set"), ("boot/mitigations", "off"), ("boot/spectre_v2", "retpoline,generic")]
    );
}

#[test]
fn tests_for_silent_data_corruption_are_states_and_test_images_are_settings() {
    let mut record = Record::default();
    let states = |record: &Record| -> Vec<String> {
        let rows = flatten(record, HERE).expect("rows").states;
        let line = |one: &StateRow| {
            format!("{:?} {} {}", one.kind, one.id, one.value.as_deref().unwrap_or_default())
        };
        rows.iter().map(line).collect()
    };
    assert!(states(&record).is_empty());
    let checked = |wrong| CheckedLoop {
        cpu: CpuId(0),
        kernel: "chase".to_owned(),
        isa: "scalar_u64".to_owned(),
        operations: 64,
        results: 1,
        wrong,
    };
    record.cores.checked = vec![checked(0)];
    assert_eq!(states(&record), ["Sdc known-answers right"]);
    record.cores.checked.push(checked(1));
    let image_version = Some("0x4b".to_owned());
    record.machine.environment.field_scans =
        vec![FieldScan { status: "fail".to_owned(), image_version, ..FieldScan::default() }];
    assert_eq!(states(&record), ["Sdc known-answers wrong", "Sdc ifs/0 fail", "Setting ifs/0/image 0x4b"]);
}

#[test]
fn a_row_of_schema_1_has_its_labels_in_its_metric_and_is_still_read() {
    let old = r#"{"node":"n1","run_id":"r","started_utc":"","tool_version":"0.1.0","kernel_set_version":1,"preset":"quick",
        "experiment":"check-up","metric":"latency/block=64/stride=64/page=4096","family":"memory latency","cpu":"0",
        "unit":"ns","higher_is_better":false,"n":40,"estimate":89.5,"quality":"converged","partial":false}"#;
    let row: MetricRow = serde_json::from_str(old).expect("a row");
    assert_eq!(key(&row), "latency/block=64/stride=64/page=4096 cpu 0");
    let labels = "block_bytes=64,stride_bytes=64".to_owned();
    let new = MetricRow { metric: "memory_latency_ns".to_owned(), labels, mem_node: Some(1), ..row };
    assert_eq!(key(&new), "memory_latency_ns{block_bytes=64,stride_bytes=64} cpu 0 node 1");
}

#[test]
fn a_node_of_schema_2_is_read_with_its_facts_and_of_later_columns_none_is_one() {
    let old = r#"{"node":"n1","run_id":"r","cpu_model":"Acme","family":25,"kernel":"6.1","started_utc":"","tool_version":"0.1.0",
        "kernel_set_version":1,"preset":"quick","experiment":"check-up","doubts":0,"metrics":3,"file":"a","later":[1]}"#;
    let row: NodeRow = serde_json::from_str(old).expect("a row");
    assert_eq!((row.fact("cpu_model"), row.fact("kernel"), row.metrics), (Some("Acme"), Some("6.1"), 3));
    assert_eq!(row.facts["family"], 25);
}

//! Machines of sockets that are simulated, with and without faults, and what `sidestep sockets explain` says of them.
//!
//! The documents that transcripts in `tests/cli` read are made here; `UPDATE_EXPECT=1` writes them again.

mod machine;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use machine::{Fault, Simulated};
use record::Sockets;
use serde_json::Value;

fn explained(sockets: &Sockets, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sidestep"));
    command.args(["sockets", "explain", "-"]).args(arguments);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let document = serde_json::to_vec(sockets).expect("JSON");
    child.stdin.take().expect("a pipe").write_all(&document).expect("it reads");
    child.wait_with_output().expect("it ends")
}

fn account(sockets: &Sockets) -> Value {
    let output = explained(sockets, &["--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn stored() -> Vec<(&'static str, Simulated)> {
    vec![
        ("sockets-blade", Simulated::blade()),
        ("sockets-one-node", Simulated::one_node()),
        ("sockets-flat", Simulated::flat()),
        ("sockets-probe-filter", Simulated::probe_filter()),
        ("sockets-missing-channel", Simulated::with_fault(Fault::Together(0.75))),
        ("sockets-noisy", Simulated::noisy()),
    ]
}

#[test]
fn the_documents_that_transcripts_read_are_those_that_are_simulated() {
    let folder: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cli/records");
    for (name, simulated) in stored() {
        let file = folder.join(name).with_extension("json");
        let text = serde_json::to_string(&simulated.sockets()).expect("JSON") + "\n";
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            std::fs::write(&file, text).expect("writable");
        } else {
            let have = std::fs::read_to_string(&file).expect("stored; UPDATE_EXPECT=1 writes it");
            assert_eq!(have, text, "{}: UPDATE_EXPECT=1 writes it again", file.display());
        }
    }
}

#[test]
fn the_blade_is_explained_by_links_and_lines_within_its_noise() {
    let found = account(&Simulated::blade().sockets());
    assert_eq!(found["graph"]["eccentricities"], serde_json::json!([2, 1, 1, 2]));
    assert!(found["triad"]["max_percent"].as_f64().is_some_and(|error| error < 1.0), "{found}");
    assert!(found["lines"].as_f64().is_some_and(|lines| (lines - 8.0).abs() < 0.1), "{found}");
}

#[test]
fn what_shows_no_links_is_given_none() {
    for simulated in [Simulated::one_node(), Simulated::flat()] {
        let found = account(&simulated.sockets());
        assert_eq!(found["graph"], Value::Null, "{found}");
        assert!(found["lines"].is_number());
        let strict = explained(&simulated.sockets(), &["--strict", "--quiet"]);
        assert_eq!((strict.status.code(), strict.stdout.len()), (Some(3), 0));
    }
}

/// Exit code and likely causes, with `--gate`.
fn gated(simulated: &Simulated, arguments: &[&str]) -> (Option<i32>, Vec<(u64, String)>) {
    let output = explained(&simulated.sockets(), &[&["--json", "--gate"], arguments].concat());
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let causes = document["gate"]["causes"].as_array().expect("a list").iter();
    let named = |cause: &Value| {
        (cause["cpu"].as_u64().expect("a CPU"), cause["kind"].as_str().expect("a kind").to_owned())
    };
    (output.status.code(), causes.map(named).collect())
}

#[test]
fn each_fault_is_gated_and_its_socket_named_with_the_cause() {
    for (fault, kind) in [
        (Fault::Together(0.75), "missing_channel"),
        (Fault::Together(0.5), "missing_channel"),
        (Fault::Clock(0.8), "throttling"),
        (Fault::Neighbour(0.4), "noisy_neighbour"),
        (Fault::TwoNodes, "node_mode"),
        (Fault::Bandwidth(0.8), "unknown"),
    ] {
        let found = gated(&Simulated::with_fault(fault), &[]);
        assert_eq!(found, (Some(1), vec![(8, kind.to_owned())]), "{fault:?}");
    }
    let hop = "snoop_hop".to_owned();
    assert_eq!(gated(&Simulated::blade(), &[]), (Some(1), vec![(0, hop.clone()), (12, hop)]));
}

#[test]
fn equals_and_noise_are_not_gated_and_noise_is_inconclusive() {
    for simulated in [Simulated::probe_filter(), Simulated::flat(), Simulated::one_node()] {
        assert_eq!(gated(&simulated, &[]), (Some(0), Vec::new()));
    }
    assert_eq!(gated(&Simulated::noisy(), &[]), (Some(0), Vec::new()));
    assert_eq!(gated(&Simulated::noisy(), &["--strict"]).0, Some(3));
    // Also where there is something to find.
    for fault in [Fault::Together(0.9), Fault::Bandwidth(0.9)] {
        let noisy = Simulated { fault: Some((2, fault)), ..Simulated::noisy() };
        assert_eq!(gated(&noisy, &[]), (Some(0), Vec::new()));
    }
}

#[test]
fn a_good_record_makes_the_wiring_expected_and_shows_what_all_sockets_share() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let stored = |name: &str, simulated: &Simulated| {
        let file = folder.path().join(name);
        std::fs::write(&file, serde_json::to_vec(&simulated.sockets()).expect("JSON")).expect("writable");
        file.into_os_string().into_string().expect("a name")
    };
    let blade = stored("blade.json", &Simulated::blade());
    assert_eq!(gated(&Simulated::blade(), &["--expect", &blade]), (Some(0), Vec::new()));
    // The filter is off on all sockets: against each other 1 and 2 look well, against the good machine none does.
    let filter = stored("filter.json", &Simulated::probe_filter());
    let (code, causes) = gated(&Simulated::blade(), &["--expect", &filter]);
    assert_eq!((code, causes.len()), (Some(1), 4), "{causes:?}");
    let noisy = stored("noisy.json", &Simulated::noisy());
    assert_eq!(gated(&Simulated::blade(), &["--expect", &noisy]).1, Vec::new());
    let missing = explained(&Simulated::blade().sockets(), &["--expect", "/nowhere"]);
    assert_eq!(missing.status.code(), Some(2));
}

/// The verdict of a gate against the record of another run, and how many sockets it names.
fn against(sockets: &Sockets, good: &Sockets) -> (String, usize) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("good.json");
    std::fs::write(&file, serde_json::to_vec(good).expect("JSON")).expect("writable");
    let output = explained(sockets, &["--json", "--expect", file.to_str().expect("a name")]);
    let gate = &serde_json::from_slice::<Value>(&output.stdout).expect("JSON")["gate"];
    let named = gate["causes"].as_array().expect("a list").len();
    (gate["verdict"].as_str().expect("a word").to_owned(), named)
}

#[test]
fn what_comes_and_goes_with_runs_of_a_guest_is_not_gated_against_another_run() {
    let good = Simulated::probe_filter().sockets();
    let guest = |sockets: &Sockets| Sockets { in_guest: true, ..sockets.clone() };
    for fault in [Fault::Bandwidth(0.7), Fault::Together(0.7)] {
        let bad = Simulated::with_fault(fault).sockets();
        assert_eq!(against(&bad, &good), ("outside".to_owned(), 1), "{fault:?}");
        assert_eq!(against(&guest(&bad), &guest(&good)), ("inconclusive".to_owned(), 0), "{fault:?}");
    }
    let mut slower = good.clone();
    for latency in slower.latency.iter_mut().filter(|latency| latency.cpu.0 == 8) {
        latency.ns *= 1.1;
        latency.spread.interval = latency.spread.interval.map(|end| end * 1.1);
    }
    assert_eq!(against(&slower, &good).1, 1);
    assert_eq!(against(&guest(&slower), &guest(&good)).1, 0);
}

#[test]
fn packages_of_which_one_cpu_each_was_measured_say_nothing_of_their_nodes() {
    let cut = Simulated::with_fault(Fault::TwoNodes).sockets();
    let mut one_each = cut.clone();
    one_each.subjects.truncate(4);
    one_each.nodes.push(record::SocketNode { node: ::machine::NodeId(4), ..cut.nodes[0].clone() });
    assert_eq!(against(&one_each, &cut), ("within".to_owned(), 0));
}

#[test]
fn documents_with_holes_and_nonsense_are_answered_or_refused_and_never_panic() {
    let whole = Simulated::blade().sockets();
    let mut cases =
        vec![Sockets { subjects: whole.subjects.clone(), schema: whole.schema, ..Sockets::default() }];
    for index in 0..whole.latency.len() {
        let mut holed = whole.clone();
        holed.latency.remove(index);
        cases.push(holed);
    }
    for value in [0.0, -1.0, 1e-300, 1e17] {
        let mut strange = whole.clone();
        strange.latency[3].ns = value;
        strange.latency[0].standard_error_ns = value;
        strange.bandwidth[0].bytes_per_s = value;
        cases.push(strange);
    }
    let mut nowhere = whole.clone();
    nowhere.subjects.iter_mut().for_each(|subject| subject.node = None);
    nowhere.links.push(record::SocketLinks {
        source: "SLIT".to_owned(),
        nodes: vec![0, 7],
        edges: vec![[0, 9], [3, 3]],
    });
    cases.push(nowhere);
    for case in cases {
        for form in [[].as_slice(), &["--json"]] {
            let output = explained(&case, form);
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let lines = String::from_utf8(output.stdout).expect("text");
            assert!(!form.is_empty() || lines.lines().all(|line| line.chars().count() <= 80), "{lines}");
        }
    }
    let nobody = explained(&Sockets { schema: whole.schema, ..Sockets::default() }, &[]);
    assert_eq!(nobody.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&nobody.stderr).contains("no CPU that was measured"));
}

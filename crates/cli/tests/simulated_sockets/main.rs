//! Machines of sockets that are simulated, with and without faults, and what `sidestep sockets explain` says of them.
//!
//! The documents that transcripts in `tests/cli` read are made here; `UPDATE_EXPECT=1` writes them again.

mod machine;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use machine::Simulated;
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

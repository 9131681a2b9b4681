//! Texts of lscpu, /proc/cpuinfo and vulnerability files.

use serde_json::Value;

use super::{Said, folder, sidestep};

/// What is said of one flaw in the reports of a file: by name or as the only one, whether affected and how protected.
type Verdicts = &'static [(&'static str, &'static str, &'static str)];

/// A case, its file, a flaw, and what is to be said.
const REPORTS: [(&str, &str, &str, Verdicts); 15] = [
    ("01-show-ignores-lscpu", "zen4.txt", "tsa", &[("", "yes", "not_protected")]),
    ("02-lscpu-wrapped", "wrapped.txt", "l1tf", &[("", "yes", "partly")]),
    ("02-lscpu-wrapped", "wrapped.txt", "ssb", &[("", "yes", "on_request")]),
    ("03-lscpu-drops-colons", "tsa-lscpu.txt", "tsa", &[("", "yes", "partly")]),
    ("04-bhi-syscall-hardening", "bhi-lscpu.txt", "spectre-bhi", &[("", "yes", "not_protected")]),
    ("05-lscpu-prefixed", "markdown-list.txt", "tsa", &[("", "yes", "not_protected")]),
    (
        "06-lscpu-two-reports",
        "two-hosts.txt",
        "tsa",
        &[("two-hosts.txt#1", "yes", "not_protected"), ("two-hosts.txt#2", "no", "not_affected")],
    ),
    (
        "06-lscpu-two-reports",
        "two-hosts.txt",
        "mds",
        &[("two-hosts.txt#1", "no", "not_affected"), ("two-hosts.txt#2", "yes", "not_protected")],
    ),
    ("07-cpuinfo-as-report", "cpuinfo.txt", "tsa", &[("", "yes", "unknown")]),
    ("07-cpuinfo-as-report", "cpuinfo.txt", "mds", &[("", "no", "not_affected")]),
    ("08-arm-lscpu", "gb10.txt", "arm-3194386", &[("", "yes", "unknown")]),
    ("29-formats", "lscpu-J.json", "tsa", &[("", "yes", "not_protected")]),
    ("29-formats", "grep-vulnerabilities.txt", "tsa", &[("", "yes", "not_protected")]),
    ("29-formats", "grep-vulnerabilities.txt", "mds", &[("", "no", "not_affected")]),
    // Without a CPU nothing else is excluded.
    ("29-formats", "grep-vulnerabilities.txt", "amd-298", &[("", "unknown", "unknown")]),
];

fn document(said: &Said) -> Value {
    assert_eq!(said.status, 0, "{}", said.stderr);
    serde_json::from_str(&said.stdout).expect("JSON")
}

#[test]
fn what_is_pasted_is_judged() {
    for (case, file, flaw, expected) in REPORTS {
        let Some(folder) = folder(case) else { continue };
        let document = document(&sidestep(&folder, &format!("flaws show {flaw} --lscpu {file} --json")));
        let reports = match document["named"].as_array() {
            Some(reports) => reports.clone(),
            None => vec![serde_json::json!({ "name": "", "verdict": document["verdict"] })],
        };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let found: Vec<_> = reports
            .iter()
            .map(|one| {
                let verdict = &one["verdict"];
                (text(&one["name"]), text(&verdict["affected"]), text(&verdict["protected"]))
            })
            .collect();
        let found: Vec<_> = found.iter().map(|(a, b, c)| (a.as_str(), b.as_str(), c.as_str())).collect();
        assert_eq!(found, expected, "{case}, {file}, {flaw}");
    }
}

#[test]
fn a_recorded_folder_and_lscpu_agree_and_wraps_change_nothing() {
    for (case, one, other, flaw) in [
        ("02-lscpu-wrapped", "--lscpu wrapped.txt", "--lscpu same-unwrapped.txt", None),
        ("03-lscpu-drops-colons", "--lscpu tsa-lscpu.txt", "--sysroot tsa-sysfs.tar.gz", Some("tsa")),
        (
            "04-bhi-syscall-hardening",
            "--lscpu bhi-lscpu.txt",
            "--sysroot bhi-sysfs.tar.gz",
            Some("spectre-bhi"),
        ),
    ] {
        let Some(folder) = folder(case) else { continue };
        let show = flaw.map(|flaw| format!("show {flaw}")).unwrap_or_default();
        let [one, other] =
            [one, other].map(|source| document(&sidestep(&folder, &format!("flaws {show} --json {source}"))));
        if flaw.is_some() {
            for field in ["affected", "protected", "workaround"] {
                assert_eq!(one["verdict"][field], other["verdict"][field], "{case}, {field}");
            }
        } else {
            assert_eq!(one["population"], other["population"], "{case}");
            assert_eq!(one["by_signature"], other["by_signature"], "{case}");
        }
    }
}

#[test]
fn the_gate_sees_what_is_pasted_and_a_missing_file_is_an_error() {
    for (case, arguments, status, stderr) in [
        ("05-lscpu-prefixed", "flaws --gate --lscpu markdown-list.txt", 1, ""),
        ("06-lscpu-two-reports", "flaws --gate --lscpu two-hosts.txt", 1, ""),
        ("29-formats", "flaws --gate --lscpu grep-vulnerabilities.txt", 1, ""),
        ("01-show-ignores-lscpu", "flaws show tsa --lscpu missing.txt", 2, "missing.txt"),
        ("01-show-ignores-lscpu", "flaws --lscpu missing.txt", 2, "missing.txt"),
    ] {
        let Some(folder) = folder(case) else { continue };
        let said = sidestep(&folder, arguments);
        assert_eq!(said.status, status, "{arguments}: {}", said.stderr);
        assert!(said.stderr.contains(stderr), "{arguments}: {}", said.stderr);
    }
}

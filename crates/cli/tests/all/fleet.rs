//! `sidestep fleet` as a program, the scripts that it prints for others, and the SQL that its documentation shows.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Rows of 24 made-up nodes: r1s3 is slow, r3s4 was busy, r2s1 has a mitigation off.
const ROWS: &str = "tests/cli/fleet";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn sidestep(words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sidestep"));
    command.args(words.split_whitespace()).current_dir(root());
    command
}

fn done(words: &str) -> Output {
    sidestep(words).output().expect("it starts")
}

/// A folder with programs of these names, which are scripts.
fn programs(scripts: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, script) in scripts {
        let file = folder.path().join(name);
        fs::write(&file, format!("#!/bin/sh\n{script}\n")).expect("room");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("ours");
    }
    folder
}

#[test]
fn a_check_answers_gates_and_names_what_it_found() {
    let output = done(&format!("fleet check {ROWS} --inventory {ROWS}/inventory.csv --gate"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.starts_with("1 suspect of 24 nodes, first r1s3 (+"), "{text}");
    for part in ["r3s4            40 %", "flaw mds  off, not_protected", "r1s2, r1s4"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let few = done(&format!("fleet check {ROWS} --inventory {ROWS}/metrics.ndjson"));
    assert_eq!(few.status.code(), Some(2));
}

#[test]
fn hostile_names_are_text_in_every_form() {
    let folder = tempfile::tempdir().expect("a folder");
    let name = r"'; drop table run; --<script>alert(1)</script>\u0007";
    for file in ["metrics.ndjson", "nodes.ndjson", "states.ndjson"] {
        let rows = fs::read_to_string(root().join(ROWS).join(file)).expect("rows");
        fs::write(folder.path().join(file), rows.replace("\"r1s3\"", &format!("\"{name}\""))).expect("room");
    }
    let (page, rows) = (folder.path().join("page.html"), folder.path().display().to_string());
    let output = done(&format!("fleet check {rows} --html {}", page.display()));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.starts_with("1 suspect of 24 nodes") && !text.contains('\u{7}'), "{text}");
    let html = fs::read_to_string(&page).expect("a page");
    assert!(!html.contains("<script>alert") && html.contains("&lt;script&gt;alert"));
    let check = folder.path().join("check.json");
    fs::write(&check, done(&format!("fleet check {rows} --json")).stdout).expect("room");
    let confirm = done(&format!("fleet confirm {} --drop drop", check.display()));
    let said = String::from_utf8_lossy(&confirm.stderr).into_owned();
    assert_eq!(confirm.status.code(), Some(2));
    assert!(said.contains("is no name that Slurm takes") && said.lines().count() == 1, "{said}");
}

#[test]
fn the_jobs_of_a_confirmation_run_under_sh() {
    let fakes = [
        ("sbatch", "exec sh"),
        ("srun", "while [ \"${1#--}\" != \"$1\" ]; do shift; done; exec \"$@\""),
        ("sidestep", "echo \"$@\""),
    ];
    let (folder, check) = (programs(&fakes), root().join("tests/cli/fleet/check.json"));
    let output = done(&format!("fleet confirm {} --drop /drop", check.display()));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let script = folder.path().join("confirm.sh");
    fs::write(&script, output.stdout).expect("room");
    let path = format!("{}:/usr/bin:/bin", folder.path().display());
    let ran = Command::new("sh").arg(&script).env("PATH", path).output().expect("every Linux has sh");
    let lines = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert_eq!(lines.lines().count(), 15, "{lines}{}", String::from_utf8_lossy(&ran.stderr));
    let of = |arm: &str| lines.lines().filter(|line| line.ends_with(arm)).count();
    assert_eq!((of("--arm suspect"), of("--arm healthy")), (5, 10), "{lines}");
    assert!(
        lines.starts_with("run --quick --drop /drop --experiment confirm-20261126T040000Z-n0"),
        "{lines}"
    );
}

#[test]
fn the_same_records_give_the_same_answer_as_rows_and_as_they_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let rows = folder.path().join("rows");
    let written = done(&format!("fleet rows {ROWS}/drop -o {}", rows.display()));
    assert!(written.status.success(), "{}", String::from_utf8_lossy(&written.stderr));
    let [from_rows, from_records] = [rows.display().to_string(), format!("{ROWS}/drop")]
        .map(|from| done(&format!("fleet check {from} --json")));
    assert!(from_rows.status.success() && from_rows.stdout == from_records.stdout);
    let said = String::from_utf8_lossy(&from_records.stderr).into_owned();
    assert!(said.contains("6 files gave no rows") && from_rows.stderr.is_empty(), "{said}");
}

#[test]
fn the_sql_of_the_documentation_runs_on_rows() {
    if Command::new("duckdb").arg("--version").output().is_err() {
        println!("skipped: no duckdb in PATH; pip install duckdb-cli");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let rows = root().join(ROWS).canonicalize().expect("committed");
    std::os::unix::fs::symlink(rows, folder.path().join("rows")).expect("room");
    let text = fs::read_to_string(root().join("docs/fleet-rows.md")).expect("documentation");
    let scripts: Vec<&str> =
        text.split("```sql\n").skip(1).filter_map(|part| Some(part.split_once("```")?.0)).collect();
    assert!(scripts.len() >= 3, "{scripts:?}");
    for script in scripts {
        let ran = Command::new("duckdb")
            .args(["-bail", "-init", "", ":memory:", "-c", script])
            .current_dir(folder.path())
            .output()
            .expect("it starts");
        assert!(ran.status.success(), "{script}{}", String::from_utf8_lossy(&ran.stderr));
    }
    assert!(folder.path().join("metrics.parquet").is_file());
}

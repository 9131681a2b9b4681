//! `sidestep fleet` as a program: with DuckDB, without it, and the scripts that it prints for others.

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

fn has_duckdb() -> bool {
    let is_there = Command::new("duckdb").arg("--version").output().is_ok();
    if !is_there {
        println!("skipped: no duckdb in PATH; pip install duckdb-cli");
    }
    is_there
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
fn a_missing_old_or_foreign_duckdb_is_one_line_with_what_to_install() {
    for (scripts, part) in [
        (&[][..], "it is not in PATH"),
        (&[("duckdb", "echo v0.10.2 20b1486d11")][..], "DuckDB 0.10.2 is too old, 1.4.4 is needed"),
        (&[("duckdb", "echo quack")][..], "duckdb --version says \"quack\""),
    ] {
        let folder = programs(scripts);
        let output =
            sidestep(&format!("fleet check {ROWS}")).env("PATH", folder.path()).output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(part) && said.contains("pip install duckdb-cli"), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

#[test]
fn what_duckdb_says_is_repeated_and_what_is_no_table_is_named() {
    let version = "[ \"$1\" = --version ] && { echo v1.5.6; exit; }\n";
    for (rest, part) in [
        ("echo 'Binder Error: no such thing' >&2; exit 1", "DuckDB: Binder Error: no such thing"),
        ("echo :strata; echo quack; cat >/dev/null", "DuckDB printed \"quack\" in table strata"),
        ("cat >/dev/null", "DuckDB stopped in table before the first"),
    ] {
        let folder = programs(&[("duckdb", &format!("PATH=/usr/bin:/bin\n{version}{rest}"))]);
        let output =
            sidestep(&format!("fleet check {ROWS}")).env("PATH", folder.path()).output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn a_check_answers_gates_and_names_what_it_found() {
    if !has_duckdb() {
        return;
    }
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
    if !has_duckdb() {
        return;
    }
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
    let confirm = done(&format!("fleet confirm {} --engine slurm --drop drop", check.display()));
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
    let output = done(&format!("fleet confirm {} --engine slurm --drop /drop", check.display()));
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

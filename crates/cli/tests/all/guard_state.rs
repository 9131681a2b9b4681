//! What a guard says of a baseline that is lost, foreign, or of another machine: one line each. Nothing is measured.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::PathBuf;
use std::process::Command;

/// The user `nobody` of every distribution.
const OTHER: u32 = 65_534;

struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    /// Records of one machine and of another, and no baseline.
    fn new() -> Self {
        let bench = Self { folder: tempfile::tempdir().expect("a temporary folder") };
        for (name, cpu) in [("one", "Made Up"), ("other", "Made Up 2")] {
            let mut record = record::Record { schema: record::SCHEMA, ..record::Record::default() };
            "2026-01-01T00:00:00Z".clone_into(&mut record.provenance.started_utc);
            record.machine.identity.name = Some(cpu.to_owned());
            let bytes = record::encode(&record, record::Encoding::Json).expect("encodable");
            fs::write(bench.path(&format!("{name}.json")), bytes).expect("a file");
        }
        bench
    }

    fn with_baseline() -> Self {
        let bench = Self::new();
        assert_eq!(bench.shell("\"$0\" guard init --state state --records one.json one.json").0, Some(0));
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs a line of shell in which `$0` is sidestep: the exit code, and what it said.
    fn shell(&self, line: &str) -> (Option<i32>, String) {
        let mut shell = Command::new("sh");
        shell.args(["-c", line, env!("CARGO_BIN_EXE_sidestep")]).current_dir(self.folder.path());
        let output = shell.env("COLUMNS", "100").output().expect("every Linux has sh");
        let said = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8_lossy(&said).into_owned())
    }

    /// A check must end so, and with one line that begins so.
    fn refuses(&self, line: &str, code: i32, said: &str) {
        let found = self.shell(line);
        let is_one_line = found.1.trim_end().lines().count() == 1;
        assert!(found.0 == Some(code) && found.1.contains(said) && is_one_line, "{line}: {found:?}");
    }
}

const CHECK: &str = "\"$0\" guard check --state state --records one.json";

#[test]
fn a_baseline_of_records_judges_a_record_of_the_same_machine_and_of_another() {
    let bench = Bench::with_baseline();
    let same = bench.shell(CHECK);
    assert!(same.0 == Some(0) && same.1.starts_with("cannot tell: the baseline has 2 runs"), "{same:?}");
    let other = bench.shell("\"$0\" guard check --gate --state state --records other.json");
    let expected = "changed: another machine than that of the baseline: CPU from Made Up ";
    assert!(other.0 == Some(1) && other.1.starts_with(expected), "{other:?}");
    assert!(!bench.path("state/checks.json").exists(), "a replay is not remembered");
}

#[test]
fn a_guard_without_a_whole_baseline_says_so_in_one_line() {
    let none = Bench::new();
    none.refuses(CHECK, 2, "no baseline of this machine; take one with sidestep guard init");
    let bench = Bench::with_baseline();
    let file = bench.path("state/baseline.json");
    let whole = fs::read_to_string(&file).expect("a baseline");
    for (text, said) in [
        (
            &whole[..whole.len() / 2],
            "cannot read state/baseline.json; remove it, and take a baseline with sidestep guard init",
        ),
        ("", "remove it, and take a baseline with sidestep guard init"),
        ("{}", "no baseline of this machine"),
        (
            &whole.replacen("\"schema\":1", "\"schema\":99", 1),
            "the baseline has schema 99, and this sidestep reads 1",
        ),
    ] {
        fs::write(&file, text).expect("writable");
        bench.refuses(CHECK, 2, said);
    }
    fs::remove_file(&file).expect("removable");
    symlink("/etc/hostname", &file).expect("a link");
    bench.refuses(CHECK, 2, "is a symbolic link, which is not followed");
}

#[test]
fn a_disk_without_room_ends_with_three_and_the_baseline_before_stays() {
    let bench = Bench::with_baseline();
    let file = bench.path("state/baseline.json");
    let before = fs::read(&file).expect("a baseline");
    let many = "one.json ".repeat(40);
    let line = format!("ulimit -f 1; \"$0\" guard init --state state --records {many}");
    bench.refuses(&line, 3, "cannot use state: ");
    assert_eq!(fs::read(&file).expect("the same"), before);
}

#[test]
fn a_folder_of_another_user_is_refused() {
    let bench = Bench::with_baseline();
    fs::set_permissions(bench.path("state"), Permissions::from_mode(0o777)).expect("ours");
    bench.refuses(CHECK, 2, "other users may write to ");
    if !host::live::effective_root() {
        println!("skipped: a folder of another user needs root");
        return;
    }
    fs::set_permissions(bench.path("state"), Permissions::from_mode(0o700)).expect("ours");
    chown(bench.path("state"), Some(OTHER), Some(OTHER)).expect("root gives it away");
    bench.refuses(CHECK, 2, "belongs to user 65534, not to you or root");
    bench.refuses("\"$0\" history --state state", 2, "belongs to user 65534, not to you or root");
}

//! A result that could not be written is never exit code 0, and no half of it stays behind.

use std::path::PathBuf;
use std::process::Command;

fn recording() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/machines/synthetic-script-name")
}

/// Runs a line of shell in which `$0` is sidestep and `$1` a recorded machine; the exit code, and what stderr holds.
fn shell(folder: &tempfile::TempDir, line: &str) -> (Option<i32>, String) {
    let mut shell = Command::new("sh");
    shell.args(["-c", line, env!("CARGO_BIN_EXE_sidestep")]).arg(recording()).current_dir(folder.path());
    let output = shell.output().expect("every Linux has sh");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn output_that_is_lost_ends_with_three_and_a_word() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (line, expected, said) in [
        ("\"$0\" machine --sysroot \"$1\" >&-", 3, "cannot write to stdout"),
        ("\"$0\" machine --sysroot \"$1\" --json >&-", 3, "cannot write to stdout"),
        ("\"$0\" machine --sysroot \"$1\" 1</dev/null", 3, "cannot write to stdout"),
        ("\"$0\" machine --sysroot \"$1\" >/dev/full", 3, "cannot write to stdout"),
        ("\"$0\" --help >&-", 3, "cannot write to stdout"),
        ("\"$0\" --version 1</dev/null", 3, "cannot write to stdout"),
        ("ulimit -f 1; \"$0\" machine --sysroot \"$1\" --json >out", 3, "cannot write to stdout"),
        // Who wants no output loses none, and a reader that has enough is no error.
        ("\"$0\" machine --sysroot \"$1\" --quiet >&-", 0, ""),
        ("\"$0\" machine --sysroot \"$1\" >/dev/null", 0, ""),
        ("\"$0\" machine --sysroot \"$1\" 1<>/dev/null", 0, ""),
        ("\"$0\" machine --sysroot \"$1\" 2>&-", 0, ""),
    ] {
        let (code, stderr) = shell(&folder, line);
        assert!(code == Some(expected) && stderr.contains(said), "{line}: {code:?} {stderr}");
    }
}

#[test]
fn a_limit_of_file_sizes_ends_with_three_and_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (code, stderr) = shell(&folder, "ulimit -f 1; \"$0\" machine --save machine.tar.gz");
    assert!(code == Some(3) && stderr.contains("cannot write machine.tar.gz"), "{code:?} {stderr}");
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0);
}

//! `sidestep place --pid` on programs that run: windows in turns, and what is told of them.

use std::process::{Child, Command, Output, Stdio};

/// A shell with two loops, in a group of its own.
struct Loops(Child);

impl Loops {
    fn start() -> Self {
        use std::os::unix::process::CommandExt;
        let mut shell = Command::new("sh");
        shell.args(["-c", "while :; do :; done & while :; do :; done & wait"]);
        shell.stdin(Stdio::null()).process_group(0);
        Self(shell.spawn().expect("every Linux has sh"))
    }
}

impl Drop for Loops {
    fn drop(&mut self) {
        let group = format!("-{}", self.0.id());
        let _ = Command::new("kill").args(["-9", "--", &group]).status();
        let _ = self.0.wait();
    }
}

/// What `place --pid` says of two loops, and its code.
fn place(options: &[&str]) -> (Option<i32>, String) {
    let loops = Loops::start();
    let state = tempfile::tempdir().expect("a temporary folder");
    let mut sidestep = Command::new(env!("CARGO_BIN_EXE_sidestep"));
    sidestep.args(["place", "--seed", "1", "--pid", &loops.0.id().to_string(), "--state"]).arg(state.path());
    let output = sidestep.args(options).stdin(Stdio::null()).output();
    let Output { status, stdout, stderr } = output.expect("sidestep can be started");
    assert!(!state.path().join("journal.json").exists(), "everybody is free");
    let said = String::from_utf8([stdout, stderr].concat()).expect("text");
    (status.code(), said.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn has_one_cpu(test: &str) -> bool {
    let is_one = std::thread::available_parallelism().map_or(1, usize::from) < 2;
    if is_one {
        println!("skipped {test}: one CPU leaves nothing to place");
    }
    is_one
}

#[test]
fn windows_in_turns_that_can_show_nothing_are_told_which_budget_could() {
    if has_one_cpu("windows_in_turns_that_can_show_nothing_are_told_which_budget_could") {
        return;
    }
    let window = ["--profile", "0.5s", "--window", "20ms", "--metric-command", "date +%s%N"];
    let (code, said) = place(&[&window[..], &["--budget", "1s"]].concat());
    assert!(code == Some(0) && said.contains("give --budget"), "{said}");
    let (code, said) = place(&[&window[..], &["--runs", "2"]].concat());
    assert!(
        code == Some(0) && said.contains("windows of 0.02 s") && !said.contains("give --budget"),
        "{said}"
    );
}

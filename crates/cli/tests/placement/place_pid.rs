//! `sidestep place --pid` on programs that run: windows in turns, and what is said of them.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use crate::processes::{children, wait_for};

/// A shell in a group of its own.
struct Shell(Child);

impl Shell {
    fn start(script: &str) -> Self {
        use std::os::unix::process::CommandExt;
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).stdin(Stdio::piped()).process_group(0);
        Self(shell.spawn().expect("every Linux has sh"))
    }

    fn two_loops() -> Self {
        Self::start("while :; do :; done & while :; do :; done & wait")
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let group = format!("-{}", self.0.id());
        let _ = Command::new("kill").args(["-9", "--", &group]).status();
        let _ = self.0.wait();
    }
}

/// `place --pid` on a process, with a folder for its journal.
fn command(process: &Shell, state: &Path, options: &[&str]) -> Command {
    let mut sidestep = Command::new(env!("CARGO_BIN_EXE_sidestep"));
    sidestep.args(["place", "--seed", "1", "--pid", &process.0.id().to_string(), "--state"]).arg(state);
    sidestep.args(options).stdin(Stdio::null());
    sidestep
}

/// What `place --pid` says of two loops, and its code.
fn place(options: &[&str]) -> (Option<i32>, String) {
    place_them(&Shell::two_loops(), options)
}

fn place_them(loops: &Shell, options: &[&str]) -> (Option<i32>, String) {
    let state = tempfile::tempdir().expect("a temporary folder");
    let output = command(loops, state.path(), options).output();
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
fn windows_in_turns_that_can_show_nothing_are_reported_which_budget_could() {
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

#[test]
fn a_process_that_sidestep_runs_below_is_refused() {
    let state = tempfile::tempdir().expect("a temporary folder");
    let script = r#""$0" place --pid $$ --state "$1"; echo code $?"#;
    let mut shell = Command::new("sh");
    shell.args(["-c", script, env!("CARGO_BIN_EXE_sidestep")]).arg(state.path()).stdin(Stdio::null());
    let Output { stdout, stderr, .. } = shell.output().expect("every Linux has sh");
    let said = String::from_utf8([stdout, stderr].concat()).expect("text");
    assert!(said.contains("code 2") && said.contains("sidestep itself runs below that process"), "{said}");
}

#[test]
fn a_process_that_ends_while_it_is_watched_is_reported() {
    let shell = Shell::start("sleep 1");
    let state = tempfile::tempdir().expect("a temporary folder");
    let output = command(&shell, state.path(), &["--profile", "60s"]).output().expect("it can be started");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("ended while it was watched"), "{said}");
}

#[test]
fn a_command_that_tells_no_progress_is_refused_before_anything_is_watched() {
    for (command, why) in [
        ("echo none", "printed no number"),
        ("exit 3", "ended with exit code 3"),
        ("sleep 600", "took longer than 2.0 s"),
    ] {
        let options = ["--profile", "0.2s", "--window", "20ms", "--metric-command", command];
        let (code, said) = place(&options);
        let is_refused = code == Some(3) && said.contains(why);
        assert!(is_refused || said.contains("keep the kernel's placement: "), "{options:?}: {code:?} {said}");
    }
}

/// Prints a number that rises a thousand times as fast while the process may use several CPUs; it remembers that in a file.
const HATES_PINS: &str = r"
now=$(date +%s%N); cpus=$(sed -n 's/^Cpus_allowed_list:[^0-9]*//p' /proc/$PROCESS/status)
case $cpus in *[!0-9]*) rate=1000;; *) rate=1;; esac
{ read last count < $COUNT; } 2>/dev/null || { last=$now; count=0; }
count=$((count + (now - last) / 1000 * rate)); echo $now $count > $COUNT; echo $count
";

#[test]
fn a_placement_that_hurts_is_left_out_after_three_windows_unless_the_user_wants_to_go_on() {
    if has_one_cpu("a_placement_that_hurts_is_left_out_after_three_windows_unless_the_user_wants_to_go_on") {
        return;
    }
    let loops = Shell::two_loops();
    wait_for("two loops", || (children(loops.0.id()).len() == 2).then_some(()));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let process = children(loops.0.id())[0];
    let variables = format!("PROCESS={process}; COUNT={}", folder.path().join("count").display());
    let progress = format!("{variables}; {HATES_PINS}");
    let options = ["--profile", "0.5s", "--window", "0.1s", "--runs", "2", "--metric-command", &progress];
    let (code, said) = place_them(&loops, &options);
    for expected in
        ["spread was left out: under it 0 % got done", "each placement that was tried gets far less"]
    {
        assert!(code == Some(0) && said.contains(expected), "{expected}: {code:?} {said}");
    }
    let (code, said) = place_them(&loops, &[&options[..], &["--keep-slow"]].concat());
    assert!(code == Some(0) && said.contains("spread") && !said.contains("left out"), "{code:?} {said}");
}

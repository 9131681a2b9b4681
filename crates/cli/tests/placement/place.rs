//! `sidestep place` on commands that do nothing, fail, fork, choose their own CPUs, and when it is killed while pins are set.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use crate::processes::{children, wait_for};

/// Two loops at once, for a fraction of a second.
const TWO_LOOPS: &str = "loop() { i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; }; loop & loop & wait";

/// Two loops at once, for as long on any machine.
const TWO_TIMED: &str =
    "loop() { while :; do :; done; }; loop & a=$!; loop & b=$!; sleep 0.4; kill $a $b; wait; true";

/// Many loops, two at a time, each over after a small part of the time.
const SHORT_LOOPS: &str = "loop() { i=0; while [ $i -lt 10000 ]; do i=$((i+1)); done; }; n=0; while [ $n -lt 60 ]; do loop & loop & wait; n=$((n+1)); done";

struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a temporary folder") }
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    fn command(&self, options: &[&str], command: &[&str]) -> Command {
        let mut sidestep = Command::new(env!("CARGO_BIN_EXE_sidestep"));
        sidestep
            .args(["place", "--seed", "1", "--state"])
            .arg(self.state())
            .args(options)
            .arg("--")
            .args(command);
        sidestep.stdin(Stdio::null());
        sidestep
    }

    fn place(&self, options: &[&str], command: &[&str]) -> (Option<i32>, String) {
        let Output { status, stdout, stderr } =
            self.command(options, command).output().expect("sidestep can be started");
        (status.code(), String::from_utf8([stdout, stderr].concat()).expect("text"))
    }

    fn has_journal(&self) -> bool {
        self.state().join("journal.json").exists()
    }
}

fn cpus_here() -> usize {
    std::thread::available_parallelism().map_or(1, Into::into)
}

#[test]
fn what_cannot_be_placed_is_left_to_the_kernel_and_bad_input_is_named() {
    let bench = Bench::new();
    let rows: [(&[&str], &[&str], i32, &str); 15] = [
        (&["--metric-command", "x"], &["true"], 2, "'--metric-command <COMMAND>' cannot be used with"),
        (&["--window", "2s"], &["true"], 2, "'--window <TIME>' cannot be used with"),
        (&["--profile", "2s"], &["true"], 2, "'--profile <TIME>' cannot be used with"),
        (&[], &["true"], 0, "is too little to place its threads"),
        (&["--strict"], &["true"], 3, "is too little to place its threads"),
        // Or nothing was busy, where looks come late.
        (&[], &["sleep", "0.3"], 0, "keep the kernel's placement: "),
        // Where looks come late the loops seem to last; then they are tried, in too few runs to show anything.
        (&["--budget", "5s"], &["sh", "-c", SHORT_LOOPS], 0, "keep the kernel's placement"),
        (&[], &["sh", "-c", "sleep 2 & sleep 0.1"], 0, "sidestep place --pid PID"),
        (&[], &["sh", "-c", "sleep 5 &"], 0, "went on in the background, as process"),
        // Too long for the budget, or one CPU only.
        (&["--budget", "2s"], &["sh", "-c", TWO_TIMED], 0, "keep the kernel's placement: "),
        (&[], &["/no/such/program"], 2, "/no/such/program"),
        (
            &[],
            &["sh", "-c", "echo no input >&2; exit 7"],
            3,
            "exit code 7; correct it, or add --ignore-failure",
        ),
        (&["--metric", "("], &["true"], 2, "no regular expression"),
        (&["--timeout", "1s"], &["sleep", "600"], 3, "took longer than --timeout"),
        (&["--budget", "1s"], &["sleep", "600"], 3, "took longer than --budget for a single run"),
    ];
    for (options, command, code, expected) in rows {
        let (found, said) = bench.place(options, command);
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(found == Some(code) && said.contains(expected), "{command:?}: {found:?} {said}");
        assert!(!bench.has_journal(), "{command:?}");
    }
}

#[test]
fn the_program_gets_exactly_the_words_behind_the_two_dashes() {
    let words = ["--gate", "5%", "--gate=5%", "--json", "--strict", "-q", "--", "--help", "", "a b"];
    let folder = tempfile::tempdir().expect("a temporary folder");
    let seen = folder.path().join("seen");
    let script = format!("printf '%s|' \"$@\" > {}", seen.display());
    let program = [&["sh", "-c", &script, "sh"], &words[..]].concat();
    let bench = Bench::new();
    let (code, said) = bench.place(&[], &program);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(fs::read_to_string(&seen).expect("it ran"), words.join("|") + "|");
    fs::remove_file(&seen).expect("it is there");
    let mut ab = Command::new(env!("CARGO_BIN_EXE_sidestep"));
    ab.args(["ab", "--toggle", "timer-slack", "--budget", "1s", "--"]).args(&program);
    let said = ab.output().expect("sidestep can be started");
    assert_eq!(fs::read_to_string(&seen).ok(), Some(words.join("|") + "|"), "{said:?}");
}

#[test]
fn a_program_whose_processes_fork_is_tried_in_turns_and_the_document_is_whole() {
    if cpus_here() < 2 {
        println!("skipped: one CPU leaves nothing to place");
        return;
    }
    let bench = Bench::new();
    let record = bench.folder.path().join("record");
    let record_text = record.to_str().expect("text");
    let options = ["--runs", "2", "--json", "--record", record_text];
    let (code, said) = bench.place(&options, &["sh", "-c", TWO_LOOPS]);
    assert_eq!(code, Some(0), "{said}");
    let document = fs::read_to_string(record.join("place.json")).expect("it was written");
    // Where the shell that waits is busy enough to count the best of three is the same as spread, and has that name.
    for expected in ["\"name\": \"os\"", ": \"spread\"", "\"raw\": [", "\"recommended\": null"] {
        assert!(document.contains(expected), "{expected}: {document}");
    }
    assert!(said.contains("\"sentence\":\"keep the kernel's placement: "), "two runs show nothing: {said}");
    assert!(!bench.has_journal());
    let (code, said) = bench.place(&options, &["true"]);
    assert!(code == Some(2) && said.contains("already holds place.json"), "{said}");
}

#[test]
fn a_result_that_does_not_fit_on_the_disk_is_printed_all_the_same() {
    let bench = Bench::new();
    let at = |name: &str| bench.folder.path().join(name).to_str().expect("text").to_owned();
    let (code, said) = bench.place(&["--html", &at("no/folder.html")], &["true"]);
    assert!(code == Some(2) && said.contains("choose another place") && !said.contains("leave it"), "{said}");
    for options in [["--html", &at("page.html")], ["--record", &at("record")]] {
        let whole = bench.command(&options, &["true"]);
        // A file of more than 512 bytes is refused, as on a full disk; the signal that would end the process is ignored.
        let mut shell = Command::new("sh");
        shell.args(["-c", "trap '' XFSZ; ulimit -f 1; exec \"$0\" \"$@\""]);
        let output =
            shell.arg(whole.get_program()).args(whole.get_args()).output().expect("every Linux has sh");
        let said = String::from_utf8([output.stdout, output.stderr].concat()).expect("text");
        assert_eq!(output.status.code(), Some(3), "{said}");
        for expected in ["keep the kernel's placement", "the result is printed, but cannot write"] {
            assert!(said.contains(expected), "{said}");
        }
    }
    assert!(!bench.folder.path().join("page.html").exists(), "the file that was tried is gone");
}

/// The first of the CPUs here, where taskset can keep a program on it and off another.
fn first_cpu_for_taskset() -> Option<String> {
    let has_taskset = Command::new("taskset").arg("--version").stdout(Stdio::null()).status().is_ok();
    let cpus = cpus_of(std::process::id()).filter(|_| has_taskset && cpus_here() >= 2)?;
    Some(cpus.chars().take_while(char::is_ascii_digit).collect())
}

#[test]
fn a_program_that_chooses_its_own_cpu_is_left_alone_and_that_is_reported() {
    let Some(first) = first_cpu_for_taskset() else {
        println!("skipped: needs two CPUs and taskset");
        return;
    };
    let bench = Bench::new();
    let script = format!("taskset -c {first} sh -c '{TWO_LOOPS}' & sleep 0.2; wait");
    let (code, said) = bench.place(&["--runs", "2"], &["sh", "-c", &script]);
    assert!(code == Some(0) && said.contains("left alone"), "{said}");
    let each = format!("taskset -c {first} sh -c 'while :; do :; done' & ");
    let script = format!("{each}{each}sleep 0.5; kill $(jobs -p) 2>/dev/null; wait; true");
    let (code, said) = bench.place(&[], &["bash", "-c", &script]);
    // The shell itself may be seen busy while it starts them.
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let is_reported = words.contains("all of its threads that are busy") && words.contains("CPUs themselves");
    assert!(code == Some(0) && is_reported && !said.contains("spread"), "{said}");
    let only_one = ["-c", &first, env!("CARGO_BIN_EXE_sidestep"), "place", "--state"];
    let output = Command::new("taskset")
        .args(only_one)
        .arg(bench.state())
        .args(["--", "sh", "-c", TWO_LOOPS])
        .output();
    let said = String::from_utf8(output.expect("taskset is there").stdout).expect("text");
    assert!(said.contains("is the only one that it may use"), "{said}");
}

#[test]
fn nothing_is_placed_outside_of_the_cpus_that_the_program_was_given() {
    let Some(first) = first_cpu_for_taskset() else {
        println!("skipped: needs two CPUs and taskset");
        return;
    };
    let bench = Bench::new();
    let only_one = format!("CPU {first} is the only one that it may use");
    let (code, said) = bench.place(&[], &["taskset", "-c", &first, "sh", "-c", TWO_LOOPS]);
    assert!(code == Some(0) && said.contains(&only_one), "{said}");
    let loops = Loops::start();
    for process in loops.all() {
        let mut taskset = Command::new("taskset");
        taskset.args(["-cp", &first, &process.to_string()]).stdout(Stdio::null());
        assert!(taskset.status().expect("taskset is there").success());
    }
    let mut sidestep = Command::new(env!("CARGO_BIN_EXE_sidestep"));
    sidestep.args(["place", "--pid", &loops.0.id().to_string(), "--profile", "0.2s", "--state"]);
    let Output { status, stdout, .. } = sidestep.arg(bench.state()).output().expect("it can be started");
    let said = String::from_utf8(stdout).expect("text");
    assert!(status.code() == Some(0) && said.contains(&only_one), "{status}: {said}");
    assert!(loops.cpus().iter().all(|cpus| cpus.as_ref() == Some(&first)) && !bench.has_journal());
}

fn cpus_of(pid: u32) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    Some(line.trim().to_owned())
}

/// A shell that waits for four loops, in a group of its own: on two CPUs that makes three placements beside the kernel's.
struct Loops(Child);

impl Loops {
    fn start() -> Self {
        use std::os::unix::process::CommandExt;
        let mut shell = Command::new("sh");
        shell
            .args(["-c", &("while :; do :; done & ".repeat(4) + "wait")])
            .stdin(Stdio::null())
            .process_group(0);
        let loops = Self(shell.spawn().expect("every Linux has sh"));
        wait_for("the loops", || (children(loops.0.id()).len() == 4).then_some(()));
        loops
    }

    fn all(&self) -> Vec<u32> {
        [vec![self.0.id()], children(self.0.id())].concat()
    }

    fn cpus(&self) -> Vec<Option<String>> {
        self.all().into_iter().map(cpus_of).collect()
    }
}

impl Drop for Loops {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg("-9").args(self.all().iter().map(u32::to_string)).status();
        let _ = self.0.wait();
    }
}

/// `place --pid` on loops, once a window has begun in which all of them are pinned: some seconds are left of it.
fn pinned(bench: &Bench, loops: &Loops, before: &[Option<String>]) -> Child {
    let pid = loops.0.id().to_string();
    let mut sidestep = Command::new(env!("CARGO_BIN_EXE_sidestep"));
    sidestep.args(["place", "--quiet", "--pid", &pid, "--profile", "3s", "--window", "4s", "--keep-slow"]);
    sidestep.args(["--metric-command", "date +%s%N", "--budget", "10m", "--seed", "1", "--state"]);
    let child = sidestep.arg(bench.state()).stdin(Stdio::null()).spawn().expect("sidestep can be started");
    wait_for("a pin", || {
        let now = loops.cpus();
        let pinned = now.iter().zip(before).filter(|(now, before)| now != before).count();
        (now.len() == 5 && pinned == 4).then_some(())
    });
    child
}

#[test]
fn however_it_ends_while_pins_are_set_the_program_is_set_free() {
    if cpus_here() < 2 {
        println!("skipped: one CPU leaves nothing to pin");
        return;
    }
    let bench = Bench::new();
    for signal in ["-INT", "-TERM", "-KILL"] {
        let loops = Loops::start();
        let before = loops.cpus();
        let mut sidestep = pinned(&bench, &loops, &before);
        assert!(bench.has_journal(), "{signal}");
        Command::new("kill")
            .args([signal, &sidestep.id().to_string()])
            .status()
            .expect("every Linux has kill");
        sidestep.wait().expect("it was ended");
        wait_for("setting free", || (loops.cpus() == before && !bench.has_journal()).then_some(()));
    }
}

#[test]
fn with_its_watchdog_killed_as_well_one_revert_sets_the_program_free() {
    if cpus_here() < 2 {
        println!("skipped: one CPU leaves nothing to pin");
        return;
    }
    let bench = Bench::new();
    let loops = Loops::start();
    let before = loops.cpus();
    let mut sidestep = pinned(&bench, &loops, &before);
    for watchdog in children(sidestep.id()) {
        Command::new("kill").args(["-9", &watchdog.to_string()]).status().expect("every Linux has kill");
    }
    sidestep.kill().expect("it runs");
    sidestep.wait().expect("it was killed");
    assert!(bench.has_journal() && loops.cpus() != before);
    let toggles = |word: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sidestep"));
        let output = command.args(["toggles", word, "--state"]).arg(bench.state()).output();
        let Output { status, stdout, .. } = output.expect("sidestep can be started");
        (status.code(), String::from_utf8(stdout).expect("text"))
    };
    let (code, said) = toggles("status");
    assert!(code == Some(4) && said.contains("may use CPUs") && said.contains("place --pid"), "{said}");
    let (code, said) = toggles("revert");
    assert!(code == Some(0) && said.contains("is back"), "{said}");
    assert!(loops.cpus() == before && !bench.has_journal());
}

#[test]
fn a_process_that_ends_while_pinned_and_one_that_is_not_there_are_normal() {
    if cpus_here() < 2 {
        println!("skipped: one CPU leaves nothing to pin");
        return;
    }
    let bench = Bench::new();
    let loops = Loops::start();
    let mut sidestep = pinned(&bench, &loops, &loops.cpus());
    let gone = loops.0.id().to_string();
    drop(loops);
    let status = sidestep.wait().expect("it ends by itself");
    assert!(status.code() == Some(0) && !bench.has_journal(), "{status}");
    let place = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sidestep"));
        let output = command.arg("place").args(arguments).arg("--state").arg(bench.state()).output();
        let Output { status, stdout, stderr } = output.expect("sidestep can be started");
        (status.code(), String::from_utf8([stdout, stderr].concat()).expect("text"))
    };
    let (code, said) = place(&["--pid", &gone]);
    assert!(code == Some(2) && said.contains("no such process"), "{said}");
    let loops = Loops::start();
    let pid = loops.0.id().to_string();
    let (code, said) = place(&["--pid", &pid, "--profile", "0.1s"]);
    assert!(code == Some(0) && said.contains("keep the kernel's placement"), "{said}");
}

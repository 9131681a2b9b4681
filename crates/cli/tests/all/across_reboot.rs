//! The command through a whole experiment across reboots, on a recorded machine that is booted by writing its files.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value as Json;

/// A recorded machine, a state folder, and a folder for units.
struct Bench {
    folder: tempfile::TempDir,
    boots: usize,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::create_dir_all(folder.path().join("tree/proc/sys/kernel/random")).expect("folders");
        let mut bench = Self { folder, boots: 0 };
        bench.boot("quiet");
        bench
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn boot(&mut self, command_line: &str) {
        self.boots += 1;
        let put = |path: &Path, text: String| std::fs::write(path, text).expect("writable");
        put(&self.path("tree/proc/cmdline"), format!("{command_line}\n"));
        put(&self.path("tree/proc/sys/kernel/random/boot_id"), format!("boot-{}\n", self.boots));
        put(&self.path("tree/proc/uptime"), "70.0 70.0\n".to_owned());
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sidestep"));
        command.env("NO_COLOR", "1").env("COLUMNS", "80").current_dir(self.folder.path()).arg("ab");
        for (flag, name) in [("--state", "state"), ("--tree", "tree"), ("--unit-folder", "units")] {
            command.arg(flag).arg(self.path(name));
        }
        // What is to be run stands last, after --.
        command.args(arguments).output().expect("the command starts")
    }

    fn text(&self, arguments: &[&str], code: i32) -> String {
        let output = self.run(arguments);
        let text =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
        text
    }

    fn json(&self, arguments: &[&str]) -> Json {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        serde_json::from_slice(&output.stdout).expect("one document")
    }

    fn line_of_due(&self) -> &'static str {
        let due = self.json(&["--status", "--json"])["next"]["arm"].clone();
        if due == "b" { "quiet nosmt" } else { "quiet" }
    }
}

const BEGIN: [&str; 11] =
    ["--across-reboot", "--a", "", "--b", "nosmt", "--boots", "2", "--trials", "2", "--seed", "5"];

fn begin(bench: &Bench, program: &[&str]) -> String {
    let arguments: Vec<&str> = BEGIN.into_iter().chain(["--"]).chain(program.iter().copied()).collect();
    bench.text(&arguments, 0)
}

#[test]
fn an_experiment_goes_through_its_boots_and_tells_its_result_after_the_last() {
    let mut bench = Bench::new();
    let plan = begin(&bench, &["true"]);
    for part in
        ["2 of each, in random balanced order, seed 5", "--resume --unattended", "next    boot 1 of 4 is"]
    {
        assert!(plan.contains(part), "{part}: {plan}");
    }
    let arguments: Vec<&str> = BEGIN.into_iter().chain(["--", "true"]).collect();
    assert!(bench.text(&arguments, 2).contains("is under way since"));
    assert!(bench.text(&["--resume"], 2).contains("this is the boot in which the experiment was set up"));
    bench.text(&["--install-unit"], 0);
    let unit = bench.path("units/sidestep-across-reboot.service");
    let wrong = if bench.line_of_due() == "quiet" { "quiet nosmt" } else { "quiet" };
    bench.boot(wrong);
    assert!(bench.text(&["--resume", "--unattended"], 2).contains("it does not count"));
    for done in 1..=4 {
        bench.boot(bench.line_of_due());
        assert!(unit.exists(), "{done}");
        let found = bench.json(&["--resume", "--unattended", "--json"]);
        let phase = if done == 4 { "finished" } else { "running" };
        assert_eq!(found["found"]["phase"], phase, "{done}");
        assert_eq!(found["found"]["rows"].as_array().expect("rows").is_empty(), done < 4, "{done}");
    }
    assert!(!unit.exists(), "it goes with the last boot");
    let reported = bench.text(&["--status"], 0);
    assert!(reported.contains("2 boots against 2 carry no interval at 95 %"), "{reported}");
    assert!(reported.contains("not of the arm"), "{reported}");
    assert!(
        reported.lines().filter(|line| !line.starts_with("journal ")).all(|line| line.chars().count() <= 80),
        "{reported}"
    );
    assert!(
        bench.text(&["--resume"], 0).contains("carry no interval"),
        "a resume after the end shows the result"
    );
}

#[test]
fn a_warm_up_that_fails_sets_nothing_up() {
    let bench = Bench::new();
    let arguments: Vec<&str> = BEGIN.into_iter().chain(["--", "false"]).collect();
    let reported = bench.text(&arguments, 2);
    assert!(
        reported.contains("the warm-up in this boot failed, so no boot would show anything: exit code 1"),
        "{reported}"
    );
    assert!(bench.text(&["--status"], 2).contains("no experiment across reboots is set up"));
}

#[test]
fn a_journal_that_somebody_spoiled_is_named_kept_and_out_of_the_way() {
    let bench = Bench::new();
    begin(&bench, &["true"]);
    std::fs::write(bench.path("state/reboots.json"), "something else").expect("writable");
    for arguments in [["--resume"], ["--status"]] {
        assert!(bench.text(&arguments, 2).contains("sidestep ab --abandon sets it aside"), "{arguments:?}");
    }
    assert!(bench.text(&["--abandon"], 0).contains("reboots.json.damaged-1"));
    let kept = std::fs::read_to_string(bench.path("state/reboots.json.damaged-1"));
    assert_eq!(kept.expect("it is kept"), "something else");
    begin(&bench, &["true"]);
}

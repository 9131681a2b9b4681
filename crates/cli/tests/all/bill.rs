//! A bill that is interrupted: whatever is begun meanwhile, by mistake or not, it can be gone on with, and is given as it was asked for.
//!
//! Run as an ordinary user, as the state of root is the machine's: where the tests have root, as the user that owns nothing.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The user `nobody` of every distribution.
const OTHER: u32 = 65_534;
/// A bill is killed when it has kept a run; one takes 50 ms here.
const PATIENCE: Duration = Duration::from_secs(60);

struct Bench {
    folder: tempfile::TempDir,
    program: PathBuf,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let program = folder.path().join("sidestep");
        crate::two_users::copy_program(&program);
        if host::live::effective_root() {
            chown(folder.path(), Some(OTHER), Some(OTHER)).expect("root may");
        }
        Self { folder, program }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn journal(&self) -> PathBuf {
        self.path("state/sidestep/bill/bill.ndjson")
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("bill").args(words).current_dir(self.folder.path()).env("NO_COLOR", "1");
        command.env("XDG_STATE_HOME", self.path("state")).env("HOME", self.folder.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if host::live::effective_root() {
            command.uid(OTHER).gid(OTHER);
        }
        command
    }

    /// Starts it; the program was just written, and a test that forks at that moment holds it for writing until it starts its own.
    fn started(&self, words: &[&str]) -> Child {
        loop {
            match self.command(words).spawn() {
                Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
                started => return started.expect("sidestep can be started"),
            }
        }
    }

    fn run(&self, words: &[&str]) -> Output {
        self.started(words).wait_with_output().expect("ours")
    }

    /// A bill that is killed once it has kept a run of its own.
    fn killed(&self, words: &[&str]) {
        let text = || fs::read_to_string(self.journal()).unwrap_or_default();
        let (before, begun) = (text(), Instant::now());
        let mut bill = self.started(words);
        let has_run = || text().lines().next() != before.lines().next() && text().contains("\"run\"");
        while !has_run() && begun.elapsed() < PATIENCE && bill.try_wait().expect("ours").is_none() {
            std::thread::yield_now();
        }
        bill.kill().expect("ours");
        let output = bill.wait_with_output().expect("ours");
        assert!(has_run(), "{}", said(&output));
    }

    fn begun(&self) -> String {
        let text = fs::read_to_string(self.journal()).expect("a journal");
        text.lines().next().expect("a line").to_owned()
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

const SHORT: [&str; 6] = ["--toggles", "timer-slack", "--for", "4s", "--seed", "1"];

fn words<'w>(more: &[&'w str], program: &[&'w str]) -> Vec<&'w str> {
    [&SHORT[..], more, &["--"], program].concat()
}

#[test]
fn an_interrupted_bill_outlives_mistakes_and_other_bills_and_goes_on_as_it_was_asked() {
    let bench = Bench::new();
    bench.killed(&words(&["--json", "--html", "page.html"], &["sleep", "0.05"]));
    let first = bench.begun();
    for mistake in [&["./mistyped"][..], &["false"]] {
        let output = bench.run(&words(&[], mistake));
        assert!(!output.status.success(), "{}", said(&output));
        assert_eq!(bench.begun(), first, "{mistake:?}: {}", said(&output));
    }
    // Two others begin, the second of which is killed as well: each is gone on with after the one that came later.
    bench.killed(&words(&[], &["sleep", "0.06"]));
    let second = bench.begun();
    let third = bench.run(&words(&[], &["sleep", "0.07"]));
    assert!(third.status.success() && bench.begun() == second, "{}", said(&third));
    let again = bench.run(&["--resume"]);
    assert!(again.status.success() && bench.begun() == first, "{}", said(&again));
    assert!(!bench.path("page.html").exists() && again.stdout.first() != Some(&b'{'), "{}", said(&again));
    // A power cut after it was set aside and before the other one began.
    fs::rename(bench.journal(), bench.journal().with_extension("ndjson.old-7")).expect("ours");
    let again = bench.run(&["--resume"]);
    assert!(again.status.success() && !bench.journal().exists(), "{}", said(&again));
    let document: serde_json::Value = serde_json::from_slice(&again.stdout).expect("--json was asked for");
    assert_eq!(document["programs"][0]["program"], "sleep 0.05");
    assert!(fs::read_to_string(bench.path("page.html")).is_ok_and(|page| page.contains("sleep 0.05")));
    assert!(said(&bench.run(&["--resume"])).contains("no bill was interrupted"));
}

#[test]
fn a_state_folder_that_cannot_be_written_is_not_another_bill() {
    let bench = Bench::new();
    let sealed = bench.path("state/sidestep/bill");
    fs::create_dir_all(&sealed).expect("folders");
    fs::set_permissions(&sealed, fs::Permissions::from_mode(0o555)).expect("ours");
    if host::live::effective_root() {
        let owned = |path: &Path| chown(path, Some(OTHER), Some(OTHER)).expect("root may");
        for name in ["state", "state/sidestep", "state/sidestep/bill"] {
            owned(&bench.path(name));
        }
    }
    let text = said(&bench.run(&words(&[], &["true"])));
    assert!(text.contains("cannot use") && text.contains("Permission denied"), "{text}");
    assert!(!text.contains("another bill"), "{text}");
}

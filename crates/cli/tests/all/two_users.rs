//! Root, and a user who would like to act as root: what he can write is refused by every command that trusts a file.
//!
//! Needs root, who can be both; skipped by name otherwise.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The user `nobody` of every distribution, who owns nothing.
const OTHER: u32 = 65_534;
const PROGRAM: &str = env!("CARGO_BIN_EXE_sidestep");

struct Bench {
    folder: tempfile::TempDir,
}

/// Copies the program to where the other user may run it. Another process does so: a file that this one had open to write cannot be
/// started while a test beside it forks (ETXTBSY).
pub(crate) fn copy_program(to: &Path) {
    let copied = Command::new("cp").args([Path::new(PROGRAM), to]).status().expect("cp can be started");
    assert!(copied.success(), "cp: {copied}");
}

impl Bench {
    /// A recorded machine in a folder that both may enter; `None`, and a word, without root.
    fn new() -> Option<Self> {
        if !host::live::effective_root() {
            println!("skipped: a test as two users needs root");
            return None;
        }
        let folder = tempfile::tempdir().expect("a temporary folder");
        set_mode(folder.path(), 0o755);
        let bench = Self { folder };
        for (path, text) in [
            ("tree/proc/sys/kernel/random/boot_id", "boot-1\n"),
            ("tree/proc/cmdline", "quiet\n"),
            ("tree/proc/sys/kernel/numa_balancing", "1\n"),
            ("tree/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
        ] {
            let path = bench.path(path);
            fs::create_dir_all(path.parent().expect("below the folder")).expect("folders");
            fs::write(path, text).expect("a file");
        }
        Some(bench)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn boot(&self, name: &str, command_line: &str) {
        fs::write(self.path("tree/proc/sys/kernel/random/boot_id"), name).expect("a file");
        fs::write(self.path("tree/proc/cmdline"), command_line).expect("a file");
    }

    fn run(&self, user: u32, program: &Path, words: &[&str], more: &[&str]) -> (Option<i32>, String) {
        let mut command = Command::new(program);
        command.args(words).arg("--state").arg(self.path("state")).arg("--tree").arg(self.path("tree"));
        if words[0] == "ab" {
            command.arg("--unit-folder").arg(self.path("units"));
        }
        command.args(more).env("NO_COLOR", "1").stdin(Stdio::null()).current_dir("/").uid(user).gid(user);
        let output = command.output().expect("sidestep can be started");
        let said = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8_lossy(&said).into_owned())
    }

    fn root(&self, words: &[&str], more: &[&str]) -> (Option<i32>, String) {
        self.run(0, Path::new(PROGRAM), words, more)
    }

    /// Root sets an experiment up whose boots touch a file.
    fn set_up_experiment(&self) {
        let mark = self.path("mark").display().to_string();
        let plan = ["--boots", "1", "--trials", "2", "--seed", "5"];
        let words = [&["ab", "--across-reboot", "--a", "", "--b", "nosmt"], &plan[..]].concat();
        let (code, said) = self.root(&words, &["--", "touch", &mark]);
        assert_eq!(code, Some(0), "{said}");
        fs::remove_file(self.path("mark")).expect("the rehearsal touched it");
    }

    fn give_away(&self, name: &str) {
        chown(self.path(name), Some(OTHER), Some(OTHER)).expect("root gives it away");
    }
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("root may");
}

/// Every command that reads or writes a state folder.
const COMMANDS: [&[&str]; 8] = [
    &["ab", "--resume", "--unattended"],
    &["ab", "--status"],
    &["ab", "--abandon"],
    &["ab", "--install-unit"],
    &["toggles", "status"],
    &["toggles", "revert"],
    &["toggles", "set", "thp-system=never"],
    &["toggles", "set", "thp-system=never", "--for", "1s"],
];

#[test]
fn a_link_that_another_user_put_there_is_not_followed() {
    let Some(bench) = Bench::new() else { return };
    fs::create_dir(bench.path("state")).expect("a folder");
    fs::write(bench.path("victim"), "precious").expect("a file");
    symlink(bench.path("victim"), bench.path("state/lock")).expect("a link");
    bench.give_away("state");
    let begin = ["ab", "--across-reboot", "--a", "", "--b", "nosmt", "--boots", "1", "--trials", "2"];
    for mode in [0o755, 0o777, 0o1777] {
        set_mode(&bench.path("state"), mode);
        for words in COMMANDS.iter().chain([&&begin[..]]) {
            let more: &[&str] = if words.contains(&"--across-reboot") { &["--", "true"] } else { &[] };
            let (code, said) = bench.root(words, more);
            assert_eq!(code, Some(2), "{words:?}: {said}");
            assert!(said.contains("belongs to user 65534"), "{words:?}: {said}");
        }
    }
    // The folder is root's again, and the link still leads elsewhere.
    set_mode(&bench.path("state"), 0o755);
    chown(bench.path("state"), Some(0), Some(0)).expect("root may");
    let (code, said) = bench.root(&["toggles", "set", "thp-system=never"], &[]);
    assert!(code == Some(2) && said.contains("is a symbolic link"), "{code:?} {said}");
    assert_eq!(fs::read_to_string(bench.path("victim")).expect("it is there"), "precious");
    let thp = fs::read_to_string(bench.path("tree/sys/kernel/mm/transparent_hugepage/enabled"));
    assert_eq!(thp.expect("it is there"), "always [madvise] never\n");
}

#[test]
fn a_journal_that_another_user_could_have_written_runs_nothing() {
    for spoil in [0, 1, 2] {
        let Some(bench) = Bench::new() else { return };
        bench.set_up_experiment();
        let (due, journal) = ("quiet nosmt\n", bench.path("state/reboots.json"));
        let expected = match spoil {
            0 => {
                bench.give_away("state");
                bench.give_away("state/reboots.json");
                bench.give_away("state/lock");
                "belongs to user 65534"
            }
            1 => {
                bench.give_away("state/reboots.json");
                "reboots.json belongs to user 65534"
            }
            _ => {
                set_mode(&journal, 0o666);
                "other users may write to"
            }
        };
        for (boot, line) in [("boot-2\n", due), ("boot-3\n", "quiet\n")] {
            bench.boot(boot, line);
            for words in &COMMANDS[..4] {
                let (code, said) = bench.root(words, &[]);
                assert!(code == Some(2) && said.contains(expected), "{spoil} {words:?}: {code:?} {said}");
            }
        }
        assert!(!bench.path("mark").exists(), "{spoil}: the forged program ran");
    }
}

#[test]
fn a_journal_of_root_goes_on_and_is_not_read_by_another_user() {
    let Some(bench) = Bench::new() else { return };
    bench.set_up_experiment();
    let (code, said) = bench.root(&["toggles", "set", "numa-balancing=off"], &[]);
    assert_eq!(code, Some(0), "{said}");
    let program = bench.path("sidestep");
    copy_program(&program);
    for words in COMMANDS {
        let (code, said) = bench.run(OTHER, &program, words, &[]);
        assert!(!said.contains("nothing is switched"), "{words:?}: {said}");
        assert!(code != Some(0) && said.contains("Permission denied"), "{words:?}: {code:?} {said}");
    }
    bench.boot("boot-2\n", "quiet nosmt\n");
    let other_arm = bench.root(&["ab", "--resume"], &[]);
    if other_arm.0 != Some(0) {
        bench.boot("boot-3\n", "quiet\n");
        assert_eq!(bench.root(&["ab", "--resume"], &[]).0, Some(0), "{other_arm:?}");
    }
    assert!(bench.path("mark").exists(), "the experiment of root goes on");
}

#[test]
fn another_user_has_a_state_folder_of_his_own() {
    let Some(bench) = Bench::new() else { return };
    let (program, own) = (bench.path("sidestep"), bench.path("own"));
    copy_program(&program);
    fs::create_dir(&own).expect("a folder");
    bench.give_away("own");
    let mut command = Command::new(&program);
    command
        .args(["toggles", "status", "--state"])
        .arg(own.join("state"))
        .arg("--tree")
        .arg(bench.path("tree"));
    let output = command.uid(OTHER).gid(OTHER).current_dir("/").output().expect("sidestep can be started");
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn a_program_that_another_user_could_rewrite_is_not_run_by_a_unit() {
    const MINE: &str = "#!/bin/sh\nexit 0\n";
    for spoiled in ["work/program", "work/script", "work/before", "work/after", "work"] {
        let Some(bench) = Bench::new() else { return };
        fs::create_dir(bench.path("work")).expect("a folder");
        for name in ["program", "script", "before", "after"] {
            let file = bench.path("work").join(name);
            fs::write(&file, MINE).expect("a file");
            set_mode(&file, 0o755);
        }
        let path = |name: &str| bench.path(name).display().to_string();
        let (before, after) =
            (format!("{}; true", path("work/before")), format!("true && {}", path("work/after")));
        let words = [
            "ab",
            "--across-reboot",
            "--a",
            "",
            "--b",
            "nosmt",
            "--boots",
            "1",
            "--trials",
            "2",
            "--seed",
            "5",
        ];
        let around = ["--prepare", &before, "--cleanup", &after];
        let (program, script) = (path("work/program"), path("work/script"));
        let (code, said) = bench.root(&[&words[..], &around].concat(), &["--", &program, &script]);
        assert_eq!(code, Some(0), "{said}");
        let (code, said) = bench.root(&["ab", "--install-unit"], &[]);
        assert_eq!(code, Some(0), "{said}");
        let unit = fs::read(bench.path("units/sidestep-across-reboot.service")).expect("it is installed");
        fs::remove_dir_all(bench.path("units")).expect("root may");

        bench.give_away(spoiled);
        let expected = format!("{} belongs to user 65534", path(spoiled));
        bench.boot("boot-2\n", "quiet nosmt\n");
        for words in [&["ab", "--install-unit"][..], &["ab", "--resume", "--unattended"]] {
            let (code, said) = bench.root(words, &[]);
            assert!(code == Some(2) && said.contains(&expected), "{spoiled} {words:?}: {code:?} {said}");
        }
        assert!(!bench.path("units").exists() && !unit.is_empty());

        // With root looking it is his own decision; and in his hands again the unit may run it.
        let mut by_hand = bench.root(&["ab", "--resume"], &[]);
        if by_hand.0 != Some(0) {
            bench.boot("boot-3\n", "quiet\n");
            by_hand = bench.root(&["ab", "--resume"], &[]);
        }
        assert_eq!(by_hand.0, Some(0), "{spoiled}: {}", by_hand.1);
        chown(bench.path(spoiled), Some(0), Some(0)).expect("root may");
        let (code, said) = bench.root(&["ab", "--install-unit"], &[]);
        assert_eq!(code, Some(0), "{spoiled}: {said}");
    }
}

/// What a history says is shown, and what a baseline says is judged by: neither may be another user's.
#[test]
fn a_history_or_baseline_of_another_user_is_refused() {
    let Some(bench) = Bench::new() else { return };
    let sidestep = |words: &[&str]| {
        let mut command = Command::new(PROGRAM);
        command.args(words).arg("--state").arg(bench.path("kept")).env("NO_COLOR", "1");
        let output = command.output().expect("sidestep can be started");
        let said = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8_lossy(&said).into_owned())
    };
    fs::create_dir(bench.path("kept")).expect("a folder");
    let baseline = bench.path("kept/baseline.json");
    let entry = bench.path("kept/20260101T000000Z-1a2b3c4d-1.json.zst");
    symlink(bench.path("tree/proc/cmdline"), &baseline).expect("a link");
    fs::write(&entry, "x").expect("a file");
    let (code, said) = sidestep(&["guard", "check"]);
    assert!(code == Some(2) && said.contains("is a symbolic link"), "{code:?} {said}");
    fs::remove_file(&baseline).expect("ours");
    fs::write(&baseline, "{}").expect("a file");
    chown(&baseline, Some(OTHER), Some(OTHER)).expect("root gives it away");
    chown(&entry, Some(OTHER), Some(OTHER)).expect("root gives it away");
    let (code, said) = sidestep(&["guard", "check"]);
    assert!(code == Some(2) && said.contains("baseline.json belongs to user 65534"), "{code:?} {said}");
    let (code, said) = sidestep(&["history"]);
    assert!(
        code == Some(0) && said.contains("skipped") && said.contains("belongs to user 65534"),
        "{code:?} {said}"
    );
    bench.give_away("kept");
    for words in [&["history"][..], &["guard", "check"]] {
        let (code, said) = sidestep(words);
        assert!(code == Some(2) && said.contains("kept belongs to user 65534"), "{words:?}: {code:?} {said}");
    }
}

/// A workload whose input is a program, with the folder of caches that its environment leads to.
const WORKLOAD: &str = "id = \"planted\"\ntitle = \"A\"\nsuites = [\"server\"]\ngroup = \"g\"\nseconds_a_turn = 1.0\nthreads = 1\n\
    stresses = [\"x\"]\nlicence = \"MIT\"\ngenerate = \"printf '#!/bin/sh\\\\nsleep 0.2\\\\n' > program; chmod +x program\"\n\
    command = \"./program\"\n";

impl Bench {
    /// Root checks the workload with this environment and no other home.
    fn check_workload(&self, environment: &[(&str, &Path)]) -> (Option<i32>, String) {
        fs::write(self.path("planted.toml"), WORKLOAD).expect("a file");
        let mut command = Command::new(PROGRAM);
        command
            .args(["workloads", "check"])
            .arg(self.path("planted.toml"))
            .env_remove("HOME")
            .env_remove("XDG_CACHE_HOME");
        let output = command.envs(environment.iter().copied()).output().expect("sidestep can be started");
        let said = [output.stdout, output.stderr].concat();
        // A table breaks its lines at blanks.
        let said = String::from_utf8_lossy(&said).split_whitespace().collect::<Vec<_>>().join(" ");
        (output.status.code(), said)
    }

    /// Everything below is the other user's.
    fn give_all_away(&self, name: &str) {
        let chown =
            Command::new("chown").args(["-hR", &format!("{OTHER}:{OTHER}")]).arg(self.path(name)).status();
        assert!(chown.expect("coreutils").success());
    }
}

#[test]
fn a_program_in_a_cache_that_another_user_could_have_filled_is_not_run() {
    let Some(bench) = Bench::new() else { return };
    let (own, temporary, mark) = (bench.path("own"), bench.path("temporary"), bench.path("mark"));
    let (code, said) = bench.check_workload(&[("XDG_CACHE_HOME", &own)]);
    assert_eq!(code, Some(0), "{said}");
    let entries = fs::read_dir(own.join("sidestep/workloads")).expect("filled").flatten();
    let name = entries.map(|entry| entry.file_name()).find(|name| !name.to_string_lossy().ends_with(".lock"));
    let name = name.expect("the input");
    for folder in ["sidestep", "sidestep-0"] {
        let planted = temporary.join(folder).join("workloads").join(&name);
        fs::create_dir_all(&planted).expect("folders");
        fs::write(planted.join("program"), format!("#!/bin/sh\ntouch {}\n", mark.display())).expect("a file");
        set_mode(&planted.join("program"), 0o755);
        bench.give_all_away(&format!("temporary/{folder}"));
        set_mode(&temporary, 0o1777);
        let (code, said) = bench.check_workload(&[("TMPDIR", &temporary)]);
        assert!(!mark.exists(), "{folder}: the planted program ran: {said}");
        let is_refused = code != Some(0) && said.contains("belongs to user 65534");
        assert_eq!(is_refused, folder == "sidestep-0", "{folder}: {code:?} {said}");
        // What root has made in the first round is root's alone.
        fs::remove_dir_all(&temporary).expect("root may");
    }
    // What is there already, and was given away or opened to others since.
    for spoil in [0, 1] {
        let input = own.join("sidestep/workloads").join(&name);
        if spoil == 0 {
            chown(&input, Some(OTHER), None).expect("root may");
        } else {
            set_mode(&input, 0o777);
        }
        let (code, said) = bench.check_workload(&[("XDG_CACHE_HOME", &own)]);
        let expected = ["belongs to user 65534", "other users may write to"][spoil];
        assert!(code != Some(0) && said.contains(expected) && said.contains("XDG_CACHE_HOME"), "{said}");
        chown(&input, Some(0), None).expect("root may");
    }
}

#[test]
fn root_makes_no_file_by_a_link_in_the_home_of_another_user() {
    let Some(bench) = Bench::new() else { return };
    let (home, own) = (bench.path("home"), bench.path("own"));
    bench.check_workload(&[("XDG_CACHE_HOME", &own)]);
    let entries = fs::read_dir(own.join("sidestep/workloads")).expect("filled").flatten();
    let lock = entries.map(|entry| entry.file_name()).find(|name| name.to_string_lossy().ends_with(".lock"));
    let folder = home.join(".cache/sidestep/workloads");
    fs::create_dir_all(&folder).expect("folders");
    symlink(bench.path("victim"), folder.join(lock.expect("it was locked"))).expect("a link");
    bench.give_all_away("home");
    let (code, said) = bench.check_workload(&[("HOME", &home)]);
    assert!(code != Some(0) && said.contains("belongs to user 65534"), "{code:?} {said}");
    assert!(!bench.path("victim").exists());
}

/// Every other command that keeps something, with the folder that it keeps it in.
const KEEPING: [&str; 4] = [
    "guard check --state KEPT --records one.json",
    "guard init --state KEPT --records one.json",
    "history --state KEPT",
    "ab --status --state KEPT",
];

#[test]
fn what_another_user_could_have_kept_is_neither_read_nor_replaced() {
    let Some(bench) = Bench::new() else { return };
    let record = record::Record { schema: record::SCHEMA, ..record::Record::default() };
    let bytes = record::encode(&record, record::Encoding::Json).expect("encodable");
    fs::write(bench.path("one.json"), bytes).expect("a file");
    fs::create_dir(bench.path("kept")).expect("a folder");
    for name in ["baseline.json", "checks.json", "lock"] {
        symlink(bench.path("victim"), bench.path("kept").join(name)).expect("a link");
    }
    bench.give_all_away("kept");
    for mode in [0o755, 0o777, 0o1777] {
        set_mode(&bench.path("kept"), mode);
        for words in KEEPING {
            let words: Vec<String> = words
                .split(' ')
                .map(|word| word.replace("KEPT", &bench.path("kept").display().to_string()))
                .collect();
            let mut command = Command::new(PROGRAM);
            let output = command.args(&words).current_dir(bench.folder.path()).output().expect("it starts");
            let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
            assert!(!output.status.success() && said.contains("belongs to user 65534"), "{words:?}: {said}");
            assert!(!bench.path("victim").exists(), "{words:?}");
        }
    }
}

#[test]
fn a_relative_state_home_counts_for_no_command() {
    let Some(bench) = Bench::new() else { return };
    let (program, home) = (bench.path("sidestep"), bench.path("home"));
    copy_program(&program);
    fs::create_dir(&home).expect("a folder");
    bench.give_away("home");
    for words in [&["history"][..], &["ab", "--status"], &["toggles", "status"], &["bill", "--resume"]] {
        let mut command = Command::new(&program);
        command.args(words).env("HOME", &home).env("XDG_STATE_HOME", "relative").current_dir(&home);
        let output = command.uid(OTHER).gid(OTHER).output().expect("sidestep can be started");
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(!said.contains("relative"), "{words:?}: {said}");
        assert!(!home.join("relative").exists(), "{words:?}: {said}");
    }
}

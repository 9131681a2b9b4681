//! Paths that somebody prepared: pipes, devices, links and folders in place of files, for everything that is read or written.

use std::fs::{self, FileType};
use std::os::unix::fs::{FileTypeExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// One that waits for a pipe, or reads what has no end, is killed: it must say one line instead.
const LIMIT_S: &str = "30";

struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    /// A record, a check of a fleet, and a baseline.
    fn new() -> Self {
        let bench = Self { folder: tempfile::tempdir().expect("a temporary folder") };
        let mut record = record::Record { schema: record::SCHEMA, ..record::Record::default() };
        "2026-01-01T00:00:00Z".clone_into(&mut record.provenance.started_utc);
        let bytes = record::encode(&record, record::Encoding::Json).expect("encodable");
        fs::create_dir(bench.path("drop")).expect("a folder");
        for name in ["one.json", "drop/one.json"] {
            fs::write(bench.path(name), &bytes).expect("a file");
        }
        let check = record::FleetCheck {
            schema: record::FLEET_CHECK_SCHEMA,
            id: "1".to_owned(),
            ..record::FleetCheck::default()
        };
        fs::write(bench.path("check.json"), serde_json::to_vec(&check).expect("JSON")).expect("a file");
        let (code, said) = bench.run("guard init --state state --records one.json one.json");
        assert_eq!(code, Some(0), "{said}");
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn run(&self, words: &str) -> (Option<i32>, String) {
        let mut command = Command::new("timeout");
        command.args(["-k", "1", LIMIT_S, env!("CARGO_BIN_EXE_sidestep")]).args(words.split(' '));
        command.current_dir(self.folder.path()).env("NO_COLOR", "1");
        let output = command.output().expect("coreutils");
        let said = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8_lossy(&said).into_owned())
    }

    /// What is no regular file, by kind; a device only where this process may make one.
    fn prepared(&self) -> Vec<(PathBuf, FileType)> {
        fs::write(self.path("victim"), "precious").expect("a file");
        fs::create_dir(self.path("a-folder")).expect("a folder");
        symlink(self.path("victim"), self.path("a-link")).expect("a link");
        symlink(self.path("nowhere"), self.path("a-dangling-link")).expect("a link");
        let made = |program: &str, words: &[&str]| {
            Command::new(program)
                .args(words)
                .current_dir(self.folder.path())
                .status()
                .expect("coreutils")
                .success()
        };
        assert!(made("mkfifo", &["a-pipe"]));
        let mut names = vec!["a-folder", "a-link", "a-dangling-link", "a-pipe"];
        if made("mknod", &["a-device", "c", "1", "3"]) {
            names.push("a-device");
        }
        let kind = |path: &Path| fs::symlink_metadata(path).expect("it is there").file_type();
        names.into_iter().map(|name| (self.path(name), kind(&self.path(name)))).collect()
    }
}

/// Every option that writes a file, with what makes its command ready to write at once. A debug build measures nothing: `--metrics-file`
/// of `clock watch` and the files of a run are written by the same function.
const OUTPUTS: [&str; 9] = [
    "flaws --html OUT",
    "machine --save OUT",
    "show one.json --html OUT",
    "compare one.json one.json --html OUT",
    "fleet export check.json --junit OUT",
    "fleet export check.json --prometheus OUT",
    "guard check --state state --records one.json --junit OUT",
    "guard check --state state --records one.json --metrics-file OUT",
    "guard check --state state --records one.json --html OUT",
];

#[test]
fn an_output_replaces_nothing_that_is_no_regular_file() {
    let bench = Bench::new();
    for (path, kind) in bench.prepared() {
        for words in OUTPUTS {
            let words = words.replace("OUT", path.to_str().expect("plain"));
            let (code, said) = bench.run(&words);
            assert!(matches!(code, Some(2 | 3)) && said.contains("a-"), "{words}: {code:?} {said}");
            let now = fs::symlink_metadata(&path).expect("it is there").file_type();
            assert!(now == kind && now.is_fifo() == kind.is_fifo(), "{words}");
            assert_eq!(fs::read_to_string(bench.path("victim")).expect("it is there"), "precious", "{words}");
            assert!(!bench.path("nowhere").exists(), "{words}");
        }
    }
    for words in OUTPUTS {
        let (code, said) = bench.run(&words.replace("OUT", "/dev/full"));
        assert!(matches!(code, Some(2 | 3)) && said.contains("/dev/full"), "{words}: {code:?} {said}");
    }
    let is_leftover = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().ends_with(".tmp");
    let entries = fs::read_dir(bench.folder.path()).expect("listable").flatten();
    assert_eq!(entries.filter(is_leftover).count(), 0, "nothing half is left");
}

#[test]
fn folders_of_tables_are_written_beside_links_and_not_through_them() {
    let bench = Bench::new();
    fs::write(bench.path("victim"), "precious").expect("a file");
    for (words, names) in [
        ("fleet rows drop -o rows", ["metrics.ndjson", "nodes.ndjson"]),
        ("flaws --csv=rows", ["flaws.csv", "x"]),
    ] {
        fs::create_dir_all(bench.path("rows")).expect("a folder");
        // The name that an unfinished file of this process would have, now and in versions before.
        let links: String = names
            .iter()
            .flat_map(|name| {
                ["", ".$$.tmp", ".$$-0.tmp"].map(|end| format!("ln -sf ../victim rows/{name}{end}; "))
            })
            .collect();
        let through = format!("{links}exec \"$0\" {words}");
        let aside = format!("{links}rm rows/{0} rows/{1}; exec \"$0\" {words}", names[0], names[1]);
        for (line, expected) in [(through, Some(2)), (aside, Some(0))] {
            let mut shell = Command::new("sh");
            shell.args(["-c", &line, env!("CARGO_BIN_EXE_sidestep")]).current_dir(bench.folder.path());
            let output = shell.output().expect("every Linux has sh");
            assert_eq!(output.status.code(), expected, "{line}: {output:?}");
            assert_eq!(fs::read_to_string(bench.path("victim")).expect("there"), "precious", "{line}");
        }
        fs::remove_dir_all(bench.path("rows")).expect("ours");
    }
}

/// Every option and argument that reads a file; those that read a pipe on purpose, such as `<(ssh host lscpu)`, are not among them.
const INPUTS: [&str; 20] = [
    "show IN",
    "compare IN one.json",
    "compare one.json IN",
    "flaws --expect IN",
    "flaws --sysroot IN",
    "machine --sysroot IN",
    "clock check --sysroot IN",
    "sockets explain IN",
    "sockets explain one.json --expect IN",
    "sockets infer --matrix IN",
    "simulate IN",
    "workloads check IN.toml",
    "bill --dry-run --workload IN.toml",
    "fleet check IN",
    "fleet check drop --inventory IN",
    "fleet plan --engine slurm --drop /d --inventory IN",
    "fleet export IN --slurm-drain",
    "fleet confirm IN --drop drop",
    "guard check --state state --records IN",
    "place --check-up IN -- true",
];

#[test]
fn an_input_that_is_no_file_is_refused_at_once_and_in_one_line() {
    let bench = Bench::new();
    assert!(Command::new("mkfifo").arg(bench.path("pipe.toml")).status().expect("coreutils").success());
    symlink("pipe.toml", bench.path("pipe")).expect("a link");
    for end in ["", ".toml"] {
        symlink("/dev/zero", bench.path(&format!("zero{end}"))).expect("a link");
    }
    for words in INPUTS {
        for input in ["pipe", "zero"] {
            let words = words.replace("IN", input);
            let (code, said) = bench.run(&words);
            assert!(matches!(code, Some(2 | 3)), "{words}: {code:?} {said}");
            assert!(said.starts_with("sidestep: ") && said.lines().count() == 1, "{words}: {said}");
        }
    }
}

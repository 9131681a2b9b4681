//! An option is used or refused: every command of the help against every option that names an input or a form of the output.
//!
//! The commands and their options are those of `docs/commands`, which a test of the definition holds to it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Output};

/// Options that name what is read.
const INPUTS: [&str; 8] =
    ["--sysroot", "--cpuid", "--lscpu", "--expect", "--records", "--inventory", "--history", "--check-up"];
/// A recorded machine, from this crate.
const MACHINE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/machines/synthetic-k8-two-sockets");

/// A command, the words that it cannot do without when an input is missing, and a complete command line that ends at once, if it has
/// one: `MACHINE` is a recorded machine, `MISSING` a file that is not there.
type Row = (&'static str, &'static str, Option<&'static str>);

#[rustfmt::skip]
const COMMANDS: [Row; 39] = [
    ("run", "", Some("--plan")),
    ("machine", "", Some("--sysroot MACHINE")),
    ("show", "", Some("comparison.json")),
    ("history", "", Some("--state .")),
    ("guard", "", None),
    ("guard init", "", None),
    ("guard check", "", None),
    ("guard unit", "", None),
    ("fleet", "", None),
    ("fleet plan", "--drop /shared/drop --engine slurm", Some("--nodes a,b --drop /shared/drop --engine slurm")),
    ("fleet rows", "drop -o rows", None),
    ("fleet check", "drop", None),
    ("fleet confirm", "", Some("check.json --drop /shared/drop")),
    ("fleet export", "", Some("check.json --slurm-drain")),
    ("flaws", "", Some("--sysroot MACHINE")),
    ("flaws list", "", Some("srso")),
    ("flaws show", "srso", Some("srso --lscpu lscpu.txt")),
    ("ab", "--across-reboot --dry-run --a nosmt --b quiet", Some("--across-reboot --dry-run --a nosmt --b quiet --sysroot MACHINE")),
    ("bill", "", None),
    ("compare", "a.json b.json", Some("a.json b.json")),
    ("clock", "", None),
    ("clock check", "", Some("--sysroot MACHINE")),
    ("clock cost", "", None),
    ("clock watch", "", None),
    ("sockets", "", None),
    ("sockets explain", "matrix.csv", None),
    ("sockets firmware", "", Some("--sysroot MACHINE")),
    ("sockets infer", "", Some("matrix.csv")),
    ("place", "-- true", None),
    ("simulate", "", Some("phenom-9600")),
    ("toggles", "", Some("--sysroot MACHINE")),
    ("toggles show", "thp", Some("thp --sysroot MACHINE")),
    ("toggles set", "thp=off", None),
    ("toggles revert", "", Some("--dry-run --state .")),
    ("toggles status", "", Some("--state .")),
    ("workloads", "", Some("")),
    ("workloads check", "", None),
    ("completions", "", Some("bash")),
    ("flaws ", "", Some("--lscpu lscpu.txt")),
];

/// The commands of the help, each with its options.
fn documented() -> BTreeMap<String, BTreeSet<String>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/commands");
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in std::fs::read_dir(folder).expect("the pages of the commands") {
        let text = std::fs::read_to_string(file.expect("a file").path()).expect("a page");
        let mut command = None;
        for line in text.lines() {
            if let Some((_, words)) = line.split_once("# sidestep ").filter(|_| line.starts_with('#')) {
                found.entry(words.to_owned()).or_default();
                command = Some(words.to_owned());
            } else if let (Some(command), Some(rest)) = (&command, line.strip_prefix("- `--")) {
                let name = rest.split([' ', '`', '[', '=', '<']).next().expect("there is one");
                // Without a value it writes no file of that name.
                let name = if rest.starts_with("html`") { "html as output" } else { name };
                found.entry(command.clone()).or_default().insert(format!("--{name}"));
            }
        }
    }
    found
}

fn sidestep(folder: &Path, line: &str) -> Output {
    let words = line.split_whitespace().map(|word| word.replace("MACHINE", MACHINE));
    let mut command = Command::new(env!("CARGO_BIN_EXE_sidestep"));
    command.args(words).current_dir(folder).env("HOME", folder).env("XDG_STATE_HOME", folder.join("state"));
    command.output().expect("the program starts")
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("a file");
    for (name, mean) in [("a.json", 1.0), ("b.json", 1.5)] {
        let times = [0.0, 0.01, 0.02, 0.03, 0.04].map(|more| (mean + more).to_string()).join(",");
        write(name, &format!("{{\"results\":[{{\"command\":\"x\",\"mean\":{mean},\"times\":[{times}]}}]}}"));
    }
    write("lscpu.txt", "Vendor ID: AuthenticAMD\nCPU family: 25\nModel: 97\nStepping: 2\nTsa: Vulnerable\n");
    write("matrix.csv", "0,50,150,150\n50,0,150,150\n150,150,0,50\n150,150,50,0\n");
    let compared = sidestep(folder.path(), "compare a.json b.json --json");
    std::fs::write(folder.path().join("comparison.json"), compared.stdout).expect("a file");
    folder
}

fn refuses(output: &Output, option: &str) -> bool {
    output.status.code() == Some(2) && String::from_utf8_lossy(&output.stderr).contains(option)
}

#[test]
fn every_command_of_the_help_stands_in_the_table() {
    let listed: BTreeSet<&str> = COMMANDS.iter().map(|row| row.0.trim()).collect();
    let documented = documented();
    let known: BTreeSet<&str> = documented.keys().map(String::as_str).collect();
    assert_eq!(listed, known);
}

#[test]
fn an_input_that_is_missing_is_an_error_with_its_name() {
    let (documented, folder, mut ignored) = (documented(), folder(), Vec::new());
    for (command, words, _) in COMMANDS {
        // The folder of a journal is made where it is missing, that of a history is not. A check first looks for its baseline.
        let has = |input: &&&str| documented[command.trim()].contains(**input) && command != "guard check";
        let state = (command == "history").then_some(&"--state");
        for input in INPUTS.iter().filter(has).chain(state) {
            // The program stands last.
            let (words, program) = words.split_at(words.find("-- ").unwrap_or(words.len()));
            let line = format!("{command} {words} {input} MISSING {program}");
            let output = sidestep(folder.path(), &line);
            if !refuses(&output, "MISSING") {
                ignored.push(format!("sidestep {line}: {output:.300?}"));
            }
        }
    }
    assert!(ignored.is_empty(), "{}", ignored.join("\n"));
}

#[test]
fn a_form_of_the_output_is_given_or_refused() {
    let (documented, mut ignored) = (documented(), Vec::new());
    for (command, _, words) in COMMANDS {
        let Some(words) = words else { continue };
        let folder = folder();
        let folder = folder.path();
        let foreign = folder.join("foreign");
        std::fs::create_dir(&foreign).expect("a folder");
        std::fs::write(foreign.join("mine.csv"), "mine").expect("a file");
        let files = |name: &str| std::fs::read_dir(folder.join(name)).map_or(0, Iterator::count);
        let line = format!("{command} {words}");
        let plain = sidestep(folder, &line);
        // What only shows a plan judges nothing.
        let is_plan = ["--plan", "--dry-run"].iter().any(|plan| line.contains(plan));
        for option in [
            "--json",
            "--markdown",
            "--csv",
            "--html page.html",
            "--csv=tables",
            "--csv=foreign",
            "--gate",
            "--strict",
        ] {
            let name = option.split(['=', ' ']).next().expect("there is one");
            if name != "--json" && !documented[command.trim()].contains(name) {
                continue;
            }
            let output = sidestep(folder, &format!("{line} {option}"));
            let is_given = match option {
                "--json" => serde_json::from_slice::<serde_json::Value>(&output.stdout).is_ok(),
                "--html page.html" => folder.join("page.html").is_file(),
                "--csv=tables" => files("tables") > 0,
                // What lies there already is of somebody else.
                "--csv=foreign" => false,
                "--gate" | "--strict" => !is_plan,
                _ => !output.stdout.is_empty() && output.stdout != plain.stdout,
            };
            if !is_given && !refuses(&output, name) || files("foreign") != 1 {
                let (code, stderr) =
                    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned());
                ignored.push(format!("sidestep {line} {option}: {code:?} {stderr:.200}"));
            }
        }
    }
    assert!(ignored.is_empty(), "{}", ignored.join("\n"));
}

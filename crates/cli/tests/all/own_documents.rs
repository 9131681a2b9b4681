//! What sidestep itself prints as JSON is shown again, or refused by its own name; and what two commands say of one file can both hold.

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What is printed on both streams, in one line, and the exit status.
fn said(arguments: &[&str]) -> (String, Option<i32>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sidestep"));
    command.current_dir(root()).args(arguments).env("NO_COLOR", "1");
    let output = command.output().expect("the program starts");
    let text =
        [output.stdout, output.stderr].map(|stream| String::from_utf8_lossy(&stream).into_owned()).concat();
    (text.split_whitespace().collect::<Vec<_>>().join(" "), output.status.code())
}

/// What is typed for a document; whether `show` makes a page of it.
const DOCUMENTS: &[(&str, bool)] = &[
    ("machine --sysroot tests/machines/synthetic-upi-ring", true),
    ("compare examples/phenom-9600/no-patch.csv examples/phenom-9600/patch.csv", true),
    ("flaws --sysroot tests/machines/synthetic-upi-ring", false),
    ("flaws list", false),
    ("flaws show mds --sysroot tests/machines/synthetic-upi-ring", false),
    ("toggles", false),
    ("history", false),
    ("workloads", false),
    ("run --plan", false),
    ("simulate phenom-9600", false),
    ("simulate x6440-8380", false),
    ("simulate fx-8150", false),
    ("simulate k8-opteron", false),
    ("fleet check tests/cli/fleet --inventory tests/cli/fleet/inventory.csv", false),
    ("sockets infer tests/cli/matrices/diamond.csv", false),
    ("sockets firmware --sysroot tests/machines/synthetic-upi-ring", false),
];

#[test]
fn the_json_of_every_command_is_shown_or_refused_by_the_name_of_the_command() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (typed, is_shown) in DOCUMENTS {
        let words: Vec<&str> = typed.split(' ').collect();
        let mut command = Command::new(env!("CARGO_BIN_EXE_sidestep"));
        command
            .current_dir(root())
            .env("XDG_STATE_HOME", folder.path())
            .args(&words)
            .args(["--json", "--quiet"]);
        let printed = command.output().expect("the program starts");
        assert!(!printed.stdout.is_empty(), "{typed}: {}", String::from_utf8_lossy(&printed.stderr));
        let file = folder.path().join("document.json");
        std::fs::write(&file, &printed.stdout).expect("writable");
        let file = file.display().to_string();
        for reader in [["show", &file], ["compare", &file], ["sockets explain", &file]] {
            let arguments: Vec<&str> = reader.iter().flat_map(|word| word.split(' ')).collect();
            let (text, status) = said(&arguments);
            if *is_shown && reader[0] == "show" {
                assert_eq!(status, Some(0), "{typed}: {text}");
                continue;
            }
            let named = format!("the JSON of sidestep {}", words[0]);
            assert!(text.contains(&named) && status == Some(2), "{reader:?} of {typed}: {text}");
            assert!(!text.contains("newer sidestep") && !text.contains("broken"), "{typed}: {text}");
        }
    }
}

/// A file, two commands on it, and words of which both say the same or none.
const PAIRS: &[(&str, &str, &str, &[&str])] = &[(
    "tests/cli/records/sockets-missing-channel.json",
    "show",
    "sockets explain",
    &["likely a missing or slow memory channel", "Not as expected: socket 2 (CPU 8)", "The CPUs are alike"],
)];

#[test]
fn two_commands_say_nothing_of_one_file_that_cannot_both_hold() {
    for (file, one, other, words) in PAIRS {
        let texts = [one, other].map(|command| {
            let arguments: Vec<&str> = command.split(' ').chain([*file, "--long"]).collect();
            said(&arguments).0
        });
        for word in *words {
            let says = texts.each_ref().map(|text| text.contains(word));
            assert_eq!(
                says[0], says[1],
                "{file}: {one} or {other} says {word:?}\n{}\n{}",
                texts[0], texts[1]
            );
        }
    }
}

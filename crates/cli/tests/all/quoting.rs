//! What is printed for pasting: a shell that reads it sees exactly the words that were meant, whatever stands in them.

use std::process::Command;

use fleet::node::NodeName;
use fleet::plan::{Engine, Nodes, Plan, PlannedNode};
use proptest::prelude::*;
use record::{FleetCheck, FleetStatus, FleetSuspect};

/// What a shell makes of a line that ends with words: each, and a NUL behind it.
fn words_of(shell: &str, script: &str) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let output = Command::new(shell).args(["-c", script]).current_dir(folder.path()).output();
    let output = output.expect("every Linux has it");
    let left = std::fs::read_dir(folder.path()).expect("listable").count();
    assert!(output.status.success() && left == 0, "{script}\n{output:?}");
    let text = String::from_utf8(output.stdout).expect("as it was given");
    text.split_terminator('\0').map(str::to_owned).collect()
}

/// Any text that can be a word of a program, and those that shells trip over.
fn text() -> impl Strategy<Value = String> {
    let hostile = "(; touch P|\\$\\(touch P\\)|`touch P`|'|\"|\\\\|\n|#| |\\*|~|!|-|=|\\{a,b\\}|[a-z@]){0,8}";
    prop_oneof![hostile.prop_map(|text: String| text), "[^\0]{0,12}".prop_map(|text: String| text)]
}

#[test]
fn a_word_that_could_not_be_printed_as_it_is_is_refused() {
    let check = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cli/fleet/check.json");
    for words in
        [&["fleet", "confirm", check, "--drop", "/a\tb"][..], &["guard", "unit", "--state", "/a\u{202e}b"]]
    {
        let output = Command::new(env!("CARGO_BIN_EXE_sidestep")).args(words).output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && output.stdout.is_empty(), "{words:?}: {output:?}");
        assert!(said.lines().count() == 1 && said.contains("no terminal shows"), "{words:?}: {said}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_shell_sees_the_words_that_were_quoted(words in proptest::collection::vec(text(), 1..12)) {
        let line: Vec<String> = words.iter().map(|word| machine::shell_word(word)).collect();
        prop_assert_eq!(words_of("sh", &format!("printf '%s\\0' {}", line.join(" "))), words.clone());
        let quoted: Vec<String> = words.iter().map(|word| machine::shell_quoted(word)).collect();
        prop_assert_eq!(words_of("sh", &format!("printf '%s\\0' {}", quoted.join(" "))), words);
    }

    #[test]
    fn a_script_for_slurm_has_the_drop_and_the_options_that_were_given(
        drop in text(), options in proptest::collection::vec(text(), 0..4)
    ) {
        let node = PlannedNode { name: NodeName::parse("n1").expect("a name"), rack: None };
        let script = fleet::plan::script(&Plan {
            engine: Engine::Slurm,
            nodes: Nodes::Listed(vec![node]),
            partition: None,
            drop: drop.clone(),
            options: options.clone(),
            at_once: 1,
            image: String::new(),
            seed: 1,
        });
        let script = script.expect("a script");
        let (assignments, _) = script.split_once("submitted=0\n").expect("they come first");
        let shown = words_of("bash", &format!("{assignments}printf '%s\\0' \"$drop\" \"${{run[@]}}\""));
        let expected: Vec<String> = [drop].into_iter().chain(options).collect();
        prop_assert_eq!(shown, expected);
    }

    #[test]
    fn a_document_of_another_adds_no_word_to_a_drain(id in text(), node in text()) {
        let one = FleetSuspect { node: node.clone(), status: FleetStatus::Confirmed, ..FleetSuspect::default() };
        let check = FleetCheck { id, suspects: vec![one], ..FleetCheck::default() };
        let Ok(script) = fleet::confirm::slurm_drain(&check) else { return Ok(()) };
        let shown = words_of("sh", &format!("scontrol() {{ printf '%s\\0' \"$@\"; }}\n{script}"));
        prop_assert!(shown.is_empty() || (shown.len() == 4 && shown[1] == format!("nodename={node}")), "{:?}", shown);
    }
}

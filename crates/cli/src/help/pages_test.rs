//! The pages of docs/commands: one per command, made from the definition of the command line, as the help is.
//!
//! Only for the test that holds the committed pages; `cargo xtask docs` runs it with `UPDATE_EXPECT=1`, which writes them.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use clap::{Arg, Command};

use super::{GROUPS, example_lines, examples};
use crate::arguments;

/// Where they are, from this crate.
const FOLDER: &str = "../../docs/commands";
/// What the options without a heading are called.
const OPTIONS: &str = "Options";

/// All pages by file name.
fn pages() -> BTreeMap<String, String> {
    let mut command = arguments::definition();
    command.build();
    let mut index = "# Commands\n\nMade from the program's own help by `cargo xtask docs`. `sidestep` alone is `sidestep run`.\n".to_owned();
    let mut pages = BTreeMap::new();
    for (heading, names) in GROUPS {
        let _ = writeln!(index, "\n## {heading}\n");
        for name in names {
            let one = command.find_subcommand(name).expect("a group names commands");
            let about = one.get_about().map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(index, "- [{name}]({name}.md): {}", escaped(&about));
            pages.insert(format!("{name}.md"), page(one, &[name], "#"));
        }
    }
    let _ = write!(index, "\n## Options of every command\n\n{}", arguments(&command, true));
    pages.insert("README.md".to_owned(), index);
    pages
}

/// A command and those below it.
fn page(command: &Command, words: &[&str], level: &str) -> String {
    let mut text = format!("{level} sidestep {}\n", words.join(" "));
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").trim();
    let _ = write!(text, "\n{}\n\n```text\n{usage}\n```\n", escaped(&about));
    let examples = examples().into_iter().find(|(of, _)| of == words).unwrap_or_default().1;
    if !examples.is_empty() {
        text.push_str("\n**Examples**\n\n");
    }
    for (line, purpose) in &examples {
        let _ = writeln!(text, "- `sidestep {line}`: {}", escaped(purpose));
    }
    let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let after = after.strip_prefix(&example_lines(&examples)).unwrap_or(&after).trim();
    for paragraph in after.split("\n\n").filter(|paragraph| !paragraph.is_empty()) {
        if paragraph.contains("\n  ") {
            let _ = write!(text, "\n```text\n{paragraph}\n```\n");
        } else {
            let _ = write!(text, "\n{}\n", escaped(paragraph));
        }
    }
    let own = arguments(command, false);
    if !own.is_empty() {
        let _ = write!(text, "\n{own}");
    }
    for below in command.get_subcommands().filter(|one| !one.is_hide_set() && one.get_name() != "help") {
        let words = [words, &[below.get_name()]].concat();
        let _ = write!(text, "\n{}", page(below, &words, &format!("{level}#")));
    }
    text
}

/// The arguments by heading, in the order of the help: those of every command, or the command's own.
fn arguments(command: &Command, is_global: bool) -> String {
    let mut by_heading: Vec<(&str, String)> = Vec::new();
    let is_meant =
        |one: &&Arg| !one.is_hide_set() && one.is_global_set() == is_global && one.get_id() != "help";
    for one in command.get_arguments().filter(is_meant) {
        let heading = one.get_help_heading().unwrap_or(OPTIONS);
        if !by_heading.iter().any(|(name, _)| *name == heading) {
            by_heading.push((heading, String::new()));
        }
        let (_, lines) = by_heading.iter_mut().find(|(name, _)| *name == heading).expect("it was put there");
        let _ = writeln!(lines, "- {}", argument(one));
    }
    if is_global {
        return by_heading.into_iter().map(|(_, lines)| lines).collect();
    }
    let sections = by_heading.into_iter().map(|(heading, lines)| format!("**{heading}**\n\n{lines}"));
    sections.collect::<Vec<_>>().join("\n")
}

fn argument(one: &Arg) -> String {
    let short = one.get_short().map_or_else(String::new, |short| format!("-{short}, "));
    let help = one.get_long_help().or(one.get_help()).map(ToString::to_string).unwrap_or_default();
    let mut text = format!("`{short}{one}`: {}", escaped(&help));
    let values: Vec<String> = one
        .get_possible_values()
        .iter()
        .filter(|value| !value.is_hide_set())
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    if !values.is_empty() && one.get_action().takes_values() {
        let _ = write!(text, " One of {}.", values.join(", "));
    }
    let defaults: Vec<_> = one.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    if !defaults.is_empty() && one.get_action().takes_values() {
        let _ = write!(text, " Default: `{}`.", defaults.join(" "));
    }
    text
}

/// Plain words as Markdown takes them, on one line and ended.
fn escaped(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ").replace('<', "\\<").replace('*', "\\*");
    if text.ends_with(['.', '?']) || text.is_empty() { text } else { text + "." }
}

#[test]
fn the_pages_of_docs_commands_are_those_of_the_command_line() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(FOLDER);
    let pages = pages();
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("the folder of the pages");
        for (name, text) in &pages {
            std::fs::write(folder.join(name), text).expect("a page is written");
        }
    }
    let committed: BTreeMap<String, String> = std::fs::read_dir(&folder)
        .expect("the folder of the pages")
        .map(|entry| {
            let path = entry.expect("a page").path();
            let name = path.file_name().expect("a file").to_string_lossy().into_owned();
            (name, std::fs::read_to_string(path).expect("a page"))
        })
        .collect();
    for (name, text) in &pages {
        assert!(committed.get(name) == Some(text), "docs/commands/{name}: run cargo xtask docs");
    }
    assert_eq!(committed.keys().collect::<Vec<_>>(), pages.keys().collect::<Vec<_>>());
}

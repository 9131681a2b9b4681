//! Rule of the examples: a command in a document has options that its help knows.
//!
//! The help is that of the transcripts in `tests/cli`, which `cargo xtask golden` holds against the program. A command
//! without such a transcript is not checked.

use super::{Violation, has_extension};

/// The help of a command: its words, such as `clock check`, and the transcript.
type Help<'a> = (Vec<&'a str>, &'a str);

/// Every option that a command of the documents for users names and its help does not.
pub(super) fn examples(texts: &[(String, String)]) -> Vec<Violation> {
    let helps: Vec<Help<'_>> = texts.iter().filter_map(|(path, text)| help(path, text)).collect();
    let mut found = Vec::new();
    for (path, text) in texts.iter().filter(|(path, _)| is_for_users(path)) {
        for (line, command) in commands(text) {
            for option in unknown_options(command, &helps) {
                let reason = format!("`sidestep {command}`: its help has no {option}");
                found.push(Violation { path: path.clone(), line, reason });
            }
        }
    }
    found
}

/// The methodology is left to name hidden options as well.
fn is_for_users(path: &str) -> bool {
    let is_page = path.starts_with("docs/") && !path.starts_with("docs/methodology/");
    has_extension(path, "md") && (is_page || path == "README.md" || path == "CHANGELOG.md")
}

fn help<'a>(path: &str, text: &'a str) -> Option<Help<'a>> {
    let first = path.starts_with("tests/cli/help").then(|| text.lines().next())??;
    let words = first.strip_prefix("$ sidestep")?.strip_suffix("--help")?;
    Some((words.split_whitespace().collect(), text))
}

/// The commands of a document with their lines from 1, without `sidestep`: whole lines of code blocks, and code in lines.
fn commands(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut is_block = false;
    for (index, line) in text.lines().enumerate() {
        if line.starts_with("```") {
            is_block = !is_block;
            continue;
        }
        let codes: Vec<&str> =
            if is_block { vec![line] } else { line.split('`').skip(1).step_by(2).collect() };
        found.extend(
            codes.into_iter().filter_map(|code| code.strip_prefix("sidestep ")).map(|code| (index + 1, code)),
        );
    }
    found
}

/// The options of `command` before `--` or a comment that the help of the command does not name.
fn unknown_options<'a>(command: &'a str, helps: &[Help<'_>]) -> Vec<&'a str> {
    let words: Vec<&str> =
        command.split_whitespace().take_while(|word| !["--", "#"].contains(word)).collect();
    let own = helps.iter().filter(|(names, _)| words.starts_with(names));
    let Some((names, text)) = own.max_by_key(|(names, _)| names.len()) else { return vec![] };
    let next = words.get(names.len()).copied().unwrap_or("");
    let is_listed = |line: &str| {
        line.strip_prefix("  ").is_some_and(|rest| rest.split(' ').next() == Some(next)) && !next.is_empty()
    };
    if !next.starts_with('-') && text.lines().any(is_listed) {
        // A subcommand whose help has no transcript.
        return vec![];
    }
    let options = words.iter().filter(|word| word.starts_with("--"));
    options
        .map(|word| word.split('=').next().unwrap_or(word))
        .filter(|option| !names_it(text, option))
        .collect()
}

/// Does a line of the help begin with the option, after its short form if it has one?
fn names_it(help: &str, option: &str) -> bool {
    let is_end = |rest: &str| !rest.starts_with(|letter: char| letter.is_alphanumeric() || letter == '-');
    help.lines().any(|line| {
        let line = line.trim_start();
        let long = line.split_once(", ").filter(|(short, _)| short.len() == 2).map_or(line, |(_, long)| long);
        long.strip_prefix(option).is_some_and(is_end)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLOCK: &str = "$ sidestep clock check --help\nexit 0\n\nOptions:\n      --budget <TIME>\n  -q, --quiet\n      --gate[=<PERCENT>]\n";
    const WHOLE: &str = "$ sidestep --help\nexit 0\n\nCommands:\n  place  Threads\n  clock  Time\n\nOptions:\n      --quick\n";

    fn check(document: &str) -> Vec<String> {
        let text = |path: &str, text: &str| (path.to_owned(), text.to_owned());
        let texts = [
            text("docs/a.md", document),
            text("tests/cli/help-clock-check.txt", CLOCK),
            text("tests/cli/help.txt", WHOLE),
        ];
        examples(&texts).into_iter().map(|violation| violation.to_string()).collect()
    }

    #[test]
    fn options_that_the_help_names_are_good() {
        for document in [
            "`sidestep clock check --budget 1m --quiet --gate=2%`",
            "```\nsidestep clock check --quiet   # not --this\nsidestep --quick\n```",
            "`sidestep place --anything`",
            "`sidestep clock watch --anything`",
            "`sidestep --quick -- ./program --own`",
            "sidestep clock check --not-code",
        ] {
            assert_eq!(check(document), [""; 0], "{document}");
        }
    }

    #[test]
    fn options_that_the_help_does_not_name_are_named_with_their_line() {
        let expected = "docs/a.md:2: `sidestep clock check --budgets 1m`: its help has no --budgets";
        assert_eq!(check("So:\n`sidestep clock check --budgets 1m`"), [expected]);
        assert_eq!(check("```\nsidestep clock check --bud\n```").len(), 1);
        assert_eq!(check("`sidestep clock check --budget 1m --slow`").len(), 1);
        assert_eq!(check("```\nsidestep --slow\n```").len(), 1);
    }
}

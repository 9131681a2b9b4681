//! What is made from the definition of the command line: help, completions, manual pages, and a wrong line in one with what was meant.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap_complete::Shell;
use machine::did_you_mean;

use crate::arguments::definition;
use crate::outcome::{BAD_INPUT, Outcome};
use crate::output;

/// Prints help or version, or the usage error in one line.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        let printed = output::ensure_stdout().and_then(|()| error.print().map_err(output::refused));
        return Outcome::of(printed.map(|()| Outcome::Done)).exit_code();
    }
    // Where a subcommand is missing clap gives the help instead, which has a line of usage, too.
    let of_help = || error.to_string().lines().find(|line| line.starts_with("Usage:")).map(str::to_owned);
    let usage = error.get(ContextKind::Usage).map(ToString::to_string).or_else(of_help).unwrap_or_default();
    let command = command_of(&usage, &definition());
    let line = missing_subcommand(error, &command).unwrap_or_else(|| usage_line(&error.to_string()));
    let hint = error_hint(error).map(|word| format!("; did you mean {word}?"));
    let hint = hint.or_else(|| meant(error, &command)).unwrap_or_default();
    output::complain(&format!("{line}{hint}; see {command} --help"));
    ExitCode::from(BAD_INPUT)
}

/// Which subcommands there are, where one has to be chosen: clap would print the whole help.
fn missing_subcommand(error: &clap::Error, command: &str) -> Option<String> {
    let is_missing = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    let all = definition();
    let found = command.split(' ').skip(1).try_fold(&all, |command, word| command.find_subcommand(word))?;
    let names: Vec<&str> =
        found.get_subcommands().map(clap::Command::get_name).filter(|name| *name != "help").collect();
    let names = stats::text::listed(&names, "or");
    is_missing.then(|| format!("{command} needs one of its commands: {names}"))
}

/// What was meant by a word that clap did not expect: a program without `--`, or a flaw without `show`.
fn meant(error: &clap::Error, command: &str) -> Option<String> {
    let text = |kind| error.get(kind).map(ToString::to_string);
    match error.kind() {
        ErrorKind::UnknownArgument => {
            let word = text(ContextKind::InvalidArg).filter(|word| !word.starts_with('-'))?;
            let takes_a_program = ["ab", "bill", "place"].iter().any(|name| command.ends_with(name));
            takes_a_program.then(|| format!("; put -- before the program: {command} ... -- {word}"))
        }
        ErrorKind::InvalidSubcommand => {
            let word = text(ContextKind::InvalidSubcommand)?;
            let is_flaw = flaws::catalogue().flaws.iter().any(|flaw| flaw.id == word);
            (is_flaw && command.ends_with("flaws"))
                .then(|| format!("; did you mean sidestep flaws show {word}?"))
        }
        _ => None,
    }
}

/// What the user may have meant who typed something else.
fn error_hint(error: &clap::Error) -> Option<String> {
    const KINDS: [(ContextKind, ContextKind); 3] = [
        (ContextKind::SuggestedSubcommand, ContextKind::InvalidSubcommand),
        (ContextKind::SuggestedArg, ContextKind::InvalidArg),
        (ContextKind::SuggestedValue, ContextKind::InvalidValue),
    ];
    KINDS.into_iter().find_map(|(suggested, invalid)| {
        let word = match error.get(suggested)? {
            ContextValue::Strings(words) => words.first()?.clone(),
            other => other.to_string(),
        };
        // What clap finds similar need not be near.
        let typed = error.get(invalid)?.to_string();
        (!did_you_mean(&typed, [word.as_str()]).is_empty()).then_some(word)
    })
}

/// The command that a line of usage is about, as it is typed: `sidestep clock check`.
fn command_of(usage: &str, above: &clap::Command) -> String {
    let (mut name, mut command) = (above.get_name().to_owned(), above);
    let words: Vec<&str> = usage.split_whitespace().skip_while(|word| *word != name).skip(1).collect();
    for word in words {
        let Some(below) = command.find_subcommand(word) else { break };
        name = format!("{name} {word}");
        command = below;
    }
    name
}

/// The first paragraph of a usage error in one line: the rest repeats what `--help` says.
fn usage_line(text: &str) -> String {
    let paragraph = text.lines().take_while(|line| !line.trim().is_empty()).map(str::trim);
    paragraph.collect::<Vec<_>>().join(" ").trim_start_matches("error: ").to_owned()
}

/// Prints completions for a shell.
pub(crate) fn completions(shell: Shell) -> anyhow::Result<Outcome> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut definition(), "sidestep", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(Outcome::Done)
}

/// Writes `sidestep.1` and one page per command to an existing directory.
pub(crate) fn man(directory: &Path) -> anyhow::Result<Outcome> {
    clap_mangen::generate_to(definition(), directory).with_context(|| {
        format!("cannot write manual pages to {}; give an existing directory", directory.display())
    })?;
    Ok(Outcome::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_usage_error_keeps_the_names_of_what_is_missing() {
        let text = "error: the following required arguments were not provided:\n  <RECORD>\n\nUsage: x\n";
        assert_eq!(usage_line(text), "the following required arguments were not provided: <RECORD>");
    }

    #[test]
    fn a_usage_error_points_to_the_help_of_its_command_and_to_the_word_that_was_meant() {
        for (words, help, hint) in [
            ("ab", "sidestep ab", None),
            ("clock check --nonsense", "sidestep clock check", None),
            ("--nonsense", "sidestep", None),
            ("clok check", "sidestep", Some("clock")),
            ("toggles sow", "sidestep toggles", Some("show")),
            ("ab --togle thp", "sidestep ab", Some("--toggle")),
            ("simulate fx-8150 --gate", "sidestep simulate", None),
            // Of a value clap does not say whose it is.
            ("run --color alway", "sidestep", Some("always")),
        ] {
            let given = ["sidestep"].into_iter().chain(words.split(' '));
            let error = definition().try_get_matches_from(given).expect_err("wrong");
            let usage = error.get(ContextKind::Usage).map(ToString::to_string).unwrap_or_default();
            assert_eq!(command_of(&usage, &definition()), help, "{words}: {usage}");
            assert_eq!(error_hint(&error).as_deref(), hint, "{words}");
        }
    }
}

//! Programs as the subject of an experiment: what is run in each state, and how.

use std::ffi::OsString;

use anyhow::Context;
use experiments::ab::command_subject::{HowToRun, Program};
use experiments::ab::metric::Metric;
use host::live::ChildOutput;
use regex::bytes::Regex;

use super::arguments::{AbArguments, Way};

/// What is run in states A and B.
pub(super) fn programs(arguments: &AbArguments) -> anyhow::Result<[Program; 2]> {
    if let (Some(a), Some(b)) = (&arguments.a, &arguments.b) {
        return Ok([program(a, arguments.no_shell)?, program(b, arguments.no_shell)?]);
    }
    let program = Program::of(arguments.command.clone());
    Ok([program.clone(), program])
}

fn program(text: &str, no_shell: bool) -> anyhow::Result<Program> {
    let words: Vec<OsString> = if no_shell {
        text.split_whitespace().map(OsString::from).collect()
    } else {
        ["sh", "-c", text].map(OsString::from).to_vec()
    };
    anyhow::ensure!(!text.trim().is_empty(), "--a and --b need a command each");
    Ok(Program::of(words))
}

/// How programs are run.
pub(super) fn how(arguments: &AbArguments) -> HowToRun {
    HowToRun {
        prepare: arguments.prepare.clone(),
        cleanup: arguments.cleanup.clone(),
        limit: arguments.timeout,
        any_exit_code: arguments.ignore_failure,
        output: if arguments.show_output { ChildOutput::Show } else { ChildOutput::Discard },
    }
}

/// The metric asked for.
pub(crate) fn metric(text: Option<&str>, better: Way) -> anyhow::Result<Option<Metric>> {
    let Some(text) = text else { return Ok(None) };
    let pattern = Regex::new(text).with_context(|| format!("--metric {text} is no regular expression"))?;
    Ok(Some(Metric { pattern, better: better.into() }))
}

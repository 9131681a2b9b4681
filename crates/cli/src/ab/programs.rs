//! Programs as the subject of an experiment: what is run in each state.

use std::ffi::OsString;

use experiments::ab::command_subject::Program;

use super::arguments::AbArguments;

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

//! A program that is run to be measured, and how a run of it failed: in a few words, with the last line of its complaint.

use std::ffi::OsString;
use std::process::Command;

use host::live::{ChildRun, Ending};

/// Only so much of a program's complaint is shown.
const COMPLAINT_CHARACTERS: usize = 120;

/// What is run.
#[derive(Debug, Clone)]
pub struct Program {
    /// Program and arguments.
    pub words: Vec<OsString>,
    /// Variables beside those of this process.
    pub environment: Vec<(OsString, OsString)>,
}

impl Program {
    /// Without variables of its own.
    pub fn of(words: Vec<OsString>) -> Self {
        Self { words, environment: Vec::new() }
    }

    /// Ready to be started.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).envs(self.environment.iter().cloned());
        command
    }
}

/// How a run failed; `None` if it worked.
pub fn how_it_failed(run: &ChildRun) -> Option<String> {
    let how = match &run.ending {
        Ending::Code(0) => return None,
        Ending::Code(127) => "exit code 127, a program that is not found".to_owned(),
        Ending::Code(code) => format!("exit code {code}"),
        Ending::Signal(signal) => format!("ended by signal {signal}"),
        Ending::TimedOut => format!("killed after {:.1} s, its time limit", run.wall_s),
        Ending::Interrupted => "interrupted".to_owned(),
    };
    let said = String::from_utf8_lossy(&run.errors);
    let last = said.lines().rev().map(str::trim).find(|line| !line.is_empty());
    let last: Option<String> = last.map(|line| line.chars().take(COMPLAINT_CHARACTERS).collect());
    Some(last.map_or(how.clone(), |line| format!("{how}: {line:?}")))
}

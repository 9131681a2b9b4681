//! What people paste into public bug reports, and what has to be said of it: one row a paste, by what it is about.
//!
//! The pastes lie beside the repository; where they are absent the tests say so.

mod causes;
mod machines;
mod reports;
mod results;
mod tables;

use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of a case, if the pastes are here.
fn folder(case: &str) -> Option<PathBuf> {
    let field = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/field");
    if !field.is_dir() {
        eprintln!("skipped {case}: {} is not here", field.display());
        return None;
    }
    let folder = field.join(case);
    assert!(folder.is_dir(), "no case {case}");
    Some(folder)
}

/// What the program printed and its exit status, started in a folder.
struct Said {
    stdout: String,
    stderr: String,
    status: i32,
}

/// Runs the program with a line of arguments in the folder of a case.
fn sidestep(folder: &Path, arguments: &str) -> Said {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sidestep"));
    command.current_dir(folder).args(arguments.split_whitespace()).env("NO_COLOR", "1").env("COLUMNS", "200");
    let output = command.output().expect("the program starts");
    Said {
        stdout: String::from_utf8(output.stdout).expect("UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("UTF-8"),
        status: output.status.code().expect("no signal"),
    }
}

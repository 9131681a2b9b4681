//! The door to the development tasks: `cargo xtask TASK`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    xtask::command::main()
}

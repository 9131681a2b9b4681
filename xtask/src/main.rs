//! The door to the development tasks: `cargo xtask COMMAND`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use xtask::command::{COMMANDS, Command};

/// Exit code for a task that ran and found something wrong.
const EXIT_FAILED: u8 = 1;
/// Exit code for a command line that cannot be understood.
const EXIT_BAD_USE: u8 = 2;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, rest)) = arguments.split_first() else {
        print!("{}", overview());
        return ExitCode::from(EXIT_BAD_USE);
    };
    if name == "--help" || name == "-h" || name == "help" {
        print!("{}", overview());
        return ExitCode::SUCCESS;
    }
    let Some(command) = COMMANDS.iter().find(|command| command.name == name) else {
        eprintln!("no task is called {name}; cargo xtask --help lists them");
        return ExitCode::from(EXIT_BAD_USE);
    };
    if rest.iter().any(|argument| argument == "--help" || argument == "-h") {
        println!("cargo xtask {}: {}\n\n{}", command.name, command.summary, command.help);
        return ExitCode::SUCCESS;
    }
    run(command, rest)
}

fn run(command: &Command, arguments: &[String]) -> ExitCode {
    match (command.run)(arguments) {
        Ok(totals) if totals.failed == 0 => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(EXIT_FAILED),
        Err(error) if error.is::<xtask::flags::BadUse>() => {
            eprintln!("{error}; cargo xtask {} --help says more", command.name);
            ExitCode::from(EXIT_BAD_USE)
        }
        Err(error) => {
            eprintln!("cargo xtask {}: {error:#}", command.name);
            ExitCode::from(EXIT_FAILED)
        }
    }
}

fn overview() -> String {
    let rows = COMMANDS.iter().map(|command| format!("  {:<20}{}\n", command.name, command.summary));
    format!("cargo xtask COMMAND [--help]\n\n{}", rows.collect::<String>())
}

//! The sidestep command: arguments in, exit code out.
#![forbid(unsafe_code)]

mod ab;
mod arguments;
mod bill;
mod check_up;
mod clock;
mod compare;
mod describe;
mod flaws;
mod fleet;
mod forms;
mod gate_flags;
mod guard;
mod help;
mod history;
mod options;
mod outcome;
mod output;
mod place;
mod progress;
mod recording;
mod show;
mod simulate;
mod sockets;
mod store;
mod toggles;
mod usage;
mod workloads;

use std::process::ExitCode;

use arguments::{Arguments, Command};
use options::Global;
use outcome::Outcome;

fn main() -> ExitCode {
    host::live::outlive_file_size_limit();
    let (command, global) = match Arguments::parsed(std::env::args_os()) {
        Ok(arguments) => arguments,
        Err(error) => return usage::usage(&error),
    };
    if !matches!(command, Command::Toggles(_)) {
        toggles::mention_what_was_left(&global);
    }
    let result = global.ensure_new_page().and_then(|()| run(command, &global));
    Outcome::of(result).exit_code()
}

fn run(command: Command, global: &Global) -> anyhow::Result<Outcome> {
    match command {
        Command::Run(run) => check_up::run(&run, global),
        Command::Machine(machine) => describe::machine(&machine, global),
        Command::Show(show) => show::show(&show, global),
        Command::Clock(arguments) => clock::clock(&arguments, global),
        Command::History(arguments) => history::history(&arguments, global),
        Command::Guard(arguments) => guard::guard(&arguments, global),
        Command::Flaws(arguments) => flaws::flaws(&arguments, global),
        Command::Fleet(arguments) => fleet::fleet(&arguments, global),
        Command::Ab(arguments) => ab::ab(&arguments, global),
        Command::Bill(arguments) => bill::bill(&arguments, global),
        Command::Compare(compare) => compare::compare(&compare, global),
        Command::Place(arguments) => place::place(&arguments, global),
        Command::Simulate(arguments) => simulate::simulate(&arguments, global),
        Command::Sockets(arguments) => sockets::sockets(&arguments, global),
        Command::Toggles(arguments) => toggles::toggles(&arguments, global),
        Command::Workloads(arguments) => workloads::workloads(&arguments, global),
        Command::Completions { shell } => usage::completions(shell),
        Command::Man { directory } => usage::man(&directory),
    }
}

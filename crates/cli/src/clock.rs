//! `sidestep clock`: is time safe on this machine, and does it stay so.

mod arguments;
mod check;
mod injection;
mod metrics;
mod watch;

pub(crate) use arguments::ClockArguments;
use arguments::ClockCommand;

use crate::arguments::Global;
use crate::outcome::Outcome;

/// Does what was asked for.
pub(crate) fn clock(arguments: &ClockArguments, global: &Global) -> anyhow::Result<Outcome> {
    match &arguments.command {
        ClockCommand::Check(check) => check::check(check, global),
        ClockCommand::Watch(watch) => watch::watch(watch, global),
    }
}

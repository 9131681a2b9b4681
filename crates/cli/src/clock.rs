//! `sidestep clock`: is time safe on this machine, does it stay so, and what does reading it cost.

mod arguments;
mod check;
mod cost;
mod injection;
mod metrics;
mod thread_range;
mod watch;

pub(crate) use arguments::ClockArguments;
use arguments::ClockCommand;

use crate::arguments::Global;
use crate::outcome::Outcome;

/// Does what was asked for.
pub(crate) fn clock(arguments: &ClockArguments, global: &Global) -> anyhow::Result<Outcome> {
    match &arguments.command {
        ClockCommand::Check(check) => check::check(check, global),
        ClockCommand::Cost(cost) => cost::cost(cost, global),
        ClockCommand::Watch(watch) => watch::watch(watch, global),
    }
}

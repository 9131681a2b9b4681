//! `sidestep clock`: is time safe on this machine, does it stay so, and what does reading it cost.

mod arguments;
mod check;
mod cost;
mod injection;
mod thread_range;
mod watch;

pub(crate) use arguments::ClockArguments;
use arguments::ClockCommand;

use host::live;

use crate::global::Global;
use crate::outcome::{CouldNotMeasure, Outcome};

/// Does what was asked for.
pub(crate) fn clock(arguments: &ClockArguments, global: &Global) -> anyhow::Result<Outcome> {
    match &arguments.command {
        ClockCommand::Check(check) => check::check(check, global),
        ClockCommand::Cost(cost) => cost::cost(cost, global),
        ClockCommand::Watch(watch) => watch::watch(watch, global),
    }
}

/// How a measurement ended: by what it left changed, a signal, or why nothing was measured; else by its result.
fn ended(
    left_changed: &[String],
    failure: Option<anyhow::Error>,
    result: impl FnOnce() -> Outcome,
) -> anyhow::Result<Outcome> {
    if !left_changed.is_empty() {
        return Ok(Outcome::LeftChanged(anyhow::anyhow!(
            "{} are not put back; sidestep toggles revert does it",
            left_changed.join(", ")
        )));
    }
    if let Some(signal) = live::pending_signal() {
        return Ok(Outcome::Interrupted(signal));
    }
    if let Some(failure) = failure {
        return Err(CouldNotMeasure::because(failure));
    }
    Ok(result())
}

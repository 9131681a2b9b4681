//! `sidestep toggles set`: switch until revert, or hold for a time under a watchdog.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use host::live::{pending_signal, utc_now};
use host::{Door, Target};
use serde_json::{Value as Json, json};
use toggles::{
    Change, Consent, Experiment, Hold, Intent, Place, Restored, Surroundings, Switch, find, remember, survey,
};

use super::arguments::SetArguments;
use super::{Described, SCHEMA, state};
use crate::arguments::Global;
use crate::outcome::Outcome;
use crate::output;

/// How often a signal or the end of the time is looked for.
const POLL: Duration = Duration::from_millis(20);
/// The watchdog gives this much time beyond what was asked for.
const DEADLINE_SLACK: Duration = Duration::from_secs(10);

/// Switches.
pub(super) fn set(arguments: &SetArguments, global: &Global) -> anyhow::Result<Outcome> {
    let place = arguments.place.place();
    let described = Described::open(place.tree.as_deref())?;
    let changes = changes(&arguments.switches, &described.around(), arguments.consent.into())?;
    let label = arguments.switches.join(" ");
    if arguments.dry_run {
        return dry_run(&place, &changes, global);
    }
    state::offer_to_mend(&place, global)?;
    let intent = Intent { label: &label, states: &[&changes], kept: arguments.duration.is_none() };
    match arguments.duration {
        Some(duration) => hold(&place, &intent, &changes, duration, global),
        None => keep(&place, &intent, &changes, global),
    }
}

/// The changes that all switches need, if the user has agreed to each.
fn changes(switches: &[String], around: &Surroundings, consent: Consent) -> anyhow::Result<Vec<Change>> {
    let mut all: Vec<Change> = Vec::new();
    for text in switches {
        let (name, wanted) = text.split_once('=').unwrap_or((text, ""));
        let toggle = find(name)?;
        let about = toggle.about();
        let value = toggle.value(around, wanted)?;
        if toggle.now(around).as_deref() != Some(wanted) {
            consent.allows(about.name, value.risk, about.opens)?;
        }
        let Switch::System(changes) = toggle.switch(around, wanted)? else {
            anyhow::bail!(
                "{name} ends with a process, so there is nothing to set; name it to an experiment instead"
            );
        };
        for change in changes {
            anyhow::ensure!(
                all.iter().all(|other| other.target != change.target),
                "{name} writes {} a second time; set one after the other",
                change.target
            );
            all.push(change);
        }
    }
    Ok(all)
}

fn dry_run(place: &Place, changes: &[Change], global: &Global) -> anyhow::Result<Outcome> {
    let mut door = place.door();
    let mut writes = Vec::new();
    for change in changes {
        writes.push((change, door.read(&change.target)?));
    }
    if global.json {
        let row = |(change, now): &(&Change, String)| json!({ "target": change.target, "now": now, "write": change.value, "is_written": *now != change.value });
        let rows: Vec<Json> = writes.iter().map(row).collect();
        super::print_json(&json!({ "schema": SCHEMA, "writes": rows }))?;
        return Ok(Outcome::Done);
    }
    let line = |(change, now): &(&Change, String)| {
        let Change { target, value } = change;
        if now == value {
            return format!("{target}: {value} already, nothing is written\n");
        }
        format!("{target}: write {value}, later put back {now}\n")
    };
    let mut lines: String = writes.iter().map(line).collect();
    let affinities = remember(&mut door, &survey(&mut place.door(), &[changes])?)?;
    lines.extend(affinities.map(|have| state::bound(&have) + "\n"));
    output::print_lines(&lines)?;
    Ok(Outcome::Done)
}

/// Makes the changes and leaves them, with the journal that `revert` needs.
fn keep(place: &Place, intent: &Intent, changes: &[Change], global: &Global) -> anyhow::Result<Outcome> {
    let _lock = place.folder().try_lock()?;
    let mut door = place.door();
    let before: Vec<(Target, String)> =
        survey(&mut door, intent.states)?.into_iter().map(|entry| (entry.target, entry.old)).collect();
    let mut experiment = Experiment::begin(door, place.folder(), place.owner()?, intent, utc_now())?;
    if let Err(error) = experiment.switch(changes) {
        let results = experiment.end();
        return state::after_error(error.into(), &results);
    }
    experiment.keep();
    if !global.quiet {
        for ((target, old), change) in before.iter().zip(changes) {
            output::say(&format!("{target}: {old} -> {}", change.value));
        }
        output::say("sidestep toggles revert puts it back");
    }
    if global.json {
        super::print_json(&json!({ "schema": SCHEMA, "set": intent.label, "kept": true }))?;
    }
    Ok(Outcome::Done)
}

/// Makes the changes, waits, and puts everything back.
fn hold(
    place: &Place,
    intent: &Intent,
    changes: &[Change],
    duration: Duration,
    global: &Global,
) -> anyhow::Result<Outcome> {
    host::live::install_handlers().context("cannot listen to signals")?;
    let mut hold = Hold::begin(place, intent, duration + DEADLINE_SLACK)?;
    let started = Instant::now();
    if let Err(error) = hold.switch(changes) {
        let results = hold.end();
        return state::after_error(error.into(), &results);
    }
    if !global.quiet {
        output::say(&format!("{} for {} s, Ctrl-C ends it", intent.label, duration.as_secs_f64()));
    }
    while started.elapsed() < duration && pending_signal().is_none() {
        thread::sleep(POLL.min(duration.saturating_sub(started.elapsed())));
    }
    let results: Vec<Restored> = hold.end();
    state::report(&results, global)?;
    Ok(match pending_signal() {
        _ if results.iter().any(|result| !result.is_settled()) => state::left_changed(),
        Some(signal) => Outcome::Interrupted(signal),
        None => Outcome::Done,
    })
}

//! `sidestep toggles set`: switch until revert, or hold for a time under a watchdog.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use host::live::{pending_signal, utc_now};
use host::{Door, Target};
use serde_json::{Value as Json, json};
use toggles::{
    Affinities, Change, Consent, Experiment, Hold, Intent, Place, Restored, Surroundings, Switch, find,
    remember, survey,
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
    let plan = Plan::of(place, changes)?;
    if global.json {
        super::print_json(&plan.json())?;
        return Ok(Outcome::Done);
    }
    let line = |(change, now): &(&Change, String)| {
        let Change { target, value } = change;
        if now == value {
            return format!("{target}: {value} already, nothing is written\n");
        }
        format!("{target}: write {value}, later put back {now}\n")
    };
    let mut lines: String = plan.writes.iter().map(line).collect();
    lines.extend(plan.affinities.map(|have| state::bound(&have) + "\n"));
    output::print_lines(&lines)?;
    Ok(Outcome::Done)
}

/// What would be written, and what would be remembered and compared because CPUs go away.
struct Plan<'a> {
    writes: Vec<(&'a Change, String)>,
    affinities: Option<Affinities>,
}

impl<'a> Plan<'a> {
    fn of(place: &Place, changes: &'a [Change]) -> anyhow::Result<Self> {
        let mut door = place.door();
        let mut writes = Vec::new();
        for change in changes {
            writes.push((change, door.read(&change.target)?));
        }
        let entries = survey(&mut door, &[changes])?;
        Ok(Self { writes, affinities: remember(&mut door, &entries)? })
    }

    /// The affinities as the journal holds them: each file and group of threads is put back where it differs afterwards.
    fn json(&self) -> Json {
        let row = |(change, now): &(&Change, String)| json!({ "target": change.target, "now": now, "write": change.value, "is_written": *now != change.value });
        let rows: Vec<Json> = self.writes.iter().map(row).collect();
        json!({ "schema": SCHEMA, "writes": rows, "affinities": self.affinities })
    }
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Two CPUs, a thread and an interrupt bound to the second.
    const FILES: [(&str, &str); 8] = [
        ("sys/devices/system/cpu/cpu1/online", "1\n"),
        ("sys/devices/system/cpu/online", "0-1\n"),
        ("proc/irq/default_smp_affinity", "3\n"),
        ("proc/irq/7/smp_affinity_list", "1\n"),
        ("proc/self/status", "\n"),
        ("proc/101/task/101/stat", "101 (a) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 0 0 0 0 5 0\n"),
        ("proc/101/task/101/status", "Cpus_allowed_list:\t1\n"),
        ("proc/sys/kernel/numa_balancing", "1\n"),
    ];

    #[test]
    fn a_plan_that_takes_a_cpu_away_lists_what_is_put_back_afterwards() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (path, text) in FILES {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().expect("below the folder")).expect("folders");
            fs::write(path, text).expect("a file");
        }
        let place = Place { state: folder.path().join("state"), tree: Some(folder.path().to_owned()) };
        let plan = |path: &str| {
            let target = Target::File { path: path.to_owned() };
            let changes = [Change { target, value: "0".to_owned() }];
            Plan::of(&place, &changes).expect("readable").json()
        };
        let away = plan("sys/devices/system/cpu/cpu1/online");
        assert_eq!(away["writes"][0]["is_written"], true);
        assert_eq!(away["affinities"]["leaving"], "1");
        let file = json!({ "path": "proc/irq/7/smp_affinity_list", "cpus": "1" });
        assert!(away["affinities"]["files"].as_array().is_some_and(|files| files.contains(&file)), "{away}");
        assert_eq!(away["affinities"]["tasks"], json!([{ "cpus": "1", "threads": "101/101@5" }]));
        let other = plan("proc/sys/kernel/numa_balancing");
        assert_eq!((&other["writes"][0]["now"], &other["affinities"]), (&json!("1"), &Json::Null));
    }
}

//! `sidestep toggles set`: switch until revert, or hold for a time under a watchdog.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use host::live::{pending_signal, utc_now};
use host::{SystemWriter, Target};
use serde_json::{Value as Json, json};
use toggles::{
    Affinities, Change, Consent, Experiment, Found, Hold, Intent, Place, Restored, Switch, SystemState, find,
    find_state, remember, survey,
};

use super::{Described, SCHEMA, SetArguments, state};
use crate::options::Global;
use crate::outcome::Outcome;
use crate::output;

/// How often a signal or the end of the time is looked for.
const POLL: Duration = Duration::from_millis(20);
/// The watchdog gives this much time beyond what was asked for: whoever hangs has the machine for a second more.
const DEADLINE_SLACK: Duration = Duration::from_secs(1);

/// Switches.
pub(super) fn set(arguments: &SetArguments, global: &Global) -> anyhow::Result<Outcome> {
    let place = arguments.place.place();
    let described = Described::open(place.tree.as_deref())?;
    let mut switches = switches(&arguments.switches, &described.system_state(), arguments.consent.into())?;
    if arguments.dry_run {
        let changes: Vec<Change> = switches.into_iter().flat_map(|switch| switch.changes).collect();
        return dry_run(&place, &changes, global);
    }
    state::offer_to_mend(&place, global)?;
    ensure_nobody_holds(&place)?;
    leave_out_what_holds(&place, &mut switches, global)?;
    let label = switches.iter().map(|switch| switch.text.as_str()).collect::<Vec<_>>().join(" ");
    let changes: Vec<Change> = switches.into_iter().flat_map(|switch| switch.changes).collect();
    if changes.is_empty() {
        if global.json {
            output::print_json(&json!({ "schema": SCHEMA, "set": label, "kept": false }))?;
        }
        return Ok(Outcome::Done);
    }
    let intent = Intent { label: &label, states: &[&changes], kept: arguments.duration.is_none() };
    match arguments.duration {
        Some(duration) => hold(&place, &intent, &changes, duration, global),
        None => keep(&place, &intent, &changes, global),
    }
}

/// `NAME=VALUE`, and what it writes.
struct Asked {
    text: String,
    changes: Vec<Change>,
}

/// What another experiment has written goes away with it, so nothing of it counts as already there.
fn ensure_nobody_holds(place: &Place) -> anyhow::Result<()> {
    if let Ok(Found::Running(_)) = find_state(place) {
        // Its lock says by whom and for how long; a lock that is given means that it has just put all back.
        drop(place.folder().try_lock()?);
    }
    Ok(())
}

/// What shows its value already is not written, journalled or put back.
fn leave_out_what_holds(place: &Place, switches: &mut Vec<Asked>, global: &Global) -> anyhow::Result<()> {
    let mut writer = place.writer();
    for switch in &mut *switches {
        let mut needed = Vec::new();
        for change in switch.changes.drain(..) {
            if writer.read(&change.target)? != change.value {
                needed.push(change);
            } else if !global.quiet {
                output::say(&already(&change));
            }
        }
        switch.changes = needed;
    }
    switches.retain(|switch| !switch.changes.is_empty());
    Ok(())
}

fn already(change: &Change) -> String {
    format!("{}: {} already, nothing is written", change.target, change.value)
}

/// The changes that each switch needs, if the user has agreed to it.
fn switches(switches: &[String], system: &SystemState, consent: Consent) -> anyhow::Result<Vec<Asked>> {
    let mut all: Vec<Asked> = Vec::new();
    for text in switches {
        let (name, asked) = text.split_once('=').unwrap_or((text, ""));
        let toggle = find(name)?;
        anyhow::ensure!(
            text.contains('='),
            "give a value, {name}=VALUE; sidestep toggles show {name} names them"
        );
        let about = toggle.about();
        let value = toggle.value(system, asked)?;
        if toggle.now(system).as_deref() != Some(asked) {
            consent.allows(about.name, value.risk, about.opens)?;
        }
        let Switch::System(changes) = toggle.switch(system, asked)? else {
            anyhow::bail!(
                "cannot set {name}: it ends with a process; compare it in an experiment, such as sidestep ab --toggle {name} \
                 -- ./program"
            );
        };
        for change in &changes {
            anyhow::ensure!(
                all.iter().flat_map(|other| &other.changes).all(|other| other.target != change.target),
                "{name} writes {} a second time; set one after the other",
                change.target
            );
        }
        all.push(Asked { text: text.clone(), changes });
    }
    Ok(all)
}

/// Each change with the present value, and the affinities that would be remembered and compared because CPUs go away.
type Planned<'a> = (Vec<(&'a Change, String)>, Option<Affinities>);

fn planned<'a>(place: &Place, changes: &'a [Change]) -> anyhow::Result<Planned<'a>> {
    let mut writer = place.writer();
    let mut writes = Vec::new();
    for change in changes {
        writes.push((change, writer.read(&change.target)?));
    }
    let entries = survey(&mut writer, &[changes])?;
    Ok((writes, remember(&mut writer, &entries)?))
}

/// The affinities as the journal holds them: each file and group of threads is put back where it differs afterwards.
fn plan_json((writes, affinities): &Planned<'_>) -> Json {
    let row = |(change, now): &(&Change, String)| json!({ "target": change.target, "now": now, "write": change.value, "is_written": *now != change.value });
    let rows: Vec<Json> = writes.iter().map(row).collect();
    json!({ "schema": SCHEMA, "writes": rows, "affinities": affinities })
}

fn dry_run(place: &Place, changes: &[Change], global: &Global) -> anyhow::Result<Outcome> {
    let plan = planned(place, changes)?;
    if global.json {
        output::print_json(&plan_json(&plan))?;
        return Ok(Outcome::Done);
    }
    let (writes, affinities) = plan;
    let line = |(change, now): &(&Change, String)| {
        let Change { target, value } = change;
        if now == value {
            return already(change) + "\n";
        }
        format!("{target}: write {value}, later put back {now}\n")
    };
    let mut lines: String = writes.iter().map(line).collect();
    lines.extend(affinities.and_then(|have| Some(state::bound(&have)? + "\n")));
    output::print_lines(&lines)?;
    Ok(Outcome::Done)
}

/// Makes the changes and leaves them, with the journal that `revert` needs.
fn keep(place: &Place, intent: &Intent, changes: &[Change], global: &Global) -> anyhow::Result<Outcome> {
    let _lock = place.folder().try_lock()?;
    let mut writer = place.writer();
    let before: Vec<(Target, String)> =
        survey(&mut writer, intent.states)?.into_iter().map(|entry| (entry.target, entry.old)).collect();
    let mut experiment = Experiment::begin(writer, place.folder(), place.owner()?, intent, utc_now())?;
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
        output::print_json(&json!({ "schema": SCHEMA, "set": intent.label, "kept": true }))?;
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
    fn a_value_that_another_run_holds_is_not_called_set_already() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (path, text) in
            [("proc/sys/kernel/numa_balancing", "1\n"), ("proc/sys/kernel/random/boot_id", "b\n")]
        {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().expect("below the folder")).expect("folders");
            fs::write(path, text).expect("a file");
        }
        let place = Place { state: folder.path().join("state"), tree: Some(folder.path().to_owned()) };
        ensure_nobody_holds(&place).expect("nobody does");
        let lock = place.folder().try_lock().expect("nobody has it");
        let target = Target::File { path: "proc/sys/kernel/numa_balancing".to_owned() };
        let changes = [Change { target, value: "0".to_owned() }];
        let intent = Intent { label: "numa-balancing=off", states: &[&changes], kept: false };
        let owner = place.owner().expect("this process");
        let mut running =
            Experiment::begin(place.writer(), place.folder(), owner, &intent, utc_now()).expect("begun");
        running.switch(&changes).expect("writable");
        let refused = ensure_nobody_holds(&place).expect_err("this process holds it").to_string();
        assert!(refused.contains("another experiment is running"), "{refused}");
        assert!(running.end().iter().all(Restored::is_settled));
        drop(lock);
        ensure_nobody_holds(&place).expect("it ended");
    }

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
            plan_json(&planned(&place, &changes).expect("readable"))
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

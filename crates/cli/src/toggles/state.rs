//! `sidestep toggles status` and `revert`: what was left switched, by whom, and putting it back.

use std::io::{self, BufRead, IsTerminal};

use host::Door;
use serde_json::{Value as Json, json};
use toggles::{
    Affinities, Entry, Fate, Found, Journal, Pins, Place, Restored, Revert, Reverted, Unreadable, find_state,
};

use super::SCHEMA;
use super::arguments::RevertArguments;
use crate::arguments::Global;
use crate::outcome::Outcome;
use crate::output;

/// Puts back what was left.
pub(super) fn revert(arguments: &RevertArguments, global: &Global) -> anyhow::Result<Outcome> {
    let place = arguments.place.of_user();
    if arguments.dry_run {
        return dry_run(&place, arguments.force, global);
    }
    let how = Revert { force: arguments.force, forget: arguments.forget };
    let reverted = toggles::revert(&place, how)?;
    tell(&reverted, &place, global)?;
    let is_unread = matches!(reverted, Reverted::SetAside(..) | Reverted::Refused(_));
    let is_forgotten = arguments.forget && !is_unread;
    Ok(if reverted.is_left_changed() && !is_forgotten { left_changed() } else { Outcome::Done })
}

/// Exit code 4, with the line that says what to do.
pub(crate) fn left_changed() -> Outcome {
    Outcome::LeftChanged(anyhow::anyhow!("the machine is left changed; sidestep toggles status says how"))
}

/// After an error everything was put back, or the machine is left changed.
pub(crate) fn after_error(error: anyhow::Error, results: &[Restored]) -> anyhow::Result<Outcome> {
    if results.iter().all(Restored::is_settled) {
        return Err(error);
    }
    let lines: Vec<String> = results.iter().filter(|result| !result.is_settled()).map(line).collect();
    let left = "the machine is left changed; sidestep toggles status says how";
    Ok(Outcome::LeftChanged(error.context(format!("{left}: {}", lines.join("; ")))))
}

fn tell(reverted: &Reverted, place: &Place, global: &Global) -> anyhow::Result<()> {
    if global.json {
        let (state, results, aside) = match reverted {
            Reverted::Nothing => ("nothing", &[][..], None),
            Reverted::Void(_) => ("void", &[][..], None),
            Reverted::SetAside(name, _) => ("damaged", &[][..], Some(name)),
            Reverted::Refused(_) => ("other_format", &[][..], None),
            Reverted::Done(_, results) => ("reverted", results.as_slice(), None),
        };
        let rows: Vec<Json> = results.iter().map(result_json).collect();
        return super::print_json(&json!({
            "schema": SCHEMA, "state": state, "results": rows, "set_aside": aside,
            "left_changed": reverted.is_left_changed(),
        }));
    }
    if global.quiet {
        return Ok(());
    }
    match reverted {
        Reverted::Nothing => output::print_lines("nothing is switched; nothing to put back\n"),
        Reverted::Void(journal) => output::print_lines(&format!(
            "{} was switched before the last boot, which reset it; nothing to put back\n",
            journal.label
        )),
        Reverted::SetAside(name, damaged) => output::print_lines(&format!(
            "{damaged}; it is kept as {}; compare its values with the machine's\n",
            place.state.join(name).display()
        )),
        Reverted::Refused(other) => output::print_lines(&format!("{other}; nothing was changed\n")),
        Reverted::Done(_, results) => report(results, global),
    }
}

/// One line for each value, unless the user wants none.
pub(super) fn report(results: &[Restored], global: &Global) -> anyhow::Result<()> {
    if global.json {
        let rows: Vec<Json> = results.iter().map(result_json).collect();
        return super::print_json(&json!({ "schema": SCHEMA, "results": rows }));
    }
    if global.quiet {
        return Ok(());
    }
    output::print_lines(&results.iter().map(|result| line(result) + "\n").collect::<String>())
}

fn line(result: &Restored) -> String {
    let Entry { target, old, .. } = &result.entry;
    match &result.fate {
        Fate::Restored => format!("{target}: {old} is back"),
        Fate::Untouched => format!("{target}: {old}, as before"),
        Fate::Foreign(now) => format!(
            "{target}: {now} was written by somebody else and is left alone; it was {old}; --force puts that back, --forget keeps theirs"
        ),
        Fate::Failed(reason) => format!("{target}: {old} is not back: {reason}"),
    }
}

fn result_json(result: &Restored) -> Json {
    let (fate, detail) = match &result.fate {
        Fate::Restored => ("restored", None),
        Fate::Untouched => ("untouched", None),
        Fate::Foreign(now) => ("foreign", Some(now)),
        Fate::Failed(reason) => ("failed", Some(reason)),
    };
    json!({ "target": result.entry.target, "old": result.entry.old, "fate": fate, "detail": detail })
}

fn dry_run(place: &Place, force: bool, global: &Global) -> anyhow::Result<Outcome> {
    let (Found::Kept(journal) | Found::Left(journal) | Found::Running(journal)) = find_state(place)? else {
        return status(place, global);
    };
    let mut door = place.door();
    let mut line = |entry: &Entry| {
        let Entry { target, old, ours } = entry;
        match door.read(target) {
            Ok(now) if now == *old => format!("{target}: {old} already, nothing is written\n"),
            Ok(now) if force || ours.contains(&now) => format!("{target}: write {old} in place of {now}\n"),
            Ok(now) => format!("{target}: {now} is somebody else's, nothing is written\n"),
            Err(error) => format!("{error}\n"),
        }
    };
    let mut lines: String = journal.entries.iter().rev().map(&mut line).collect();
    lines.extend(
        journal.affinities.as_ref().map(|have| format!("{}, and what differs is put back\n", bound(have))),
    );
    lines.extend(journal.pins.as_ref().map(|pins| format!("{}\n", pinned(pins))));
    output::print_lines(&lines)?;
    Ok(Outcome::Done)
}

/// Says whether anything is switched now.
pub(super) fn status(place: &Place, global: &Global) -> anyhow::Result<Outcome> {
    let found = find_state(place)?;
    let (state, journal) = match &found {
        Found::Nothing => ("nothing", None),
        Found::Running(journal) => ("running", Some(journal)),
        Found::Kept(journal) => ("kept", Some(journal)),
        Found::Left(journal) => ("left", Some(journal)),
        Found::Void(journal) => ("void", Some(journal)),
        Found::Unreadable(Unreadable::Damaged(_)) => ("damaged", None),
        Found::Unreadable(Unreadable::OtherFormat(_)) => ("other_format", None),
    };
    if global.json {
        super::print_json(&json!({ "schema": SCHEMA, "state": state, "journal": journal }))?;
    } else if !global.quiet {
        output::print_lines(&sentence(&found))?;
        if let Some(journal) = journal.filter(|_| !matches!(found, Found::Void(_))) {
            output::print_lines(&values(place, journal))?;
        }
    }
    Ok(if matches!(found, Found::Left(_) | Found::Unreadable(_)) {
        left_changed_quietly()
    } else {
        Outcome::Done
    })
}

/// Exit code 4 where the text has said it all.
fn left_changed_quietly() -> Outcome {
    Outcome::LeftChanged(anyhow::anyhow!(
        "an experiment did not put everything back; sidestep toggles revert does"
    ))
}

fn sentence(found: &Found) -> String {
    match found {
        Found::Nothing => "nothing is switched\n".to_owned(),
        Found::Running(journal) => {
            format!(
                "{} is switched since {} by process {}\n",
                journal.label, journal.since, journal.owner.pid
            )
        }
        Found::Kept(journal) => {
            format!(
                "{} is set since {}; sidestep toggles revert puts it back\n",
                journal.label, journal.since
            )
        }
        Found::Left(journal) => format!(
            "{} was switched {} by process {}, which is gone\n",
            journal.label, journal.since, journal.owner.pid
        ),
        Found::Void(journal) => {
            format!("{} was switched before the last boot, which reset it\n", journal.label)
        }
        Found::Unreadable(why) => format!("{why}\n"),
    }
}

fn values(place: &Place, journal: &Journal) -> String {
    let mut door = place.door();
    let line = |entry: &Entry| {
        let now = door.read(&entry.target).unwrap_or_else(|error| error.to_string());
        format!("  {}: {now}, was {}\n", entry.target, entry.old)
    };
    let mut lines: String = journal.entries.iter().map(line).collect();
    lines.extend(journal.affinities.as_ref().map(|have| format!("  {}\n", bound(have))));
    lines.extend(journal.pins.as_ref().map(|pins| format!("  {}\n", pinned(pins))));
    lines
}

/// Which threads will be set free.
fn pinned(pins: &Pins) -> String {
    let processes: Vec<String> = pins.process_ids().iter().map(|id| id.process.to_string()).collect();
    let (processes, cpus) = (processes.join(", "), &pins.cpus);
    format!("threads of process {processes} and its descendants that are pinned may use CPUs {cpus} again")
}

/// What will be compared once all CPUs are back.
pub(super) fn bound(affinities: &Affinities) -> String {
    let (threads, files) = affinities.counts();
    format!(
        "CPUs {} away: affinities of {threads} threads and {files} interrupts and cpusets are compared afterwards",
        affinities.leaving
    )
}

/// Says on standard error that an earlier experiment left the machine changed; asks whether to mend that, where
/// somebody is there to answer.
pub(crate) fn mention_what_was_left(global: &Global) {
    if let Err(error) = offer_to_mend(&Place::of_user(), global) {
        output::say(&format!("{error:#}"));
    }
}

/// The same at any place.
pub(crate) fn offer_to_mend(place: &Place, global: &Global) -> anyhow::Result<()> {
    let text = match find_state(place) {
        Ok(Found::Unreadable(other @ Unreadable::OtherFormat(_))) => {
            if !global.quiet {
                output::say(&other.to_string());
            }
            return Ok(());
        }
        Ok(found @ (Found::Left(_) | Found::Unreadable(_) | Found::Void(_))) => sentence(&found),
        // Who may not read the journal cannot mend it either.
        _ => return Ok(()),
    };
    if global.quiet {
        return Ok(());
    }
    output::say(text.trim_end());
    if io::stdin().is_terminal() && io::stderr().is_terminal() {
        output::say("put it back now? [Y/n]");
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer)?;
        if matches!(answer.trim(), "" | "y" | "Y" | "yes") {
            tell(
                &toggles::revert(place, Revert::default())?,
                place,
                &Global { json: false, ..global.clone() },
            )?;
        }
    } else {
        output::say("sidestep toggles revert mends it");
    }
    Ok(())
}

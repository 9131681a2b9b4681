//! `sidestep toggles status` and `revert`: what was left switched, by whom, and putting it back.

use std::io::{self, BufRead, IsTerminal};

use host::SystemWriter;
use serde_json::{Value as Json, json};
use toggles::{
    Affinities, Entry, Fate, Found, Journal, Pins, Place, Restored, Revert, Reverted, Unreadable, find_state,
    find_state_of_user,
};

use super::{RevertArguments, SCHEMA, StateArguments};
use crate::options::Global;
use crate::outcome::Outcome;
use crate::output;

/// Puts back what was left.
pub(super) fn revert(arguments: &RevertArguments, global: &Global) -> anyhow::Result<Outcome> {
    let place = arguments.place.of_user();
    if arguments.dry_run {
        anyhow::ensure!(
            !global.json,
            "--dry-run prints no JSON; sidestep toggles status --json has the journal"
        );
        return dry_run(&arguments.place, arguments.force, global);
    }
    let how = Revert { force: arguments.force, forget: arguments.forget };
    let reverted = toggles::revert(&place, how)?;
    if reverted == Reverted::Nothing
        && find_state_of_user(&place, &arguments.place.place())? != Found::Nothing
    {
        // Nothing of this user; what the machine has is root's to put back.
        status(&arguments.place, global)?;
        return Ok(Outcome::NotMeasured(anyhow::anyhow!(
            "cannot put back what root has switched; run sudo sidestep toggles revert"
        )));
    }
    print_reverted(&reverted, &place, global)?;
    let is_forgotten = arguments.forget && !matches!(reverted, Reverted::Refused(_));
    Ok(match reverted {
        Reverted::Refused(Unreadable::Damaged(_)) => left_unknown(),
        _ if reverted.is_left_changed() && !is_forgotten => left_changed(),
        _ => Outcome::Done,
    })
}

/// The same where nothing says what is left changed.
fn left_unknown() -> Outcome {
    Outcome::LeftChanged(anyhow::anyhow!("cannot read what is switched: the journal is damaged"))
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

fn print_reverted(reverted: &Reverted, place: &Place, global: &Global) -> anyhow::Result<()> {
    if global.json {
        let (state, results, aside) = match reverted {
            Reverted::Nothing => ("nothing", &[][..], None),
            Reverted::Void(_) => ("void", &[][..], None),
            Reverted::SetAside(name, _) => ("damaged", &[][..], Some(name)),
            Reverted::Refused(Unreadable::Damaged(_)) => ("damaged", &[][..], None),
            Reverted::Refused(Unreadable::OtherFormat(_)) => ("other_format", &[][..], None),
            Reverted::Done(_, results) => ("reverted", results.as_slice(), None),
        };
        let rows: Vec<Json> = results.iter().map(result_json).collect();
        return output::print_json(&json!({
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
        Reverted::Refused(why) => {
            output::print_lines(&format!("{}; nothing was changed\n", unreadable(why, place)))
        }
        Reverted::Done(_, results) => report(results, global),
    }
}

/// One line for each value, unless the user wants none.
pub(super) fn report(results: &[Restored], global: &Global) -> anyhow::Result<()> {
    if global.json {
        let rows: Vec<Json> = results.iter().map(result_json).collect();
        return output::print_json(&json!({ "schema": SCHEMA, "results": rows }));
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

fn dry_run(arguments: &StateArguments, force: bool, global: &Global) -> anyhow::Result<Outcome> {
    let place = &arguments.of_user();
    let (Found::Kept(journal) | Found::Left(journal) | Found::Running(journal)) = find_state(place)? else {
        return status(arguments, global);
    };
    let mut writer = place.writer();
    let mut line = |entry: &Entry| {
        let Entry { target, old, ours } = entry;
        match writer.read(target) {
            Ok(now) if now == *old => format!("{target}: {old} already, nothing is written\n"),
            Ok(now) if force || ours.contains(&now) => format!("{target}: write {old} in place of {now}\n"),
            Ok(now) => format!("{target}: {now} is somebody else's, nothing is written\n"),
            Err(error) => format!("{error}\n"),
        }
    };
    let mut lines: String = journal.entries.iter().rev().map(&mut line).collect();
    let bound = journal.affinities.as_ref().and_then(bound);
    lines.extend(bound.map(|bound| format!("{bound}, and what differs is put back\n")));
    lines.extend(journal.pins.as_ref().map(|pins| format!("{}\n", pinned(pins))));
    output::print_lines(&lines)?;
    Ok(Outcome::Done)
}

/// Says whether anything is switched now.
pub(super) fn status(arguments: &StateArguments, global: &Global) -> anyhow::Result<Outcome> {
    let place = &arguments.of_user();
    let found = find_state_of_user(place, &arguments.place())?;
    let (state, journal) = match &found {
        Found::Nothing => ("nothing", None),
        Found::Running(journal) => ("running", Some(journal)),
        Found::Kept(journal) => ("kept", Some(journal)),
        Found::Left(journal) => ("left", Some(journal)),
        Found::Void(journal) => ("void", Some(journal)),
        Found::Unreadable(Unreadable::Damaged(_)) => ("damaged", None),
        Found::Unreadable(Unreadable::OtherFormat(_)) => ("other_format", None),
        Found::Unseen(_) => ("unknown", None),
    };
    if global.json {
        output::print_json(&json!({ "schema": SCHEMA, "state": state, "journal": journal }))?;
    } else if !global.quiet {
        output::print_lines(&sentence(&found, place))?;
        if let Some(journal) = journal.filter(|_| !matches!(found, Found::Void(_))) {
            output::print_lines(&values(place, journal))?;
        }
    }
    Ok(match found {
        Found::Left(_) | Found::Unreadable(Unreadable::OtherFormat(_)) => Outcome::LeftChanged(
            anyhow::anyhow!("an experiment did not put everything back; sidestep toggles revert does"),
        ),
        Found::Unreadable(Unreadable::Damaged(_)) => left_unknown(),
        Found::Unseen(_) => Outcome::NotMeasured(anyhow::anyhow!(
            "cannot read what root has switched; run sudo sidestep toggles status"
        )),
        _ => Outcome::Done,
    })
}

/// Why a journal is of no use, and what to do about it.
fn unreadable(why: &Unreadable, place: &Place) -> String {
    match why {
        Unreadable::Damaged(damaged) => format!(
            "unknown what is switched: {damaged}; compare the machine with {}, then sidestep toggles revert --forget sets \
             that aside; a reboot resets every switch",
            place.state.join(toggles::JOURNAL_NAME).display()
        ),
        Unreadable::OtherFormat(_) => why.to_string(),
    }
}

fn sentence(found: &Found, place: &Place) -> String {
    match found {
        Found::Nothing => "nothing is switched\n".to_owned(),
        Found::Running(journal) => {
            format!(
                "{} is switched since {} by process {}\n",
                journal.label, journal.since, journal.owner.pid
            )
        }
        Found::Kept(journal) => {
            let how = if is_overwritten(place, journal) {
                "somebody else has written since: sidestep toggles revert --force puts it back, --forget keeps theirs"
            } else {
                "sidestep toggles revert puts it back"
            };
            format!("{} is set since {}; {how}\n", journal.label, journal.since)
        }
        Found::Left(journal) => format!(
            "{} was switched {} by process {}, which is gone\n",
            journal.label, journal.since, journal.owner.pid
        ),
        Found::Void(journal) => {
            format!("{} was switched before the last boot, which reset it\n", journal.label)
        }
        Found::Unreadable(why) => format!("{}\n", unreadable(why, place)),
        Found::Unseen(folder) => format!(
            "unknown what root has switched: {} can be read by root only; nothing of this user is switched\n",
            folder.display()
        ),
    }
}

/// True if a value is neither what it was nor what was written: a plain revert leaves it alone.
fn is_overwritten(place: &Place, journal: &Journal) -> bool {
    let mut writer = place.writer();
    let mut is_foreign = |entry: &Entry| {
        writer.read(&entry.target).is_ok_and(|now| now != entry.old && !entry.ours.contains(&now))
    };
    journal.entries.iter().any(&mut is_foreign)
}

fn values(place: &Place, journal: &Journal) -> String {
    let mut writer = place.writer();
    let line = |entry: &Entry| {
        let now = writer.read(&entry.target).unwrap_or_else(|error| error.to_string());
        format!("  {}: {now}, was {}\n", entry.target, entry.old)
    };
    let mut lines: String = journal.entries.iter().map(line).collect();
    lines.extend(journal.affinities.as_ref().and_then(bound).map(|bound| format!("  {bound}\n")));
    lines.extend(journal.pins.as_ref().map(|pins| format!("  {}\n", pinned(pins))));
    lines
}

/// Which threads will be set free.
fn pinned(pins: &Pins) -> String {
    let processes: Vec<String> = pins.process_ids().iter().map(|id| id.process.to_string()).collect();
    let (processes, cpus) = (processes.join(", "), &pins.cpus);
    format!("threads of process {processes} and its descendants that are pinned may use CPUs {cpus} again")
}

/// What will be compared once all CPUs are back; `None` if none is away.
pub(super) fn bound(affinities: &Affinities) -> Option<String> {
    let (threads, files) = affinities.counts();
    (!affinities.leaving.is_empty()).then(|| {
        format!(
            "CPUs {} away: affinities of {threads} threads and {files} interrupts and cpusets are compared afterwards",
            affinities.leaving
        )
    })
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
        Ok(Found::Unreadable(why)) => {
            if !global.quiet {
                output::say(&unreadable(&why, place));
            }
            return Ok(());
        }
        Ok(found @ (Found::Left(_) | Found::Void(_))) => sentence(&found, place),
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
            print_reverted(
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

#[cfg(test)]
mod tests {
    use std::fs;

    use host::Target;
    use host::live::utc_now;
    use toggles::{Change, Experiment, Intent};

    use super::*;

    #[test]
    fn a_value_that_somebody_else_wrote_is_not_said_to_be_put_back_by_a_plain_revert() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().expect("below the folder")).expect("folders");
            fs::write(path, text).expect("a file");
        };
        write("proc/sys/kernel/random/boot_id", "b\n");
        write("proc/sys/kernel/watchdog_thresh", "10\n");
        let place = Place { state: folder.path().join("state"), tree: Some(folder.path().to_owned()) };
        let _lock = place.folder().try_lock().expect("nobody has it");
        let target = Target::File { path: "proc/sys/kernel/watchdog_thresh".to_owned() };
        let changes = [Change { target, value: "20".to_owned() }];
        let intent = Intent { label: "x", states: &[&changes], kept: true };
        let owner = place.owner().expect("this process");
        let mut experiment =
            Experiment::begin(place.writer(), place.folder(), owner, &intent, utc_now()).expect("begun");
        experiment.switch(&changes).expect("writable");
        experiment.keep();
        let said = || sentence(&find_state(&place).expect("readable"), &place);
        assert!(said().ends_with("; sidestep toggles revert puts it back\n"), "{}", said());
        write("proc/sys/kernel/watchdog_thresh", "30\n");
        assert!(said().contains("revert --force puts it back, --forget keeps theirs"), "{}", said());
    }
}

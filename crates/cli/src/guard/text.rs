//! What the guard found, in words: the answer first.

use std::fmt::Write;

use experiments::guard::Guard;
use record::{GuardClass, GuardOutcome};
use report::{Terminal, paragraph};

/// Facts and numbers listed; --json has all.
const LISTED: usize = 12;

/// The answer, then what it rests on.
pub(super) fn outcome(found: &GuardOutcome, terminal: Terminal) -> String {
    let mut text = paragraph("", &found.sentence, terminal);
    for change in found.changes.iter().take(LISTED) {
        let what = change.row.as_ref().map_or_else(|| format!("{} as a whole", change.class), Clone::clone);
        let line =
            format!("{what}: cost {:+.1} % (limit {:.1} %)", change.slower_percent, change.limit_percent);
        text += &paragraph("  number  ", &line, terminal);
    }
    for fact in found.facts.iter().take(LISTED) {
        let value = |index: usize| fact.values.get(index).and_then(Option::as_deref).unwrap_or("none");
        text += &paragraph("  fact    ", &format!("{}: {} -> {}", fact.fact, value(0), value(1)), terminal);
    }
    for proof in &found.proofs {
        text += &paragraph("  prove   ", &format!("whether {} is the cause:", proof.fact), terminal);
        // A command is copied whole.
        let _ = writeln!(text, "            {}", proof.command);
    }
    for note in &found.notes {
        text += &paragraph("  note    ", note, terminal);
    }
    if !found.facts.is_empty() || !found.changes.is_empty() {
        text += &paragraph(
            "  fix     ",
            "if this is wanted, take a new baseline with sidestep guard init",
            terminal,
        );
    }
    let origin = format!(
        "{} runs from {} on; one false alarm a year by design, of which this check spends 1/{:.0}",
        found.baseline_runs,
        found.baseline_utc,
        found.alarms_per_check.recip()
    );
    text + &paragraph("baseline  ", &origin, terminal)
}

/// What a baseline allows to show.
pub(super) fn baseline(guard: &Guard<'_>, runs: usize, terminal: Terminal) -> String {
    let busy = guard.busy_runs();
    let load = if busy == 0 {
        String::new()
    } else {
        format!(", {busy} of them while the machine was busy: its limits are wide")
    };
    let mut text = paragraph("", &format!("baseline taken: {runs} runs{load}"), terminal);
    let classes = guard.classes();
    if classes.is_empty() {
        return text + &paragraph("", "facts are watched; numbers are judged from 20 runs on", terminal);
    }
    text += "\nclass          rows  smallest change shown %\n";
    for GuardClass { class, rows, smallest_percent, .. } in classes {
        let _ = writeln!(text, "{class:<13}  {rows:>4}  {smallest_percent:>23.1}");
    }
    text
}

//! Plan, next step and standing of an experiment across reboots, as text and as JSON.

use experiments::ab::across_reboot::condition::Conditions;
use experiments::ab::across_reboot::inference::inference;
use experiments::ab::across_reboot::journal::{Journal, Phase, letter};
use experiments::ab::across_reboot::plan::Plan;
use machine::shareable_command_line;
use record::RebootOutcome;
use report::{Terminal, paragraph};
use serde_json::{Value as Json, json};
use stats::Arm;

use crate::toggles::Described;

/// Version of the JSON document of plan and standing.
const SCHEMA: u32 = 1;
/// Where the text of a paragraph begins.
const PREFIX: &str = "        ";
/// From here on a time is written without decimals.
const WHOLE_SECONDS_FROM: f64 = 10.0;

/// The command line of this boot, and what to change for the next one.
pub(super) struct NextBoot {
    command_line: String,
    change: String,
}

impl NextBoot {
    /// What to do so that the next boot is of `arm`.
    pub(super) fn of(described: &Described, conditions: &Conditions, arm: Arm) -> Self {
        let command_line = described.root.read("/proc/cmdline").unwrap_or_default();
        let change = conditions.of(arm).departure(&command_line).what_to_do();
        Self { command_line, change }
    }

    fn json(&self) -> Json {
        json!({
            "command_line_now": shareable_command_line(&self.command_line),
            "steps": [&self.change, "reboot"],
        })
    }
}

/// The order, what it cannot give, and what is measured.
pub(super) fn plan(conditions: &Conditions, plan: &Plan, subject: &str, terminal: Terminal) -> String {
    let order: Vec<String> = plan.order.iter().map(|arm| letter(*arm).to_uppercase()).collect();
    let boots = plan.boots_per_arm();
    let mut text = String::new();
    for arm in [Arm::A, Arm::B] {
        let name = letter(arm).to_uppercase();
        text += &paragraph(&format!("{name}       "), &conditions.of(arm).name(), terminal);
    }
    text += &paragraph(
        "boots   ",
        &format!("{} ({boots} of each, in random balanced order, seed {})", order.join(" "), plan.seed),
        terminal,
    );
    text += &paragraph(
        "each    ",
        &format!(
            "waits at most {} for the machine to settle, then {} trials of {subject}; margin {} %",
            seconds(plan.settle_s),
            plan.trials,
            100.0 * plan.margin
        ),
        terminal,
    );
    for caution in plan.cautions() {
        text += &paragraph("note    ", &caution, terminal);
    }
    text
}

/// What the warm-up took.
pub(super) fn warmup(journal: &Journal, terminal: Terminal) -> String {
    let failed = journal.set_up.trials.iter().filter(|trial| trial.failure.is_some()).count();
    let failed = if failed > 0 { format!(", {failed} of them failed") } else { String::new() };
    paragraph(
        "now     ",
        &format!(
            "{} trials of warm-up in this boot in {}{failed}; it does not count",
            journal.set_up.trials.len(),
            seconds(journal.set_up.elapsed_s)
        ),
        terminal,
    )
}

/// Which boot comes next, and what to do for it.
pub(super) fn next(
    place: usize,
    arm: Arm,
    plan: &Plan,
    conditions: &Conditions,
    boot: &NextBoot,
    terminal: Terminal,
) -> String {
    let head = format!(
        "boot {} of {} is {}, {}:",
        place + 1,
        plan.boots(),
        letter(arm).to_uppercase(),
        conditions.of(arm).name()
    );
    paragraph("next    ", &head, terminal)
        + &paragraph(PREFIX, &format!("{}, and reboot", boot.change), terminal)
}

/// How to go on after the boot.
pub(super) fn then(state: &str, is_installed: bool, terminal: Terminal) -> String {
    if is_installed {
        return paragraph(
            "then    ",
            "the unit resumes by itself; sidestep ab --status says what it did",
            terminal,
        );
    }
    resume("then    ", state)
}

/// What to type.
pub(super) fn resume(prefix: &str, state: &str) -> String {
    format!("{prefix}sidestep ab --resume{state}\n")
}

/// The unit, verbatim, and what it takes.
pub(super) fn unit(text: &str, path: &str, state: &str, terminal: Terminal) -> String {
    let head = format!(
        "or let this unit do that after each boot; sidestep ab --install-unit{state} installs it as {path}:"
    );
    paragraph(PREFIX, &head, terminal) + "\n" + text + "\n"
}

/// What is known, as far as it may be shown: an experiment under way shows no value, as whoever stops it for what it shows
/// raises more false alarms than 5 %.
pub(super) fn found(journal: &Journal) -> RebootOutcome {
    let mut all = inference(journal);
    if journal.phase != Phase::Running {
        if journal.phase == Phase::Abandoned && journal.filled() > 0 {
            all.cautions.push(format!(
                "given up after {} of {} boots: an experiment that is ended for what it shows raises more false alarms than \
                 5 %",
                journal.filled(),
                journal.plan.boots()
            ));
        }
        return all;
    }
    let boots = all.boots.into_iter().map(|boot| record::BootSummary { value: None, ..boot }).collect();
    all.head.sentence = format!(
        "{} of {} boots are measured; what they show stands here after the last, so that it cannot influence when to stop",
        journal.filled(),
        journal.plan.boots()
    );
    all.head.notes.clear();
    RebootOutcome { rows: Vec::new(), controls: Vec::new(), boots, ..all }
}

/// One document for plan and standing.
pub(super) fn document(
    conditions: &Conditions,
    plan: &Plan,
    due: Option<(usize, Arm, &NextBoot)>,
    unit: Option<&str>,
    journal: Option<(&str, &Journal)>,
) -> Json {
    let next =
        due.map(|(place, arm, boot)| json!({ "place": place + 1, "arm": letter(arm), "boot": boot.json() }));
    json!({
        "schema": SCHEMA,
        "a": conditions.a.name(),
        "b": conditions.b.name(),
        "order": plan.order,
        "seed": plan.seed,
        "trials": plan.trials,
        "cautions": plan.cautions(),
        "next": next,
        "unit": unit,
        "journal": journal.map(|(path, _)| path),
        "found": journal.map(|(_, journal)| found(journal)),
    })
}

/// A time for people.
fn seconds(seconds: f64) -> String {
    if seconds < WHOLE_SECONDS_FROM { format!("{seconds:.1} s") } else { format!("{seconds:.0} s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_holds_no_value_of_the_command_line_that_may_name_something() {
        let command_line = "root=UUID=12 rd.luks.key=secret nosmt mitigations=off".to_owned();
        let boot = NextBoot { command_line, change: String::new() };
        assert_eq!(boot.json()["command_line_now"], "root=... rd.luks.key=... nosmt mitigations=off");
    }
}

//! `sidestep ab --dry-run`: what would be switched, write by write.

use serde_json::{Value as Json, json};
use stats::Arm;
use toggles::{Change, Pair, Place, Switch, survey};

use crate::global::Global;
use crate::outcome::Outcome;
use crate::output;

/// Prints the writes of both states of a toggle, and what is put back.
pub(super) fn dry_run(pair: &Pair, global: &Global) -> anyhow::Result<Outcome> {
    let mut states = [Arm::A, Arm::B].map(|arm| (pair.state_name(arm), steps(pair, arm))).to_vec();
    let written: Vec<&[Change]> = pair.written().collect();
    if !written.is_empty() {
        let mut writer = Place::live().writer();
        let entries = survey(&mut writer, &written)?;
        let back = entries.iter().map(|entry| format!("write {} to {}", entry.old, entry.target)).collect();
        states.push(("put back".to_owned(), back));
    }
    if global.json {
        let rows: Vec<Json> =
            states.iter().map(|(state, steps)| json!({ "state": state, "steps": steps })).collect();
        output::print(&output::json_printed(&json!({ "schema": super::DRY_RUN_SCHEMA, "states": rows }))?)?;
    } else {
        let lines = states
            .iter()
            .flat_map(|(state, steps)| steps.iter().map(move |step| format!("{state}: {step}\n")));
        output::print_lines(&lines.collect::<String>())?;
    }
    Ok(Outcome::Done)
}

fn steps(pair: &Pair, arm: Arm) -> Vec<String> {
    let means = &pair.value(arm).means;
    match pair.switch(arm) {
        Switch::System(changes) => {
            changes.iter().map(|change| format!("write {} to {}", change.value, change.target)).collect()
        }
        Switch::Process(_) => {
            vec![format!("{means}, for the thread or program alone; nothing is written")]
        }
        Switch::Buffers(_) => vec![format!("{means}, for buffers of probes; nothing is written")],
    }
}

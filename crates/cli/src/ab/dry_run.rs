//! `sidestep ab --dry-run`: what would be switched, write by write.

use serde_json::{Value as Json, json};
use toggles::{Pair, Place, Position, Switch, survey};

use super::state_name;
use crate::arguments::Global;
use crate::outcome::Outcome;
use crate::output;

/// Prints the writes of both states, and what is put back.
pub(super) fn dry_run(pair: &Pair, global: &Global) -> anyhow::Result<Outcome> {
    let positions = [Position::A, Position::B];
    let mut states: Vec<(String, Vec<String>)> =
        positions.into_iter().map(|position| (state_name(pair, position), steps(pair, position))).collect();
    if let (Switch::System(a), Switch::System(b)) = (&pair.to_a, &pair.to_b) {
        let mut door = Place::live().door();
        let entries = survey(&mut door, &[a, b])?;
        let back = entries.iter().map(|entry| format!("write {} to {}", entry.old, entry.target)).collect();
        states.push(("put back".to_owned(), back));
    }
    if global.json {
        let rows: Vec<Json> =
            states.iter().map(|(state, steps)| json!({ "state": state, "steps": steps })).collect();
        output::print(&output::json_text(&json!({ "schema": super::DRY_RUN_SCHEMA, "states": rows }))?)?;
    } else {
        let lines = states
            .iter()
            .flat_map(|(state, steps)| steps.iter().map(move |step| format!("{state}: {step}\n")));
        output::print_lines(&lines.collect::<String>())?;
    }
    Ok(Outcome::Done)
}

fn steps(pair: &Pair, position: Position) -> Vec<String> {
    let means = &pair.value(position).means;
    match pair.switch(position) {
        Switch::System(changes) => {
            changes.iter().map(|change| format!("write {} to {}", change.value, change.target)).collect()
        }
        Switch::Process(_) => {
            vec![format!("{means}, for the thread or program alone; nothing is written")]
        }
        Switch::Buffers(_) => vec![format!("{means}, for buffers of probes; nothing is written")],
    }
}

//! What an experiment found: written, shown, and judged for the exit code.

use std::path::Path;

use experiments::ab::outcome::has_verdict;
use host::live::{self, write_atomically};
use record::{Ended, ExperimentOutcome, Failures};
use report::Page;
use serde::Serialize;
use stats::Verdict;
use toggles::Restored;

use super::{Request, leave_no_folder};
use crate::outcome::Outcome;
use crate::output;
use crate::toggles::left_changed;

/// Prints and writes the outcome; the machine is put back already.
pub(super) fn conclude(
    found: ExperimentOutcome,
    file: Option<&Path>,
    restored: &[Restored],
    request: &Request<'_>,
) -> anyhow::Result<Outcome> {
    write_document(&found, file)?;
    let shown = ExperimentOutcome { raw: Vec::new(), ..found };
    show(&report::experiment_page(&shown), &shown, file, request)?;
    Ok(if restored.iter().any(|result| !result.is_settled()) {
        left_changed()
    } else if let Some(signal) = live::pending_signal() {
        Outcome::Interrupted(signal)
    } else if let Some(why) = failing(shown.ended, &shown.failures) {
        Outcome::NotMeasured(anyhow::anyhow!(why))
    } else if shown.aa.contaminated || shown.rows.is_empty() {
        Outcome::Inconclusive
    } else {
        let is_slower = shown.rows.iter().any(|row| row.row.verdict == Verdict::Slower);
        Outcome::judged(request.global, is_slower, !has_verdict(&shown))
    })
}

pub(super) fn write_document(found: &impl Serialize, file: Option<&Path>) -> anyhow::Result<()> {
    if let Some(file) = file {
        write_atomically(file, output::json_text(found)?.as_bytes())
            .inspect_err(|_| leave_no_folder(file))?;
    }
    Ok(())
}

fn show(
    page: &Page,
    shown: &impl Serialize,
    file: Option<&Path>,
    request: &Request<'_>,
) -> anyhow::Result<()> {
    let (forms, global) = (&request.arguments.forms, request.global);
    output::print(&forms.text(page, shown, global)?)?;
    if let Some(file) = file.filter(|_| !global.json && !global.quiet && !forms.words.markdown) {
        output::print_lines(&format!("record  {}\n", file.display()))?;
    }
    Ok(())
}

/// What a state says that never worked, where that ended the experiment.
fn failing(ended: Ended, failures: &[Failures]) -> Option<String> {
    let never = failures.iter().find(|state| state.failed == state.of).or(failures.first());
    let never = never.filter(|_| ended == Ended::Failing)?;
    let (state, why) = (never.state.to_uppercase(), &never.example);
    Some(format!("cannot compare: state {state} failed in {} of {} runs: {why}", never.failed, never.of))
}

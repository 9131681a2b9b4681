//! What an experiment found, with one toggle or with several: written, shown, and judged for the exit code.

use std::path::Path;

use experiments::ab::factorial::has_verdicts;
use experiments::ab::outcome::has_verdict;
use host::live::{self, write_atomically};
use record::{Ended, ExperimentOutcome, FactorialOutcome, Failures};
use report::Page;
use serde::Serialize;
use stats::Verdict;
use toggles::Restored;

use super::{Request, leave_no_folder};
use crate::outcome::Outcome;
use crate::output;
use crate::toggles::left_changed;

/// The document.
pub(super) enum Found {
    /// Of one toggle, or two programs.
    Experiment(ExperimentOutcome),
    /// Of several toggles.
    Factorial(FactorialOutcome),
}

impl Found {
    /// What the reader has to know.
    pub(super) fn notes(&mut self) -> &mut Vec<String> {
        match self {
            Self::Experiment(found) => &mut found.notes,
            Self::Factorial(found) => &mut found.notes,
        }
    }

    /// Wall time, preparation included.
    pub(super) fn elapsed_s(&mut self) -> &mut f64 {
        match self {
            Self::Experiment(found) => &mut found.elapsed_s,
            Self::Factorial(found) => &mut found.elapsed_s,
        }
    }

    /// Prints and writes the outcome; the machine is put back already.
    pub(super) fn conclude(
        self,
        file: Option<&Path>,
        restored: &[Restored],
        request: &Request<'_>,
    ) -> anyhow::Result<Outcome> {
        let (failing, is_contaminated, verdicts, is_known) = match self {
            Self::Experiment(found) => {
                write_document(&found, file)?;
                let shown = ExperimentOutcome { raw: Vec::new(), ..found };
                show(&report::experiment_page(&shown), &shown, file, request)?;
                let verdicts: Vec<Verdict> = shown.rows.iter().map(|row| row.row.verdict).collect();
                let failing = failing(shown.ended, &shown.failures);
                (failing, shown.aa.contaminated, verdicts, has_verdict(&shown))
            }
            Self::Factorial(found) => {
                write_document(&found, file)?;
                let shown = FactorialOutcome { raw: Vec::new(), ..found };
                show(&report::factorial_page(&shown), &shown, file, request)?;
                let verdicts: Vec<Verdict> = shown.rows.iter().map(|row| row.row.row.verdict).collect();
                let failing = failing(shown.ended, &shown.failures);
                (failing, shown.aa.contaminated, verdicts, has_verdicts(&shown))
            }
        };
        let global = request.global;
        Ok(if restored.iter().any(|result| !result.is_settled()) {
            left_changed()
        } else if let Some(signal) = live::pending_signal() {
            Outcome::Interrupted(signal)
        } else if let Some(why) = failing {
            Outcome::NotMeasured(anyhow::anyhow!(why))
        } else if is_contaminated || verdicts.is_empty() {
            Outcome::Inconclusive
        } else {
            Outcome::judged(global, verdicts.contains(&Verdict::Slower), !is_known)
        })
    }
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

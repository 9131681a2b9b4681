//! `sidestep ab --factorial`: several toggles in all combinations, around probes or a program.

use std::path::Path;

use experiments::ab::factorial::{Ran, factorial_outcome, has_verdicts};
use experiments::ab::probe_subject::AGGREGATE;
use experiments::ab::{Labels, Subject, run_factorial};
use record::{FactorialOutcome, FactorialToggle};
use stats::Verdict;
use toggles::{Pair, Restored};

use super::line::Line;
use super::{CALLED, RUN_ONCE, Request, Verdicts};
use crate::outcome::Outcome;

/// Runs it; the machine is put back.
pub(super) fn conducted(request: &Request<'_>) -> anyhow::Result<super::Ran<FactorialOutcome>> {
    if request.arguments.runs_programs() {
        let (mut subject, _pinned) = super::start_programs(request)?;
        let labels = Labels {
            subject: super::command_line(request.arguments),
            called: CALLED.to_owned(),
            aggregate: RUN_ONCE.to_owned(),
            ..super::labels()
        };
        let result = conduct(&mut subject, request, &labels).map(|mut found| {
            found.notes.extend(subject.metric_found.note());
            found
        });
        return Ok((result, subject.switcher.end()));
    }
    let (mut subject, cpu, _pinned) = super::start_probes(request)?;
    let labels = Labels {
        subject: format!("probes on CPU {cpu}"),
        aggregate: AGGREGATE.to_owned(),
        notes: subject.notes(),
        ..super::labels()
    };
    let result = conduct(&mut subject, request, &labels).map(|mut found| {
        super::tell_layouts(&mut found.notes, &subject);
        found
    });
    Ok((result, subject.switcher.end()))
}

fn conduct<S: Subject>(
    subject: &mut S,
    request: &Request<'_>,
    labels: &Labels,
) -> anyhow::Result<FactorialOutcome>
where
    S::Error: std::error::Error + Send + Sync + 'static,
{
    let toggles: Vec<FactorialToggle> = request.pairs.iter().map(toggle).collect();
    let names = toggles.iter().map(|toggle| toggle.name.clone()).collect();
    let mut line = Line::of_toggles(request.global.quiet, names).billed();
    let course = run_factorial(subject, toggles.len(), &request.rules(subject), &mut line);
    line.end();
    let course = course?;
    line.afforded()?;
    let (rows, guards) = (subject.rows(), subject.guards());
    let ran = Ran { course: &course, rows: &rows, guards: &guards };
    Ok(factorial_outcome(ran, &toggles, labels, &request.plan.declared))
}

fn toggle(pair: &Pair) -> FactorialToggle {
    FactorialToggle {
        name: pair.toggle.about().name.to_owned(),
        a: pair.a.name.clone(),
        b: pair.b.name.clone(),
    }
}

/// Prints and writes the outcome; the machine is put back already.
pub(super) fn conclude(
    found: FactorialOutcome,
    file: Option<&Path>,
    restored: &[Restored],
    request: &Request<'_>,
) -> anyhow::Result<Outcome> {
    super::write_document(&found, file)?;
    let shown = FactorialOutcome { raw: Vec::new(), ..found };
    super::show(&report::factorial_page(&shown), &shown, file, request)?;
    let verdicts = Verdicts {
        failing: super::failing(shown.ended, &shown.failures),
        unusable: shown.aa.contaminated || shown.rows.is_empty(),
        slower: shown.rows.iter().any(|row| row.row.row.verdict == Verdict::Slower),
        known: has_verdicts(&shown),
    };
    Ok(verdicts.judged(restored, request.global))
}

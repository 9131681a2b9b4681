//! Whether a machine is as it was: facts compared one by one, numbers by limits that a baseline sets.
//!
//! Facts are exact, and any that differs is a change. Numbers are judged by [`Limits`], in two check-ups right after each other;
//! what else differs is named as a coincidence in time. Pure: entries of a history in, a document out.

mod cause;
mod conditions;
mod limits;
mod rows;
pub mod unit;

use record::{
    FactDifference, GUARD_SCHEMA, GuardBaseline, GuardChange, GuardClass, GuardOutcome, GuardVerdict,
    HistoryEntry,
};

use crate::history::{FLAW_FACT, is_same_machine};
pub use limits::{ALARMS_PER_CHECK, Departure, FEWEST_RUNS, Limits, WatchedRow, confirmed};
use rows::{costs, watched};

/// A baseline of which more than this share of runs was taken on a busy machine is one of a busy machine.
const BUSY_SHARE: f64 = 0.5;
/// Facts in which two versions or two users of sidestep differ on one machine.
const OWN_FACTS: [&str; 2] = ["root", "sidestep"];

/// A baseline with what it sets.
#[derive(Debug, Clone)]
pub struct Guard<'b> {
    baseline: &'b GuardBaseline,
    last: &'b HistoryEntry,
    rows: Vec<WatchedRow>,
    limits: Option<Limits>,
}

/// What a check-up alone shows.
struct Seen {
    facts: Vec<FactDifference>,
    departures: Vec<Departure>,
    /// Why numbers are not judged.
    withheld: Option<String>,
}

impl<'b> Guard<'b> {
    /// `None` for a baseline without runs.
    pub fn new(baseline: &'b GuardBaseline, alarms_per_check: f64) -> Option<Self> {
        let last = baseline.runs.last()?;
        let rows = watched(&baseline.runs);
        let by_run: Vec<Vec<Option<f64>>> = baseline.runs.iter().map(|run| costs(&rows, run)).collect();
        let logs: Option<Vec<Vec<f64>>> =
            (0..rows.len()).map(|row| by_run.iter().map(|run| run[row]).collect()).collect();
        let limits = logs.and_then(|logs| Limits::of(&rows, &logs, alarms_per_check));
        Some(Self { baseline, last, rows, limits })
    }

    /// What the baseline allows to show, by class.
    pub fn classes(&self) -> Vec<GuardClass> {
        let smallest = self.limits.iter().flat_map(Limits::smallest_by_class);
        let class = |(class, log): (&str, f64)| GuardClass {
            class: class.to_owned(),
            rows: self.rows.iter().filter(|row| row.class == class).count(),
            smallest_percent: log.exp_m1() * 100.0,
        };
        smallest.map(class).collect()
    }

    /// Runs of the baseline during which the machine was busy.
    pub fn busy_runs(&self) -> usize {
        self.baseline.runs.iter().filter(|run| !run.doubts.is_empty()).count()
    }

    /// True if a check-up shows numbers that a second one has to confirm.
    pub fn is_to_be_confirmed(&self, check: &HistoryEntry) -> bool {
        let seen = self.seen(check);
        seen.withheld.is_none() && !seen.departures.is_empty()
    }

    fn seen(&self, check: &HistoryEntry) -> Seen {
        let withheld = self.why_withheld(check);
        let limits = self.limits.as_ref().filter(|_| withheld.is_none());
        let departures = limits.map(|limits| limits.departures(&costs(&self.rows, check)));
        Seen { facts: self.differing(check), departures: departures.unwrap_or_default(), withheld }
    }

    /// Facts in which a check-up differs from the last run of the baseline. What already differed within the baseline
    /// is no fact to watch; what registers show is none to another version, or to another user, who may not read them.
    fn differing(&self, check: &HistoryEntry) -> Vec<FactDifference> {
        let mut found = crate::history::differences(&self.last.facts, &check.facts);
        let is_other_reader =
            OWN_FACTS.iter().any(|name| self.last.facts.get(*name) != check.facts.get(*name));
        found.retain(|difference| {
            let name = &difference.fact;
            if name.starts_with(FLAW_FACT) && is_other_reader {
                return false;
            }
            let is_steady =
                self.baseline.runs.iter().all(|run| run.facts.get(name) == self.last.facts.get(name));
            is_steady && !OWN_FACTS.contains(&name.as_str())
        });
        found
    }

    fn why_withheld(&self, check: &HistoryEntry) -> Option<String> {
        let runs = self.baseline.runs.len();
        if runs < FEWEST_RUNS {
            return Some(format!(
                "the baseline has {runs} runs, and numbers are judged from {FEWEST_RUNS} on; take them with sidestep guard init"
            ));
        }
        if self.limits.is_none() {
            return Some(
                "no number was measured in every run of the baseline; take another with sidestep guard init"
                    .to_owned(),
            );
        }
        for name in OWN_FACTS {
            let [before, after] =
                [self.last, check].map(|run| run.facts.get(name).map_or("unknown", String::as_str));
            if before != after {
                return Some(format!(
                    "{name} is {after}, and was {before} in the baseline; check as the baseline was taken"
                ));
            }
        }
        if let Some(why) = &check.partial {
            return Some(format!("the check-up is not complete: {why}"));
        }
        let was_busy = self.busy_runs() as f64 > BUSY_SHARE * runs as f64;
        let doubt = check.doubts.first().filter(|_| !was_busy).cloned();
        conditions::busier(&self.baseline.runs, check).or(doubt)
    }

    /// The answer after one check-up, or two right after each other; `before` is what the last check found.
    pub fn judge(
        &self,
        checks: &[HistoryEntry],
        before: Option<&GuardOutcome>,
        alarms_per_check: f64,
    ) -> GuardOutcome {
        let Some(first) = checks.first() else { return GuardOutcome::default() };
        let is_same = is_same_machine(&self.last.fingerprint, &first.fingerprint);
        let seen: Vec<Seen> = checks.iter().map(|check| self.seen(check)).collect();
        let latest = seen.last().expect("there is a first");
        let withheld = seen.iter().find_map(|seen| seen.withheld.clone());
        let departures = match seen.as_slice() {
            [one, two] if is_same && withheld.is_none() => confirmed(&one.departures, &two.departures),
            _ => Vec::new(),
        };
        let changes: Vec<GuardChange> = departures.iter().map(change).collect();
        let mut facts = latest.facts.clone();
        cause::order(&mut facts, changes.first().map(|change| change.class.as_str()));
        let mut outcome = GuardOutcome {
            schema: GUARD_SCHEMA,
            checked_utc: first.started_utc.clone(),
            baseline_utc: self.baseline.runs[0].started_utc.clone(),
            baseline_runs: self.baseline.runs.len(),
            baseline_busy_runs: self.busy_runs(),
            proofs: cause::proofs(&facts),
            doubts: checks.iter().flat_map(|check| check.doubts.clone()).collect(),
            classes: self.classes(),
            alarms_per_check,
            check_ups: checks.len(),
            facts,
            changes,
            ..GuardOutcome::default()
        };
        self.conclude(&mut outcome, first, is_same, withheld.as_deref());
        outcome.notes = self.notes(&outcome, checks, before);
        outcome
    }

    fn conclude(
        &self,
        outcome: &mut GuardOutcome,
        first: &HistoryEntry,
        is_same: bool,
        withheld: Option<&str>,
    ) {
        let (verdict, sentence) = if !is_same {
            let what = cause::other_machine(&self.last.fingerprint, &first.fingerprint);
            (
                GuardVerdict::Changed,
                format!(
                    "changed: another machine than that of the baseline: {what}; numbers are not compared"
                ),
            )
        } else if !outcome.changes.is_empty() {
            let busier = conditions::remarkable(&self.baseline.runs, first);
            (GuardVerdict::Changed, cause::of_numbers(outcome, busier.as_deref()))
        } else if let Some(fact) = outcome.facts.first() {
            let more = match outcome.facts.len() - 1 {
                0 => String::new(),
                1 => ", and one more fact".to_owned(),
                more => format!(", and {more} more facts"),
            };
            let numbers = withheld.map_or_else(
                || "numbers are within their limits".to_owned(),
                |why| format!("numbers are not judged: {why}"),
            );
            (GuardVerdict::Changed, format!("changed: {}{more}; {numbers}", cause::told(fact)))
        } else if let Some(why) = withheld {
            (GuardVerdict::CannotTell, format!("cannot tell: {why}; facts are as before"))
        } else {
            let (facts, rows) = (self.last.facts.len(), self.rows.len());
            (
                GuardVerdict::AsBefore,
                format!("as before: {facts} facts are the same, {rows} numbers within their limits"),
            )
        };
        (outcome.verdict, outcome.sentence) = (verdict, sentence);
    }

    fn notes(
        &self,
        outcome: &GuardOutcome,
        checks: &[HistoryEntry],
        before: Option<&GuardOutcome>,
    ) -> Vec<String> {
        let mut notes = Vec::new();
        let boots = [self.last, &checks[0]].map(|run| run.facts.get("boot"));
        if boots[0] != boots[1] {
            notes.push("the machine was booted since the baseline".to_owned());
        }
        if let Some(before) = before.filter(|before| !before.changes.is_empty() && outcome.changes.is_empty())
        {
            notes.push(format!(
                "transient: what the check of {} found is gone ({})",
                before.checked_utc, before.sentence
            ));
        }
        if checks.len() == 2 && outcome.changes.is_empty() && outcome.verdict != GuardVerdict::CannotTell {
            notes.push("one check-up was beyond a limit, the one right after it was not".to_owned());
        }
        let (busy, runs) = (outcome.baseline_busy_runs, outcome.baseline_runs);
        if busy > 0 {
            notes.push(format!(
                "the machine was busy in {busy} of {runs} runs of the baseline, so its limits are wide"
            ));
        }
        notes
    }
}

fn change(departure: &Departure) -> GuardChange {
    GuardChange {
        row: departure.row.clone(),
        class: departure.class.clone(),
        slower_percent: departure.log.exp_m1() * 100.0,
        limit_percent: departure.limit.exp_m1() * 100.0,
    }
}

#[cfg(test)]
mod machine_tests;
#[cfg(test)]
mod tests;

//! Whether a machine is as it was: facts compared one by one, numbers by limits that a baseline sets.
//!
//! Facts are exact, and any that differs is a change. Numbers are judged by [`Limits`], in two check-ups right after each other;
//! what else differs is named as a coincidence in time. Pure: entries of a history in, a document out.

mod cause;
mod limits;
mod trend;

use std::collections::BTreeMap;

use record::{
    FactDifference, GUARD_SCHEMA, GuardBaseline, GuardChange, GuardClass, GuardLedger, GuardOutcome,
    GuardPast, GuardVerdict, HistoryEntry,
};
use stats::RowClass;

use crate::history::{FLAW_FACT, is_same_machine};
pub use limits::{Departure, FEWEST_RUNS, Limits, WatchedRow, confirmed};
pub use trend::{ALARMS_PER_CHECK, allowance};
use trend::{Allowance, SHARE_OF_STEPS};

/// A baseline of which more than this share of runs was taken on a busy machine is one of a busy machine.
const BUSY_SHARE: f64 = 0.5;
/// Facts in which two versions or two users of sidestep differ on one machine.
const OWN_FACTS: [&str; 2] = ["root", "sidestep"];
const UNCONFIRMED: &str =
    "one check-up is beyond a limit, and no second one right after it says whether that stays";
/// Checks remembered: about three years of one a day.
const PAST_MAX: usize = 1_000;

/// A baseline with what it sets.
#[derive(Debug, Clone)]
pub struct Guard<'b> {
    baseline: &'b GuardBaseline,
    last: &'b HistoryEntry,
    rows: Vec<WatchedRow>,
    limits: Option<Limits>,
    allowance: Allowance,
}

/// What a check-up alone shows.
struct Seen {
    facts: Vec<FactDifference>,
    departures: Vec<Departure>,
    /// Why numbers are not judged.
    withheld: Option<String>,
    /// What others did beyond what they did in the baseline: no change is claimed of numbers then.
    noise: Option<String>,
}

impl<'b> Guard<'b> {
    /// With limits that spend what the check is allowed; `None` for a baseline without runs.
    pub fn new(baseline: &'b GuardBaseline, allowance: Allowance) -> Option<Self> {
        let last = baseline.runs.last()?;
        let rows = WatchedRow::of(&baseline.runs);
        let logs: Option<Vec<Vec<f64>>> =
            rows.iter().map(|row| baseline.runs.iter().map(|run| row.cost(run)).collect()).collect();
        let limits = logs.and_then(|logs| Limits::of(&rows, &logs, allowance.alarms * SHARE_OF_STEPS));
        Some(Self { baseline, last, rows, limits, allowance })
    }

    /// What the baseline allows to show, by class.
    pub fn classes(&self) -> Vec<GuardClass> {
        let smallest = self.limits.iter().flat_map(Limits::smallest_by_class);
        let class = |(class, log): (RowClass, f64)| GuardClass {
            class: class.name().to_owned(),
            rows: self.rows.iter().filter(|row| row.class == class).count(),
            smallest_percent: Some(log.exp_m1() * 100.0).filter(|percent| percent.is_finite()),
            now_percent: None,
        };
        smallest.map(class).collect()
    }

    /// Runs of the baseline during which the machine was busy.
    pub fn busy_runs(&self) -> usize {
        self.baseline.runs.iter().filter(|run| !run.doubts.is_empty()).count()
    }

    /// True if the baseline is one of a busy machine.
    fn was_busy(&self) -> bool {
        self.busy_runs() as f64 > BUSY_SHARE * self.baseline.runs.len() as f64
    }

    /// True if a check-up shows numbers that a second one has to confirm.
    pub fn is_to_be_confirmed(&self, check: &HistoryEntry) -> bool {
        let seen = self.seen(check);
        seen.withheld.is_none() && !seen.departures.is_empty()
    }

    fn seen(&self, check: &HistoryEntry) -> Seen {
        let withheld = self.why_withheld(check);
        let limits = self.limits.as_ref().filter(|_| withheld.is_none());
        let departures = limits.map(|limits| limits.departures(&self.costs_of_rows(check)));
        let noise = cause::busier(&self.baseline.runs, check);
        Seen { facts: self.differing(check), departures: departures.unwrap_or_default(), withheld, noise }
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
        None
    }

    fn costs_of_rows(&self, check: &HistoryEntry) -> Vec<Option<f64>> {
        self.rows.iter().map(|row| row.cost(check)).collect()
    }

    /// By class what it costs over the baseline, as a logarithm: the mean of the check-ups. Empty if they are not judged.
    fn costs(&self, checks: &[HistoryEntry]) -> BTreeMap<String, f64> {
        let mut logs: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for (limits, check) in
            self.limits.iter().flat_map(|limits| checks.iter().map(move |one| (limits, one)))
        {
            for (class, factor) in limits.factors(&self.costs_of_rows(check)) {
                logs.entry(class.name().to_owned()).or_default().extend(factor);
            }
        }
        logs.into_iter()
            .filter(|(_, logs)| !logs.is_empty())
            .map(|(class, logs)| (class, stats::mean(&logs)))
            .collect()
    }

    /// The answer after one check-up, or two right after each other, which the ledger then remembers.
    pub fn judge(&self, checks: &[HistoryEntry], ledger: &mut GuardLedger) -> GuardOutcome {
        let Some(first) = checks.first() else { return GuardOutcome::default() };
        let is_same = is_same_machine(&self.last.fingerprint, &first.fingerprint);
        let seen: Vec<Seen> = checks.iter().map(|check| self.seen(check)).collect();
        let latest = seen.last().expect("there is a first");
        let is_alone = checks.len() == 1 && !latest.departures.is_empty();
        let unconfirmed = || UNCONFIRMED.to_owned();
        let departures = match seen.as_slice() {
            [one, two] if is_same => confirmed(&one.departures, &two.departures),
            [one] => one.departures.clone(),
            _ => Vec::new(),
        };
        let noise = seen.iter().find_map(|seen| seen.noise.as_deref());
        let withheld = seen
            .iter()
            .find_map(|seen| seen.withheld.clone())
            .or_else(|| cause::behind_noise(noise?, &departures))
            .or_else(|| is_alone.then(unconfirmed));
        let departures = if withheld.is_none() { departures } else { Vec::new() };
        let mut changes: Vec<GuardChange> = departures.iter().map(change).collect();
        let costs = if is_same && withheld.is_none() && noise.is_none() {
            self.costs(checks)
        } else {
            BTreeMap::new()
        };
        let mut classes = self.classes();
        for class in &mut classes {
            class.now_percent = costs.get(&class.class).map(|log| log.exp_m1() * 100.0);
        }
        let is_judged = !costs.is_empty();
        ledger.past.push(GuardPast {
            checked_utc: first.started_utc.clone(),
            saved_days: self.allowance.saved_days,
            costs,
        });
        ledger.past.drain(..ledger.past.len().saturating_sub(PAST_MAX));
        if is_judged {
            self.add_trends(&mut changes, &ledger.past);
        }
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
            classes,
            alarms_per_check: self.allowance.alarms,
            check_ups: checks.len(),
            facts,
            changes,
            ..GuardOutcome::default()
        };
        self.conclude(&mut outcome, first, is_same, withheld.as_deref());
        outcome.notes = self.notes(&outcome, checks, &ledger.last);
        ledger.last.clone_from(&outcome);
        outcome
    }

    /// Classes that moved gradually, but those of which this check alone shows a change.
    fn add_trends(&self, changes: &mut Vec<GuardChange>, past: &[GuardPast]) {
        for trend in self.limits.iter().flat_map(|limits| trend::trends(limits, past)) {
            if !changes.iter().any(|change| change.row.is_none() && change.class == trend.class.name()) {
                changes.push(GuardChange {
                    row: None,
                    class: trend.class.name().to_owned(),
                    slower_percent: trend.log.exp_m1() * 100.0,
                    limit_percent: trend.limit.exp_m1() * 100.0,
                    trend: Some(trend.document),
                });
            }
        }
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
            let busier = cause::remarkable(&self.baseline.runs, first);
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
            (GuardVerdict::Changed, format!("changed: {}{more}; {numbers}", cause::described(fact)))
        } else if let Some(why) = withheld {
            (GuardVerdict::CannotTell, format!("cannot tell: {why}; facts are as before"))
        } else {
            let (facts, rows) = (self.last.facts.len(), self.rows.len());
            (
                GuardVerdict::AsBefore,
                format!("as before: {facts} facts are the same, {rows} numbers within their limits"),
            )
        };
        let mark = if self.was_busy() {
            let (busy, runs) = (outcome.baseline_busy_runs, outcome.baseline_runs);
            format!("; the baseline is of a busy machine ({busy} of {runs} runs), so limits are wide")
        } else {
            String::new()
        };
        (outcome.verdict, outcome.sentence) = (verdict, sentence + &mark);
    }

    fn notes(&self, outcome: &GuardOutcome, checks: &[HistoryEntry], before: &GuardOutcome) -> Vec<String> {
        let mut notes = Vec::new();
        if self.allowance.clock_was_set_back {
            notes.push(format!(
                "the clock was set back: the last check was at {}, this one at {}",
                before.checked_utc, outcome.checked_utc
            ));
        }
        let boots = [self.last, &checks[0]].map(|run| run.facts.get("boot"));
        if boots[0] != boots[1] {
            notes.push("the machine was booted since the baseline".to_owned());
        }
        let is_gone = !before.changes.is_empty() && outcome.verdict == GuardVerdict::AsBefore;
        if is_gone {
            notes.push(format!(
                "transient: what the check of {} found is gone ({})",
                before.checked_utc, before.sentence
            ));
        }
        if checks.len() == 2 && outcome.changes.is_empty() && outcome.verdict != GuardVerdict::CannotTell {
            notes.push("one check-up was beyond a limit, the one right after it was not".to_owned());
        }
        let (busy, runs) = (outcome.baseline_busy_runs, outcome.baseline_runs);
        if busy > 0 && !self.was_busy() {
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
        class: departure.class.name().to_owned(),
        slower_percent: departure.log.exp_m1() * 100.0,
        limit_percent: departure.limit.exp_m1() * 100.0,
        trend: None,
    }
}

#[cfg(test)]
mod tests;

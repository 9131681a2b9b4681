//! What the plan says about probes that did not run to their end: the reason for every missing result.

use record::{PlanEntry, PlanOutcome, Record};

use crate::escape::plain;

/// The reason why an entry has no or not all results; `None` if it is done.
pub(crate) fn reason(entry: &PlanEntry) -> Option<String> {
    match &entry.outcome {
        PlanOutcome::Done => None,
        PlanOutcome::Pending => Some("not reached before the run stopped".to_owned()),
        PlanOutcome::Cut(why) => Some(format!("cut short: {}", plain(why))),
        PlanOutcome::Dropped(why) => Some(format!("dropped: {}", plain(why))),
        PlanOutcome::Failed(why) => Some(format!("unable to measure: {}", plain(why))),
    }
}

/// One phrase per probe that is not done.
pub(crate) fn not_done(record: &Record) -> Vec<String> {
    record
        .plan
        .entries
        .iter()
        .filter_map(|entry| reason(entry).map(|why| format!("{} {why}", plain(&entry.probe))))
        .collect()
}

/// What was planted in a record, and that it says nothing of its machine; `None` if nothing was.
pub(crate) fn planted(record: &Record) -> Option<String> {
    let rules = &record.provenance.planted;
    let told: Vec<String> =
        rules.iter().map(|rule| format!("{} times {}", plain(&rule.row), rule.factor)).collect();
    (!told.is_empty()).then(|| {
        format!(
            "windows were made longer on purpose ({}): this is not what the machine does",
            told.join(", ")
        )
    })
}

/// A sentence that says why there is nothing to show, from the first planned probe whose name has one of the words.
pub(crate) fn why_missing(record: &Record, words: &[&str]) -> String {
    let named = |entry: &&PlanEntry| words.iter().any(|word| entry.probe.to_lowercase().contains(word));
    let told = record.plan.entries.iter().filter(named).find_map(|entry| {
        reason(entry).map(|why| format!("Not in this record: probe {} was {why}.", plain(&entry.probe)))
    });
    told.unwrap_or_else(|| match (&record.partial, record.plan.entries.iter().any(|entry| named(&entry))) {
        (Some(why), _) => format!("Not in this record: the run stopped early ({}).", plain(why)),
        (None, true) => "Not in this record: the probe ran but kept no usable result.".to_owned(),
        (None, false) => "Not in this record: no probe for it was planned.".to_owned(),
    })
}

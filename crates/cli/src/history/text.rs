//! The history in words: a line for each check-up, and the trends.

use std::fmt::Write;

use record::{HistoryListing, HistoryTrend};
use report::{Terminal, paragraph};

use super::Store;

/// Trends without a change are told up to this many; --json has all.
const STEADY_SHOWN: usize = 40;

/// The listing, without the oldest `hidden` entries.
pub(super) fn listing(listing: &HistoryListing, hidden: usize, store: &Store, terminal: Terminal) -> String {
    let mut text = String::new();
    if listing.entries.is_empty() {
        let none = format!("no check-ups yet in {}; sidestep run adds one", store.path().display());
        return paragraph("", &none, terminal);
    }
    if listing.trends.is_empty() {
        let _ = writeln!(text, "started (UTC)         boot      microcode   warnings  inconclusive  kernel");
        for line in &listing.entries[hidden..] {
            let told = |value: &Option<String>| value.clone().unwrap_or_else(|| "?".to_owned());
            let row = format!(
                "{:<20}  {:<8}  {:<10}  {:>8}  {:>12}  {}",
                line.started_utc,
                told(&line.boot),
                told(&line.microcode),
                line.warnings,
                line.inconclusive,
                told(&line.kernel)
            );
            text += &paragraph(
                "",
                &row,
                Terminal { width_columns: row.len().max(terminal.width_columns), ..terminal },
            );
            let mut remarks: Vec<String> = line.partial.iter().map(|why| format!("partial: {why}")).collect();
            remarks.extend(line.doubts.first().map(|why| format!("noisy: {why}")));
            if let Some(machine) = listing.machines.get(line.machine).filter(|_| line.machine > 0) {
                remarks.push(format!("another machine: {} CPUs of {}", machine.cpus, machine.cpu));
            }
            for remark in remarks {
                text += &paragraph("    ", &remark, terminal);
            }
        }
        text.push('\n');
    } else {
        for trend in listing.trends.iter().take(STEADY_SHOWN.max(changed(listing))) {
            text += &paragraph("", &one(trend), terminal);
            for change in &trend.changes {
                let facts: Vec<String> = change.facts.iter().map(told).collect();
                let beside = match facts.as_slice() {
                    [] => "no fact changed there".to_owned(),
                    facts => format!("at the same time, which is no proof: {}", facts.join("; ")),
                };
                let when = format!("    {}  {:+.1} %  ", change.started_utc, change.percent);
                text += &paragraph(&when, &beside, terminal);
            }
        }
        text.push('\n');
    }
    let more = if hidden > 0 && listing.trends.is_empty() {
        format!("; {hidden} older ones with --last")
    } else {
        String::new()
    };
    let others = match listing.machines.len() {
        1 => String::new(),
        count => format!(", of {count} machines; trends are of this one alone"),
    };
    text += &paragraph(
        "",
        &format!("{} check-ups in {}{others}{more}", listing.entries.len(), store.path().display()),
        terminal,
    );
    text
}

fn changed(listing: &HistoryListing) -> usize {
    listing.trends.iter().filter(|trend| !trend.changes.is_empty()).count()
}

fn one(trend: &HistoryTrend) -> String {
    let last = trend.values.last().copied().unwrap_or(f64::NAN);
    let slope = trend.percent_per_day.map_or_else(String::new, |percent| format!(", {percent:+.2} % a day"));
    let steady = if trend.changes.is_empty() { ", no change of level detected" } else { ", level changed" };
    format!(
        "{}: {last:.4} {} in the last of {} runs{slope}{steady}",
        trend.row,
        trend.unit,
        trend.values.len()
    )
}

fn told(fact: &record::FactDifference) -> String {
    let value = |index: usize| fact.values.get(index).and_then(Option::as_deref).unwrap_or("none");
    format!("{} from {} to {}", fact.fact, value(0), value(1))
}

//! `sidestep run --repeat`: check-ups one after the other, each with its record, and how far they lie apart.

use std::fmt::Write as _;
use std::thread;
use std::time::{Duration, Instant};

use experiments::history::{alike, entry, spreads};
use host::live::{install_handlers, pending_signal};
use record::HistoryEntry;
use stats::Host;

use super::arguments::RunArguments;
use super::once;
use crate::options::Global;
use crate::outcome::Outcome;
use crate::{output, store};

/// A signal is seen after this at the latest.
const NAP: Duration = Duration::from_millis(100);

/// Times at which runs begin.
pub(crate) struct Schedule {
    next: Instant,
    every: Duration,
}

impl Schedule {
    pub(crate) fn new(every: Option<Duration>) -> Self {
        Self { next: Instant::now(), every: every.unwrap_or_default() }
    }

    /// Waits until the next run is due; false if a signal comes first. A run that took too long does not make the next
    /// ones hurry.
    pub(crate) fn wait(&mut self) -> bool {
        while pending_signal().is_none() {
            let now = Instant::now();
            if now >= self.next {
                self.next = now + self.every;
                return true;
            }
            thread::sleep((self.next - now).min(NAP));
        }
        false
    }
}

/// Runs them.
pub(crate) fn run(arguments: &RunArguments, count: u32, global: &Global) -> anyhow::Result<Outcome> {
    install_handlers()?;
    let mut schedule = Schedule::new(arguments.again.every);
    let (mut entries, mut ended) = (Vec::new(), Outcome::Done);
    for number in 1..=count {
        if !schedule.wait() {
            break;
        }
        // Below the one that was named, or a new one beside the others.
        let folder = match &arguments.record {
            Some(folder) => folder.join(format!("run-{number}")),
            None => store::new_folder()?,
        };
        let arguments = RunArguments { record: Some(folder.clone()), ..arguments.clone() };
        let quiet = Global { quiet: true, ..global.clone() };
        let outcome = once(&arguments, &quiet)?;
        let entry = entry(&store::load(&folder)?);
        if !global.json && !global.quiet {
            let doubts = if entry.doubts.is_empty() { "" } else { ", noisy" };
            let (warnings, open) = (entry.warnings, entry.inconclusive);
            output::print_lines(&format!(
                "{number} of {count}  {}  {warnings} warnings, {open} inconclusive{doubts}  {}",
                entry.started_utc,
                folder.display()
            ))?;
        }
        entries.push(entry);
        match outcome {
            Outcome::Done => {}
            Outcome::Interrupted(_) => {
                ended = outcome;
                break;
            }
            // The first verdict that is not good is that of all.
            other if matches!(ended, Outcome::Done) => ended = other,
            _ => {}
        }
    }
    if !global.json && !global.quiet {
        output::print_lines(&text(&entries))?;
    }
    Ok(pending_signal().map_or(ended, Outcome::Interrupted))
}

/// The spread by class, as a comparison takes it from these runs; nothing of fewer than three, which do not show it.
fn text(entries: &[HistoryEntry]) -> String {
    let runs = alike(&entries.iter().collect::<Vec<_>>());
    let host = Host::of(runs.first().is_some_and(|run| run.fingerprint.hypervisor.is_some()));
    let classes = spreads(&runs, host);
    if classes.is_empty() {
        return String::new();
    }
    let percent = |spread: f64| spread.exp_m1() * 100.0;
    let mut text = format!("\nspread between {} runs (standard deviation)\n", runs.len());
    text += "class                   rows  widest row %  whole class %\n";
    for class in classes {
        let (row, whole) = (percent(class.widest_row), percent(class.whole));
        let _ = writeln!(text, "{:<22}  {:>4}  {row:>12.2}  {whole:>13.2}", class.class.name(), class.rows);
    }
    text
}

#[cfg(test)]
mod tests {
    use record::{Better, HistoryRow};
    use stats::RowClass;

    use super::*;

    #[test]
    fn runs_without_a_period_follow_each_other_and_one_run_has_no_spread() {
        let mut schedule = Schedule::new(None);
        assert!(schedule.wait() && schedule.wait());
        assert_eq!(text(&[HistoryEntry::default()]), "");
    }

    #[test]
    fn the_spread_of_a_class_is_that_of_what_its_rows_share() {
        let run = |factor: f64| {
            let row = |value: f64| HistoryRow {
                class: RowClass::CoreLatency,
                unit: "ns".to_owned(),
                better: Better::Lower,
                value: value * factor,
            };
            let rows = [("a", 1.0), ("b", 4.0)].map(|(name, value)| (name.to_owned(), row(value)));
            HistoryEntry { rows: rows.into(), ..HistoryEntry::default() }
        };
        let text = text(&[0.99, 1.0, 1.01].map(run));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[3], "L1 and L2 latency          2          1.01           1.01", "{text}");
    }
}

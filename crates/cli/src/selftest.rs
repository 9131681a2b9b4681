//! `sidestep selftest`: how precise sidestep is on this machine, now, and what it is blind to here.

mod blind_spots;

use std::time::{Duration, Instant};

use clap::Args;
use experiments::history::{alike, fingerprint, is_same_machine, reach};
use host::live;
use machine::{CpuSet, Machine};
use probes::selftest::{failures, measure, seconds};
use probes::session::Session;
use record::{BetweenRuns, HistoryEntry, Provenance, Record, SCHEMA, Selftest};
use serde_json::json;
use stats::text::percent;
use stats::{Host, Knowledge, Reach};

use crate::forms::Forms;
use crate::history::Store;
use crate::options::{Global, parse_budget};
use crate::outcome::{CouldNotMeasure, Outcome};
use crate::progress::ProgressLine;
use crate::{describe, recording};

/// Version of the JSON document of this command.
const DOCUMENT_SCHEMA: u32 = 1;

/// Options of `selftest`.
#[derive(Debug, Clone, Args)]
pub(crate) struct SelftestArguments {
    /// Only these CPUs, such as 0-3,8
    #[arg(long, value_name = "LIST")]
    pub(crate) cpus: Option<CpuSet>,
    /// Take about this long, such as 30s or 5m
    #[arg(long, value_name = "TIME", value_parser = parse_budget)]
    pub(crate) budget: Option<Duration>,
    #[command(flatten)]
    pub(crate) forms: Forms,
}

/// Measures, prints, judges.
pub(crate) fn selftest(arguments: &SelftestArguments, global: &Global) -> anyhow::Result<Outcome> {
    let started = Instant::now();
    let machine = describe::live_machine();
    let cpus = recording::chosen_cpus(&machine, arguments.cpus.as_ref())?;
    let seconds = seconds(arguments.budget.map(|time| time.as_secs_f64()));
    live::install_handlers()?;
    let line = ProgressLine::new(global.quiet);
    let provenance = Provenance { seed: recording::seed_of_now(), ..Provenance::default() };
    let record = Record { schema: SCHEMA, provenance, machine, ..Record::default() };
    let mut session = Session::start(record, cpus, &line).map_err(CouldNotMeasure::because)?;
    line.begin("resolution", Duration::from_secs_f64(seconds));
    let found = measure(&mut session, seconds);
    line.end();
    let spots = blind_spots::of(&session.record.machine, &blind_spots::Facts::of_this_machine());
    let between_runs = between_runs(&session.record.machine);
    let (failures, elapsed_s) = (failures(&found), started.elapsed().as_secs_f64());
    let document = json!({
        "schema": DOCUMENT_SCHEMA,
        "selftest": found,
        "between_runs": between_runs,
        "failures": failures,
        "blind_spots": spots,
        "sentence": sentence(&found),
        "elapsed_s": elapsed_s,
    });
    let page = report::selftest_page(&found, &between_runs, &failures, &spots, elapsed_s);
    arguments.forms.print(&page, &document, global)?;
    verdict(&found, global)
}

fn verdict(found: &Selftest, global: &Global) -> anyhow::Result<Outcome> {
    if let Some(signal) = live::pending_signal() {
        return Ok(Outcome::Interrupted(signal));
    }
    if found.resolution.is_empty() {
        let reasons = anyhow::anyhow!("nothing could be measured: {}", found.without.join("; "));
        return Err(CouldNotMeasure::because(reasons));
    }
    let failed = !failures(found).is_empty();
    Ok(if failed && global.strict {
        Outcome::Inconclusive
    } else if failed && global.gate {
        Outcome::Gated
    } else {
        Outcome::Done
    })
}

/// What can be seen, as the document has it.
fn sentence(found: &Selftest) -> String {
    let Some(kind) = found.headline() else {
        return "On this machine, now: nothing is determined.".to_owned();
    };
    format!(
        "On this machine, now: I can see {} in {:.1} s for {}, not {}.",
        percent(kind.detectable),
        kind.seconds,
        kind.kind,
        percent(kind.detectable / 5.0)
    )
}

/// Of this host, from the history of its user; one that cannot be read is as none, and says so.
fn between_runs(machine: &Machine) -> BetweenRuns {
    let here = fingerprint(machine);
    let (entries, unread) = match Store::of_user().read() {
        Ok(found) => (found.entries, None),
        Err(why) => (Vec::new(), Some(format!("{why:#}"))),
    };
    let own: Vec<&HistoryEntry> = entries
        .iter()
        .map(|(_, entry)| entry)
        .filter(|entry| is_same_machine(&here, &entry.fingerprint))
        .collect();
    of_runs(&own, unread.as_deref(), Host::of(machine.identity.hypervisor.is_some()))
}

fn of_runs(own: &[&HistoryEntry], unread: Option<&str>, host: Host) -> BetweenRuns {
    let runs = alike(own);
    let classes = reach(&runs, host);
    let falls_short = classes.iter().filter(|one| one.falls_short()).map(short).collect();
    BetweenRuns { rests_on: rests_on(&runs, &classes, unread, host), classes, falls_short }
}

fn rests_on(runs: &[&HistoryEntry], classes: &[Reach], unread: Option<&str>, host: Host) -> String {
    let measured = match host {
        Host::Guest => "measured on a guest",
        Host::BareMetal => "measured on a guest and taken for bare metal too",
    };
    let by_table = classes.iter().filter(|one| one.knowledge != Knowledge::History).count();
    let table = format!("the shipped table, {measured}");
    match (unread, by_table) {
        (Some(why), _) => format!("Rests on {table}; the history cannot be read: {why}."),
        (None, 0) => format!("Rests on the history of {} runs of this machine.", runs.len()),
        (None, missing) if missing == classes.len() => {
            format!("Rests on {table}: {} runs of this machine show no spread, three do.", runs.len())
        }
        (None, _) => format!(
            "Rests on the history of {} runs of this machine; where marked (*), on {table}.",
            runs.len()
        ),
    }
}

fn short(one: &Reach) -> String {
    let goal = one.goal.unwrap_or_default();
    let from = match one.knowledge {
        Knowledge::History => format!("{} runs of this machine", one.runs),
        _ => "runs, by the shipped table,".to_owned(),
    };
    let needed = one.runs_for_goal.map_or_else(
        || "no number of runs up to a hundred a side would do".to_owned(),
        |runs| format!("{runs} runs a side would do"),
    );
    format!(
        "{} cannot show {}: with nothing changed {from} differ by {} (one standard deviation) in what all its rows share; {needed}.",
        one.class.name(),
        percent(goal),
        percent(one.class_spread)
    )
}

#[cfg(test)]
mod tests {
    use record::{Better, HistoryRow};
    use stats::RowClass;

    use super::*;

    fn run(index: usize) -> HistoryEntry {
        // Alternately up and down by 0.2 %: a quiet machine.
        let factor = if index.is_multiple_of(2) { 1.002 } else { 0.998 };
        let row = |class, value: f64| HistoryRow {
            class,
            unit: "ns".to_owned(),
            better: Better::Lower,
            value: value * factor,
        };
        let rows = [
            ("latency, 4 KiB pages, L1", row(RowClass::CoreLatency, 1.2)),
            ("core clock", row(RowClass::CoreClock, 3.7)),
        ];
        HistoryEntry {
            rows: rows.map(|(name, row)| (name.to_owned(), row)).into(),
            ..HistoryEntry::default()
        }
    }

    #[test]
    fn the_table_names_its_ground_and_what_it_cannot_show() {
        let found = of_runs(&[], None, Host::Guest);
        let words = format!("{} {}", found.rests_on, found.falls_short.join(" "));
        for part in [
            "Rests on the shipped table",
            "L1 and L2 latency cannot show 3 %",
            "memory latency cannot show 10 %",
        ] {
            assert!(words.contains(part), "{part}: {words}");
        }
        let bare = of_runs(&[], Some("no right"), Host::BareMetal);
        assert!(bare.rests_on.contains("bare metal") && bare.rests_on.contains("no right"));
    }

    #[test]
    fn a_quiet_history_shows_three_percent_of_the_core_and_the_rest_by_the_table() {
        let runs: Vec<HistoryEntry> = (0..12).map(run).collect();
        let found = of_runs(&runs.iter().collect::<Vec<_>>(), None, Host::Guest);
        assert!(found.rests_on.starts_with("Rests on the history of 12 runs"), "{}", found.rests_on);
        assert!(
            !found.falls_short.iter().any(|line| line.starts_with("L1 and L2")),
            "{:?}",
            found.falls_short
        );
        assert!(found.classes.iter().any(|one| one.knowledge != Knowledge::History));
    }
}

//! `sidestep selftest`: how precise sidestep is on this machine, now, and what it is blind to here.

mod between_runs;
mod blind_spots;
mod text;

use std::time::{Duration, Instant};

use host::live;
use probes::selftest::{Selftest, Settings};
use probes::session::Session;
use record::{Provenance, Record, SCHEMA};
use serde_json::json;

use crate::arguments::{Global, SelftestArguments};
use crate::outcome::{CouldNotMeasure, Outcome};
use crate::progress::Line;
use crate::{check_up, describe, output};

/// Version of the JSON document of this command.
const DOCUMENT_SCHEMA: u32 = 1;
/// How long after its budget the last part may still be measured.
const GRACE: Duration = Duration::from_millis(500);

/// Measures, prints, judges.
pub(crate) fn selftest(arguments: &SelftestArguments, global: &Global) -> anyhow::Result<Outcome> {
    let started = Instant::now();
    let machine = describe::live_machine();
    let cpus = check_up::chosen_cpus(&machine, arguments.cpus.as_ref())?;
    let settings =
        Settings { surface: arguments.surface, budget_s: arguments.budget.map(|time| time.as_secs_f64()) };
    live::install_handlers()?;
    let line = Line::new(global.quiet);
    let provenance = Provenance { seed: check_up::seed_of_now(), ..Provenance::default() };
    let record = Record { schema: SCHEMA, provenance, machine, ..Record::default() };
    let mut session = Session::start(record, cpus, &line)
        .map_err(|error| anyhow::Error::new(CouldNotMeasure).context(error))?;
    let before = live::snapshot();
    let found = measure(&mut session, &settings, &line);
    let steal_share = live::snapshot().steal_share(&before);
    line.end();
    let spots =
        blind_spots::of(&session.record.machine, &found, &blind_spots::Facts::of_this_machine(steal_share));
    let between_runs = between_runs::BetweenRuns::of(&session.record.machine);
    let report = text::Report {
        found: &found,
        between_runs: &between_runs,
        spots: &spots,
        elapsed_s: started.elapsed().as_secs_f64(),
    };
    if global.json {
        let document = json!({
            "schema": DOCUMENT_SCHEMA,
            "selftest": found,
            "between_runs": between_runs,
            "failures": found.failures(),
            "blind_spots": spots,
            "sentence": report.sentence(),
            "elapsed_s": report.elapsed_s,
        });
        output::print(&output::json_text(&document)?)?;
    } else if !global.quiet {
        output::print_lines(&report.text())?;
    }
    verdict(&found, global)
}

fn verdict(found: &Selftest, global: &Global) -> anyhow::Result<Outcome> {
    if let Some(signal) = live::pending_signal() {
        return Ok(Outcome::Interrupted(signal));
    }
    if !found.says_something() {
        let reasons = anyhow::anyhow!("nothing could be measured: {}", found.without.join("; "));
        return Err(anyhow::Error::new(CouldNotMeasure).context(reasons));
    }
    let failed = !found.failures().is_empty();
    Ok(if failed && global.strict {
        Outcome::Inconclusive
    } else if failed && global.gate {
        Outcome::Gated
    } else {
        Outcome::Done
    }
    .if_all_started())
}

fn measure(session: &mut Session<'_>, settings: &Settings, line: &Line) -> Selftest {
    let mut found = Selftest::default();
    let parts = settings.parts();
    let mut left_s: f64 = parts.iter().map(|part| part.seconds).sum();
    // Parts overrun a little each; what a busy machine makes of that is cut here.
    let end = Instant::now() + Duration::from_secs_f64(left_s) + GRACE;
    for planned in parts {
        if live::pending_signal().is_some() {
            break;
        }
        line.begin(planned.part.name(), Duration::from_secs_f64(left_s.max(0.0)));
        found.measure(session, planned, end);
        left_s -= planned.seconds;
    }
    found
}

//! `sidestep selftest`: how precise sidestep is on this machine, now, and what it is blind to here.

mod between_runs;
mod blind_spots;

use std::time::{Duration, Instant};

use clap::Args;
use host::live;
use machine::CpuSet;
use probes::selftest::{failures, measure, seconds};
use probes::session::Session;
use record::{Provenance, Record, SCHEMA, Selftest};
use serde_json::json;

use crate::forms::Forms;
use crate::global::Global;
use crate::option_values::parse_budget;
use crate::outcome::{CouldNotMeasure, Outcome};
use crate::progress::ProgressLine;
use crate::{describe, output, provenance};

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
    arguments.forms.ensure_writable()?;
    let started = Instant::now();
    let machine = describe::live_machine();
    let cpus = provenance::chosen_cpus(&machine, arguments.cpus.as_ref())?;
    let seconds = seconds(arguments.budget.map(|time| time.as_secs_f64()));
    live::install_handlers()?;
    let line = ProgressLine::new(global.quiet);
    let provenance = Provenance { seed: provenance::seed_of_now(), ..Provenance::default() };
    let record = Record { schema: SCHEMA, provenance, machine, ..Record::default() };
    let mut session = Session::start(record, cpus, &line).map_err(CouldNotMeasure::because)?;
    line.begin("resolution", Duration::from_secs_f64(seconds));
    let found = measure(&mut session, seconds);
    line.end();
    let spots = blind_spots::of(&session.record.machine, &blind_spots::Facts::of_this_machine());
    let between_runs = between_runs::between_runs(&session.record.machine);
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
    output::print(&arguments.forms.text(&page, &document, global)?)?;
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
        return "On this machine, now: nothing can be told.".to_owned();
    };
    format!(
        "On this machine, now: I can see {} in {:.1} s for {}, not {}.",
        percent(kind.detectable),
        kind.seconds,
        kind.kind,
        percent(kind.detectable / 5.0)
    )
}

/// From this share on a difference is written without decimals.
const COARSE: f64 = 0.1;
/// Smaller differences all read the same.
const FINEST: f64 = 0.0001;
/// More than eleven times as much: nobody needs that to the percent.
const MEANINGLESS: f64 = 10.0;

pub(super) fn percent(share: f64) -> String {
    if share.abs() < FINEST {
        return "<0.01 %".to_owned();
    }
    if share >= MEANINGLESS {
        return format!(">{:.0} %", MEANINGLESS * 100.0);
    }
    let decimals = if share.abs() >= COARSE {
        0
    } else if share.abs() >= COARSE / 100.0 {
        1
    } else {
        2
    };
    format!("{:.decimals$} %", share * 100.0)
}

//! `sidestep run`: plan, measure, judge, write, summarise.

mod arguments;
mod epochs;
mod fleet_record;
pub(crate) mod repeat;

use std::time::{Duration, Instant};

use ::flaws::{Catalogue, catalogue};
use host::{Root, live};
use machine::{CpuId, Machine};
use probes::check_up::{NotKept, RecordSink, measure};
use probes::plan::{CheckUpPlan, Depth, Options, Probe, Selection, plan};
use probes::session::Session;
use record::{Plan, PlanOutcome, Provenance, Record, SCHEMA};
use serde::Serialize;

use crate::flaws::Examined;
use crate::forms::Words;
use crate::options::Global;
use crate::outcome::{CouldNotMeasure, Outcome};
use crate::progress::ProgressLine;
use crate::recording::{chosen_cpus, page, provenance, seed_of_now, verdict};
use crate::store::Folder;
use crate::{flaws, history, output, sockets};
pub(crate) use arguments::RunArguments;
use epochs::{CheckUpRun, NoProcess};
use fleet_record::FleetRecord;

/// The plan as a document.
#[derive(Serialize)]
struct PlanDocument<'r> {
    schema: u32,
    #[serde(flatten)]
    plan: &'r Plan,
}

/// Runs the check-up, once or again and again.
pub(crate) fn run(arguments: &RunArguments, global: &Global) -> anyhow::Result<Outcome> {
    if arguments.epoch {
        return epochs::run_epoch(arguments);
    }
    match arguments.again.repeat {
        Some(count) if !arguments.plan => repeat::run(arguments, count, global),
        _ => once(arguments, global),
    }
}

/// Runs one check-up.
pub(crate) fn once(arguments: &RunArguments, global: &Global) -> anyhow::Result<Outcome> {
    let started = Instant::now();
    let only = match arguments.only.as_slice() {
        [] => Selection::default(),
        names => Selection::of_names(names.iter().map(String::as_str))?,
    };
    let dropped = FleetRecord::of(&arguments.dropping, arguments.host_name)?;
    let catalogue = catalogue();
    let Examined { mut machine, mut evidence } = Examined::of_this_machine(&catalogue);
    if arguments.full_command_line {
        machine.environment.command_line = host::full_command_line(&Root::live());
        evidence.command_line.clone_from(&machine.environment.command_line);
    }
    if let Some(most) = arguments.free_memory_max {
        let free = &mut machine.environment.limits.available_memory_bytes;
        *free = Some(free.map_or(most, |free| free.min(most)));
    }
    let cpus = chosen_cpus(&machine, arguments.cpus.as_ref())?;
    let options = Options {
        depth: depth(arguments),
        budget_s: arguments.budget.map(|time| time.as_secs_f64()),
        only,
        signatures: flaws::telling(&catalogue, &evidence),
        epochs: usize::from(arguments.epochs),
    };
    let seed = arguments.seed.unwrap_or_else(seed_of_now);
    let plan = plan(&machine, &cpus, &options, seed);
    let mut record = begin(machine, &cpus, &plan, arguments, seed);
    if let Some(dropped) = &dropped {
        dropped.describe(&mut record.provenance);
    }
    record.flaw_evidence = Some(evidence);
    if arguments.plan {
        let page = report::plan_page(&record.plan);
        let document = PlanDocument { schema: SCHEMA, plan: &record.plan };
        Words { long: true, ..arguments.words.clone() }.print(&page, &document, global)?;
        return Ok(Outcome::Done);
    }
    anyhow::ensure!(
        !plan.probes.is_empty(),
        "no probe fits into {} s; the shortest budget that measures anything is {:.0} s",
        plan.budget_s,
        probes::plan::smallest_budget_s(&options).ceil()
    );
    live::install_handlers()?;
    let line = ProgressLine::new(global.quiet);
    let mut session = Session::start(record, cpus, &line).map_err(CouldNotMeasure::because)?;
    let folder = match &dropped {
        Some(dropped) => dropped.folder(&session.record)?,
        None => Folder::create(arguments.record.as_deref(), arguments.zstd)?,
    };
    let run = CheckUpRun { arguments, plan: &plan, line: &line, folder: &folder, started };
    let measured = in_epochs(&mut session, &run);
    line.end();
    measured.inspect_err(|_| folder.remove_if_empty())?;
    // The signatures are measured now.
    judge_flaws(&mut session.record, &catalogue);
    conclude(session.record, &run, dropped.as_ref(), global)
}

/// Measures in as many fresh processes as planned, and where there can be none in this one.
fn in_epochs(session: &mut Session<'_>, run: &CheckUpRun<'_>) -> anyhow::Result<()> {
    if run.plan.epochs > 1 {
        match epochs::measure(&mut session.record, run)? {
            Ok(()) => return Ok(()),
            Err(NoProcess(why)) => session
                .record
                .provenance
                .without
                .push(format!("one epoch, in this process, in place of {}: {why}", run.plan.epochs)),
        }
    }
    measure(session, run.plan, run.started, &Kept { line: run.line, folder: run.folder })
}

/// Judges the record, writes it with its report, and prints the summary; of a record for a fleet there is no report, no entry in the
/// history, which thousands of nodes may share, and one line.
fn conclude(
    mut record: Record,
    run: &CheckUpRun<'_>,
    dropped: Option<&FleetRecord>,
    global: &Global,
) -> anyhow::Result<Outcome> {
    let CheckUpRun { arguments, folder, .. } = run;
    if let Some(sockets) = &mut record.sockets {
        sockets.links = sockets::reported_links(&record.machine);
    }
    // Levels name the rows of the history, and the neighbours are what findings are made of.
    diagnosis::name_levels(&mut record);
    record.neighbours = experiments::neighbours::neighbours(&record);
    diagnosis::diagnose_named(&mut record);
    record.elapsed_s = run.started.elapsed().as_secs_f64();
    folder.write_record(&record).inspect_err(|_| folder.remove_if_empty())?;
    let outcome = verdict(&record, global);
    let nothing_measured = all_failed(&record);
    let record_path = folder.record_path();
    if let Some(dropped) = dropped {
        dropped.print(&record_path, record, global)?;
    } else {
        let page = page(&record, &record_path);
        folder.write_report(&page.html())?;
        if !arguments.again.no_history {
            history::append(&record);
        }
        arguments.words.print(&page, &record.without_raw(), global)?;
        if !global.json && !global.quiet && !arguments.words.markdown {
            let (record, report) = (record_path.display(), folder.report_path());
            output::print_lines(&format!("record  {record}\nreport  {}\n", report.display()))?;
        }
    }
    Ok(match live::pending_signal() {
        Some(signal) => Outcome::Interrupted(signal),
        None if nothing_measured => {
            Outcome::NotMeasured(anyhow::anyhow!("no probe could measure; the record says why"))
        }
        None => outcome,
    })
}

/// True if every probe that was planned failed.
fn all_failed(record: &Record) -> bool {
    let ran = |outcome: &PlanOutcome| !matches!(outcome, PlanOutcome::Dropped(_));
    record
        .plan
        .entries
        .iter()
        .map(|entry| &entry.outcome)
        .filter(|o| ran(o))
        .all(|o| matches!(o, PlanOutcome::Failed(_)))
}

fn depth(arguments: &RunArguments) -> Depth {
    match (arguments.quick, arguments.full) {
        (true, _) => Depth::Quick,
        (_, true) => Depth::Full,
        _ => Depth::Default,
    }
}

fn begin(
    machine: Machine,
    cpus: &[CpuId],
    plan: &CheckUpPlan,
    arguments: &RunArguments,
    seed: u64,
) -> Record {
    let provenance = Provenance {
        host_name: if arguments.host_name { live::host_name() } else { None },
        full_command_line: arguments.full_command_line,
        planted: arguments.inject.clone(),
        ..provenance(&machine, cpus, seed, plan.budget_s)
    };
    Record {
        schema: SCHEMA,
        provenance,
        machine,
        plan: plan.to_record(),
        partial: Some("still running, or killed".to_owned()),
        ..Record::default()
    }
}

/// Judges the flaws of the catalogue on the evidence of the record.
fn judge_flaws(record: &mut Record, catalogue: &Catalogue) {
    let Some(evidence) = &record.flaw_evidence else { return };
    record.flaws = ::flaws::judge(catalogue, evidence);
    record.flaws_uneven = ::flaws::uneven(catalogue, evidence);
    record.model_made_up = ::flaws::masked(evidence);
}

/// Tells the progress line, and writes the record into its folder.
pub(crate) struct Kept<'a> {
    pub(crate) line: &'a ProgressLine,
    pub(crate) folder: &'a Folder,
}

impl RecordSink for Kept<'_> {
    type Error = anyhow::Error;

    fn begin(&self, probe: Probe, left: Duration) {
        self.line.begin(probe.name(), left);
    }

    fn keep(&self, record: &Record) -> Result<(), NotKept<anyhow::Error>> {
        self.folder.write_record(record).map_err(|error| match error.downcast() {
            Ok(error) => NotKept::Unencodable(error),
            Err(error) => NotKept::Unwritable(error),
        })
    }
}

#[cfg(test)]
mod tests {
    use record::RawSeries;

    use super::*;
    use crate::store;

    #[test]
    fn a_number_that_no_record_can_hold_is_no_full_disk() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let folder = Folder::create(Some(directory.path()), false).expect("a folder without a run");
        let kept = Kept { line: &ProgressLine::new(true), folder: &folder };
        let mut record = Record { schema: SCHEMA, ..Record::default() };
        kept.keep(&record).expect("writable");
        let before = record.clone();
        record.push_raw(RawSeries { visits: vec![vec![f32::NAN]], ..RawSeries::default() });
        assert!(matches!(kept.keep(&record), Err(NotKept::Unencodable(_))));
        assert_eq!(store::load(directory.path()).expect("a readable record"), before);
    }
}

//! A check-up in epochs: the parent plans and judges, and fresh processes of this program measure, one after the other.
//!
//! A task is the record as it was begun, with the epoch's part of the plan; the epoch hands its record back after each probe, so that
//! one that dies leaves what it had. Both are in memory that no folder names: a parent that dies leaves nothing behind.

use std::cell::Cell;
use std::process::Command;
use std::time::{Duration, Instant};
use std::{env, mem, process};

use ::flaws::catalogue;
use anyhow::Context;
use host::live::{self, ChildError, Ending, Handover};
use kernels::random::SplitMix64;
use probes::check_up::{CLOSING_S, NotKept, RecordSink, doubts, measure as measure_plan};
use probes::epochs::Epochs;
use probes::plan::{CheckUpPlan, Options, Probe, epoch_plan};
use probes::session::{Progress, Session, Silent};
use record::{CpuShare, Encoding, EpochRun, PlanOutcome, Record, decode, encode};

use super::arguments::RunArguments;
use super::depth;
use crate::flaws;
use crate::outcome::{CouldNotMeasure, Outcome};
use crate::progress::ProgressLine;
use crate::store::Folder;

/// An epoch ends by its own deadlines; one that is so much later hangs, and is killed.
const GRACE: Duration = Duration::from_secs(3);
/// After Ctrl-C an epoch writes what it has, in about a tenth of a second.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often the line is drawn.
const REDRAW: Duration = Duration::from_millis(250);

/// Why there is not even one epoch: then this process measures.
#[derive(Debug)]
pub(crate) struct NoProcess(pub(crate) String);

/// What the parent needs to know.
pub(crate) struct CheckUpRun<'a> {
    pub(crate) arguments: &'a RunArguments,
    pub(crate) plan: &'a CheckUpPlan,
    pub(crate) line: &'a ProgressLine,
    pub(crate) folder: &'a Folder,
    pub(crate) started: Instant,
}

/// Measures in epochs and fills the record with what they found together; it is written after each.
pub(crate) fn measure(record: &mut Record, run: &CheckUpRun<'_>) -> anyhow::Result<Result<(), NoProcess>> {
    let begun = record.clone();
    let parts = run.plan.parts();
    let mut epochs = Epochs::default();
    let mut runs = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        if live::pending_signal().is_some() {
            break;
        }
        let ahead_s: f64 = parts[index..].iter().map(|part| seconds(part)).sum();
        let left_s = run.plan.budget_s - run.started.elapsed().as_secs_f64() - CLOSING_S;
        // What is left over is for the processes themselves; where too little is left each loses alike.
        let budget_s = seconds(part) + (left_s - ahead_s) / (parts.len() - index) as f64;
        run.line.begin(
            &format!("epoch {} of {}", index + 1, parts.len()),
            Duration::from_secs_f64(left_s.max(0.0)),
        );
        match epoch(&begun, run, part, index, budget_s) {
            Ok((run, found)) => {
                runs.push(run);
                if let Some(found) = found {
                    epochs.add(without_own_doubts(found), &mut record.raw);
                }
            }
            Err(why) if index == 0 => return Ok(Err(why)),
            Err(NoProcess(why)) => runs.push(EpochRun {
                started_utc: live::utc_now(),
                seed: epoch_seed(begun.provenance.seed, index),
                elapsed_s: 0.0,
                outcome: PlanOutcome::Failed(why),
                got: CpuShare::default(),
            }),
        }
        *record = Record { raw: mem::take(&mut record.raw), ..begun.clone() };
        record.epochs.clone_from(&runs);
        merge(record, &epochs);
        record.elapsed_s = run.started.elapsed().as_secs_f64();
        run.folder.write_record(record)?;
    }
    finish(record);
    Ok(Ok(()))
}

fn seconds(part: &[(Probe, f64)]) -> f64 {
    part.iter().map(|(_, seconds)| seconds).sum()
}

/// The seed of an epoch's orders and places.
fn epoch_seed(seed: u64, index: usize) -> u64 {
    let mut random = SplitMix64::new(seed);
    (0..index).for_each(|_| _ = random.next_u64());
    random.next_u64()
}

/// An epoch's record without what it noticed itself: the doubts of the whole time count.
fn without_own_doubts(mut epoch: Record) -> Record {
    let noticed = doubts(&epoch.guards);
    epoch.guards.doubts.retain(|doubt| !noticed.contains(doubt));
    epoch
}

/// What epochs found together.
fn merge(record: &mut Record, epochs: &Epochs) {
    probes::epochs::merge(record, epochs);
    let noticed = doubts(&record.guards);
    record.guards.doubts.extend(noticed);
}

/// What no epoch got to has failed, with the reason of the last one that did; whether a signal ended it.
fn finish(record: &mut Record) {
    let why = record.epochs.iter().rev().find_map(|run| match &run.outcome {
        PlanOutcome::Failed(why) => Some(why.clone()),
        _ => None,
    });
    let signal = live::pending_signal();
    for entry in &mut record.plan.entries {
        if let (PlanOutcome::Pending, Some(why), None) = (&entry.outcome, &why, signal) {
            entry.outcome = PlanOutcome::Failed(format!("its epoch: {why}"));
        }
    }
    record.partial = signal.map(|signal| format!("stopped by {signal:?} after {:.0} s", record.elapsed_s));
}

/// Runs one epoch: how it ended, and its record if it wrote one.
fn epoch(
    begun: &Record,
    run: &CheckUpRun<'_>,
    part: &[(Probe, f64)],
    index: usize,
    budget_s: f64,
) -> Result<(EpochRun, Option<Record>), NoProcess> {
    let seed = epoch_seed(begun.provenance.seed, index);
    let task = task(begun, part, budget_s);
    let bytes = encode(&task, Encoding::Json).map_err(|error| NoProcess(error.to_string()))?;
    let no_memory = |error: std::io::Error| NoProcess(format!("no memory for its record: {error}"));
    let handover = Handover::new(&bytes).map_err(no_memory)?;
    let program =
        env::current_exe().map_err(|error| NoProcess(format!("no path of this program: {error}")))?;
    let mut command = Command::new(program);
    command.args(["run", "--quiet", "--seed", &seed.to_string()]);
    command.args(["--epoch", "--parent", &process::id().to_string()]);
    command.args(run.arguments.quick.then_some("--quick"));
    command.args(run.arguments.full.then_some("--full"));
    let started_utc = live::utc_now();
    let begin = Instant::now();
    let whole_s = seconds(part).max(0.1);
    let limit = Duration::from_secs_f64(budget_s.max(0.0)) + GRACE;
    let ran = live::run_helper(command, &handover, limit, PATIENCE, &mut |_| {
        run.line.update(begin.elapsed().as_secs_f64() / whole_s);
        REDRAW
    });
    let run = ran.map_err(|error| match error {
        ChildError::NoTask(error) => NoProcess(error.to_string()),
        other => NoProcess(other.to_string()),
    })?;
    let found = handover.found().ok().and_then(|found| last_whole(&found, &bytes));
    let elapsed_s = begin.elapsed().as_secs_f64();
    let outcome = match (run.ending, &found) {
        (Ending::Code(0), Some(_)) => PlanOutcome::Done,
        (Ending::Interrupted, _) => PlanOutcome::Cut("stopped by a signal".to_owned()),
        (ending, found) => PlanOutcome::Failed(ending_text(&ending, &run.errors, elapsed_s, found.is_some())),
    };
    let got = found.as_ref().map_or_else(CpuShare::default, |record| CpuShare {
        steal_share: record.guards.steal_share,
        others_share: record.guards.others_share,
        waited_share: record.guards.waited_share,
        core_share: probes::epochs::core_share(record),
    });
    Ok((EpochRun { started_utc, seed, elapsed_s, outcome, got }, found))
}

/// The last record that an epoch handed back whole; none where there is but its task.
fn last_whole(found: &[Vec<u8>], task: &[u8]) -> Option<Record> {
    let records = found.iter().filter(|bytes| bytes.as_slice() != task);
    let whole = records.filter_map(|bytes| decode(bytes).ok());
    whole.max_by(|a, b| a.elapsed_s.total_cmp(&b.elapsed_s))
}

/// How an epoch that did not end well did end, in one line.
fn ending_text(ending: &Ending, errors: &[u8], elapsed_s: f64, has_record: bool) -> String {
    let how = match ending {
        Ending::Code(code) => format!("it ended with code {code}"),
        Ending::Signal(number) => format!("signal {number} killed it"),
        Ending::TimedOut => "it hung and was killed".to_owned(),
        Ending::Interrupted => "it was stopped".to_owned(),
    };
    let said = String::from_utf8_lossy(errors);
    let said = said.lines().map(str::trim).rfind(|line| !line.is_empty());
    let said = said.map_or_else(String::new, |line| format!(": {line}"));
    let kept = if has_record { "what it had measured counts" } else { "it left no record" };
    format!("{how} after {elapsed_s:.1} s{said}; {kept}")
}

/// The record as it was begun, with the part of the plan that an epoch measures.
fn task(begun: &Record, part: &[(Probe, f64)], budget_s: f64) -> Record {
    let mut task = begun.clone();
    task.plan.budget_s = budget_s + CLOSING_S;
    task.plan.entries.retain(|entry| part.iter().any(|(probe, _)| probe.name() == entry.probe));
    for entry in &mut task.plan.entries {
        entry.reduced.clear();
        let own = part.iter().find(|(probe, _)| probe.name() == entry.probe);
        entry.planned_s = own.map_or(0.0, |(_, seconds)| *seconds);
    }
    task
}

/// Hands back the record of an epoch.
struct HandedBack {
    handover: Handover,
    count: Cell<usize>,
}

impl RecordSink for HandedBack {
    type Error = anyhow::Error;

    fn begin(&self, _probe: Probe, _left: Duration) {}

    fn keep(&self, record: &Record) -> Result<(), NotKept<anyhow::Error>> {
        let bytes = encode(record, Encoding::Json).map_err(NotKept::Unencodable)?;
        let count = self.count.replace(self.count.get() + 1);
        self.handover.hand_back(count, &bytes).map_err(|error| NotKept::Unwritable(error.into()))
    }
}

/// One epoch: measures the part of the plan that it was handed, and hands back its record.
pub(crate) fn run_epoch(arguments: &RunArguments) -> anyhow::Result<Outcome> {
    let started = Instant::now();
    live::end_with(arguments.parent.context("an epoch has a parent; use sidestep run")?);
    live::install_handlers()?;
    let handover = Handover::inherited().context("an epoch is handed its task")?;
    let task = handover.task().context("an epoch is handed its task")?;
    let mut record = decode(&task).context("cannot use the task of an epoch")?;
    let cpus: Vec<machine::CpuId> = record.provenance.cpus.iter().collect();
    let evidence = record.flaw_evidence.as_ref();
    let options = Options {
        depth: depth(arguments),
        budget_s: Some(record.plan.budget_s),
        signatures: evidence.map_or_else(Vec::new, |evidence| flaws::telling(&catalogue(), evidence)),
        ..Options::default()
    };
    let of_entry = |entry: &record::PlanEntry| {
        Probe::all().find(|probe| probe.name() == entry.probe).map(|probe| (probe, entry.planned_s))
    };
    let part: Vec<(Probe, f64)> = record.plan.entries.iter().filter_map(of_entry).collect();
    let plan = epoch_plan(&record.machine, &cpus, &options, record.provenance.seed, &part);
    record.plan = plan.to_record();
    let mut session = Session::start(record, cpus, &Silent).map_err(CouldNotMeasure::because)?;
    session.random = SplitMix64::new(arguments.seed.unwrap_or_default());
    let back = HandedBack { handover, count: Cell::new(0) };
    measure_plan(&mut session, &plan, started, &back)?;
    session.record.elapsed_s = started.elapsed().as_secs_f64();
    match back.keep(&session.record) {
        Ok(()) => Ok(Outcome::Done),
        Err(NotKept::Unencodable(error)) => Err(error.into()),
        Err(NotKept::Unwritable(error)) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_epoch_has_a_seed_of_its_own_that_the_run_s_repeats() {
        let seeds: Vec<u64> = (0..3).map(|index| epoch_seed(7, index)).collect();
        assert_eq!(seeds, (0..3).map(|index| epoch_seed(7, index)).collect::<Vec<u64>>());
        assert!(seeds[0] != seeds[1] && seeds[1] != seeds[2] && !seeds.contains(&7));
    }

    #[test]
    fn of_what_an_epoch_handed_back_the_last_whole_record_counts() {
        let bytes = |elapsed_s| {
            let record = Record { schema: record::SCHEMA, elapsed_s, ..Record::default() };
            encode(&record, Encoding::Json).expect("finite numbers")
        };
        let (task, first, second) = (bytes(0.0), bytes(1.0), bytes(2.0));
        let found =
            |slots: [&[u8]; 2]| last_whole(&slots.map(<[u8]>::to_vec), &task).map(|record| record.elapsed_s);
        assert_eq!(found([&task, b""]), None);
        assert_eq!(found([&task, &first[..first.len() / 2]]), None);
        assert_eq!(found([&task, &first]), Some(1.0));
        assert_eq!(found([&second, &first]), Some(2.0));
        // The last byte ends the line and is of no value.
        for cut in [0, 1, second.len() / 2, second.len() - 2] {
            assert_eq!(found([&second[..cut], &first]), Some(1.0), "cut short at {cut}");
        }
    }

    #[test]
    fn how_an_epoch_ended_is_one_line() {
        let ending_text =
            |ending, errors: &str, has_record| ending_text(&ending, errors.as_bytes(), 1.26, has_record);
        assert_eq!(
            ending_text(Ending::Signal(9), "", true),
            "signal 9 killed it after 1.3 s; what it had measured counts"
        );
        assert_eq!(
            ending_text(Ending::Code(3), "one\nsidestep: two\n\n", false),
            "it ended with code 3 after 1.3 s: sidestep: two; it left no record"
        );
        assert!(ending_text(Ending::TimedOut, "", false).starts_with("it hung and was killed"));
    }

    #[test]
    fn what_no_epoch_got_to_has_failed_and_says_why() {
        let entry = |outcome| record::PlanEntry {
            probe: "control".to_owned(),
            planned_s: 1.0,
            disturbs: "self".to_owned(),
            reduced: Vec::new(),
            outcome,
            elapsed_s: None,
        };
        let mut record = Record::default();
        record.plan.entries = vec![entry(PlanOutcome::Pending), entry(PlanOutcome::Done)];
        record.epochs.push(EpochRun {
            started_utc: String::new(),
            seed: 1,
            elapsed_s: 1.0,
            outcome: PlanOutcome::Failed("signal 9 killed it".to_owned()),
            got: CpuShare::default(),
        });
        finish(&mut record);
        let [pending, done] = record.plan.entries.as_slice() else { panic!("two entries") };
        assert_eq!(pending.outcome, PlanOutcome::Failed("its epoch: signal 9 killed it".to_owned()));
        assert_eq!((&done.outcome, record.partial), (&PlanOutcome::Done, None));
    }
}

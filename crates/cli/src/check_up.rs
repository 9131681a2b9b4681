//! `sidestep run`: plan, measure, judge, write, summarise.

use std::env;
use std::panic::{self, AssertUnwindSafe};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ::flaws::{Catalogue, catalogue};
use host::Root;
use host::live::{self, Disturbance};
use machine::{CpuId, CpuSet, Hertz, Machine};
use models::interconnect::SocketAccount;
use probes::plan::{CheckUpPlan, Depth, Options, Selection, plan};
use probes::session::Session;
use record::{EncodeError, Guards, PlanOutcome, Provenance, Record, SCHEMA, Severity};
use report::Html;

use crate::arguments::{Global, RunArguments};
use crate::flaws::{self, Heard};
use crate::outcome::{CouldNotMeasure, Outcome};
use crate::plan_text::plan_text;
use crate::progress::Line;
use crate::store::Folder;
use crate::{output, show, sockets};

/// Kept of the budget for judging and writing, in seconds: what starting takes comes before the first probe.
const CLOSING_S: f64 = 1.0;
/// Steal above this share makes numbers doubtful: one window in twenty then lost a tenth of its time or more.
const STEAL_DOUBTFUL: f64 = 0.02;
/// Other processes that use more than this share of all CPUs make numbers doubtful.
const OTHERS_DOUBTFUL: f64 = 0.15;
/// More windows than this share set aside make numbers doubtful; 2-3 % is normal on a loaded machine.
const DROPPED_DOUBTFUL: f64 = 0.20;

/// Runs the check-up.
pub(crate) fn run(arguments: &RunArguments, global: &Global) -> anyhow::Result<Outcome> {
    let started = Instant::now();
    let only = selection(&arguments.only)?;
    let catalogue = catalogue();
    let Heard { mut machine, mut evidence } = Heard::of_this_machine(&catalogue);
    if arguments.full_command_line {
        machine.environment.command_line = host::full_command_line(&Root::live());
        evidence.command_line.clone_from(&machine.environment.command_line);
    }
    let cpus = chosen_cpus(&machine, arguments.cpus.as_ref())?;
    let options = Options {
        depth: depth(arguments),
        budget_s: arguments.budget.map(|time| time.as_secs_f64()),
        only,
        signatures: flaws::telling(&catalogue, &evidence),
    };
    let seed = arguments.seed.unwrap_or_else(seed_of_now);
    let plan = plan(&machine, &cpus, &options, seed);
    let mut record = begin(machine, &cpus, &plan, arguments, seed);
    record.flaw_evidence = Some(evidence);
    judge_flaws(&mut record, &catalogue);
    if arguments.plan {
        if global.json {
            output::print(&output::json_text(&record.plan)?)?;
        } else {
            output::print_lines(&plan_text(&record.plan))?;
        }
        return Ok(Outcome::Done);
    }
    anyhow::ensure!(
        !plan.probes.is_empty(),
        "no probe fits into {} s; the shortest budget that measures anything is {:.0} s",
        plan.budget_s,
        probes::plan::smallest_budget_s(&options).ceil()
    );
    live::install_handlers()?;
    let line = Line::new(global.quiet);
    let mut session = Session::start(record, cpus, &line)
        .map_err(|error| anyhow::Error::new(CouldNotMeasure).context(error))?;
    let folder = Folder::create(arguments.record.as_deref(), arguments.zstd)?;
    let measured = measure(&mut session, &plan, &line, &folder, started);
    line.end();
    measured.inspect_err(|_| folder.remove_if_empty())?;
    // Time has been heard now.
    judge_flaws(&mut session.record, &catalogue);
    conclude(session.record, arguments, global, &folder, started)
}

/// Judges the record, writes it with its report, and prints the summary.
fn conclude(
    mut record: Record,
    arguments: &RunArguments,
    global: &Global,
    folder: &Folder,
    started: Instant,
) -> anyhow::Result<Outcome> {
    if let Some(sockets) = &mut record.sockets {
        sockets.links = sockets::links_told(&record.machine);
    }
    diagnosis::diagnose(&mut record);
    record.elapsed_s = started.elapsed().as_secs_f64();
    folder.write_record(&record).inspect_err(|_| folder.remove_if_empty())?;
    folder.write_report(&page(&record, Html { script: !arguments.no_script }))?;
    let outcome = verdict(&record, global);
    let nothing_measured = all_failed(&record);
    if global.json {
        output::print(&show::without_raw(record)?)?;
    } else if !global.quiet {
        output::print(&report::terminal(&record, output::terminal(global)))?;
        output::print_lines(&format!(
            "record  {}\nreport  {}\n",
            folder.record_path().display(),
            folder.report_path().display()
        ))?;
    }
    Ok(match live::pending_signal() {
        Some(signal) => Outcome::Interrupted(signal),
        None if nothing_measured => {
            Outcome::NotMeasured(anyhow::anyhow!("no probe could measure; the record says why"))
        }
        None => outcome,
    })
}

/// The page of a record.
pub(crate) fn page(record: &Record, options: Html) -> String {
    report::html(record, socket_account(record).as_ref(), options)
}

/// What the models make of a record's sockets, if it has any.
pub(crate) fn socket_account(record: &Record) -> Option<SocketAccount> {
    let sockets = record.sockets.as_ref()?;
    Some(diagnosis::socket_account(sockets, Some(&record.machine)))
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

/// What `--gate` and `--strict` make of a record.
pub(crate) fn verdict(record: &Record, global: &Global) -> Outcome {
    let has = |severity| record.findings.iter().any(|finding| finding.severity == severity);
    if global.gate && has(Severity::Warning) {
        Outcome::Gated
    } else if global.strict && has(Severity::Inconclusive) {
        Outcome::Inconclusive
    } else {
        Outcome::Done
    }
}

fn depth(arguments: &RunArguments) -> Depth {
    match (arguments.quick, arguments.full) {
        (true, _) => Depth::Quick,
        (_, true) => Depth::Full,
        _ => Depth::Default,
    }
}

fn selection(names: &[String]) -> anyhow::Result<Selection> {
    if names.is_empty() {
        return Ok(Selection::default());
    }
    Ok(Selection::of_names(names.iter().map(String::as_str))?)
}

/// The CPUs asked for, all of which must be usable; else all that may be used.
pub(crate) fn chosen_cpus(machine: &Machine, wanted: Option<&CpuSet>) -> anyhow::Result<Vec<CpuId>> {
    let allowed = live::allowed_cpus();
    let allowed = if allowed.is_empty() { machine.topology.allowed.clone() } else { allowed };
    let Some(wanted) = wanted else {
        return Ok(allowed.iter().collect());
    };
    anyhow::ensure!(!wanted.is_empty(), "--cpus names no CPU; choose among {allowed}");
    let missing = wanted.difference(&allowed);
    anyhow::ensure!(missing.is_empty(), "CPU {missing} may not be used here; choose among {allowed}");
    Ok(wanted.iter().collect())
}

/// A seed that differs from run to run.
pub(crate) fn seed_of_now() -> u64 {
    // Any number will do; the record keeps it, and --seed repeats it.
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(1, |time| u64::from(time.subsec_nanos()) | time.as_secs() << 32)
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

/// Who measures, when and how, without the host's name.
pub(crate) fn provenance(machine: &Machine, cpus: &[CpuId], seed: u64, budget_s: f64) -> Provenance {
    let root = live::effective_root();
    let mut without = machine.missing.clone();
    if !root {
        without.push("not root: no reserved huge pages, no registers".to_owned());
    }
    Provenance {
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        arguments: env::args().skip(1).map(|argument| record::shareable_argument(&argument)).collect(),
        started_utc: live::utc_now(),
        seed,
        host_name: None,
        boot_id: live::boot_id(),
        full_command_line: false,
        cpus: cpus.iter().copied().collect(),
        budget_s,
        root,
        without,
    }
}

/// Judges the flaws of the catalogue on the evidence of the record.
fn judge_flaws(record: &mut Record, catalogue: &Catalogue) {
    let Some(evidence) = &record.flaw_evidence else { return };
    record.flaws = ::flaws::judge(catalogue, evidence);
    record.flaws_uneven = ::flaws::uneven(catalogue, evidence);
}

/// Runs the planned probes one after the other; each leaves its results in the record, which is written after each,
/// so that a run that is killed leaves what it had.
fn measure(
    session: &mut Session<'_>,
    plan: &CheckUpPlan,
    line: &Line,
    folder: &Folder,
    started: Instant,
) -> anyhow::Result<()> {
    let before = live::snapshot();
    let mut left_s: f64 = plan.probes.iter().map(|planned| planned.seconds).sum();
    for (index, planned) in plan.probes.iter().enumerate() {
        if live::pending_signal().is_some() {
            break;
        }
        let left_of_budget_s = plan.budget_s - started.elapsed().as_secs_f64();
        if let Some(reason) = no_room(planned.seconds, left_of_budget_s) {
            session.record.plan.entries[index].outcome = PlanOutcome::Dropped(reason);
            left_s -= planned.seconds;
            continue;
        }
        line.begin(planned.probe.name(), Duration::from_secs_f64(left_s.max(0.0)));
        let probe_started = Instant::now();
        session.deadline = probe_started + Duration::from_secs_f64(planned.seconds);
        let before_probe = session.record.clone();
        let result = shielded(session, &before_probe, |session| {
            planned.settings.run(session).map_err(|error| error.to_string())
        });
        left_s -= planned.seconds;
        let is_empty = has_same_results(&session.record, &before_probe);
        let entry = &mut session.record.plan.entries[index];
        entry.elapsed_s = Some(probe_started.elapsed().as_secs_f64());
        entry.outcome = match (result, live::pending_signal()) {
            (Err(reason), _) => PlanOutcome::Failed(reason),
            (Ok(()), Some(_)) => PlanOutcome::Cut("stopped by a signal".to_owned()),
            (Ok(()), None) if is_empty => PlanOutcome::Failed(nothing_kept(planned.seconds)),
            (Ok(()), None) => PlanOutcome::Done,
        };
        session.record.elapsed_s = started.elapsed().as_secs_f64();
        keep(&mut session.record, before_probe, index, folder)?;
    }
    session.record.guards = guards(session, &before, &live::snapshot());
    session.record.partial = live::pending_signal()
        .map(|signal| format!("stopped by {signal:?} after {:.0} s", session.record.elapsed_s));
    Ok(())
}

/// Why a probe of so many seconds is not begun any more; `None` if it fits into what is left of the budget.
fn no_room(planned_s: f64, left_s: f64) -> Option<String> {
    (planned_s + CLOSING_S > left_s).then(|| {
        format!(
            "what came before took longer than planned: {:.1} s of the budget were left, and it takes {planned_s:.1} s",
            left_s.max(0.0)
        )
    })
}

/// Runs a probe. If it panics it has failed, and the record is as it was before it: what others measured is not lost for a defect of
/// one.
fn shielded(
    session: &mut Session<'_>,
    before: &Record,
    probe: impl FnOnce(&mut Session<'_>) -> Result<(), String>,
) -> Result<(), String> {
    panic::catch_unwind(AssertUnwindSafe(|| probe(session))).unwrap_or_else(|panic| {
        session.record = before.clone();
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
        Err(format!("a defect of sidestep: it panicked ({text}); please report it with this record"))
    })
}

/// True if a probe has added nothing that anyone could look at.
fn has_same_results(after: &Record, before: &Record) -> bool {
    after.memory == before.memory
        && after.cores == before.cores
        && after.clocks == before.clocks
        && after.clock_check == before.clock_check
        && after.clock_cost == before.clock_cost
        && after.sockets == before.sockets
        && timed(after) == timed(before)
}

/// How many quantities of signatures have a value.
fn timed(record: &Record) -> usize {
    let timing = record.flaw_evidence.iter().flat_map(|evidence| evidence.timing.values());
    timing.filter(|reading| reading.value().is_some()).count()
}

/// Why a probe that met no error has no result: the time went by in preparing, or every window was disturbed.
fn nothing_kept(seconds: f64) -> String {
    format!("no undisturbed window in {seconds:.1} s; give it more time with --budget, or a quieter machine")
}

/// Writes the record with what the probe at `index` found. If that holds a number which no record can, the probe has
/// failed, and the record is as it was before it.
fn keep(record: &mut Record, before_probe: Record, index: usize, folder: &Folder) -> anyhow::Result<()> {
    let Err(error) = folder.write_record(record) else { return Ok(()) };
    if !error.is::<EncodeError>() {
        return Err(error);
    }
    let plan = std::mem::take(&mut record.plan);
    *record = Record { plan, elapsed_s: record.elapsed_s, ..before_probe };
    record.plan.entries[index].outcome = PlanOutcome::Failed(error.to_string());
    folder.write_record(record)
}

fn guards(session: &Session<'_>, before: &Disturbance, after: &Disturbance) -> Guards {
    let tally = session.tally;
    let frequencies: Vec<f64> =
        session.record.cores.control.iter().filter_map(|control| control.core_hz).map(|hz| hz.0).collect();
    let slowest = frequencies.iter().copied().fold(f64::INFINITY, f64::min);
    let fastest = frequencies.iter().copied().fold(0.0, f64::max);
    let mut guards = Guards {
        steal_share: after.steal_share(before),
        others_share: after.others_share(before),
        load_average: before.load_average.zip(after.load_average).map(|(before, after)| [before, after]),
        involuntary_switches: tally.involuntary_switches,
        windows: tally.windows,
        windows_dropped: tally.dropped,
        core_hz: (!frequencies.is_empty()).then_some([Hertz(slowest), Hertz(fastest)]),
        tsc_hz: Some(Hertz(session.rate.hz)),
        tsc_error_ppm: Some(session.rate.error_ppm),
        throttle_events: after
            .throttle_events
            .zip(before.throttle_events)
            .map(|(after, before)| after - before),
        // Probes have put their own here.
        doubts: session.record.guards.doubts.clone(),
    };
    let noticed = doubts(&guards);
    guards.doubts.extend(noticed);
    guards
}

fn doubts(guards: &Guards) -> Vec<String> {
    let percent = |share: f64| share * 100.0;
    let mut doubts = Vec::new();
    if let Some(share) = guards.steal_share.filter(|&share| share > STEAL_DOUBTFUL) {
        doubts.push(format!("the hypervisor gave {:.1} % of the CPU time to others", percent(share)));
    }
    if let Some(share) = guards.others_share.filter(|&share| share > OTHERS_DOUBTFUL) {
        doubts.push(format!("other processes used {:.0} % of all CPUs", percent(share)));
    }
    let dropped = guards.windows_dropped as f64 / guards.windows.max(1) as f64;
    if dropped > DROPPED_DOUBTFUL {
        doubts.push(format!("{:.0} % of the windows were pre-empted", percent(dropped)));
    }
    if let Some(events) = guards.throttle_events.filter(|&events| events > 0) {
        doubts.push(format!("the CPU was throttled for heat {events} times"));
    }
    doubts
}

#[cfg(test)]
mod tests {
    use record::{PlanEntry, RawSeries, Spread, WakePoint};

    use super::*;
    use crate::store;

    #[test]
    fn a_quiet_run_has_no_doubts_and_a_disturbed_one_says_which() {
        let quiet =
            Guards { windows: 100, windows_dropped: 3, steal_share: Some(0.001), ..Guards::default() };
        assert!(doubts(&quiet).is_empty());
        let disturbed = Guards {
            windows: 100,
            windows_dropped: 30,
            steal_share: Some(0.1),
            others_share: Some(0.5),
            throttle_events: Some(2),
            ..Guards::default()
        };
        assert_eq!(doubts(&disturbed).len(), 4);
    }

    #[test]
    fn a_probe_that_would_break_the_budget_is_not_begun() {
        assert_eq!(no_room(2.0, 3.1), None);
        let reason = no_room(2.0, 2.9).expect("nothing is left for the report");
        assert!(reason.contains("2.9 s of the budget were left, and it takes 2.0 s"), "{reason}");
    }

    #[test]
    fn a_probe_that_panics_has_failed_and_the_record_is_as_before() {
        let record = Record { elapsed_s: 1.0, ..Record::default() };
        let mut session = Session {
            record: record.clone(),
            cpus: vec![CpuId(0)],
            rate: clock::TickRate::calibrate(1_000_000).expect("a counter that counts"),
            random: kernels::random::SplitMix64::new(1),
            deadline: Instant::now(),
            progress: &probes::session::Silent,
            tally: probes::sampler::Tally::default(),
        };
        let reason = shielded(&mut session, &record, |session| {
            session.record.push_raw(RawSeries::default());
            let share_s = -0.4;
            _ = Duration::from_secs_f64(share_s);
            Ok(())
        })
        .expect_err("it panicked");
        assert!(
            reason.starts_with("a defect of sidestep: it panicked (") && reason.contains("negative"),
            "{reason}"
        );
        assert_eq!(session.record, record);
        assert_eq!(shielded(&mut session, &record, |_| Ok(())), Ok(()));
    }

    #[test]
    fn a_probe_that_added_nothing_is_seen() {
        let before = Record::default();
        let mut after = Record { elapsed_s: 1.0, ..Record::default() };
        after.push_raw(RawSeries::default());
        assert!(has_same_results(&after, &before));
        after.cores.wake.push(WakePoint {
            waker: CpuId(0),
            sleeper: CpuId(1),
            idle_us: 10.0,
            ns: 1.0,
            p90_ns: 2.0,
            spread: Spread::default(),
        });
        assert!(!has_same_results(&after, &before));
    }

    #[test]
    fn a_probe_that_found_no_finite_number_has_failed_and_the_others_are_kept() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let folder = Folder::create(Some(directory.path()), false).expect("a folder without a run");
        let entry = |probe: &str| PlanEntry {
            probe: probe.to_owned(),
            planned_s: 1.0,
            disturbs: "self".to_owned(),
            reduced: Vec::new(),
            outcome: PlanOutcome::Done,
            elapsed_s: None,
        };
        let mut record = Record { schema: SCHEMA, ..Record::default() };
        record.plan.entries = vec![entry("control"), entry("clocks")];
        let series = |window: f32| RawSeries { visits: vec![vec![window]], ..RawSeries::default() };
        record.push_raw(series(1.0));
        let before = record.clone();
        record.push_raw(series(f32::NAN));
        keep(&mut record, before, 1, &folder).expect("writable");
        let read = store::load(directory.path()).expect("a readable record");
        assert_eq!(read, record);
        assert_eq!((read.raw.len(), &read.plan.entries[0].outcome), (1, &PlanOutcome::Done));
        let PlanOutcome::Failed(reason) = &read.plan.entries[1].outcome else { panic!("not failed") };
        assert!(reason.contains("raw[1].visits[0][0]"), "{reason}");
    }

    #[test]
    fn cpus_that_may_not_be_used_are_named_with_those_that_may() {
        let error = chosen_cpus(&Machine::default(), Some(&"16000".parse().expect("a list")))
            .expect_err("no such CPU");
        assert!(error.to_string().contains("choose among"), "{error}");
    }
}

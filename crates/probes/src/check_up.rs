//! The check-up while it measures: planned probes one after the other, each shielded from the defects of the others, and what
//! disturbed the run.
//!
//! Any part of a plan can be run, on a session that is any process's: `run` makes no difference between a plan and a part.

use std::panic::{self, AssertUnwindSafe};
use std::time::{Duration, Instant};

use host::live::{self, Disturbance};
use machine::Hertz;
use record::{EncodeError, Guards, PlanEntry, PlanOutcome, Record};

use crate::plan::{CheckUpPlan, PlannedProbe, Probe, ProbeError};
use crate::session::Session;

/// Kept of the budget for judging and writing, in seconds: what starting takes comes before the first probe.
pub const CLOSING_S: f64 = 1.0;
/// Of what earlier probes left of their time, so much may go into one probe: what cannot be broken off needs some of it, and so do later
/// probes.
const LEFT_OVER_SHARE: f64 = 0.5;

/// Who sees what begins, and keeps the record after each probe, so that a run that is killed leaves what it had.
pub trait RecordSink {
    /// Why the record cannot be kept anywhere.
    type Error;

    /// A probe begins; it and all later ones take so long at most.
    fn begin(&self, probe: Probe, left: Duration);

    /// Keeps the record in place of what it kept before.
    ///
    /// # Errors
    /// A record that cannot be written, or one that could not be read again.
    fn keep(&self, record: &Record) -> Result<(), NotKept<Self::Error>>;
}

/// Why a record was not kept.
#[derive(Debug)]
pub enum NotKept<E> {
    /// It holds what no document can: its last probe is to blame.
    Unencodable(EncodeError),
    /// Another reason: the run is over.
    Unwritable(E),
}

/// Runs a plan and judges what disturbed it; `started` is when its budget began.
///
/// # Errors
/// A record that cannot be kept.
pub fn measure<K: RecordSink>(
    session: &mut Session<'_>,
    plan: &CheckUpPlan,
    started: Instant,
    sink: &K,
) -> Result<(), K::Error> {
    let before = live::snapshot();
    session.record.elapsed_s = started.elapsed().as_secs_f64();
    run(session, &plan.probes, plan.budget_s - session.record.elapsed_s, sink)?;
    session.record.elapsed_s = started.elapsed().as_secs_f64();
    session.record.guards = guards(session, &before, &live::snapshot());
    session.record.partial = live::pending_signal()
        .map(|signal| format!("stopped by {signal:?} after {:.0} s", session.record.elapsed_s));
    Ok(())
}

/// Runs probes one after the other until a signal comes; each leaves its results in the session's record, and what became of it
/// in the plan there. One that does not fit into `budget_s` from now is not begun.
///
/// # Errors
/// A record that cannot be kept.
pub fn run<K: RecordSink>(
    session: &mut Session<'_>,
    probes: &[PlannedProbe],
    budget_s: f64,
    sink: &K,
) -> Result<(), K::Error> {
    let began = Instant::now();
    let elapsed_before_s = session.record.elapsed_s;
    let mut left_s: f64 = probes.iter().map(|planned| planned.seconds).sum();
    for planned in probes {
        if live::pending_signal().is_some() {
            break;
        }
        let left_of_budget_s = budget_s - began.elapsed().as_secs_f64();
        if let Some(reason) = no_room(planned.seconds, left_of_budget_s) {
            entry(&mut session.record, planned.probe).outcome = PlanOutcome::Dropped(reason);
        } else {
            sink.begin(planned.probe, seconds(left_s));
            let before = Before::of(&mut session.record);
            let left_over_s = (left_of_budget_s - CLOSING_S - left_s).max(0.0);
            one(session, planned, left_over_s, &before);
            session.record.elapsed_s = elapsed_before_s + began.elapsed().as_secs_f64();
            keep(&mut session.record, &before, planned.probe, sink)?;
        }
        left_s -= planned.seconds;
    }
    Ok(())
}

/// The record before a probe. Of its raw windows, which are most of it, only how many series there were: probes append and change none.
struct Before {
    rest: Record,
    raw_count: usize,
}

impl Before {
    fn of(record: &mut Record) -> Self {
        let raw = std::mem::take(&mut record.raw);
        let before = Self { rest: record.clone(), raw_count: raw.len() };
        record.raw = raw;
        before
    }

    fn put_back(&self, record: &mut Record) {
        let mut raw = std::mem::take(&mut record.raw);
        raw.truncate(self.raw_count);
        *record = Record { raw, ..self.rest.clone() };
    }
}

fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX)
}

/// What the plan in the record says of a probe.
fn entry(record: &mut Record, probe: Probe) -> &mut PlanEntry {
    let entries = record.plan.entries.iter_mut();
    entries.into_iter().find(|entry| entry.probe == probe.name()).expect("what runs is in the record's plan")
}

/// Runs one probe, and says in the plan of the record what became of it. `left_over_s` is what earlier ones left of their time.
fn one(session: &mut Session<'_>, planned: &PlannedProbe, left_over_s: f64, before: &Before) {
    let started = Instant::now();
    let more_s = if planned.probe.about().takes_left_over { LEFT_OVER_SHARE * left_over_s } else { 0.0 };
    session.deadline = started + seconds(planned.seconds + more_s);
    let results_before = session.results;
    let result = shielded(session, before, |session| planned.settings.run(session));
    let outcome = match (result, live::pending_signal()) {
        (Err(reason), _) => PlanOutcome::Failed(reason),
        (Ok(()), Some(_)) => PlanOutcome::Cut("stopped by a signal".to_owned()),
        (Ok(()), None) if session.results == results_before => {
            PlanOutcome::Failed(nothing_kept(planned.seconds))
        }
        (Ok(()), None) => PlanOutcome::Done,
    };
    let entry = entry(&mut session.record, planned.probe);
    entry.elapsed_s = Some(started.elapsed().as_secs_f64());
    entry.outcome = outcome;
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
    before: &Before,
    probe: impl FnOnce(&mut Session<'_>) -> Result<(), ProbeError>,
) -> Result<(), String> {
    match panic::catch_unwind(AssertUnwindSafe(|| probe(session))) {
        Ok(result) => result.map_err(|error| error.to_string()),
        Err(panic) => {
            before.put_back(&mut session.record);
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
            Err(format!("a defect of sidestep: it panicked ({text}); please report it with this record"))
        }
    }
}

/// Why a probe that met no error has no result: the time went by in preparing, or every window was disturbed.
fn nothing_kept(seconds: f64) -> String {
    format!("no undisturbed window in {seconds:.1} s; give it more time with --budget, or a quieter machine")
}

/// Keeps the record with what a probe found. If that holds a number which no record can, the probe has failed, and the record is
/// as it was before it.
fn keep<K: RecordSink>(record: &mut Record, before: &Before, probe: Probe, sink: &K) -> Result<(), K::Error> {
    let error = match sink.keep(record) {
        Ok(()) => return Ok(()),
        Err(NotKept::Unwritable(error)) => return Err(error),
        Err(NotKept::Unencodable(error)) => error,
    };
    let (plan, elapsed_s) = (std::mem::take(&mut record.plan), record.elapsed_s);
    before.put_back(record);
    (record.plan, record.elapsed_s) = (plan, elapsed_s);
    entry(record, probe).outcome = PlanOutcome::Failed(error.to_string());
    match sink.keep(record) {
        Err(NotKept::Unwritable(error)) => Err(error),
        // What was kept after the probe before can be kept again.
        Ok(()) | Err(NotKept::Unencodable(_)) => Ok(()),
    }
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
        waited_share: after.waited_share(before),
        load_average: before.load_average.zip(after.load_average).map(|(before, after)| [before, after]),
        involuntary_switches: tally.involuntary_switches,
        windows: tally.windows,
        windows_dropped: tally.dropped,
        core_hz: (!frequencies.is_empty()).then_some([Hertz(slowest), Hertz(fastest)]),
        counter_hz: Some(Hertz(session.rate.hz)),
        counter_error_ppm: Some(session.rate.error_ppm),
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

/// What of a run's disturbances makes its numbers doubtful, one line each.
pub fn doubts(guards: &Guards) -> Vec<String> {
    let percent = |share: f64| share * 100.0;
    let mut doubts = Vec::new();
    if let Some(share) = guards.steal_share.filter(|&share| share > Guards::STEAL_DOUBTFUL) {
        doubts.push(format!("the hypervisor gave {:.1} % of the CPU time to others", percent(share)));
    }
    if let Some(share) = guards.others_share.filter(|&share| share > Guards::OTHERS_DOUBTFUL) {
        doubts.push(format!("other processes used {:.0} % of all CPUs", percent(share)));
    }
    let dropped = guards.windows_dropped as f64 / guards.windows.max(1) as f64;
    if dropped > Guards::DROPPED_DOUBTFUL {
        doubts.push(format!("{:.0} % of the windows were pre-empted", percent(dropped)));
    }
    if let Some(events) = guards.throttle_events.filter(|&events| events > 0) {
        doubts.push(format!("the CPU was throttled for heat {events} times"));
    }
    doubts
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use machine::CpuId;
    use record::{Encoding, RawSeries, Spread, WakePoint, encode};

    use super::*;
    use crate::plan::Planned;
    use crate::saved;

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
        let mut session = saved::session();
        session.record.push_raw(RawSeries { name: "of the probe before".to_owned(), ..RawSeries::default() });
        let record = session.record.clone();
        let before = Before::of(&mut session.record);
        let reason = shielded(&mut session, &before, |session| {
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
        assert_eq!(shielded(&mut session, &before, |_| Ok(())), Ok(()));
    }

    fn entry_of(probe: Probe) -> PlanEntry {
        PlanEntry {
            probe: probe.name().to_owned(),
            planned_s: 1.0,
            disturbs: "self".to_owned(),
            reduced: Vec::new(),
            outcome: PlanOutcome::Done,
            elapsed_s: None,
        }
    }

    /// Keeps what can be encoded, and counts.
    #[derive(Default)]
    struct Memory {
        kept: Cell<usize>,
    }

    impl RecordSink for Memory {
        type Error = EncodeError;

        fn begin(&self, _probe: Probe, _left: Duration) {}

        fn keep(&self, record: &Record) -> Result<(), NotKept<EncodeError>> {
            encode(record, Encoding::Json).map_err(NotKept::Unencodable)?;
            self.kept.set(self.kept.get() + 1);
            Ok(())
        }
    }

    /// What became of a probe that does this, in a run of it alone.
    fn outcome(run: fn(&mut Session<'_>, &()) -> Result<(), std::fmt::Error>) -> (PlanOutcome, Record) {
        let probe = Probe::all().next().expect("a list");
        let mut session = saved::session();
        session.record.plan.entries = vec![entry_of(probe)];
        let settings = Planned::new((), run, 1.0, Vec::new());
        let planned = PlannedProbe { probe, settings, seconds: 1.0, disturbs: "core", reduced: Vec::new() };
        let sink = Memory::default();
        super::run(&mut session, &[planned], 1000.0, &sink).expect("kept");
        assert_eq!(sink.kept.get(), 1);
        (session.record.plan.entries[0].outcome.clone(), session.record)
    }

    fn wake() -> WakePoint {
        let (waker, sleeper) = (CpuId(0), CpuId(1));
        WakePoint { waker, sleeper, idle_us: 10.0, ns: 1.0, p90_ns: 2.0, spread: Spread::default() }
    }

    #[test]
    fn a_probe_that_added_nothing_has_failed() {
        let (found, _) = outcome(|session, ()| {
            session.record.push_raw(RawSeries::default());
            Ok(())
        });
        assert!(matches!(found, PlanOutcome::Failed(reason) if reason.contains("no undisturbed window")));
        let (found, _) = outcome(|session, ()| {
            session.result().cores.wake.push(wake());
            Ok(())
        });
        assert_eq!(found, PlanOutcome::Done);
    }

    #[test]
    fn a_probe_that_found_no_finite_number_has_failed_and_its_results_are_gone() {
        let (found, record) = outcome(|session, ()| {
            session.record.push_raw(RawSeries { visits: vec![vec![f32::NAN]], ..RawSeries::default() });
            session.result().cores.wake.push(wake());
            Ok(())
        });
        let PlanOutcome::Failed(reason) = found else { panic!("not failed") };
        assert!(reason.contains("raw[0].visits[0][0]"), "{reason}");
        assert!(record.raw.is_empty() && record.cores.wake.is_empty());
    }
}

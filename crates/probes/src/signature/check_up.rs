//! The signatures of a check-up: one probe after the other, each with a share of the time that is left.
//!
//! A probe that needs less than its share leaves the rest to those behind it;
//! when the time is over the others are not begun, and say so.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use record::{FlawEvidence, Reading};

use super::{SignatureSetup, measure};
use crate::probe::{CheckUpProbe, Planned, Section, SignatureProbe, Subject};
use crate::session::Session;

/// A share that is smaller would leave a probe with too few turns: then the last ones go without. The longest of fourteen
/// probes took a fifth of a second on a quiet machine.
const SHARE_MIN: Duration = Duration::from_millis(250);
/// What the last probe can take beyond its end, in seconds: its memory, its loops' lengths, its last turn, and resampling.
const BEYOND_S: f64 = 0.2;

/// The probe in the check-up.
pub(crate) const PROBE: CheckUpProbe = CheckUpProbe {
    seconds: [Some(1.4), Some(4.0), Some(8.0)],
    least_s: 0.6,
    rank: 60,
    // It keeps a core busy that its sibling shares.
    disturbs: "core",
    missing: signature_missing,
    ..CheckUpProbe::new("signatures", Section::Flaws, plan)
};

fn signature_missing(subject: &Subject<'_>) -> Option<&'static str> {
    let none = undisturbing(subject).is_empty();
    none.then_some("no signature can decide on a flaw that may concern this machine")
}

fn plan(subject: &Subject<'_>, seconds: f64) -> Planned {
    let settings = Settings { probes: undisturbing(subject), budget_s: 0.0 };
    let run = |session: &mut Session<'_>, settings: &Settings| {
        run(session, settings);
        Ok::<(), Infallible>(())
    };
    Planned::within(seconds, settings, |settings| &mut settings.budget_s, Settings::worst_case_s, run)
}

/// A check-up never holds up the whole machine.
fn undisturbing(subject: &Subject<'_>) -> Vec<SignatureProbe> {
    let asked = subject.signatures.iter().copied();
    asked.filter(|probe| !probe.disturbs_machine()).collect()
}

/// Which signatures, and for how long.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The probes.
    pub probes: Vec<SignatureProbe>,
    /// Time for all in seconds.
    pub budget_s: f64,
}

impl Settings {
    /// Time it may take at most, in seconds.
    pub fn worst_case_s(&self) -> f64 {
        self.budget_s + BEYOND_S
    }
}

/// Measures the signatures on the last CPU of the session and adds them to the evidence of its record.
pub fn run(session: &mut Session<'_>, settings: &Settings) {
    let machine = session.record.machine.clone();
    let cpu = *session.cpus.last().expect("a session has at least one CPU");
    let mut setup = SignatureSetup::on(&machine, cpu, session.rate, session.random.next_u64());
    let end = Instant::now() + Duration::from_secs_f64(settings.budget_s);
    let count = settings.probes.len();
    for (index, probe) in settings.probes.iter().enumerate() {
        session.progress.update(index as f64 / count as f64);
        let left = end.saturating_duration_since(Instant::now());
        let is_stopped = session.must_stop();
        let evidence = session.record.flaw_evidence.get_or_insert_with(FlawEvidence::default);
        if left.is_zero() || is_stopped {
            refuse(evidence, *probe);
            continue;
        }
        setup.deadline = Some(Instant::now() + share(left, count - index));
        let found = measure(*probe, &setup);
        session.results += usize::from(found.value().is_some());
        evidence.timing.insert(probe.quantity().name.to_owned(), found);
    }
}

/// What the next of so many probes may take of the time that is left.
fn share(left: Duration, probes: usize) -> Duration {
    let even = left / u32::try_from(probes.max(1)).unwrap_or(u32::MAX);
    even.max(SHARE_MIN).min(left)
}

fn refuse(evidence: &mut FlawEvidence, probe: SignatureProbe) {
    let reason = "the check-up had no time left for it; sidestep flaws measures it".to_owned();
    evidence.timing.insert(probe.quantity().name.to_owned(), Reading::Missing(reason));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_gets_an_even_share_or_enough_to_say_something_and_never_more_than_is_left() {
        for (left_ms, probes, expected_ms) in [(4000, 8, 500), (1000, 14, 250), (100, 3, 100), (900, 1, 900)]
        {
            let share = share(Duration::from_millis(left_ms), probes);
            assert_eq!(share, Duration::from_millis(expected_ms));
        }
    }

    #[test]
    fn what_there_was_no_time_for_says_so() {
        let mut evidence = FlawEvidence::default();
        refuse(&mut evidence, SignatureProbe::Gather);
        assert!(evidence.timing["gather_ymm_cycles"].value().is_none());
    }
}

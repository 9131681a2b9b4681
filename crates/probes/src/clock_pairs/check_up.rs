//! The check of clocks within a check-up: counters are watched first, then steps back are looked for.

use std::sync::RwLock;
use std::time::{Duration, Instant};

use clock::{ExchangeLimits, SIGHTINGS_FOR_DRIFT, TimeStampCounter};
use host::Root;
use machine::CpuId;
use record::{CLOCK_CHECK_SCHEMA, ClockCheck};

use super::system_clocks::ClockMarks;
use super::{ClockPairsError, NoFrequencies, Stress, backwards, run as watch, sweep_worst_s, verdict};
use crate::probe::{CheckUpProbe, Depth, Planned, Section, Subject, second_cpu_missing};
use crate::session::Session;

/// What the calibration of our own clock and the last look at the time can take beyond the time for steps back, in seconds.
const BACKWARDS_BEYOND_S: f64 = 0.6;
/// Less time than this for steps back tells nothing: three ways of 0.1 s each.
const BACKWARDS_LEAST_S: f64 = 0.3;
/// Share of the time in which steps back are looked for, where they are: twelve ways of 0.1 s each on a quiet machine.
const BACKWARDS_SHARE: f64 = 0.35;

/// How the time of a check is shared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shares {
    /// For watching the counters, in seconds.
    pub watch_s: f64,
    /// For looking for steps back, in seconds; `None` where the time is too short to tell anything.
    pub backwards_s: Option<f64>,
}

impl Shares {
    /// Of so many seconds for everything.
    pub fn of(seconds: f64, with_backwards: bool) -> Self {
        let share_s = ((seconds - BACKWARDS_BEYOND_S) * BACKWARDS_SHARE).min(backwards::WORST.as_secs_f64());
        let backwards_s = (with_backwards && share_s >= BACKWARDS_LEAST_S).then_some(share_s);
        let watch_s = backwards_s.map_or(seconds, |share_s| seconds - BACKWARDS_BEYOND_S - share_s);
        Self { watch_s: watch_s.max(0.0), backwards_s }
    }

    /// The least time for everything in which steps back are looked for, in seconds.
    pub fn least_s_with_backwards() -> f64 {
        BACKWARDS_BEYOND_S + BACKWARDS_LEAST_S / BACKWARDS_SHARE
    }
}

/// The probe in the check-up.
pub(crate) const PROBE: CheckUpProbe = CheckUpProbe {
    seconds: [Some(1.2), Some(6.0), Some(40.0)],
    least_s: 0.6,
    per_cpu_s: 0.02,
    rank: 70,
    // The cores of a round are busy for the time of an exchange; under load, all of them all the time.
    disturbs: "core",
    missing: second_cpu_missing,
    ..CheckUpProbe::new("clock-pairs", Section::Clocks, plan)
};

fn plan(subject: &Subject<'_>, seconds: f64) -> Planned {
    let (settings, reduced) = Settings::within(seconds, subject.depth, subject.cpus);
    let backwards = settings.backwards_s.map(|seconds| ("steps back", seconds));
    let shares = backwards.into_iter().chain([("watch", settings.watch_s)]).collect();
    let worst_case_s = settings.worst_case_s();
    Planned::new(settings, run, worst_case_s, shares).reduced(reduced)
}

/// What the check does, and for how long.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The CPUs, ascending, at least two.
    pub cpus: Vec<CpuId>,
    /// What they do between exchanges.
    pub stresses: Vec<Stress>,
    /// Time for watching the counters, in seconds.
    pub watch_s: f64,
    /// Time for looking for steps back; `None` leaves them out.
    pub backwards_s: Option<f64>,
    /// Whether the hardware clock is compared too: it tells only seconds.
    pub with_rtc: bool,
}

impl Settings {
    /// What fits into the time at this depth, and a line for what does not: where CPUs are so many that the time is too
    /// short for two sweeps over them, some are left out.
    pub fn within(seconds: f64, depth: Depth, cpus: &[CpuId]) -> (Self, Vec<String>) {
        let with_backwards = depth != Depth::Quick;
        let Shares { watch_s, backwards_s } = Shares::of(seconds, with_backwards);
        let chosen = spread_out(cpus, |count| 2.0 * sweep_s(count) <= watch_s && verdict_s(count) <= watch_s);
        let mut reduced = Vec::new();
        if with_backwards && backwards_s.is_none() {
            reduced.push("steps back between threads are not looked for: the time is too short".to_owned());
        }
        if chosen.len() < cpus.len() {
            reduced.push(format!(
                "{} of {} CPUs: the time is too short to compare all of them often enough",
                chosen.len(),
                cpus.len()
            ));
        }
        let settings = Self {
            stresses: match depth {
                Depth::Full => vec![Stress::AsIs, Stress::Load, Stress::Idle, Stress::Mixed],
                _ => vec![Stress::AsIs],
            },
            watch_s: watch_s - sweep_s(chosen.len()),
            cpus: chosen,
            backwards_s,
            with_rtc: depth == Depth::Full,
        };
        (settings, reduced)
    }

    /// Time it may take at most, in seconds.
    pub fn worst_case_s(&self) -> f64 {
        let backwards_s = self.backwards_s.map_or(0.0, |seconds| seconds + BACKWARDS_BEYOND_S);
        self.watch_s + sweep_s(self.cpus.len()) + backwards_s
    }
}

/// Time of one sweep over so many CPUs at most, in seconds.
fn sweep_s(cpus: usize) -> f64 {
    sweep_worst_s(cpus, ExchangeLimits::default().deadline_ns as f64 / 1e9)
}

/// Time in which a verdict on so many CPUs is reached where they are free, in seconds.
fn verdict_s(cpus: usize) -> f64 {
    SIGHTINGS_FOR_DRIFT as f64 * sweep_worst_s(cpus, ExchangeLimits::default().least_ns as f64 / 1e9)
}

/// As many of the CPUs as fit, two at least, evenly spread.
fn spread_out(cpus: &[CpuId], fits: impl Fn(usize) -> bool) -> Vec<CpuId> {
    let count = (2..=cpus.len()).rev().find(|&count| fits(count)).unwrap_or(2).min(cpus.len());
    (0..count).map(|index| cpus[index * cpus.len() / count]).collect()
}

/// Watches the counters and looks for steps back; what it saw is in the session's record, without remedies.
///
/// # Errors
/// A counter that may not be read, a CPU that may not be used, or one CPU only.
pub fn run(session: &mut Session<'_>, settings: &Settings) -> Result<(), ClockPairsError> {
    let started = Instant::now();
    let counter = RwLock::new(TimeStampCounter::new()?);
    let mut check = ClockCheck {
        schema: CLOCK_CHECK_SCHEMA,
        kernel: host::kernel_clocks(&Root::live(), &session.record.machine),
        ..ClockCheck::default()
    };
    let of_pairs = super::Settings {
        cpus: settings.cpus.clone(),
        stresses: settings.stresses.clone(),
        budget_s: settings.watch_s,
        limits: ExchangeLimits::default(),
    };
    let marks = ClockMarks::take(settings.with_rtc);
    let seen = watch(&of_pairs, &counter, &mut NoFrequencies, session.progress)?;
    check.system_clocks = marks.finish(settings.with_rtc);
    verdict::fill(&mut check, &seen, session.rate.hz);
    let source = counter.into_inner().expect("no thread panics with the counter in hand");
    verdict::heed_firmware(&mut check, &source, session.rate);
    match settings.backwards_s {
        _ if seen.interrupted => {}
        Some(seconds) => {
            let until = Instant::now() + Duration::from_secs_f64(seconds);
            backwards::fill(&mut check, &settings.cpus, &source, session.rate.hz, until)?;
        }
        None => check.without.push(
            "steps back between two threads were not looked for: that takes more time than there was; give more with \
             --budget, or only this with --only clock-pairs"
                .to_owned(),
        ),
    }
    verdict::heed_kernel(&mut check, host::kernel_clocks_now(&session.record.machine));
    check.elapsed_s = started.elapsed().as_secs_f64();
    session.result().clock_check = Some(check);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_of_a_check_are_never_negative_and_fill_its_time() {
        for tenths in 0..=6_000 {
            let seconds = f64::from(tenths) / 10.0;
            for with_backwards in [false, true] {
                let shares = Shares::of(seconds, with_backwards);
                let beyond_s = shares.backwards_s.map_or(0.0, |share_s| share_s + BACKWARDS_BEYOND_S);
                assert!(shares.watch_s >= 0.0 && shares.backwards_s.is_none_or(|share_s| share_s >= 0.3));
                assert!((shares.watch_s + beyond_s - seconds).abs() < 1e-9, "{seconds} {shares:?}");
                let is_long = seconds >= Shares::least_s_with_backwards();
                assert_eq!(shares.backwards_s.is_some(), with_backwards && is_long, "{seconds}");
            }
        }
    }

    #[test]
    fn cpus_that_do_not_fit_are_left_out_evenly_and_reported() {
        let cpus: Vec<CpuId> = (0..512).map(CpuId).collect();
        let (settings, reduced) = Settings::within(1.2, Depth::Quick, &cpus);
        assert!(settings.cpus.len() >= 2 && settings.cpus.len() < 512, "{}", settings.cpus.len());
        assert!(settings.cpus.last().is_some_and(|last| last.0 > 400), "{:?}", settings.cpus);
        assert!(
            reduced[0].ends_with("of 512 CPUs: the time is too short to compare all of them often enough")
        );
        assert!(settings.worst_case_s() <= 1.2 + 1e-9 && settings.watch_s >= 0.5);
        let (settings, reduced) = Settings::within(6.0, Depth::Default, &cpus[..2]);
        assert_eq!((settings.cpus.len(), reduced.len()), (2, 0));
        assert!(settings.worst_case_s() <= 6.0 + 1e-9 && settings.backwards_s.is_some());
        let (settings, reduced) = Settings::within(0.6, Depth::Default, &cpus[..2]);
        assert_eq!((settings.backwards_s, reduced.len()), (None, 1), "{reduced:?}");
        assert!(settings.watch_s >= 0.5);
    }
}

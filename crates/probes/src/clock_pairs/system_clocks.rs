//! The kernel's clocks and the hardware clock against the raw clock: how fast each runs, over the time of a check.
//!
//! A clock is read between two reads of `CLOCK_MONOTONIC_RAW`, many times, and the narrowest bracket counts; the error of a rate
//! is half of both brackets over the time between them. The hardware clock only tells seconds: the moment at which it
//! changes lies between two looks at it.

use std::time::{Duration, Instant};

use clock::monotonic_raw_ns;
use host::live::TimeSource;
use host::{Root, hardware_clock_seconds};
use record::SystemClock;

/// Brackets of which the narrowest counts.
const BRACKETS: usize = 60;
/// How often the hardware clock is looked at: a read of a CMOS clock takes tens of microseconds to milliseconds.
const RTC_PERIOD: Duration = Duration::from_millis(1);
/// Time that both looks at the hardware clock take at most, in seconds.
pub const RTC_S: f64 = 2.0 * RTC_PATIENCE.as_millis() as f64 / 1e3;
/// A second and some more.
const RTC_PATIENCE: Duration = Duration::from_millis(1_300);

/// A moment by two clocks; all in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Mark {
    raw: f64,
    width: f64,
    shown: u64,
}

/// The clocks at the start of a check; [`ClockMarks::finish`] reads them again.
#[derive(Debug, Clone, PartialEq)]
pub struct ClockMarks {
    system: Vec<(&'static str, Mark)>,
    rtc: Result<Mark, String>,
}

impl ClockMarks {
    /// Reads all clocks, on request also the hardware's: it takes up to a second until that changes.
    pub fn take(with_rtc: bool) -> Self {
        let shown = ["REALTIME", "MONOTONIC)", "BOOTTIME"];
        let system = TimeSource::ALL
            .into_iter()
            .filter(|(_, name)| {
                name.starts_with("clock_gettime(") && shown.iter().any(|part| name.contains(part))
            })
            .filter_map(|(source, name)| {
                let name = name.trim_start_matches("clock_gettime(").trim_end_matches(')');
                Some((name, mark(|| source.read_ns())?))
            })
            .collect();
        let rtc = if with_rtc {
            rtc_mark(&Root::live())
        } else {
            Err("not looked at: it tells only seconds, and the time is too short".to_owned())
        };
        Self { system, rtc }
    }

    /// Reads all clocks again, and says how each ran meanwhile; the hardware's clock on request, as before.
    pub fn finish(&self, with_rtc: bool) -> Vec<SystemClock> {
        let now = Self::take(with_rtc);
        let mut rows: Vec<SystemClock> = self
            .system
            .iter()
            .filter_map(|(name, first)| {
                let (_, last) = now.system.iter().find(|(other, _)| other == name)?;
                Some(row(name, first, last))
            })
            .collect();
        rows.push(match (&self.rtc, &now.rtc) {
            (Ok(first), Ok(last)) => row("RTC", first, last),
            (Err(reason), _) | (_, Err(reason)) => SystemClock {
                name: "RTC".to_owned(),
                rate_ppm: None,
                error_ppm: None,
                note: Some(reason.clone()),
            },
        });
        rows
    }
}

fn mark(read: impl Fn() -> Option<u64>) -> Option<Mark> {
    let bracket = |_| {
        let before = monotonic_raw_ns();
        let shown = read()?;
        let after = monotonic_raw_ns();
        Some(Mark {
            raw: f64::midpoint(before as f64, after as f64),
            width: after.saturating_sub(before) as f64,
            shown,
        })
    };
    (0..BRACKETS).filter_map(bracket).min_by(|a, b| a.width.total_cmp(&b.width))
}

/// The moment at which the hardware clock goes to its next second.
fn rtc_mark(root: &Root) -> Result<Mark, String> {
    let seconds = || hardware_clock_seconds(root);
    let first = seconds()?;
    let started = Instant::now();
    let mut before = monotonic_raw_ns();
    while started.elapsed() < RTC_PATIENCE {
        std::thread::sleep(RTC_PERIOD);
        let now = seconds()?;
        let after = monotonic_raw_ns();
        if now > first {
            return Ok(Mark {
                raw: f64::midpoint(before as f64, after as f64),
                width: after.saturating_sub(before) as f64,
                shown: now * 1_000_000_000,
            });
        }
        before = after;
    }
    Err(format!("the hardware clock stood still for {} s", RTC_PATIENCE.as_secs_f64()))
}

fn row(name: &str, first: &Mark, last: &Mark) -> SystemClock {
    let raw_ns = last.raw - first.raw;
    let shown_ns = last.shown.wrapping_sub(first.shown).cast_signed() as f64;
    let error_ns = f64::midpoint(first.width, last.width);
    let known = raw_ns > 0.0;
    SystemClock {
        name: name.to_owned(),
        rate_ppm: known.then(|| (shown_ns / raw_ns - 1.0) * 1e6),
        error_ppm: known.then(|| error_ns / raw_ns * 1e6),
        note: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_reported_with_the_width_of_its_brackets() {
        let mark = |raw, shown| Mark { raw, width: 100.0, shown };
        let row = row("x", &mark(0.0, 5_000_000_000), &mark(2e9, 7_000_020_000));
        assert!(row.rate_ppm.is_some_and(|ppm| (ppm - 10.0).abs() < 1e-6), "{row:?}");
        assert!(row.error_ppm.is_some_and(|ppm| (ppm - 0.05).abs() < 1e-9), "{row:?}");
    }

    #[test]
    fn the_kernels_clocks_have_a_mark_and_a_machine_without_rtc_says_so() {
        assert!(mark(|| TimeSource::Clock(1).read_ns()).is_some_and(|mark| mark.shown > 0));
        let missing = rtc_mark(&Root::empty()).expect_err("nothing is there");
        assert!(missing.contains("absent"), "{missing}");
    }
}

//! A gradual change: days in a row, each within the limits of one check, that together are beyond the baseline.
//!
//! A day is beyond if the factor of a class is beyond that of every run of the baseline. Of 20 runs or more the share of
//! unchanged days beyond one side is below a quarter, but for one baseline in 300 (0.75 to the power of 20). Against that quarter an
//! e-detector bets (Shin, Ramdas and Rinaldo, New England Journal of Statistics in Data Science 1, 2023): whatever
//! the distribution, its mean time to a false alarm is its threshold in days. It takes days to be independent given the baseline.

use record::{GuardPast, GuardTrend};
use stats::{RowClass, SMALLEST_SPREAD, median};

use super::budget::{ALARMS_PER_CHECK, SHARE_OF_STEPS};
use super::limits::Limits;
use crate::history::{seconds_of_utc, slope_per_day};

/// Unchanged days beyond the baseline on one side are at most this share of all.
const BEYOND_SHARE: f64 = 0.25;
/// Part of what it has that the detector bets each day: it finds a change of a class that is beyond every day in eight days or nine.
const STAKE: f64 = 0.8;
const DAY_S: u64 = 86_400;

/// A class that moved over days.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Trend {
    pub(super) class: RowClass,
    /// Median of the days that are beyond, as a logarithm of cost.
    pub(super) log: f64,
    /// The baseline's own end on that side.
    pub(super) limit: f64,
    pub(super) told: GuardTrend,
}

/// A day: when its first check began, and the mean of its checks.
struct Day {
    started_s: u64,
    log: f64,
    checks: f64,
}

/// What a detector has seen of one side of a class.
#[derive(Default)]
struct Detector {
    evidence: f64,
    /// Days that are beyond, since it last had nothing.
    beyond: Vec<f64>,
    days: usize,
}

impl Detector {
    fn add(&mut self, log: f64, is_beyond: bool) {
        let bet = if is_beyond { 1.0 + STAKE * (BEYOND_SHARE.recip() - 1.0) } else { 1.0 - STAKE };
        if self.evidence < 1.0 {
            (self.beyond, self.days) = (Vec::new(), 0);
        }
        self.evidence = (self.evidence + 1.0) * bet;
        self.days += 1;
        self.beyond.extend(is_beyond.then_some(log));
    }
}

/// The classes that moved gradually, as far as the checks up to the last one tell.
pub(super) fn trends(limits: &Limits, past: &[GuardPast]) -> Vec<Trend> {
    let ranges: Vec<(RowClass, [f64; 2])> = limits.range_by_class().collect();
    let detectors = ranges.len() * 2;
    // The mean time between false alarms of all detectors together, in days.
    let threshold = detectors as f64 / ((1.0 - SHARE_OF_STEPS) * ALARMS_PER_CHECK);
    let times_s: Vec<Option<u64>> = past.iter().map(|check| seconds_of_utc(&check.checked_utc)).collect();
    let found = ranges.iter().filter_map(|(class, [low, high])| {
        let days = days(past, &times_s, class.name());
        let ends = [(1.0, high.max(SMALLEST_SPREAD)), (-1.0, -low.min(-SMALLEST_SPREAD))];
        ends.into_iter().find_map(|(side, end)| {
            let mut detector = Detector::default();
            for day in &days {
                detector.add(day.log, side * day.log > end);
            }
            let log = median(&detector.beyond).filter(|_| detector.evidence >= threshold)?;
            let points: Vec<(f64, f64)> = days.iter().map(|day| (day.started_s as f64, day.log)).collect();
            let told = GuardTrend {
                days: detector.days,
                days_beyond: detector.beyond.len(),
                percent_per_day: slope_per_day(&points),
            };
            Some(Trend { class: *class, log, limit: end, told })
        })
    });
    found.collect()
}

/// The days of a class; `times_s` are those of the checks.
fn days(past: &[GuardPast], times_s: &[Option<u64>], class: &str) -> Vec<Day> {
    let mut days: Vec<Day> = Vec::new();
    for (check, at_s) in past.iter().zip(times_s) {
        let Some((&log, &started_s)) = check.costs.get(class).zip(at_s.as_ref()) else { continue };
        match days.last_mut().filter(|day| day.started_s / DAY_S == started_s / DAY_S) {
            Some(day) => {
                day.checks += 1.0;
                day.log += (log - day.log) / day.checks;
            }
            None => days.push(Day { started_s, log, checks: 1.0 }),
        }
    }
    days
}

#[cfg(test)]
mod tests {
    use super::super::WatchedRow;
    use super::*;

    /// Limits of a class whose baseline lies between -4 and 4 %, and checks of so many a day with these costs.
    fn found(logs: &[f64], a_day: usize) -> Vec<Trend> {
        let row = WatchedRow { name: "a".to_owned(), class: RowClass::Waking };
        let baseline: Vec<f64> = (0..21).map(|run| f64::from(run - 10) * 0.004).collect();
        let limits = Limits::of(&[row], &[baseline], 0.001).expect("whole");
        let check = |(index, &log): (usize, &f64)| GuardPast {
            checked_utc: format!("2026-01-{:02}T{:02}:00:00Z", index / a_day + 1, index % a_day),
            costs: [(RowClass::Waking.name().to_owned(), log)].into(),
            ..GuardPast::default()
        };
        trends(&limits, &logs.iter().enumerate().map(check).collect::<Vec<_>>())
    }

    #[test]
    fn days_beyond_the_baseline_add_up_and_checks_of_one_day_count_once() {
        assert!(found(&[0.05; 5], 1).is_empty(), "five days may be chance");
        let slower = found(&[0.05; 12], 1);
        assert_eq!(slower[0].told.days_beyond, 12);
        assert!((slower[0].log - 0.05).abs() < 1e-12 && (slower[0].limit - 0.04).abs() < 1e-12, "{slower:?}");
        assert!(found(&[-0.05; 12], 1)[0].log < 0.0, "faster is a change too");
        assert!(found(&[0.05; 20], 20).is_empty(), "twenty checks of one day are one day");
        assert!(found(&[0.039; 25], 1).is_empty(), "what the baseline had is no change");
        let one_in_two: Vec<f64> = (0..25).map(|day| if day % 2 == 0 { 0.1 } else { -0.1 }).collect();
        assert!(found(&one_in_two, 1).is_empty(), "a host with two states has not changed");
    }

    #[test]
    fn a_gradual_change_comes_with_its_slope() {
        let growing: Vec<f64> = (0..25).map(|day| 0.01 * f64::from(day)).collect();
        let slope = found(&growing, 1)[0].told.percent_per_day.expect("many days");
        assert!((slope - 1.005).abs() < 0.001, "{slope}");
    }
}

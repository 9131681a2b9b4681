//! What is seen over time: how the allowed false alarms are spent, and days in a row that together are beyond the baseline.
//!
//! **Alarms** are spent by time, not by check, so that who checks more often is not alarmed more often. A day earns one 365th of a false
//! alarm. A check spends a seventh of what is saved, of which at most a week is kept: at one check a day each spends a day's worth, and
//! many checks in a row spend ever less. So the sum over any checks stays below what the days between them earned and a week more (alpha
//! spending after Lan and DeMets, Biometrika 70, 1983, without an end). Half of each check's share is for what one check shows, half for
//! trends.
//!
//! **Trends.** A day is beyond if the factor of a class is beyond that of every run of the baseline. Of 20 runs or more the share of
//! unchanged days beyond one side is below a quarter, but for one baseline in 300 (0.75 to the power of 20). Against that quarter an
//! e-detector bets (Shin, Ramdas and Rinaldo, New England Journal of Statistics in Data Science 1, 2023): whatever
//! the distribution, its mean time to a false alarm is its threshold in days. It takes days to be independent given the baseline.

use record::{GuardPast, GuardTrend};
use stats::{RowClass, SMALLEST_SPREAD, median};

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
    pub(super) document: GuardTrend,
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
            let document = GuardTrend {
                days: detector.days,
                days_beyond: detector.beyond.len(),
                percent_per_day: slope_per_day(&points),
            };
            Some(Trend { class: *class, log, limit: end, document })
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

/// False alarms allowed in a day, which is what a check spends that comes once a day: one in a year.
pub const ALARMS_PER_CHECK: f64 = 1.0 / 365.0;
/// Part of it for what a check shows alone; the rest is for trends.
pub(super) const SHARE_OF_STEPS: f64 = 0.5;
/// So many days are saved at most, and a check spends this part of them.
const SAVED_DAYS_MAX: f64 = 7.0;

/// What a check may spend.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Allowance {
    /// Probability of a false alarm in this check.
    pub alarms: f64,
    /// Days that are saved after it.
    pub saved_days: f64,
    /// True if the clock stands before the last check.
    pub clock_was_set_back: bool,
}

/// What a check at this time may spend, after those checks. No time is earned while the clock goes back.
pub fn allowance(past: &[GuardPast], now_utc: &str) -> Allowance {
    let (mut saved_days, mut clock_was_set_back) = (SAVED_DAYS_MAX, false);
    if let Some(last) = past.last() {
        let times = seconds_of_utc(&last.checked_utc).zip(seconds_of_utc(now_utc));
        clock_was_set_back = times.is_some_and(|(before, now)| now < before);
        let earned_days = times.map_or(0.0, |(before, now)| now.saturating_sub(before) as f64 / DAY_S as f64);
        saved_days = (last.saved_days + earned_days).clamp(0.0, SAVED_DAYS_MAX);
    }
    let spent_days = saved_days / SAVED_DAYS_MAX;
    Allowance {
        alarms: spent_days * ALARMS_PER_CHECK,
        saved_days: saved_days - spent_days,
        clock_was_set_back,
    }
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
        assert_eq!(slower[0].document.days_beyond, 12);
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
        let slope = found(&growing, 1)[0].document.percent_per_day.expect("many days");
        assert!((slope - 1.005).abs() < 0.001, "{slope}");
    }

    /// What checks at these hours spend in all, in days.
    fn spent_days(hours: impl Iterator<Item = u64>) -> f64 {
        let (mut past, mut spent_days) = (Vec::new(), 0.0);
        for hour in hours {
            let now = format!("2026-{:02}-{:02}T{:02}:00:00Z", hour / 672 + 1, hour / 24 % 28 + 1, hour % 24);
            let allowed = allowance(&past, &now);
            spent_days += allowed.alarms / ALARMS_PER_CHECK;
            past.push(GuardPast { checked_utc: now, saved_days: allowed.saved_days, ..GuardPast::default() });
        }
        spent_days
    }

    #[test]
    fn a_daily_check_spends_a_day_and_many_checks_no_more_than_their_time_and_a_week() {
        assert!((spent_days((0..28).map(|day| day * 24)) - 28.0).abs() < 1e-9);
        let hourly = spent_days(0..24 * 28);
        assert!((28.0..=28.0 + SAVED_DAYS_MAX).contains(&hourly), "{hourly}");
        let at_once = spent_days(std::iter::repeat_n(0, 1000));
        assert!((SAVED_DAYS_MAX - 1e-6..=SAVED_DAYS_MAX).contains(&at_once), "{at_once}");
        let weekly = spent_days((0..4).map(|week| week * 24 * 7));
        assert!((weekly - 4.0).abs() < 1e-9, "a check never spends more than a day: {weekly}");
    }

    #[test]
    fn a_clock_that_was_set_back_earns_nothing_and_is_reported() {
        let checked_utc = "2026-01-02T00:00:00Z".to_owned();
        let past = [GuardPast { checked_utc, saved_days: 3.5, ..GuardPast::default() }];
        let back = allowance(&past, "2025-06-01T00:00:00Z");
        assert!(back.clock_was_set_back && (back.saved_days - 3.0).abs() < 1e-9, "{back:?}");
        assert!((back.alarms - 0.5 * ALARMS_PER_CHECK).abs() < 1e-12, "{back:?}");
        assert!(!allowance(&past, "2026-01-03T00:00:00Z").clock_was_set_back);
        assert!(!allowance(&[], "2026-01-03T00:00:00Z").clock_was_set_back);
    }
}

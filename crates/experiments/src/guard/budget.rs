//! How the allowed false alarms are spent: by time, not by check, so that who checks more often is not alarmed more often.
//!
//! A day earns one 365th of a false alarm. A check spends a seventh of what is saved, of which at most a week is kept: at one check a
//! day each spends a day's worth, and many checks in a row spend ever less. So the sum over any checks stays below what the days
//! between them earned and a week more (alpha spending after Lan and DeMets, Biometrika 70, 1983, without an end). Half of each
//! check's share is for what one check shows, half for trends. Pure.

use record::GuardPast;

use crate::history::seconds_of_utc;

/// False alarms allowed in a day, which is what a check spends that comes once a day: one in a year.
pub const ALARMS_PER_CHECK: f64 = 1.0 / 365.0;
/// Part of it for what a check shows alone; the rest is for trends.
pub(super) const SHARE_OF_STEPS: f64 = 0.5;
/// So many days are saved at most, and a check spends this part of them.
const SAVED_DAYS_MAX: f64 = 7.0;
const DAY_S: f64 = 86_400.0;

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
        let earned_days = times.map_or(0.0, |(before, now)| now.saturating_sub(before) as f64 / DAY_S);
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
    use super::*;

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
    fn a_clock_that_was_set_back_earns_nothing_and_is_told() {
        let checked_utc = "2026-01-02T00:00:00Z".to_owned();
        let past = [GuardPast { checked_utc, saved_days: 3.5, ..GuardPast::default() }];
        let back = allowance(&past, "2025-06-01T00:00:00Z");
        assert!(back.clock_was_set_back && (back.saved_days - 3.0).abs() < 1e-9, "{back:?}");
        assert!((back.alarms - 0.5 * ALARMS_PER_CHECK).abs() < 1e-12, "{back:?}");
        assert!(!allowance(&past, "2026-01-03T00:00:00Z").clock_was_set_back);
        assert!(!allowance(&[], "2026-01-03T00:00:00Z").clock_was_set_back);
    }
}

//! Times and percentages as they are typed.

use std::time::Duration;

/// The longest budget; the planner knows the shortest, which depends on what is to be measured.
const BUDGET_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// Units of time that the command line takes, in seconds; `ms` before the `s` it ends in.
const TIME_UNITS: [(&str, f64); 4] = [("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];

/// Reads `30s`, `5m`, `1h`, `300ms` or a bare number of seconds.
pub(crate) fn parse_budget(text: &str) -> Result<Duration, String> {
    let of_unit = |(unit, factor_s): &(&str, f64)| Some((text.strip_suffix(unit)?, *factor_s));
    let (digits, factor_s) = TIME_UNITS.iter().find_map(of_unit).unwrap_or((text, 1.0));
    let seconds = digits.trim().parse::<f64>().ok().map(|number| number * factor_s);
    match seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()) {
        Some(budget) if !budget.is_zero() && budget <= BUDGET_MAX => Ok(budget),
        Some(_) => Err("give more than 0s and at most 24h".to_owned()),
        None => Err("give a time such as 30s, 5m or 1h".to_owned()),
    }
}

/// The largest margin that makes sense: beyond it nothing could be called different.
const MARGIN_PERCENT_MAX: f64 = 100.0;

/// Reads `2%`, `0.5 %` or `2`.
pub(crate) fn parse_percent(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim_end().parse::<f64>();
    match number {
        Ok(percent) if (0.0..=MARGIN_PERCENT_MAX).contains(&percent) => Ok(percent),
        Ok(_) => Err("give between 0% and 100%".to_owned()),
        Err(_) => Err("give a percentage such as 2%".to_owned()),
    }
}

/// Reads `4` or `1..8`; both ends count.
pub(crate) fn parse_counts(text: &str) -> Result<[usize; 2], String> {
    let (low, high) = text.split_once("..").unwrap_or((text, text));
    let ends = low.parse().ok().zip(high.strip_prefix('=').unwrap_or(high).parse().ok());
    match ends {
        Some((low, high)) if 1 <= low && low <= high => Ok([low, high]),
        _ => Err("give a number such as 4 or a rising range such as 1..8".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_carry_a_unit_and_are_more_than_nothing() {
        for (text, seconds) in [
            ("30s", Some(30)),
            ("5m", Some(300)),
            ("1h", Some(3600)),
            ("45", Some(45)),
            ("1.5m", Some(90)),
            ("24h", Some(86_400)),
        ] {
            assert_eq!(parse_budget(text).ok().map(|budget| budget.as_secs()), seconds, "{text}");
        }
        assert_eq!(parse_budget("300ms"), Ok(Duration::from_millis(300)));
        for text in ["", "ms", "0ms", "0", "0s", "-3", "nan", "inf", "1e300", "24.1h", "s", "5x", "ä"] {
            assert!(parse_budget(text).is_err(), "{text}");
        }
    }

    #[test]
    fn percentages_are_read_with_and_without_their_sign() {
        for (text, expected) in [("2%", Some(2.0)), ("0.5 %", Some(0.5)), ("3", Some(3.0)), ("0", Some(0.0))]
        {
            assert_eq!(parse_percent(text).ok(), expected, "{text}");
        }
        for text in ["", "%", "-1%", "101", "nan", "two", "2%3"] {
            assert!(parse_percent(text).is_err(), "{text}");
        }
    }
}

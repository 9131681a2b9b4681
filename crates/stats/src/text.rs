//! Quantities as people read them: digits, units, percentages, intervals beside their values, lists of names.
//!
//! One place for all crates, so that one number looks the same wherever it stands.

use std::fmt::Display;

use crate::Interval;

/// What stands where a number is missing or is not one.
pub const UNKNOWN: &str = "unknown";

/// Above this relative half-width a `±` hides too much and the interval is written out.
const WIDE_PERCENT: f64 = 20.0;
/// From here on a number has its thousands set apart.
const GROUPED_FROM: f64 = 1e6;
/// What is smaller than this rounds to nothing in every unit that is shown.
const LEAST: f64 = 1e-5;
/// From here on no quantity makes sense, and nobody counts the digits of what a broken record holds.
const ABSURD_FROM: f64 = 1e21;
/// Between the thousands of a large number.
const GROUP_SEPARATOR: char = ',';
/// Below this percentage a second decimal is needed to show anything: 0.04 %.
const SECOND_DECIMAL_BELOW: f64 = 0.05;
/// Digits of a value that stands alone: it is shown as it was given.
const GIVEN_DIGITS: i32 = 6;
/// A q value below this is shown as a bound.
const LEAST_Q: f64 = 0.001;
/// A q value above this is shown as 1.
const ONE_Q: f64 = 0.9995;
/// Sides of an interval that differ by more than this factor are shown one by one.
const LOPSIDED_FROM: f64 = 1.5;
/// A distance beyond this many points of percent says no more than that it is far.
const MOST_POINTS: f64 = 999.0;
/// A forecast of runs beyond this only says that it is too many.
const RUNS_MAX: usize = 1000;

/// A number with that many significant digits, without exponent: nobody reads `2.50e12` at a glance.
pub fn significant(value: f64, digits: i32) -> String {
    if !value.is_finite() {
        return UNKNOWN.to_owned();
    }
    if value.abs() < LEAST {
        return if value == 0.0 { "0".to_owned() } else { "≈0".to_owned() };
    }
    if value.abs() >= ABSURD_FROM {
        return format!("{value:.1e}");
    }
    let magnitude = value.abs().log10().floor();
    if value.abs() >= GROUPED_FROM {
        return grouped(value, magnitude as i32 + 1 - digits);
    }
    let decimals = usize::try_from(digits - 1 - magnitude as i32).unwrap_or(0);
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A large number with zeros for its last `zeros` digits, its thousands set apart.
fn grouped(value: f64, zeros: i32) -> String {
    let unit = 10_f64.powi(zeros.max(0));
    let digits = format!("{:.0}", (value / unit).round() * unit);
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits.as_str()), |rest| ("-", rest));
    let mut text = sign.to_owned();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(GROUP_SEPARATOR);
        }
        text.push(digit);
    }
    text
}

/// Three significant digits, as in most sentences.
pub fn short(value: f64) -> String {
    significant(value, 3)
}

/// Three digits where one is trailing zeros as well, so that columns line up: `4.60`, `24.6`, `118`.
pub fn column(value: f64) -> String {
    match value.abs() {
        v if !v.is_finite() => UNKNOWN.to_owned(),
        v if v < 9.995 => format!("{value:.2}"),
        v if v < 99.95 => format!("{value:.1}"),
        v if v < GROUPED_FROM => format!("{value:.0}"),
        _ => short(value),
    }
}

/// A number in the largest of the units that it reaches, which are given from the largest to the least.
pub fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    let fits = |(unit, _): &&(f64, &str)| value.abs() >= *unit;
    match units.iter().find(fits).or(units.last()) {
        Some((unit, name)) if value.is_finite() => format!("{} {name}", short(value / unit)),
        _ => UNKNOWN.to_owned(),
    }
}

/// A duration in the unit that fits.
pub fn duration_ns(ns: f64) -> String {
    scaled(ns, &[(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")])
}

/// A share as a percentage.
pub fn percent(share: f64) -> String {
    if share.is_finite() { format!("{} %", significant(share * 100.0, 2)) } else { UNKNOWN.to_owned() }
}

/// Per cent with a sign and a decimal: `+4.2 %`; `0 %` for what would show as nothing.
pub fn signed_percent(percent: f64) -> String {
    match percent.abs() {
        size if !size.is_finite() => UNKNOWN.to_owned(),
        size if size < SECOND_DECIMAL_BELOW => "0 %".to_owned(),
        _ => format!("{percent:+.1} %"),
    }
}

/// Points of percent without their sign of percent: one decimal, or two where one would show nothing.
pub fn points(percent: f64) -> String {
    match percent.abs() {
        v if !v.is_finite() => UNKNOWN.to_owned(),
        v if v < SECOND_DECIMAL_BELOW => format!("{percent:.2}"),
        _ => format!("{percent:.1}"),
    }
}

/// The same for sentences: none of what is large, and nothing has no sign.
pub fn points_in_words(percent: f64) -> String {
    match percent.abs() {
        size if size >= 100.0 => format!("{percent:.0}"),
        size if size < SECOND_DECIMAL_BELOW => format!("{percent:.2}").replace("-0.00", "0.00"),
        _ => format!("{percent:.1}"),
    }
}

/// Points of a share: two digits below ten per cent, as steal matters from two on.
pub fn points_of_share(share: f64) -> String {
    let percent = share * 100.0;
    if percent < 10.0 { format!("{percent:.1}") } else { format!("{percent:.0}") }
}

/// Points of percent with their sign; nothing is `0.00`.
pub fn signed_points(percent: f64) -> String {
    match points(percent) {
        text if text.trim_start_matches('-') == "0.00" => "0.00".to_owned(),
        text if percent > 0.0 && percent.is_finite() => format!("+{text}"),
        text => text,
    }
}

/// An interval of points of percent with their signs.
pub fn signed_ends(interval: Interval) -> String {
    format!("[{}, {}]", signed_points(interval.low), signed_points(interval.high))
}

/// A change with the distances to the ends of its interval: `-32.4 ±0.6`, or `+3.9 -3.8/+14` where it is lopsided.
pub fn with_distances(change_percent: f64, interval: Option<Interval>) -> String {
    let change = signed_points(change_percent);
    let Some(interval) = interval else { return change };
    let (below, above) = (change_percent - interval.low, interval.high - change_percent);
    let (least, most) = (below.min(above), below.max(above));
    if most <= least * LOPSIDED_FROM || most < SECOND_DECIMAL_BELOW {
        format!("{change} ±{}", distance(most))
    } else {
        format!("{change} -{}/+{}", distance(below), distance(above))
    }
}

/// A distance in points of percent, in little room.
fn distance(percent: f64) -> String {
    match percent {
        p if !p.is_finite() => "?".to_owned(),
        p if p >= MOST_POINTS => format!(">{MOST_POINTS}"),
        p if p >= 10.0 => format!("{p:.0}"),
        p => points(p.max(0.0)),
    }
}

/// A value: as it was given where it stands alone, else with the digits that mean something.
pub fn value(value: f64, interval: Option<Interval>) -> String {
    match interval {
        None => significant(value, GIVEN_DIGITS),
        // Two decimals would leave less than three digits.
        Some(_) if value.abs() < 0.01 => significant(value, 3),
        Some(_) if value.abs() < 0.9995 => format!("{value:.3}"),
        Some(_) => column(value),
    }
}

/// The interval beside its value: `±2 %`, or `[3.1, 5.9]` where it is wide or lopsided.
pub fn uncertainty(value: f64, interval: Interval) -> String {
    if value == 0.0 && interval.low == 0.0 && interval.high == 0.0 {
        return String::new();
    }
    let (below, above) = (value - interval.low, interval.high - value);
    let percent = below.max(above) / value.abs() * 100.0;
    if !percent.is_finite() || !interval.low.is_finite() || !interval.high.is_finite() {
        return "±?".to_owned();
    }
    if percent > WIDE_PERCENT || below < 0.0 || above < 0.0 {
        return format!("[{}, {}]", short(interval.low), short(interval.high));
    }
    half_width(percent)
}

/// The wider side of the interval as `±x %` even where it is wide: for columns that have no room for more.
pub fn plus_minus(value: f64, interval: Interval) -> String {
    let share = (value - interval.low).abs().max((interval.high - value).abs()) / value.abs();
    match share {
        _ if value == 0.0 && interval.low == 0.0 && interval.high == 0.0 => String::new(),
        share if !share.is_finite() => "±?".to_owned(),
        share if share >= 1.0 => "±>100 %".to_owned(),
        share => half_width(share * 100.0),
    }
}

/// `±2 %`, a tenth at least.
fn half_width(percent: f64) -> String {
    format!("±{} %", significant(percent.max(0.1), if percent < 1.0 { 1 } else { 2 }))
}

/// `24.6 ns [24.3, 25.0]`; the digits of the value serve its interval.
pub fn measured(value: f64, interval: Interval, unit: &str) -> String {
    let digits = match value.abs() {
        size if size < 1.0 => 3,
        size if size < 10.0 => 2,
        size if size < 100.0 => 1,
        _ => 0,
    };
    format!("{value:.digits$} {unit} {interval:.digits$}")
}

/// A share as a percentage with its interval: `42 % [32, 57]`.
pub fn percent_within(share: f64, interval: Interval) -> String {
    format!("{:.0} % {:.0}", 100.0 * share, interval.map(|end| 100.0 * end))
}

/// A q value.
pub fn q_value(q: f64) -> String {
    match q {
        q if q < LEAST_Q => "<.001".to_owned(),
        q if q < ONE_Q => format!("{q:.3}").trim_start_matches('0').to_owned(),
        _ => "1".to_owned(),
    }
}

/// How many more runs; a forecast of many is no better than one digit.
pub fn runs(runs: usize) -> String {
    match runs {
        ..20 => runs.to_string(),
        runs if runs > RUNS_MAX => format!(">{RUNS_MAX}"),
        _ => {
            let step = 10_f64.powf((runs as f64).log10().floor());
            format!("{:.0}", (runs as f64 / step).round() * step)
        }
    }
}

/// Words joined by commas, the last by another word.
pub fn listed<W: AsRef<str>>(words: &[W], last_joined_by: &str) -> String {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match words.as_slice() {
        [first @ .., last] if !first.is_empty() => format!("{} {last_joined_by} {last}", first.join(", ")),
        few => few.concat(),
    }
}

/// Parts with this between them; nothing without any.
pub fn joined<T: Display>(parts: impl IntoIterator<Item = T>, by: &str) -> String {
    let parts: Vec<String> = parts.into_iter().map(|part| part.to_string()).collect();
    parts.join(by)
}

/// The first few names, and how many more: `a, b and 3 more`.
pub fn first_few<W: AsRef<str>>(names: &[W], most: usize) -> String {
    let shown = joined(names.iter().take(most).map(AsRef::as_ref), ", ");
    match names.len().saturating_sub(most) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// The same with its first letter as at the start of a sentence.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// `3.1 to 5.9`, or the number once where both are written alike.
pub fn span(low: f64, high: f64) -> String {
    let [low, high] = [low, high].map(short);
    if low == high { low } else { format!("{low} to {high}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_carry_the_digits_asked_for() {
        for (value, expected) in [
            (0.0, "0"),
            (1.3049, "1.3"),
            (1.319, "1.32"),
            (118.42, "118"),
            (0.04231, "0.0423"),
            (12_345.0, "12345"),
            (999_999.9, "1000000"),
            (2.546e12, "2,550,000,000,000"),
            (-1_234_567.0, "-1,230,000"),
            (1e18, "1,000,000,000,000,000,000"),
            (-1e300, "-1.0e300"),
            (-3e-7, "≈0"),
            (1e-5, "0.00001"),
            (f64::NAN, "unknown"),
            (f64::INFINITY, "unknown"),
        ] {
            assert_eq!(significant(value, 3), expected);
        }
        assert_eq!(column(4.6), "4.60");
        assert_eq!(column(f64::NAN), "unknown");
    }

    #[test]
    fn units_follow_the_size() {
        assert_eq!([24.6, 56_100.0, 0.31].map(duration_ns), ["24.6 ns", "56.1 µs", "0.31 ns"]);
        assert_eq!(percent(0.0273), "2.7 %");
        assert_eq!([4.16, -0.04, f64::NAN].map(signed_percent), ["+4.2 %", "0 %", "unknown"]);
    }

    #[test]
    fn narrow_intervals_are_percentages_and_wide_ones_are_written_out() {
        for (value, low, high, expected) in [
            (100.0, 98.0, 102.0, "±2 %"),
            (100.0, 99.99, 100.0, "±0.1 %"),
            (100.0, 60.0, 110.0, "[60, 110]"),
            (100.0, 101.0, 110.0, "[101, 110]"),
            (f64::NAN, 1.0, 2.0, "±?"),
        ] {
            assert_eq!(uncertainty(value, Interval { low, high }), expected);
        }
        assert_eq!(measured(24.63, Interval { low: 24.3, high: 25.04 }, "ns"), "24.6 ns [24.3, 25.0]");
    }

    #[test]
    fn percentages_are_printed_as_the_article_prints_them() {
        for (value, expected) in
            [(9.5513, "9.6"), (11.9658, "12.0"), (0.0375, "0.04"), (0.036, "0.04"), (f64::NAN, "unknown")]
        {
            assert_eq!(points(value), expected);
        }
        assert_eq!([3.0, -3.04, -0.001].map(signed_points), ["+3.0", "-3.0", "0.00"]);
        assert_eq!([124.6, -0.001, 3.12].map(points_in_words), ["125", "0.00", "3.1"]);
        assert_eq!([0.52, 0.04].map(points_of_share), ["52", "4.0"]);
    }
}

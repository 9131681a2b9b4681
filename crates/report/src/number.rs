//! Numbers as people read them: three significant digits, a unit, and the uncertainty beside them.

pub(crate) use machine::counted as count;
use machine::{Bytes, Hertz};
use record::{Quality, Spread};
use stats::Interval;

/// What stands where a number is missing or is not one.
pub(crate) const UNKNOWN: &str = "unknown";

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

/// A number with that many significant digits, without exponent: nobody reads `2.50e12` at a glance.
pub(crate) fn significant(value: f64, digits: i32) -> String {
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

/// Three significant digits, as in most tables.
pub(crate) fn short(value: f64) -> String {
    significant(value, 3)
}

/// Three digits where one is trailing zeros as well, so that columns line up: `4.60`, `24.6`, `118`.
pub(crate) fn column(value: f64) -> String {
    match value.abs() {
        v if !v.is_finite() => UNKNOWN.to_owned(),
        v if v < 9.995 => format!("{value:.2}"),
        v if v < 99.95 => format!("{value:.1}"),
        v if v < GROUPED_FROM => format!("{value:.0}"),
        _ => short(value),
    }
}

/// A duration in the unit that fits.
pub(crate) fn duration_ns(ns: f64) -> String {
    match ns.abs() {
        v if !v.is_finite() => UNKNOWN.to_owned(),
        v if v < 1e3 => format!("{} ns", short(ns)),
        v if v < 1e6 => format!("{} µs", short(ns / 1e3)),
        v if v < 1e9 => format!("{} ms", short(ns / 1e6)),
        _ => format!("{} s", short(ns / 1e9)),
    }
}

/// A value with its doubts and its uncertainty, for the cell of a table.
pub(crate) fn told(value: f64, spread: &Spread) -> String {
    format!("{}{} {}", column(value), quality_mark(spread.quality), uncertainty(value, spread.interval))
}

/// Bytes per second in decimal gigabytes, as STREAM counts.
pub(crate) fn gigabytes(bytes_per_s: f64) -> f64 {
    bytes_per_s / 1e9
}

/// A frequency in GHz or MHz.
pub(crate) fn frequency(hertz: Hertz) -> String {
    match hertz.0 {
        v if !v.is_finite() => UNKNOWN.to_owned(),
        v if v.abs() < 1e9 => format!("{} MHz", short(v / 1e6)),
        v => format!("{} GHz", short(v / 1e9)),
    }
}

/// A share as a percentage.
pub(crate) fn percent(share: f64) -> String {
    if share.is_finite() { format!("{} %", significant(share * 100.0, 2)) } else { UNKNOWN.to_owned() }
}

/// Per cent with a sign and a decimal: `+4.2 %`; `0 %` for what would show as nothing.
pub(crate) fn signed_percent(percent: f64) -> String {
    match percent.abs() {
        size if !size.is_finite() => UNKNOWN.to_owned(),
        size if size < 0.05 => "0 %".to_owned(),
        _ => format!("{percent:+.1} %"),
    }
}

/// The interval beside its value: `±2 %`, or `[3.1, 5.9]` where it is wide or lopsided.
pub(crate) fn uncertainty(value: f64, interval: Interval) -> String {
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
    format!(
        "±{} %",
        if percent < 0.1 {
            "0.1".to_owned()
        } else {
            significant(percent, if percent < 1.0 { 1 } else { 2 })
        }
    )
}

/// The wider side of the interval as `±x %` even where it is wide: for columns that have no room for more.
pub(crate) fn plus_minus(value: f64, interval: Interval) -> String {
    let share = (value - interval.low).abs().max((interval.high - value).abs()) / value.abs();
    match share {
        _ if value == 0.0 && interval.low == 0.0 && interval.high == 0.0 => String::new(),
        share if !share.is_finite() => "±?".to_owned(),
        share if share >= 1.0 => "±>100 %".to_owned(),
        share => format!("±{} %", significant(share.max(0.001) * 100.0, if share < 0.01 { 1 } else { 2 })),
    }
}

/// A size that was measured: three digits are more than timing can tell.
pub(crate) fn size(bytes: Bytes) -> String {
    let units = [(Bytes::GIB, "GiB"), (Bytes::MIB, "MiB"), (Bytes::KIB, "KiB")];
    let unit = units.into_iter().find(|(unit, _)| bytes >= *unit);
    unit.map_or_else(
        || bytes.to_string(),
        |(unit, name)| format!("{} {name}", short(bytes.0 as f64 / unit.0 as f64)),
    )
}

/// The mark behind a doubtful number; the legend explains it.
pub(crate) fn quality_mark(quality: Quality) -> &'static str {
    match quality {
        Quality::Converged => "",
        Quality::Wide => "~",
        Quality::Unstable => "*",
    }
}

/// The word of a quality, as it stands in the record.
pub(crate) fn quality_word(quality: Quality) -> &'static str {
    match quality {
        Quality::Converged => "converged",
        Quality::Wide => "wide",
        Quality::Unstable => "unstable",
    }
}

/// Finite numbers only: charts leave out the rest.
pub(crate) fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// Finite and above zero: what a logarithmic axis can show.
pub(crate) fn positive(value: f64) -> Option<f64> {
    (value.is_finite() && value > 0.0).then_some(value)
}

/// The median of the finite values.
pub(crate) fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.filter_map(finite).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use machine::Hertz;
    use stats::Interval;

    use super::{column, duration_ns, frequency, median, percent, signed_percent, significant, uncertainty};

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
        assert_eq!(duration_ns(24.6), "24.6 ns");
        assert_eq!(duration_ns(56_100.0), "56.1 µs");
        assert_eq!(frequency(Hertz(3.4e9)), "3.4 GHz");
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
    }

    #[test]
    fn the_median_ignores_what_is_not_a_number() {
        assert_eq!(median([3.0, f64::NAN, 1.0, 2.0].into_iter()), Some(2.0));
        assert_eq!(median(std::iter::empty()), None);
    }
}

//! How numbers are written in findings: value, unit, interval.

use machine::Bytes;
pub(crate) use machine::counted as count;
use stats::Interval;

/// Decimals that show three significant digits, none above 100.
fn decimals(value: f64) -> usize {
    match value.abs() {
        size if size < 1.0 => 3,
        size if size < 10.0 => 2,
        size if size < 100.0 => 1,
        _ => 0,
    }
}

/// `24.6 ns [24.3, 25.0]`; the digits of the value serve its interval.
pub(crate) fn measured(value: f64, interval: Interval, unit: &str) -> String {
    let digits = decimals(value);
    format!("{value:.digits$} {unit} {interval:.digits$}")
}

/// Bytes per second in GB/s (10^9), as STREAM counts.
pub(crate) fn rate(bytes_per_s: f64, interval: Interval) -> String {
    /// Bytes in a gigabyte of bandwidth.
    const GIGA: f64 = 1.0e9;
    measured(bytes_per_s / GIGA, interval.map(|end| end / GIGA), "GB/s")
}

/// A share as a percentage with its interval.
pub(crate) fn percent(share: f64, interval: Interval) -> String {
    let interval = interval.map(|end| 100.0 * end);
    format!("{:.0} % {interval:.0}", 100.0 * share)
}

/// A size with the blocks that bound it: `2 MiB [2 MiB, 3 MiB]`.
pub(crate) fn size(bytes: Bytes, interval: Interval) -> String {
    format!("{} [{}, {}]", rounded(bytes.0 as f64), rounded(interval.low), rounded(interval.high))
}

/// A size rounded to what can be known: whole KiB below 1 MiB, tenths of MiB above.
pub(crate) fn rounded(bytes: f64) -> Bytes {
    let to_multiple = |unit: f64| Bytes(((bytes.max(0.0) / unit).round() * unit).round() as u64);
    match bytes {
        small if small < Bytes::KIB.0 as f64 => to_multiple(1.0),
        small if small < Bytes::MIB.0 as f64 => to_multiple(Bytes::KIB.0 as f64),
        _ => to_multiple(Bytes::MIB.0 as f64 / 10.0),
    }
}

//! How numbers are written in findings: those of `stats::text`, with the units of memory.

use machine::Bytes;
pub(crate) use machine::counted as count;
use stats::Interval;
pub(crate) use stats::text::{measured, percent_within};

/// Bytes in a gigabyte of bandwidth, as STREAM counts.
pub(crate) const GIGA: f64 = 1.0e9;

/// Bytes per second in GB/s.
pub(crate) fn rate(bytes_per_s: f64, interval: Interval) -> String {
    measured(bytes_per_s / GIGA, interval.map(|end| end / GIGA), "GB/s")
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

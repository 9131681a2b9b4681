//! Numbers as people read them: those of `stats::text`, with the units of machines and the doubts of records.

pub(crate) use machine::counted as count;
use machine::{Bytes, Hertz};
use record::Quality;
pub(crate) use stats::text::{
    UNKNOWN, column, duration_ns, first_few, joined, percent, plus_minus, scaled, short, signed_percent,
    significant,
};

/// Bytes per second in decimal gigabytes, as STREAM counts.
pub(crate) fn gigabytes(bytes_per_s: f64) -> f64 {
    bytes_per_s / 1e9
}

/// A frequency in GHz or MHz.
pub(crate) fn frequency(hertz: Hertz) -> String {
    scaled(hertz.0, &[(1e9, "GHz"), (1e6, "MHz")])
}

/// A size that was measured: three digits are more than timing can tell.
pub(crate) fn size(bytes: Bytes) -> String {
    let units = [(Bytes::GIB, "GiB"), (Bytes::MIB, "MiB"), (Bytes::KIB, "KiB"), (Bytes(1), "B")];
    scaled(bytes.0 as f64, &units.map(|(unit, name)| (unit.0 as f64, name)))
}

/// The mark behind a doubtful number; the legend explains it.
pub(crate) fn quality_mark(quality: Quality) -> &'static str {
    match quality {
        Quality::Converged => "",
        Quality::Wide => "~",
        Quality::Unstable => "*",
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

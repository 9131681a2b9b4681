//! Families of metrics as text, in both formats that scrapers read.
//!
//! | format | who reads it | a counter's family | what else |
//! |---|---|---|---|
//! | Prometheus text 0.0.4 | the textfile collector of node_exporter, every scraper | named as its samples, with `_total` | no unit, no end |
//! | OpenMetrics 1.0 | who asks for it | named without `_total` | UNIT, and `# EOF` at the end |
//!
//! The older format knows no type `info` and refuses a whole file for it (prometheus/common, expfmt/text_parse.go, `readingType`), so
//! that there is no such family here.

use std::fmt::Write;

use crate::escape::plain;

/// How metrics are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricsFormat {
    /// Prometheus text format 0.0.4.
    Prometheus,
    /// OpenMetrics 1.0.
    OpenMetrics,
}

impl MetricsFormat {
    /// As HTTP names it. Sources: Prometheus, "Exposition formats"; OpenMetrics 1.0, "Protocol negotiation".
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// Types of families that both formats know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FamilyKind {
    /// Only grows; its samples are named with `_total`.
    Counter,
    /// Goes up and down.
    Gauge,
}

/// A family: what its samples are of.
#[derive(Debug, Clone)]
pub struct Family {
    /// Without the prefix, and without `_total`.
    pub name: &'static str,
    /// Its type.
    pub kind: FamilyKind,
    /// `seconds` and the like, with which the name ends; empty for counts and states.
    pub unit: &'static str,
    /// One sentence.
    pub help: &'static str,
    /// A family without samples is not written.
    pub samples: Vec<Sample>,
}

impl Family {
    /// A family of a gauge.
    pub fn gauge(name: &'static str, unit: &'static str, help: &'static str) -> Self {
        Self { name, kind: FamilyKind::Gauge, unit, help, samples: Vec::new() }
    }

    /// A family of a counter.
    pub fn counter(name: &'static str, unit: &'static str, help: &'static str) -> Self {
        Self { kind: FamilyKind::Counter, ..Self::gauge(name, unit, help) }
    }

    /// The same with these samples.
    #[must_use]
    pub fn of(self, samples: impl IntoIterator<Item = Sample>) -> Self {
        Self { samples: samples.into_iter().collect(), ..self }
    }
}

/// One sample; a value that is no number is not written.
#[derive(Debug, Clone)]
pub struct Sample {
    /// Names of ours and values of anybody's.
    pub labels: Vec<(&'static str, String)>,
    /// In the unit of the family.
    pub value: f64,
}

impl Sample {
    /// A sample with these labels.
    pub fn new<const N: usize>(labels: [(&'static str, &str); N], value: f64) -> Self {
        Self { labels: labels.map(|(name, text)| (name, text.to_owned())).into(), value }
    }

    /// A sample without labels.
    pub fn alone(value: f64) -> Self {
        Self { labels: Vec::new(), value }
    }
}

/// The families as text, each name behind the prefix.
pub fn metrics(prefix: &str, families: impl IntoIterator<Item = Family>, format: MetricsFormat) -> String {
    let is_open = format == MetricsFormat::OpenMetrics;
    let mut text = String::new();
    for Family { name, kind, unit, help, samples } in families {
        let samples: Vec<Sample> = samples.into_iter().filter(|sample| sample.value.is_finite()).collect();
        if samples.is_empty() {
            continue;
        }
        let (word, total) = match kind {
            FamilyKind::Counter => ("counter", "_total"),
            FamilyKind::Gauge => ("gauge", ""),
        };
        let family = format!("{prefix}{name}{}", if is_open { "" } else { total });
        let _ = writeln!(text, "# HELP {family} {help}\n# TYPE {family} {word}");
        if is_open && !unit.is_empty() {
            let _ = writeln!(text, "# UNIT {family} {unit}");
        }
        for Sample { labels, value } in samples {
            let labels: Vec<String> =
                labels.iter().map(|(name, text)| format!("{name}=\"{}\"", label(text))).collect();
            let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
            let _ = writeln!(text, "{prefix}{name}{total}{labels} {value}");
        }
    }
    text + if is_open { "# EOF\n" } else { "" }
}

/// A label's value with what would end it made harmless.
fn label(value: &str) -> String {
    plain(value).replace('\\', "\\\\").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rules for which a scraper refuses or misreads a text: names of families, their types and help, units, the end.
    fn check(text: &str, format: MetricsFormat) {
        let is_open = format == MetricsFormat::OpenMetrics;
        assert_eq!(text.ends_with("# EOF\n"), is_open);
        let (mut family, mut kind) = ("", "");
        for line in text.trim_end_matches("# EOF\n").lines() {
            if let Some(rest) = line.strip_prefix("# HELP ") {
                let (name, help) = rest.split_once(' ').expect("a name and help");
                assert!(help.ends_with('.'), "{line}");
                family = name;
            } else if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, word) = rest.split_once(' ').expect("a name and a type");
                assert!(name == family && ["counter", "gauge"].contains(&word), "{line}");
                assert_eq!(name.ends_with("_total"), !is_open && word == "counter", "{line}");
                kind = word;
            } else if let Some(rest) = line.strip_prefix("# UNIT ") {
                let (name, unit) = rest.split_once(' ').expect("a name and a unit");
                assert!(is_open && name == family && name.ends_with(&format!("_{unit}")), "{line}");
            } else {
                let (name, value) = line.rsplit_once(' ').expect("a sample");
                let name = name.split_once('{').map_or(name, |(name, _)| name);
                let total = if is_open && kind == "counter" { "_total" } else { "" };
                assert_eq!(name, format!("{family}{total}"), "{line}");
                assert!(value.parse::<f64>().is_ok_and(f64::is_finite), "{line}");
            }
        }
    }

    #[test]
    fn both_texts_obey_their_format_and_hostile_names_stay_labels() {
        let families = || {
            [
                Family::counter("events", "", "What happened.").of([Sample::new([("kind", "step")], 2.0)]),
                Family::gauge("offset_seconds", "seconds", "How far.")
                    .of([Sample::new([("cpu", "1"), ("of", "x\"} 1\n\\")], -1.5e-9)]),
                Family::gauge("nothing", "", "Never written.").of([Sample::alone(f64::NAN)]),
            ]
        };
        for format in [MetricsFormat::Prometheus, MetricsFormat::OpenMetrics] {
            let text = metrics("sidestep_", families(), format);
            check(&text, format);
            assert!(text.contains("sidestep_events_total{kind=\"step\"} 2\n"), "{text}");
            assert!(text.contains("sidestep_offset_seconds{cpu=\"1\",of=\"x\\\"} 1 \\\\\"} -"), "{text}");
            assert!(!text.contains("nothing"), "{text}");
        }
    }
}

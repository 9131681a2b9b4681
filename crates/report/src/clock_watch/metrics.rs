//! The state of a watch as OpenMetrics text, which the textfile collector of node_exporter reads as well.
//!
//! Format: OpenMetrics 1.0: a family is one block of TYPE, UNIT, HELP and samples; counters end in `_total`; the text ends
//! with `# EOF`. node_exporter reads the older text format of Prometheus and refuses a whole file for a type that this does not
//! know (prometheus/common, expfmt/text_parse.go, `readingType`), so that there is no family of type `info` here. Counters,
//! whose family has another name there, it takes for untyped.

use std::collections::BTreeMap;
use std::fmt::Write;

use record::{ClockHappening, ClockPair, ClockWatchSummary};

/// What is told.
#[derive(Debug, Clone, PartialEq)]
pub struct ClockMetrics<'a> {
    /// What is known of each pair.
    pub pairs: &'a [ClockPair],
    /// Everything that happened since the beginning.
    pub counts: &'a BTreeMap<&'static str, u64>,
    /// What the watch saw and cost so far.
    pub summary: ClockWatchSummary,
    /// The kernel's clock source.
    pub clock_source: Option<&'a str>,
    /// Whether a daemon disciplines the kernel's clock.
    pub synchronised: Option<bool>,
    /// Time of the last probe, in seconds since 1970.
    pub last_probe_s: f64,
}

impl ClockMetrics<'_> {
    /// Every kind of event that is counted: those that nobody has seen are told as zero.
    pub fn no_counts() -> BTreeMap<&'static str, u64> {
        KINDS.into_iter().map(|kind| (kind, 0)).collect()
    }

    /// The kind under which an event is counted; `None` for the beginning and the end.
    pub fn kind(what: &ClockHappening) -> Option<&'static str> {
        let kind = super::kind(what);
        KINDS.contains(&kind).then_some(kind)
    }
}

/// Kinds of events.
const KINDS: [&str; 13] = [
    "clocksource",
    "cpus",
    "drift",
    "hardware",
    "jump",
    "lost",
    "ntp",
    "offset",
    "stall",
    "step",
    "suspend",
    "time-set",
    "vm",
];

/// The text.
pub fn clock_metrics(metrics: &ClockMetrics<'_>) -> String {
    let mut text = String::new();
    family(&mut text, "events", "counter", None, "What happened to clocks since the watch began.");
    for (kind, count) in metrics.counts {
        let _ = writeln!(text, "{PREFIX}events_total{{kind=\"{kind}\"}} {count}");
    }
    let summary = &metrics.summary;
    family(&mut text, "probes", "counter", None, "Probes by what they saw of the counters of two CPUs.");
    let missed = summary.probes.saturating_sub(summary.usable).saturating_sub(summary.spared);
    for (result, count) in [("usable", summary.usable), ("missed", missed), ("spared", summary.spared)] {
        let _ = writeln!(text, "{PREFIX}probes_total{{result=\"{result}\"}} {count}");
    }
    family(&mut text, "watch_cpu_seconds", "counter", Some("seconds"), "CPU time that the watch used.");
    sample(&mut text, "watch_cpu_seconds_total", "", summary.cpu_share * summary.watched_s);
    family(
        &mut text,
        "last_probe_timestamp_seconds",
        "gauge",
        Some("seconds"),
        "When the last probe was made.",
    );
    sample(&mut text, "last_probe_timestamp_seconds", "", metrics.last_probe_s);
    family(&mut text, "source_info", "gauge", None, "The kernel's clock source.");
    let source = label(metrics.clock_source.unwrap_or("unknown"));
    sample(&mut text, "source_info", &format!("clocksource=\"{source}\""), 1.0);
    if let Some(synchronised) = metrics.synchronised {
        family(&mut text, "synchronised", "gauge", None, "Whether a daemon disciplines the kernel's clock.");
        sample(&mut text, "synchronised", "", f64::from(u8::from(synchronised)));
    }
    pairs(&mut text, metrics.pairs);
    text + "# EOF\n"
}

const PREFIX: &str = "sidestep_clock_";

fn family(text: &mut String, name: &str, kind: &str, unit: Option<&str>, help: &str) {
    let _ = writeln!(text, "# TYPE {PREFIX}{name} {kind}");
    if let Some(unit) = unit {
        let _ = writeln!(text, "# UNIT {PREFIX}{name} {unit}");
    }
    let _ = writeln!(text, "# HELP {PREFIX}{name} {help}");
}

fn sample(text: &mut String, name: &str, labels: &str, value: f64) {
    let labels = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
    let _ = writeln!(text, "{PREFIX}{name}{labels} {value}");
}

/// A label's value with what would end it made harmless.
fn label(value: &str) -> String {
    crate::escape::plain(value).replace('\\', "\\\\").replace('"', "\\\"")
}

/// One quantity of a pair.
type Quantity = (&'static str, &'static str, &'static str, fn(&ClockPair) -> Option<f64>);

fn pairs(text: &mut String, pairs: &[ClockPair]) {
    let quantities: [Quantity; 4] = [
        ("offset_seconds", "seconds", "Likely offset of a CPU's counter against the reference.", |pair| {
            pair.estimate_ns.map(|ns| ns / 1e9)
        }),
        ("offset_low_seconds", "seconds", "The offset is guaranteed to be at least this.", |pair| {
            pair.interval_ns.map(|[low, _]| low / 1e9)
        }),
        ("offset_high_seconds", "seconds", "The offset is guaranteed to be at most this.", |pair| {
            pair.interval_ns.map(|[_, high]| high / 1e9)
        }),
        ("drift_ratio", "ratio", "Likely drift of a CPU's counter against the reference.", |pair| {
            pair.rate_ppb.map(|ppb| ppb / 1e9)
        }),
    ];
    for (name, unit, help, value) in quantities {
        let told: Vec<(&ClockPair, f64)> = pairs
            .iter()
            .filter_map(|pair| Some((pair, value(pair).filter(|value| value.is_finite())?)))
            .collect();
        if told.is_empty() {
            continue;
        }
        family(text, name, "gauge", Some(unit), help);
        for (pair, value) in told {
            sample(text, name, &format!("cpu=\"{}\",reference=\"{}\"", pair.b, pair.a), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The types that both formats know, but for those of distributions.
    const TYPES: [&str; 2] = ["counter", "gauge"];

    /// The rules of both formats that a scraper refuses a text for.
    fn check(text: &str) {
        assert!(text.ends_with("# EOF\n"));
        let mut family = "";
        for line in text.trim_end_matches("# EOF\n").lines() {
            if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').expect("a name and a type");
                assert!(TYPES.contains(&kind), "{line}");
                family = name;
            } else if let Some(rest) = line.strip_prefix("# UNIT ") {
                let (name, unit) = rest.split_once(' ').expect("a name and a unit");
                assert!(name == family && name.ends_with(&format!("_{unit}")), "{line}");
            } else if let Some(rest) = line.strip_prefix("# HELP ") {
                assert!(rest.starts_with(family));
            } else {
                let (name, value) = line.rsplit_once(' ').expect("a sample");
                assert!(name.starts_with(family), "{line} in {family}");
                assert!(value.parse::<f64>().is_ok_and(f64::is_finite), "{line}");
            }
        }
    }

    #[test]
    fn the_text_obeys_the_format_and_hostile_names_stay_labels() {
        let mut counts = ClockMetrics::no_counts();
        counts.insert("step", 2);
        let metrics = ClockMetrics {
            pairs: &[],
            counts: &counts,
            summary: ClockWatchSummary { watched_s: 60.0, cpu_share: 0.0005, ..ClockWatchSummary::default() },
            clock_source: Some("x\"} 1\n\\"),
            synchronised: Some(true),
            last_probe_s: 1.7e9,
        };
        let text = clock_metrics(&metrics);
        check(&text);
        assert!(text.contains("sidestep_clock_events_total{kind=\"step\"} 2\n"), "{text}");
        assert!(text.contains("sidestep_clock_events_total{kind=\"vm\"} 0\n"), "{text}");
        assert!(!text.contains("\n\\"), "{text}");
    }
}

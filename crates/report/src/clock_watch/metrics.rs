//! The state of a watch as metrics, in both formats that scrapers read.
//!
//! | format | who reads it | a counter's family | what else |
//! |---|---|---|---|
//! | Prometheus text 0.0.4 | the textfile collector of node_exporter, every scraper | named as its samples, with `_total` | no unit, no end |
//! | OpenMetrics 1.0 | who asks for it by HTTP | named without `_total` | UNIT, and `# EOF` at the end |
//!
//! The older format knows no type `info` and refuses a whole file for it (prometheus/common, expfmt/text_parse.go, `readingType`), so
//! that there is no such family here.

use std::collections::BTreeMap;
use std::fmt::Write;

use record::{ClockHappening, ClockPair, ClockWatchSummary};

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
const KINDS: [&str; 14] = [
    "clocksource",
    "cpus",
    "drift",
    "hardware",
    "jump",
    "lost",
    "moved",
    "ntp",
    "offset",
    "stall",
    "step",
    "suspend",
    "time-set",
    "vm",
];

const PREFIX: &str = "sidestep_clock_";

/// Types of families that both formats know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Counter,
    Gauge,
}

/// A family: its name, type, unit and help, and its samples, each with its labels.
type Family = (&'static str, Kind, &'static str, &'static str, Vec<(String, f64)>);

/// The text; families without samples are left out.
pub fn clock_metrics(metrics: &ClockMetrics<'_>, format: MetricsFormat) -> String {
    let families = counted(metrics).into_iter().chain(states(metrics)).chain(of_pairs(metrics.pairs));
    let mut text: String = families.map(|family| of_family(&family, format)).collect();
    if format == MetricsFormat::OpenMetrics {
        text += "# EOF\n";
    }
    text
}

fn of_family((name, kind, unit, help, samples): &Family, format: MetricsFormat) -> String {
    if samples.is_empty() {
        return String::new();
    }
    let is_open = format == MetricsFormat::OpenMetrics;
    let (word, total) = match kind {
        Kind::Counter => ("counter", "_total"),
        Kind::Gauge => ("gauge", ""),
    };
    let family = if is_open { String::new() } else { total.to_owned() };
    let mut text = format!("# HELP {PREFIX}{name}{family} {help}\n# TYPE {PREFIX}{name}{family} {word}\n");
    if is_open && !unit.is_empty() {
        let _ = writeln!(text, "# UNIT {PREFIX}{name} {unit}");
    }
    for (labels, value) in samples {
        let labels = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
        let _ = writeln!(text, "{PREFIX}{name}{total}{labels} {value}");
    }
    text
}

/// What was counted since the watch began.
fn counted(metrics: &ClockMetrics<'_>) -> [Family; 3] {
    use Kind::Counter;
    let summary = &metrics.summary;
    let events = metrics.counts.iter().map(|(kind, count)| (format!("kind=\"{kind}\""), *count as f64));
    let missed = summary.probes.saturating_sub(summary.usable).saturating_sub(summary.spared);
    let probes = [("usable", summary.usable), ("missed", missed), ("spared", summary.spared)];
    let probes = probes.map(|(result, count)| (format!("result=\"{result}\""), count as f64));
    let cpu_s = vec![(String::new(), summary.cpu_share * summary.watched_s)];
    [
        ("events", Counter, "", "What happened to clocks since the watch began.", events.collect()),
        ("probes", Counter, "", "Probes by what they saw of the counters of two CPUs.", probes.into()),
        ("watch_cpu_seconds", Counter, "seconds", "CPU time that the watch used.", cpu_s),
    ]
}

/// How the watch and the kernel's clock are now.
fn states(metrics: &ClockMetrics<'_>) -> [Family; 4] {
    use Kind::Gauge;
    let alone = |value: Option<f64>| value.map(|value| (String::new(), value)).into_iter().collect();
    let watched = alone(metrics.summary.watched_share);
    let source = format!("clocksource=\"{}\"", label(metrics.clock_source.unwrap_or("unknown")));
    let synchronised = alone(metrics.synchronised.map(|is| f64::from(u8::from(is))));
    let last = alone(Some(metrics.last_probe_s));
    [
        ("watched_ratio", Gauge, "ratio", "Share of the time in which counters were watched.", watched),
        ("last_probe_timestamp_seconds", Gauge, "seconds", "When the last probe was made.", last),
        ("source_info", Gauge, "", "The kernel's clock source.", vec![(source, 1.0)]),
        ("synchronised", Gauge, "", "Whether a daemon disciplines the kernel's clock.", synchronised),
    ]
}

/// What is known of each pair, a family for each quantity.
fn of_pairs(pairs: &[ClockPair]) -> [Family; 4] {
    let samples = |value: fn(&ClockPair) -> Option<f64>| {
        let labels = |pair: &ClockPair| format!("cpu=\"{}\",reference=\"{}\"", pair.b, pair.a);
        let value = |pair| value(pair).map(|nano| nano / 1e9).filter(|value| value.is_finite());
        pairs.iter().filter_map(|pair| Some((labels(pair), value(pair)?))).collect()
    };
    let offset = samples(|pair| pair.estimate_ns);
    let low = samples(|pair| pair.interval_ns.map(|[low, _]| low));
    let high = samples(|pair| pair.interval_ns.map(|[_, high]| high));
    let drift = samples(|pair| pair.rate_ppb);
    let gauge = |name, unit, help, samples| (name, Kind::Gauge, unit, help, samples);
    [
        gauge("offset_seconds", "seconds", "Likely offset of a CPU's counter against the reference.", offset),
        gauge("offset_low_seconds", "seconds", "The offset is guaranteed to be at least this.", low),
        gauge("offset_high_seconds", "seconds", "The offset is guaranteed to be at most this.", high),
        gauge("drift_ratio", "ratio", "Likely drift of a CPU's counter against the reference.", drift),
    ]
}

/// A label's value with what would end it made harmless.
fn label(value: &str) -> String {
    crate::escape::plain(value).replace('\\', "\\\\").replace('"', "\\\"")
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

    fn pair() -> ClockPair {
        let row = r#"{"a":0,"b":1,"interval_ns":[-30.0,31.5],"estimate_ns":1.5,"sd_ns":null,"standard_error_ns":null,
            "rate_ppb":-12.0,"rate_error_ppb":null,"rate_interval_ppb":null,"moves_for_certain":false,"seen_after_s":null,
            "fault":null,"half_width_ns":30.0,"exchanges":9,"usable":9,"overlap_share":1.0,"best_after_ms":null,
            "watched_s":8.0,"centres":[]}"#;
        serde_json::from_str(row).expect("a row of the document")
    }

    /// The text of a watch that has seen something of everything.
    fn text(format: MetricsFormat) -> String {
        let mut counts = ClockMetrics::no_counts();
        counts.insert("step", 2);
        let metrics = ClockMetrics {
            pairs: &[pair()],
            counts: &counts,
            summary: ClockWatchSummary {
                watched_s: 60.0,
                cpu_share: 0.0005,
                watched_share: Some(0.75),
                ..ClockWatchSummary::default()
            },
            clock_source: Some("x\"} 1\n\\"),
            synchronised: Some(true),
            last_probe_s: 1.7e9,
        };
        clock_metrics(&metrics, format)
    }

    #[test]
    fn both_texts_obey_their_format_and_hostile_names_stay_labels() {
        for format in [MetricsFormat::Prometheus, MetricsFormat::OpenMetrics] {
            let text = text(format);
            check(&text, format);
            assert!(text.contains("sidestep_clock_events_total{kind=\"step\"} 2\n"), "{text}");
            assert!(text.contains("sidestep_clock_events_total{kind=\"vm\"} 0\n"), "{text}");
            assert!(text.contains("sidestep_clock_drift_ratio{cpu=\"1\",reference=\"0\"} -"), "{text}");
            assert!(!text.contains("\n\\"), "{text}");
        }
    }

    #[test]
    fn promtool_finds_nothing_to_complain_of() {
        use std::io::Write;
        use std::process::{Command, Stdio};
        let mut promtool = Command::new("promtool");
        promtool
            .args(["check", "metrics"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let Ok(mut child) = promtool.spawn() else {
            println!("skipped: promtool is not installed (Debian: prometheus)");
            return;
        };
        let mut input = child.stdin.take().expect("a pipe");
        input.write_all(text(MetricsFormat::Prometheus).as_bytes()).expect("promtool reads");
        drop(input);
        let said = child.wait_with_output().expect("promtool ends");
        assert!(said.status.success() && said.stdout.is_empty() && said.stderr.is_empty(), "{said:?}");
    }
}

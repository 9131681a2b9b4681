//! The state of a watch as families of metrics.

use std::collections::BTreeMap;

use record::{ClockHappening, ClockPair, ClockWatchSummary};

use crate::export::{self, Family, Sample};

/// What is known of a watch.
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

/// The text; families without samples are left out.
pub fn clock_metrics(metrics: &ClockMetrics<'_>) -> String {
    let families = counted(metrics).into_iter().chain(states(metrics)).chain(of_pairs(metrics.pairs));
    export::metrics("sidestep_clock_", families)
}

/// What was counted since the watch began.
fn counted(metrics: &ClockMetrics<'_>) -> [Family; 3] {
    let summary = &metrics.summary;
    let events = metrics.counts.iter().map(|(kind, count)| Sample::new([("kind", kind)], *count as f64));
    let missed = summary.probes.saturating_sub(summary.usable).saturating_sub(summary.spared);
    let probes = [("usable", summary.usable), ("missed", missed), ("spared", summary.spared)];
    let probes = probes.map(|(result, count)| Sample::new([("result", result)], count as f64));
    let cpu_s = Sample::alone(summary.cpu_share * summary.watched_s);
    let of_probes = "Probes by what they saw of the counters of two CPUs.";
    [
        Family::counter("events", "What happened to clocks since the watch began.").of(events),
        Family::counter("probes", of_probes).of(probes),
        Family::counter("watch_cpu_seconds", "CPU time that the watch used.").of([cpu_s]),
    ]
}

/// How the watch and the kernel's clock are now.
fn states(metrics: &ClockMetrics<'_>) -> [Family; 4] {
    let source = metrics.clock_source.unwrap_or("unknown");
    let synchronised = metrics.synchronised.map(|is| f64::from(u8::from(is)));
    let watched = "Share of the time in which counters were watched.";
    [
        Family::gauge("watched_ratio", watched).of(metrics.summary.watched_share.map(Sample::alone)),
        Family::gauge("last_probe_timestamp_seconds", "When the last probe was made.")
            .of([Sample::alone(metrics.last_probe_s)]),
        Family::gauge("source_info", "The kernel's clock source.")
            .of([Sample::new([("clocksource", source)], 1.0)]),
        Family::gauge("synchronised", "Whether a daemon disciplines the kernel's clock.")
            .of(synchronised.map(Sample::alone)),
    ]
}

/// What is known of each pair, a family for each quantity.
fn of_pairs(pairs: &[ClockPair]) -> [Family; 4] {
    let family = |name, help, value: fn(&ClockPair) -> Option<f64>| {
        let sample = |pair: &ClockPair| {
            let (cpu, reference) = (pair.b.to_string(), pair.a.to_string());
            Some(Sample::new([("cpu", &cpu), ("reference", &reference)], value(pair)? / 1e9))
        };
        Family::gauge(name, help).of(pairs.iter().filter_map(sample))
    };
    let offset = "Likely offset of a CPU's counter against the reference.";
    let low = "The offset is guaranteed to be at least this.";
    let high = "The offset is guaranteed to be at most this.";
    let drift = "Likely drift of a CPU's counter against the reference.";
    [
        family("offset_seconds", offset, |pair| pair.estimate_ns),
        family("offset_low_seconds", low, |pair| pair.interval_ns.map(|[low, _]| low)),
        family("offset_high_seconds", high, |pair| pair.interval_ns.map(|[_, high]| high)),
        family("drift_ratio", drift, |pair| pair.rate_ppb),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> ClockPair {
        let row = r#"{"a":0,"b":1,"interval_ns":[-30.0,31.5],"estimate_ns":1.5,"sd_ns":null,"standard_error_ns":null,
            "rate_ppb":-12.0,"rate_error_ppb":null,"rate_interval_ppb":null,"moves_for_certain":false,"seen_after_s":null,
            "fault":null,"half_width_ns":30.0,"exchanges":9,"usable":9,"overlap_share":1.0,"best_after_ms":null,
            "watched_s":8.0,"centres":[]}"#;
        serde_json::from_str(row).expect("a row of the document")
    }

    /// The text of a watch that has seen something of everything.
    fn text() -> String {
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
        clock_metrics(&metrics)
    }

    #[test]
    fn every_kind_of_event_is_there_and_each_pair_has_its_labels() {
        let text = text();
        for part in [
            "sidestep_clock_events_total{kind=\"step\"} 2\n",
            "sidestep_clock_events_total{kind=\"vm\"} 0\n",
            "sidestep_clock_drift_ratio{cpu=\"1\",reference=\"0\"} -",
            "sidestep_clock_source_info{clocksource=\"x\\\"} 1 \\\\\"} 1\n",
        ] {
            assert!(text.contains(part), "{part} in {text}");
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
        input.write_all(text().as_bytes()).expect("promtool reads");
        drop(input);
        let said = child.wait_with_output().expect("promtool ends");
        assert!(said.status.success() && said.stdout.is_empty() && said.stderr.is_empty(), "{said:?}");
    }
}

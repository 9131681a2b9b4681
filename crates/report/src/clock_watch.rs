//! What happens to clocks, as one line each for people, and as metrics for those who watch many machines.

use std::collections::BTreeMap;

use record::{ClockEvent, ClockFault, ClockHappening, ClockPair, ClockWatchSummary};

use crate::escape::plain;
use crate::export::{self, Family, Sample};
use crate::number::{duration_ns, joined, short};
use crate::terminal::{Ink, Paper, Terminal};

/// What happened, as a sentence without time.
pub fn clock_happening_text(what: &ClockHappening) -> String {
    match what {
        ClockHappening::Began { cpus, clock_source, period_s } => {
            let what = match cpus {
                0 | 1 => "the clocks of one CPU, with whose counter none is compared".to_owned(),
                _ => format!("{cpus} CPUs"),
            };
            let (period, source) = (short(*period_s), named(clock_source.as_deref()));
            format!("watching {what}, a probe every {period} s; clock source {source}")
        }
        ClockHappening::Counters { .. } => counters(what),
        ClockHappening::ClockSource { from, to } => format!(
            "the kernel's clock source changed from {} to {}",
            named(from.as_deref()),
            named(to.as_deref())
        ),
        ClockHappening::Suspended { ns } => format!("the machine slept for {}", duration_ns(*ns)),
        ClockHappening::HotPlug { from, to } => {
            format!("CPUs came or went: online were {}, are {}", named(from.as_deref()), named(to.as_deref()))
        }
        ClockHappening::VmDisrupted => {
            "the hypervisor moved or restored this machine: time may have jumped".to_owned()
        }
        ClockHappening::SystemTimeStepped { ns } => format!("the time of day was set by {}", signed(*ns)),
        ClockHappening::CounterJumped { ns } => {
            format!("the counter jumped by {} against the kernel's raw clock", signed(*ns))
        }
        ClockHappening::Stalled { ns } => {
            format!(
                "nothing ran for {}: a paused machine, a stopped process, or far too much load",
                duration_ns(*ns)
            )
        }
        ClockHappening::HardwareClockMoved { s } => format!(
            "the hardware clock moved by {} against the time of day: a machine that was paused or restored, or a clock that was set",
            signed(s * 1e9)
        ),
        ClockHappening::Synchronisation { synchronised: true } => {
            "the kernel's clock is disciplined by a daemon now".to_owned()
        }
        ClockHappening::Synchronisation { synchronised: false } => {
            "the kernel's clock is no longer disciplined".to_owned()
        }
        ClockHappening::Lost { cpu, reason } => format!("CPU {cpu} is no longer compared: {}", plain(reason)),
        ClockHappening::Ended(summary) => ended(summary),
    }
}

fn counters(what: &ClockHappening) -> String {
    let ClockHappening::Counters { a, b, fault, interval_ns, step_ns, rate_ppb, seen_after_s } = what else {
        return String::new();
    };
    let bounds = interval_ns.map_or_else(String::new, |[low, high]| {
        format!(", guaranteed within {} and {}", signed(low), signed(high))
    });
    let which = format!("the counter of CPU {b} against CPU {a}");
    let by = |size: Option<String>| size.map_or_else(String::new, |size| format!(" by {size}"));
    let what = match fault {
        ClockFault::Offset => format!("{which} is off by a constant{bounds}"),
        ClockFault::Step => format!("{which} jumped{}", by(step_ns.map(signed))),
        ClockFault::Slope => {
            format!("{which} drifts{}", by(rate_ppb.map(|ppb| format!("{} ppb", short(ppb)))))
        }
        ClockFault::SlopeAtOneFrequency | ClockFault::SlopeAfterIdle | ClockFault::RateChanges => {
            format!("{which} drifts at a rate that changes")
        }
        ClockFault::Moved => {
            format!("{which} moved{bounds}; too little was seen to say whether by a jump or by drift")
        }
    };
    format!("{what}; seen after {} s", short(*seen_after_s))
}

fn ended(summary: &ClockWatchSummary) -> String {
    let events = match summary.events {
        0 if summary.could_watch() => "nothing happened".to_owned(),
        0 => "no event seen".to_owned(),
        1 => "1 event".to_owned(),
        more => format!("{more} events"),
    };
    let verdict = if summary.could_watch() { "watched" } else { "could not watch: tried" };
    let spared = match summary.spared {
        0 => String::new(),
        spared => format!(", {spared} without counters to spare the CPU"),
    };
    format!(
        "{verdict} for {} s: {events}{}; {} of {} probes saw both counters{spared}; {} % of one CPU, its start included",
        short(summary.watched_s),
        reach(summary),
        summary.usable,
        summary.probes,
        short(summary.cpu_share * 100.0)
    )
}

/// How much of the time counters were watched in, and what went unseen.
fn reach(summary: &ClockWatchSummary) -> String {
    let Some(share) = summary.watched_share else { return String::new() };
    let seen = [
        summary.blind_below_ns.map(|ns| format!("offsets below {}", duration_ns(ns))),
        summary.unseen_drift_ppb.map(|ppb| format!("drift below {} ppb", short(ppb))),
        (share < 1.0).then(|| "whatever came and went in the rest".to_owned()),
    ];
    let missed = joined(seen.into_iter().flatten(), ", ");
    let missed = if missed.is_empty() { missed } else { format!(" (not detectable: {missed})") };
    let advice = if summary.could_watch() {
        ""
    } else {
        "; free the CPUs, watch fewer with --cpus, or watch longer with --budget"
    };
    format!("; counters were watched {:.0} % of the time{missed}{advice}", share * 100.0)
}

fn signed(ns: f64) -> String {
    let sign = if ns > 0.0 { "+" } else { "" };
    format!("{sign}{}", duration_ns(ns))
}

fn named(text: Option<&str>) -> String {
    text.map_or_else(|| "unknown".to_owned(), plain)
}

/// The word in front of a line.
pub(crate) fn kind(what: &ClockHappening) -> &'static str {
    match what {
        ClockHappening::Began { .. } => "began",
        ClockHappening::Counters { fault: ClockFault::Step, .. } => "step",
        ClockHappening::Counters { fault: ClockFault::Offset, .. } => "offset",
        ClockHappening::Counters { fault: ClockFault::Moved, .. } => "moved",
        ClockHappening::Counters { .. } => "drift",
        ClockHappening::ClockSource { .. } => "clocksource",
        ClockHappening::Suspended { .. } => "suspend",
        ClockHappening::HotPlug { .. } => "cpus",
        ClockHappening::VmDisrupted => "vm",
        ClockHappening::SystemTimeStepped { .. } => "time-set",
        ClockHappening::CounterJumped { .. } => "jump",
        ClockHappening::Stalled { .. } => "stall",
        ClockHappening::HardwareClockMoved { .. } => "hardware",
        ClockHappening::Synchronisation { .. } => "ntp",
        ClockHappening::Lost { .. } => "lost",
        ClockHappening::Ended(_) => "ended",
    }
}

/// The line of an event, wrapped to the terminal.
pub fn clock_event_terminal(event: &ClockEvent, terminal: Terminal) -> String {
    let ink = match event.what {
        ClockHappening::Began { .. } | ClockHappening::Ended(_) => Ink::Faint,
        ClockHappening::Synchronisation { .. } | ClockHappening::HotPlug { .. } => Ink::Plain,
        ClockHappening::Lost { .. } => Ink::Doubt,
        _ => Ink::Warning,
    };
    let mut paper = Paper::new(terminal);
    let prefix = format!("{} {:<12}", plain(&event.at_utc), kind(&event.what));
    paper.wrapped_inked(ink, &prefix, &event.text);
    paper.finish()
}

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
    /// Every kind of event that is counted: those that were not seen are zero.
    pub fn no_counts() -> BTreeMap<&'static str, u64> {
        KINDS.into_iter().map(|kind| (kind, 0)).collect()
    }

    /// The kind under which an event is counted; `None` for the beginning and the end.
    pub fn kind(what: &ClockHappening) -> Option<&'static str> {
        Some(kind(what)).filter(|kind| KINDS.contains(kind))
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
    let cpu_s = Sample::new([], summary.cpu_share * summary.watched_s);
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
        Family::gauge("watched_ratio", watched)
            .of(metrics.summary.watched_share.map(|value| Sample::new([], value))),
        Family::gauge("last_probe_timestamp_seconds", "When the last probe was made.")
            .of([Sample::new([], metrics.last_probe_s)]),
        Family::gauge("source_info", "The kernel's clock source.")
            .of([Sample::new([("clocksource", source)], 1.0)]),
        Family::gauge("synchronised", "Whether a daemon disciplines the kernel's clock.")
            .of(synchronised.map(|value| Sample::new([], value))),
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
    use machine::CpuId;

    use super::*;

    #[test]
    fn each_event_is_a_sentence_on_lines_of_80_columns() {
        let counters = |fault| ClockHappening::Counters {
            a: CpuId(0),
            b: CpuId(255),
            fault,
            interval_ns: Some([-1_234_567.0, -1_234_000.0]),
            step_ns: Some(-12_345.6),
            rate_ppb: Some(101.2),
            seen_after_s: 12.0,
        };
        for (what, words) in [
            (counters(ClockFault::Step), "jumped by -12.3 µs"),
            (counters(ClockFault::Slope), "drifts by 101 ppb"),
            (counters(ClockFault::Offset), "guaranteed within -1.23 ms and -1.23 ms"),
            (counters(ClockFault::RateChanges), "rate that changes"),
            (ClockHappening::ClockSource { from: Some("tsc".into()), to: None }, "from tsc to unknown"),
            (ClockHappening::SystemTimeStepped { ns: 2e9 }, "set by +2 s"),
            (ClockHappening::Ended(ClockWatchSummary::default()), "nothing happened"),
            (
                ClockHappening::Ended(ClockWatchSummary {
                    watched_share: Some(0.17),
                    blind_below_ns: Some(60.0),
                    unseen_drift_ppb: Some(1_230.0),
                    ..ClockWatchSummary::default()
                }),
                "could not watch: tried for 0 s: no event seen; counters were watched 17 % of the time (not detectable: \
                 offsets below 60 ns, drift below 1230 ppb, whatever came and went in the rest); free the CPUs",
            ),
            (
                ClockHappening::Ended(ClockWatchSummary {
                    watched_share: Some(0.92),
                    ..ClockWatchSummary::default()
                }),
                "watched for 0 s: nothing happened; counters were watched 92 % of the time (not detectable: whatever",
            ),
            (counters(ClockFault::Moved), "too little was seen"),
            (ClockHappening::Began { cpus: 1, clock_source: None, period_s: 1.0 }, "clocks of one CPU"),
            (ClockHappening::Began { cpus: 256, clock_source: None, period_s: 0.1 }, "256 CPUs"),
        ] {
            let text = clock_happening_text(&what);
            assert!(text.contains(words), "{text}");
            let event = ClockEvent { schema: 1, at_utc: "2026-01-01T00:00:00Z".into(), text, what };
            let page = clock_event_terminal(&event, Terminal::default());
            assert!(page.starts_with("2026-01-01T00:00:00Z "), "{page}");
            assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
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

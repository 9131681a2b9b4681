//! What happens to clocks, as one line each for people, and as metrics for those who watch many machines.

mod metrics;

use record::{ClockEvent, ClockFault, ClockHappening, ClockWatchSummary};

pub use metrics::{ClockMetrics, clock_metrics};

use crate::escape::plain;
use crate::number::{duration_ns, short};
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
    let told = match fault {
        ClockFault::Offset => format!("{which} is off by a constant{bounds}"),
        ClockFault::Step => match step_ns {
            Some(ns) => format!("{which} jumped by {}", signed(*ns)),
            None => format!("{which} jumped"),
        },
        ClockFault::Slope => match rate_ppb {
            Some(ppb) => format!("{which} drifts by {} ppb", short(*ppb)),
            None => format!("{which} drifts"),
        },
        ClockFault::SlopeAtOneFrequency | ClockFault::SlopeAfterIdle | ClockFault::RateChanges => {
            format!("{which} drifts at a rate that changes")
        }
        ClockFault::Moved => {
            format!("{which} moved{bounds}; too little was seen to say whether by a jump or by drift")
        }
    };
    format!("{told}; seen after {} s", short(*seen_after_s))
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
    let missed: Vec<String> = seen.into_iter().flatten().collect();
    let missed =
        if missed.is_empty() { String::new() } else { format!(" (not detectable: {})", missed.join(", ")) };
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
}

//! Prices of reading time, and what the clock source makes of them.

use record::{ClockRead, Finding, Record, Severity};

use super::finding;
use crate::column::sane;
use crate::wording::measured;

/// A clock_gettime that stays in user space takes two to three times the counter; above this it does not.
const SLOW_RATIO: f64 = 5.0;

/// A read this near to the price of the system call is one.
const SYSTEM_CALL_SHARE: f64 = 0.6;

pub(super) fn judge(record: &Record, found: &mut Vec<Finding>) {
    let read = |name: &str| cheapest(record, |read| read.name == name);
    let Some(monotonic) = read("clock_gettime(CLOCK_MONOTONIC)") else { return };
    let counter = read("rdtscp").or_else(|| read("rdtsc"));
    let call = cheapest(record, |read| read.name.contains("system call"));
    let source = record.machine.environment.clock_sources.current.as_deref();
    let falls_to_call = call.is_some_and(|call| monotonic.ns > SYSTEM_CALL_SHARE * call.ns);
    let slow = counter.is_some_and(|counter| monotonic.ns > SLOW_RATIO * counter.ns);
    let (severity, text) = if falls_to_call {
        (Severity::Warning, "clock_gettime enters the kernel on each call".to_owned())
    } else if slow {
        (Severity::Warning, "clock_gettime is slow: much dearer than the counter behind it".to_owned())
    } else if counter.is_none() && call.is_none() {
        return;
    } else {
        (Severity::Good, format!("reading the clock is cheap: {}", line(monotonic)))
    };
    let mut verdict = finding("clock-slow", severity, text);
    verdict.evidence = [Some(monotonic), counter, call]
        .into_iter()
        .flatten()
        .map(|read| format!("{} {}", read.name, line(read)))
        .collect();
    verdict.evidence.push(format!("clock source: {}", source.unwrap_or("unknown")));
    if severity == Severity::Warning {
        verdict.mechanism = Some(mechanism(source));
        verdict.prediction = Some(
            "with the clock source tsc or a paravirtual page: below three reads of the counter".to_owned(),
        );
        verdict.remedy = Some(remedy(record, source));
    }
    found.push(verdict);
}

fn cheapest(record: &Record, wanted: impl Fn(&ClockRead) -> bool) -> Option<&ClockRead> {
    record
        .clocks
        .iter()
        .filter(|read| read.ns.is_finite() && read.ns > 0.0 && wanted(read))
        .min_by(|a, b| a.ns.total_cmp(&b.ns))
}

fn line(read: &ClockRead) -> String {
    measured(read.ns, sane(read.spread.interval, read.ns), "ns")
}

fn mechanism(source: Option<&str>) -> String {
    match source {
        Some("hpet" | "acpi_pm" | "refined-jiffies" | "jiffies" | "xen") => format!(
            "the clock source {} cannot be read from user space",
            source.unwrap_or_default()
        ),
        Some("tsc") => "the source is tsc, so the fast path is lost elsewhere: a time namespace, a tracer, or a trapping \
                        hypervisor (inference)"
            .to_owned(),
        _ => "the clock source has no fast path in user space here (inference)".to_owned(),
    }
}

fn remedy(record: &Record, source: Option<&str>) -> String {
    let available = &record.machine.environment.clock_sources.available;
    if source != Some("tsc") && available.iter().any(|name| name == "tsc") {
        return "as root, if the kernel has not marked it unstable: echo tsc > \
                /sys/devices/system/clocksource/clocksource0/current_clocksource"
            .to_owned();
    }
    "the kernel does not offer tsc: dmesg | grep -i -e tsc -e clocksource says why".to_owned()
}

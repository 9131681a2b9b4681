//! Whether the counters of CPUs agree; prices of reading time, and what the clock source makes of them.

use record::{Area, ClockCheck, ClockFault, ClockRead, ClockVerdict, Finding, Record, Severity};

use super::{Details, finding};
use crate::surface::sane;
use crate::wording::{count, measured};

/// A clock_gettime that stays in user space takes two to three times the counter; above this it does not.
const SLOW_RATIO: f64 = 5.0;

/// The read that programs make most.
const MONOTONIC: &str = "clock_gettime(CLOCK_MONOTONIC)";

/// A read this near to the price of the system call is one.
const SYSTEM_CALL_SHARE: f64 = 0.6;

pub(super) fn judge(record: &Record, found: &mut Vec<Finding>) {
    found.extend(record.clock_check.as_ref().map(counters));
    found.extend(price(record));
    found.extend(paravirtual(record));
}

/// Whether time is safe, in one sentence.
fn counters(check: &ClockCheck) -> Finding {
    let reason = check.because.first().map_or("nothing was measured", String::as_str);
    let (severity, text) = match check.verdict {
        ClockVerdict::Safe => (Severity::Good, "the counters of all CPUs agree: time is safe".to_owned()),
        ClockVerdict::Correctable => (Severity::Warning, format!("time needs correcting: {reason}")),
        ClockVerdict::Unsafe => (Severity::Warning, format!("time is not safe on this machine: {reason}")),
        ClockVerdict::CannotTell => {
            (Severity::Inconclusive, format!("whether time is safe is not known: {reason}"))
        }
    };
    let mut finding = finding(Area::Clocks, "clock-counters", severity, text);
    let worst = check
        .pairs
        .iter()
        .filter(|pair| pair.interval_ns.is_some_and(|ends| ends.iter().all(|end| end.is_finite())))
        .max_by(|a, b| reach(a.interval_ns).total_cmp(&reach(b.interval_ns)));
    if let Some((pair, [low, high])) = worst.and_then(|pair| Some((pair, pair.interval_ns?))) {
        finding.evidence.push(format!(
            "{}; widest offset CPU {}-{}: guaranteed within {low:+.1} and {high:+.1} ns",
            count(check.pairs.len(), "pair"),
            pair.a,
            pair.b
        ));
    }
    if let Some(drift) = check.would_have_seen.filter(|drift| drift.ppb.is_finite()) {
        finding
            .evidence
            .push(format!("would have seen {:.0} ppb of drift in {:.1} s", drift.ppb, drift.in_s));
    }
    let went_back = check.backwards.iter().filter(|count| count.backwards > 0);
    finding.evidence.extend(went_back.map(|count| {
        let order = if count.ordered { "ordered" } else { "not ordered" };
        format!(
            "{} ({order}) went back {} times of {} between CPUs {} and {}",
            count.name, count.backwards, count.fresh, count.a, count.b
        )
    }));
    finding.evidence.extend(check.because.iter().skip(1).cloned());
    let source = check.kernel.clocksource.as_deref().unwrap_or("unknown");
    finding.evidence.push(format!("clock source: {source}"));
    finding.mechanism = check.pairs.iter().find_map(|pair| pair.fault).and_then(cause).map(str::to_owned);
    finding.remedy = check.remedies.first().cloned();
    finding
}

/// What usually makes counters differ so.
fn cause(fault: ClockFault) -> Option<&'static str> {
    match fault {
        ClockFault::Offset => Some(
            "one counter was started later or written: by firmware, hot-plug or a hypervisor (inference)",
        ),
        ClockFault::Slope => Some("the two run from different oscillators (inference)"),
        ClockFault::Step => Some("a counter was written meanwhile: by firmware or a hypervisor (inference)"),
        ClockFault::SlopeAtOneFrequency => Some("the counter follows the frequency of its core (inference)"),
        ClockFault::SlopeAfterIdle => {
            Some("the counter slows or stops while its core sleeps, as under C1 clock ramping (inference)")
        }
        ClockFault::RateChanges | ClockFault::Moved => None,
    }
}

/// How far an interval reaches from zero.
fn reach(interval: Option<[f64; 2]>) -> f64 {
    interval.map_or(0.0, |[low, high]| low.abs().max(high.abs()))
}

/// The paravirtual clock source of guests of KVM.
const KVM_CLOCK: &str = "kvm-clock";
/// What reading it costs over tsc, and where that was measured: turns side by side, gated on the control loop.
const KVM_CLOCK_EXTRA: &str =
    "on guests of KVM each read by kvm-clock cost 14 % (Zen 5) to 37 % (Cascade Lake) more than by tsc";

/// kvm-clock in use where tsc is offered.
fn paravirtual(record: &Record) -> Option<Finding> {
    let sources = &record.machine.environment.clock_sources;
    let is_offered = sources.available.iter().any(|name| name == "tsc");
    if sources.current.as_deref() != Some(KVM_CLOCK) || !is_offered {
        return None;
    }
    let monotonic = cheapest(record, |read| read.name == MONOTONIC)?;
    let text = "reading the clock may cost more than it has to: kvm-clock is used, and tsc is offered";
    let mut notice = finding(Area::Clocks, "clock-kvm", Severity::Notice, text.to_owned())
        .showing([format!("{} {}", monotonic.name, line(monotonic))]);
    notice.mechanism =
        Some("each read also looks at a page that the hypervisor keeps (inference)".to_owned());
    notice.prediction = Some(format!("{KVM_CLOCK_EXTRA}; advice differs by cloud, so measure"));
    notice.remedy = Some(
        "as root: sidestep ab --toggle clocksource=tsc measures both; sidestep clock check tells whether tsc is safe"
            .to_owned(),
    );
    Some(notice)
}

fn price(record: &Record) -> Option<Finding> {
    let read = |name: &str| cheapest(record, |read| read.name == name);
    let monotonic = read(MONOTONIC)?;
    let counter = read("rdtscp").or_else(|| read("rdtsc"));
    let call = cheapest(record, |read| read.name.contains("system call"));
    let source = record.machine.environment.clock_sources.current.as_deref();
    let falls_to_call = call.is_some_and(|call| monotonic.ns > SYSTEM_CALL_SHARE * call.ns);
    let slow = counter.is_some_and(|counter| monotonic.ns > SLOW_RATIO * counter.ns);
    let (severity, text) = if falls_to_call {
        let why = source.map_or_else(String::new, |source| format!(": the clock source is {source}"));
        (Severity::Warning, format!("clock_gettime costs as much as a system call{why}"))
    } else if slow {
        (Severity::Warning, "clock_gettime is slow: over five reads of the counter behind it".to_owned())
    } else if counter.is_none() && call.is_none() {
        return None;
    } else {
        (Severity::Good, format!("reading the clock is cheap: {}", line(monotonic)))
    };
    let mut verdict = finding(Area::Clocks, "clock-slow", severity, text)
        .showing(
            [Some(monotonic), counter, call]
                .into_iter()
                .flatten()
                .map(|read| format!("{} {}", read.name, line(read))),
        )
        .showing([format!("clock source: {}", source.unwrap_or("unknown"))]);
    if severity == Severity::Warning {
        verdict.mechanism = Some(mechanism(source));
        verdict.prediction = Some(
            "with the clock source tsc or a paravirtual page: below three reads of the counter".to_owned(),
        );
        verdict.remedy = Some(remedy(record, source));
    }
    Some(verdict)
}

fn cheapest(record: &Record, is_meant: impl Fn(&ClockRead) -> bool) -> Option<&ClockRead> {
    record
        .clocks
        .iter()
        .filter(|read| read.ns.is_finite() && read.ns > 0.0 && is_meant(read))
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
    if source == Some("tsc") {
        return "look for a tracer or a time namespace around the program; in a guest ask whether the host traps RDTSC".to_owned();
    }
    if available.iter().any(|name| name == "tsc") {
        return "as root, if the kernel has not marked it unstable: echo tsc > \
                /sys/devices/system/clocksource/clocksource0/current_clocksource"
            .to_owned();
    }
    "the kernel does not offer tsc: dmesg | grep -i -e tsc -e clocksource says why, if its log is complete"
        .to_owned()
}

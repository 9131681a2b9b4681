//! What disturbed the run.

use machine::CoreKind;
use record::{Area, Finding, Guards, Record, Severity};

use super::{Details, finding};

/// Other processes above this share of all CPU time compete for caches and memory.
const OTHERS_HIGH: f64 = 0.1;

/// Ratio of the fastest to the slowest CPU in the control probe up to which their clocks agree.
const CLOCKS_AGREE: f64 = 1.02;

/// Ratio of the fastest to the slowest CPU above which their times do not compare.
const CLOCKS_DIFFER: f64 = 1.05;

/// Hertz in a gigahertz.
const GIGA: f64 = 1.0e9;

pub(super) fn judge(record: &Record, found: &mut Vec<Finding>) {
    steal(record, found);
    busy_machine(record, found);
    frequency(record, found);
    throttled(record, found);
}

fn steal(record: &Record, found: &mut Vec<Finding>) {
    let Some(share) =
        record.guards.steal_share.filter(|share| share.is_finite() && *share >= Guards::STEAL_DOUBTFUL)
    else {
        return;
    };
    let percent = format!("{:.2} % of", 100.0 * share);
    let text = format!("the numbers are doubtful: {percent} CPU time went to others");
    found.push(
        finding(Area::Noise, "steal-high", Severity::Warning, text)
            .showing([format!("steal {percent} all CPU time (/proc/stat)")])
            .caused_by("the hypervisor ran other guests on these CPUs while we measured")
            .fixed_by("run again at a quieter time, or ask for dedicated CPUs"),
    );
}

fn busy_machine(record: &Record, found: &mut Vec<Finding>) {
    let guards = &record.guards;
    let dropped =
        if guards.windows > 0 { guards.windows_dropped as f64 / guards.windows as f64 } else { 0.0 };
    let others = guards.others_share.filter(|share| share.is_finite()).unwrap_or(0.0);
    if dropped <= Guards::DROPPED_DOUBTFUL && others <= OTHERS_HIGH {
        return;
    }
    let severity = if dropped > Guards::DROPPED_DOUBTFUL { Severity::Warning } else { Severity::Notice };
    let text = "other programs were busy while we measured".to_owned();
    found.push(
        finding(Area::Noise, "busy-machine", severity, text)
            .showing([
                format!("other processes used {:.0} % of all CPU time", 100.0 * others),
                format!(
                    "{} of {} windows set aside ({:.1} %)",
                    guards.windows_dropped,
                    guards.windows,
                    100.0 * dropped
                ),
            ])
            .caused_by("pre-empted windows are dropped; shared caches and memory channels are not seen and stay in the numbers")
            .fixed_by("stop them, or narrow the run: sidestep run --cpus LIST"),
    );
}

fn frequency(record: &Record, found: &mut Vec<Finding>) {
    let Some([slowest, fastest]) = record.core_clocks().map(|range| range.map(|hertz| hertz.0)) else {
        return;
    };
    let ratio = fastest / slowest;
    // The control probe compares CPUs, not moments; where several kinds of core are mixed, a range is the design.
    let kinds: std::collections::BTreeSet<CoreKind> =
        record.machine.topology.cpus.iter().map(|cpu| cpu.core_kind).collect();
    if kinds.len() > 1 {
        return;
    }
    if !(slowest > 0.0 && ratio.is_finite() && ratio >= 1.0) {
        return;
    }
    // One CPU agrees with itself; its clock stands in the line of guards.
    let timed = record.cores.control.iter().filter(|control| control.core_hz.is_some()).count();
    if timed == 1 || record.machine.topology.cpus.len() == 1 {
        return;
    }
    let range = format!("{:.2} to {:.2} GHz", slowest / GIGA, fastest / GIGA);
    let (severity, text) = if ratio > CLOCKS_DIFFER {
        (Severity::Warning, format!("the core clock differs between CPUs: {range}"))
    } else if ratio > CLOCKS_AGREE {
        (Severity::Notice, format!("the core clock differs a little between CPUs: {range}"))
    } else {
        (Severity::Good, format!("the core clock agrees between CPUs: {:.2} GHz", fastest / GIGA))
    };
    let mut verdict = finding(Area::Cores, "frequency-unstable", severity, text)
        .showing([format!(
            "control probe, slowest and fastest: {range}, {:.1} % apart",
            100.0 * (ratio - 1.0)
        )])
        .showing(record.cores.control.iter().filter_map(|control| {
            let hertz = control.core_hz?.0;
            Some(format!("CPU {}: {:.3} GHz by the control loop", control.cpu, hertz / GIGA))
        }));
    let policies: Vec<String> = record.machine.environment.frequency_policies.keys().cloned().collect();
    if severity != Severity::Good {
        verdict.mechanism = Some(if policies.is_empty() {
            "turbo, power limits or the host's governor, none of which shows here (inference)".to_owned()
        } else {
            format!("frequency policy {}; turbo or power limits (inference)", policies.join(", "))
        });
        verdict.remedy = Some(
            "compare cycles, not ns; as root on bare metal: cpupower frequency-set -g performance".to_owned(),
        );
    }
    found.push(verdict);
}

fn throttled(record: &Record, found: &mut Vec<Finding>) {
    let Some(events) = record.guards.throttle_events.filter(|events| *events > 0) else { return };
    let text = "the CPU throttled itself because of heat while we measured".to_owned();
    found.push(
        finding(Area::Noise, "thermal-throttle", Severity::Warning, text)
            .showing([format!("{events} throttle events during the run")])
            .fixed_by("look after the cooling, then run again"),
    );
}

//! What disturbed the run, and whether its numbers can be believed.

use machine::CoreKind;
use record::{Area, Finding, Quality, Record, Severity};

use super::{Details, finding};
use crate::wording::count;

/// Stolen time above this share moves low quantiles, not only tails.
const STEAL_HIGH: f64 = 0.02;

/// Stolen time above this share is worth knowing.
const STEAL_SEEN: f64 = 0.002;

/// Two or three percent of dropped windows are normal on a shared guest; above this share the kept ones are suspect.
const DROPPED_HIGH: f64 = 0.2;

/// Other processes above this share of all CPU time compete for caches and memory.
const OTHERS_HIGH: f64 = 0.1;

/// Other processes above this share of all CPU time take a visible part of a shared cache.
const OTHERS_EVICT: f64 = 0.15;

/// Ratio of the fastest to the slowest CPU in the control probe up to which their clocks agree.
const CLOCKS_AGREE: f64 = 1.02;

/// Ratio of the fastest to the slowest CPU above which their times do not compare.
const CLOCKS_DIFFER: f64 = 1.05;

/// Share of cells that may stay wider than asked for.
const WIDE_SHARE: f64 = 0.1;

/// Share of cells without a single value above which the surface is not to be believed.
const UNSTABLE_SHARE: f64 = 0.2;

/// Hertz in a gigahertz.
const GIGA: f64 = 1.0e9;

pub(super) fn judge(record: &Record, found: &mut Vec<Finding>) {
    steal(record, found);
    busy_machine(record, found);
    frequency(record, found);
    throttled(record, found);
    unconverged(record, found);
    doubts(record, found);
    neighbours(record, found);
}

fn steal(record: &Record, found: &mut Vec<Finding>) {
    let Some(share) = record.guards.steal_share.filter(|share| share.is_finite()) else { return };
    let percent = format!("{:.2}", 100.0 * share);
    let shown = format!("{percent} % of CPU time went to others");
    let mut verdict = if share >= STEAL_HIGH {
        finding(Area::Noise, "steal-high", Severity::Warning, format!("the numbers are doubtful: {shown}"))
            .caused_by("the hypervisor ran other guests on these CPUs while we measured")
            .fixed_by("run again at a quieter time, or ask for dedicated CPUs")
    } else if share >= STEAL_SEEN {
        finding(
            Area::Noise,
            "steal-high",
            Severity::Notice,
            format!("the hypervisor took a little time: {shown}"),
        )
    } else if record.machine.identity.hypervisor.is_some() {
        let took =
            if share > 0.0 { format!("next to no CPU time: {percent} %") } else { "no CPU time".to_owned() };
        finding(Area::Noise, "steal-high", Severity::Good, format!("the hypervisor took {took}"))
    } else {
        return;
    };
    verdict.evidence.push(format!("steal {percent} % of all CPU time (/proc/stat)"));
    found.push(verdict);
}

fn busy_machine(record: &Record, found: &mut Vec<Finding>) {
    let guards = &record.guards;
    let dropped =
        if guards.windows > 0 { guards.windows_dropped as f64 / guards.windows as f64 } else { 0.0 };
    let others = guards.others_share.filter(|share| share.is_finite()).unwrap_or(0.0);
    if dropped <= DROPPED_HIGH && others <= OTHERS_HIGH {
        return;
    }
    let severity = if dropped > DROPPED_HIGH { Severity::Warning } else { Severity::Notice };
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

fn unconverged(record: &Record, found: &mut Vec<Finding>) {
    let cells = &record.memory.latency;
    if cells.is_empty() {
        return;
    }
    let with = |quality: Quality| cells.iter().filter(|cell| cell.spread.quality == quality).count();
    let (wide, unstable) = (with(Quality::Wide), with(Quality::Unstable));
    let share = |number: usize| number as f64 / cells.len() as f64;
    let (severity, text) = if surface_is_doubtful(record) {
        let text = format!(
            "the latency surface is doubtful: {:.0} % of its cells have no single value; what rests on those is withheld",
            100.0 * share(unstable)
        );
        (Severity::Inconclusive, text)
    } else if share(wide + unstable) > WIDE_SHARE {
        (Severity::Notice, "part of the latency surface has intervals wider than aimed for".to_owned())
    } else {
        (Severity::Good, "the latency surface converged".to_owned())
    };
    let mut verdict = finding(Area::Noise, "unconverged-cells", severity, text).showing([format!(
        "of {}: {unstable} ({:.0} %) with several states, {wide} ({:.0} %) with an interval wider than aimed for",
        count(cells.len(), "cell"),
        100.0 * share(unstable),
        100.0 * share(wide)
    )]);
    if severity != Severity::Good {
        verdict.remedy = Some("sidestep run --only memory --budget 5m".to_owned());
    }
    found.push(verdict);
}

/// True if too many cells of the latency surface are in several states.
pub(crate) fn surface_is_doubtful(record: &Record) -> bool {
    let cells = &record.memory.latency;
    let unstable = cells.iter().filter(|cell| cell.spread.quality == Quality::Unstable).count();
    unstable as f64 > UNSTABLE_SHARE * cells.len() as f64
}

/// Other load that may have taken part of a shared cache, one line each; empty on a quiet machine.
pub(super) fn other_load(record: &Record) -> Vec<String> {
    let above = |share: Option<f64>, limit: f64| share.filter(|share| share.is_finite() && *share > limit);
    let others = above(record.guards.others_share, OTHERS_EVICT)
        .map(|share| format!("other processes used {:.0} % of all CPU time meanwhile", 100.0 * share));
    let steal = above(record.guards.steal_share, STEAL_SEEN)
        .map(|share| format!("the hypervisor gave {:.2} % of CPU time to other guests", 100.0 * share));
    others.into_iter().chain(steal).collect()
}

fn doubts(record: &Record, found: &mut Vec<Finding>) {
    if let Some(reason) = &record.partial {
        let text = "the run stopped early: what is missing was not measured".to_owned();
        found.push(finding(Area::Run, "partial-run", Severity::Inconclusive, text).showing([reason.clone()]));
    }
    if let [first, more @ ..] = record.guards.doubts.as_slice() {
        let more = if more.is_empty() { String::new() } else { format!(", and {} more", more.len()) };
        let text = format!("measurement conditions are doubtful: {first}{more}");
        let mut doubtful = finding(Area::Noise, "doubtful-conditions", Severity::Inconclusive, text);
        doubtful.evidence.clone_from(&record.guards.doubts);
        found.push(doubtful);
    }
}

/// What others took while the check-up ran.
fn neighbours(record: &Record, found: &mut Vec<Finding>) {
    let Some(neighbours) = &record.neighbours else { return };
    if let (Some(first), false) = (neighbours.shows.first(), neighbours.at_work.is_empty()) {
        found.push(
            finding(Area::Noise, "neighbours", Severity::Notice, first.clone())
                .showing(neighbours.shows.iter().skip(1).cloned())
                .fixed_by("each row's value by epoch is in the record; run again at a quieter time"),
        );
    }
}

#[cfg(test)]
mod tests {
    use record::Neighbours;

    use super::*;

    #[test]
    fn others_at_work_are_a_notice_and_a_quiet_run_no_finding() {
        let judged = |neighbours: Option<Neighbours>| {
            let mut found = Vec::new();
            judge(&Record { neighbours, ..Record::default() }, &mut found);
            found.iter().map(|finding| (finding.id.clone(), finding.severity)).collect::<Vec<_>>()
        };
        let shows = vec!["neighbours were at work in epoch 2 of 3: steal 4.0 %".to_owned()];
        let quiet = Neighbours { shows: vec!["no sign of neighbours".to_owned()], ..Neighbours::default() };
        assert!(judged(None).is_empty() && judged(Some(quiet)).is_empty());
        let busy = Neighbours { shows, at_work: vec![2], ..Neighbours::default() };
        assert_eq!(judged(Some(busy)), [("neighbours".to_owned(), Severity::Notice)]);
    }
}

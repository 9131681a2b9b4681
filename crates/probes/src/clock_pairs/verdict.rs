//! The verdict on the counters of all pairs, and the reasons for it.
//!
//! | verdict | when |
//! |---|---|
//! | unsafe | a jump, or a rate that comes and goes |
//! | correctable | a constant offset or a constant rate, beyond all bounds |
//! | cannot tell | a pair that was compared too rarely or for too short a part of the time, and none of the above |
//! | safe | every pair was seen, and none moved |
//!
//! A kernel that changes its clock source or gives the counter up meanwhile makes it unsafe as well: it saw what we did not.
//! Loops that contradict themselves make it unsafe: some offset changed while it was measured.

use std::collections::{BTreeMap, BTreeSet};

use clock::{CounterSource, LoopClosure, SIGHTINGS_FOR_DRIFT, Strip, TickRate};
use machine::CpuId;
use record::{
    ClockCheck, ClockFault, ClockLoops, ClockPair, ClockRegime, ClockVerdict, KernelClocks, RegimeDrift,
    RegimeVerdict, VisibleDrift,
};

use super::classify::{moves, pooled_rate};
use super::pair_watch::PairWatch;
use super::{Seen, Stress};

/// Triples looked at; with more CPUs, those with the first one.
const TRIPLES_MAX: usize = 20_000;

/// Puts into a document what was seen of all pairs: rows, loops, verdict, reasons, and what would have stayed unseen.
pub fn fill(check: &mut ClockCheck, seen: &Seen, counter_hz: f64) {
    let ns = 1e9 / counter_hz;
    check.counter_hz = Some(counter_hz);
    check.counter_step_ns = Some(seen.resolution_ticks as f64 * ns);
    check.pairs = seen.pairs.iter().map(|pair| pair.row(counter_hz)).collect();
    check.regimes = regimes(&seen.pairs, &seen.stresses);
    check.loops = loops(&seen.pairs, ns);
    let usable: Vec<&PairWatch> =
        seen.pairs.iter().filter(|pair| is_seen(pair, seen.watched_s, counter_hz)).collect();
    check.blind_below_ns =
        usable.iter().filter_map(|pair| pair.blind_below_ticks()).map(|ticks| ticks * ns).reduce(f64::max);
    let drifts = usable.iter().filter_map(|pair| pair.visible_drift(counter_hz));
    check.would_have_seen = drifts.reduce(|a: VisibleDrift, b| if b.ppb > a.ppb { b } else { a });
    for (cpu, reason) in &seen.lost {
        check.without.push(format!("CPU {cpu}: {reason}"));
    }
    check
        .without
        .extend(seen.not_held.iter().map(|reason| format!("P-states were not varied further: {reason}")));
    (check.verdict, check.because) = judge(check, usable.len());
}

/// Part of the time that the exchanges of a pair span at least: what came before the first or after the last was not seen.
const SPAN_SHARE_MIN: f64 = 0.5;

/// Whether a pair was compared often enough, and over enough of the time, for a drift or a jump to show.
fn is_seen(pair: &PairWatch, watched_s: f64, counter_hz: f64) -> bool {
    pair.whole.sightings.len() >= SIGHTINGS_FOR_DRIFT
        && pair.whole.span_ticks() / counter_hz >= SPAN_SHARE_MIN * watched_s
}

/// Puts into a document what firmware states of the counter's rate, where it does, and how well that can be judged.
pub fn heed_firmware(check: &mut ClockCheck, source: &impl CounterSource, rate: TickRate) {
    check.counter_stated_hz = source.stated_hz();
    check.counter_error_ppm = check.counter_stated_hz.map(|_| rate.error_ppm);
}

/// Puts into a document what the kernel says of its clocks at the end of the check, beside what it said at the beginning.
pub fn heed_kernel(check: &mut ClockCheck, now: KernelClocks) {
    let before = std::mem::replace(&mut check.kernel, now);
    let now = &mut check.kernel;
    let named = |source: &Option<String>| source.clone().unwrap_or_else(|| "unknown".to_owned());
    let mut reasons = Vec::new();
    if before.clocksource.is_some() && before.clocksource != now.clocksource {
        let (from, to) = (named(&before.clocksource), named(&now.clocksource));
        reasons.push(format!("the kernel changed its clock source from {from} to {to} during the check"));
    }
    if now.condemned && !before.condemned {
        reasons.push("the kernel gave the counter up during the check".to_owned());
    }
    // The log keeps only so much.
    now.condemned |= before.condemned;
    if !reasons.is_empty() {
        check.verdict = ClockVerdict::Unsafe;
        check.because.splice(0..0, reasons);
    }
}

/// The verdict of a document whose rows are filled.
fn judge(check: &ClockCheck, usable: usize) -> (ClockVerdict, Vec<String>) {
    let mut because = Vec::new();
    let mut verdict = ClockVerdict::Safe;
    let mut faults: BTreeMap<&str, Vec<&ClockPair>> = BTreeMap::new();
    for pair in &check.pairs {
        let Some(fault) = pair.fault else { continue };
        let steady = matches!(fault, ClockFault::Offset | ClockFault::Slope);
        if !steady {
            verdict = ClockVerdict::Unsafe;
        } else if verdict == ClockVerdict::Safe {
            verdict = ClockVerdict::Correctable;
        }
        faults.entry(words(fault)).or_default().push(pair);
    }
    for (fault, pairs) in faults {
        let names: Vec<String> = pairs.iter().map(|pair| format!("{}-{}", pair.a, pair.b)).collect();
        because.push(format!("{fault}: CPUs {}", listed(&names)));
        because
            .extend(pairs.into_iter().max_by(|a, b| apart_ns(a).total_cmp(&apart_ns(b))).and_then(evidence));
    }
    if let Some(loops) = check.loops.as_ref().filter(|loops| loops.broken > 0) {
        verdict = ClockVerdict::Unsafe;
        because.push(format!(
            "{} of {} ways round three CPUs do not close: an offset changed while it was measured",
            loops.broken, loops.count
        ));
    }
    let unseen = check.pairs.len() - usable;
    if unseen > 0 {
        because.push(format!(
            "{unseen} of {} pairs {}; free the CPUs, or give more time with --budget",
            check.pairs.len(),
            how_unseen(check, unseen)
        ));
        if verdict == ClockVerdict::Safe {
            verdict = ClockVerdict::CannotTell;
        }
    }
    if check.pairs.is_empty() {
        verdict = ClockVerdict::CannotTell;
    }
    if verdict == ClockVerdict::Safe {
        because.push(match check.pairs.len() {
            1 => "the two counters agree within the detection limits".to_owned(),
            pairs => format!("the counters of all {pairs} pairs agree within the detection limits"),
        });
    }
    (verdict, because)
}

/// How so many pairs were seen too little.
fn how_unseen(check: &ClockCheck, unseen: usize) -> String {
    let never = check.pairs.iter().filter(|pair| pair.usable == 0).count();
    if never == unseen {
        return "never ran at the same time for long enough".to_owned();
    }
    let (usable, exchanges) =
        check.pairs.iter().map(|pair| (pair.usable, pair.exchanges)).min().unwrap_or_default();
    format!(
        "were compared too rarely, or in less than half of the time: {usable} of {exchanges} exchanges were usable, \
         and fewer than {SIGHTINGS_FOR_DRIFT} show no drift"
    )
}

/// By how much the bounds of a pair contradict each other.
fn apart_ns(pair: &ClockPair) -> f64 {
    pair.contradiction.map_or(0.0, |found| found.at_least_ns - found.at_most_ns)
}

/// The numbers on which the verdict on a pair stands.
fn evidence(pair: &ClockPair) -> Option<String> {
    let mut parts = Vec::new();
    if let Some(step) = &pair.step {
        let [before_s, after_s] = step.between_s;
        parts.push(format!("a jump of {:+.1} ns between {before_s:.3} and {after_s:.3} s", step.ns));
    }
    if let Some(found) = &pair.contradiction {
        // A bound of the first exchange may hold for a moment before its middle, from which seconds are counted.
        let [at_least_s, at_most_s] = [found.at_least_s, found.at_most_s].map(|at_s| at_s.max(0.0));
        parts.push(format!(
            "at least {:+.1} ns at {at_least_s:.3} s, and at most {:+.1} ns at {at_most_s:.3} s, by causality alone",
            found.at_least_ns, found.at_most_ns
        ));
    } else if let (Some(ClockFault::Offset), Some([low, high])) = (pair.fault, pair.interval_ns) {
        parts.push(format!("at least {low:+.1} and at most {high:+.1} ns, by causality alone"));
    }
    if let (Some(ClockFault::Slope), Some(rate), Some(error)) =
        (pair.fault, pair.rate_ppb, pair.rate_error_ppb)
    {
        parts.push(format!("{rate:+.2} ppb, give or take {error:.2}, over {:.1} s", pair.watched_s));
    }
    (!parts.is_empty()).then(|| format!("counter {} less counter {}: {}", pair.b, pair.a, parts.join("; ")))
}

fn words(fault: ClockFault) -> &'static str {
    match fault {
        ClockFault::Offset => "the counters differ by a constant offset",
        ClockFault::Slope => "the counters drift apart at a constant rate",
        ClockFault::Step => "the counters jumped",
        ClockFault::SlopeAtOneFrequency => "the counters drift apart in some P-states only",
        ClockFault::SlopeAfterIdle => "the counters drift apart while CPUs sleep",
        ClockFault::RateChanges => "the counters drift apart at a rate that changes",
        ClockFault::Moved => "the counters moved, by a jump or by drift",
    }
}

/// The first few names, and how many more.
fn listed(names: &[String]) -> String {
    const SHOWN: usize = 4;
    let shown = names.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Goes round triples of CPUs; `None` with fewer than three, or without three offsets.
fn loops(pairs: &[PairWatch], ns: f64) -> Option<ClockLoops> {
    let known: BTreeMap<(CpuId, CpuId), _> = pairs
        .iter()
        // Of a pair that drifts, no two measurements are of one offset.
        .filter(|pair| pair.seen_after_ticks.is_none())
        .filter_map(|pair| Some(((pair.pair.a, pair.pair.b), pair.known_offset()?)))
        .collect();
    let mut loops: Option<ClockLoops> = None;
    let mut count = 0;
    for (&(a, b), &a_to_b) in &known {
        for (&(_, c), &b_to_c) in known.range((b, CpuId(0))..=(b, CpuId(u32::MAX))) {
            let Some(&a_to_c) = known.get(&(a, c)) else { continue };
            if count == TRIPLES_MAX {
                break;
            }
            count += 1;
            let closure = LoopClosure::of(a_to_b, b_to_c, a_to_c.reversed());
            let found =
                loops.get_or_insert(ClockLoops { count: 0, broken: 0, worst: [a, b, c], worst_ns: 0.0 });
            found.count += 1;
            found.broken += usize::from(!closure.holds());
            if (closure.estimate_ticks * ns).abs() > found.worst_ns.abs() {
                (found.worst, found.worst_ns) = ([a, b, c], closure.estimate_ticks * ns);
            }
        }
    }
    loops
}

/// One row for each stress; none where nothing was varied.
pub(super) fn regimes(pairs: &[PairWatch], stresses: &BTreeSet<Stress>) -> Vec<ClockRegime> {
    if stresses.iter().all(|&stress| stress == Stress::AsIs) {
        return Vec::new();
    }
    stresses.iter().map(|&stress| regime(pairs, stress)).collect()
}

fn regime(pairs: &[PairWatch], stress: Stress) -> ClockRegime {
    let (mut moving, mut seen, mut usable) = (0, 0, 0);
    for pair in pairs {
        let strips =
            || pair.by_place.iter().filter(|(place, _)| place.stress == stress).map(|(_, strip)| strip);
        let is_moving = strips().any(moves);
        let is_seen = |strip: &Strip| strip.sightings.len() >= SIGHTINGS_FOR_DRIFT;
        moving += usize::from(is_moving);
        seen += usize::from(is_moving || strips().any(is_seen));
        usable += strips().map(|strip| strip.sightings.len()).sum::<usize>();
    }
    let verdict = match (moving, seen) {
        (0, seen) if seen < pairs.len() || pairs.is_empty() => RegimeVerdict::CannotTell,
        (0, _) => RegimeVerdict::Steady,
        _ => RegimeVerdict::Moving,
    };
    ClockRegime {
        stress: stress.name().to_owned(),
        verdict,
        moving,
        seen,
        usable,
        drift: drift(pairs, stress),
    }
}

/// The pair whose drift is the most errors away from zero.
fn drift(pairs: &[PairWatch], stress: Stress) -> Option<RegimeDrift> {
    let drifts = pairs.iter().filter_map(|pair| {
        let rate = pooled_rate(&pair.by_place, stress)?;
        let (a, b) = (pair.pair.a, pair.pair.b);
        Some(RegimeDrift { a, b, rate_ppb: rate.rate * 1e9, error_ppb: rate.error * 1e9 })
    });
    drifts.max_by(|a, b| (a.rate_ppb / a.error_ppb).abs().total_cmp(&(b.rate_ppb / b.error_ppb).abs()))
}

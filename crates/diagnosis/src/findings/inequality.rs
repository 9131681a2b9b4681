//! Do all CPUs stream alike?

use std::collections::BTreeMap;

use machine::CpuId;
use record::{Finding, Record, Scope, Severity, StreamResult};

use super::finding;
use crate::column::sane;
use crate::wording::{count, rate};

/// Differences below this share are of no practical matter.
const MARGIN: f64 = 0.03;

/// Chance of even one false alarm that is accepted over all CPUs, after correction.
const FALSE_DISCOVERY: f64 = 0.05;

/// Half-width of a 95 % interval in standard errors.
const STANDARD_ERRORS: f64 = 1.96;

/// CPUs named one by one in the evidence.
const MOST_NAMED: usize = 12;

pub(super) fn judge(record: &Record, found: &mut Vec<Finding>) {
    let mut families = BTreeMap::<(&str, &str, &str), Vec<&StreamResult>>::new();
    for result in &record.memory.stream {
        let usable = result.bytes_per_s.is_finite() && result.bytes_per_s > 0.0 && result.cpu.is_some();
        if result.scope == Scope::Cpu && usable {
            families.entry((&result.kernel, &result.store, &result.isa)).or_default().push(result);
        }
    }
    // Triad is what STREAM is quoted by; plain stores before non-temporal ones.
    let rank = |key: &(&str, &str, &str)| (key.0 != "triad", key.1 != "plain");
    let Some((key, results)) = families
        .iter()
        .filter(|(_, results)| results.len() > 1)
        .min_by_key(|(key, results)| (rank(key), std::cmp::Reverse(results.len())))
    else {
        return;
    };
    found.push(verdict(record, key.0, results));
}

fn verdict(record: &Record, kernel: &str, results: &[&StreamResult]) -> Finding {
    let rates: Vec<f64> = results.iter().map(|result| result.bytes_per_s).collect();
    let middle = stats::median(&rates).unwrap_or(f64::NAN);
    let error = |result: &StreamResult| {
        let interval = sane(result.spread.interval, result.bytes_per_s);
        (interval.half_width() / STANDARD_ERRORS).max(middle * f64::EPSILON)
    };
    let errors: Vec<f64> = results.iter().map(|result| error(result)).collect();
    let typical = stats::median(&errors).unwrap_or(0.0);
    let p_values: Vec<f64> = results
        .iter()
        .zip(&errors)
        .map(|(result, own)| {
            // The median is uncertain, too: by about one typical error over the root of the count.
            let error = own.hypot(1.25 * typical / (results.len() as f64).sqrt());
            2.0 * stats::normal_cdf(-(result.bytes_per_s - middle).abs() / error)
        })
        .collect();
    let q_values = stats::benjamini_hochberg(&p_values);
    let differs = |index: usize| {
        q_values[index] < FALSE_DISCOVERY && (results[index].bytes_per_s / middle - 1.0).abs() > MARGIN
    };
    let unequal: Vec<usize> = (0..results.len()).filter(|index| differs(*index)).collect();
    let resolvable = STANDARD_ERRORS * typical / middle;
    let spread =
        rates.iter().copied().fold(0.0, f64::max) / rates.iter().copied().fold(f64::MAX, f64::min) - 1.0;
    let mut finding = if !unequal.is_empty() {
        unequal_cpus(record, kernel, results, &unequal, middle)
    } else if resolvable > MARGIN || spread > 2.0 * MARGIN {
        let text = format!(
            "too noisy to say whether CPUs stream alike: they differ by {:.0} %, the intervals reach +-{:.0} %",
            100.0 * spread,
            100.0 * resolvable
        );
        let mut unknown = finding("cpus-unequal", Severity::Inconclusive, text);
        unknown.remedy = Some("sidestep run --only memory --budget 5m, on a quiet machine".to_owned());
        unknown
    } else {
        let text =
            format!("{} stream alike ({kernel} within {:.1} %)", count(results.len(), "CPU"), 100.0 * spread);
        finding("cpus-unequal", Severity::Good, text)
    };
    if finding.evidence.is_empty() {
        finding.evidence = results.iter().take(MOST_NAMED).map(|result| line(result)).collect();
    }
    finding
}

fn line(result: &StreamResult) -> String {
    let interval = sane(result.spread.interval, result.bytes_per_s);
    format!("CPU {}: {}", result.cpu.unwrap_or_default(), rate(result.bytes_per_s, interval))
}

fn unequal_cpus(
    record: &Record,
    kernel: &str,
    results: &[&StreamResult],
    unequal: &[usize],
    middle: f64,
) -> Finding {
    let worst = unequal
        .iter()
        .max_by(|a, b| {
            let off = |index: usize| (results[index].bytes_per_s / middle - 1.0).abs();
            off(**a).total_cmp(&off(**b))
        })
        .map_or(0, |index| *index);
    let off = results[worst].bytes_per_s / middle - 1.0;
    let text = format!(
        "CPUs are unequal: {} of {} differ from the median in STREAM {kernel}, CPU {} by {:+.0} %",
        unequal.len(),
        results.len(),
        results[worst].cpu.unwrap_or_default(),
        100.0 * off
    );
    let mut different = finding("cpus-unequal", Severity::Warning, text);
    different.evidence = unequal.iter().take(MOST_NAMED).map(|index| line(results[*index])).collect();
    let plain = stats::median(&results.iter().map(|result| result.bytes_per_s).collect::<Vec<_>>());
    different.evidence.push(format!("median of all: {:.1} GB/s", plain.unwrap_or(f64::NAN) / 1.0e9));
    let cpus: Vec<CpuId> = unequal.iter().filter_map(|index| results[*index].cpu).collect();
    different.mechanism = Some(where_they_sit(record, &cpus));
    different.prediction = Some("equal CPUs stream alike within their intervals".to_owned());
    different.remedy = Some(
        "sidestep run --only memory,cores --full; pin bandwidth-bound threads to the faster CPUs".to_owned(),
    );
    different
}

/// What the unequal CPUs have in common and the others do not.
fn where_they_sit(record: &Record, cpus: &[CpuId]) -> String {
    let topology = &record.machine.topology;
    let known: Vec<_> = cpus.iter().filter_map(|id| topology.cpu(*id)).collect();
    let Some(first) = known.first() else { return "unknown: the topology does not list them".to_owned() };
    let only = |same: &dyn Fn(&machine::Cpu) -> bool| {
        known.iter().all(|cpu| same(cpu)) && topology.cpus.iter().any(|cpu| !same(cpu))
    };
    if only(&|cpu| cpu.core_kind == first.core_kind) {
        return format!("all of them are of the kind {:?}", first.core_kind).to_lowercase();
    }
    if topology.packages().len() > 1 && only(&|cpu| cpu.package == first.package) {
        return format!(
            "all of them sit in package {}: its memory channels or its links (inference)",
            first.package
        );
    }
    if first.node.is_some() && only(&|cpu| cpu.node == first.node) {
        return "all of them sit on one NUMA node: its memory channels or its links (inference)".to_owned();
    }
    if record.machine.identity.hypervisor.is_some() {
        return "no common place; in a guest, what the host runs beside each vCPU (inference)".to_owned();
    }
    "no common place in the topology; a busy sibling, a clock limit or other tasks (inference)".to_owned()
}

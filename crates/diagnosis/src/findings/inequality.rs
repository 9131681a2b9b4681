//! Do all CPUs stream alike?
//!
//! A claim takes a difference beyond the margin, beyond what one CPU differs from itself where that was measured, and beyond what
//! equal CPUs differ by from run to run; few false alarms over all CPUs; typical CPUs of both groups that have a single value, and
//! intervals that do not overlap: what the page's figure lets a reader tell apart. Intervals are of one run, and of two CPUs alone
//! the test of equality is the weaker of the two.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use machine::CpuSet;
use record::{Area, Finding, Quality, Record, Scope, Severity, StreamResult};
use stats::Order;
use stats::STANDARD_ERRORS_OF_95;

use super::{Details, finding};
use crate::surface::sane;
use crate::wording::{count, rate};

/// Differences below this share are of no practical matter.
const MARGIN: f64 = 0.03;

/// Chance of even one false alarm that is accepted over all CPUs, after correction.
const FALSE_DISCOVERY: f64 = 0.05;

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
    let mut ascending: Vec<&StreamResult> = results.to_vec();
    ascending.order_by(|a, b| a.bytes_per_s.total_cmp(&b.bytes_per_s));
    let rates: Vec<f64> = ascending.iter().map(|result| result.bytes_per_s).collect();
    let spread = ascending[ascending.len() - 1].bytes_per_s / ascending[0].bytes_per_s - 1.0;
    let equality = Equality::of(&ascending, &rates);
    let groups = Groups::at_largest_gap(&ascending);
    let with_itself = differs_from_itself(record, kernel);
    let between_runs = stats::BEYOND_RUNS
        * stats::equal_rates(stats::Host::of(record.machine.identity.hypervisor.is_some()));
    let beyond = MARGIN.max(between_runs).max(with_itself.unwrap_or(0.0));
    if equality.smallest_q < FALSE_DISCOVERY && groups.difference().abs() > beyond && groups.are_apart() {
        return unequal_cpus(record, kernel, &groups);
    }
    let mut verdict = if equality.resolvable > MARGIN || spread > 2.0 * MARGIN {
        let mut text = format!(
            "CPU bandwidth: undetermined: CPUs differ by {:.0} % ({kernel}), the widest interval reaches ±{:.0} %",
            100.0 * spread,
            100.0 * ascending.iter().map(|result| reach(result)).fold(0.0, f64::max)
        );
        if results.iter().any(|result| result.spread.quality == Quality::Unstable) {
            text += ", and not every CPU has a single value";
        }
        if let Some(with_itself) = with_itself {
            let _ = write!(text, ", the same CPU differs from itself by up to {:.0} %", 100.0 * with_itself);
        }
        if between_runs > MARGIN {
            let _ = write!(text, ", equal ones of a guest by up to {:.0} % in one run", 100.0 * between_runs);
        }
        finding(Area::Cores, "cpus-unequal", Severity::Inconclusive, text)
            .fixed_by("sidestep run --only memory --budget 5m, on a quiet machine")
    } else {
        let cpus = count(results.len(), "CPU");
        let text = format!("{cpus} stream alike ({kernel} within {:.1} %)", 100.0 * spread);
        finding(Area::Cores, "cpus-unequal", Severity::Good, text)
    };
    verdict.evidence = results.iter().take(MOST_NAMED).map(|result| line(result)).collect();
    verdict
}

/// By which share a CPU was seen to differ from itself in the same run, where the sockets were measured with this kernel.
fn differs_from_itself(record: &Record, kernel: &str) -> Option<f64> {
    let sockets = record.sockets.as_ref()?;
    let of_kernel = sockets.equality.iter().find(|of| of.quantity == kernel)?;
    (of_kernel.aa_half_width.is_finite() && of_kernel.aa_half_width > 0.0).then_some(of_kernel.aa_half_width)
}

/// What the intervals say about equality.
struct Equality {
    /// Smallest p of "this CPU is like the median", corrected for the number of CPUs.
    smallest_q: f64,
    /// Half-width of a typical interval, relative: smaller differences cannot be seen.
    resolvable: f64,
}

impl Equality {
    fn of(results: &[&StreamResult], rates: &[f64]) -> Self {
        let middle = stats::median(rates).unwrap_or(f64::NAN);
        let errors: Vec<f64> = results
            .iter()
            .map(|result| {
                let interval = sane(result.spread.interval, result.bytes_per_s);
                (interval.half_width() / STANDARD_ERRORS_OF_95).max(middle * f64::EPSILON)
            })
            .collect();
        let typical = stats::median(&errors).unwrap_or(f64::NAN);
        let number = results.len() as f64;
        // The median of many scatters by sqrt(pi / 2) more than their mean; of two it is the mean. It holds the CPU's
        // own rate, so their errors partly cancel.
        let efficiency = if results.len() > 2 { std::f64::consts::FRAC_PI_2 } else { 1.0 };
        let p_values: Vec<f64> = rates
            .iter()
            .zip(&errors)
            .map(|(rate, own)| {
                let error =
                    (own * own * (1.0 - 2.0 / number) + efficiency * typical * typical / number).sqrt();
                2.0 * stats::normal_cdf(-(rate - middle).abs() / error)
            })
            .collect();
        let smallest_q = stats::benjamini_hochberg(&p_values).into_iter().fold(1.0, f64::min);
        Self { smallest_q, resolvable: STANDARD_ERRORS_OF_95 * typical / middle }
    }
}

/// CPUs that are not alike, split where neighbouring rates are farthest apart.
struct Groups<'a> {
    slow: &'a [&'a StreamResult],
    fast: &'a [&'a StreamResult],
}

impl<'a> Groups<'a> {
    fn at_largest_gap(ascending: &'a [&'a StreamResult]) -> Self {
        let gap = |place: &usize| ascending[*place].bytes_per_s / ascending[place - 1].bytes_per_s;
        let place = (1..ascending.len()).max_by(|a, b| gap(a).total_cmp(&gap(b))).unwrap_or(1);
        let (slow, fast) = ascending.split_at(place);
        Self { slow, fast }
    }

    /// The smaller group and the rest: the smaller one is the exception to be named; of equals the slower.
    fn exception(&self) -> (&'a [&'a StreamResult], &'a [&'a StreamResult]) {
        if self.fast.len() < self.slow.len() { (self.fast, self.slow) } else { (self.slow, self.fast) }
    }

    /// By which share the exception is faster than the rest; negative if slower.
    fn difference(&self) -> f64 {
        let (exception, rest) = self.exception();
        middle(exception) / middle(rest) - 1.0
    }

    /// Whether the typical CPUs of both groups have a single value each, and their intervals leave a gap.
    fn are_apart(&self) -> bool {
        let [slow, fast] = [self.slow, self.fast].map(|group| &group[group.len() / 2]);
        let end = |of: &StreamResult| sane(of.spread.interval, of.bytes_per_s);
        let is_one = |of: &StreamResult| of.spread.quality != Quality::Unstable;
        is_one(slow) && is_one(fast) && end(slow).high < end(fast).low
    }
}

fn middle(results: &[&StreamResult]) -> f64 {
    let rates: Vec<f64> = results.iter().map(|result| result.bytes_per_s).collect();
    stats::median(&rates).unwrap_or(f64::NAN)
}

/// How far the interval of one CPU reaches from its rate, as a share: as tables show it.
fn reach(result: &StreamResult) -> f64 {
    let interval = sane(result.spread.interval, result.bytes_per_s);
    (interval.high - result.bytes_per_s).max(result.bytes_per_s - interval.low) / result.bytes_per_s
}

fn line(result: &StreamResult) -> String {
    let interval = sane(result.spread.interval, result.bytes_per_s);
    format!("CPU {}: {}", result.cpu.unwrap_or_default(), rate(result.bytes_per_s, interval))
}

fn unequal_cpus(record: &Record, kernel: &str, groups: &Groups<'_>) -> Finding {
    let (exception, rest) = groups.exception();
    let cpus: CpuSet = exception.iter().filter_map(|result| result.cpu).collect();
    let difference = groups.difference();
    let (verb, direction) = (
        if cpus.len() == 1 { format!("CPU {cpus} streams") } else { format!("CPUs {cpus} stream") },
        if difference < 0.0 { "slower" } else { "faster" },
    );
    let text = format!(
        "CPUs are unequal: {verb} {:.0} % {direction} than the other {} ({kernel})",
        100.0 * difference.abs(),
        if rest.len() == 1 { "CPU".to_owned() } else { rest.len().to_string() }
    );
    finding(Area::Cores, "cpus-unequal", Severity::Warning, text)
        .showing(exception.iter().take(MOST_NAMED).map(|result| line(result)))
        .showing(rest.iter().take(MOST_NAMED).map(|result| line(result)))
        .caused_by(where_they_sit(record, &cpus))
        .expecting("equal CPUs stream alike within their intervals")
        .fixed_by("pin bandwidth-bound threads to the faster CPUs; sidestep run --only memory,cores --full measures longer")
}

/// What the unequal CPUs have in common and the others do not.
fn where_they_sit(record: &Record, cpus: &CpuSet) -> String {
    let topology = &record.machine.topology;
    let known: Vec<_> = cpus.iter().filter_map(|id| topology.cpu(id)).collect();
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

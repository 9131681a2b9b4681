//! What rows and findings of other probes answer: noise, bandwidth, siblings, waking, clocks.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use machine::CpuSet;
use record::{AnswerVerdict, Finding, Record, Scope, Severity};
use stats::Interval;
use stats::text::{listed, percent};

use super::{Outcome, is_noisy, nothing_measured, sampled, samples, taken};
use crate::surface::sane;
use crate::wording::{GIGA, count, measured, rate};

/// Less of a core than this is part of it: one window in ten beside somebody else.
const MOST_OF_A_CORE: f64 = 0.9;
/// Of two runs both vary.
const TWO_RUNS: f64 = std::f64::consts::SQRT_2;

/// How much of the machine this run had, and what it can see.
pub(super) fn noise(record: &Record) -> Outcome {
    let times: Vec<String> = taken(record)
        .into_iter()
        .filter_map(|(what, share, _)| Some(format!("{what} {}", percent(share?))))
        .collect();
    let smallest = smallest_change(record);
    let visible: Vec<String> = smallest
        .iter()
        .map(|(what, change)| format!("{:.0} % ({what})", (100.0 * change).max(1.0)))
        .collect();
    let visible =
        (!visible.is_empty()).then(|| format!("changes from {} on are visible", listed(&visible, "and")));
    let shared = core_share(record);
    let is_shared = shared.is_some();
    let said: Vec<String> =
        shared.into_iter().chain(visible).chain((!times.is_empty()).then(|| times.join(", "))).collect();
    if said.is_empty() {
        return nothing_measured(record);
    }
    let number = smallest.iter().map(|(_, change)| *change).fold(0.0, f64::max);
    let outcome = Outcome::ok(said.join("; ")).of(number, Interval { low: number, high: number }, "ratio");
    if is_shared || is_noisy(record) { Outcome { verdict: AnswerVerdict::Noisy, ..outcome } } else { outcome }
}

/// How much of its core the worst CPU had, where that was part of it.
fn core_share(record: &Record) -> Option<String> {
    let levels = ["l1", "l2", "memory"].into_iter().flat_map(|question| samples(record, question));
    let windows: Vec<(machine::CpuId, f64)> = levels.map(|sample| (sample.cpu, sample.alone_share)).collect();
    let alone = stats::mean(&windows.iter().map(|(_, share)| *share).collect::<Vec<f64>>());
    let of_windows = windows.first().filter(|_| alone < MOST_OF_A_CORE);
    let of_windows = of_windows
        .map(|(cpu, _)| format!("CPU {cpu} had its core to itself in {} of windows", percent(alone)));
    let controls = record.cores.control.iter().filter(|one| one.core_share > 0.0);
    let worst = controls.min_by(|a, b| a.core_share.total_cmp(&b.core_share));
    let worst = worst.filter(|one| one.core_share < MOST_OF_A_CORE);
    of_windows
        .or_else(|| worst.map(|one| format!("CPU {} had {} of its core", one.cpu, percent(one.core_share))))
}

/// By what a run can see: core and memory, from the intervals of their levels.
fn smallest_change(record: &Record) -> Vec<(&'static str, f64)> {
    let of = |outcome: Outcome| {
        let (value, interval, _) = outcome.number?;
        (value > 0.0).then(|| TWO_RUNS * interval.half_width() / value)
    };
    [("core", of(sampled::cache(record, "l1", 1))), ("memory", of(sampled::memory(record)))]
        .into_iter()
        .filter_map(|(what, change)| Some((what, change?)))
        .collect()
}

/// The best rate of any kernel: of one CPU, and of all.
pub(super) fn bandwidth(record: &Record) -> Outcome {
    let best = |scope: Scope| {
        let of_scope = record.memory.stream.iter().filter(|result| result.scope == scope);
        of_scope
            .filter(|result| result.bytes_per_s.is_finite())
            .max_by(|a, b| a.bytes_per_s.total_cmp(&b.bytes_per_s))
    };
    let one = best(Scope::Cpu);
    let Some(all) = best(Scope::Machine).or(one) else { return of_blocks(record) };
    let interval = between_runs(sane(all.spread.interval, all.bytes_per_s), all.bytes_per_s, RATES_DIFFER);
    let cpus = all.cpus.len();
    let mut sentence = format!(
        "{} by {}, {} {}",
        rate(all.bytes_per_s, interval),
        count(cpus.max(1), "CPU"),
        all.kernel,
        all.store
    );
    if let Some(one) = one.filter(|_| cpus > 1) {
        let _ = write!(sentence, "; {:.1} by one", one.bytes_per_s / GIGA);
    }
    Outcome::ok(sentence).of(all.bytes_per_s, interval, "bytes_per_s")
}

/// The best rate of the largest block that was streamed, where STREAM itself had no time.
fn of_blocks(record: &Record) -> Outcome {
    let points = || record.memory.bandwidth.iter().filter(|point| point.bytes_per_s.is_finite());
    let Some(block) = points().map(|point| point.block_bytes).max() else { return nothing_measured(record) };
    let of_block = points().filter(|point| point.block_bytes == block);
    let Some(best) = of_block.max_by(|a, b| a.bytes_per_s.total_cmp(&b.bytes_per_s)) else {
        return nothing_measured(record);
    };
    let interval = between_runs(sane(best.spread.interval, best.bytes_per_s), best.bytes_per_s, RATES_DIFFER);
    let sentence =
        format!("{} in blocks of {block}, {} {}", rate(best.bytes_per_s, interval), best.kernel, best.store);
    Outcome::ok(sentence).of(best.bytes_per_s, interval, "bytes_per_s")
}

/// Half of what the best rate, and a clock read, of an unchanged guest differ by from run to run, as shares, where one run shows less: see
/// docs/methodology/probes.md, Questions.
const RATES_DIFFER: f64 = 0.035;
const READS_DIFFER: f64 = 0.04;

/// An interval that is no narrower than runs differ.
fn between_runs(interval: Interval, value: f64, share: f64) -> Interval {
    Interval { low: interval.low.min(value * (1.0 - share)), high: interval.high.max(value * (1.0 + share)) }
}

/// A finding as an answer.
fn of_finding(finding: &Finding) -> Outcome {
    match finding.severity {
        Severity::Inconclusive => Outcome::undetermined(&finding.text),
        severity => Outcome::ok(&finding.text).warning_if(severity == Severity::Warning),
    }
}

fn finding<'r>(record: &'r Record, id: &str) -> Option<&'r Finding> {
    record.findings.iter().find(|finding| finding.id == id)
}

/// Whether CPUs share a core that the machine shows as two.
pub(super) fn siblings(record: &Record) -> Outcome {
    let topology = &record.machine.topology;
    let cores: Vec<&CpuSet> = topology.cores.iter().map(|core| &core.cpus).collect();
    match finding(record, "hidden-siblings") {
        Some(finding) => of_finding(finding),
        None if topology.cpus.len() < 2 => Outcome::not_applicable("one CPU"),
        None if cores.len() == 1 => Outcome::not_applicable("all CPUs are of one core, as the machine says"),
        None => Outcome::undetermined("no pair of cores was measured; sidestep run --only cores"),
    }
}

/// A cache line from CPU to CPU, and how long an idle CPU takes to run again.
pub(super) fn waking(record: &Record) -> Outcome {
    if record.machine.topology.cpus.len() == 1 {
        return Outcome::not_applicable("one CPU");
    }
    let slowest =
        record.cores.wake.iter().filter(|point| point.ns.is_finite()).max_by(|a, b| a.ns.total_cmp(&b.ns));
    let line = lines(record);
    let Some(slowest) = slowest else {
        return line.map_or_else(|| nothing_measured(record), Outcome::ok);
    };
    let interval = sane(slowest.spread.interval, slowest.ns);
    let in_us = |ns: f64| ns / 1000.0;
    let mut sentence = measured(in_us(slowest.ns), interval.map(in_us), "µs");
    if slowest.p90_ns > slowest.ns {
        let _ = write!(sentence, ", 90 % within {:.0}", in_us(slowest.p90_ns));
    }
    if let Some(line) = line {
        let _ = write!(sentence, "; {line}");
    }
    let is_slow = finding(record, "wake-slow").is_some_and(|finding| finding.severity == Severity::Warning);
    Outcome::ok(sentence).warning_if(is_slow).of(slowest.ns, interval, "ns")
}

/// A cache line from CPU to CPU, the median pair by protocol; `None` without one.
fn lines(record: &Record) -> Option<String> {
    let mut by_protocol: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for row in record.cores.line_transfer.iter().filter(|row| row.ns.is_finite()) {
        by_protocol.entry(&row.protocol).or_default().push(row.ns);
    }
    let middle = |(protocol, times): (&str, Vec<f64>)| {
        Some(format!("{:.0} ns by {}", stats::median(&times)?, protocol.replace('_', " ")))
    };
    let said: Vec<String> = by_protocol.into_iter().filter_map(middle).collect();
    (!said.is_empty()).then(|| format!("a line from CPU to CPU {}", listed(&said, "and")))
}

/// Whether the counters of all CPUs agree.
pub(super) fn clocks(record: &Record) -> Outcome {
    finding(record, "clock-counters").map_or_else(|| nothing_measured(record), of_finding)
}

/// What the read that programs make most costs.
pub(super) fn clock_read(record: &Record) -> Outcome {
    const USUAL: &str = "clock_gettime(CLOCK_MONOTONIC)";
    let usual = record.clocks.iter().filter(|read| read.name == USUAL && read.ns.is_finite());
    let Some(read) = usual.min_by(|a, b| a.ns.total_cmp(&b.ns)) else { return nothing_measured(record) };
    let interval = between_runs(sane(read.spread.interval, read.ns), read.ns, READS_DIFFER);
    let mut sentence = measured(read.ns, interval, "ns");
    if let Some(source) = &record.machine.environment.clock_sources.current {
        let _ = write!(sentence, " from {source}");
    }
    let is_slow = finding(record, "clock-slow").is_some_and(|finding| finding.severity == Severity::Warning);
    Outcome::ok(sentence).warning_if(is_slow).of(read.ns, interval, "ns")
}

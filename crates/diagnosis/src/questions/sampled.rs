//! What samples of adjacent windows answer: latency of caches and memory, the gain of huge pages, whether CPUs are alike.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use machine::{Bytes, CacheKind, CpuId};
use record::Record;
use stats::Interval;

use super::{Outcome, compared, is_noisy, last_cache, level, nothing_measured, samples};
use crate::surface::DISAGREES_BEYOND;
use crate::wording::rounded;

/// A gain or a difference that matters.
pub(crate) const MATTERS: f64 = 0.05;
/// An interval that reaches further than this to a side answers nothing: CPUs are not alike within more, nor is a gain known.
const WIDEST: f64 = 0.15;

/// Latency of a cache, and its size by claim and by the surface.
pub(super) fn cache(record: &Record, question: &'static str, number: u8) -> Outcome {
    let name = format!("L{number}");
    let of = || samples(record, question);
    let claim = record
        .machine
        .topology
        .caches
        .iter()
        .find(|cache| cache.level == number && cache.kind != CacheKind::Instruction);
    let claimed = claim.and_then(|cache| cache.size_bytes);
    let Some(first) = of().next() else {
        return match claimed {
            None if number > 1 => Outcome::not_applicable(format!("no {name} is claimed")),
            _ => nothing_measured(record),
        };
    };
    let Some((value, interval)) = level(of()) else { return nothing_measured(record) };
    let is_cycles = first.unit != "ns";
    let unit = if is_cycles { "cycles" } else { "ns" };
    let mut sentence = number_of(value, interval, unit);
    let shared: Vec<f64> = of().filter_map(|sample| sample.shared).collect();
    if let Some(shared) = stats::median(&shared).filter(|shared| *shared > interval.high) {
        let _ = write!(sentence, ", {shared:.1} while the core is shared");
    }
    let found = record.levels.caches.iter().find(|level| level.name == name);
    let found = found.and_then(|level| Some((level.size_bytes?, level.size_interval?)));
    let mut differs = false;
    if let Some(claimed) = claimed {
        let _ = write!(sentence, "; {claimed} claimed");
        if let Some((size, bounds)) = found {
            differs = (claimed.0 as f64) > bounds.high * DISAGREES_BEYOND;
            if differs || bounds.low > claimed.0 as f64 * DISAGREES_BEYOND {
                let _ = write!(sentence, ", {} found", rounded(size.0 as f64));
            } else {
                sentence += ", as found";
            }
        }
    }
    Outcome::ok(sentence).warning_if(differs).of(value, interval, unit)
}

/// `5.00 cycles`, or with its ends where it is not known to a hundredth.
fn number_of(value: f64, interval: Interval, unit: &str) -> String {
    if interval.half_width() < value * 0.02 && value < 10.0 {
        return format!("{value:.2} {unit}");
    }
    stats::text::measured(value, interval, unit)
}

/// Random reads in as much memory as there was room for.
pub(super) fn memory(record: &Record) -> Outcome {
    let Some(block) = usual_block(record) else { return nothing_measured(record) };
    let of = |question| samples(record, question).filter(move |sample| sample.block_bytes == Some(block));
    let (huge, base) = (level(of("memory")), level(of("memory-base")));
    let page = of("memory").filter_map(|sample| sample.page_bytes).max();
    let small = of("memory-base").find_map(|sample| sample.page_bytes);
    let page = page.or(small).unwrap_or_default();
    let Some((value, interval)) = huge.or(base) else { return nothing_measured(record) };
    let mut sentence =
        format!("{} at random in {block}, {page} pages", stats::text::measured(value, interval, "ns"));
    if let (Some(_), Some((base, _))) = (huge, base.filter(|_| small != Some(page))) {
        let _ = write!(sentence, "; {base:.0} ns in base pages");
    }
    // What the last cache is worth by reads, where that is known to be less than its claim.
    let (cache, claimed) = (last_cache::usable(record).number, record.machine.topology.largest_cache_bytes());
    let found = cache.map(|(bytes, ..)| Bytes(bytes as u64));
    if let Some(cache) = found.into_iter().chain(claimed).min() {
        let share = cache.0 as f64 / (block.0 / LINES_OF_BLOCK) as f64;
        if share >= SERVED_BY_CACHE {
            let (percent, cache) = (100.0 * share.min(1.0), rounded(cache.0 as f64));
            let _ = write!(sentence, "; {cache} of cache may serve {percent:.0} % of them");
        }
    }
    Outcome::ok(sentence).of(value, interval, "ns")
}

/// The block that most epochs read, of those the largest: with little time it is as large as could be laid.
fn usual_block(record: &Record) -> Option<Bytes> {
    let mut epochs: BTreeMap<Bytes, BTreeSet<usize>> = BTreeMap::new();
    for sample in samples(record, "memory") {
        epochs.entry(sample.block_bytes?).or_default().insert(sample.epoch);
    }
    epochs.into_iter().max_by_key(|(block, epochs)| (epochs.len(), *block)).map(|(block, _)| block)
}

/// One line in so many of the block is read: see `probes::questions`.
const LINES_OF_BLOCK: u64 = 4;
/// A cache that serves less of the reads is not worth a word.
const SERVED_BY_CACHE: f64 = 0.05;

/// How much faster random reads are in huge pages, in each block, ascending.
fn gains(record: &Record) -> Vec<(Bytes, f64, Interval)> {
    let mut blocks: Vec<Bytes> =
        samples(record, "huge-pages").filter_map(|sample| sample.block_bytes).collect();
    blocks.sort_unstable();
    blocks.dedup();
    let of = |block: Bytes| {
        let of_block = samples(record, "huge-pages").filter(move |sample| sample.block_bytes == Some(block));
        let (ratio, interval) = level(of_block)?;
        Some((block, ratio - 1.0, interval.map(|end| end - 1.0)))
    };
    blocks.into_iter().filter_map(of).collect()
}

/// The same in the largest block.
pub(crate) fn huge_page_gain(record: &Record) -> Option<(Bytes, f64, Interval)> {
    gains(record).pop()
}

/// Whether programs gain by huge pages, and get them.
pub(super) fn huge_pages(record: &Record) -> Outcome {
    let enabled = record.machine.environment.transparent_huge_pages.enabled.as_deref();
    let mut gains = gains(record);
    let Some((block, gain, interval)) = gains.pop() else {
        return match enabled {
            Some("never") => {
                Outcome::not_applicable("huge pages are switched off (never), and none is reserved")
            }
            _ => nothing_measured(record),
        };
    };
    let written = stats::text::percent_within(gain, interval);
    if interval.half_width() > WIDEST && interval.low < MATTERS {
        return Outcome::undetermined(format!("{written} in {block}; a longer run has more mappings"));
    }
    let mut sentence = if interval.high < MATTERS && interval.low > -MATTERS {
        format!("next to no gain: {written} in {block}")
    } else {
        format!("random reads in {block} gain {written}")
    };
    if let Some((smaller, gain, _)) = gains.first() {
        let _ = write!(sentence, ", in {smaller} {:.0} %", 100.0 * gain);
    }
    let is_off = matches!(enabled, Some("never" | "madvise"));
    if let Some(setting) = enabled.filter(|_| is_off) {
        let _ = write!(sentence, "; off by default ({setting})");
    }
    Outcome::ok(sentence).warning_if(is_off && interval.low > MATTERS).of(gain, interval, "ratio")
}

/// Whether CPUs are alike, in their cores and in their memory.
pub(super) fn cpus(record: &Record) -> Outcome {
    const KINDS: [(&str, &str); 2] = [("cpus-core", "reads L2"), ("cpus-memory", "reads memory")];
    let others = compared(record);
    if others.is_empty() {
        let is_one = record.provenance.cpus.len() == 1 || record.machine.topology.cpus.len() <= 1;
        return if is_one { Outcome::not_applicable("one CPU") } else { nothing_measured(record) };
    }
    let mut reach: f64 = 0.0;
    let mut widest: Option<(f64, Interval)> = None;
    let mut unlike: Vec<(f64, String)> = Vec::new();
    for cpu in &others {
        for (question, does) in KINDS {
            let of_cpu = samples(record, question).filter(|sample| sample.cpu == *cpu);
            let against = of_cpu.clone().find_map(|sample| sample.against).unwrap_or(CpuId(0));
            let Some((ratio, interval)) = level(of_cpu) else { continue };
            let furthest = (interval.high - 1.0).abs().max((interval.low - 1.0).abs());
            if furthest > reach {
                (reach, widest) = (furthest, Some((ratio, interval)));
            }
            if interval.low > 1.0 + MATTERS || interval.high < 1.0 - MATTERS {
                let percent = 100.0 * (ratio - 1.0).abs();
                let slower = if ratio > 1.0 { "slower" } else { "faster" };
                unlike
                    .push((percent, format!("CPU {cpu} {does} {percent:.0} % {slower} than CPU {against}")));
            }
        }
    }
    let Some((ratio, interval)) = widest else { return nothing_measured(record) };
    let count = others.len() + 1;
    let of_all = record.machine.topology.cpus.len();
    let whom = if count < of_all { format!("{count} of {of_all} CPUs") } else { format!("{count} CPUs") };
    unlike.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    // A program on one of the CPUs makes it slower, and no worse a CPU.
    if let Some((_, worst)) = unlike.first()
        && is_noisy(record)
    {
        return Outcome::undetermined(format!("{worst} while others took CPU time; repeat when it is quiet"))
            .of(ratio, interval, "ratio");
    }
    if let Some((_, worst)) = unlike.first() {
        let more = unlike.len() - 1;
        let more = if more > 0 { format!("; {more} more differ") } else { String::new() };
        return Outcome::ok(format!("{worst}{more}")).warning_if(true).of(ratio, interval, "ratio");
    }
    if reach > WIDEST {
        let far = format!("{whom} may differ by up to {:.0} %; a longer run decides", 100.0 * reach);
        return Outcome::undetermined(far).of(ratio, interval, "ratio");
    }
    Outcome::ok(format!("{whom} alike within {:.0} %, core and memory", 100.0 * reach))
        .of(ratio, interval, "ratio")
}

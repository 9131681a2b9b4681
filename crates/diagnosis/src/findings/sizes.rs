//! Sizes of caches against the claim of the machine.

use machine::Bytes;
use record::{Area, Finding, Level, Quality, Record, Severity};
use stats::text::listed;

use super::disturbance::other_load;
use super::{Details, finding};
use crate::caches::sizes_by_page;
use crate::surface::{Columns, DISAGREES_BEYOND};
use crate::wording::{measured, rounded, size};

pub(super) fn judge(record: &Record, found: &mut Vec<Finding>) {
    let caches = &record.levels.caches;
    let compared: Vec<&Level> = caches
        .iter()
        .filter(|level| level.claimed_bytes.is_some() && level.size_interval.is_some())
        .collect();
    let (differ, agree): (Vec<&Level>, Vec<&Level>) =
        compared.into_iter().partition(|level| disagrees(level));
    found.extend(differ.iter().map(|level| disagreement(record, level)));
    if let Some(missing) = unseen(record) {
        found.push(missing);
    }
    if !agree.is_empty() {
        let names: Vec<&str> = agree.iter().map(|level| level.name.as_str()).collect();
        let (verb, claims) = if names.len() == 1 { ("is", "its claim") } else { ("are", "their claims") };
        let text = format!("{} {verb} consistent with {claims}", listed(&names, "and"));
        found.push(
            finding(Area::Memory, "cache-sizes", Severity::Good, text)
                .showing(agree.iter().filter_map(|level| line(level))),
        );
    }
    if caches.is_empty() && !record.memory.latency.is_empty() {
        let text = "the latency surface shows no distinguishable levels".to_owned();
        found.push(
            finding(Area::Memory, "cache-sizes", Severity::Inconclusive, text)
                .showing([format!("{} cells measured", record.memory.latency.len())])
                .fixed_by("sidestep run --only memory --full"),
        );
    }
}

fn disagrees(level: &Level) -> bool {
    let (Some(claim), Some(bounds)) = (level.claimed_bytes, level.size_interval) else { return false };
    let claim = claim.0 as f64;
    claim > bounds.high * DISAGREES_BEYOND || claim * DISAGREES_BEYOND < bounds.low
}

/// True if the blocks that would show the difference between size and claim are in several states.
pub(crate) fn knee_is_unstable(record: &Record, level: &Level) -> bool {
    let (Some(claim), Some(bytes), Some(bounds)) =
        (level.claimed_bytes, level.size_bytes, level.size_interval)
    else {
        return false;
    };
    let (claim, bytes) = (claim.0 as f64, bytes.0 as f64);
    let apart = claim > bytes * DISAGREES_BEYOND || bytes > claim * DISAGREES_BEYOND;
    let unstable = unstable_blocks(record, level);
    // A steady block between the size and the claim decides, whatever the knee does.
    let bound = if claim > bytes { bounds.high } else { bounds.low };
    let decided = disagrees(level) && !unstable.iter().any(|block| block.0 == bound as u64);
    apart && !unstable.is_empty() && !decided
}

/// Blocks of the line column within the bounds of a level that are in several states.
pub(crate) fn unstable_blocks(record: &Record, level: &Level) -> Vec<Bytes> {
    let (Some(columns), Some(bounds)) = (Columns::of(&record.memory), level.size_interval) else {
        return Vec::new();
    };
    columns
        .line()
        .iter()
        .filter(|point| point.quality == Quality::Unstable && bounds.contains(point.block_bytes as f64))
        .map(|point| Bytes(point.block_bytes))
        .collect()
}

/// A level's latency, and what it was measured in.
fn latency(level: &Level) -> String {
    let conditions = level.conditions.as_ref().map_or_else(String::new, |one| format!(", {one}"));
    format!("{} {}{conditions}", level.name, measured(level.ns, level.ns_interval, "ns"))
}

/// Size between the last block that fits and the first that does not, the claim, the latency.
fn line(level: &Level) -> Option<String> {
    let bounds = level.size_interval?;
    Some(format!(
        "{} ends between {} and {}, at about {}; claimed {}; {}",
        level.name,
        rounded(bounds.low),
        rounded(bounds.high),
        rounded(level.size_bytes?.0 as f64),
        level.claimed_bytes?,
        measured(level.ns, level.ns_interval, "ns")
    ))
}

fn disagreement(record: &Record, level: &Level) -> Finding {
    let id = format!("effective-{}", level.name.to_lowercase());
    let (bytes, claim) = (level.size_bytes.unwrap_or_default(), level.claimed_bytes.unwrap_or_default());
    let smaller = bytes < claim;
    let text = if smaller {
        format!("{} holds {}, not the {claim} that the machine claims", level.name, rounded(bytes.0 as f64))
    } else {
        format!(
            "{} holds {}, more than the {claim} that the machine claims",
            level.name,
            rounded(bytes.0 as f64)
        )
    };
    // A larger cache than claimed does no harm.
    let severity = if smaller { Severity::Warning } else { Severity::Notice };
    let mut different = finding(Area::Memory, &id, severity, text)
        .showing(evidence(record, level))
        .expecting(format!("{} fits up to {claim} if the claim holds", level.name))
        .caused_by(mechanism(record, level, smaller));
    if smaller {
        different.remedy = Some(format!(
            "size working sets by {}, not by what sysfs says; the rest is for whoever runs the host (cache \
             allocation, neighbours)",
            rounded(bytes.0 as f64)
        ));
    }
    different
}

fn evidence(record: &Record, level: &Level) -> Vec<String> {
    let mut evidence: Vec<String> = line(level).into_iter().collect();
    let after = record.levels.caches.iter().skip_while(|other| other.name != level.name).nth(1);
    if let (Some(after), Some(bounds)) = (after, level.size_interval) {
        evidence.push(format!(
            "from {} on, loads come from {}: {}",
            rounded(bounds.high),
            after.name,
            measured(after.ns, after.ns_interval, "ns")
        ));
        evidence.extend(
            sizes_by_page(record, level.ns, after.ns, bounds.high)
                .into_iter()
                .map(|(page, bytes, interval)| format!("in pages of {page}: {}", size(bytes, interval))),
        );
    }
    evidence.extend(other_load(record));
    evidence
}

fn mechanism(record: &Record, level: &Level, smaller: bool) -> String {
    let guest = record.machine.identity.hypervisor.is_some();
    let shared = record
        .machine
        .topology
        .cpus
        .first()
        .and_then(|cpu| {
            let number = level.name.strip_prefix('L')?.parse().ok()?;
            record.machine.topology.data_cache(cpu.id, number)
        })
        .is_some_and(|cache| cache.shared_by.len() > 1);
    match (smaller, guest, shared) {
        (false, ..) => "the claim is too small; a hypervisor or a table in firmware invents it (inference)",
        (true, true, _) => {
            "a guest sees the size of the host's cache; it gets what neighbours leave, or the ways it is \
             allocated (inference)"
        }
        (true, false, true) => {
            "other CPUs that share it hold the rest, or cache allocation (resctrl) limits this task (inference)"
        }
        (true, false, false) => "the machine's description is wrong, or part of the cache is reserved (inference)",
    }
    .to_owned()
}

/// The largest claimed cache, when the surface passes from a nearer one straight to memory or ends before it is left.
fn unseen(record: &Record) -> Option<Finding> {
    let caches = &record.levels.caches;
    let last = caches.last()?;
    let cpu = record.memory.latency.first()?.cpu;
    let (number, claim) = (1..=4_u8).rev().find_map(|number| {
        Some((number, record.machine.topology.data_cache(cpu, number)?.size_bytes.filter(|size| size.0 > 0)?))
    })?;
    let name = format!("L{number}");
    let seen = caches.iter().find(|level| level.name == name);
    if seen.is_some_and(|level| level.size_bytes.is_some()) {
        return None;
    }
    let id = format!("effective-{}", name.to_lowercase());
    let largest = record.memory.latency.iter().map(|cell| cell.block_bytes).max().unwrap_or(Bytes(0));
    if last.name == "memory" && seen.is_none() {
        let before = caches.len().checked_sub(2).and_then(|index| caches.get(index))?;
        let text = format!(
            "no {name} to be seen: the machine claims {claim}, loads pass from {} to memory",
            before.name
        );
        return Some(
            finding(Area::Memory, &id, Severity::Warning, text)
                .showing([line(before).unwrap_or_else(|| latency(before)), latency(last)])
                .caused_by("it is too small or too shared to hold a plateau of its own, or as slow as memory (inference)")
                .expecting(format!("a plateau of its own up to {claim}"))
                .fixed_by(format!("do not count on {claim}; size working sets by {}", before.name)),
        );
    }
    let withheld = record.levels.withheld.iter().find(|one| one.what == format!("size of {name}"));
    let text = match withheld {
        Some(one) => format!("usable {name}: undetermined (claimed {claim}): {}", one.because),
        None => {
            format!(
                "usable {name}: undetermined (claimed {claim}): blocks up to {largest} do not show its end"
            )
        }
    };
    let mut open = finding(Area::Memory, &id, Severity::Inconclusive, text);
    let seen = seen.unwrap_or(last);
    open.evidence = vec![latency(seen)];
    open.evidence.extend(other_load(record));
    open.remedy = Some("sidestep run --only memory --full measures larger blocks".to_owned());
    Some(open)
}

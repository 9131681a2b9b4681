//! Pages: huge pages that programs do not get, TLB reach against the claim, the cost of a walk.

use record::{Area, Finding, Record, Severity};

use super::{Details, finding};
use crate::questions::{MATTERS, huge_page_gain};
use crate::wording::{measured, percent_within};

/// Entries within this share of the claim agree: the loop itself, its stack and data take a few.
const ENTRIES_AGREE: f64 = 0.1;

pub(super) fn judge(record: &Record, found: &mut Vec<Finding>) {
    huge_pages(record, found);
    tlb_reach(record, found);
    walks(record, found);
}

/// What is lost where programs get no huge pages and would gain by them; the gain itself is an answer.
fn huge_pages(record: &Record, found: &mut Vec<Finding>) {
    let enabled = record.machine.environment.transparent_huge_pages.enabled.as_deref();
    let Some(setting @ ("never" | "madvise")) = enabled else { return };
    let Some((block, gain, interval)) = huge_page_gain(record).filter(|gain| gain.2.low > MATTERS) else {
        return;
    };
    let written = percent_within(gain, interval);
    let text =
        format!("transparent huge pages are set to {setting}: random access in {block} pays {written}");
    let samples = record.samples.iter().filter(|sample| sample.question == "huge-pages");
    let mut cost = finding(Area::Memory, "thp-off-cost", Severity::Warning, text).showing([
        format!("pairs of adjacent windows on {} pairs of fresh mappings", samples.count()),
        format!("transparent huge pages: {setting}"),
    ]);
    cost.mechanism = Some(translation_mechanism(record, &mut cost.evidence));
    found.push(cost.fixed_by(match setting {
        "madvise" => {
            "madvise(MADV_HUGEPAGE) in the program, or as root: echo always > \
             /sys/kernel/mm/transparent_hugepage/enabled"
        }
        _ => "as root: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
    }));
}

/// Page walks as the cause: an inference unless paired chains price the walk, which then is evidence.
fn translation_mechanism(record: &Record, evidence: &mut Vec<String>) -> String {
    let cause = "each load in a large block misses the TLB and walks the page table; in a guest both tables";
    let priced = record.levels.walk_ns.zip(record.levels.walk_interval);
    match priced.filter(|(_, interval)| interval.low > 0.0) {
        Some((walk, interval)) => {
            evidence.push(format!("a page walk by paired chains: {}", measured(walk, interval, "ns")));
            cause.to_owned()
        }
        None => format!("{cause} (inference)"),
    }
}

fn tlb_reach(record: &Record, found: &mut Vec<Finding>) {
    if record.memory.walks.is_empty() {
        return;
    }
    let levels = &record.levels.tlbs;
    if levels.is_empty() {
        let text = "TLB reach is unknown: no boundary stands out of the noise".to_owned();
        found.push(
            finding(Area::Memory, "tlb-reach", Severity::Inconclusive, text)
                .showing([format!("{} page counts measured", record.memory.walks.len())])
                .fixed_by("sidestep run --only memory --full, on a quiet machine"),
        );
        return;
    }
    let disagrees = |level: &record::TlbLevel| {
        level.claimed_entries.is_some_and(|claim| {
            let claim = f64::from(claim);
            let bounds = level.entries_interval;
            bounds.high < claim * (1.0 - ENTRIES_AGREE) || bounds.low > claim * (1.0 + ENTRIES_AGREE)
        })
    };
    let sizes: Vec<String> = levels.iter().map(|level| level.entries.to_string()).collect();
    let claimed = levels.iter().any(|level| level.claimed_entries.is_some());
    let silent = if record.machine.identity.is_x86() {
        "CPUID does not say"
    } else {
        "nothing else shows it on this architecture"
    };
    let (severity, text) = if levels.iter().any(disagrees) {
        (Severity::Notice, format!("TLB reach differs from CPUID: {} entries by timing", sizes.join(" and ")))
    } else if claimed {
        (Severity::Good, format!("TLB reach is as claimed: {} entries", sizes.join(" and ")))
    } else {
        (Severity::Notice, format!("TLB reach by timing: {} entries; {silent}", sizes.join(" and ")))
    };
    let mut reach = finding(Area::Memory, "tlb-reach", severity, text).showing(levels.iter().map(|level| {
        let claim =
            level.claimed_entries.map_or("no claim".to_owned(), |claim| format!("CPUID says {claim}"));
        format!(
            "level {}: {} entries {:.0}, {claim}; a miss adds {}",
            level.level,
            level.entries,
            level.entries_interval,
            measured(level.miss_ns, level.miss_interval, "ns")
        )
    }));
    if severity == Severity::Notice && claimed {
        reach.mechanism = Some(
            "a guest whose memory the host backs with other page sizes, a shared TLB, or a model that CPUID describes wrongly \
             (inference)"
                .to_owned(),
        );
    }
    found.push(reach);
}

/// The cost of a walk.
fn walks(record: &Record, found: &mut Vec<Finding>) {
    let (Some(walk), Some(interval)) = (record.levels.walk_ns, record.levels.walk_interval) else { return };
    let guest = record.machine.identity.hypervisor.is_some();
    let text = format!("missing every TLB costs {} per load", measured(walk, interval, "ns"));
    let mut cost = finding(Area::Memory, "walk-cost", Severity::Notice, text)
        .showing([format!("paired chains, page tables in the caches: {}", measured(walk, interval, "ns"))]);
    if guest {
        cost.mechanism =
            Some("each step of a walk in a guest is itself translated by the host's tables".to_owned());
    }
    found.push(cost);
}

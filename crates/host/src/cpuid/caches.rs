//! The caches one CPU describes: level, kind, size, and who shares them by APIC id.
//!
//! Sources: Intel SDM vol. 2A, leaf 04H; AMD64 APM vol. 3, Fn8000_001D (the same layout), and for CPUs
//! without it Fn8000_0005 and Fn8000_0006. "AMD64" families before 15h have no sharing information.
//!
//! Sharers whose number is no power of two have ids in a range that is rounded up to one, as both vendors write. Packages of two
//! dies of six cores before Zen do not: their ids follow each other without a gap, 0 to 5 and 6 to 11, and the rounding would
//! give two cores of the second die to the first. hwloc, hwloc/topology-x86.c, says so of families 10h and 15h.

use machine::CacheKind;
use raw_cpuid::CpuIdResult;

use super::levels::{FAMILY_ZEN, Place, package_count};
use super::{Leaves, bits, width};

/// The most subleaves read; the last one has type 0.
const SUBLEAVES_MAX: u32 = 16;

/// Magny-Cours: two dies of a K10 in one package, each with half of the L3 that CPUID sums up.
/// BIOS and Kernel Developer's Guide for AMD Family 10h (31116), "Multi-node processors": family 10h, model 9.
const MAGNY_COURS: (u32, u32) = (0x10, 9);

/// The unit of the L3 size in Fn8000_0006 EDX.
const L3_UNIT_KIB: u32 = 512;

/// One cache as one CPU describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ClaimedCache {
    pub(super) level: u8,
    pub(super) kind: CacheKind,
    pub(super) size_bytes: u64,
    pub(super) line_bytes: u64,
    pub(super) ways: Option<u32>,
    /// Which CPUs share the instance.
    pub(super) shared: Sharers,
}

/// CPUs that share a cache, by their APIC ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sharers {
    /// Those whose ids agree above this many bits.
    Above(u32),
    /// So many with ids that follow each other, from the first of a package on.
    Following {
        /// How many.
        cpus: u32,
        /// Bits of the id below the package.
        package_width: u32,
    },
}

impl Sharers {
    /// As many as there may be, or the next power of two.
    fn rounded(cpus: u32) -> Self {
        Self::Above(width(cpus))
    }

    /// The instance that a CPU uses: its package, where that counts, and its number.
    pub(super) fn instance(self, apic: u32) -> (u32, u32) {
        match self {
            Self::Above(width) => (0, apic.checked_shr(width).unwrap_or(0)),
            Self::Following { cpus, package_width } => {
                let package = apic.checked_shr(package_width).unwrap_or(0);
                let in_package = apic & !u32::MAX.checked_shl(package_width).unwrap_or(0);
                (package, in_package / cpus.max(1))
            }
        }
    }
}

/// All caches of the CPU that gives these answers.
pub(super) fn read(leaves: &Leaves, place: &Place, package_cpus: u32) -> Vec<ClaimedCache> {
    const TOPOLOGY_EXTENSIONS: u32 = 1 << 22;
    if !leaves.is_amd() {
        return deterministic(leaves, 4, Sharers::rounded);
    }
    let has_topology = leaves.get(0x8000_0001, 0).is_some_and(|answer| answer.ecx & TOPOLOGY_EXTENSIONS != 0);
    let is_before_zen = leaves.signature().is_some_and(|found| found.family < FAMILY_ZEN);
    let package_width = place.package_width;
    let sharers = |cpus: u32| {
        if is_before_zen && !cpus.is_power_of_two() {
            Sharers::Following { cpus, package_width }
        } else {
            Sharers::rounded(cpus)
        }
    };
    let caches = if has_topology { deterministic(leaves, 0x8000_001d, sharers) } else { Vec::new() };
    if caches.is_empty() { amd_legacy(leaves, place, package_cpus) } else { caches }
}

/// Leaf 4 or Fn8000_001D: one subleaf per cache.
fn deterministic(leaves: &Leaves, leaf: u32, sharers: impl Fn(u32) -> Sharers) -> Vec<ClaimedCache> {
    (0..SUBLEAVES_MAX)
        .map_while(|subleaf| leaves.get(leaf, subleaf).filter(|answer| bits(answer.eax, 4, 0) != 0))
        .filter_map(|answer| one(&answer, &sharers))
        .collect()
}

fn one(answer: &CpuIdResult, sharers: impl Fn(u32) -> Sharers) -> Option<ClaimedCache> {
    let kind = match bits(answer.eax, 4, 0) {
        1 => CacheKind::Data,
        2 => CacheKind::Instruction,
        3 => CacheKind::Unified,
        _ => return None,
    };
    let ways = bits(answer.ebx, 31, 22) + 1;
    let partitions = bits(answer.ebx, 21, 12) + 1;
    let line_bytes = u64::from(bits(answer.ebx, 11, 0) + 1);
    let sets = u64::from(answer.ecx) + 1;
    let is_fully_associative = bits(answer.eax, 9, 9) == 1;
    Some(ClaimedCache {
        level: u8::try_from(bits(answer.eax, 7, 5)).ok().filter(|level| *level > 0)?,
        kind,
        // At most 2^10 * 2^10 * 2^12 * 2^32: fits 64 bits exactly but for the corner, hence the saturation.
        size_bytes: (u64::from(ways) * u64::from(partitions) * line_bytes).saturating_mul(sets),
        line_bytes,
        ways: Some(if is_fully_associative { 0 } else { ways }),
        shared: sharers(bits(answer.eax, 25, 14) + 1),
    })
}

/// Fn8000_0005 and Fn8000_0006: L1 and L2 belong to the core, L3 to the package or, in Magny-Cours, its half.
fn amd_legacy(leaves: &Leaves, place: &Place, package_cpus: u32) -> Vec<ClaimedCache> {
    let own = Sharers::Above(0);
    let mut caches = Vec::new();
    let mut push = |level, kind, kibibytes: u32, line: u32, ways: Option<u32>, shared| {
        if kibibytes > 0 && ways.is_some() {
            caches.push(ClaimedCache {
                level,
                kind,
                size_bytes: u64::from(kibibytes) * 1024,
                line_bytes: u64::from(line),
                ways,
                shared,
            });
        }
    };
    if let Some(answer) = leaves.get(0x8000_0005, 0) {
        for (kind, register) in [(CacheKind::Data, answer.ecx), (CacheKind::Instruction, answer.edx)] {
            const FULL: u32 = 0xff;
            let ways = bits(register, 23, 16);
            let ways = (ways != 0).then_some(if ways == FULL { 0 } else { ways });
            push(1, kind, bits(register, 31, 24), bits(register, 7, 0), ways, own);
        }
    }
    if let Some(answer) = leaves.get(0x8000_0006, 0) {
        let l2 = answer.ecx;
        push(2, CacheKind::Unified, bits(l2, 31, 16), bits(l2, 7, 0), coded_ways(bits(l2, 15, 12)), own);
        let l3 = answer.edx;
        let is_split = leaves.signature().is_some_and(|found| (found.family, found.model) == MAGNY_COURS)
            && package_cpus >= 8;
        let halves = if is_split { 2 } else { 1 };
        let ways = coded_ways(bits(l3, 15, 12)).map(|ways| ways / halves);
        let package_width = place.package_width;
        push(
            3,
            CacheKind::Unified,
            bits(l3, 31, 18) * L3_UNIT_KIB / halves,
            bits(l3, 7, 0),
            ways,
            if is_split {
                Sharers::Following { cpus: package_count(leaves).unwrap_or(package_cpus) / 2, package_width }
            } else {
                Sharers::Above(package_width)
            },
        );
    }
    caches
}

/// The four-bit code of associativity in Fn8000_0006; `None` for a disabled cache, `Some(0)` for full.
pub(super) fn coded_ways(code: u32) -> Option<u32> {
    match code {
        1 => Some(1),
        2 => Some(2),
        3 => Some(3),
        4 => Some(4),
        5 => Some(6),
        6 => Some(8),
        8 => Some(16),
        0xa => Some(32),
        0xb => Some(48),
        0xc => Some(64),
        0xd => Some(96),
        0xe => Some(128),
        0xf => Some(0),
        _ => None,
    }
}

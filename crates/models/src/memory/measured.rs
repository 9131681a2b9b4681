//! A machine on paper made of what a real one claims and measured of itself.
//!
//! Sizes are the machine's claims, reach of the translation buffers is measured where it was, and every time is fitted: see
//! `measured_fit`. What nothing tells is assumed, and says so in its source.

use machine::{Bytes, Hertz};

use super::description::{
    Board, CacheDescription, MemoryMachine, PrefetchDescription, TranslationDescription,
    WorkaroundDescription,
};
use super::geometry::{Fill, LEVELS_MAX, PagePlacement, PageTableReads};
use crate::machine_file::{FITTED, Sourced};

/// What the command line calls such a machine.
pub const HOST: &str = "host";
/// The workaround that is tried on it: that of erratum 298.
pub const WORKAROUND: &str = "e298";
/// Entries of upper levels that a walker keeps; nothing tells them, and chains over tens of MiB hardly depend on them.
const WALK_CACHE_ENTRIES: usize = 24;

/// A cache as the machine claims it.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredCache {
    /// All it holds.
    pub size_bytes: Bytes,
    /// Lines per set.
    pub ways: usize,
    /// It takes what the one above throws out, in place of all that passes.
    pub is_victim: bool,
}

/// A translation buffer, nearest first.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredTlb {
    /// Entries for base pages.
    pub entries: usize,
    /// Entries per set.
    pub ways: usize,
    /// Who says so: measured, CPUID, or assumed.
    pub source: String,
}

/// One chain of loads in random order, in base pages.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuredChain {
    /// The bytes it goes through.
    pub block_bytes: Bytes,
    /// Distance of neighbouring elements.
    pub stride_bytes: Bytes,
    /// Time per load.
    pub ns: f64,
    /// Half of its interval, of the value.
    pub uncertainty_percent: f64,
    /// As many chains of a surface count as much: more than one where it alone tells something.
    pub weight: f64,
}

/// One core that reads a block again and again, in rising order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuredRead {
    /// The block.
    pub block_bytes: Bytes,
    /// 10^6 bytes per second.
    pub mb_per_s: f64,
}

/// All that is known of a machine's memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// What people call it.
    pub title: String,
    /// The clock of the core while it was measured.
    pub core_hz: Hertz,
    /// Bytes of a line.
    pub line_bytes: Bytes,
    /// Bytes of the page that the chains were in.
    pub page_bytes: Bytes,
    /// Data caches, nearest first.
    pub caches: Vec<MeasuredCache>,
    /// Both translation buffers.
    pub tlbs: [MeasuredTlb; 2],
    /// Levels of the page table: four, or five where the kernel uses them.
    pub page_table_levels: u32,
    /// True in a guest, where each entry of its page table is translated by another one.
    pub is_guest: bool,
    /// Chains of many blocks and strides.
    pub chains: Vec<MeasuredChain>,
    /// Reads of several blocks; may be empty.
    pub reads: Vec<MeasuredRead>,
}

/// Why no machine can be made of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TooLittleMeasured {
    /// The model needs one to four caches with sizes.
    #[error("the machine tells the sizes of {sizes} data caches, and the model needs 1 to {LEVELS_MAX}")]
    Caches {
        /// Caches with a size.
        sizes: usize,
    },
    /// Fewer chains than unknowns.
    #[error(
        "{chains} chains in base pages were measured, and the fit needs at least {CHAINS_MIN}; \
         measure them with sidestep run --only surface"
    )]
    Chains {
        /// Chains that can be used.
        chains: usize,
    },
}

/// Fewer than this leave some level without a chain of its own: one for each block of a column of the surface.
pub(super) const CHAINS_MIN: usize = 24;

/// The machine with times that only start a fit.
///
/// # Errors
/// `TooLittleMeasured`.
pub(super) fn described(
    measured: &Measured,
    placement: PagePlacement,
) -> Result<MemoryMachine, TooLittleMeasured> {
    let sizes = measured.caches.len();
    if !(1..=LEVELS_MAX).contains(&sizes) {
        return Err(TooLittleMeasured::Caches { sizes });
    }
    if measured.chains.len() < CHAINS_MIN {
        return Err(TooLittleMeasured::Chains { chains: measured.chains.len() });
    }
    let fitted = |value: f64| Sourced { value, source: FITTED.to_owned() };
    let largest_ns = measured.chains.iter().map(|chain| chain.ns).fold(1.0, f64::max);
    Ok(MemoryMachine {
        name: HOST.to_owned(),
        title: measured.title.clone(),
        line_bytes: measured.line_bytes,
        load_bytes_per_core_cycle: fitted(measured.line_bytes.0 as f64),
        dram_ns: fitted(largest_ns / 2.0),
        cache: caches(measured),
        translation: translation(measured),
        prefetch: PrefetchDescription {
            outstanding_lines: fitted(8.0),
            startup_lines: assumed(1.0, "counts only together with outstanding_lines"),
            stop_bytes: assumed(
                measured.page_bytes,
                "prefetchers that go on into the next page would pay less",
            ),
        },
        workaround: WorkaroundDescription {
            id: WORKAROUND.to_owned(),
            page_table_reads: assumed(PageTableReads::AllUncached, "as the Phenom's fit chose"),
            uncached_read_ns: assumed(largest_ns, "as long as a load from memory"),
        },
        board: vec![Board {
            name: HOST.to_owned(),
            title: measured.title.clone(),
            core_hz: Sourced { value: measured.core_hz, source: "measured".to_owned() },
            northbridge_hz: Sourced { value: measured.core_hz, source: "not used".to_owned() },
            page_table_levels: Sourced {
                value: measured.page_table_levels,
                source: "CPUID and kernel flags: five only with la57".to_owned(),
            },
        }],
        page_placement: placement,
        test: Vec::new(),
        published: Vec::new(),
    })
}

/// Takes ways away from the last cache, as if others had them.
pub(super) fn keep_ways(machine: &mut MemoryMachine, ways: usize) {
    let Some(last) = machine.cache.last_mut() else { return };
    let claimed = last.ways.value;
    if ways == claimed {
        return;
    }
    let bytes = last.size_bytes.value.0 / claimed as u64 * ways as u64;
    last.size_bytes = Sourced { value: Bytes(bytes), source: FITTED.to_owned() };
    last.ways = Sourced { value: ways, source: FITTED.to_owned() };
}

/// The largest read, if it is larger than all caches.
pub(super) fn memory_read(measured: &Measured) -> Option<MeasuredRead> {
    let caches = measured.caches.iter().map(|cache| cache.size_bytes).max().unwrap_or_default();
    let largest = measured.reads.iter().max_by_key(|read| read.block_bytes)?;
    (largest.block_bytes.0 > caches.0).then_some(*largest)
}

fn assumed<T>(value: T, why: &str) -> Sourced<T> {
    Sourced { value, source: format!("assumed: {why}") }
}

fn caches(measured: &Measured) -> Vec<CacheDescription> {
    let largest = measured.caches.iter().map(|cache| cache.size_bytes).max().unwrap_or_default();
    let cache = |(index, cache): (usize, &MeasuredCache)| {
        // Chains that fit begin the fit; there may be none.
        let fits = |chain: &&MeasuredChain| chain.block_bytes <= cache.size_bytes;
        let slowest = measured.chains.iter().filter(fits).map(|chain| chain.ns).fold(0.5, f64::max);
        let started_ns = slowest.min((1_u32 << (2 * index)).into());
        let fill = if cache.is_victim { Fill::OnEviction } else { Fill::OnMiss };
        let why = if cache.size_bytes == largest { "by vendor and family" } else { "the usual" };
        CacheDescription {
            name: format!("L{}", index + 1),
            size_bytes: Sourced { value: cache.size_bytes, source: "claimed by the machine".to_owned() },
            ways: Sourced { value: cache.ways, source: "claimed by the machine".to_owned() },
            fill: assumed(fill, why),
            core_cycles: Sourced { value: started_ns * measured.core_hz.0 / 1e9, source: FITTED.to_owned() },
            northbridge_cycles: Sourced {
                value: 0.0,
                source: "undetermined: one clock for both parts".to_owned(),
            },
            bytes_per_core_cycle: None,
        }
    };
    measured.caches.iter().enumerate().map(cache).collect()
}

fn translation(measured: &Measured) -> TranslationDescription {
    let [first, second] = &measured.tlbs;
    let sourced = |value: usize, tlb: &MeasuredTlb| Sourced::new(value, &tlb.source);
    TranslationDescription {
        page_bytes: measured.page_bytes,
        first_entries: sourced(first.entries, first),
        first_ways: sourced(first.ways, first),
        second_entries: sourced(second.entries, second),
        second_ways: sourced(second.ways, second),
        second_hit_core_cycles: Sourced { value: 7.0, source: FITTED.to_owned() },
        walk_cache_entries: assumed(WALK_CACHE_ENTRIES, "no source was found"),
        walker_reads_from_level: assumed(2, "as older x86 processors"),
        walk_core_cycles: Sourced { value: 20.0, source: FITTED.to_owned() },
    }
}

//! Dependent loads at random over a block: in the first level of cache, in the last, in memory.

use std::hint::black_box;
use std::time::Instant;

use host::live::{Mapping, MappingError, PageRequest, Pages, pending_signal};
use kernels::offset_chase::{OFFSETS_PER_ROUND, OffsetChase};
use machine::Bytes;

use super::ShortProbeError;
use super::windowed::{Low, Work};
use crate::timed_loop::TimedLoop;

/// A thousand loads from memory at 0.1 to 0.2 us: enough that what each happens to miss evens out.
const WINDOW_NS: f64 = 200_000.0;

/// In the first level every window is the same.
const L1_WINDOW_NS: f64 = 60_000.0;

/// Half of the smallest first level that any x86-64 has had (16 KiB, AMD Bulldozer).
pub(super) const L1_BLOCK: Bytes = Bytes(8 << 10);
/// Beyond the second level of most, inside the last level of most.
pub(super) const CACHE_BLOCK: Bytes = Bytes(8 << 20);
/// Beyond most last levels, and beyond what second-level TLBs reach with base pages.
pub(super) const MEMORY_BLOCK: Bytes = Bytes(256 << 20);

/// A chase and the pages it was given.
pub(super) struct Chase {
    pub(super) work: Work,
    pub(super) pages: Pages,
}

/// Maps a block and lays a chase through it.
///
/// # Errors
/// `Mapping` if there is no memory, or no time until which to lay it.
pub(super) fn chase(
    block: Bytes,
    pages: PageRequest,
    seed: u64,
    until: Option<Instant>,
) -> Result<Chase, ShortProbeError> {
    let goes_on = || pending_signal().is_none() && until.is_none_or(|until| Instant::now() < until);
    let mut mapping = Mapping::new_while(block.0 as usize, pages, &goes_on)?;
    let laid = OffsetChase::lay_while(mapping.as_mut_slice(), seed, &goes_on);
    // A mapping starts on a page and holds many lines: nothing else can be wrong.
    let mut chase = laid.map_err(|_| MappingError::BrokenOff { bytes: block })?;
    let pages = mapping.pages();
    let run = move |rounds| {
        chase.walk(mapping.as_mut_slice(), rounds);
        black_box(chase.offset());
    };
    let (low, window_ns) =
        if block == L1_BLOCK { (Low::Fastest, L1_WINDOW_NS) } else { (Low::Quartile, WINDOW_NS) };
    let work = Work { timed: TimedLoop::new(OFFSETS_PER_ROUND, run), window_ns, low };
    Ok(Chase { work, pages })
}

//! Which level served a cell of the latency surface: its colour.

use record::{LatencyCell, Level, Levels};

use crate::column::{LINE_BYTES, is_latency};
use crate::plateaus::LEVEL_RATIO;

/// Lines that fill at most this share of the last cache cannot be served from memory: its index is hashed, so strides do
/// not crowd into few sets; what makes them slower is translation.
const SURELY_CACHED: f64 = 0.5;

/// Where memory has no value, a line slower than the slowest known cache by this ratio is of no known level: that of two levels, and
/// twice it where each load may need a translation.
const BEYOND_RATIO: f64 = LEVEL_RATIO;
const BEYOND_RATIO_TRANSLATED: f64 = 2.0 * LEVEL_RATIO;

/// Name of the level nearest in latency, in octaves; `None` if nothing is known, or nothing that slow.
pub fn classify<'a>(cell: &LatencyCell, levels: &'a Levels) -> Option<&'a str> {
    if !is_latency(cell.ns) {
        return None;
    }
    let distance = |level: &&Level| (cell.ns / level.ns).log2().abs();
    let nearest = levels
        .caches
        .iter()
        .filter(|level| is_latency(level.ns))
        .min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
    if nearest.size_bytes.is_none()
        && let [.., last_cache, memory] = levels.caches.as_slice()
        && std::ptr::eq(nearest, memory)
        && let Some(size) = last_cache.size_interval
    {
        let lines = cell.block_bytes.0 / cell.stride_bytes.0.max(LINE_BYTES);
        if (lines * LINE_BYTES) as f64 <= SURELY_CACHED * size.low {
            return Some(&last_cache.name);
        }
    }
    let slowest = levels.caches.last().filter(|slowest| slowest.name != crate::memory::MEMORY);
    let ratio = if cell.stride_bytes.0 <= LINE_BYTES { BEYOND_RATIO } else { BEYOND_RATIO_TRANSLATED };
    let is_beyond = slowest.is_some_and(|slowest| cell.ns > ratio * slowest.ns);
    (!is_beyond).then_some(&nearest.name)
}

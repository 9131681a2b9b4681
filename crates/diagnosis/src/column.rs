//! The measured latency surface as columns: latency against block size at one stride, cleaned of disturbance.
//!
//! Each cell is the fastest over the page sizes measured: noise only adds time, and so do TLB misses, so the minimum prefers
//! the huge pages where translation matters and the undisturbed visit everywhere.

use std::collections::{BTreeMap, BTreeSet};

use machine::{Bytes, CpuId};
use record::{ChaseOrder, LatencyCell, Memory, Quality};
use stats::Interval;

/// The data of a cache line moves as one: below this stride several elements hit the same line. All x86-64 CPUs.
pub(crate) const LINE_BYTES: u64 = 64;

/// Longest latency that is believed: 10 us for one load is a stopped machine, not memory.
const LONGEST_NS: f64 = 10_000.0;

/// One cell of a column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Point {
    pub(crate) block_bytes: u64,
    pub(crate) ns: f64,
    pub(crate) interval: Interval,
    pub(crate) core_cycles: Option<f64>,
    pub(crate) quality: Quality,
}

/// Columns by stride, each with ascending blocks, of the CPU with the most cells.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Columns {
    pub(crate) cpu: CpuId,
    pub(crate) by_stride: BTreeMap<u64, Vec<Point>>,
    /// The page sizes measured, ascending.
    pub(crate) page_bytes: Vec<Bytes>,
}

/// Shortest latency that is believed: a load takes a cycle at least, and no clock reaches 20 GHz.
const SHORTEST_NS: f64 = 0.05;

/// True if the number can be the latency of a load.
pub(crate) fn is_latency(ns: f64) -> bool {
    (SHORTEST_NS..LONGEST_NS).contains(&ns)
}

impl Columns {
    /// The columns of a record; `None` without a usable cell at a stride of a line or more.
    pub(crate) fn of(memory: &Memory) -> Option<Self> {
        Self::of_pages(memory, |_| true)
    }

    /// The columns from cells of some page sizes only.
    pub(crate) fn of_pages(memory: &Memory, is_meant: impl Fn(u64) -> bool) -> Option<Self> {
        let usable = |cell: &&LatencyCell| {
            is_latency(cell.ns)
                && cell.stride_bytes.0 >= LINE_BYTES
                && cell.block_bytes.0 > 0
                && is_meant(cell.page_bytes.0)
        };
        let mut counts = BTreeMap::<CpuId, usize>::new();
        for cell in memory.latency.iter().filter(usable) {
            *counts.entry(cell.cpu).or_default() += 1;
        }
        // Of equals the lowest CPU number, so that the answer does not depend on the order of cells.
        let cpu = counts.iter().max_by_key(|(cpu, count)| (**count, std::cmp::Reverse(**cpu)))?.0;
        let mut fastest = BTreeMap::<u64, BTreeMap<u64, Point>>::new();
        let mut offer = |stride: u64, point: Point| {
            let column = fastest.entry(stride).or_default();
            let kept = column.entry(point.block_bytes).or_insert(point);
            if point.ns < kept.ns {
                *kept = point;
            }
        };
        for cell in memory.latency.iter().filter(usable).filter(|cell| cell.cpu == *cpu) {
            offer(
                cell.stride_bytes.0,
                Point {
                    block_bytes: cell.block_bytes.0,
                    ns: cell.ns,
                    interval: sane(cell.spread.interval, cell.ns),
                    core_cycles: cell.core_cycles.filter(|cycles| cycles.is_finite() && *cycles > 0.0),
                    quality: cell.spread.quality,
                },
            );
        }
        // A random walk over all lines of a larger block, in huge pages, continues the line column.
        let huge = |page_bytes: u64| page_bytes > LARGEST_BASE_PAGE_BYTES;
        for order in &memory.orders {
            if order.cpu == *cpu
                && order.order == ChaseOrder::Random
                && huge(order.page_bytes.0)
                && is_meant(order.page_bytes.0)
                && order.block_bytes.0 > 0
                && is_latency(order.ns)
            {
                let interval = sane(order.spread.interval, order.ns);
                let point = Point {
                    block_bytes: order.block_bytes.0,
                    ns: order.ns,
                    interval,
                    core_cycles: None,
                    quality: order.spread.quality,
                };
                offer(LINE_BYTES, point);
            }
        }
        let by_stride =
            fastest.into_iter().map(|(stride, column)| (stride, column.into_values().collect())).collect();
        let pages: BTreeSet<Bytes> = memory
            .latency
            .iter()
            .filter(usable)
            .filter(|cell| cell.cpu == *cpu)
            .map(|cell| cell.page_bytes)
            .collect();
        Some(Self { cpu: *cpu, by_stride, page_bytes: pages.into_iter().collect() })
    }

    /// The column of whole lines; where it is missing, that of the smallest stride.
    pub(crate) fn line(&self) -> &[Point] {
        self.by_stride.get(&LINE_BYTES).or_else(|| self.by_stride.values().next()).map_or(&[], Vec::as_slice)
    }
}

/// Base pages are up to 64 KiB (arm64); huge ones start at 2 MiB.
pub(crate) const LARGEST_BASE_PAGE_BYTES: u64 = 64 << 10;

/// The interval if it is finite and holds the value, else the value alone.
pub(crate) fn sane(interval: Interval, value: f64) -> Interval {
    let point = Interval { low: value, high: value };
    let known = interval.low.is_finite() && interval.high.is_finite() && interval.low <= interval.high;
    if known { interval.hull(&point) } else { point }
}

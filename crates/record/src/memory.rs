//! Results about memory: bandwidth, latency, address translation.

use std::collections::BTreeMap;

use machine::{Bytes, CpuId, CpuSet, NodeId};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use stats::Interval;

use crate::Spread;
use crate::spread::measured_rows;

/// Everything measured about memory.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Memory {
    /// STREAM by CPU, by node and for the whole machine.
    pub stream: Vec<StreamResult>,
    /// Bandwidth against block size.
    pub bandwidth: Vec<BandwidthPoint>,
    /// Load-to-use latency over block size and stride.
    pub latency: Vec<LatencyCell>,
    /// Paired spread and packed chains: translation cost against number of pages.
    pub walks: Vec<WalkPoint>,
    /// Several chains at once: memory-level parallelism.
    pub parallel: Vec<ParallelChase>,
    /// Latency of one chain while other CPUs stream.
    pub loaded: Vec<LoadedLatency>,
    /// Lists of earlier versions, kept as they are.
    #[serde(flatten)]
    pub earlier: BTreeMap<String, Value>,
}

/// The stride whose cells say which level a block belongs to: a cache line, so that every line of the block counts.
const LINE_STRIDE: Bytes = Bytes(64);

impl Memory {
    /// Block sizes with their level, ascending, from the surface; empty if no cell has a level.
    pub fn block_levels(&self) -> BlockLevels<'_> {
        let base_page = self.latency.iter().map(|cell| cell.page_bytes).min();
        let mut known: Vec<(Bytes, &str)> = self
            .latency
            .iter()
            .filter(|cell| Some(cell.page_bytes) == base_page && cell.stride_bytes == LINE_STRIDE)
            .filter_map(|cell| Some((cell.block_bytes, cell.level.as_deref()?)))
            .collect();
        known.sort_unstable();
        known.dedup_by_key(|(block, _)| *block);
        BlockLevels { known }
    }
}

/// Block sizes with the level that serves them, ascending.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BlockLevels<'m> {
    /// Sizes and levels.
    pub known: Vec<(Bytes, &'m str)>,
}

impl<'m> BlockLevels<'m> {
    /// The level of a block between two blocks of the surface that agree; blocks beyond the largest are in its level.
    pub fn of_block(&self, block: Bytes) -> Option<&'m str> {
        let above = self.known.partition_point(|(size, _)| *size < block);
        let (below, above) = (above.checked_sub(1).map(|index| self.known[index].1), self.known.get(above));
        match (below, above) {
            (_, Some((size, level))) if *size == block => Some(level),
            (Some(below), Some((_, above))) => (below == *above).then_some(below),
            (Some(below), None) => Some(below),
            (None, Some((_, above))) => Some(above),
            (None, None) => None,
        }
    }
}

machine::named! {
    /// Which CPUs worked at once.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "snake_case")]
    pub enum Scope {
        /// One CPU.
        Cpu = "cpu",
        /// All measured CPUs of one node.
        Node = "node",
        /// All measured CPUs.
        Machine = "machine",
    }
}

measured_rows! {
    /// STREAM on one CPU, one node or the machine. A block is all bytes of all arrays and threads.
    pub struct StreamResult {
        /// Which CPUs worked at once.
        pub scope: Scope,
        /// The CPU, for `Scope::Cpu`.
        pub cpu: Option<CpuId>,
        /// The node, for `Scope::Node`.
        pub node: Option<NodeId>,
        /// All CPUs that worked.
        pub cpus: CpuSet,
        /// `triad`, `copy`, ... as `kernels` names them.
        pub kernel: String,
        /// `avx2`, `scalar_f64`, ... as `kernels` names them.
        pub isa: String,
        /// `plain`, `non_temporal`, or `none` for pure reads.
        pub store: String,
        /// Total bytes of all arrays and threads.
        pub block_bytes: Bytes,
        /// Bytes per second as STREAM counts them: without write-allocate.
        pub bytes_per_s: f64,
        /// Bytes per second on the bus: with the read for ownership of plain stores.
        pub bus_bytes_per_s: f64,
    }

    /// One point of a bandwidth curve.
    pub struct BandwidthPoint {
        /// Which CPUs worked at once.
        pub scope: Scope,
        /// All CPUs that worked.
        pub cpus: CpuSet,
        /// As `kernels` names them.
        pub kernel: String,
        /// As `kernels` names them.
        pub isa: String,
        /// As `kernels` names them.
        pub store: String,
        /// Total bytes of all arrays and threads.
        pub block_bytes: Bytes,
        /// Page size that most of the block really got.
        pub page_bytes: Bytes,
        /// Bytes per second, counted as STREAM does.
        pub bytes_per_s: f64,
    }

    /// One cell of the latency surface: a random chain through every `stride_bytes` of the block.
    pub struct LatencyCell {
        /// The CPU it was measured on.
        pub cpu: CpuId,
        /// Size of the block.
        pub block_bytes: Bytes,
        /// Distance of neighbouring elements.
        pub stride_bytes: Bytes,
        /// Page size that was asked for and that at least 95 % of the block really got.
        pub page_bytes: Bytes,
        /// Load-to-use latency in nanoseconds.
        pub ns: f64,
        /// The same in cycles of the core, by the control loop beside it; `None` if the core's clock is unknown.
        pub core_cycles: Option<f64>,
        /// `L1`, `L2`, `L3`, `memory`: which level served it, found from the surface itself.
        pub level: Option<String>,
    }
}

measured_rows! {
    /// Paired chains over `pages` pages: one line on each page, against as many lines on consecutive lines.
    pub struct WalkPoint {
        /// The CPU it was measured on.
        pub cpu: CpuId,
        /// Pages visited.
        pub pages: u64,
        /// Page size of the mapping.
        pub page_bytes: Bytes,
        /// Latency of the spread chain in nanoseconds.
        pub spread_ns: f64,
        /// Latency of the packed chain in nanoseconds.
        pub packed_ns: f64,
        /// Differences of adjacent pairs in nanoseconds, the cost of translation: their median, or what `estimator` says.
        pub delta_ns: f64,
    }

    /// Several independent chains in one thread.
    pub struct ParallelChase {
        /// The CPU it was measured on.
        pub cpu: CpuId,
        /// Chains at once.
        pub chains: usize,
        /// Total bytes of all chains.
        pub block_bytes: Bytes,
        /// Page size really got.
        pub page_bytes: Bytes,
        /// Nanoseconds per load, over all chains.
        pub ns_per_load: f64,
    }

    /// Latency of one chain while other CPUs stream.
    pub struct LoadedLatency {
        /// The CPU that chases.
        pub cpu: CpuId,
        /// The CPUs that stream; empty is the idle latency of the same chain.
        pub loading: CpuSet,
        /// Block that the chain goes through in random order; `None` in records that do not say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub block_bytes: Option<Bytes>,
        /// Page size that it really got; `None` in records that do not say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub page_bytes: Option<Bytes>,
        /// Traffic of the others in bytes per second, as they counted it.
        pub load_bytes_per_s: f64,
        /// 95 % interval of the traffic.
        pub load_interval: Interval,
        /// Windows of the chase in which the others were seen to make progress; too few is no measurement.
        pub overlapped_windows: usize,
        /// Latency in nanoseconds.
        pub ns: f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_has_a_level_only_where_its_neighbours_agree() {
        let known = vec![(Bytes(100), "L1"), (Bytes(200), "L1"), (Bytes(400), "L2"), (Bytes(800), "memory")];
        let levels = BlockLevels { known };
        for (block, expected) in [
            (50, Some("L1")),
            (150, Some("L1")),
            (200, Some("L1")),
            (300, None),
            (400, Some("L2")),
            (600, None),
            (5000, Some("memory")),
        ] {
            assert_eq!(levels.of_block(Bytes(block)), expected, "{block}");
        }
        assert_eq!(BlockLevels::default().of_block(Bytes(1)), None);
    }
}

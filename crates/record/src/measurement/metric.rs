//! The one table of metrics: how every kind of number that is measured is called, what its unit is, and how comparisons show it.
//!
//! Names are as Prometheus and OpenTelemetry write them: words joined by `_`, with the unit last. docs/measurements.md is this table.

use stats::RowClass;

use crate::Better;

/// The unit of a metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Unit {
    /// As documents write it.
    pub name: &'static str,
    /// Which direction is the good one.
    pub better: Better,
    /// As tables for people write it, and how many of this unit make one of that.
    pub in_tables: (&'static str, f64),
}

const fn unit(name: &'static str, better: Better, in_tables: (&'static str, f64)) -> Unit {
    Unit { name, better, in_tables }
}

const NANOSECONDS: Unit = unit("ns", Better::Lower, ("ns", 1.0));
const BYTES_PER_S: Unit = unit("bytes_per_s", Better::Higher, ("GB/s", 1e9));
const ITERATIONS_PER_S: Unit = unit("iterations_per_s", Better::Higher, ("10^9 it/s", 1e9));
const CORE_CYCLES: Unit = unit("core_cycles", Better::Lower, ("cycles", 1.0));
const HERTZ: Unit = unit("hz", Better::Higher, ("GHz", 1e9));
/// Time over time.
const RATIO: Unit = unit("ratio", Better::Lower, ("x", 1.0));

/// How a comparison of records shows a metric: a row for each title, over all its places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ComparedAs {
    /// What averages are taken by.
    pub group: &'static str,
    /// With labels in braces.
    pub title: &'static str,
    /// What two numbers of one title differ by: labels, `cpu`, `beside_cpu`, `node`, or nothing.
    pub places: [&'static str; 2],
}

/// A kind of number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Metric {
    /// The name, unique.
    pub name: &'static str,
    /// Unit of value, interval and epochs.
    pub unit: Unit,
    /// With which rows it moves where the first two levels served it, those behind them, and memory.
    pub classes: [RowClass; 3],
    /// What was measured.
    pub help: &'static str,
    /// `None` for what comparisons do without.
    pub compared: Option<ComparedAs>,
}

/// The group of what nothing compared can touch.
pub const CONTROLS: &str = "controls";

/// A constant for each metric: name, unit and classes; what was measured; how comparisons show it: group, title and places.
macro_rules! metrics {
    ($($id:ident = $name:literal, $unit:ident, $classes:expr, $help:literal $(, $group:expr, $title:literal, $places:expr)?;)*) => {
        $(
            #[doc = $help]
            pub const $id: Metric = Metric {
                name: $name,
                unit: $unit,
                classes: $classes,
                help: $help,
                compared: metrics!(@ $($group, $title, $places)?),
            };
        )*

        /// All of them.
        pub const METRICS: &[&Metric] = &[$(&$id),*];
    };
    (@) => { None };
    (@ $group:expr, $title:literal, $places:expr) => {
        Some(ComparedAs { group: $group, title: $title, places: $places })
    };
}

use RowClass::{
    Arithmetic, CacheBandwidth, ClockReads, CoreClock, CoreCycles, CoreLatency, CpuOverCpu, HugePages,
    LastCache, LineTransfer, LoadedLatency, MemoryBandwidth, MemoryLatency, PageWalks, RandomReads,
    SecondCycles, SharedCacheBandwidth, SharedCacheLatency, Sharing, Stream, Waking,
};

metrics! {
    CACHE_READ_CYCLES = "cache_read_core_cycles", CORE_CYCLES, [CoreCycles; 3],
        "dependent reads at random of a block in the first cache, in cycles of the core beside them",
        "memory", "{question}", ["cpu", ""];
    SECOND_READ_CYCLES = "second_cache_read_core_cycles", CORE_CYCLES, [SecondCycles; 3],
        "the same of a block in the second cache", "memory", "{question}", ["cpu", ""];
    CACHE_READ = "cache_read_ns", NANOSECONDS, [CoreLatency; 3], "reads of a block in the first two caches where no cycles are known",
        "memory", "{question}", ["cpu", ""];
    PART_READ = "part_read_ns", NANOSECONDS, [LastCache; 3],
        "dependent reads at random of a block, page group by page group, as a last cache serves them",
        "memory", "{question}", ["block_bytes", ""];
    RANDOM_READ = "random_read_ns", NANOSECONDS, [RandomReads; 3],
        "dependent reads at random of more memory than caches hold, in huge pages as far as there are",
        "memory", "{question}, {block_bytes}", ["cpu", ""];
    SMALL_PAGE_READ = "small_page_read_ns", NANOSECONDS, [RandomReads; 3],
        "dependent reads at random of more memory than caches hold, in small pages";
    HUGE_PAGE_GAIN = "huge_page_gain_ratio", RATIO, [HugePages; 3],
        "time of random reads in small pages over that in huge pages, in adjacent windows";
    CPU_OVER_CPU = "cpu_over_cpu_ratio", RATIO, [CpuOverCpu; 3],
        "time of the same reads on one CPU over that on another, in adjacent windows",
        "cores", "{question}", ["cpu", "beside_cpu"];
    STREAM = "stream_bytes_per_s", BYTES_PER_S, [Stream; 3], "STREAM on a CPU, a node, all CPUs",
        "memory", "STREAM {kernel} {isa}{store}, {scope}", ["cpu", "node"];
    BANDWIDTH = "memory_bandwidth_bytes_per_s", BYTES_PER_S, [CacheBandwidth, SharedCacheBandwidth, MemoryBandwidth],
        "a loop over a block, in caches or memory", "memory", "{kernel} {isa}{store}", ["block_bytes", ""];
    LATENCY = "memory_latency_ns", NANOSECONDS, [CoreLatency, SharedCacheLatency, MemoryLatency],
        "dependent loads in random order through every stride of a block, in caches or memory",
        "memory", "latency, {page_bytes} pages", ["block_bytes", "stride_bytes"];
    PARALLEL = "memory_latency_parallel_ns", NANOSECONDS, [MemoryLatency; 3],
        "a load, of several independent chains in one thread",
        "memory", "parallel chains, per load", ["block_bytes", "chains"];
    LOADED = "memory_latency_loaded_ns", NANOSECONDS, [LoadedLatency; 3],
        "dependent loads while so many other CPUs stream", "memory", "latency, {loading}", ["cpu", ""];
    WALKS = "translation_ns", NANOSECONDS, [PageWalks; 3],
        "what a load takes more with each line on a page of its own than on packed lines";
    TLB_MISS = "tlb_miss_ns", NANOSECONDS, [PageWalks; 3], "what a miss of a TLB adds, from translation_ns",
        "memory", "miss of TLB level {level}", ["", ""];
    PAGE_WALK = "page_walk_ns", NANOSECONDS, [PageWalks; 3], "what a page walk adds, from translation_ns",
        "memory", "page walk", ["", ""];
    LINE_TRANSFER = "line_transfer_ns", NANOSECONDS, [LineTransfer; 3],
        "a cache line from CPU to CPU, half of a round trip", "cores", "line by {protocol}", ["cpu", "beside_cpu"];
    SHARING = "sharing_ratio", RATIO, [Sharing; 3], "time of a loop while another CPU runs the same, over alone",
        "cores", "beside another CPU, {resource}", ["cpu", "beside_cpu"];
    UNLIKE = "sharing_unlike_ratio", RATIO, [Sharing; 3],
        "time of a loop while another CPU runs one of another class, over alone",
        "cores", "{class} beside {beside}", ["cpu", "beside_cpu"];
    WAKE = "wake_up_ns", NANOSECONDS, [Waking; 3],
        "from the call to the first instruction of a thread that slept, median",
        "cores", "waking a CPU", ["idle_us", "cpu"];
    CLOCK_READ = "clock_read_ns", NANOSECONDS, [ClockReads; 3], "a read of the time", "clocks", "{name}", ["cpu", ""];
    COMPUTE = "compute_iterations_per_s", ITERATIONS_PER_S, [Arithmetic; 3], "a loop that touches no memory",
        CONTROLS, "{kernel} {ISA}", ["cpu", ""];
    MULTIPLY = "multiply_ns", NANOSECONDS, [CoreClock; 3], "a dependent multiply, the control loop",
        CONTROLS, "integer multiply chain", ["cpu", ""];
    CORE_CLOCK = "core_clock_hz", HERTZ, [CoreClock; 3], "the clock of a core, from multiply_ns",
        "cores", "core clock", ["cpu", ""];
    NODE_LATENCY = "node_latency_ns", NANOSECONDS, [MemoryLatency; 3],
        "dependent loads in random order from the memory of a node";
    NODE_BANDWIDTH = "node_bandwidth_bytes_per_s", BYTES_PER_S, [MemoryBandwidth; 3], "a loop over the memory of a node";
    PACKAGE_BANDWIDTH = "package_bandwidth_bytes_per_s", BYTES_PER_S, [Stream; 3],
        "triad of CPUs of one package together, each in its own memory";
    NODE_LOADED = "node_latency_loaded_ns", NANOSECONDS, [LoadedLatency; 3],
        "dependent loads from the memory of a node where so many CPUs stream";
}

//! The numbers of a record, one row each.
//!
//! A metric's name holds what was measured and with which parameters, and no CPU: `metric`, `cpu` and `mem_node` together are what
//! nodes are compared by.

use std::collections::BTreeSet;

use machine::{CpuId, CpuSet, NodeId};
use record::{MetricRow, NodeRow, Quality, Record, Spread, word};
use stats::{Interval, RowClass};

/// Reads of a coarse clock are left out, as comparisons leave them out: in unchanged runs they take 18 or 28 cycles, by where code
/// lies in memory.
const COARSE: &str = "_COARSE)";

/// The unit of a number, and which direction is the good one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Nanoseconds,
    BytesPerSecond,
    IterationsPerSecond,
    Ratio,
}

impl Unit {
    const fn name(self) -> &'static str {
        match self {
            Self::Nanoseconds => "ns",
            Self::BytesPerSecond => "bytes_per_s",
            Self::IterationsPerSecond => "iterations_per_s",
            Self::Ratio => "ratio",
        }
    }

    const fn higher_is_better(self) -> bool {
        matches!(self, Self::BytesPerSecond | Self::IterationsPerSecond)
    }
}

/// Which CPUs a number is of.
#[derive(Debug, Clone, Copy)]
enum Place<'p> {
    One(CpuId),
    Together(&'p CpuSet),
    /// The first is measured.
    Pair(CpuId, CpuId),
    Machine,
}

/// A number with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Number {
    value: f64,
    interval: Option<Interval>,
    windows: usize,
    quality: Quality,
}

impl Number {
    fn new(value: f64, spread: &Spread) -> Self {
        Self { value, interval: Some(spread.interval), windows: spread.windows, quality: spread.quality }
    }
}

/// A number of a run, under the name by which nodes are compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    metric: String,
    cpu: Option<String>,
    socket: Option<i64>,
    mem_node: Option<u32>,
    class: RowClass,
    unit: Unit,
    number: Number,
}

impl Measured {
    /// What is compared between nodes.
    pub fn key(&self) -> String {
        key(&self.metric, self.cpu.as_deref(), self.mem_node)
    }

    pub fn family(&self) -> &'static str {
        self.class.name()
    }

    /// The package of its CPUs, if it is one.
    pub fn socket(&self) -> Option<i64> {
        self.socket
    }

    /// As a logarithm of which more is worse; `None` if it has no single value.
    pub fn worse_log(&self) -> Option<f64> {
        worse_log(self.number.value, self.unit.higher_is_better(), self.number.quality)
    }

    /// As a row of a run.
    pub(super) fn row(&self, run: &NodeRow) -> MetricRow {
        MetricRow {
            node: run.node.clone(),
            run_id: run.run_id.clone(),
            started_utc: run.started_utc.clone(),
            boot_id: run.boot_id.clone(),
            tool_version: run.tool_version.clone(),
            kernel_set_version: run.kernel_set_version,
            preset: run.preset.clone(),
            experiment: run.experiment.clone(),
            arm: run.arm.clone(),
            metric: self.metric.clone(),
            family: self.family().to_owned(),
            cpu: self.cpu.clone(),
            socket: self.socket,
            mem_node: self.mem_node,
            unit: self.unit.name().to_owned(),
            higher_is_better: self.unit.higher_is_better(),
            n: self.number.windows as u64,
            estimate: self.number.value,
            ci_lo: self.number.interval.map(|interval| interval.low),
            ci_hi: self.number.interval.map(|interval| interval.high),
            quality: self.number.quality,
            others_share: run.others_share,
            steal_share: run.steal_share,
            partial: run.partial.is_some(),
        }
    }
}

/// What is compared between nodes: sockets of a node are never mixed.
pub(crate) fn key(metric: &str, cpu: Option<&str>, mem_node: Option<u32>) -> String {
    let cpu = cpu.map_or_else(String::new, |cpu| format!(" cpu {cpu}"));
    let node = mem_node.map_or_else(String::new, |node| format!(" node {node}"));
    [metric, &cpu, &node].concat()
}

/// A number as a logarithm of which more is worse; `None` if it has no single value.
pub(crate) fn worse_log(value: f64, higher_is_better: bool, quality: Quality) -> Option<f64> {
    let is_one = value > 0.0 && value.is_finite() && quality != Quality::Unstable;
    is_one.then(|| if higher_is_better { -value.ln() } else { value.ln() })
}

/// Numbers in the making.
struct Numbers<'r> {
    record: &'r Record,
    rows: Vec<Measured>,
    seen: BTreeSet<String>,
}

/// Every number of a record.
pub(super) fn numbers(record: &Record) -> Vec<Measured> {
    let mut numbers = Numbers { record, rows: Vec::new(), seen: BTreeSet::new() };
    numbers.bandwidths();
    numbers.latencies();
    numbers.translation();
    numbers.pairs();
    numbers.cores();
    numbers.sockets();
    numbers.rows
}

impl Numbers<'_> {
    /// Adds a number, in the memory of a node where one was chosen, unless it means nothing or the first of its kind is there.
    fn add(
        &mut self,
        metric: String,
        class: RowClass,
        unit: Unit,
        (place, memory): (Place<'_>, Option<NodeId>),
        number: Number,
    ) {
        if !(number.value.is_finite() && number.value > 0.0) {
            return;
        }
        let cpu = match place {
            Place::One(cpu) => Some(cpu.0.to_string()),
            Place::Together(cpus) => Some(cpus.to_string()),
            Place::Pair(measured, other) => Some(format!("{}>{}", measured.0, other.0)),
            Place::Machine => None,
        };
        let mem_node = memory.map(|node| node.0);
        if !self.seen.insert(key(&metric, cpu.as_deref(), mem_node)) {
            return;
        }
        // An interval that does not hold its number, or has no ends, is no interval of it.
        let interval = number.interval.filter(|interval| interval.contains(number.value));
        let interval = interval.filter(|interval| interval.low.is_finite() && interval.high.is_finite());
        self.rows.push(Measured {
            metric,
            cpu,
            socket: self.socket(place),
            mem_node,
            class,
            unit,
            number: Number { interval, ..number },
        });
    }

    /// The package of all CPUs of a place, if it is one and known.
    fn socket(&self, place: Place<'_>) -> Option<i64> {
        let package = |cpu: CpuId| self.record.machine.topology.cpu(cpu).map(|cpu| cpu.package);
        let mut packages: Vec<Option<i64>> = match place {
            Place::One(cpu) => vec![package(cpu)],
            Place::Together(cpus) => cpus.iter().map(package).collect(),
            Place::Pair(measured, other) => vec![package(measured), package(other)],
            Place::Machine => Vec::new(),
        };
        packages.dedup();
        match packages.as_slice() {
            [Some(package)] if *package >= 0 => Some(*package),
            _ => None,
        }
    }

    fn bandwidths(&mut self) {
        const CLASSES: [RowClass; 3] =
            [RowClass::CacheBandwidth, RowClass::SharedCacheBandwidth, RowClass::MemoryBandwidth];
        let memory = &self.record.memory;
        for one in &memory.stream {
            let metric = format!("stream/{}/{}/{}", one.kernel, one.isa, one.store);
            let number = Number::new(one.bytes_per_s, &one.spread);
            self.rate(metric, RowClass::Stream, (Place::Together(&one.cpus), one.node), number);
        }
        let levels = memory.block_levels();
        for one in &memory.bandwidth {
            let (kernel, isa, store, block) = (&one.kernel, &one.isa, &one.store, one.block_bytes);
            let metric = format!("bandwidth/{kernel}/{isa}/{store}/block={}", block.0);
            let class = by_level(levels.of_block(block), CLASSES);
            let number = Number::new(one.bytes_per_s, &one.spread);
            self.rate(metric, class, (Place::Together(&one.cpus), None), number);
        }
    }

    fn latencies(&mut self) {
        const CLASSES: [RowClass; 3] =
            [RowClass::CoreLatency, RowClass::SharedCacheLatency, RowClass::MemoryLatency];
        let memory = &self.record.memory;
        for one in &memory.latency {
            let (block, stride, page) = (one.block_bytes.0, one.stride_bytes.0, one.page_bytes.0);
            let metric = format!("latency/block={block}/stride={stride}/page={page}");
            let class = by_level(one.level.as_deref(), CLASSES);
            self.time(metric, class, Place::One(one.cpu), Number::new(one.ns, &one.spread));
        }
        for one in &memory.orders {
            let (block, page) = (one.block_bytes.0, one.page_bytes.0);
            let metric = format!("order/{}/block={block}/page={page}", word(&one.order));
            let number = Number::new(one.ns, &one.spread);
            self.time(metric, RowClass::MemoryLatency, Place::One(one.cpu), number);
        }
        for one in &memory.parallel {
            let metric = format!("parallel/chains={}/block={}", one.chains, one.block_bytes.0);
            let number = Number::new(one.ns_per_load, &one.spread);
            self.time(metric, RowClass::MemoryLatency, Place::One(one.cpu), number);
        }
        for one in &memory.loaded {
            let metric = format!("loaded/by={}", one.loading.len());
            let number = Number::new(one.ns, &one.spread);
            self.time(metric, RowClass::LoadedLatency, Place::One(one.cpu), number);
        }
    }

    fn translation(&mut self) {
        for one in &self.record.memory.walks {
            let metric = format!("walk/pages={}/page={}", one.pages, one.page_bytes.0);
            let number = Number::new(one.delta_ns, &one.spread);
            self.time(metric, RowClass::PageWalks, Place::One(one.cpu), number);
        }
        let levels = &self.record.levels;
        let derived = |value, interval| Number { value, interval, windows: 0, quality: Quality::Converged };
        for tlb in &levels.tlbs {
            let number = derived(tlb.miss_ns, Some(tlb.miss_interval));
            let metric = format!("tlb-miss/level={}", tlb.level);
            self.time(metric, RowClass::PageWalks, Place::Machine, number);
        }
        if let Some(ns) = levels.walk_ns {
            let number = derived(ns, levels.walk_interval);
            self.time("page-walk".to_owned(), RowClass::PageWalks, Place::Machine, number);
        }
    }

    fn pairs(&mut self) {
        let cores = &self.record.cores;
        for one in &cores.line_transfer {
            let (metric, place) = (format!("line/{}", one.protocol), Place::Pair(one.a, one.b));
            self.time(metric, RowClass::LineTransfer, place, Number::new(one.ns, &one.spread));
        }
        for one in &cores.sharing {
            let (metric, place) = (format!("sharing/{}", one.resource), Place::Pair(one.a, one.b));
            let number = Number::new(one.slowdown, &one.spread);
            self.add(metric, RowClass::Sharing, Unit::Ratio, (place, None), number);
        }
        for one in &cores.unlike {
            let metric = format!("unlike/{}/{}", one.class, one.beside);
            let number = Number::new(one.slowdown, &one.spread);
            self.add(metric, RowClass::Sharing, Unit::Ratio, (Place::Pair(one.a, one.b), None), number);
        }
        for one in &cores.wake {
            let metric = format!("wake/idle_us={}", one.idle_us);
            let place = Place::Pair(one.sleeper, one.waker);
            self.time(metric, RowClass::Waking, place, Number::new(one.ns, &one.spread));
        }
    }

    fn cores(&mut self) {
        let cores = &self.record.cores;
        for one in &cores.control {
            let number = Number::new(one.multiply_ns, &one.spread);
            self.time("multiply".to_owned(), RowClass::CoreClock, Place::One(one.cpu), number);
        }
        for one in &cores.compute {
            let metric = format!("compute/{}/{}", one.kernel, one.isa);
            let (unit, place) = (Unit::IterationsPerSecond, (Place::One(one.cpu), None));
            let number = Number::new(one.iterations_per_s, &one.spread);
            self.add(metric, RowClass::Arithmetic, unit, place, number);
        }
        for one in self.record.clocks.iter().filter(|read| !read.name.ends_with(COARSE)) {
            let number = Number::new(one.ns, &one.spread);
            self.time(format!("clock/{}", one.name), RowClass::ClockReads, Place::One(one.cpu), number);
        }
    }

    /// What was measured from CPUs to the memory of nodes.
    fn sockets(&mut self) {
        let Some(sockets) = &self.record.sockets else { return };
        for one in &sockets.latency {
            let (place, number) = ((Place::One(one.cpu), Some(one.node)), Number::new(one.ns, &one.spread));
            self.add("node-latency".to_owned(), RowClass::MemoryLatency, Unit::Nanoseconds, place, number);
        }
        for one in &sockets.bandwidth {
            let metric = format!("node-bandwidth/{}/{}/{}", one.kernel, one.isa, one.store);
            let number = Number::new(one.bytes_per_s, &one.spread);
            self.rate(metric, RowClass::MemoryBandwidth, (Place::One(one.cpu), Some(one.node)), number);
        }
        for one in &sockets.scaling {
            let number = Number::new(one.bytes_per_s, &one.spread);
            let place = (Place::Together(&one.cpus), None);
            self.rate("package-scaling".to_owned(), RowClass::Stream, place, number);
        }
        for one in &sockets.loaded {
            let metric = format!("node-loaded/by={}", one.point.loading.len());
            let place = (Place::One(one.point.cpu), Some(one.node));
            let number = Number::new(one.point.ns, &one.point.spread);
            self.add(metric, RowClass::LoadedLatency, Unit::Nanoseconds, place, number);
        }
    }

    fn time(&mut self, metric: String, class: RowClass, place: Place<'_>, number: Number) {
        self.add(metric, class, Unit::Nanoseconds, (place, None), number);
    }

    fn rate(&mut self, metric: String, class: RowClass, place: (Place<'_>, Option<NodeId>), number: Number) {
        self.add(metric, class, Unit::BytesPerSecond, place, number);
    }
}

/// The class of what the first two levels, those behind them, and memory serve.
fn by_level(level: Option<&str>, [own, shared, memory]: [RowClass; 3]) -> RowClass {
    match level {
        Some("L1" | "L2") => own,
        None | Some("memory") => memory,
        Some(_) => shared,
    }
}

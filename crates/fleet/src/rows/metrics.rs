//! The numbers of a record, one row each.
//!
//! A metric's name holds what was measured and with which parameters, and no CPU: `metric`, `cpu` and `mem_node` together are what
//! nodes are compared by.

use std::collections::BTreeSet;

use machine::{CpuId, CpuSet, NodeId};
use record::{ChaseOrder, MetricRow, NodeRow, Quality, Record, Spread};
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

/// What a number is about.
struct Heading<'p> {
    metric: String,
    class: RowClass,
    unit: Unit,
    place: Place<'p>,
    memory: Option<NodeId>,
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

    /// Its class.
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
    /// Adds a row unless the number means nothing or the first of its kind is there.
    fn add(&mut self, heading: Heading<'_>, number: Number) {
        if !(number.value.is_finite() && number.value > 0.0) {
            return;
        }
        let cpu = match heading.place {
            Place::One(cpu) => Some(cpu.0.to_string()),
            Place::Together(cpus) => Some(cpus.to_string()),
            Place::Pair(measured, other) => Some(format!("{}>{}", measured.0, other.0)),
            Place::Machine => None,
        };
        let mem_node = heading.memory.map(|node| node.0);
        if !self.seen.insert(key(&heading.metric, cpu.as_deref(), mem_node)) {
            return;
        }
        // An interval that does not hold its number, or has no ends, is no interval of it.
        let interval = number.interval.filter(|interval| interval.contains(number.value));
        let interval = interval.filter(|interval| interval.low.is_finite() && interval.high.is_finite());
        self.rows.push(Measured {
            metric: heading.metric,
            cpu,
            socket: self.socket(heading.place),
            mem_node,
            class: heading.class,
            unit: heading.unit,
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
        for result in &memory.stream {
            let heading = Heading {
                metric: format!("stream/{}/{}/{}", result.kernel, result.isa, result.store),
                class: RowClass::Stream,
                unit: Unit::BytesPerSecond,
                place: Place::Together(&result.cpus),
                memory: result.node,
            };
            self.add(heading, Number::new(result.bytes_per_s, &result.spread));
        }
        let levels = memory.block_levels();
        for point in &memory.bandwidth {
            let (kernel, isa, store) = (&point.kernel, &point.isa, &point.store);
            let heading = Heading {
                metric: format!("bandwidth/{kernel}/{isa}/{store}/block={}", point.block_bytes.0),
                class: by_level(levels.of_block(point.block_bytes), CLASSES),
                unit: Unit::BytesPerSecond,
                place: Place::Together(&point.cpus),
                memory: None,
            };
            self.add(heading, Number::new(point.bytes_per_s, &point.spread));
        }
    }

    fn latencies(&mut self) {
        const CLASSES: [RowClass; 3] =
            [RowClass::CoreLatency, RowClass::SharedCacheLatency, RowClass::MemoryLatency];
        let memory = &self.record.memory;
        for cell in &memory.latency {
            let (block, stride, page) = (cell.block_bytes.0, cell.stride_bytes.0, cell.page_bytes.0);
            let metric = format!("latency/block={block}/stride={stride}/page={page}");
            let class = by_level(cell.level.as_deref(), CLASSES);
            self.nanoseconds(metric, class, Place::One(cell.cpu), Number::new(cell.ns, &cell.spread));
        }
        for result in &memory.orders {
            let order = match result.order {
                ChaseOrder::Sequential => "sequential",
                ChaseOrder::PageConfined => "page_confined",
                ChaseOrder::Random => "random",
            };
            let metric = format!("order/{order}/block={}/page={}", result.block_bytes.0, result.page_bytes.0);
            let number = Number::new(result.ns, &result.spread);
            self.nanoseconds(metric, RowClass::MemoryLatency, Place::One(result.cpu), number);
        }
        for result in &memory.parallel {
            let metric = format!("parallel/chains={}/block={}", result.chains, result.block_bytes.0);
            let number = Number::new(result.ns_per_load, &result.spread);
            self.nanoseconds(metric, RowClass::MemoryLatency, Place::One(result.cpu), number);
        }
        for result in &memory.loaded {
            let metric = format!("loaded/by={}", result.loading.len());
            let number = Number::new(result.ns, &result.spread);
            self.nanoseconds(metric, RowClass::LoadedLatency, Place::One(result.cpu), number);
        }
    }

    fn translation(&mut self) {
        for point in &self.record.memory.walks {
            let metric = format!("walk/pages={}/page={}", point.pages, point.page_bytes.0);
            let number = Number::new(point.delta_ns, &point.spread);
            self.nanoseconds(metric, RowClass::PageWalks, Place::One(point.cpu), number);
        }
        let levels = &self.record.levels;
        let derived = |value, interval| Number { value, interval, windows: 0, quality: Quality::Converged };
        for tlb in &levels.tlbs {
            let number = derived(tlb.miss_ns, Some(tlb.miss_interval));
            self.nanoseconds(
                format!("tlb-miss/level={}", tlb.level),
                RowClass::PageWalks,
                Place::Machine,
                number,
            );
        }
        if let Some(ns) = levels.walk_ns {
            let number = derived(ns, levels.walk_interval);
            self.nanoseconds("page-walk".to_owned(), RowClass::PageWalks, Place::Machine, number);
        }
    }

    fn pairs(&mut self) {
        let cores = &self.record.cores;
        for result in &cores.line_transfer {
            let number = Number::new(result.ns, &result.spread);
            let place = Place::Pair(result.a, result.b);
            self.nanoseconds(format!("line/{}", result.protocol), RowClass::LineTransfer, place, number);
        }
        for result in &cores.sharing {
            let place = Place::Pair(result.a, result.b);
            self.slowdown(
                format!("sharing/{}", result.resource),
                place,
                Number::new(result.slowdown, &result.spread),
            );
        }
        for result in &cores.unlike {
            let metric = format!("unlike/{}/{}", result.class, result.beside);
            let place = Place::Pair(result.a, result.b);
            self.slowdown(metric, place, Number::new(result.slowdown, &result.spread));
        }
        for point in &cores.wake {
            let metric = format!("wake/idle_us={}", point.idle_us);
            let place = Place::Pair(point.sleeper, point.waker);
            self.nanoseconds(metric, RowClass::Waking, place, Number::new(point.ns, &point.spread));
        }
    }

    fn cores(&mut self) {
        let cores = &self.record.cores;
        for control in &cores.control {
            let number = Number::new(control.multiply_ns, &control.spread);
            self.nanoseconds("multiply".to_owned(), RowClass::CoreClock, Place::One(control.cpu), number);
        }
        for result in &cores.compute {
            let heading = Heading {
                metric: format!("compute/{}/{}", result.kernel, result.isa),
                class: RowClass::Arithmetic,
                unit: Unit::IterationsPerSecond,
                place: Place::One(result.cpu),
                memory: None,
            };
            self.add(heading, Number::new(result.iterations_per_s, &result.spread));
        }
        for read in self.record.clocks.iter().filter(|read| !read.name.ends_with(COARSE)) {
            let number = Number::new(read.ns, &read.spread);
            let metric = format!("clock/{}", read.name);
            self.nanoseconds(metric, RowClass::ClockReads, Place::One(read.cpu), number);
        }
    }

    /// What was measured from CPUs to the memory of nodes.
    fn sockets(&mut self) {
        let Some(sockets) = &self.record.sockets else { return };
        let heading = |metric, class, unit, place, memory| Heading { metric, class, unit, place, memory };
        for result in &sockets.latency {
            let metric = "node-latency".to_owned();
            let place = Place::One(result.cpu);
            let number = Number::new(result.ns, &result.spread);
            let class = RowClass::MemoryLatency;
            self.add(heading(metric, class, Unit::Nanoseconds, place, Some(result.node)), number);
        }
        for result in &sockets.bandwidth {
            let metric = format!("node-bandwidth/{}/{}/{}", result.kernel, result.isa, result.store);
            let (place, class) = (Place::One(result.cpu), RowClass::MemoryBandwidth);
            let number = Number::new(result.bytes_per_s, &result.spread);
            self.add(heading(metric, class, Unit::BytesPerSecond, place, Some(result.node)), number);
        }
        for result in &sockets.scaling {
            let (place, class) = (Place::Together(&result.cpus), RowClass::Stream);
            let number = Number::new(result.bytes_per_s, &result.spread);
            self.add(heading("package-scaling".to_owned(), class, Unit::BytesPerSecond, place, None), number);
        }
        for result in &sockets.loaded {
            let metric = format!("node-loaded/by={}", result.point.loading.len());
            let (place, class) = (Place::One(result.point.cpu), RowClass::LoadedLatency);
            let number = Number::new(result.point.ns, &result.point.spread);
            self.add(heading(metric, class, Unit::Nanoseconds, place, Some(result.node)), number);
        }
    }

    fn nanoseconds(&mut self, metric: String, class: RowClass, place: Place<'_>, number: Number) {
        self.add(Heading { metric, class, unit: Unit::Nanoseconds, place, memory: None }, number);
    }

    fn slowdown(&mut self, metric: String, place: Place<'_>, number: Number) {
        let class = RowClass::Sharing;
        self.add(Heading { metric, class, unit: Unit::Ratio, place, memory: None }, number);
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

//! Every result of a record as one row in long form, for spreadsheets and scripts.

use machine::{Bytes, CpuId, CpuSet, NodeId};
use record::{Record, Scope, Sockets, Spread};
use stats::Interval;

use crate::naming;
use crate::page::{Cell, Column, Page, Row, Section, Table};

/// The columns; a row leaves empty what does not apply. `parameter` is the x of curves that have no block:
/// its unit is in the name, as in `wake(idle_us)`.
const COLUMNS: [&str; 18] = [
    "section",
    "name",
    "scope",
    "cpu",
    "other_cpu",
    "cpus",
    "block_bytes",
    "stride_bytes",
    "page_bytes",
    "parameter",
    "value",
    "unit",
    "low",
    "high",
    "mappings",
    "windows",
    "dropped",
    "quality",
];

/// The results of a record: one table, a line each.
pub fn results_page(record: &Record) -> Page {
    let mut rows = Vec::new();
    levels(&mut rows, record);
    bandwidth(&mut rows, record);
    latency(&mut rows, record);
    record.sockets.iter().for_each(|measured| sockets(&mut rows, measured));
    cores(&mut rows, record);
    for read in &record.clocks {
        rows.push(line("clocks", &read.name).cpu(read.cpu).measured(read.ns, "ns", &read.spread));
    }
    let columns = COLUMNS.map(|title| Column { title: title.into(), ..Column::default() });
    let table = Table { id: "results", columns: columns.into(), rows, is_data: true, ..Table::default() };
    Page { sections: vec![Section::new("results", "").table(table)], ..Page::default() }
}

/// A row in the making: its section and name stand, the rest is empty.
#[derive(Clone)]
struct Line([Cell; COLUMNS.len()]);

/// A row of that section and name.
fn line(section: &str, name: impl Into<String>) -> Line {
    Line(Default::default()).put(0, section).put(1, name.into())
}

/// A number for programs.
fn number(value: f64) -> Cell {
    Cell::shown("", value)
}

impl Line {
    fn put(mut self, column: usize, value: impl Into<Cell>) -> Self {
        self.0[column] = value.into();
        self
    }

    fn scope(self, scope: Scope) -> Self {
        self.put(2, naming::word(&scope))
    }

    fn cpu(self, cpu: impl Into<Option<CpuId>>) -> Self {
        self.put(3, cpu.into())
    }

    fn pair(self, cpu: CpuId, other: CpuId) -> Self {
        self.cpu(cpu).put(4, other)
    }

    fn cpus(self, cpus: &CpuSet) -> Self {
        self.put(5, cpus.to_string())
    }

    fn block(self, bytes: Bytes) -> Self {
        self.put(6, bytes)
    }

    fn stride(self, bytes: Bytes) -> Self {
        self.put(7, bytes)
    }

    fn page(self, bytes: Bytes) -> Self {
        self.put(8, bytes)
    }

    fn parameter(self, value: f64) -> Self {
        self.put(9, number(value))
    }

    /// The row of a measured value.
    fn measured(self, value: f64, unit: &str, spread: &Spread) -> Row {
        let Spread { interval, mappings, windows, dropped, quality, .. } = spread;
        let line = self.put(14, *mappings).put(15, *windows).put(16, *dropped);
        line.put(17, naming::word(quality)).derived(value, unit, Some(*interval))
    }

    /// The row of a value that was made of others.
    fn derived(self, value: f64, unit: &str, interval: Option<Interval>) -> Row {
        let [low, high] = [interval.map(|ends| ends.low), interval.map(|ends| ends.high)];
        let line = self.put(10, number(value)).put(11, unit);
        let line = line.put(12, low.map(number)).put(13, high.map(number));
        Row { cells: line.0.into(), detail: None }
    }
}

/// CPUs against nodes; the node is the parameter.
fn sockets(rows: &mut Vec<Row>, sockets: &Sockets) {
    let of_node =
        |cpu: CpuId, node: NodeId, name: &str| line("sockets", name).cpu(cpu).parameter(f64::from(node.0));
    for one in &sockets.latency {
        rows.push(of_node(one.cpu, one.node, "latency(node)").measured(one.ns, "ns", &one.spread));
    }
    for one in &sockets.bandwidth {
        let name = format!("{} {} {}(node)", one.kernel, one.isa, one.store);
        rows.push(of_node(one.cpu, one.node, &name).measured(one.bytes_per_s, "bytes_per_s", &one.spread));
    }
    for one in &sockets.concurrency {
        let name = format!("lines in flight {}(node)", one.kernel);
        rows.push(of_node(one.cpu, one.node, &name).derived(one.lines, "lines", Some(one.interval)));
    }
    for one in &sockets.loaded {
        let line = of_node(one.point.cpu, one.node, "loaded latency(node)").cpus(&one.point.loading);
        rows.push(line.measured(one.point.ns, "ns", &one.point.spread));
    }
    for one in &sockets.scaling {
        let line = line("sockets", "triad together").cpus(&one.cpus);
        rows.push(line.measured(one.bytes_per_s, "bytes_per_s", &one.spread));
    }
    for (of, one) in sockets.equality.iter().flat_map(|of| of.rows.iter().map(move |row| (of, row))) {
        let line = line("sockets", format!("{} over that of the others", of.quantity)).cpu(one.cpu);
        rows.push(line.derived(one.ratio, "ratio", Some(one.interval)));
    }
    for one in &sockets.line_transfer {
        let line = line("sockets", format!("line {}", one.protocol)).pair(one.a, one.b);
        rows.push(line.measured(one.ns, "ns", &one.spread));
    }
}

fn levels(rows: &mut Vec<Row>, record: &Record) {
    for level in &record.levels.caches {
        let line = |what: &str| line("levels", format!("{} {what}", level.name));
        if let Some(size) = level.size_bytes {
            rows.push(line("size").derived(size.0 as f64, "bytes", level.size_interval));
        }
        if let Some(claimed) = level.claimed_bytes {
            rows.push(line("claimed size").derived(claimed.0 as f64, "bytes", None));
        }
        rows.push(line("latency").derived(level.ns, "ns", Some(level.ns_interval)));
        if let Some(rate) = level.read_bytes_per_s {
            rows.push(line("read bandwidth").derived(rate, "bytes_per_s", level.read_interval));
        }
    }
    for tlb in &record.levels.tlbs {
        let line = |what: &str| line("tlb", format!("level {} {what}", tlb.level));
        rows.push(line("entries").derived(tlb.entries as f64, "entries", Some(tlb.entries_interval)));
        rows.push(line("miss").derived(tlb.miss_ns, "ns", Some(tlb.miss_interval)));
    }
    if let Some(ns) = record.levels.walk_ns {
        rows.push(line("tlb", "page walk").derived(ns, "ns", record.levels.walk_interval));
    }
    if let Some(gain) = record.levels.huge_page_gain {
        rows.push(line("tlb", "huge page gain").derived(gain, "share", record.levels.huge_page_interval));
    }
}

fn bandwidth(rows: &mut Vec<Row>, record: &Record) {
    for one in &record.memory.stream {
        let line = line("stream", format!("{} {} {}", one.kernel, one.isa, one.store));
        let line = line.scope(one.scope).cpu(one.cpu).cpus(&one.cpus).block(one.block_bytes);
        rows.push(line.measured(one.bytes_per_s, "bytes_per_s", &one.spread));
    }
    for one in &record.memory.bandwidth {
        let line = line("bandwidth", format!("{} {} {}", one.kernel, one.isa, one.store));
        let line = line.scope(one.scope).cpus(&one.cpus).block(one.block_bytes).page(one.page_bytes);
        rows.push(line.measured(one.bytes_per_s, "bytes_per_s", &one.spread));
    }
}

fn latency(rows: &mut Vec<Row>, record: &Record) {
    for cell in &record.memory.latency {
        let line = line("latency", cell.level.as_deref().unwrap_or("")).cpu(cell.cpu);
        let line = line.block(cell.block_bytes).stride(cell.stride_bytes).page(cell.page_bytes);
        rows.push(line.measured(cell.ns, "ns", &cell.spread));
    }
    for one in &record.memory.orders {
        let line = line("orders", naming::word(&one.order)).cpu(one.cpu);
        rows.push(line.block(one.block_bytes).page(one.page_bytes).measured(one.ns, "ns", &one.spread));
    }
    for point in &record.memory.walks {
        let line = line("walks", "delta(pages)").cpu(point.cpu).page(point.page_bytes);
        rows.push(line.parameter(point.pages as f64).measured(point.delta_ns, "ns", &point.spread));
    }
    for one in &record.memory.parallel {
        let line = line("parallel", "per_load(chains)").cpu(one.cpu).block(one.block_bytes);
        let line = line.page(one.page_bytes).parameter(one.chains as f64);
        rows.push(line.measured(one.ns_per_load, "ns", &one.spread));
    }
    for one in &record.memory.loaded {
        let line = line("loaded", "latency(load_bytes_per_s)").cpu(one.cpu).cpus(&one.loading);
        rows.push(line.parameter(one.load_bytes_per_s).measured(one.ns, "ns", &one.spread));
    }
}

fn cores(rows: &mut Vec<Row>, record: &Record) {
    for control in &record.cores.control {
        let line = |name: &str| line("control", name).cpu(control.cpu);
        rows.push(line("multiply").measured(control.multiply_ns, "ns", &control.spread));
        rows.push(line("core share").derived(control.core_share, "share", None));
        if let Some(hertz) = control.core_hz {
            rows.push(line("core clock").derived(hertz.0, "hertz", None));
        }
    }
    for pair in &record.cores.line_transfer {
        let line = line("line_transfer", &pair.protocol).pair(pair.a, pair.b);
        rows.push(line.measured(pair.ns, "ns", &pair.spread));
    }
    for pair in &record.cores.sharing {
        let line = line("sharing", &pair.resource).pair(pair.a, pair.b);
        rows.push(line.measured(pair.slowdown, "ratio", &pair.spread));
    }
    for pair in &record.cores.unlike {
        let line = line("sharing", format!("{} beside {}", pair.class, pair.beside)).pair(pair.a, pair.b);
        rows.push(line.measured(pair.slowdown, "ratio", &pair.spread));
    }
    for one in &record.cores.compute {
        let line = line("compute", format!("{} {}", one.kernel, one.isa)).cpu(one.cpu);
        rows.push(line.measured(one.iterations_per_s, "iterations_per_s", &one.spread));
    }
    for point in &record.cores.wake {
        let line = |name: &str| line("wake", name).pair(point.sleeper, point.waker).parameter(point.idle_us);
        rows.push(line("median(idle_us)").measured(point.ns, "ns", &point.spread));
        rows.push(line("p90(idle_us)").derived(point.p90_ns, "ns", None));
    }
}

//! Every result as one CSV row in long form, for spreadsheets and scripts.

use machine::{Bytes, CpuId};
use record::{Record, Scope, Sockets, Spread};
use stats::Interval;

use crate::escape::csv_text;
use crate::naming;
use crate::page::digits;

/// The columns; a row leaves empty what does not apply. `parameter` is the x of curves that have no block:
/// its unit is in the name, as in `wake(idle_us)`.
const COLUMNS: &str = "section,name,scope,cpu,other_cpu,cpus,block_bytes,stride_bytes,page_bytes,parameter,\
value,unit,low,high,mappings,windows,dropped,quality";

/// A line in the making: what stands before the value, names and coordinates, each as its field.
#[derive(Clone)]
struct Line([String; 10]);

/// A line of that section and name.
fn line(section: &str, name: impl AsRef<str>) -> Line {
    let mut fields = <[String; 10]>::default();
    (fields[0], fields[1]) = (section.to_owned(), csv_text(name.as_ref()));
    Line(fields)
}

impl Line {
    fn put(mut self, column: usize, value: String) -> Self {
        self.0[column] = value;
        self
    }

    fn scope(self, scope: Scope) -> Self {
        self.put(2, naming::word(&scope))
    }

    fn cpu(self, cpu: impl Into<Option<CpuId>>) -> Self {
        self.put(3, cpu.into().map_or_else(String::new, |cpu| cpu.to_string()))
    }

    fn pair(self, cpu: CpuId, other: CpuId) -> Self {
        self.cpu(cpu).put(4, other.to_string())
    }

    fn cpus(self, cpus: &machine::CpuSet) -> Self {
        self.put(5, csv_text(&cpus.to_string()))
    }

    fn block(self, bytes: Bytes) -> Self {
        self.put(6, bytes.0.to_string())
    }

    fn stride(self, bytes: Bytes) -> Self {
        self.put(7, bytes.0.to_string())
    }

    fn page(self, bytes: Bytes) -> Self {
        self.put(8, bytes.0.to_string())
    }

    fn parameter(self, value: f64) -> Self {
        self.put(9, digits(value))
    }

    fn ending(self, value: f64, unit: &str, interval: Option<Interval>, rest: &str) -> String {
        let [low, high] = interval.map(|ends| [ends.low, ends.high].map(digits)).unwrap_or_default();
        format!("{},{},{unit},{low},{high},{rest}\n", self.0.join(","), digits(value))
    }

    /// The line of a measured value.
    fn measured(self, value: f64, unit: &str, spread: &Spread) -> String {
        let Spread { interval, mappings, windows, dropped, quality, .. } = spread;
        let rest = format!("{mappings},{windows},{dropped},{}", naming::word(quality));
        self.ending(value, unit, Some(*interval), &rest)
    }

    /// The line of a value that was made of others.
    fn derived(self, value: f64, unit: &str, interval: Option<Interval>) -> String {
        self.ending(value, unit, interval, ",,,")
    }
}

/// All results of a record, one per line, with a header line.
pub fn csv(record: &Record) -> String {
    let mut text = format!("{COLUMNS}\n");
    levels(&mut text, record);
    bandwidth(&mut text, record);
    latency(&mut text, record);
    record.sockets.iter().for_each(|measured| sockets(&mut text, measured));
    cores(&mut text, record);
    for read in &record.clocks {
        text += &line("clocks", &read.name).cpu(read.cpu).measured(read.ns, "ns", &read.spread);
    }
    text
}

/// CPUs against nodes; the node is the parameter.
fn sockets(text: &mut String, sockets: &Sockets) {
    let of_node = |cpu: CpuId, node: machine::NodeId, name: &str| {
        line("sockets", name).cpu(cpu).parameter(f64::from(node.0))
    };
    for one in &sockets.latency {
        *text += &of_node(one.cpu, one.node, "latency(node)").measured(one.ns, "ns", &one.spread);
    }
    for one in &sockets.bandwidth {
        let name = format!("{} {} {}(node)", one.kernel, one.isa, one.store);
        *text += &of_node(one.cpu, one.node, &name).measured(one.bytes_per_s, "bytes_per_s", &one.spread);
    }
    for one in &sockets.concurrency {
        let name = format!("lines in flight {}(node)", one.kernel);
        *text += &of_node(one.cpu, one.node, &name).derived(one.lines, "lines", Some(one.interval));
    }
    for one in &sockets.loaded {
        let line = of_node(one.point.cpu, one.node, "loaded latency(node)").cpus(&one.point.loading);
        *text += &line.measured(one.point.ns, "ns", &one.point.spread);
    }
    for one in &sockets.scaling {
        let line = line("sockets", "triad together").cpus(&one.cpus);
        *text += &line.measured(one.bytes_per_s, "bytes_per_s", &one.spread);
    }
    for (of, one) in sockets.equality.iter().flat_map(|of| of.rows.iter().map(move |row| (of, row))) {
        let line = line("sockets", format!("{} over that of the others", of.quantity)).cpu(one.cpu);
        *text += &line.derived(one.ratio, "ratio", Some(one.interval));
    }
    for one in &sockets.line_transfer {
        let line = line("sockets", format!("line {}", one.protocol)).pair(one.a, one.b);
        *text += &line.measured(one.ns, "ns", &one.spread);
    }
}

fn levels(text: &mut String, record: &Record) {
    for level in &record.levels.caches {
        let line = |what: &str| line("levels", format!("{} {what}", level.name));
        if let Some(size) = level.size_bytes {
            *text += &line("size").derived(size.0 as f64, "bytes", level.size_interval);
        }
        if let Some(claimed) = level.claimed_bytes {
            *text += &line("claimed size").derived(claimed.0 as f64, "bytes", None);
        }
        *text += &line("latency").derived(level.ns, "ns", Some(level.ns_interval));
        if let Some(rate) = level.read_bytes_per_s {
            *text += &line("read bandwidth").derived(rate, "bytes_per_s", level.read_interval);
        }
    }
    for tlb in &record.levels.tlbs {
        let line = |what: &str| line("tlb", format!("level {} {what}", tlb.level));
        *text += &line("entries").derived(tlb.entries as f64, "entries", Some(tlb.entries_interval));
        *text += &line("miss").derived(tlb.miss_ns, "ns", Some(tlb.miss_interval));
    }
    if let Some(ns) = record.levels.walk_ns {
        *text += &line("tlb", "page walk").derived(ns, "ns", record.levels.walk_interval);
    }
    if let Some(gain) = record.levels.huge_page_gain {
        *text += &line("tlb", "huge page gain").derived(gain, "share", record.levels.huge_page_interval);
    }
}

fn bandwidth(text: &mut String, record: &Record) {
    for one in &record.memory.stream {
        let line = line("stream", format!("{} {} {}", one.kernel, one.isa, one.store));
        let line = line.scope(one.scope).cpu(one.cpu).cpus(&one.cpus).block(one.block_bytes);
        *text += &line.measured(one.bytes_per_s, "bytes_per_s", &one.spread);
    }
    for one in &record.memory.bandwidth {
        let line = line("bandwidth", format!("{} {} {}", one.kernel, one.isa, one.store));
        let line = line.scope(one.scope).cpus(&one.cpus).block(one.block_bytes).page(one.page_bytes);
        *text += &line.measured(one.bytes_per_s, "bytes_per_s", &one.spread);
    }
}

fn latency(text: &mut String, record: &Record) {
    for cell in &record.memory.latency {
        let line = line("latency", cell.level.as_deref().unwrap_or("")).cpu(cell.cpu);
        let line = line.block(cell.block_bytes).stride(cell.stride_bytes).page(cell.page_bytes);
        *text += &line.measured(cell.ns, "ns", &cell.spread);
    }
    for one in &record.memory.orders {
        let line = line("orders", naming::word(&one.order)).cpu(one.cpu);
        *text += &line.block(one.block_bytes).page(one.page_bytes).measured(one.ns, "ns", &one.spread);
    }
    for point in &record.memory.walks {
        let line = line("walks", "delta(pages)").cpu(point.cpu).page(point.page_bytes);
        *text += &line.parameter(point.pages as f64).measured(point.delta_ns, "ns", &point.spread);
    }
    for one in &record.memory.parallel {
        let line = line("parallel", "per_load(chains)").cpu(one.cpu).block(one.block_bytes);
        let line = line.page(one.page_bytes).parameter(one.chains as f64);
        *text += &line.measured(one.ns_per_load, "ns", &one.spread);
    }
    for one in &record.memory.loaded {
        let line = line("loaded", "latency(load_bytes_per_s)").cpu(one.cpu).cpus(&one.loading);
        *text += &line.parameter(one.load_bytes_per_s).measured(one.ns, "ns", &one.spread);
    }
}

fn cores(text: &mut String, record: &Record) {
    for control in &record.cores.control {
        let line = |name: &str| line("control", name).cpu(control.cpu);
        *text += &line("multiply").measured(control.multiply_ns, "ns", &control.spread);
        *text += &line("core share").derived(control.core_share, "share", None);
        if let Some(hertz) = control.core_hz {
            *text += &line("core clock").derived(hertz.0, "hertz", None);
        }
    }
    for pair in &record.cores.line_transfer {
        let line = line("line_transfer", &pair.protocol).pair(pair.a, pair.b);
        *text += &line.measured(pair.ns, "ns", &pair.spread);
    }
    for pair in &record.cores.sharing {
        let line = line("sharing", &pair.resource).pair(pair.a, pair.b);
        *text += &line.measured(pair.slowdown, "ratio", &pair.spread);
    }
    for pair in &record.cores.unlike {
        let line = line("sharing", format!("{} beside {}", pair.class, pair.beside)).pair(pair.a, pair.b);
        *text += &line.measured(pair.slowdown, "ratio", &pair.spread);
    }
    for one in &record.cores.compute {
        let line = line("compute", format!("{} {}", one.kernel, one.isa)).cpu(one.cpu);
        *text += &line.measured(one.iterations_per_s, "iterations_per_s", &one.spread);
    }
    for point in &record.cores.wake {
        let line = |name: &str| line("wake", name).pair(point.sleeper, point.waker).parameter(point.idle_us);
        *text += &line("median(idle_us)").measured(point.ns, "ns", &point.spread);
        *text += &line("p90(idle_us)").derived(point.p90_ns, "ns", None);
    }
}

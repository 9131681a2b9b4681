//! Every result as one CSV row in long form, for spreadsheets and scripts.

use machine::{Bytes, CpuId};
use record::{Record, Sockets, Spread};
use stats::Interval;

use crate::{escape, naming, number};

/// The columns; a row leaves empty what does not apply. `parameter` is the x of curves that have no block:
/// its unit is in the name, as in `wake(idle_us)`.
const COLUMNS: &str = "section,name,scope,cpu,other_cpu,cpus,block_bytes,stride_bytes,page_bytes,parameter,\
value,unit,low,high,mappings,windows,dropped,quality";

/// What stands before the value: names and coordinates.
#[derive(Default)]
struct Row {
    section: &'static str,
    name: String,
    scope: &'static str,
    cpu: Option<CpuId>,
    other_cpu: Option<CpuId>,
    cpus: String,
    block: Option<Bytes>,
    stride: Option<Bytes>,
    page: Option<Bytes>,
    parameter: Option<f64>,
}

impl Row {
    fn new(section: &'static str, name: impl Into<String>) -> Self {
        Self { section, name: name.into(), ..Self::default() }
    }
}

struct Table {
    text: String,
}

/// Numbers that are not finite are left empty: no reader of CSV agrees with another on how to write them.
fn cell(value: f64) -> String {
    if value.is_finite() { value.to_string() } else { String::new() }
}

fn optional<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

impl Table {
    fn line(&mut self, row: &Row, value: f64, unit: &str, interval: Option<Interval>, rest: [String; 4]) {
        let text = |text: &str| escape::csv_text(text);
        let bytes = |bytes: Option<Bytes>| optional(bytes.map(|bytes| bytes.0));
        let fields = [
            row.section.to_owned(),
            text(&row.name),
            row.scope.to_owned(),
            optional(row.cpu),
            optional(row.other_cpu),
            text(&row.cpus),
            bytes(row.block),
            bytes(row.stride),
            bytes(row.page),
            row.parameter.map_or_else(String::new, cell),
            cell(value),
            unit.to_owned(),
            interval.map_or_else(String::new, |interval| cell(interval.low)),
            interval.map_or_else(String::new, |interval| cell(interval.high)),
        ];
        self.text += &fields.join(",");
        for field in rest {
            self.text.push(',');
            self.text += &field;
        }
        self.text.push('\n');
    }

    fn measured(&mut self, row: &Row, value: f64, unit: &str, spread: &Spread) {
        let rest = [
            spread.mappings.to_string(),
            spread.windows.to_string(),
            spread.dropped.to_string(),
            number::quality_word(spread.quality).to_owned(),
        ];
        self.line(row, value, unit, Some(spread.interval), rest);
    }

    fn derived(&mut self, row: &Row, value: f64, unit: &str, interval: Option<Interval>) {
        self.line(row, value, unit, interval, Default::default());
    }
}

/// All results of a record, one per line, with a header line.
pub fn csv(record: &Record) -> String {
    let mut table = Table { text: format!("{COLUMNS}\n") };
    levels(&mut table, record);
    bandwidth(&mut table, record);
    latency(&mut table, record);
    if let Some(measured) = &record.sockets {
        sockets(&mut table, measured);
    }
    cores(&mut table, record);
    for read in &record.clocks {
        let row = Row { cpu: Some(read.cpu), ..Row::new("clocks", &read.name) };
        table.measured(&row, read.ns, "ns", &read.spread);
    }
    table.text
}

/// CPUs against nodes; the node is the parameter.
fn sockets(table: &mut Table, sockets: &Sockets) {
    let of_node = |cpu, node: machine::NodeId, name: String| Row {
        cpu: Some(cpu),
        parameter: Some(f64::from(node.0)),
        ..Row::new("sockets", name)
    };
    for one in &sockets.latency {
        let row = of_node(one.cpu, one.node, "latency(node)".to_owned());
        table.measured(&row, one.ns, "ns", &one.spread);
    }
    for one in &sockets.bandwidth {
        let name = format!("{} {} {}(node)", one.kernel, one.isa, one.store);
        table.measured(&of_node(one.cpu, one.node, name), one.bytes_per_s, "bytes_per_s", &one.spread);
    }
    for one in &sockets.concurrency {
        let row = of_node(one.cpu, one.node, format!("lines in flight {}(node)", one.kernel));
        table.derived(&row, one.lines, "lines", Some(one.interval));
    }
    for one in &sockets.loaded {
        let row = Row {
            cpus: one.point.loading.to_string(),
            ..of_node(one.point.cpu, one.node, "loaded latency(node)".to_owned())
        };
        table.measured(&row, one.point.ns, "ns", &one.point.spread);
    }
    for one in &sockets.scaling {
        let row = Row { cpus: one.cpus.to_string(), ..Row::new("sockets", "triad together") };
        table.measured(&row, one.bytes_per_s, "bytes_per_s", &one.spread);
    }
    for of in &sockets.equality {
        for one in &of.rows {
            let row = Row {
                cpu: Some(one.cpu),
                ..Row::new("sockets", format!("{} over that of the others", of.quantity))
            };
            table.derived(&row, one.ratio, "ratio", Some(one.interval));
        }
    }
    for one in &sockets.line_transfer {
        let row = Row {
            cpu: Some(one.a),
            other_cpu: Some(one.b),
            ..Row::new("sockets", format!("line {}", one.protocol))
        };
        table.measured(&row, one.ns, "ns", &one.spread);
    }
}

fn levels(table: &mut Table, record: &Record) {
    for level in &record.levels.caches {
        let row = |what: &str| Row::new("levels", format!("{} {what}", level.name));
        if let Some(size) = level.size_bytes {
            table.derived(&row("size"), size.0 as f64, "bytes", level.size_interval);
        }
        if let Some(claimed) = level.claimed_bytes {
            table.derived(&row("claimed size"), claimed.0 as f64, "bytes", None);
        }
        table.derived(&row("latency"), level.ns, "ns", Some(level.ns_interval));
        if let Some(rate) = level.read_bytes_per_s {
            table.derived(&row("read bandwidth"), rate, "bytes_per_s", level.read_interval);
        }
    }
    for tlb in &record.levels.tlbs {
        let row = |what: &str| Row::new("tlb", format!("level {} {what}", tlb.level));
        table.derived(&row("entries"), tlb.entries as f64, "entries", Some(tlb.entries_interval));
        table.derived(&row("miss"), tlb.miss_ns, "ns", Some(tlb.miss_interval));
    }
    if let Some(ns) = record.levels.walk_ns {
        table.derived(&Row::new("tlb", "page walk"), ns, "ns", record.levels.walk_interval);
    }
    if let Some(gain) = record.levels.huge_page_gain {
        table.derived(&Row::new("tlb", "huge page gain"), gain, "share", record.levels.huge_page_interval);
    }
}

fn bandwidth(table: &mut Table, record: &Record) {
    for result in &record.memory.stream {
        let row = Row {
            scope: naming::scope(result.scope),
            cpu: result.cpu,
            cpus: result.cpus.to_string(),
            block: Some(result.block_bytes),
            ..Row::new("stream", format!("{} {} {}", result.kernel, result.isa, result.store))
        };
        table.measured(&row, result.bytes_per_s, "bytes_per_s", &result.spread);
    }
    for point in &record.memory.bandwidth {
        let row = Row {
            scope: naming::scope(point.scope),
            cpus: point.cpus.to_string(),
            block: Some(point.block_bytes),
            page: Some(point.page_bytes),
            ..Row::new("bandwidth", format!("{} {} {}", point.kernel, point.isa, point.store))
        };
        table.measured(&row, point.bytes_per_s, "bytes_per_s", &point.spread);
    }
}

fn latency(table: &mut Table, record: &Record) {
    for cell in &record.memory.latency {
        let row = Row {
            cpu: Some(cell.cpu),
            block: Some(cell.block_bytes),
            stride: Some(cell.stride_bytes),
            page: Some(cell.page_bytes),
            ..Row::new("latency", cell.level.as_deref().unwrap_or(""))
        };
        table.measured(&row, cell.ns, "ns", &cell.spread);
    }
    for result in &record.memory.orders {
        let row = Row {
            cpu: Some(result.cpu),
            block: Some(result.block_bytes),
            page: Some(result.page_bytes),
            ..Row::new("orders", naming::order(result.order))
        };
        table.measured(&row, result.ns, "ns", &result.spread);
    }
    for point in &record.memory.walks {
        let row = Row {
            cpu: Some(point.cpu),
            page: Some(point.page_bytes),
            parameter: Some(point.pages as f64),
            ..Row::new("walks", "delta(pages)")
        };
        table.measured(&row, point.delta_ns, "ns", &point.spread);
    }
    for result in &record.memory.parallel {
        let row = Row {
            cpu: Some(result.cpu),
            block: Some(result.block_bytes),
            page: Some(result.page_bytes),
            parameter: Some(result.chains as f64),
            ..Row::new("parallel", "per_load(chains)")
        };
        table.measured(&row, result.ns_per_load, "ns", &result.spread);
    }
    for result in &record.memory.loaded {
        let row = Row {
            cpu: Some(result.cpu),
            cpus: result.loading.to_string(),
            parameter: Some(result.load_bytes_per_s),
            ..Row::new("loaded", "latency(load_bytes_per_s)")
        };
        table.measured(&row, result.ns, "ns", &result.spread);
    }
}

fn cores(table: &mut Table, record: &Record) {
    for control in &record.cores.control {
        let row = |name: &str| Row { cpu: Some(control.cpu), ..Row::new("control", name) };
        table.measured(&row("multiply"), control.multiply_ns, "ns", &control.spread);
        table.derived(&row("core share"), control.core_share, "share", None);
        if let Some(hertz) = control.core_hz {
            table.derived(&row("core clock"), hertz.0, "hertz", None);
        }
    }
    for pair in &record.cores.line_transfer {
        let row =
            Row { cpu: Some(pair.a), other_cpu: Some(pair.b), ..Row::new("line_transfer", &pair.protocol) };
        table.measured(&row, pair.ns, "ns", &pair.spread);
    }
    for pair in &record.cores.sharing {
        let row = Row { cpu: Some(pair.a), other_cpu: Some(pair.b), ..Row::new("sharing", &pair.resource) };
        table.measured(&row, pair.slowdown, "ratio", &pair.spread);
    }
    for pair in &record.cores.unlike {
        let name = format!("{} beside {}", pair.class, pair.beside);
        let row = Row { cpu: Some(pair.a), other_cpu: Some(pair.b), ..Row::new("sharing", name) };
        table.measured(&row, pair.slowdown, "ratio", &pair.spread);
    }
    for result in &record.cores.compute {
        let name = format!("{} {}", result.kernel, result.isa);
        let row = Row { cpu: Some(result.cpu), ..Row::new("compute", name) };
        table.measured(&row, result.iterations_per_s, "iterations_per_s", &result.spread);
    }
    for point in &record.cores.wake {
        let row = |name: &str| Row {
            cpu: Some(point.sleeper),
            other_cpu: Some(point.waker),
            parameter: Some(point.idle_us),
            ..Row::new("wake", name)
        };
        table.measured(&row("median(idle_us)"), point.ns, "ns", &point.spread);
        table.derived(&row("p90(idle_us)"), point.p90_ns, "ns", None);
    }
}

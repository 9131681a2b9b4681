//! Cores: what CPUs cost each other, moving a line, waking, clocks of cores, and the cost of reading the time.

use machine::{CpuId, Topology};
use record::{ClockRead, LineTransfer, Record, Spread};

use crate::naming;
use crate::number::{self, finite, told};
use crate::page::{Cell, Column, Section, Table};
use crate::view::clock_cost::brief;

/// Of more rows than this those with the largest numbers are shown; the CSV has all.
const ROWS_MAX: usize = 64;
/// The reads that programs use most; they stand first.
const USUAL_READS: [&str; 5] =
    ["clock_gettime(CLOCK_MONOTONIC)", "gettimeofday", "rdtsc", "rdtscp", "clock_gettime system call"];

fn measured(value: f64, spread: &Spread) -> Cell {
    Cell::within(told(value, spread).trim_end(), value, spread.interval)
}

/// A table of the rows with the largest numbers, which come beside them.
fn largest(mut table: Table, mut rows: Vec<(f64, Vec<Cell>)>, legend: &str) -> Table {
    let all = rows.len();
    table.legend = Some(legend.to_owned());
    if all > ROWS_MAX {
        rows.sort_by(|a, b| b.0.total_cmp(&a.0));
        rows.truncate(ROWS_MAX);
        table.legend =
            Some(format!("{legend} The {ROWS_MAX} largest of {all}; all: sidestep show --csv RECORD"));
    }
    for (_, cells) in rows {
        table.row(cells);
    }
    table
}

/// What CPUs cost each other: the same loop on both.
pub(crate) fn sharing(record: &Record) -> Table {
    let columns = vec![
        Column::word("CPUs"),
        Column::word("kernel says: in common").priority(1),
        Column::word("loop on both"),
        Column::number("time, over alone", ""),
    ];
    let pairs = record.cores.sharing.iter().filter(|pair| finite(pair.slowdown).is_some());
    let rows = pairs.map(|pair| {
        let cells = vec![
            Cell::text(format!("{} beside {}", pair.a, pair.b)),
            Cell::text(claim(&record.machine.topology, pair.a, pair.b)),
            Cell::text(naming::words(&pair.resource)),
            measured(pair.slowdown, &pair.spread),
        ];
        (pair.slowdown, cells)
    });
    let legend = "Time of a loop on the first CPU while the second runs the same, over its time alone. 1 where the \
                  kernel names something in common, or more than 1 where it names nothing, is a finding.";
    largest(Table::new("sharing", columns), rows.collect(), legend)
}

/// What a loop of one class costs one of another.
pub(crate) fn unlike(record: &Record) -> Table {
    let columns = vec![
        Column::word("CPUs"),
        Column::word("loop"),
        Column::word("beside"),
        Column::number("time, over alone", ""),
    ];
    let pairs = record.cores.unlike.iter().filter(|pair| finite(pair.slowdown).is_some());
    let rows = pairs.map(|pair| {
        let cells = vec![
            Cell::text(format!("{} beside {}", pair.a, pair.b)),
            Cell::text(naming::words(&pair.class)),
            Cell::text(naming::words(&pair.beside)),
            measured(pair.slowdown, &pair.spread),
        ];
        (pair.slowdown, cells)
    });
    let legend = "The same for unlike loops, of the nearest pairs: what a program of one kind loses beside one of \
                  another.";
    largest(Table::new("unlike", columns), rows.collect(), legend)
}

/// The smallest thing that two CPUs share, as the kernel says.
fn claim(topology: &Topology, a: CpuId, b: CpuId) -> &'static str {
    let caches = |level: u8| topology.data_cache(a, level).is_some_and(|cache| cache.shared_by.contains(b));
    let of = |cpu: CpuId| topology.cpu(cpu);
    if topology.siblings(a).contains(b) {
        "core"
    } else if caches(2) {
        "L2"
    } else if caches(3) {
        "L3"
    } else if of(a).zip(of(b)).is_some_and(|(a, b)| a.package == b.package) {
        "package"
    } else {
        "nothing"
    }
}

/// Moving a cache line.
pub(crate) fn lines(transfers: &[LineTransfer]) -> Table {
    let columns = vec![Column::word("CPUs"), Column::word("by"), Column::number("one way", "ns")];
    let rows = transfers.iter().filter(|pair| finite(pair.ns).is_some());
    let rows = rows.map(|pair| {
        let cells = vec![
            Cell::text(format!("{} and {}", pair.a, pair.b)),
            Cell::text(naming::words(&pair.protocol)),
            measured(pair.ns, &pair.spread),
        ];
        (pair.ns, cells)
    });
    largest(Table::new("line_transfer", columns), rows.collect(), "Half of a round trip.")
}

/// Waking an idle CPU.
pub(crate) fn waking(record: &Record) -> Table {
    let columns = vec![
        Column::word("CPUs"),
        Column::number("after idling", ""),
        Column::number("median", ""),
        Column::number("90 % within", "").priority(1),
    ];
    let rows = record.cores.wake.iter().filter(|point| finite(point.ns).is_some());
    let rows = rows.map(|point| {
        let spread = number::plus_minus(point.ns, point.spread.interval);
        let median = format!("{} {spread}", number::duration_ns(point.ns));
        let cells = vec![
            Cell::text(format!("{} wakes {}", point.waker, point.sleeper)),
            Cell::shown(number::duration_ns(point.idle_us * 1e3), point.idle_us),
            Cell::within(median.trim_end(), point.ns, point.spread.interval),
            Cell::shown(number::duration_ns(point.p90_ns), point.p90_ns),
        ];
        (point.ns, cells)
    });
    largest(
        Table::new("wake", columns),
        rows.collect(),
        "From the call to the first instruction of the sleeping thread.",
    )
}

/// The clock of each core, and compute loops.
pub(crate) fn per_cpu(record: &Record) -> Vec<Section> {
    let columns = vec![
        Column::word("CPU"),
        Column::number("core clock", ""),
        Column::number("share of the core", ""),
        Column::number("multiply", "ns").priority(1),
        Column::number("multiply over rotate", "").priority(2),
    ];
    let mut control = Table::new("control", columns);
    for one in &record.cores.control {
        control.row(vec![
            Cell::text(one.cpu.to_string()),
            one.core_hz.map_or(Cell::Empty, |hertz| Cell::shown(number::frequency(hertz), hertz.0)),
            Cell::shown(number::percent(one.core_share), one.core_share),
            measured(one.multiply_ns, &one.spread),
            Cell::number(one.multiply_per_rotate),
        ]);
    }
    control.legend = Some(
        "From two control loops. A share well below 100 % with a steady clock: something else ran on the same core."
            .to_owned(),
    );
    let columns = vec![
        Column::word("loop"),
        Column::word("ISA").priority(1),
        Column::word("CPU"),
        Column::number("10⁹ iterations/s", ""),
    ];
    let mut compute = Table::new("compute", columns);
    for one in &record.cores.compute {
        let giga = |rate: f64| rate / 1e9;
        let rate = giga(one.iterations_per_s);
        let ends = one.spread.interval.map(giga);
        let text = format!("{} {}", number::column(rate), number::uncertainty(rate, ends));
        compute.row(vec![
            Cell::text(naming::words(&one.kernel)),
            Cell::text(one.isa.to_uppercase()),
            Cell::text(one.cpu.to_string()),
            Cell::within(text.trim_end(), rate, ends),
        ]);
    }
    compute.legend =
        Some("They touch no memory: if these change between two runs, the core did, not memory.".to_owned());
    let control = control.under("control", "Clock and share of each core");
    control.into_iter().chain(compute.under("compute", "Compute loops")).collect()
}

/// Each way to read the time once: of several CPUs the cheapest and the most expensive.
pub(crate) fn clock_reads(reads: &[&ClockRead]) -> Table {
    let columns = vec![
        Column::word("read"),
        Column::number("cost", "ns"),
        Column::number("at most", "ns").priority(1),
        Column::word("on CPUs").priority(2),
        Column::word("ordered").priority(2),
        Column::number("core cycles", "").priority(3),
        Column::number("TSC cycles", "").priority(4),
    ];
    let mut table = Table::new("clocks", columns);
    let mut names: Vec<&str> = Vec::new();
    for read in reads {
        if !names.contains(&read.name.as_str()) {
            names.push(&read.name);
        }
    }
    let place = |name: &str| USUAL_READS.iter().position(|usual| *usual == name);
    names.sort_by_key(|name| place(name).unwrap_or(USUAL_READS.len()));
    for name in names {
        let mut of: Vec<&ClockRead> = reads.iter().copied().filter(|read| read.name == name).collect();
        of.sort_by(|a, b| a.ns.total_cmp(&b.ns));
        let (Some(low), Some(high)) = (of.first(), of.last()) else { continue };
        let several = of.len() > 1;
        let cycles = |cycles: Option<f64>| cycles.map_or(Cell::Empty, Cell::number);
        table.row(vec![
            Cell::text(brief(name)),
            measured(low.ns, &low.spread),
            if several { Cell::number(high.ns) } else { Cell::Empty },
            Cell::text(if several { format!("{} and {}", low.cpu, high.cpu) } else { low.cpu.to_string() }),
            Cell::text(if low.ordered { "yes" } else { "no" }),
            cycles(low.core_cycles),
            cycles(low.tsc_cycles),
        ]);
    }
    table
}

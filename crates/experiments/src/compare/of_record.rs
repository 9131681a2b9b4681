//! The tests of a record: one per kernel, clock or resource, with a cell per CPU, pair, or place on a surface.

use std::collections::BTreeMap;

use machine::{Bytes, CpuId};
use record::{Better, LatencyCell, Record, Scope};
use stats::Interval;

use super::{Cell, Configuration, Coordinates, Sample, SourceKind, Test, Weight, facts};

/// Bytes per second in one unit of the table.
const GIGABYTE: f64 = 1e9;

/// The stride whose cells say which level a block belongs to: a cache line, so that every line of the block counts.
const LINE_STRIDE: Bytes = Bytes(64);

/// Tests in the making, in the order in which they first appear.
#[derive(Default)]
struct Tests {
    list: Vec<Test>,
}

/// What a test is, before its cells are known.
struct Heading<'h> {
    name: String,
    group: &'h str,
    unit: &'h str,
    better: Better,
}

impl Tests {
    /// Adds one measured value; what is no positive number was not measured.
    fn add(
        &mut self,
        heading: &Heading<'_>,
        place: Coordinates,
        level: Option<&str>,
        value: f64,
        interval: Option<Interval>,
        divisor: f64,
    ) {
        if !(value.is_finite() && value > 0.0) {
            return;
        }
        let interval =
            interval.filter(|interval| interval.contains(value)).map(|i| i.map(|end| end / divisor));
        let sample = Sample { value: value / divisor, interval };
        let at = self.list.iter().position(|test| test.name == heading.name && test.group == heading.group);
        let at = at.unwrap_or_else(|| {
            self.list.push(Test {
                name: heading.name.clone(),
                group: heading.group.to_owned(),
                unit: heading.unit.to_owned(),
                better: heading.better,
                weight: Weight::Micro,
                control: heading.group == "controls",
                cells: BTreeMap::new(),
            });
            self.list.len() - 1
        });
        let cell = Cell { level: level.map(str::to_owned), samples: vec![sample] };
        self.list[at].cells.entry(place).or_insert(cell);
    }
}

/// A record as a configuration of one run.
pub fn configuration_of_record(name: &str, record: &Record) -> Configuration {
    let mut tests = Tests::default();
    stream(&mut tests, record);
    bandwidth(&mut tests, record);
    latency(&mut tests, record);
    translation(&mut tests, record);
    cores(&mut tests, record);
    clocks(&mut tests, record);
    controls(&mut tests, record);
    let mut cautions: Vec<String> = record.partial.iter().map(|why| format!("partial: {why}")).collect();
    cautions.extend(record.guards.doubts.iter().cloned());
    let started = &record.provenance.started_utc;
    Configuration {
        name: name.to_owned(),
        kind: SourceKind::Record,
        runs: 1,
        started_utc: (!started.is_empty()).then(|| started.clone()),
        facts: facts::of_record(record),
        cautions,
        tests: tests.list,
    }
}

/// `triad AVX2 nt`: kernel, instruction set and kind of store.
fn kernel_name(kernel: &str, isa: &str, store: &str) -> String {
    let isa = match isa {
        "avx512" => "AVX-512".to_owned(),
        "scalar_f64" => "scalar FPU".to_owned(),
        "scalar_u64" => "scalar ALU".to_owned(),
        other => other.to_uppercase(),
    };
    let store = if store == "non_temporal" { " nt" } else { "" };
    format!("{kernel} {isa}{store}")
}

fn of_cpu(cpu: CpuId) -> Coordinates {
    [u64::from(cpu.0), 0]
}

fn rate(name: String) -> Heading<'static> {
    Heading { name, group: "memory", unit: "GB/s", better: Better::Higher }
}

fn nanoseconds(name: String, group: &str) -> Heading<'_> {
    Heading { name, group, unit: "ns", better: Better::Lower }
}

/// STREAM: one row for a CPU alone (the median of all CPUs), one for a node, one for the machine.
fn stream(tests: &mut Tests, record: &Record) {
    for result in &record.memory.stream {
        let (who, place) = match result.scope {
            Scope::Cpu => ("one CPU", result.cpu.map_or([0, 0], of_cpu)),
            Scope::Node => ("one node", [result.node.map_or(0, |node| u64::from(node.0)), 0]),
            Scope::Machine => ("all CPUs", [0, 0]),
        };
        let heading =
            rate(format!("STREAM {}, {who}", kernel_name(&result.kernel, &result.isa, &result.store)));
        tests.add(&heading, place, None, result.bytes_per_s, Some(result.spread.interval), GIGABYTE);
    }
}

/// Block sizes with their level, ascending, from the surface; empty if no cell has a level.
pub fn block_levels(cells: &[LatencyCell]) -> Vec<(Bytes, &str)> {
    let base_page = cells.iter().map(|cell| cell.page_bytes).min();
    let mut known: Vec<(Bytes, &str)> = cells
        .iter()
        .filter(|cell| Some(cell.page_bytes) == base_page && cell.stride_bytes == LINE_STRIDE)
        .filter_map(|cell| Some((cell.block_bytes, cell.level.as_deref()?)))
        .collect();
    known.sort_unstable();
    known.dedup_by_key(|(block, _)| *block);
    known
}

/// The level of a block between two blocks of the surface that agree; blocks beyond the largest are in its level.
fn level_of<'l>(known: &[(Bytes, &'l str)], block: Bytes) -> Option<&'l str> {
    let above = known.partition_point(|(size, _)| *size < block);
    let (below, above) = (above.checked_sub(1).map(|index| known[index].1), known.get(above));
    match (below, above) {
        (_, Some((size, level))) if *size == block => Some(level),
        (Some(below), Some((_, above))) => (below == *above).then_some(below),
        (Some(below), None) => Some(below),
        (None, Some((_, above))) => Some(above),
        (None, None) => None,
    }
}

/// Curves of one CPU: a row per kernel and level.
fn bandwidth(tests: &mut Tests, record: &Record) {
    let known = block_levels(&record.memory.latency);
    for point in record.memory.bandwidth.iter().filter(|point| point.scope == Scope::Cpu) {
        let Some(level) = level_of(&known, point.block_bytes) else { continue };
        let heading = rate(kernel_name(&point.kernel, &point.isa, &point.store));
        let place = [point.block_bytes.0, 0];
        tests.add(&heading, place, Some(level), point.bytes_per_s, Some(point.spread.interval), GIGABYTE);
    }
}

fn latency(tests: &mut Tests, record: &Record) {
    for cell in &record.memory.latency {
        let heading = nanoseconds(format!("latency, {} pages", cell.page_bytes), "memory");
        let place = [cell.block_bytes.0, cell.stride_bytes.0];
        tests.add(&heading, place, cell.level.as_deref(), cell.ns, Some(cell.spread.interval), 1.0);
    }
    for result in &record.memory.orders {
        let order = match result.order {
            record::ChaseOrder::Sequential => "sequential",
            record::ChaseOrder::PageConfined => "page by page",
            record::ChaseOrder::Random => "random",
        };
        let heading = nanoseconds(format!("{order} loads, {} pages", result.page_bytes), "memory");
        tests.add(&heading, [result.block_bytes.0, 0], None, result.ns, Some(result.spread.interval), 1.0);
    }
    for result in &record.memory.parallel {
        let heading = nanoseconds("parallel chains, per load".to_owned(), "memory");
        tests.add(
            &heading,
            [result.block_bytes.0, result.chains as u64],
            None,
            result.ns_per_load,
            Some(result.spread.interval),
            1.0,
        );
    }
    for result in &record.memory.loaded {
        let load = if result.loading.is_empty() { "idle machine" } else { "others stream" };
        let heading = nanoseconds(format!("latency, {load}"), "memory");
        tests.add(&heading, of_cpu(result.cpu), None, result.ns, Some(result.spread.interval), 1.0);
    }
}

/// What a walk and a miss of each TLB cost.
fn translation(tests: &mut Tests, record: &Record) {
    let mut derived = |name: String, ns: f64, interval: Option<Interval>| {
        tests.add(&nanoseconds(name, "memory"), [0, 0], None, ns, interval, 1.0);
    };
    for tlb in &record.levels.tlbs {
        derived(format!("miss of TLB level {}", tlb.level), tlb.miss_ns, Some(tlb.miss_interval));
    }
    if let Some(ns) = record.levels.walk_ns {
        derived("page walk".to_owned(), ns, record.levels.walk_interval);
    }
}

fn cores(tests: &mut Tests, record: &Record) {
    let words = |identifier: &str| identifier.replace('_', " ");
    let pair = |a: CpuId, b: CpuId| [u64::from(a.0), u64::from(b.0)];
    for result in &record.cores.line_transfer {
        let heading = nanoseconds(format!("line by {}", words(&result.protocol)), "cores");
        tests.add(&heading, pair(result.a, result.b), None, result.ns, Some(result.spread.interval), 1.0);
    }
    let mut slowdown = |name: String, place: [u64; 2], slowdown: f64, interval: Interval| {
        let heading = Heading { name, group: "cores", unit: "x", better: Better::Lower };
        tests.add(&heading, place, None, slowdown, Some(interval), 1.0);
    };
    for result in &record.cores.sharing {
        let name = format!("beside another CPU, {}", words(&result.resource));
        slowdown(name, pair(result.a, result.b), result.slowdown, result.spread.interval);
    }
    for result in &record.cores.unlike {
        let name = format!("{} beside {}", words(&result.class), words(&result.beside));
        slowdown(name, pair(result.a, result.b), result.slowdown, result.spread.interval);
    }
    for point in &record.cores.wake {
        // Idle times are chosen in microseconds; all of them make one row.
        let place = [point.idle_us.max(0.0) as u64, u64::from(point.sleeper.0)];
        let heading = nanoseconds("waking a CPU".to_owned(), "cores");
        tests.add(&heading, place, None, point.ns, Some(point.spread.interval), 1.0);
    }
}

fn clocks(tests: &mut Tests, record: &Record) {
    for read in &record.clocks {
        let heading = nanoseconds(read.name.clone(), "clocks");
        tests.add(&heading, of_cpu(read.cpu), None, read.ns, Some(read.spread.interval), 1.0);
    }
}

/// Loops that touch no memory: what moves them moves everything.
fn controls(tests: &mut Tests, record: &Record) {
    for result in &record.cores.compute {
        let name = if result.kernel.starts_with("mandelbrot_i") {
            "Mandelbrot integer"
        } else if result.kernel.starts_with("mandelbrot_f") {
            "Mandelbrot floating point"
        } else {
            result.kernel.as_str()
        };
        let heading = Heading {
            name: format!("{name} {}", result.isa.to_uppercase()),
            group: "controls",
            unit: "10^9 it/s",
            better: Better::Higher,
        };
        tests.add(
            &heading,
            of_cpu(result.cpu),
            None,
            result.iterations_per_s,
            Some(result.spread.interval),
            GIGABYTE,
        );
    }
    for control in &record.cores.control {
        let heading = nanoseconds("integer multiply chain".to_owned(), "controls");
        tests.add(
            &heading,
            of_cpu(control.cpu),
            None,
            control.multiply_ns,
            Some(control.spread.interval),
            1.0,
        );
    }
}

#[cfg(test)]
mod tests {
    use record::{Spread, UnlikeSlowdown};

    use super::*;

    #[test]
    fn what_unlike_loops_cost_each_other_is_a_row_of_its_own() {
        let mut record = Record::default();
        for (a, beside) in [(0, "simd"), (1, "simd"), (0, "memory")] {
            record.cores.unlike.push(UnlikeSlowdown {
                a: CpuId(a),
                b: CpuId(1 - a),
                class: "front_end".to_owned(),
                beside: beside.to_owned(),
                slowdown: 1.2,
                overlapped_windows: 9,
                spread: Spread::default(),
            });
        }
        let tests = configuration_of_record("one", &record).tests;
        let rows: Vec<(&str, usize)> =
            tests.iter().map(|test| (test.name.as_str(), test.cells.len())).collect();
        assert_eq!(rows, [("front end beside simd", 2), ("front end beside memory", 1)]);
    }

    #[test]
    fn a_block_has_a_level_only_where_its_neighbours_agree() {
        let known = [(Bytes(100), "L1"), (Bytes(200), "L1"), (Bytes(400), "L2"), (Bytes(800), "memory")];
        for (block, expected) in [
            (50, Some("L1")),
            (150, Some("L1")),
            (200, Some("L1")),
            (300, None),
            (400, Some("L2")),
            (600, None),
            (5000, Some("memory")),
        ] {
            assert_eq!(level_of(&known, Bytes(block)), expected, "{block}");
        }
        assert_eq!(level_of(&[], Bytes(1)), None);
    }
}

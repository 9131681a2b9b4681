//! The tests of a record: one per kernel, clock or resource, with a cell per CPU, pair, or place on a surface.

use std::collections::{BTreeMap, HashMap};

use machine::CpuId;
use record::{Better, Quality, Record, Scope, Spread};
use stats::{Interval, RowClass};

use super::{Cell, Configuration, Coordinates, Sample, SourceKind, Test, Weight, facts};

/// Units of which a billion make one of the table.
const GIGABYTES_PER_SECOND: &str = "GB/s";
const GIGAHERTZ: &str = "GHz";
const ITERATIONS: &str = "10^9 it/s";
const GIGA: f64 = 1e9;

/// The group of tests that nothing compared can touch.
const CONTROLS: &str = "controls";

/// Tests in the making, in the order in which they first appear.
#[derive(Default)]
struct Tests {
    list: Vec<Test>,
    /// Where each is, by name and group.
    places: HashMap<(String, String), usize>,
}

/// What a test is, before its cells are known.
struct Heading<'h> {
    name: String,
    group: &'h str,
    unit: &'h str,
    better: Better,
    class: RowClass,
}

/// What was measured at one place of a test.
#[derive(Clone, Copy)]
struct Measured<'m> {
    value: f64,
    interval: Option<Interval>,
    epochs: &'m [f64],
    is_unstable: bool,
    core_cycles: Option<f64>,
    level: Option<&'m str>,
}

impl<'m> Measured<'m> {
    fn new(value: f64, spread: &'m Spread) -> Self {
        let is_unstable = spread.quality == Quality::Unstable;
        Self { epochs: &spread.epochs, is_unstable, ..Self::derived(value, Some(spread.interval)) }
    }

    /// A value that was computed from others.
    fn derived(value: f64, interval: Option<Interval>) -> Self {
        Self { value, interval, epochs: &[], is_unstable: false, core_cycles: None, level: None }
    }

    /// The sample of one run in units of `divisor`.
    fn sample(&self, divisor: f64) -> Sample {
        let interval = self.interval.filter(|interval| interval.contains(self.value));
        Sample {
            value: self.value / divisor,
            interval: interval.map(|interval| interval.map(|end| end / divisor)),
            epoch_variance: variance_of_mean_log(self.epochs),
            core_cycles: self.core_cycles.filter(|cycles| cycles.is_finite() && *cycles > 0.0),
            is_unstable: self.is_unstable,
        }
    }
}

/// Variance of the mean logarithm of values that stand for independent epochs; `None` for fewer than two.
fn variance_of_mean_log(values: &[f64]) -> Option<f64> {
    let logs: Vec<f64> = values.iter().filter(|value| **value > 0.0).map(|value| value.ln()).collect();
    (logs.len() > 1).then(|| stats::sample_variance(&logs) / logs.len() as f64)
}

impl Tests {
    /// Adds one measured value; what is no positive number was not measured.
    fn add(&mut self, heading: &Heading<'_>, place: Coordinates, measured: Measured<'_>) {
        if !(measured.value.is_finite() && measured.value > 0.0) {
            return;
        }
        let key = (heading.name.clone(), heading.group.to_owned());
        let at = *self.places.entry(key).or_insert_with(|| {
            self.list.push(Test {
                name: heading.name.clone(),
                group: heading.group.to_owned(),
                unit: heading.unit.to_owned(),
                better: heading.better,
                weight: Weight::Micro,
                control: heading.group == CONTROLS,
                cells: BTreeMap::new(),
            });
            self.list.len() - 1
        });
        let giga = [GIGABYTES_PER_SECOND, GIGAHERTZ, ITERATIONS].contains(&heading.unit);
        let cell = Cell {
            level: measured.level.map(str::to_owned),
            class: Some(heading.class),
            samples: vec![measured.sample(if giga { GIGA } else { 1.0 })],
            failed: 0,
        };
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
        starts_utc: (!started.is_empty()).then(|| started.clone()).into_iter().collect(),
        taken_shares: taken_share(record).into_iter().collect(),
        facts: facts::of_record(record),
        cautions,
        tests: tests.list,
    }
}

/// Share of the CPUs that other programs and other guests had, or what the worst CPU lacked of its core if that was more; `None` if the
/// record does not know.
fn taken_share(record: &Record) -> Option<f64> {
    let guards = &record.guards;
    let programs_and_guests = guards.others_share.map(|share| share + guards.steal_share.unwrap_or(0.0));
    let of_cores = record.epochs.iter().filter_map(|epoch| Some(1.0 - epoch.got.core_share?));
    programs_and_guests.into_iter().chain(of_cores).reduce(f64::max)
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

fn rate(name: String, class: RowClass) -> Heading<'static> {
    Heading { name, group: "memory", unit: GIGABYTES_PER_SECOND, better: Better::Higher, class }
}

fn nanoseconds(name: String, group: &str, class: RowClass) -> Heading<'_> {
    Heading { name, group, unit: "ns", better: Better::Lower, class }
}

/// The class of what the first two levels, those behind them, and memory serve.
fn by_level(level: Option<&str>, [own, shared, memory]: [RowClass; 3]) -> RowClass {
    match level {
        Some("L1" | "L2") => own,
        None | Some("memory") => memory,
        Some(_) => shared,
    }
}

/// STREAM: one row for a CPU alone (the median of all CPUs), one for a node, one for the machine.
fn stream(tests: &mut Tests, record: &Record) {
    for result in &record.memory.stream {
        let (who, place) = match result.scope {
            Scope::Cpu => ("one CPU", result.cpu.map_or([0, 0], of_cpu)),
            Scope::Node => ("one node", [result.node.map_or(0, |node| u64::from(node.0)), 0]),
            Scope::Machine => ("all CPUs", [0, 0]),
        };
        let name = format!("STREAM {}, {who}", kernel_name(&result.kernel, &result.isa, &result.store));
        let measured = Measured::new(result.bytes_per_s, &result.spread);
        tests.add(&rate(name, RowClass::Stream), place, measured);
    }
}

/// Curves of one CPU: a row per kernel and level.
fn bandwidth(tests: &mut Tests, record: &Record) {
    const CLASSES: [RowClass; 3] =
        [RowClass::CacheBandwidth, RowClass::SharedCacheBandwidth, RowClass::MemoryBandwidth];
    let levels = record.memory.block_levels();
    for point in record.memory.bandwidth.iter().filter(|point| point.scope == Scope::Cpu) {
        let Some(level) = levels.of_block(point.block_bytes) else { continue };
        let name = kernel_name(&point.kernel, &point.isa, &point.store);
        let measured = Measured { level: Some(level), ..Measured::new(point.bytes_per_s, &point.spread) };
        tests.add(&rate(name, by_level(Some(level), CLASSES)), [point.block_bytes.0, 0], measured);
    }
}

fn latency(tests: &mut Tests, record: &Record) {
    const CLASSES: [RowClass; 3] =
        [RowClass::CoreLatency, RowClass::SharedCacheLatency, RowClass::MemoryLatency];
    for cell in &record.memory.latency {
        let level = cell.level.as_deref();
        let class = by_level(level, CLASSES);
        let heading = nanoseconds(format!("latency, {} pages", cell.page_bytes), "memory", class);
        let place = [cell.block_bytes.0, cell.stride_bytes.0];
        let core_cycles = cell.core_cycles.filter(|_| class == RowClass::CoreLatency);
        tests.add(&heading, place, Measured { core_cycles, level, ..Measured::new(cell.ns, &cell.spread) });
    }
    for result in &record.memory.orders {
        let order = match result.order {
            record::ChaseOrder::Sequential => "sequential",
            record::ChaseOrder::PageConfined => "page by page",
            record::ChaseOrder::Random => "random",
        };
        let name = format!("{order} loads, {} pages", result.page_bytes);
        let heading = nanoseconds(name, "memory", RowClass::MemoryLatency);
        tests.add(&heading, [result.block_bytes.0, 0], Measured::new(result.ns, &result.spread));
    }
    let heading = nanoseconds("parallel chains, per load".to_owned(), "memory", RowClass::MemoryLatency);
    for result in &record.memory.parallel {
        let place = [result.block_bytes.0, result.chains as u64];
        tests.add(&heading, place, Measured::new(result.ns_per_load, &result.spread));
    }
    for result in &record.memory.loaded {
        let load = if result.loading.is_empty() { "idle machine" } else { "others stream" };
        let heading = nanoseconds(format!("latency, {load}"), "memory", RowClass::LoadedLatency);
        tests.add(&heading, of_cpu(result.cpu), Measured::new(result.ns, &result.spread));
    }
}

/// What a walk and a miss of each TLB cost.
fn translation(tests: &mut Tests, record: &Record) {
    let mut derived = |name: String, ns: f64, interval: Option<Interval>| {
        let heading = nanoseconds(name, "memory", RowClass::PageWalks);
        tests.add(&heading, [0, 0], Measured::derived(ns, interval));
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
        let name = format!("line by {}", words(&result.protocol));
        let heading = nanoseconds(name, "cores", RowClass::LineTransfer);
        tests.add(&heading, pair(result.a, result.b), Measured::new(result.ns, &result.spread));
    }
    let mut slowdown = |name: String, place: [u64; 2], measured: Measured<'_>| {
        let class = RowClass::Sharing;
        tests.add(
            &Heading { name, group: "cores", unit: "x", better: Better::Lower, class },
            place,
            measured,
        );
    };
    for result in &record.cores.sharing {
        let name = format!("beside another CPU, {}", words(&result.resource));
        slowdown(name, pair(result.a, result.b), Measured::new(result.slowdown, &result.spread));
    }
    for result in &record.cores.unlike {
        let name = format!("{} beside {}", words(&result.class), words(&result.beside));
        slowdown(name, pair(result.a, result.b), Measured::new(result.slowdown, &result.spread));
    }
    for point in &record.cores.wake {
        // Idle times are chosen in microseconds; all of them make one row.
        let place = [point.idle_us.max(0.0) as u64, u64::from(point.sleeper.0)];
        let heading = nanoseconds("waking a CPU".to_owned(), "cores", RowClass::Waking);
        tests.add(&heading, place, Measured::new(point.ns, &point.spread));
    }
}

/// Reads of a coarse clock are left out: they take some 20 cycles, 18 or 28 of them in runs of one machine by where code lies in
/// memory, and were all that 12 of 120 comparisons of unchanged runs claimed.
const COARSE: &str = "_COARSE)";

fn clocks(tests: &mut Tests, record: &Record) {
    for read in record.clocks.iter().filter(|read| !read.name.ends_with(COARSE)) {
        let heading = nanoseconds(read.name.clone(), "clocks", RowClass::ClockReads);
        let measured = Measured { core_cycles: read.core_cycles, ..Measured::new(read.ns, &read.spread) };
        tests.add(&heading, of_cpu(read.cpu), measured);
    }
}

/// The clock of a CPU, if its control loop knows it.
fn core_hz(record: &Record, cpu: CpuId) -> Option<f64> {
    let control = record.cores.control.iter().find(|control| control.cpu == cpu);
    Some(control?.core_hz?.0)
}

/// Loops that touch no memory: what moves them moves everything. In cycles where the clock is known, as that has a row.
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
            group: CONTROLS,
            unit: ITERATIONS,
            better: Better::Higher,
            class: RowClass::Arithmetic,
        };
        let core_cycles = core_hz(record, result.cpu).map(|hz| hz / result.iterations_per_s);
        let measured = Measured { core_cycles, ..Measured::new(result.iterations_per_s, &result.spread) };
        tests.add(&heading, of_cpu(result.cpu), measured);
    }
    for control in &record.cores.control {
        let class = RowClass::CoreClock;
        if let Some(hz) = core_hz(record, control.cpu) {
            // The loop takes the same cycles always: its time is the clock's.
            let per_loop = hz * control.multiply_ns;
            let interval = control.spread.interval.map(|ns| per_loop / ns);
            let epochs: Vec<f64> = control.spread.epochs.iter().map(|ns| per_loop / ns).collect();
            let name = "core clock".to_owned();
            let heading = Heading { name, group: "cores", unit: GIGAHERTZ, better: Better::Higher, class };
            let measured = Measured { epochs: &epochs, ..Measured::derived(hz, Some(interval)) };
            tests.add(&heading, of_cpu(control.cpu), measured);
        } else {
            let heading = nanoseconds("integer multiply chain".to_owned(), CONTROLS, class);
            let measured = Measured::new(control.multiply_ns, &control.spread);
            tests.add(&heading, of_cpu(control.cpu), measured);
        }
    }
}

#[cfg(test)]
mod tests {
    use record::UnlikeSlowdown;

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
}

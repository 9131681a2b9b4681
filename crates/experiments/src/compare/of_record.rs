//! The tests of a record: one per title of a metric, with a cell per CPU, pair, or place on a surface.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use machine::CpuId;
use record::{LabelValue, Measurement, Place, Quality, Record, Scope, isa_words, measurements, metric};
use stats::RowClass;

use super::{Cell, Configuration, Coordinates, Sample, SourceKind, Test, Weight};

/// A record as a configuration of one run.
pub fn configuration_of_record(name: &str, record: &Record) -> Configuration {
    let mut cautions: Vec<String> = record.partial.iter().map(|why| format!("partial: {why}")).collect();
    cautions.extend(record.guards.doubts.iter().cloned());
    let started = &record.provenance.started_utc;
    Configuration {
        name: name.to_owned(),
        kind: SourceKind::Record,
        runs: 1,
        starts_utc: (!started.is_empty()).then(|| started.clone()).into_iter().collect(),
        taken_shares: taken_share(record).into_iter().collect(),
        facts: record::facts(record),
        cautions,
        tests: tests(record),
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

/// Tests in the order in which they first appear; of two numbers of one place the first counts.
fn tests(record: &Record) -> Vec<Test> {
    let mut tests: Vec<Test> = Vec::new();
    let mut places: HashMap<(String, &str), usize> = HashMap::new();
    for one in measurements(record).iter().filter(|one| is_compared(one, record)) {
        let Some(shown) = one.metric.compared else { continue };
        let (unit, divisor) = one.metric.unit.in_tables;
        let name = title(shown.title, one);
        let at = *places.entry((name.clone(), shown.group)).or_insert(tests.len());
        if at == tests.len() {
            tests.push(Test {
                name,
                group: shown.group.to_owned(),
                unit: unit.to_owned(),
                better: one.metric.unit.better,
                weight: Weight::Micro,
                control: shown.group == metric::CONTROLS,
                cells: BTreeMap::new(),
            });
        }
        let place: Coordinates = shown.places.map(|axis| coordinate(axis, one));
        tests[at].cells.entry(place).or_insert_with(|| Cell {
            level: one.level.map(str::to_owned),
            class: Some(one.class()),
            samples: vec![sample(one, divisor, record)],
            failed: 0,
        });
    }
    tests
}

/// Pictures of what questions ask more sharply, where a record has asked them.
const PICTURES: [&metric::Metric; 2] = [&metric::LATENCY, &metric::PARALLEL];

/// Whether a number has a row: bandwidth has one for each level, of a CPU alone; the control loop where its clock is unknown, as that
/// has a row.
fn is_compared(one: &Measurement<'_>, record: &Record) -> bool {
    let is_of_cpu = || one.parameter("scope").is_some_and(|scope| scope == (&Scope::Cpu).into());
    one.is_comparable()
        && (!PICTURES.contains(&one.metric) || record.samples.is_empty())
        && (one.metric != &metric::PART_READ || is_of_third_level(one, record))
        && (one.metric != &metric::BANDWIDTH || one.level.is_some() && is_of_cpu())
        && (one.metric != &metric::MULTIPLY || core_hz(record, one.place).is_none())
}

/// Blocks so many times as large as the second cache are in the third wherever there is one.
const OF_THIRD_LEVEL: [u64; 2] = [2, 4];

fn is_of_third_level(one: &Measurement<'_>, record: &Record) -> bool {
    let second = record.machine.topology.cache_bytes(2);
    let Some((LabelValue::Size(block), second)) = one.parameter("block_bytes").zip(second) else {
        return false;
    };
    let [least, most] = OF_THIRD_LEVEL.map(|times| times * second.0);
    (least..=most).contains(&block.0)
}

/// The clock of a CPU, if its control loop knows it.
fn core_hz(record: &Record, place: Place<'_>) -> Option<f64> {
    let Place::One(cpu) = place else { return None };
    let control = record.cores.control.iter().find(|control| control.cpu == *cpu);
    Some(control?.core_hz?.0)
}

/// The number of one run in units of `divisor`. It has cycles where what the core's clock does is not to count.
fn sample(one: &Measurement<'_>, divisor: f64, record: &Record) -> Sample {
    let core_cycles = match one.class() {
        RowClass::Arithmetic => core_hz(record, one.place).map(|hz| hz / one.value),
        RowClass::CoreLatency | RowClass::ClockReads => one.core_cycles,
        _ => None,
    };
    Sample {
        value: one.value / divisor,
        interval: one.interval().map(|interval| interval.map(|end| end / divisor)),
        epoch_variance: variance_of_mean_log(&one.spread.epochs),
        core_cycles: core_cycles.filter(|cycles| cycles.is_finite() && *cycles > 0.0),
        is_unstable: one.spread.quality == Quality::Unstable,
    }
}

/// Variance of the mean logarithm of values that stand for independent epochs; `None` for fewer than two.
fn variance_of_mean_log(values: &[f64]) -> Option<f64> {
    let logs: Vec<f64> = values.iter().filter(|value| **value > 0.0).map(|value| value.ln()).collect();
    (logs.len() > 1).then(|| stats::sample_variance(&logs) / logs.len() as f64)
}

/// Where a number stands on an axis of its test; 0 where that is nothing of it.
fn coordinate(axis: &str, one: &Measurement<'_>) -> u64 {
    let cpu = |cpu: &CpuId| u64::from(cpu.0);
    match (axis, one.place, one.parameter(axis)) {
        ("cpu", Place::One(own) | Place::Pair(own, _), _) => cpu(own),
        ("cpu", Place::Together(cpus), _) if cpus.len() == 1 => cpus.first().as_ref().map_or(0, cpu),
        ("beside_cpu", Place::Pair(_, beside), _) => cpu(beside),
        ("node", ..) => one.node.map_or(0, |node| u64::from(node.0)),
        (_, _, Some(LabelValue::Size(bytes))) => bytes.0,
        (_, _, Some(LabelValue::Count(count))) => count,
        _ => 0,
    }
}

/// A title with the words for its labels.
fn title(template: &str, one: &Measurement<'_>) -> String {
    let mut title = String::new();
    for part in template.split_inclusive('}') {
        let (text, label) = part.split_once('{').unwrap_or((part, ""));
        title += text;
        title += &words(label.trim_end_matches('}'), one);
    }
    title
}

/// What a label says to a reader.
fn words(label: &str, one: &Measurement<'_>) -> Cow<'static, str> {
    let Some(value) = one.parameter(&label.to_lowercase()) else { return "".into() };
    if let LabelValue::Size(bytes) = value {
        return bytes.to_string().into();
    }
    let text = value.to_string();
    match (label, text.as_str()) {
        ("isa", isa) => isa_words(isa).into(),
        ("ISA", _) => text.to_uppercase().into(),
        ("question", "l1") => "L1 reads, cycles".into(),
        ("question", "l2") => "L2 reads, cycles".into(),
        ("question", "blocks") => "random reads beyond L2".into(),
        ("question", "memory") => "random reads".into(),
        ("question", "cpus-core") => "L2 reads, CPU over CPU".into(),
        ("question", "cpus-memory") => "reads beyond L2, CPU over CPU".into(),
        ("store", "non_temporal") => " nt".into(),
        ("store", _) => "".into(),
        ("scope", "cpu") => "one CPU".into(),
        ("scope", "node") => "one node".into(),
        ("scope", _) => "all CPUs".into(),
        ("loading", "0") => "idle machine".into(),
        ("loading", _) => "others stream".into(),
        ("kernel", kernel) if kernel.starts_with("mandelbrot_i") => "Mandelbrot integer".into(),
        ("kernel", kernel) if kernel.starts_with("mandelbrot_f") => "Mandelbrot floating point".into(),
        ("protocol" | "resource" | "class" | "beside", _) => text.replace('_', " ").into(),
        _ => text.into(),
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
}

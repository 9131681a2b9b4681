//! Every number that a record holds, under one name each: what comparisons, histories, guards, fleets and CSV are made of.
//!
//! It is derived: a record stores its numbers in the lists of its sections, each row with the fields that it needs. What the numbers
//! are called, in which unit, and what moves with what stands once, in `metric`; where they are stands once, in `rows`.

pub mod metric;
mod rows;
mod sampled;

use std::borrow::Cow;
use std::fmt::{self, Write};

use machine::{Bytes, CpuId, CpuSet, NodeId};
use stats::{Interval, RowClass};

pub use metric::{ComparedAs, Metric, Unit};
pub use rows::{ListVisitor, MeasuredRow, visit_cores, visit_memory, visit_sockets};
pub use sampled::{QuestionLevel, has_core_alone, sampled};

use crate::{BlockLevels, Record, Spread};

/// One number of a record.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurement<'r> {
    /// What was measured.
    pub metric: &'static Metric,
    /// On which CPUs.
    pub place: Place<'r>,
    /// In the memory of which node, where that was chosen.
    pub node: Option<NodeId>,
    /// Labels: with the CPUs and the node they say what is the same number on other machines. Then conditions: what else two numbers of
    /// one record may differ by.
    pub parameters: Vec<(&'static str, LabelValue<'r>)>,
    /// How many of these are labels.
    pub labels: usize,
    /// The number, in the unit of the metric.
    pub value: f64,
    /// What differences of the number are measured against, in its unit: its size, as a rule.
    pub scale: f64,
    /// Interval, counts, epochs and raw windows; without windows where it was computed from others.
    pub spread: Cow<'r, Spread>,
    /// The level that served it, of caches and memory alone.
    pub level: Option<&'r str>,
    /// The same in cycles of the core, where the record has that.
    pub core_cycles: Option<f64>,
}

/// Which CPUs a number is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place<'r> {
    /// One.
    One(&'r CpuId),
    /// Several at once.
    Together(&'r CpuSet),
    /// Two, of which the first is measured.
    Pair(&'r CpuId, &'r CpuId),
    /// None in particular.
    Machine,
}

/// A parameter, as the record has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LabelValue<'r> {
    /// A word; empty where the record does not say.
    Text(&'r str),
    /// A number of things, or of units that the label names.
    Count(u64),
    /// A size.
    Size(Bytes),
}

impl fmt::Display for LabelValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Count(count) | Self::Size(Bytes(count)) => write!(f, "{count}"),
        }
    }
}

/// Reads of a coarse clock take some 20 cycles, 18 or 28 of them in runs of one machine by where code lies in memory, and were all that 12
/// of 120 comparisons of unchanged runs claimed.
const COARSE: &str = "_COARSE)";

impl<'r> Measurement<'r> {
    fn of(metric: &'static Metric, value: f64, spread: Cow<'r, Spread>) -> Self {
        Self {
            metric,
            place: Place::Machine,
            node: None,
            parameters: Vec::new(),
            labels: 0,
            value,
            scale: value.abs(),
            spread,
            level: None,
            core_cycles: None,
        }
    }

    /// A number that was computed from others, of which nothing is known but its interval.
    fn computed(metric: &'static Metric, value: f64, interval: Option<Interval>) -> Self {
        let interval = interval.unwrap_or(Interval { low: f64::NEG_INFINITY, high: f64::INFINITY });
        Self::of(metric, value, Cow::Owned(Spread { interval, ..Spread::default() }))
    }

    /// The 95 % interval, if it has ends and holds the number: else it is none of it.
    pub fn interval(&self) -> Option<Interval> {
        let interval = self.spread.interval;
        let has_ends = interval.low.is_finite() && interval.high.is_finite();
        Some(interval).filter(|interval| has_ends && interval.contains(self.value))
    }

    /// True if runs and machines can be compared by it: above zero, as ratios need, and of one state that is the machine's.
    pub fn is_comparable(&self) -> bool {
        let is_coarse =
            matches!(self.parameter("name"), Some(LabelValue::Text(name)) if name.ends_with(COARSE));
        self.value.is_finite() && self.value > 0.0 && !is_coarse
    }

    /// With which rows it moves; what no level is known of is taken for memory.
    pub fn class(&self) -> RowClass {
        let [own, shared, memory] = self.metric.classes;
        match self.level {
            Some("L1" | "L2") => own,
            None | Some("memory") => memory,
            Some(_) => shared,
        }
    }

    /// A label or condition by its name.
    pub fn parameter(&self, name: &str) -> Option<LabelValue<'r>> {
        self.parameters.iter().find(|(own, _)| *own == name).map(|(_, value)| *value)
    }

    /// Its labels as text: `block_bytes=1048576,stride_bytes=64`.
    pub fn label_text(&self) -> String {
        let mut text = String::new();
        for (name, value) in &self.parameters[..self.labels] {
            let comma = if text.is_empty() { "" } else { "," };
            let _ = write!(text, "{comma}{name}={value}");
        }
        text
    }
}

/// An instruction set as readers write it: `AVX-512`, `scalar FPU`.
pub fn isa_words(isa: &str) -> String {
    match isa {
        "avx512" => "AVX-512".to_owned(),
        "scalar_f64" => "scalar FPU".to_owned(),
        "scalar_u64" => "scalar ALU".to_owned(),
        other => other.to_uppercase(),
    }
}

/// All numbers of a record: of its questions, of memory, then of cores and clocks, then of sockets, each section in the order of its lists.
pub fn measurements(record: &Record) -> Vec<Measurement<'_>> {
    let mut all = Collector { record, levels: record.memory.block_levels(), found: sampled(record) };
    visit_memory(&mut all);
    for tlb in &record.levels.tlbs {
        let parameters = vec![("level", LabelValue::Count(u64::from(tlb.level)))];
        let miss = Measurement::computed(&metric::TLB_MISS, tlb.miss_ns, Some(tlb.miss_interval));
        all.found.push(Measurement { parameters, labels: 1, ..miss });
    }
    let walk = |ns| Measurement::computed(&metric::PAGE_WALK, ns, record.levels.walk_interval);
    all.found.extend(record.levels.walk_ns.map(walk));
    visit_cores(&mut all);
    for control in &record.cores.control {
        // The loop takes the same cycles always: its time is the clock's.
        let Some(hz) = control.core_hz else { continue };
        let clock = |ns: f64| hz.0 * control.multiply_ns / ns;
        let interval = control.spread.interval.map(clock);
        let epochs = control.spread.epochs.iter().map(|ns| clock(*ns)).collect();
        let spread = Cow::Owned(Spread { interval, epochs, ..Spread::default() });
        let place = Place::One(&control.cpu);
        all.found.push(Measurement { place, ..Measurement::of(&metric::CORE_CLOCK, hz.0, spread) });
    }
    visit_sockets(&mut all);
    all.found
}

struct Collector<'r> {
    record: &'r Record,
    levels: BlockLevels<'r>,
    found: Vec<Measurement<'r>>,
}

impl ListVisitor for Collector<'_> {
    fn list<R: MeasuredRow>(
        &mut self,
        of: fn(&Record) -> Option<&Vec<R>>,
        _of_mut: fn(&mut Record) -> Option<&mut Vec<R>>,
    ) {
        for row in of(self.record).into_iter().flatten() {
            let mut one = row.measurement();
            if let (&metric::BANDWIDTH, Some(LabelValue::Size(block))) =
                (R::METRIC, one.parameter("block_bytes"))
            {
                one.level = self.levels.of_block(block);
            }
            self.found.push(one);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ClockRead, LineTransfer, NodeLoadedLatency, Sockets};

    const DOCUMENTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/measurements.md");

    /// Labels of every list, by the name of its metric.
    #[derive(Default)]
    struct Labels(std::collections::BTreeMap<&'static str, &'static [&'static str]>);

    impl ListVisitor for Labels {
        fn list<R: MeasuredRow>(
            &mut self,
            _of: fn(&Record) -> Option<&Vec<R>>,
            _of_mut: fn(&mut Record) -> Option<&mut Vec<R>>,
        ) {
            self.0.insert(R::METRIC.name, R::LABELS);
        }
    }

    #[test]
    fn the_page_of_measurements_is_the_table() {
        let mut labels = Labels::default();
        visit_memory(&mut labels);
        visit_cores(&mut labels);
        visit_sockets(&mut labels);
        labels.0.insert(metric::TLB_MISS.name, &["level"]);
        let of = |one: &&Metric| {
            let labels = labels.0.get(one.name).copied().unwrap_or_default();
            let labels: Vec<String> = labels.iter().map(|label| format!("`{label}`")).collect();
            let better = if one.unit.better == crate::Better::Higher { "higher" } else { "lower" };
            let mut classes: Vec<&str> = one.classes.iter().map(|class| class.name()).collect();
            classes.dedup();
            let (classes, labels) = (classes.join(", "), labels.join(", "));
            format!("| `{}` | {} | {better} | {labels} | {classes} |", one.name, one.help)
        };
        let table: Vec<String> = metric::METRICS.iter().map(of).collect();
        let table = table.join("\n") + "\n";
        let page = std::fs::read_to_string(DOCUMENTED).expect("the page is committed");
        let head = "|---|---|---|---|---|\n";
        let (before, after) = page.split_once(head).expect("the page has the table");
        let after = after.split_once("\n\n").map_or("", |(_, after)| after);
        let expected = format!("{before}{head}{table}\n{after}");
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            std::fs::write(DOCUMENTED, &expected).expect("it can be written");
        } else {
            assert!(page == expected, "{DOCUMENTED} is not the table; renew it with UPDATE_EXPECT=1");
        }
    }

    #[test]
    fn numbers_of_every_section_are_found_and_what_no_run_can_repeat_is_not_compared() {
        let mut record = Record::default();
        let read = |name: &str| ClockRead { name: name.to_owned(), ns: 9.0, ..ClockRead::default() };
        record.clocks = vec![read("rdtsc"), read("clock_gettime(CLOCK_MONOTONIC_COARSE)")];
        record.levels.walk_ns = Some(30.0);
        let (a, b, protocol) = (CpuId(0), CpuId(2), "compare_and_swap".to_owned());
        let line = LineTransfer { a, b, protocol, ns: f64::NAN, spread: Spread::default() };
        let loaded = serde_json::json!({
            "node": 1, "cpu": 2, "loading": "0-1", "load_bytes_per_s": 1.0, "load_interval": [1.0, 1.0],
            "overlapped_windows": 1, "ns": 90.0, "interval": [80.0, 99.0], "mappings": 1, "windows": 7,
            "dropped": 0, "quality": "converged"
        });
        let loaded: NodeLoadedLatency = crate::read_document(&loaded).expect("a row");
        record.sockets =
            Some(Sockets { line_transfer: vec![line], loaded: vec![loaded], ..Sockets::default() });
        let found = measurements(&record);
        let said: Vec<(&str, String, bool)> =
            found.iter().map(|one| (one.metric.name, one.label_text(), one.is_comparable())).collect();
        assert_eq!(
            said,
            [
                ("page_walk_ns", String::new(), true),
                ("clock_read_ns", "name=rdtsc".to_owned(), true),
                ("clock_read_ns", "name=clock_gettime(CLOCK_MONOTONIC_COARSE)".to_owned(), false),
                ("node_latency_loaded_ns", "loading=2".to_owned(), true),
                ("line_transfer_ns", "protocol=compare_and_swap".to_owned(), false),
            ]
        );
        let loaded = &found[3];
        assert_eq!((loaded.node, loaded.place), (Some(NodeId(1)), Place::One(&CpuId(2))));
        assert_eq!(loaded.interval(), Some(Interval { low: 80.0, high: 99.0 }));
        assert_eq!((found[0].interval(), found[0].spread.windows), (None, 0));
    }
}

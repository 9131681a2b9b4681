//! What was measured under one set of conditions, as tests made of cells.

use std::collections::{BTreeMap, HashMap};

use record::Fact;
use stats::{Interval, RowClass};

/// Where in a test a cell stands: block and stride, a CPU, a pair of CPUs; zeros for a test of one cell.
pub type Coordinates = [u64; 2];

/// What a configuration was read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceKind {
    /// A record of `sidestep run`.
    Record,
    /// Results of another program, in the format of that word.
    Results(&'static str),
}

impl SourceKind {
    /// The word in documents.
    pub fn word(self) -> &'static str {
        match self {
            Self::Record => "record",
            Self::Results(word) => word,
        }
    }
}

/// How small a difference of a test can matter: which margin it gets if none is declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Weight {
    /// A loop of nanoseconds to milliseconds.
    Micro,
    /// What such a loop counts beside its time: bytes and allocations.
    Beside,
    /// A program of seconds.
    #[default]
    Application,
}

impl Weight {
    pub fn margin_percent(self) -> f64 {
        match self {
            Self::Micro | Self::Beside => 1.0,
            Self::Application => 2.0,
        }
    }
}

/// One measured value, with its 95 % interval if it came with one.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Sample {
    /// The value, above zero.
    pub value: f64,
    pub interval: Option<Interval>,
    /// Variance of its logarithm between the epochs of its run, over their number; `None` for a run of one epoch.
    pub epoch_variance: Option<f64>,
    /// The same quantity as a cost in cycles of the core, where what the core's clock does is not to count.
    pub core_cycles: Option<f64>,
    /// True if the run itself found no single value.
    pub is_unstable: bool,
}

impl Sample {
    /// A value that nothing more is known of.
    pub fn plain(value: f64) -> Self {
        Self { value, ..Self::default() }
    }
}

/// The values of one place in a test, one per run or replicate.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Cell {
    /// The level that served it, for surfaces and curves: cells of one level make one row.
    pub level: Option<String>,
    /// Which rows it moves with; `None` for what is no record.
    pub class: Option<RowClass>,
    /// One per run or replicate, in the order taken.
    pub samples: Vec<Sample>,
    /// Runs whose program failed; their values count as they are, and nothing is claimed of them.
    pub failed: usize,
}

/// One test: a single cell, or a surface.
#[derive(Debug, Clone, PartialEq)]
pub struct Test {
    pub name: String,
    /// What averages are taken by.
    pub group: String,
    pub unit: String,
    /// Which direction is the good one.
    pub better: record::Better,
    pub weight: Weight,
    /// True if what is compared cannot touch it.
    pub control: bool,
    pub cells: BTreeMap<Coordinates, Cell>,
}

/// Everything measured under one set of conditions.
#[derive(Debug, Clone, PartialEq)]
pub struct Configuration {
    /// What it is called in the table.
    pub name: String,
    /// What it was read from.
    pub kind: SourceKind,
    /// Runs that it was made from.
    pub runs: usize,
    /// When its runs began, RFC 3339, as far as that is known.
    pub starts_utc: Vec<String>,
    /// Share of the CPUs that others had while each run measured, as far as that is known.
    pub taken_shares: Vec<f64>,
    /// Platform and conditions.
    pub facts: Vec<Fact>,
    /// Doubts that came with the data, one line each.
    pub cautions: Vec<String>,
    pub tests: Vec<Test>,
}

impl Configuration {
    /// Adds another run of the same configuration: its values become further replicates of the cells that both hold;
    /// what only one holds is left out, and that is said.
    pub fn absorb(&mut self, other: Self) {
        self.runs += other.runs;
        self.starts_utc.extend(other.starts_utc);
        self.taken_shares.extend(other.taken_shares);
        for fact in other.facts {
            match self.facts.iter_mut().find(|have| have.name == fact.name) {
                Some(have) if !have.value.split(" | ").any(|value| value == fact.value) => {
                    have.value = format!("{} | {}", have.value, fact.value);
                }
                Some(_) => {}
                None => self.facts.push(fact),
            }
        }
        self.cautions.extend(other.cautions);
        let mut left_out = Vec::new();
        let others = TestsByName::of(&other.tests);
        self.tests.retain_mut(|test| {
            let Some(same) = others.get(test) else {
                left_out.push(test.name.clone());
                return false;
            };
            test.cells.retain(|place, _| same.cells.contains_key(place));
            for (place, cell) in &mut test.cells {
                if let Some(found) = same.cells.get(place) {
                    cell.samples.extend(&found.samples);
                    cell.failed += found.failed;
                }
            }
            !test.cells.is_empty()
        });
        if !left_out.is_empty() {
            self.cautions.push(format!("not in every run, left out: {}", left_out.join(", ")));
        }
    }
}

/// Tests by name and group: what two configurations mean the same by.
pub(crate) struct TestsByName<'t>(HashMap<(&'t str, &'t str), &'t Test>);

impl<'t> TestsByName<'t> {
    pub(crate) fn of(tests: &'t [Test]) -> Self {
        // Of two with the same name the first counts.
        Self(tests.iter().rev().map(|test| (test.key(), test)).collect())
    }

    /// The same test.
    pub(crate) fn get(&self, test: &Test) -> Option<&'t Test> {
        self.0.get(&test.key()).copied()
    }
}

impl Test {
    /// What makes it the same test in two configurations.
    pub(crate) fn key(&self) -> (&str, &str) {
        (&self.name, &self.group)
    }

    /// Runs of it whose program failed.
    pub(crate) fn failed(&self) -> usize {
        self.cells.values().map(|cell| cell.failed).sum()
    }

    /// Its rows, over the places that count: one, or one for each level in the order of the places. A cell whose level nobody found
    /// lies between two where others have one, and is in no row.
    pub(crate) fn rows(&self, counts: impl Fn(&Coordinates) -> bool) -> Vec<TestRow<'_>> {
        let has_levels = self.cells.values().any(|cell| cell.level.is_some());
        let mut rows: Vec<TestRow<'_>> = Vec::new();
        for (place, cell) in self.cells.iter().filter(|(place, _)| counts(place)) {
            let level = cell.level.as_deref();
            if has_levels && level.is_none() {
                continue;
            }
            match rows.iter_mut().find(|have| have.level == level) {
                Some(have) => have.places.push(*place),
                None => rows.push(TestRow { test: self, level, class: cell.class, places: vec![*place] }),
            }
        }
        rows
    }
}

/// One row of a test: its places of one level.
#[derive(Debug, Clone)]
pub(crate) struct TestRow<'t> {
    pub(crate) test: &'t Test,
    pub(crate) level: Option<&'t str>,
    /// Which rows it moves with; `None` for what is no record.
    pub(crate) class: Option<RowClass>,
    pub(crate) places: Vec<Coordinates>,
}

impl TestRow<'_> {
    /// The name of the row.
    pub(crate) fn name(&self) -> String {
        let name = &self.test.name;
        self.level.map_or_else(|| name.clone(), |level| format!("{name}, {level}"))
    }

    /// One value per run of a configuration, whose test is given: the median over the places, of the values and of the ends of their
    /// intervals.
    pub(crate) fn samples(&self, test: &Test) -> Vec<Sample> {
        let chosen: Vec<&Cell> = self.places.iter().filter_map(|place| test.cells.get(place)).collect();
        if let [only] = chosen.as_slice() {
            return only.samples.clone();
        }
        let runs = chosen.iter().map(|cell| cell.samples.len()).min().unwrap_or(0);
        let median_of = |run: usize, of: fn(&Sample) -> Option<f64>| {
            let values: Option<Vec<f64>> = chosen.iter().map(|cell| of(&cell.samples[run])).collect();
            values.and_then(|values| stats::median(&values))
        };
        let sample = |run: usize| {
            let low = median_of(run, |sample| sample.interval.map(|interval| interval.low));
            let high = median_of(run, |sample| sample.interval.map(|interval| interval.high));
            let unstable = chosen.iter().filter(|cell| cell.samples[run].is_unstable).count();
            Some(Sample {
                value: median_of(run, |sample| Some(sample.value))?,
                interval: low.zip(high).map(|(low, high)| Interval { low, high }),
                epoch_variance: median_of(run, |sample| sample.epoch_variance),
                core_cycles: median_of(run, |sample| sample.core_cycles),
                is_unstable: unstable * 2 > chosen.len(),
            })
        };
        (0..runs).filter_map(sample).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(values: &[(&str, f64)]) -> Configuration {
        let test = |(name, value): &(&str, f64)| Test {
            name: (*name).to_owned(),
            group: "memory".to_owned(),
            unit: "ns".to_owned(),
            better: record::Better::Lower,
            weight: Weight::Micro,
            control: false,
            cells: [([0, 0], Cell { samples: vec![Sample::plain(*value)], ..Cell::default() })].into(),
        };
        Configuration {
            name: "a".to_owned(),
            kind: SourceKind::Record,
            runs: 1,
            starts_utc: Vec::new(),
            taken_shares: Vec::new(),
            facts: vec![Fact { name: "kernel".to_owned(), value: "6.1".to_owned() }],
            cautions: Vec::new(),
            tests: values.iter().map(test).collect(),
        }
    }

    #[test]
    fn runs_of_one_configuration_become_replicates_of_what_all_hold() {
        let mut all = run(&[("latency", 10.0), ("walk", 5.0)]);
        all.absorb(run(&[("latency", 11.0)]));
        all.absorb(run(&[("latency", 12.0), ("walk", 6.0)]));
        assert_eq!((all.runs, all.tests.len(), all.facts[0].value.as_str()), (3, 1, "6.1"));
        let values: Vec<f64> = all.tests[0].cells[&[0, 0]].samples.iter().map(|s| s.value).collect();
        assert_eq!(values, [10.0, 11.0, 12.0]);
        assert_eq!(all.cautions, ["not in every run, left out: walk"]);
    }
}

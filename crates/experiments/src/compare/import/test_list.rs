//! Tests of an import in the making: every importer adds through here, so that all refuse the same nonsense.

use record::Better;

use super::ImportError;
use crate::compare::{Cell, Configuration, Fact, Sample, SourceKind, Test, Weight};

/// The group of tests that what is compared cannot touch.
const CONTROLS: &str = "controls";

/// What is known of a test beside its values.
pub(super) struct Heading<'h> {
    pub(super) name: &'h str,
    pub(super) group: &'h str,
    pub(super) unit: &'h str,
    pub(super) better: Better,
    pub(super) weight: Weight,
}

/// Tests in the order in which they first appear.
#[derive(Default)]
pub(super) struct TestList {
    tests: Vec<Test>,
}

impl TestList {
    /// Adds values of a test; those of a test that is there already are further replicates.
    pub(super) fn add(
        &mut self,
        place: &dyn Fn() -> String,
        heading: &Heading<'_>,
        values: &[f64],
    ) -> Result<(), ImportError> {
        let name = heading.name.trim();
        if name.is_empty() {
            return Err(ImportError::Shape { place: place(), problem: "the test has no name".to_owned() });
        }
        if values.is_empty() {
            return Err(ImportError::Shape { place: place(), problem: format!("{name} has no value") });
        }
        if let Some(value) = values.iter().find(|value| !(value.is_finite() && **value > 0.0)) {
            return Err(ImportError::Value { place: place(), value: value.to_string() });
        }
        let samples = values.iter().map(|value| Sample::plain(*value));
        let test = Test {
            name: name.to_owned(),
            group: heading.group.trim().to_owned(),
            unit: heading.unit.trim().to_owned(),
            better: heading.better,
            weight: heading.weight,
            control: heading.group.trim() == CONTROLS,
            cells: [([0, 0], Cell { samples: samples.clone().collect(), ..Cell::default() })].into(),
        };
        match self.tests.iter_mut().find(|have| have.is_same(&test)) {
            Some(have)
                if (&have.unit, have.better, have.weight) != (&test.unit, test.better, test.weight) =>
            {
                return Err(ImportError::Conflict { place: place(), test: test.name });
            }
            Some(have) => have.cells.entry([0, 0]).or_default().samples.extend(samples),
            None => self.tests.push(test),
        }
        Ok(())
    }

    /// The configuration that these tests make.
    pub(super) fn finish(
        self,
        name: &str,
        kind: SourceKind,
        facts: Vec<Fact>,
        cautions: Vec<String>,
    ) -> Configuration {
        Configuration {
            name: name.to_owned(),
            kind,
            runs: 1,
            starts_utc: Vec::new(),
            taken_shares: Vec::new(),
            facts,
            cautions,
            tests: self.tests,
        }
    }
}

/// Reads a direction.
pub(super) fn better(place: &dyn Fn() -> String, text: &str) -> Result<Better, ImportError> {
    match text.trim().to_ascii_lowercase().as_str() {
        "higher" => Ok(Better::Higher),
        "lower" => Ok(Better::Lower),
        other => Err(ImportError::Shape {
            place: place(),
            problem: format!("better is {other:?}; write higher or lower"),
        }),
    }
}

/// Reads a kind; applications if it is not given.
pub(super) fn weight(place: &dyn Fn() -> String, text: &str) -> Result<Weight, ImportError> {
    match text.trim().to_ascii_lowercase().as_str() {
        "micro" => Ok(Weight::Micro),
        "" | "application" => Ok(Weight::Application),
        other => Err(ImportError::Shape {
            place: place(),
            problem: format!("kind is {other:?}; write micro or application"),
        }),
    }
}

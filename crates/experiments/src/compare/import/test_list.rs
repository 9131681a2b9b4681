//! Tests as an importer finds them: values that are none are left out with a note that names them.

use std::collections::HashMap;

use record::{Better, Fact};
use serde_json::Value;

use super::VALUES_MAX;
use crate::compare::{Cell, Configuration, Sample, SourceKind, Test, Weight};

/// The group of tests that what is compared cannot touch.
const CONTROLS: &str = "controls";
/// More notes about what is left out are counted only.
const NOTES_SHOWN: usize = 5;
/// Letters of a word that is no number.
const WORD_SHOWN: usize = 24;
/// A note for formats whose values are rounds of one process.
const ONE_PROCESS: &str = "all values of a test are of one process: what differs from start to start is not in them; give several files a side";

/// A number, or what stands where one should.
pub(super) type Reading = Result<f64, String>;

/// The number that a word is.
pub(super) fn number(word: &str) -> Reading {
    word.trim().parse().map_err(|_| word.trim().to_owned())
}

/// The numbers that a value of JSON is or holds, at any depth.
pub(super) fn numbers(value: &Value) -> Vec<Reading> {
    match value {
        Value::Null => Vec::new(),
        Value::Array(items) => items.iter().flat_map(numbers).collect(),
        Value::String(word) => vec![number(word)],
        other => vec![other.as_f64().ok_or_else(|| other.to_string())],
    }
}

/// The numbers of the first of these fields that holds any.
pub(super) fn first_of(value: &Value, fields: &[&str]) -> Vec<Reading> {
    fields.iter().map(|field| numbers(&value[*field])).find(|found| !found.is_empty()).unwrap_or_default()
}

/// What is known of a test beside its values.
pub(super) struct Heading<'h> {
    name: &'h str,
    group: &'h str,
    unit: &'h str,
    /// `None` where the format does not say which way is better: the test is left out.
    better: Option<Better>,
    weight: Weight,
    /// Runs whose program failed.
    failed: usize,
}

impl<'h> Heading<'h> {
    /// Of a program of seconds.
    pub(super) fn program(
        name: &'h str,
        group: &'h str,
        unit: &'h str,
        better: impl Into<Option<Better>>,
    ) -> Self {
        let (better, weight) = (better.into(), Weight::Application);
        Self { name: name.trim(), group: group.trim(), unit: unit.trim(), better, weight, failed: 0 }
    }

    /// The same of a loop of nanoseconds to milliseconds.
    pub(super) fn micro(self) -> Self {
        Self { weight: Weight::Micro, ..self }
    }

    /// The same of what such a loop counts beside its time.
    pub(super) fn beside(self) -> Self {
        Self { weight: Weight::Beside, ..self }
    }

    /// The same with runs whose program failed.
    pub(super) fn with_failed(self, failed: usize) -> Self {
        Self { failed, ..self }
    }
}

/// The tests of one configuration, in the order in which they first appear.
#[derive(Default)]
pub(super) struct TestList {
    /// What the file calls the configuration, if it names it.
    pub(super) name: Option<String>,
    pub(super) facts: Vec<Fact>,
    /// What has to be said of all values.
    pub(super) cautions: Vec<String>,
    left_out: Vec<String>,
    /// How many there were.
    values: usize,
    tests: Vec<Test>,
    /// Where each test is, by name and group.
    places: HashMap<(String, String), usize>,
}

impl TestList {
    /// Of a format whose values are rounds of one process.
    pub(super) fn of_one_process(&mut self) -> &mut Self {
        self.cautions = vec![ONE_PROCESS.to_owned()];
        self
    }

    /// Says of something that it is not compared, and why.
    pub(super) fn leave_out(&mut self, what: &str, why: &str) {
        self.left_out.push(format!("{what} ({why})"));
    }

    /// Adds values of a test; those of a test that is there already are further replicates. What cannot be used is left out with a note
    /// that begins with its place, if that is not empty.
    pub(super) fn add(&mut self, place: &str, heading: &Heading<'_>, values: &[Reading]) {
        self.values += values.len();
        if self.values > VALUES_MAX {
            return;
        }
        let Heading { name, group, unit, .. } = *heading;
        let called = if place.is_empty() { name.to_owned() } else { format!("{place}, {name}") };
        let is_usable =
            |value: &&Reading| value.as_ref().is_ok_and(|value| value.is_finite() && *value > 0.0);
        let usable = values.iter().filter(is_usable).flatten();
        let samples: Vec<Sample> = usable.map(|value| Sample::plain(*value)).collect();
        let (better, why) = match heading.better {
            _ if name.is_empty() => (Better::Lower, "no name"),
            _ if values.is_empty() && heading.failed == 0 => (Better::Lower, "no value"),
            None => (Better::Lower, "no direction is known, higher or lower"),
            Some(better) => (better, ""),
        };
        if !why.is_empty() {
            return self.leave_out(&called, why);
        }
        if let Some(odd) = values.iter().find(|value| !is_usable(value)) {
            let word =
                odd.as_ref().map_or_else(|word| word.chars().take(WORD_SHOWN).collect(), f64::to_string);
            let (odd, all) = (values.len() - samples.len(), machine::counted(values.len(), "value"));
            self.leave_out(&called, &format!("{odd} of {all}: {word} is no positive number"));
        }
        if samples.is_empty() && heading.failed == 0 {
            return;
        }
        let at = *self.places.entry((name.to_owned(), group.to_owned())).or_insert(self.tests.len());
        if at == self.tests.len() {
            let (name, group, unit) = (name.to_owned(), group.to_owned(), unit.to_owned());
            let (weight, control) = (heading.weight, group == CONTROLS);
            let cells = [([0, 0], Cell::default())].into();
            self.tests.push(Test { name, group, unit, better, weight, control, cells });
        }
        let test = &mut self.tests[at];
        // A failed run may lack its unit.
        if test.unit.is_empty() {
            unit.clone_into(&mut test.unit);
        }
        let unit = if values.is_empty() { test.unit.as_str() } else { unit };
        if (test.unit.as_str(), test.better, test.weight) != (unit, better, heading.weight) {
            return self.leave_out(&called, "it stands there with another unit, direction or kind");
        }
        let cell = test.cells.entry([0, 0]).or_default();
        cell.samples.extend(samples);
        cell.failed += heading.failed;
    }

    /// The configuration that these tests make.
    fn finish(self, name: &str, kind: SourceKind) -> Configuration {
        let mut cautions = self.cautions;
        if !self.left_out.is_empty() {
            let mut said =
                self.left_out.iter().take(NOTES_SHOWN).map(String::as_str).collect::<Vec<_>>().join("; ");
            if let Some(more) = self.left_out.len().checked_sub(NOTES_SHOWN).filter(|more| *more > 0) {
                said.push_str("; and ");
                said.push_str(&more.to_string());
                said.push_str(" more");
            }
            cautions.insert(0, format!("left out: {said}"));
        }
        Configuration {
            name: self.name.unwrap_or_else(|| name.to_owned()),
            kind,
            runs: 1,
            starts_utc: Vec::new(),
            taken_shares: Vec::new(),
            facts: self.facts,
            cautions,
            tests: self.tests,
        }
    }
}

/// The configurations in a file, by what it calls them.
#[derive(Default)]
pub(super) struct Results {
    lists: Vec<TestList>,
    places: HashMap<String, usize>,
}

impl Results {
    /// The configuration of a name; the empty one where the file holds a single one.
    pub(super) fn of(&mut self, name: &str) -> &mut TestList {
        let at = *self.places.entry(name.to_owned()).or_insert(self.lists.len());
        if at == self.lists.len() {
            self.lists.push(TestList {
                name: Some(name.to_owned()).filter(|name| !name.is_empty()),
                ..TestList::default()
            });
        }
        &mut self.lists[at]
    }

    /// More values than are kept.
    pub(super) fn has_too_many(&self) -> bool {
        self.lists.iter().map(|list| list.values).sum::<usize>() > VALUES_MAX
    }

    /// All in the order of their places in a text.
    pub(super) fn sort_by_place(&mut self, text: &str) {
        self.lists.sort_by_cached_key(|list| text.find(&Value::from(list.name.as_deref()).to_string()));
    }

    /// All, with a name for those that the file does not name.
    pub(super) fn finish(self, name: &str, kind: SourceKind) -> Vec<Configuration> {
        self.lists.into_iter().map(|list| list.finish(name, kind)).collect()
    }
}
